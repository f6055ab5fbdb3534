"""What all tests share: the simulator unless a GPU is asked for, and a browser where there is one."""

import atexit
import contextlib
import ctypes
import functools
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

# A notebook and a test give the same numbers everywhere on the simulator; `make test-gpu` asks for the GPU.
os.environ.setdefault("GEMM_COURSE_BACKEND", "simulator")
# Notebooks run on the kernel of this environment even where the user has another one called python3.
os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
# What tests and notebooks answer is not the progress of whoever runs them.
os.environ["GEMM_COURSE_PROGRESS"] = str(Path(tempfile.gettempdir()) / f"gemm-course-progress-{os.getpid()}.json")
os.environ["GEMM_COURSE_MY"] = "off"  # and neither are the kernels that they accept
# A process that runs thousands of tests holds millions of objects, and by default a fifth of its time goes into looking
# through all of them for garbage.
gc.set_threshold(100_000, 20, 10)
atexit.register(Path(os.environ["GEMM_COURSE_PROGRESS"]).unlink, missing_ok=True)


@pytest.fixture
def prepared_afresh() -> Iterator[None]:
    """No kernel is taken as an earlier test left it, and none is left for a later one."""
    from gpusim.cupy.levels import forms_of

    forms_of.clear()
    yield
    forms_of.clear()


@pytest.hookimpl(trylast=True)  # what its fixtures made is gone
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Collect the garbage of each file, and empty the caches where a process has grown.

    What stays after a file is kept out of the next collections: to look through all objects of a large process takes
    seconds. Everything is looked through where it has grown by MOST_GROWTH since the last time.

    A kernel that a test had accepted is the learner's to all that is asked next, so it goes after each test.
    """
    if kernels := sys.modules.get("helpers.exercises.framework.kept"):
        kernels._memory.clear()
    global _kept
    if _resident() > _kept + MOST_GROWTH:
        _clear_caches()
        gc.unfreeze()
        _collect()
        _kept = _resident()
    elif nextitem is None or nextitem.path != item.path:
        if levels := sys.modules.get("gpusim.cupy.levels"):
            levels.forms_of.clear()
        _collect()


MOST_GROWTH = 150 << 20  # bytes
_kept = 300 << 20  # bytes that stayed in memory after the last look through everything; at first the collected tests


def _collect() -> None:
    """Collect garbage, and give what is free to the system: glibc keeps a gigabyte of it after launches of Stream-K.

    ipywidgets keeps every widget, and with it an explorer's pictures, until it is closed.
    """
    if widgets := sys.modules.get("ipywidgets"):
        widgets.Widget.close_all()
    gc.collect()
    gc.freeze()
    _trim()


def _clear_caches() -> None:
    """Empty the bounded caches of the project's functions, and all of the tests': the next file asks for other kernels.

    A test's cache of modules keeps their machine code, as it was decoded, and the plans of their launches.
    """
    for name, module in [*sys.modules.items()]:
        if name.startswith(("helpers.", "gpusim.", "gemm_kernels.", "tests.")):
            for value in [*vars(module).values()]:
                if isinstance(value, functools._lru_cache_wrapper) and (
                    name.startswith("tests.") or value.cache_parameters()["maxsize"]
                ):
                    value.cache_clear()


def _resident() -> int:
    """Bytes of this process that are in memory; 0 where the system does not say so."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    return 0


def _trim() -> None:
    with contextlib.suppress(OSError, AttributeError, TypeError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)


@pytest.fixture(autouse=True, scope="module")
def settings_stay() -> Iterator[None]:
    """What a test sets is gone after it: with the cache left off, all later files would compile everything anew."""
    before = _settings()
    yield
    assert _settings() == before


def _settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("GEMM_COURSE_")}


