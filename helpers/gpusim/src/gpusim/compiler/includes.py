"""Which files a source may include: CUDA's headers, those of folders that a program allows, those beside the notebook.

A compiler reads whatever it is asked to, and quotes it in its messages, and a process that compiles other people's
sources (a hub, a grader) would hand out files of its own. Hence every name that a source includes is checked before the
compiler sees it, in all files that it leads to: it must lie in an allowed folder after links are followed, and must be
a plain file, as reading a pipe or a device may never end. Names that macros make cannot be checked, and are refused.

The environment variable GEMM_COURSE_INCLUDE allows further folders, separated as in PATH.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gpusim.compiler import signature
from gpusim.compiler.errors import CompileError

ENVIRONMENT_VARIABLE = "GEMM_COURSE_INCLUDE"
"""Folders whose files sources may include, beside the notebook's and the project's: separated as in PATH."""

_ALLOWED: dict[Path, None] = {}  # folders whose files sources may include by their paths,
_REGISTERED: dict[Path, None] = {}  # and those in which the compiler searches for a name, in this order
_SPLICE = re.compile(r"\\[ \t]*\r?\n")
_BLANK = r"(?:[ \t\v\f]|/\*.*?\*/)*"
_ASKS = re.compile(
    rf"(?:(?P<directive>(?:\#|%:|\?\?=){_BLANK}(?:include_next|include|import|embed)\b)|"
    rf"(?P<question>\b__has_(?:include_next|include|embed)\b{_BLANK}\(?)|(?P<import>\bimport\b)(?={_BLANK}[<\"])){_BLANK}"
    r'(?:"(?P<quoted>[^"\n]*)"\)?|<(?P<angle>[^>\n]*)>\)?|(?P<computed>[\w$\\][^\n]*))',
    re.DOTALL,
)
# CUDA's own headers include by these macros, which a source could give another meaning.
_MACROS_OF_HEADERS = re.compile(r"(?:\#|%:)[ \t]*(?:define|undef)[ \t]+(__THRUST_\w*|THRUST_\w*SYSTEM\w*)")
_FOLDER_OPTION = re.compile(r"(?:--include-path|-I)(?:=|\s+)?(.*)", re.DOTALL)
_FILE_OPTION = re.compile(r"(?:--pre-include|-include)(?:=|\s+)?(.*)", re.DOTALL)
_OTHER_FILES = re.compile(
    r"--?(?:create-pch|use-pch|pch-dir|fdevice-time-trace|options-file|optf|output-file)\b|--?time\b|(?:^|[=,])-o\b"
)


@dataclass
class _Reader:
    """What one compilation may read, and has led to so far. `texts` holds each file's text by its real path."""

    headers: Mapping[str, str]
    folders_of_cuda: Callable[[], Iterable[str]]
    folders: tuple[Path, ...] = ()  # that the options name
    texts: dict[Path, str] = field(default_factory=dict)

    @cached_property
    def cuda(self) -> tuple[Path, ...]:
        """The folders of CUDA's headers."""
        return tuple(Path(os.path.realpath(folder)) for folder in self.folders_of_cuda())

    @cached_property
    def allowed(self) -> tuple[Path, ...]:
        """The folders that sources may include from, CUDA's left out.

        The current folder is none where it holds everybody's: the root, or the folder of all homes.
        """
        here, home = Path.cwd().resolve(), Path(os.path.realpath(os.path.expanduser("~")))
        own = () if here in home.parents or here.parent == here else (here,)
        further = (
            Path(folder).resolve() for folder in os.environ.get(ENVIRONMENT_VARIABLE, "").split(os.pathsep) if folder
        )
        return (*_ALLOWED, *registered(), *own, *further)

    def read(self, text: str, name: str, home: Path) -> None:
        """Look at all that a text includes; `home` is the folder that it lies in."""
        for directive, path, line in _asked(text):
            where = f"{name}:{line}: {' '.join(directive.split())}"
            if path is None:
                raise CompileError(
                    f"{where}: which file that is only a macro says. Write its name: only files of CUDA, of the "
                    "project and beside the notebook are included here, and a name in the text can be looked at."
                )
            if path not in self.headers and (file := self.place_of(where, path, home)) and file not in self.texts:
                self.open(file, where)

    def open(self, file: Path, where: str) -> None:
        """Look at all that a file includes."""
        try:
            self.texts[file] = file.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise CompileError(f"{where}: the file cannot be read ({error.strerror}).") from None
        self.read(self.texts[file], file.name, file.parent)

    def place_of(self, where: str, name: str, home: Path) -> Path | None:
        """The file that the compiler would read; None for CUDA's, and for one that is not there."""
        if "\0" in name:
            raise CompileError(f"{where}: a file's name has no character 0.")
        is_far = os.path.isabs(name) or ".." in Path(name.replace("\\", "/")).parts
        for folder in dict.fromkeys((home, Path.cwd(), *self.folders, *self.cuda)):
            file = Path(os.path.realpath(folder / name))
            is_allowed = _is_within(file, self.cuda) or self.is_open(file)
            if is_far and not is_allowed:
                self.refuse(where)
            if not os.path.lexists(folder / name):
                continue
            if not is_allowed:
                self.refuse(where)
            if not os.path.exists(file):
                continue  # a link that leads nowhere
            if not stat.S_ISREG(os.stat(file).st_mode):
                raise CompileError(f"{where}: that is no plain file, but a folder, a pipe or a device, with no text.")
            return None if _is_within(file, self.cuda) else file
        return None

    def is_open(self, file: Path) -> bool:
        """Whether a file lies in a folder that sources may include from, and neither it nor a folder is hidden."""
        return any(
            not any(part.startswith(".") for part in file.relative_to(folder).parts)
            for folder in self.allowed
            if _is_within(file, (folder,))
        )

    def refuse(self, what: str) -> None:
        """Say that a place is not one to include from. Whether there is such a file is not said."""
        raise CompileError(
            f"{what}: sources may include CUDA's headers, and files of the project and of the folder that the notebook "
            "is in, and this is elsewhere. Paste what the kernel uses of that file, give its text with "
            f"headers={{…}}, or allow the folder before Python starts: {ENVIRONMENT_VARIABLE}=/that/folder."
        )


