"""Every benchmark runs in its quick form, and every committed table is what its raw data give."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import echoscale as es
from echoscale.learning.tuning.space import Space

FOLDER = Path(__file__).parents[2] / "benchmarks"
RESULTS = FOLDER / "results"
# What scripts share, and what they are made of.
PARTS = {
    "common",
    "drawn_series",
    "driven_problems",
    "driven_rivals",
    "forecasting_rivals",
    "more_series",
    "online_numpy",
    "online_plain",
    "real_series",
    "regressor_problems",
    "rows",
    "sequence_sets",
    "series_sources",
    "speed_table",
    "suggest_problems",
    "tuning_methods",
    "tuning_report",
    "worker",
}
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in PARTS)
COMMITTED = sorted(path.stem for path in RESULTS.glob("*.json") if not path.stem.endswith(("-quick", "-partial")))


@pytest.fixture(scope="module", autouse=True)
def importable() -> Iterator[None]:
    """benchmarks/ is no package, and not installed; its scripts import each other."""
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


def script(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.example
@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.filterwarnings("ignore:::reservoirpy", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_runs(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = script(name).main(["--quick", "--output", str(tmp_path)])
    table = (tmp_path / f"{name}-quick.md").read_text(encoding="utf-8")
    kept = json.loads((tmp_path / f"{name}-quick.json").read_text(encoding="utf-8"))
    assert capsys.readouterr().out == table + "\n"
    assert script(name).table(kept) == table
    assert table.startswith("# ")
    assert not re.search(r"\b(nan|inf|None)\b", table)
    # Where the numbers come from.
    source = kept["provenance"]
    assert kept["quick"] is raw["quick"] is True
    assert source["command"] == f"python benchmarks/{name}.py --quick"
    assert source["commit"]
    assert {"echoscale", "numpy", "scipy", "jax"} <= set(source["versions"])
    assert {"cpu", "cores", "memory_gib", "python"} <= set(source["machine"])
    assert source["seconds"] > 0
    assert source["date"]
    assert np.nextafter(0.0, 1.0) * 1.0 > 0, "this process flushes the smallest numbers to zero from now on"


@pytest.mark.parametrize("name", COMMITTED)
def test_committed_table_comes_from_its_raw_data(name: str) -> None:
    raw = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    assert raw["quick"] is False
    assert (RESULTS / f"{name}.md").read_text(encoding="utf-8") == script(name).table(raw)


def test_no_table_without_raw_data() -> None:
    tables = {path.stem for path in RESULTS.glob("*.md") if not path.stem.endswith(("-quick", "-partial"))}
    assert tables == set(COMMITTED)


def test_every_script_is_listed() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [name for name in SCRIPTS if f"`{name}.py`" not in text] == []


@pytest.mark.parametrize("name", ["gpu", "psmnist_gpu"])
def test_refuses_politely_without_a_gpu(name: str, tmp_path: Path) -> None:
    import jax

    if jax.default_backend() != "cpu":
        pytest.skip("there is a GPU")
    with pytest.raises(SystemExit, match="GPU, and JAX finds none"):
        script(name).main(["--output", str(tmp_path)])
    assert not list(tmp_path.iterdir())


def test_absent_libraries_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A contender that is not installed is left out, and the table says so."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "reservoirpy" else found(name, *rest))
    raw = script("psmnist").main(["--quick", "--output", str(tmp_path)])
    assert "reservoirpy" in raw["absent"]
    assert "not installed: " in (tmp_path / "psmnist-quick.md").read_text(encoding="utf-8")


def test_telegraph_asks_for_the_slow_regime() -> None:
    tasks = script("memory_maps").TASKS
    made = es.tasks.telegraph(5_000, seed=3)
    u, regime = tasks["telegraph, regime"](5_000, 3)
    np.testing.assert_array_equal(u, made.u)
    np.testing.assert_array_equal(regime[:, 0], made.regime)
    _, joint = tasks["telegraph, joint"](5_000, 3)
    np.testing.assert_array_equal(joint.argmax(axis=1), 2 * made.regime + made.state)
    np.testing.assert_array_equal(joint.sum(axis=1), 1)


@pytest.mark.parametrize("relative", [True, False])
def test_the_judge_of_narma_is_ridge_regression(relative: bool) -> None:
    """Against least squares with rows sqrt(penalty) I under the features, an intercept that is not penalised."""
    kinds = script("narma_wiring")
    s = kinds.Settings(washout=10, train=120, validation=40, test=50)
    rng = np.random.default_rng(0)
    features = rng.normal(size=(220, 30)) * np.geomspace(1, 1e-3, 30) + 2
    y = features @ rng.normal(size=30) + 0.1 * rng.normal(size=220) + 5
    train, validation, test = slice(10, 130), slice(130, 170), slice(170, 220)
    penalties = kinds.RELATIVE if relative else kinds.ABSOLUTE
    centred = features[train] - features[train].mean(axis=0)
    unit = (centred**2).sum() / 30 if relative else 1.0
    found = []
    for penalty in penalties:
        rows = np.vstack([centred, np.sqrt(penalty * unit) * np.eye(30)])
        weights = np.linalg.lstsq(rows, np.append(y[train] - y[train].mean(), np.zeros(30)), rcond=None)[0]
        outputs = (features - features[train].mean(axis=0)) @ weights + y[train].mean()
        found.append([np.sqrt(((outputs - y)[part] ** 2).mean() / y[part].var()) for part in (validation, test)])
    assert kinds.judged(features, y, s, penalties, relative) == pytest.approx(min(found)[1], rel=1e-8)
    assert len({round(each[1], 6) for each in found}) > 3, "the penalty matters"


def test_input_reaches_the_levels_that_a_kind_names() -> None:
    kinds = script("narma_wiring")
    for name, wanted in {"5 first": [True] + 4 * [False], "5 all": 5 * [True], "5 parallel": 5 * [True]}.items():
        network, names = kinds.network_of(name, False, kinds.Settings())
        assert [level.input_scaling > 0 for level in network.reservoirs] == wanted
        space = Space.of(names, network.build(1, seed=0).hyper, {})
        learned = [str(each) for each in space.learned]
        assert [f"input_scaling[{k}]" in learned for k in range(5)] == wanted
        assert len(network.couplings) == (0 if name == "5 parallel" else 4)


def test_kinds_try_slow_leak_rates_as_often_as_fast_ones() -> None:
    kinds = script("kinds")
    hyper = kinds.network("one level, leak rates spread", 10).build(1, seed=0).hyper
    found = Space.of(["leak_rate", "leak_spread"], hyper, {})
    points = kinds.drawn(found, 20_000, np.random.default_rng(0))
    fastest = points[:, 0]
    slowest = fastest - np.exp(points[:, 1])
    low = np.log(0.002)
    assert low <= slowest.min()
    assert fastest.max() <= 0
    # The larger and the smaller of two uniform numbers lie at two thirds and at one third of the range.
    np.testing.assert_allclose([slowest.mean() / low, fastest.mean() / low], [2 / 3, 1 / 3], atol=0.01)