@pytest.fixture
def on_the_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator runs what a test launches, where a GPU is asked for, too."""
    monkeypatch.setenv("GEMM_COURSE_BACKEND", "simulator")


@pytest.fixture
def cupy_of_the_course(monkeypatch: pytest.MonkeyPatch) -> None:
    """`import cupy` gives what answers to CuPy's calls here, whether there is a GPU or not."""
    from helpers import gpu

    if gpu.backend() == "simulator":
        monkeypatch.setitem(sys.modules, "cupy", gpu)


@pytest.fixture
def no_machine_code(monkeypatch: pytest.MonkeyPatch, prepared_afresh: None) -> None:
    """No form of an instruction is known and nvdisasm is not installed: machine code cannot be printed."""
    monkeypatch.setattr("gpusim.compiler.listing.without_nvdisasm", lambda kernel: None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("cuda.pathfinder.find_nvidia_binary_utility", lambda name: None)
    monkeypatch.setenv("GEMM_COURSE_CACHE", "off")


@pytest.fixture
def only_what_a_test_makes() -> Iterator[None]:
    """Whatever lives already stays out of the collector's sight: by then it is millions of objects."""
    gc.freeze()
    yield


def pytest_collection_finish() -> None:
    """What is there when all tests are collected stays: the garbage collector need not look at it again and again."""
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="run every case of every table, and the browser tests")
    parser.addoption(
        "--seed", type=int, default=date.today().toordinal(), help="which cases of each table; by default today's"
    )


def pytest_report_header(config: pytest.Config) -> str:
    if _takes_all(config):
        return "cases: all of every table"
    return f"cases: up to {MOST_CASES} of each table, those of --seed={config.option.seed}"


def _takes_all(config: pytest.Config) -> bool:
    return config.option.whole or any(".py" in argument for argument in config.args)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases of large tables and the tests in a browser, unless --whole asks for all or a file is named.

    Skip browser tests where there is no browser, except where CI is set: there its absence is a failure.
    """
    if not _takes_all(config):
        left = _left_out(items, config.option.seed) + [item for item in items if item.get_closest_marker("browser")]
        config.hook.pytest_deselected(items=left)
        gone = set(left)
        items[:] = [item for item in items if item not in gone]
    if _chromium() is not None or os.environ.get("CI"):
        return
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.skip(reason="needs chromium (Debian, Ubuntu: apt install chromium)"))


@pytest.hookimpl(optionalhook=True)  # without xdist there are no workers
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    """All tests in a browser go to one worker: a browser with JupyterLab, its server and a kernel take a gigabyte."""
    from xdist.scheduler import LoadScopeScheduling

    class OneBrowser(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return BROWSER if nodeid.startswith(BROWSER) else super()._split_scope(nodeid)

    return OneBrowser(config, log) if config.getoption("dist") == "loadscope" else None


BROWSER = "tests/browser/"
MOST_CASES = 3  # of a test, but where its mark `table(keep=60)` says another number


def _left_out(items: list[pytest.Item], seed: int) -> list[pytest.Item]:
    """The cases of each test that are not among its `chosen` ones."""
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        if hasattr(item, "callspec"):  # not a notebook's cell
            mark = item.get_closest_marker("table")
            tables.setdefault(f"{item.nodeid.partition('[')[0]} {mark}", []).append(item)
    left = []
    for cases in tables.values():
        mark = cases[0].get_closest_marker("table")
        kept = chosen(len(cases), mark.kwargs["keep"] if mark else MOST_CASES, seed)
        left += [case for number, case in enumerate(cases) if number not in kept]
    return left


def chosen(cases: int, keep: int, seed: int) -> set[int]:
    """Numbers of `keep` of so many cases, spread over the table; with one seed after the other each case is chosen.

    The steps between them are cases / keep, give or take one; each seed begins one further on.
    """
    if cases <= keep:
        return set(range(cases))
    first = seed % -(-cases // keep)
    return {min(number * cases // keep + first, (number + 1) * cases // keep - 1) for number in range(keep)}


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of an installed Chromium."""
    path = _chromium()
    assert path is not None, "no chromium on the PATH; install it (apt install chromium)"
    return path
