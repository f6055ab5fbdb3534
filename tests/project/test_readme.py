"""What the README names exists: files, make targets, and modules."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def test_every_link_of_the_readme_leads_to_a_file_of_the_repository():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]


def test_every_make_target_that_a_text_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", README, re.MULTILINE))
    named |= set(re.findall(r"^#   make ([a-z-]+)", makefile, re.MULTILINE))
    assert {"lab", "test", "notebooks"} <= named <= targets
