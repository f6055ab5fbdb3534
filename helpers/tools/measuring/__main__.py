"""`python -m helpers.tools.measuring bench`: a table beside cuBLAS. `… record`: the suites, kept. `… tune`: a search,
kept."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from gemm_kernels import LADDER, Kernel, choices, get
from gpusim.timing.series import FURTHER, SUITE
from helpers import gpu, recordings, run
from helpers.measure import profiled, states
from helpers.measure.bench import NoGpu, NoProfiler, Refusal, bench_together, compile_all
from helpers.measure.clocks import record_clocks
from helpers.pictures.tuning.search_space import KERNEL, space, suits
from helpers.recordings import compared
from helpers.recordings.compared import Compared
from helpers.recordings.measurement import Measurement, geometric_mean
from helpers.recordings.suites import (
    FASTEST,
    FETCHED,
    FINALS,
    LADDER_SIZES,
    LOST,
    RUNGS,
    SUITES,
    TIMED_SUITES,
    Group,
    SuiteShape,
    fastest_shapes,
    groups_of,
    in_turns,
    ladder,
    shapes,
)
from helpers.tools.measuring import calibrate, choosing, fastest_suite, side_by_side, tuning
from helpers.tools.measuring.correctness import EVERY, Incorrect, record_correctness
from helpers.tools.measuring.counters import record_counters, write_cubins
from helpers.tools.measuring.fetched import record_fetched
from helpers.tools.measuring.graphs import NoCublas
from helpers.tools.measuring.lost import record_lost
from helpers.tools.measuring.occupancy_answers import record_occupancy
from helpers.tools.measuring.record import at_shape, record_golden, record_suites
from helpers.tools.measuring.workloads.record import record_workloads


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code is 0 if everything that was asked for was measured."""
    options = _parser().parse_args(arguments)
    if options.command == "cubins":
        print(write_cubins(options.folder, tuple(options.kernels) or LADDER))
        return 0
    if options.command == "tune" and (options.show or gpu.backend() != "gpu"):
        return _show_tuning(options)
    if gpu.backend() != "gpu":
        print(f"Measuring needs a GPU. {gpu.reason()}", file=sys.stderr)
        print(f"Recordings to read without one: {', '.join(recordings.gpus()) or 'none'}.", file=sys.stderr)
        return 2
    print(gpu.describe())
    try:
        return options.run(options)
    except KeyboardInterrupt:
        print("\nInterrupted: what was measured before is kept.", file=sys.stderr)
        return 130
    except MemoryError as error:  # CuPy's OutOfMemoryError is one
        print(f"\nThe GPU's memory is too small for this shape ({error}).", file=sys.stderr)
        print("What was measured before is kept; choose suites or shapes with --suite and --size.", file=sys.stderr)
        return 1
    except SENTENCES as error:
        print(f"\n{error}", file=sys.stderr)
        return 1


