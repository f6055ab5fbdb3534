"""Which files a source may include, by whatever spelling, and that no other one is read, quoted or asked for."""

import os
from pathlib import Path

import pytest

from gpusim import compiler
from gpusim.compiler import includes
from helpers import headers

END = '\nextern "C" __global__ void k(int *x) { x[0] = ANSWER; }'


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A file that no source may include, seen from an empty folder beside it."""
    secret = tmp_path / "elsewhere" / "secret.h"
    secret.parent.mkdir()
    secret.write_text("#define ANSWER 4711\n")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return secret


def refused(source: str, **given) -> str:
    with pytest.raises(compiler.CompileError) as error:
        compiler.compile(source, "k", **given)
    assert "4711" not in str(error.value)
    return str(error.value)


SPELLINGS = (
    '#include "PATH"', "#include <PATH>", '#include "../elsewhere/secret.h"', '  # /* a\n */ include /* b */ "PATH"',
    '/* */ #include "PATH"', '#inc\\\nlude "PATH"', "%:include <PATH>", '#include_next "PATH"', '#import "PATH"',
    '#embed "PATH"', '#if __has_include("PATH")\n#endif', "#if __has_include ( <PATH> )\n#endif",
    '#define F "PATH"\n#include F', '#define F(x) "PATH"\n#if __has_include(F(1))\n#endif', "#define __THRUST_X <PATH>",
    'auto s = R"(/*)";\n#include "PATH"\n/* */',
)  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_file_outside_is_not_read_by_any_spelling(outside, spelling):
    message = refused(spelling.replace("PATH", str(outside)) + END)
    assert message.startswith("kernel.cu:") and ("this is elsewhere" in message or "only a macro says" in message)


def test_what_only_looks_like_a_comment_is_not_read(outside):
    message = refused(f"int a = 1'2 '/*';\n#include \"{outside}\"\n/* */{END}")  # a ' between digits begins no text
    assert "kernel.cu:2: error" in message


def test_outside_file_that_is_missing_gets_the_same_words(outside):
    there = refused(f'#include "{outside}"{END}')
    assert refused(f'#include "{outside}x"{END}') == there.replace("secret.h", "secret.hx")


@pytest.mark.parametrize(
    "options",
    [
        ("-IFOLDER",), ("-I", "FOLDER"), ("--include-path=FOLDER",), ("--pre-include=FOLDER/secret.h",),
        ("-include", "FOLDER/secret.h"), ("--ptxas-options=--options-file=FOLDER/secret.h",), ("--pch-dir=FOLDER",),
        ("-DTHRUST_HOST_SYSTEM=FOLDER",),
    ],
)  # fmt: skip
def test_options_open_no_other_file(outside, options):
    given = [option.replace("FOLDER", str(outside.parent)) for option in options]
    assert "the option '" in refused(f'#include "secret.h"{END}', options=given)


def test_folder_may_be_allowed(outside, monkeypatch):
    monkeypatch.setenv(includes.ENVIRONMENT_VARIABLE, os.pathsep.join(("/nowhere", str(outside.parent))))
    for source, options in ((f'#include "{outside}"', ()), ('#include "secret.h"', (f"-I{outside.parent}",))):
        assert "4711" in compiler.compile(source + END, "k", options=options).ptx


def test_registered_folder_serves_headers_by_name(outside, monkeypatch):
    monkeypatch.setattr(includes, "_REGISTERED", {})
    refused('#include "../elsewhere/secret.h"' + END)
    with pytest.raises(compiler.CompileError, match=r"cannot open source file .secret\.h"):
        compiler.compile('#include "secret.h"' + END, "k")
    compiler.register_headers(outside.parent)
    assert "4711" in compiler.compile('#include "secret.h"' + END, "k").ptx


def test_allowed_folder_is_included_by_path_alone(outside, monkeypatch):
    monkeypatch.setattr(includes, "_ALLOWED", {})
    refused(f'#include "{outside}"{END}')
    compiler.allow_includes(outside.parent)
    assert "4711" in compiler.compile(f'#include "{outside}"{END}', "k").ptx
    with pytest.raises(compiler.CompileError, match=r"cannot open source file .secret\.h"):
        compiler.compile('#include "secret.h"' + END, "k")


def test_course_allows_its_own_files(outside, monkeypatch):
    monkeypatch.setattr(includes, "_ALLOWED", {})
    path = headers.COURSE / "gemm_kernels" / "cuda" / "barriers.cuh"
    source = f'#include "{path}"\n#define ANSWER 1{END}'
    refused(source)
    headers.register()
    compiler.compile(source, "k")


def test_package_knows_nothing_of_the_course():
    package = Path(compiler.__file__).parents[1]
    assert not [path.name for path in package.rglob("*.py") if "gemm_kernels" in path.read_text(encoding="utf-8")]
    assert not [*package.rglob("*.cuh")]
    assert {path.parent.name for path in headers.FOLDER.rglob("*.cuh")} == {"family", "two_smallest"}


def test_changed_header_of_the_folder_is_seen(outside):
    for answer in ("11", "12"):
        with open("own.h", "w") as file:
            file.write(f"#define ANSWER {answer}\n")
        assert f", {answer};" in compiler.compile(f'#include "own.h"{END}', "k").ptx


def test_included_file_leads_nowhere_else(outside):
    with open("own.h", "w") as file:
        file.write(f'#include "{outside}"\n')
    assert refused(f'#include "own.h"{END}').startswith("own.h:1: #include")


def test_links_and_hidden_files_are_followed_and_refused(outside):
    os.symlink(outside, "link.h")
    assert "this is elsewhere" in refused(f'#include "link.h"{END}')
    with open(".netrc", "w") as file:
        file.write("#define ANSWER 4711\n")
    assert "this is elsewhere" in refused(f'#include ".netrc"{END}')


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_pipe_is_not_waited_for(outside):
    os.mkfifo("pipe.h")
    assert "no plain file, but a folder, a pipe or a device" in refused(f'#include "pipe.h"{END}')


def test_root_and_all_homes_are_not_the_notebooks_folder(outside, monkeypatch):
    monkeypatch.setenv("HOME", str(outside.parent.parent / "here" / "me"))
    assert "this is elsewhere" in refused(f'#include "{outside}"{END}')
    monkeypatch.chdir(outside.parent.parent)
    assert "this is elsewhere" in refused(f'#include "{outside}"{END}')


RIGHT = (
    '// #include "../common/book.h"\n// #include what you need', '/* old:\n#include "../common/book.h"\n*/',
    '#ifdef __has_include\n#if __has_include(<cuda/std/array>)\n#endif\n#endif', "#include <cuda_fp16.h>",
    '__device__ const char *s = "#include \\"/x\\"";',
)  # fmt: skip


@pytest.mark.parametrize("text", RIGHT)
def test_right_sources_are_not_stopped(text):
    compiler.compile(f"{text}\n#define ANSWER 1{END}", "k")
