"""Headers that take long are read once in a process: NVRTC keeps what it made of them, as its guide describes.

<cooperative_groups.h> and what begins with <cuda/…> take half a second, each time that a learner changes a line of the
kernel below them. Kept, they take a fifth of that. To keep them costs a third of a time more, so that they are kept
from the second kernel on that begins with the same lines. The machine code is the same, byte for byte.
"""

from __future__ import annotations

import functools
import hashlib
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gpusim.compiler import nvrtc

SINCE = (12, 8)  # NVRTC's version
_HEAD = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|#(?:[^\\\n]|\\.)*)*", re.DOTALL)  # a source before its first declaration
_SLOW = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<(?:cooperative_groups|cuda/|cub/)", re.MULTILINE)

_met: Counter[str] = Counter()


def options(source: str, others: Sequence[str]) -> tuple[str, ...]:
    """NVRTC's options for the headers at the head of a source that is compiled with `others`; () if they are read anew.

    Only for headers that stay as they are while the process lives: NVRTC does not look whether they have changed.
    """
    head = _HEAD.match(source)[0]  # type: ignore[index]
    if nvrtc.version() < SINCE or not _SLOW.search(head):
        return ()
    key = hashlib.sha256("\n".join((head, *others)).encode()).hexdigest()[:16]
    _met[key] += 1
    if _met[key] == 1:
        return ()
    folder = Path(_folder().name) / key  # one name is one file, whatever is in it
    folder.mkdir(exist_ok=True)
    return "--pch", f"--pch-dir={folder}", "--pch-messages=false", "--pch-verbose=false"


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="gemm-course-headers-")
