"""New processes work; how many cores work is laid out for; compiled programs are forgotten when there are many."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import echoscale as es
from echoscale.engine import devices

MULTIPROCESSING = """
import multiprocessing
import numpy as np
import echoscale as es

def error(seed):
    u, y = es.tasks.narma(400, order=5, seed=seed)
    return es.ESNRegressor(units=10, random_state=seed).fit(u, y).score(u, y)

if __name__ == "__main__":
    here = error(0)  # JAX is used in this process first
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(error, [0]) == [here]
    print("done")
"""


def test_processes_that_are_started_anew_work(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(MULTIPROCESSING)
    command = [sys.executable, str(tmp_path / "own.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.stdout == "done\n", done.stderr


def test_joblib_works_after_jax_was_used() -> None:
    from joblib import Parallel, delayed

    esn, u = es.single(5).build(1, seed=0), np.ones((20, 1))
    here = esn.run(u)
    found = Parallel(n_jobs=2)(delayed(esn.run)(u) for _ in range(2))
    for each in found:
        np.testing.assert_array_equal(each, here)


def test_the_number_of_cores_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layout of another machine gives its bits."""
    monkeypatch.setenv("ECHOSCALE_CORES", "3")
    assert devices.cores() == 3
    for wrong in ("0", "-1", "two", "1.5"):
        monkeypatch.setenv("ECHOSCALE_CORES", wrong)
        with pytest.raises(ValueError, match="ECHOSCALE_CORES must be a whole number"):
            devices.cores()
    monkeypatch.delenv("ECHOSCALE_CORES")
    assert devices.cores() >= 1


def test_programs_of_many_shapes_are_forgotten_and_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their memory is measured by `make soak`."""
    jax.clear_caches()  # type: ignore[no-untyped-call]
    programs = devices.Programs(most=3)
    monkeypatch.setattr(devices, "_programs", programs)
    esn, u = es.single(3).build(1, seed=0), np.ones((5, 1))
    states = esn.run(u)
    for units in range(4, 9):
        es.single(units).build(1).run(u)
    assert programs.forgotten >= 1
    np.testing.assert_array_equal(esn.run(u), states)


def test_programs_are_not_forgotten_while_one_is_in_use() -> None:
    programs = devices.Programs(most=0)
    programs.enter()
    programs.count = 5
    programs.enter()
    assert programs.forgotten == 0
    programs.leave()
    programs.leave()
    programs.enter()
    assert programs.forgotten == 1