def allow(folder: Path) -> None:
    """Let every source of this process include the files in a folder, by their paths."""
    _ALLOWED[folder.resolve()] = None


def register(folder: Path) -> None:
    """Let every source of this process include the headers in a folder by name, before CUDA's of the same name."""
    _REGISTERED[folder.resolve()] = None


def registered() -> tuple[Path, ...]:
    """The folders that `register` was called for."""
    return tuple(_REGISTERED)


def without_those_in_comments(source: str) -> str:
    """The source with the # of directives in comments left out.

    No compiler reads those. If what looks like a comment here is code, the compiler does not read them either.
    """

    def blanked(match: re.Match) -> str:
        return match[0].replace("#", " ") if match["comment"] else match[0]

    return signature.IGNORED.sub(blanked, source) if re.search(r"/\*[^#]*#", source) else source


def check(
    source: str, options: Sequence[str], headers: Mapping[str, str], cuda: Callable[[], Iterable[str]], filename: str
) -> dict[str, str]:
    """The texts of the files that a source includes, CUDA's own left out, by path.

    Args: `cuda` gives the folders of CUDA's headers, and is called where a source includes something.
    Raises CompileError for one that it may not include, and for options that read or write other files.
    """
    reader = _Reader(headers, cuda)
    folders, files = [], []
    for option in _in_pairs(options):
        if match := _FOLDER_OPTION.fullmatch(option):
            folder = Path(os.path.realpath(match[1]))
            if not reader.is_open(folder) and not _is_within(folder, reader.cuda):
                reader.refuse(f"the option {option!r}")
            folders.append(folder)
        elif match := _FILE_OPTION.fullmatch(option):
            files.append((option, match[1]))
        elif _OTHER_FILES.search(option):
            raise CompileError(
                f"the option {option!r} makes the compiler read or write files of its own. Leave it out."
            )
        elif re.match(r"(?:-D|--define-macro)[= ]?(?:__THRUST_|THRUST_\w*SYSTEM)", option):
            raise CompileError(f"the option {option!r} changes which files CUDA's headers include. Leave it out.")
    reader.folders = (*folders, *registered())
    for option, name in files:
        if name not in headers and (file := reader.place_of(f"the option {option!r}", name, Path.cwd())):
            reader.open(file, f"the option {option!r}")
    for name, text in {filename: source, **headers}.items():
        reader.read(text, name, Path.cwd())
    return {str(path): text for path, text in reader.texts.items()}


def _is_within(path: Path, folders: Iterable[Path]) -> bool:
    return any(path == folder or folder in path.parents for folder in folders)


def _in_pairs(options: Sequence[str]) -> Iterator[str]:
    """The options, with those joined to their values that stand apart: "-I", "folder"."""
    words = iter(options)
    for word in words:
        yield f"{word}={next(words, '')}" if word in ("-I", "--include-path", "-include", "--pre-include") else word


def _asked(text: str) -> Iterator[tuple[str, str | None, int]]:
    """(the directive, the file's name or None where a macro makes it, the line) of all that a text asks for."""
    if not re.search(r"include|import|embed|THRUST|\\", text):
        return
    pieces = _SPLICE.split(text)
    joined = "".join(pieces)
    ends, end = [], 0
    for piece in pieces[:-1]:
        end += len(piece)
        ends.append(end)
    for match in [*_ASKS.finditer(joined), *_MACROS_OF_HEADERS.finditer(joined)]:
        line = 1 + joined.count("\n", 0, match.start()) + sum(end <= match.start() for end in ends)
        if match.re is _MACROS_OF_HEADERS:
            yield match[0], None, line
            continue
        before = (
            re.split(r"[\n\r]", joined[max(0, match.start() - 4096) : match.start()])[-1].strip()
            if match["directive"]
            else ""
        )
        if before and not before.endswith("*/"):
            continue  # in a line's comment, or in a text: a directive is the first word of its line
        if match["question"] and not match["question"].endswith("("):
            continue  # #ifdef __has_include
        yield match[0], match["quoted"] if match["quoted"] is not None else match["angle"], line