SENTENCES = (NoGpu, NoCublas, NoProfiler, Incorrect, tuning.NoTuner, fastest_suite.NoChoice, run.LaunchFailed)
SENTENCES += (choosing.NoFit, recordings.NoRecording, side_by_side.TooFew)
COMMANDS = ("bench", "record", "tune", "choose", "calibrate", "cubins")
RUNS_HELP = f"how often the suite {FASTEST} goes over all its shapes (default {fastest_suite.RUNS})"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m helpers.tools.measuring", description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command", metavar=" | ".join(COMMANDS))

    bench = commands.add_parser("bench", help="print a table: size, our median, cuBLAS's median, ratio, %% of peak")
    bench.add_argument(
        "kernels", nargs="*", type=_kernel, metavar="kernel", help="names of the ladder; none: all of it"
    )
    bench.add_argument("--size", type=_shape, nargs="+", metavar="N | MxNxK", help="default: 128 … 4096")
    bench.add_argument("--budget", type=float, default=1.0, help="seconds of timing a size (default 1)")
    bench.add_argument(
        "--suite", choices=(FASTEST,), help="instead of the ladder: the fastest kernel of each shape, in several runs"
    )
    bench.add_argument("--runs", type=_count, default=fastest_suite.RUNS, help=RUNS_HELP)
    bench.set_defaults(run=_bench)

    record = commands.add_parser("record", help="measure the suites and keep them in recordings/<gpu>/")
    record.add_argument(
        "kernels", nargs="*", type=_kernel, metavar="kernel", help="names of the ladder; none: all of it"
    )
    record.add_argument("--suite", choices=SUITES, action="append", help="may be repeated; default: all suites")
    record.add_argument("--size", type=_shape, nargs="+", metavar="N | MxNxK", help="shapes of the ladder suite")
    record.add_argument("--budget", type=float, default=1.0, help="seconds of timing a shape (default 1)")
    record.add_argument("--runs", type=_count, default=fastest_suite.RUNS, help=RUNS_HELP)
    record.add_argument(
        "--folder", type=Path, default=recordings.FOLDER, help="where to write (default: the package's)"
    )
    record.add_argument("--cubins", type=Path, help="counters suite: launch the machine code of this folder")
    record.set_defaults(run=_record)

    tune = commands.add_parser("tune", help="search the autotuned kernel's parameters and keep the best of each shape")
    tune.add_argument("--size", type=_shape, nargs="+", metavar="N | MxNxK", help="default: all sizes and shapes")
    tune.add_argument("--budget", type=float, default=0.5, help="seconds for the finals of a shape (default 0.5)")
    tune.add_argument("--show", action="store_true", help="print what was recorded; without a GPU that is all it does")
    tune.add_argument("--folder", type=Path, default=recordings.FOLDER, help="where to write the search")
    tune.add_argument("--choices", type=Path, default=choices.FOLDER, help="where to write the parameters")
    tune.add_argument("--cache", type=Path, default=Path("build/tuning"), help="for going on after an interruption")
    tune.set_defaults(run=_tune)

    choose = commands.add_parser("choose", help="compare candidates for gemm_kernels.fastest, and keep the choice")
    choose.add_argument("--size", type=_shape, nargs="+", metavar="N | MxNxK", help="default: some 1 450 shapes")
    choose.add_argument("--budget", type=float, default=0.03, help="seconds of timing a candidate (default 0.03)")
    choose.add_argument(
        "--missing", action="store_true", help="keep what was measured before, and add shapes and candidates to it"
    )
    choose.add_argument(
        "--vectors", action="store_true", help="compare the kernels for one row or column again, and keep all else"
    )
    choose.add_argument("--gpus", type=_count, help="measure shapes on so many GPUs of one kind side by side")
    choose.add_argument("--folder", type=Path, default=recordings.FOLDER, help="where to write what was measured")
    choose.add_argument("--choices", type=Path, default=choices.FOLDER, help="where to write the choice")
    choose.set_defaults(run=_choose)

    calibrating = commands.add_parser(
        "calibrate", help="microbenchmarks of this GPU, and workloads, for helpers.cycles"
    )
    calibrating.add_argument("--folder", type=Path, default=recordings.FOLDER, help="where to write")
    calibrating.set_defaults(run=_calibrate)

    cubins = commands.add_parser("cubins", help="compile kernels with the course's compiler (needs no GPU)")
    cubins.add_argument("folder", type=Path)
    cubins.add_argument("kernels", nargs="*", type=_kernel, metavar="kernel", help="names; none: all of the ladder")
    return parser


