"""What Tab offers in a cell of CUDA."""

import pytest
from IPython import get_ipython
from IPython.core.completer import provisionalcompleter
from IPython.testing.globalipapp import start_ipython

from gpusim import compiler
from helpers import before, completion
from helpers.exercises import get

CELL = '%%cuda {}\nextern "C" __global__ void f(int M, float *values) {{\n    // a sum of valuables\n    {}\n}}'


def offered(begun: str, name: str = "mine") -> list[str]:
    """What is offered behind `begun`, in a kernel with parameters M and values."""
    cell = CELL.format(name, begun)
    return completion.offered(cell, cell.rindex(begun) + len(begun))[1]


@pytest.mark.parametrize(
    ("begun", "names"),
    [
        ("threadI", ["threadIdx"]),
        ("int x = blockId", ["blockIdx"]),
        ("threadIdx.", ["x", "y", "z"]),
        ("float4 q; q.", ["x", "y", "z", "w"]),
        ("frag[k + 1].w", ["w"]),
        ("__syncw", ["__syncwarp"]),
        ("val", ["values"]),
        ("valu", ["values"]),
        ("// threadI", []),
        ("", []),
        ("1.", []),
    ],
)
def test_tab_offers_names_of_cuda_and_of_the_cell(begun, names):
    assert offered(begun) == names


def test_names_of_the_exercise_are_offered_in_a_new_cell():
    assert "Bs" in get("tiled").starter
    assert "Bs" in offered("B", "tiled") and "Bs" not in offered("B")


def test_every_offered_name_is_one_that_the_compiler_knows():
    names = [name for kind, words in completion.WORDS.items() if kind != "keywords" for name in words]
    uses = "".join(f"    using ::{name};\n" for name in names)
    compiler.compile(f'extern "C" __global__ void f() {{\n{uses}}}', "f")


@pytest.mark.parametrize(
    ("cell", "names"), [("%%cuda mine\nint x = threadI", ["threadIdx"]), ("import nump", ["numpy"])]
)
def test_ipython_asks_in_cells_of_cuda_alone(cell, names):
    shell = start_ipython() or get_ipython()
    before.load_ipython_extension(shell)
    with provisionalcompleter():
        assert [completion.text for completion in shell.Completer.completions(cell, len(cell))] == names
    shell.Completer.custom_matchers.remove(before.cuda_words)
    shell.set_custom_exc((), None)
