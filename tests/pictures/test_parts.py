"""A picture's module finds names in its parts: no file of the folder may have the name of one of them."""

from pathlib import Path

from helpers import pictures

FOLDERS = sorted(path.parent for path in Path(pictures.__file__).parent.glob("*/__init__.py"))


def test_no_file_of_a_picture_hides_a_name_of_its_parts():
    # Once such a file is imported, it is what `picture.name` gives, and the second Run All of a notebook fails.
    hidden = [
        f"{folder.name}.{file.stem}"
        for folder in FOLDERS
        for file in folder.glob("[!_]*.py")
        for part in pictures.PARTS
        if (folder / f"{part}.py").exists() and f"def {file.stem}(" in (folder / f"{part}.py").read_text("utf-8")
    ]
    assert len(FOLDERS) > 20 and hidden == []
