"""What Tab offers in a cell that begins with %%cuda: names of CUDA C++, of the cell itself, and of its exercise.

IPython asks `offered` in every program in which the notebook is open. The exercise's names are those of its signature.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
KINDS = {name: kind.removesuffix("s") for kind, names in WORDS.items() for name in names}  # others are the cell's own
MEMBERS = {"threadIdx": "xyz", "blockIdx": "xyz", "blockDim": "xyz", "gridDim": "xyz"}
ANY_MEMBERS = "xyzw"  # of float4 and its kind

_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_MEMBER = re.compile(r"(?<!\w)(?P<owner>[A-Za-z_]\w*)\s*(?:\[[^\[\]]*\]\s*)?\.(?P<word>\w*)\Z")
_BEGUN = re.compile(r"(?<![\w.])[A-Za-z_]\w*\Z")


def offered(cell: str, cursor: int) -> tuple[str, list[str]]:
    """What is begun before the cursor, and all that it may become; the names of the cell come first.

    cell: its whole text.  cursor: letters before it.
    """
    before = cell[:cursor].rpartition("\n")[2]
    if "//" in before:
        return "", []
    if member := _MEMBER.search(before):
        return member["word"], [
            name for name in MEMBERS.get(member["owner"], ANY_MEMBERS) if name.startswith(member["word"])
        ]
    begun = _BEGUN.search(before)
    if begun is None:
        return "", []
    word = begun[0]
    _, _, text = cell.partition("\n")
    position = cursor - (len(cell) - len(text))
    others = f"{text[: position - len(word)]} {text[position:]}"  # without the word itself, which is not whole
    own = _WORD.findall(_COMMENT.sub(" ", others))
    known = dict.fromkeys(chain(own, _of_exercise(cell), *WORDS.values()))
    return word, [name for name in known if name.startswith(word) and name != word]


def _of_exercise(cell: str) -> Iterable[str]:
    """The names in the signature of the exercise that the cell answers, if the notebook has loaded the exercises."""
    catalogue = sys.modules.get("helpers.exercises.framework.catalogue")
    name = cell.partition("\n")[0].removeprefix("%%cuda").strip()
    if catalogue is None:
        return ()
    starters = (getattr(exercise, "starter", None) for exercise in catalogue.EXERCISES if exercise.name == name)
    text = next((starter for starter in starters if isinstance(starter, str)), "")
    return _WORD.findall(_COMMENT.sub(" ", text))
