"""Memory does not grow with the length of a series: measured from outside, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("resource", reason="peak memory cannot be read on this system")

STEPS = 1_000_000
LIMIT_MIB = 200
SCRIPT = f"""
import re, resource, sys
import numpy as np
from echoscale import ESNRegressor

def peak_mib():
    # On Linux a process that was started from a large one inherits that one's ru_maxrss; VmHWM is its own.
    if sys.platform == "linux":
        return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / (1 << 10)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)

def fit(steps):
    u = np.random.default_rng(0).uniform(0, 0.5, (steps, 1))
    return ESNRegressor(units=100, washout=100, random_state=0).fit(u, np.roll(u, 3))

fit(5_000)  # compiles, and allocates what does not depend on the length
before = peak_mib()
model = fit({STEPS})
print(peak_mib() - before, model.statistics_.count)
"""


def test_a_million_steps_fit_in_200_mib() -> None:
    """The data is part of it (two arrays of 8 MB); the states of 100 units in float32 alone would take 400 MB."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=300)
    growth, count = map(float, done.stdout.split())
    assert count == STEPS - 100
    assert 16e6 / (1 << 20) <= growth < LIMIT_MIB
