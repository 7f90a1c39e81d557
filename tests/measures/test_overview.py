"""One call, one table, one figure; and a picture of every measure of a grid."""

from __future__ import annotations

import numpy as np
import pytest

import echoscale as es
from echoscale import measures
from echoscale.engine.hyper import with_lanes


def test_the_table_holds_what_the_functions_find() -> None:
    esn = es.single(10, leak_rate=0.5, spectral_radius=0.9).build(1, seed=0)
    esn.hyper = esn.hyper.replace(spectral_radius=1.5)
    u = es.tasks.narma(length=400, seed=0)[0]
    found = esn.measure(u, degree=2, exponents=3)
    table = dict(zip(found.table["measure"], found.table["value"], strict=True))
    assert table["largest conditional exponent"] == float(measures.lyapunov_exponents(esn, u, 3).exponent[0])
    assert table["memory capacity, lags from 1 on"] == float(found.memory.memory[1:].sum())
    assert table["processing capacity, all of these"] == pytest.approx(
        table["processing capacity, degree 1"] + table["processing capacity, degree 2"]
    )
    assert table["the same in the linear regime"] is None
    assert "never fade" in str(found)
    figure = found.plot()
    assert len(figure.axes) == 6
    np.testing.assert_allclose(np.asarray(figure.axes[2].lines[-1].get_ydata()), found.memory.memory[:, 0])
    with pytest.raises(ValueError, match="2 lanes"):
        esn.measure(u, hyper=with_lanes(esn.hyper, {"leak_rate": [0.5, 1.0]}))
    with pytest.raises(ValueError, match="constant"):
        esn.measure(np.ones(300))


def test_every_measure_of_a_grid_has_a_picture() -> None:
    esn = es.single(4).build(1, seed=0)
    leaks = np.array([1.0, 0.5, 0.2])
    hyper, u = with_lanes(esn.hyper, {"leak_rate": leaks.tolist()}), measures.noise(400)
    memory = measures.plot(measures.memory_capacity(esn, u, hyper=hyper))
    assert [each.get_label() for each in memory.lines] == [f"leak_rate[0]={leak:g}" for leak in leaks]
    found = measures.dimension(esn, u, hyper=hyper)
    axes = measures.plot(found)
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), leaks)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), found.dimension)
    exponents = measures.plot(measures.lyapunov_exponents(esn, u, 2, hyper=hyper))
    assert len(exponents.lines) == 4  # three lanes and the zero line
    stacked = measures.plot(measures.processing_capacity(esn, u, degree=2, hyper=hyper))
    assert len(stacked.collections) == 2
    with pytest.raises(ValueError, match="not the result of a measure"):
        measures.plot(found.drop_attrs())


@pytest.mark.parametrize(("factor", "words"), [(1e6, "the network is saturated"), (1e-8, "the network hardly moves")])
def test_states_that_say_nothing_are_warned_of(factor: float, words: str) -> None:
    esn = es.single(10, bias_scaling=0.5, spectral_radius=0.3).build(1, seed=0)
    u = factor * np.random.default_rng(0).standard_normal((400, 1))
    with pytest.warns(es.StateWarning, match=words):
        esn.measure(u, degree=1, exponents=1)
