"""Work that processes with a GPU each do side by side."""

import os
import signal
import time

import pytest

from helpers.tools.measuring import side_by_side


def seen(task):
    time.sleep(0.05)  # so that one process is not done with all before another has begun
    return task, os.environ[side_by_side.VISIBLE], os.getpid(), signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def refused(task):
    raise ValueError(f"task {task} is refused")


def begun(folder, task):
    (folder / str(task)).touch()
    time.sleep(0.05)


def test_each_gpu_has_its_process_and_each_task_its_result():
    tasks = [(number,) for number in range(8)]
    ended = {task: future.result() for task, future in side_by_side.results(seen, tasks, ["3", "5"])}
    assert {task: result[0] for task, result in ended.items()} == {(number,): number for number in range(8)}
    processes = {(gpu, pid) for _, gpu, pid, _ in ended.values()}
    assert {gpu for gpu, _ in processes} <= {"3", "5"} and len(processes) == len({gpu for gpu, _ in processes})
    assert os.getpid() not in {pid for _, pid in processes}
    assert all(deaf for *_, deaf in ended.values()), "Ctrl-C ends the process that waits, which keeps what there is"


def test_tasks_error_is_raised_where_its_result_is_asked_for():
    for (number,), future in side_by_side.results(refused, [(1,), (2,)], ["0"]):
        with pytest.raises(ValueError, match=f"task {number} is refused"):
            future.result()


def test_unstarted_tasks_are_dropped_when_results_are_abandoned(tmp_path):
    ending = side_by_side.results(begun, [(tmp_path, number) for number in range(40)], ["0"])
    next(ending)
    ending.close()
    assert 1 <= len(list(tmp_path.iterdir())) < 10
