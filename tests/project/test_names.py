"""The field's words in code: what a variable holds and what a test shows is in its name; a C function fits a screen."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOLLOW = frozenset((
    "found", "glance", "heard", "innocent", "looks", "nobody", "one", "place", "somebody", "suspect", "told", "who",
    "whoever", "whom",
))  # fmt: skip
LEFT = ("helpers/plan.py",)  # for keys of notebooks/course.toml
MOST_LETTERS, MOST_LINES = 120, 60
MOST_LETTERS_OF_A_TEST = 60


def files(pattern: str, *folders: str) -> list[Path]:
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob(pattern))]
    return [path for path in paths if "built" not in path.parts]


def bound(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The names that a module gives to something, and their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.FunctionDef(name=str(name)) | ast.ClassDef(name=str(name)):
                yield name, node.lineno
            case ast.MatchAs(name=str(name)) | ast.ExceptHandler(name=str(name)):
                yield name, node.lineno


def hollow(text: str) -> list[tuple[str, int]]:
    return [(name, line) for name, line in bound(ast.parse(text)) if name.strip("_").lower() in HOLLOW]


def test_hollow_names_are_recognised():
    text = "def found(one):\n    for place, x in one:\n        self.told = place\n    n = found_at = [who for who in x]"
    assert sorted(hollow(text)) == [("found", 1), ("one", 1), ("place", 2), ("told", 3), ("who", 4)]


def test_names_say_what_they_hold():
    every = files("*.py", "helpers", "gemm_kernels", "tests")
    held = [path for path in every if not any(path.is_relative_to(ROOT / folder) for folder in LEFT)]
    wrong = {str(path.relative_to(ROOT)): names for path in held if (names := hollow(path.read_text(encoding="utf-8")))}
    assert len(held) > 900 and wrong == {}


def defined_tests(text: str) -> list[str]:
    """The names of the tests of a module, in their order."""
    defined = (node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    return [name for name in defined if name.startswith("test_")]


def wrongly_named(tests: list[str]) -> list[str]:
    """Names too long to read in a report, and those of tests that hide an earlier one of their module."""
    return [test for number, test in enumerate(tests) if len(test) > MOST_LETTERS_OF_A_TEST or test in tests[:number]]


def test_long_and_repeated_names_of_tests_are_recognised():
    long = "test_" + "x" * 56
    text = f"def test_a(): pass\ndef helper(): pass\ndef {long}(): pass\ndef {long[:-1]}(): pass\ndef test_a(): pass"
    assert wrongly_named(defined_tests(text)) == [long, "test_a"]


def test_names_of_tests_are_short_and_unique_in_their_file():
    tests = {
        path.relative_to(ROOT).as_posix(): defined_tests(path.read_text("utf-8")) for path in files("*.py", "tests")
    }
    wrong = {path: names for path, defined in tests.items() if (names := wrongly_named(defined))}
    assert sum(map(len, tests.values())) > 3000 and wrong == {}


def functions(text: str) -> Iterator[tuple[str, int]]:
    """Of the functions of a C source: the first line, and how many they have."""
    lines, begin = text.splitlines(), None
    for number, line in enumerate(lines):
        if re.match(r"\w[^=;]*\)? ?\{$", line) and "(" in "".join(lines[max(0, number - 3) : number + 1]):
            begin = number
        elif line == "}" and begin is not None:
            yield lines[begin], number - begin + 1
            begin = None


def test_long_functions_of_c_are_recognised():
    body = "    x++;\n" * 70
    assert [*functions(f"static int f(int a) {{\n{body}}}\nint g(void) {{\n}}\n")] == [
        ("static int f(int a) {", 72), ("int g(void) {", 2),
    ]  # fmt: skip


def test_sources_in_c_are_read_without_scrolling():
    native = [*files("*.[ch]", "helpers/gpusim/src/gpusim/native")]
    texts = {path.name: path.read_text(encoding="utf-8") for path in native}
    wide = [(name, line) for name, text in texts.items() for line in text.splitlines() if len(line) > MOST_LETTERS]
    counts = {name: [*functions(text)] for name, text in texts.items()}
    long = [(name, *function) for name, all_ in counts.items() for function in all_ if function[1] > MOST_LINES]
    assert sum(map(len, counts.values())) > 500 and (wide, long) == ([], [])
