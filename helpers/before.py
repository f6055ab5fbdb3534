"""What a notebook's kernel can do before the notebook's first cell has run, in whatever program the notebook is open.

Set-up puts helpers/jupyter/ipython_kernel_config.py where IPython looks for it, and that loads this as an extension. So
`%%cuda` is there from the start, Tab knows the names of CUDA in such a cell, and a cell that uses what no cell has made
yet, or whose CUDA lost its `%%cuda`, is answered by a sentence. Nothing of the course is imported before it is needed:
a kernel starts as fast as without it.
"""

from __future__ import annotations

import difflib
import linecache
import re
import traceback
from types import TracebackType
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from gpusim.sentences import Sentence

CUDA = re.compile(r"__(global|device|shared)__|\b(threadIdx|blockIdx)\.|^\s*#\s*include\b", re.MULTILINE)
MAGIC = re.compile(r"^\s*(%%\s*cuda\b|get_ipython\(\)\.run_line_magic\('%cuda')", re.MULTILINE)  # as typed, as read


def cuda(line: str, cell: str) -> None:
    """The magic `%%cuda NAME` of `helpers.course`, which takes its place as soon as it is imported."""
    from helpers import course

    course.cuda(line, cell)


class NotPython(Sentence, Exception):
    """A cell of CUDA C++ that Python was given to read."""


class NotMade(Sentence, NameError):
    """A cell uses a name that no cell has made."""


def answered(shell: Any, kind: type, error: Exception, trace: TracebackType, tb_offset: int | None = None) -> None:
    """Show a NameError or a SyntaxError of a cell: as a sentence where there is one, else as IPython does."""
    if isinstance(error, SyntaxError):
        syntax = _of_syntax(error)
        if syntax is None:
            shell.showsyntaxerror()
            return
        kind, error = NotPython, NotPython(syntax)
    elif (syntax := _of_name(shell, error, trace)) is not None:
        kind, error = NotMade, NotMade(syntax).with_traceback(trace)
    shell.showtraceback((kind, error, trace), running_compiled_code=True)


def _of_syntax(error: SyntaxError) -> str | None:
    """Of CUDA that was given to Python."""
    text = "".join(linecache.getlines(error.filename or ""))
    if MAGIC.search(text):
        return "%%cuda has to be the first line of its cell: nothing may stand above it, not even a comment."
    if CUDA.search(text):
        return (
            "This cell is CUDA C++, which Python cannot read. Write %%cuda and a name into a line above it, as in "
            "`%%cuda mine`; if it is an exercise, the exercise's name."
        )
    return None


def _is_text_of_an_answer(shell: Any, name: str) -> bool:
    """Whether an exercise of the notebook has an answer that is made of texts, this one among them."""
    starters = (getattr(value, "starter", None) for value in shell.user_ns.values())
    return any(isinstance(starter, tuple | list) and name in starter for starter in starters)


def _of_name(shell: Any, error: Exception, trace: TracebackType) -> str | None:
    """Of a name that the cell itself uses and no cell has made. What a function looks for in vain shows everything."""
    calls = [call for call in traceback.extract_tb(trace) if "IPython" not in call.filename]
    name = getattr(error, "name", None)
    if len(calls) != 1 or name is None:
        return None
    if _is_text_of_an_answer(shell, name):
        return f'{error}. Here it is a text, and texts stand in quotes: "{name}".'
    near = difflib.get_close_matches(name, shell.user_ns, n=1, cutoff=0.75)
    ways = (
        f"Did you mean {near[0]}?"
        if near
        else "If a cell further up makes it, run that one first; in JupyterLab, Run > Run All Above Selected Cell runs "
        "all of them. After a restart of the kernel every name has to be made again, those of the first cells included."
    )
    return f"{error}. {ways}"


@context_matcher()
def cuda_words(context: CompletionContext) -> SimpleMatcherResult:
    """What Tab offers in a cell of CUDA, in place of Python's names; nothing in any other cell."""
    if not context.full_text.startswith("%%cuda"):
        return {"completions": []}
    from helpers import completion

    lines = context.full_text.split("\n")[: context.cursor_line]
    word, names = completion.offered(context.full_text, sum(len(line) + 1 for line in lines) + context.cursor_position)
    completions = [SimpleCompletion(name, type=completion.KINDS.get(name, "name")) for name in names]
    return {"completions": completions, "matched_fragment": word, "ordered": True, "suppress": True}


def load_ipython_extension(shell: Any) -> None:
    """Called by IPython when a kernel of this environment starts."""
    shell.register_magic_function(cuda, "cell", "cuda")
    shell.Completer.custom_matchers.append(cuda_words)
    shell.set_custom_exc((NameError, SyntaxError), answered)
