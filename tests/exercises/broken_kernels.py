"""Broken kernels of learners, submitted where there is a GPU: none may reach it, and it must stay fit for use.

    GEMM_COURSE_BACKEND=gpu python -m tests.exercises.broken_kernels [exercise …]

Every exercise with a kernel gets each of FAULTS in its solution, and then the solution itself. Launches are counted at
the door to the device, helpers.gpu. Between any two submissions the device must still compute, and must still hold what
a notebook put there before. Without a GPU the simulator stands behind the same door, so that the counting is tested on
every machine.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from helpers import exercises, gpu, run
from helpers.exercises.framework import on_gpu, progress
from helpers.exercises.framework.exercise import KernelExercise

FIRST = "blockIdx.x + blockIdx.y + threadIdx.x + threadIdx.y == 0"  # one thread of the launch
# What a learner's kernel does before anything else. {out}: the array that is judged; {inputs}: another one.
FAULTS = {
    "a loop without end": "while (true) {{}}",
    # A loop that does nothing would be left out by the compiler.
    "a loop that never counts": "for (int i = 0; i < 2; ) ((volatile float *){out})[0] = 1.0f;",
    "a wait that no thread ends": f"if ({FIRST}) while (((volatile float *){{out}})[0] != 1e30f) {{{{}}}}",
    "a store before the array": f"if ({FIRST}) ((float *){{out}})[-1] = 1.0f;",
    "a store far away": f"if ({FIRST}) ((float *){{out}})[1 << 30] = 1.0f;",
    "a store through a null pointer": "*(float *)0 = 1.0f;",
    "a race": "((volatile float *){out})[0] = threadIdx.x;",
    "a barrier for a few": "if (threadIdx.x < 3) __syncthreads();",
    "a misaligned load": f"if ({FIRST}) ((volatile float *){{out}})[0] = *(double *)((char *){{out}} + 4);",
    "NaN": f"if ({FIRST}) ((float *){{out}})[0] = __int_as_float(0x7fc00000); return;",
    "a trap": "__trap();",
    "a compile error": "this is no CUDA;",
}
SECONDS = 2.0  # that a check may take, by the exercises' promise, before it is launched on a GPU


class Door:
    """helpers.gpu with its launches counted; a simulator behind it says that it is a GPU."""

    def __init__(self) -> None:
        self.launches = 0
        self.real = gpu.backend() == "gpu"

    def __getattr__(self, name: str) -> Any:
        return getattr(gpu, name)

    def backend(self) -> str:
        return "gpu"

    def RawModule(self, **options: Any) -> _Module:
        return _Module(self, gpu.RawModule(**options))


class _Module:
    def __init__(self, door: Door, module: Any) -> None:
        self._door, self._module = door, module

    def get_function(self, name: str) -> _Function:
        return _Function(self._door, self._module.get_function(name))


class _Function:
    """A kernel whose launches are counted; whatever else is asked of it, or set, is CuPy's."""

    def __init__(self, door: Door, function: Any) -> None:
        self.__dict__.update(_door=door, _function=function)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self._door.launches += 1
        self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._function, name, value)


def broken(exercise: KernelExercise, fault: str) -> str:
    """The exercise's solution with a fault at the beginning of its kernel."""
    source, entry = exercise.solved, exercise.problem.entry.partition("<")[0]
    head = re.search(rf"\b{re.escape(entry)}\((.*?)\)\s*\{{", source, re.DOTALL)
    assert head, f"{exercise.name}: no kernel {entry} found"
    position = exercise.problem.prepare(exercise.problem.cases[0]).position
    parameters = re.sub(r"//[^\n]*", "", head[1]).split(",")
    out = re.findall(r"\w+", parameters[position])[-1]
    return f"{source[: head.end()]}\n    {FAULTS[fault].format(out=out)}\n{source[head.end() :]}"


class Witness:
    """What a notebook put on the device before: it must be there as it was, and the device must still compute."""

    KERNEL = 'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2.0f; }'

    def __init__(self) -> None:
        self.kept = np.arange(4096, dtype=np.float32)
        self.device = gpu.array(self.kept)
        self.twice = gpu.RawModule(code=self.KERNEL).get_function("twice")

    def sees_all_well(self) -> None:
        """AssertionError if the arrays changed or a launch fails; on a GPU any error of before surfaces here."""
        gpu.synchronize()
        assert np.array_equal(gpu.asnumpy(self.device), self.kept), "an array of the notebook has changed"
        x = gpu.array(np.arange(32, dtype=np.float32))
        self.twice((1,), (32,), (x,))
        gpu.synchronize()
        assert np.array_equal(gpu.asnumpy(x), 2 * np.arange(32)), "the device no longer computes"


def submit_all(exercise: KernelExercise, door: Door, faults: Iterable[str] = FAULTS) -> float:
    """Submit every fault, then the solution. Returns the seconds of the slowest answer to a fault.

    AssertionError where a fault is accepted or reaches the device, where the device suffers, or where the solution is
    not accepted or not launched on it.
    """
    witness, slowest = Witness(), 0.0
    before = door.launches
    for fault in faults:
        started = time.perf_counter()
        verdict = exercise.check(broken(exercise, fault))
        slowest = max(slowest, time.perf_counter() - started)
        assert verdict.passed is False, f"{exercise.name} accepts {fault}"
        assert verdict.sentence, f"{exercise.name} says nothing about {fault}"
        assert door.launches == before, f"{exercise.name}: {fault} was launched on the device"
        witness.sees_all_well()
    verdict = exercise.check(exercise.solved)
    assert verdict.passed is True, f"{exercise.name}: the solution is not accepted: {verdict.sentence}"
    assert "computes the same, bit for bit" in verdict.sentence, verdict.sentence
    expected = sum(case.launches for case in exercise.problem.cases)
    launched = door.launches - before
    # A GPU is asked how fast the solution is, too.
    assert launched > expected if door.real else launched == expected, f"{launched} launches, {expected} are cases"
    witness.sees_all_well()
    return slowest


def main(names: list[str]) -> int:
    """All exercises with kernels, or those named, on the GPU of this machine."""
    os.environ[progress.ENVIRONMENT_VARIABLE] = os.path.join(tempfile.mkdtemp(), "progress.json")
    on_gpu.gpu = run.gpu = door = Door()  # type: ignore[assignment]
    print(f"{gpu.describe()}{'' if door.real else ' (no GPU here: the simulator stands in for one)'}")
    kernels = [
        exercise
        for exercise in exercises.EXERCISES
        if isinstance(exercise, KernelExercise) and (not names or exercise.name in names)
    ]
    failed = 0
    for exercise in kernels:
        try:
            slowest = submit_all(exercise, door)
        except AssertionError as error:
            failed += 1
            print(f"{exercise.name}: FAILED: {error}", flush=True)
            continue
        print(f"{exercise.name}: {len(FAULTS)} broken kernels refused, slowest answer {slowest:.2f} s", flush=True)
    right = len(kernels) - failed
    print(
        f"{right} of {len(kernels)} exercises: {right * len(FAULTS)} broken kernels, {door.launches} launches in all,"
    )
    print("every one of them of a right kernel." if not failed else "see above.")
    return 1 if failed or not kernels else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
