"""The house itself: which room may look into which, and what an import costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import public
import pytest
import rooms


def test_every_room_is_in_the_list() -> None:
    assert {rooms.room_of(each) for each in rooms.MODULES} == set(rooms.ROOMS)


@pytest.mark.parametrize("path", rooms.FILES, ids=rooms.module_of)
def test_imports_point_down(path: Path) -> None:
    room, order = rooms.room_of(rooms.module_of(path)), list(rooms.ROOMS)
    allowed = {*order[: order.index(room) + 1], *(upper for lower, upper in rooms.LIFTS if lower == room)}
    assert rooms.imported_rooms(path) <= allowed


def test_no_two_public_classes_share_a_name() -> None:
    names = [name.rpartition(".")[2] for name, value in public.public_names() if isinstance(value, type)]
    assert len(names) == len(set(names))


def test_importing_and_describing_touch_no_heavy_library() -> None:
    script = (
        "import sys, echoscale as es\n"
        "es.hierarchical([50, 50], leak_rate=[1.0, 0.2])\n"
        "assert not {'jax', 'sklearn', 'scipy', 'matplotlib'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_global_jax_settings_are_left_alone() -> None:
    script = (
        "import jax, numpy as np\nbefore = dict(jax.config.values)\n"
        "import echoscale as es\n"
        "es.ESNRegressor(20, dtype='float64').fit(np.random.rand(50, 1), np.random.rand(50))\n"
        "assert dict(jax.config.values) == before\nassert jax.numpy.ones(1).dtype == 'float32'"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
