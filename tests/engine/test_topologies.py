"""A topology is one file and one line: those that there are, and a new one."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import echoscale as es
from echoscale.engine import topologies as files
from echoscale.network import topologies as names

STAR = """
import numpy as np
import scipy.sparse

def matrix(rng, reservoir):
    \"\"\"Unit 0 and every other unit hear each other.\"\"\"
    n = reservoir.units
    rim = np.arange(1, n)
    hub = np.zeros(n - 1, int)
    places = (np.concatenate([hub, rim]), np.concatenate([rim, hub]))
    return scipy.sparse.csr_array((np.ones(2 * n - 2), places), shape=(n, n))
"""


def test_every_file_has_a_name_and_every_name_a_file() -> None:
    there = {path.stem for path in Path(files.__path__[0]).glob("*.py")} - {"__init__"}
    assert set(names.FILES.values()) == there


@pytest.fixture
def star(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """One file, one line."""
    (tmp_path / "star.py").write_text(STAR)
    monkeypatch.setattr(files, "__path__", [*files.__path__, str(tmp_path)])
    monkeypatch.setitem(names.FILES, "star", "star")
    monkeypatch.delitem(sys.modules, "echoscale.engine.topologies.star", raising=False)
    return "star"


def test_a_new_topology_is_drawn_and_normalised(star: str) -> None:
    """The eigenvalues of a star are +-sqrt(n - 1) and 0."""
    matrix = es.single(10, topology=star).build(1).drawn.recurrent[0].toarray()
    expected = np.zeros((10, 10))
    expected[0, 1:] = expected[1:, 0] = 1 / np.sqrt(9)
    np.testing.assert_allclose(matrix, expected, rtol=1e-9)


def test_a_new_topology_is_known_everywhere(star: str, tmp_path: Path) -> None:
    network = es.hierarchical([5, 6], topology=[star, "normal"])
    assert es.Network.from_dict(network.to_dict()) == network
    kept = es.load(es.save(network.build(1), tmp_path / "star.safetensors"))
    assert kept.network == network
    assert network.timescales()["tau_max"][0] == pytest.approx(20)  # 1 / (1 - 0.95)
    texts = [each.get_text() for each in network.plot().axes[0].texts]
    assert star in texts
    with pytest.raises(ValueError, match="connections=3 is for random matrices"):
        es.Reservoir(5, topology=star, connections=3)


def test_an_unknown_topology_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"must be one of 'normal', .*'concentric', .*; got 'star'"):
        es.Reservoir(5, topology="star")
