"""`echoscale doctor`: its equations are right, and what is broken is told."""

from __future__ import annotations

import json

import naive
import numpy as np
import pytest
from typer.testing import CliRunner

import echoscale as es
from echoscale.cli import app, doctor


def test_the_doctors_equations_are_those_of_the_paper() -> None:
    """Against the scalar loops of the tests; both delays of couplings."""
    u = np.random.default_rng(0).normal(size=(12, 2))
    for delay in (0, 1):
        network = es.hierarchical([5, 4, 3], leak_rate=[1.0, 0.5, 0.1], coupling=[0.7, 0.3], coupling_delay=delay)
        esn = network.build(2, seed=3)
        np.testing.assert_allclose(doctor.naive_states(esn, u), naive.states_of(esn, u), rtol=1e-13, atol=1e-15)


def test_the_doctor_finds_health_and_sickness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SPEED_STEPS", 100)
    result = CliRunner().invoke(app, ["doctor", "--json", "-q"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["healthy"]
    assert told["versions"]["echoscale"] == es.__version__
    assert len(told["checks"]) >= 6
    assert told["steps_a_second"] > 0
    monkeypatch.setattr(doctor, "LARGEST", {"float64": 0.0})
    monkeypatch.setattr(es, "save", lambda *_: 1 / 0)
    result = CliRunner().invoke(app, ["doctor", "-q"])
    assert result.exit_code == 1
    assert result.stdout.count("FAILED") == 2
    assert "ZeroDivisionError" in result.stdout
    assert "Something is wrong" in result.stdout
