"""Sliders and the networks that they mean."""

from __future__ import annotations

from typing import Any

import pytest

import echoscale as es
from echoscale.app.live.controls import Controls, Level
from echoscale.engine.hyper import Hyper, chosen

THREE = Controls((Level(10), Level(8, coupling=0.4), Level(6, coupling=0.7)))


def test_the_network_is_that_of_the_builders() -> None:
    factors: dict[str, Any] = {
        "leak_rate": [1.0] * 3,
        "spectral_radius": [0.95] * 3,
        "input_scaling": [0.2] * 3,
        "bias_scaling": [0.0] * 3,
    }
    assert THREE.network() == es.hierarchical([10, 8, 6], **factors, coupling=[0.4, 0.7])
    assert THREE._replace(structure="parallel").network() == es.parallel([10, 8, 6], **factors)
    assert len(Controls((Level(10),)).network().couplings) == 0


@pytest.mark.parametrize("controls", [THREE, THREE._replace(structure="parallel"), Controls((Level(10),))])
def test_every_name_is_that_leaf_of_the_network(controls: Controls) -> None:
    for name in controls.names:
        moved = controls.changed(name, 0.123)
        assert moved.value(name) == 0.123
        hyper = Hyper.of(moved.network())
        [leaf] = chosen(name, hyper)
        assert leaf.of(hyper) == 0.123
        others = [each for each in controls.names if each != name]
        assert [moved.value(each) for each in others] == [controls.value(each) for each in others]
    assert ("coupling[0]" in controls.names) == bool(controls.network().couplings)