def _kernel(name: str) -> Kernel:
    try:
        return get(name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _shape(text: str) -> tuple[int, int, int]:
    """ "4096" or "64x4096x1024" as (M, N, K)."""
    try:
        sizes = [int(part) for part in text.lower().replace("×", "x").split("x")]
    except ValueError:
        sizes = []
    if len(sizes) not in (1, 3) or min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no shape; write 4096, or MxNxK such as 64x4096x1024")
    return (sizes[0],) * 3 if len(sizes) == 1 else (sizes[0], sizes[1], sizes[2])


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no count; write 1 or more")
    return int(text)


def _groups(options: argparse.Namespace) -> list[Group]:
    kernels = tuple(options.kernels) or RUNGS
    if options.size:
        return [Group(kernels, *shape) for shape in options.size]
    return ladder(kernels, LADDER_SIZES)


def _suite_groups(suite: str, options: argparse.Namespace) -> list[Group]:
    """What a timed suite measures: --size and the named kernels restrict those that are about the whole ladder."""
    if suite == "ladder":
        return _groups(options)
    return shapes(tuple(options.kernels) or RUNGS) if suite == "shapes" else groups_of(suite)


def _bench(options: argparse.Namespace) -> int:
    if options.suite == FASTEST:
        return _tell(_fastest(options, fastest_shapes(options.size or (), gpu.name()), folder=None))
    measured: list[Measurement] = []
    refused: list[Refusal] = []
    groups = _groups(options)
    compile_all([kernel for group in groups for kernel in at_shape(group, gpu.name())], _progress)
    print(HEADER)
    try:
        for group in groups:
            kernels = at_shape(group, gpu.name())
            rows, refusals = bench_together(kernels, group.M, group.N, group.K, budget_s=options.budget)
            measured += rows
            refused += refusals
            for row in rows:
                print(table_row(row), flush=True)
    finally:
        for line in summary(measured):
            print(line)
    return _tell(refused)


def _calibrate(options: argparse.Namespace) -> int:
    print(f"{len(calibrate.calibrate(options.folder)['measured'])} microbenchmarks")
    for series in (SUITE, FURTHER):
        print(record_workloads(series, options.folder))
    return 0


def _record(options: argparse.Namespace) -> int:
    suites = options.suite or SUITES
    refused: list[Refusal] = []
    options.folder.mkdir(parents=True, exist_ok=True)
    if timed := {suite: _suite_groups(suite, options) for suite in TIMED_SUITES if suite in suites}:
        refused += _record_timed(timed, options)
    for suite in suites:
        if suite in TIMED_SUITES:
            continue
        if suite == FASTEST:
            try:
                refused += _fastest(options, fastest_shapes(gpu=gpu.name()), options.folder)
            except fastest_suite.NoChoice as error:  # of a GPU that nothing was chosen for, the rest can be recorded
                if options.suite:
                    raise
                print(f"{suite}: left out. {error}", flush=True)
            else:
                print(f"{suite}: {recordings.path(gpu.name(), suite, options.folder)}", flush=True)
            continue
        print(f"{suite}: {_record_answers(suite, options)}", flush=True)
    return _tell(refused)


def _record_timed(groups: Mapping[str, Sequence[Group]], options: argparse.Namespace) -> Sequence[Refusal]:
    """Measure the timed suites, all kernels of a shape in turns. Returns what was refused."""
    shapes = in_turns(groups)
    print(f"{', '.join(groups)}: {len(shapes)} shapes")
    print(HEADER)

    def report(done: int, measured: Sequence[Measurement]) -> None:
        for row in measured:
            print(table_row(row), flush=True)
        _progress(done, len(shapes))

    files, refused = record_suites(shapes, budget_s=options.budget, folder=options.folder, report=report)
    print(*files, sep="\n")
    return refused


def _fastest(options: argparse.Namespace, shapes: Sequence[SuiteShape], folder: Path | None) -> Sequence[Refusal]:
    """Measure the suite `fastest`: a few lines after each run, the table after the last. Returns what was refused."""
    kernels = fastest_suite.choose(shapes, gpu.name())
    print(f"{FASTEST}: {len(shapes)} shapes, {options.runs} run(s)", flush=True)
    each_run = fastest_suite.record(
        kernels, runs=options.runs, budget_s=options.budget, folder=folder, report=_progress
    )
    rows: list[Compared] = []
    refused: list[Refusal] = []
    try:
        for run, so_far in enumerate(each_run, start=1):
            rows, refused = so_far
            print(f"run {run} of {options.runs}")
            _print_groups([row.only(run - 1) for row in rows])
    finally:
        if rows:
            print(compared.HEADER)
            for row in rows:
                print(compared.line(row))
            _print_groups(rows)
    return refused


def _print_groups(rows: Sequence[Compared]) -> None:
    for summary in compared.summaries(rows):
        print(compared.group_line(summary), flush=True)


def _tune(options: argparse.Namespace) -> int:
    device = gpu.device()
    if device is None:
        print(f"gpusim.devices does not know {gpu.name()!r}: add its specification there first.", file=sys.stderr)
        return 2
    shapes_wanted = options.size or tuning.SHAPES
    candidates = space(device)
    wanted = [
        candidate for candidate in candidates if any(suits(candidate, shape, device.sms) for shape in shapes_wanted)
    ]
    print(
        f"{len(wanted)} of {len(candidates)} configurations suit {len(shapes_wanted)} shape(s); compiling", flush=True
    )
    options.cache.mkdir(parents=True, exist_ok=True)
    compile_all([get(KERNEL).replace(**params) for params in wanted], _progress)
    results: list[tuning.Searched] = []
    print(HEADER)
    try:
        for shape in shapes_wanted:
            result = tuning.search(shape, wanted, options.cache, budget_s=options.budget, report=_progress)
            for sentence in result.refused:
                print(f"refused {sentence}", file=sys.stderr)
            if result.finals:
                results.append(result)
                print(f"{table_row(result.finals[0])}  {_parameters(result.finals[0])}", flush=True)
    finally:
        if results:
            print(f"tuning: {tuning.keep(results, device.sms, options.folder, options.choices)}")
    return 0 if len(results) == len(shapes_wanted) else 1


def _choose(options: argparse.Namespace) -> int:
    device = gpu.device()
    if device is None:
        print(f"gpusim.devices does not know {gpu.name()!r}: add its specification there first.", file=sys.stderr)
        return 2
    if options.vectors and (options.gpus or options.missing or options.size):
        print(
            "choose --vectors has its own shapes and one GPU: leave out --gpus, --missing and --size.", file=sys.stderr
        )
        return 2
    gpus = side_by_side.like_this_one(options.gpus) if options.gpus else []
    if options.vectors:
        plan = choosing.plan_of_vectors(gpu.name(), device.sms, options.folder)
    else:
        before = options.folder if options.missing else None
        plan = choosing.plan(options.size or choosing.shapes(), gpu.name(), device.sms, before, gpus)
    kernels, known = plan.kernels, plan.known
    tried = {candidate for which in plan.wanted.values() for candidate in which}
    print(f"{len(tried)} of {len(kernels)} candidates at {len(plan.wanted)} shapes; compiling", flush=True)
    compile_all(
        [kernels[candidate].for_rows(N) for (_, N, _), which in plan.wanted.items() for candidate in which], _progress
    )
    measured: list[choosing.Measured] = []
    refused: list[Refusal] = []
    measuring = choosing.measure_each(kernels, plan.wanted, device.sms, gpus, budget_s=options.budget)
    with closing(measuring):  # after what was measured has been kept
        try:
            for shape, measure in measuring:
                try:
                    row, refusals = measure()
                except run.LaunchFailed:
                    print(f"At {'×'.join(map(str, shape))}:", file=sys.stderr)
                    raise
                row = choosing.added(known.get(shape), row)
                measured.append(row)
                refused += refusals
                best = min(row.times, key=row.score)
                said = f"{'×'.join(map(str, row.shape)):<18}{1 / row.score(best):>7.3f}  {kernels[best].entry}"
                print(said, flush=True)
        finally:
            if measured:
                by_shape = known | {row.shape: row for row in measured}
                every = [by_shape[shape] for shape in dict.fromkeys([*known, *plan.wanted]) if shape in by_shape]
                file = choosing.keep(
                    plan.about, kernels, every, device.sms, options.folder, options.choices, plan.fitted
                )
                print(f"choice: {file}")
    return _tell(refused)


def _show_tuning(options: argparse.Namespace) -> int:
    """The best recorded parameters of each shape."""
    name = gpu.name()
    try:
        finals = recordings.load(name, FINALS, options.folder)
    except recordings.NoRecording as error:
        print(error, file=sys.stderr)
        return 2
    print(f"Searched, {finals[0].label}; nothing is measured now. {gpu.reason()}")
    print(HEADER)
    best: dict[tuple[int, int, int], Measurement] = {}
    for row in sorted(finals, key=lambda row: (row.flops, row.M, row.median_ms)):
        best.setdefault((row.M, row.N, row.K), row)
    wanted = set(options.size or best)
    rows = [row for shape, row in best.items() if shape in wanted]
    for row in rows:
        print(f"{table_row(row)}  {_parameters(row)}")
    for line in summary(rows):
        print(line)
    return 0


def _parameters(row: Measurement) -> str:
    return " ".join(f"{name}={value}" for name, value in row.params.items())


def _record_answers(suite: str, options: argparse.Namespace) -> Path:
    """The suites that ask the GPU for something else than time."""
    if suite == "correctness":
        return record_correctness(tuple(options.kernels) or EVERY, options.folder, _progress)
    kernels = tuple(options.kernels) or LADDER
    if suite == "golden":
        return record_golden(kernels, options.folder)
    if suite == states.SUITE:
        return states.record_states(options.folder, kernels)
    if suite == profiled.SUITE:
        return profiled.record(options.folder, kernels)
    if suite == "occupancy":
        return record_occupancy(options.folder)
    if suite == "clocks":
        return record_clocks(options.folder)
    if suite == LOST:
        return record_lost(options.folder)
    if suite == FETCHED:
        return record_fetched(options.folder)
    return record_counters(kernels, options.folder, options.cubins)


HEADER = (
    f"{'kernel':<24}{'block':>10}{'M×N×K':>18}{'median ms':>12}{'±':>7}"
    f"{'GFLOPS':>10}{'cuBLAS':>10}{'ratio':>8}{'peak':>7}"
)


def table_row(row: Measurement) -> str:
    """One line of the table: ± the distance between the quartiles, cuBLAS in GFLOPS, peak: share of it."""
    x, y, _ = row.block
    peak = _share_of_peak(row)
    return (
        f"{row.kernel:<24}{f'{x}×{y}':>10}{f'{row.M}×{row.N}×{row.K}':>18}{row.median_ms:>12.4f}{row.spread:>7.1%}"
        f"{row.gflops:>10,.0f}{row.cublas_gflops:>10,.0f}{row.of_cublas:>8.3f}{peak:>7}"
    )


def summary(measured: Sequence[Measurement]) -> list[str]:
    """One line a kernel: the geometric mean of its ratio to cuBLAS over the shapes that were measured."""
    lines = []
    for name in dict.fromkeys(row.kernel for row in measured):
        ratios = [row.of_cublas for row in measured if row.kernel == name]
        lines.append(f"{name}: geometric mean {geometric_mean(ratios):.3f} of cuBLAS over {len(ratios)} shape(s)")
    return lines


def _share_of_peak(row: Measurement) -> str:
    device = gpu.device()
    return f"{row.gflops / device.peak_fp32_gflops:.1%}" if device else "–"


def _progress(done: int, total: int) -> None:
    """A bar on a terminal; nothing in a log."""
    if sys.stderr.isatty():
        filled = 30 * done // total
        end = "\n" if done == total else "\r"
        print(f"[{'█' * filled}{'·' * (30 - filled)}] {done}/{total}", end=end, file=sys.stderr, flush=True)


def _tell(refused: Sequence[Refusal]) -> int:
    for refusal in refused:
        where = f" at {'×'.join(map(str, refusal.shape))}" if refusal.shape else ""
        print(f"refused {refusal.kernel.entry}{where}: {refusal.error}", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
