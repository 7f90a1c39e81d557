"""How good are forecasts and their intervals with nothing set? `es.Forecaster()` beside what people use.

    python benchmarks/forecasting.py            needs statsmodels and `make out/real_series.npz`; resumes from --folder
    python benchmarks/forecasting.py --quick    made series only, seconds

The series of `real_data.py`, whole, others, and three panels. From each of four origins at the end, a horizon apart,
methods get all that is before and forecast the next 12 steps (48 of the electricity demand, 24 of the solar power, 6 of fewer
than 100 values, 3 of fewer than 50). MASE is the mean absolute error over the mean change of the training data over a period;
the pinball loss is that of five quantiles, over the same scale. The series of `real_data.py` (`SET`) were looked at while
defaults were set; the others (`JUDGED`) set nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import common
import numpy as np
import numpy.typing as npt
from forecasting_rivals import NEED_STATSMODELS, QUANTILES, RIVALS
from real_series import MADE, MORE, REAL, series
from threadpoolctl import threadpool_limits

import echoscale as es

Floats = npt.NDArray[np.float64]

SET = (*REAL, *MADE)
JUDGED = (*MORE, "autoregression #1", "growing season #1", "Mackey-Glass #1", "noisy logistic map #1", "random walk #1")
# One readout for all (`panel="all"`), or one each: rivals forecast one by one.
PANELS = {
    "panel: US economy": ("US unemployment", "US prices", "US product", "US treasury bills"),
    "panel: Australia": ("Australian beer", "Australian residents", "woollen yarn"),
    "panel: monthly": ("air passengers", "wine", "road casualties", "electrical equipment"),
}
PERIODS = {
    "sunspots, yearly": 11,
    "CO2, weekly": 52,
    "El Niño": 12,
    "US unemployment": 4,
    "US prices": 4,
    "US product": 4,
    "US treasury bills": 4,
    "electrical equipment": 12,
    "air passengers": 12,
    "Australian beer": 4,
    "Australian residents": 4,
    "electricity demand": 48,
    "wine": 12,
    "woollen yarn": 4,
    "solar power": 48,
    "road casualties": 12,
    "US consumption": 4,
    "sunspots, monthly": 12,
    "growing season": 25,
    "US real consumption": 4,
    "US investment": 4,
    "US government": 4,
    "US money": 4,
    "US inflation": 4,
    "US real interest": 4,
    "German interest": 4,
    "German inflation": 4,
    "Danish money": 4,
    "Danish bonds": 4,
    "US income": 4,
    "US production": 4,
    "US savings": 4,
    "US jobless": 4,
    "shampoo": 12,
    "prescriptions": 12,
    "growing season #1": 25,
}
HORIZONS = {"electricity demand": 48, "solar power": 24}
# Steps, for fewer values than: the first that holds.
SHORTER = {50: 3, 100: 6}
HORIZON = 12
ORIGINS = 4
OURS, OURS_TOGETHER = "es.Forecaster()", "es.Forecaster(panel='all')"
METHODS = (OURS, *RIVALS)
LONG = 200  # values: where nobody may be far behind


def horizon_of(name: str, values: Floats) -> int:
    shorter = (steps for most, steps in SHORTER.items() if len(values) < most)
    return HORIZONS.get(name, next(shorter, HORIZON))


def contest(name: str, origin: int, method: str) -> dict[str, Floats]:
    """One method at one origin of a series or panel: MASE, pinball loss, and what lay inside the intervals, means of series."""
    began = time.perf_counter()
    members = PANELS.get(name, (name,))
    whole = [series(each) for each in members]
    horizon = min(horizon_of(each, values) for each, values in zip(members, whole, strict=True))
    cuts = [len(values) - horizon * (ORIGINS - origin) for values in whole]
    train = [values[:cut] for values, cut in zip(whole, cuts, strict=True)]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        if method in (OURS, OURS_TOGETHER):
            model = es.Forecaster(panel="all" if method == OURS_TOGETHER else "each")
            forecast = model.fit(train[0] if len(train) == 1 else train).predict(horizon)
            found = [
                np.stack([forecast.bounds[95][b][0], forecast.bounds[80][b][0], mean, forecast.bounds[80][b][1], upper])
                for b, (mean, upper) in enumerate(zip(forecast.means, (each[1] for each in forecast.bounds[95]), strict=True))
            ]
        else:
            found = [RIVALS[method](y, horizon, PERIODS.get(each, 1)) for each, y in zip(members, train, strict=True)]
    scores = [
        score(y, values[cut : cut + horizon], quantiles, PERIODS.get(each, 1))
        for each, y, values, cut, quantiles in zip(members, train, whole, cuts, found, strict=True)
    ]
    names = ("mase", "pinball", "inside80", "inside95")
    means = {label: np.array([np.mean([each[k] for each in scores])]) for k, label in enumerate(names)}
    return {**means, "seconds": np.array([time.perf_counter() - began])}


def score(train: Floats, truth: Floats, quantiles: Floats, period: int) -> tuple[float, float, float, float]:
    """MASE, pinball loss, and the shares inside 80 and 95 %."""
    scale = float(np.abs(train[period:] - train[:-period]).mean())
    apart = truth - quantiles
    levels = np.array(QUANTILES)[:, None]
    pinball = 2 * np.maximum(levels * apart, (levels - 1) * apart).mean() / scale
    inside = [float(((truth >= quantiles[low]) & (truth <= quantiles[-1 - low])).mean()) for low in (1, 0)]
    return float(np.abs(apart[2]).mean() / scale), float(pinball), inside[0], inside[1]


# ---------------------------------------------------------------------------------------------------------------- running


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, default=common.HERE.parent / "out" / "forecasting", help="resumes from it")
    parser.add_argument("--processes", type=int, default=0, help="jobs at a time, each on one core (0: one after another)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no job begins later than that")
    parser.add_argument("--only", choices=("set", "judged", "panels"), help="one group of problems")
    parser.add_argument("--methods", nargs="*", default=[*METHODS, OURS_TOGETHER])


def measure(options: argparse.Namespace) -> common.Raw:
    problems: dict[str, Sequence[str]] = {"set": SET, "judged": JUDGED, "panels": tuple(PANELS)}
    if options.quick:
        problems = {"set": ("autoregression",), "judged": ("random walk #1",)}
    if options.only:
        problems = {options.only: problems[options.only]}
    methods = list(options.methods)
    if importlib.util.find_spec("statsmodels") is None:
        common.say("statsmodels is not installed: ETS and SARIMAX are left out.")
        methods = [each for each in methods if each not in NEED_STATSMODELS]
    jobs = {}
    for group, names in problems.items():
        for name in names:
            for method in methods:
                if method == OURS_TOGETHER and group != "panels":
                    continue
                for origin in range(1 if options.quick else ORIGINS):
                    jobs[f"{name}|{method}|{origin}"] = {"name": name, "origin": origin, "method": method}
    found = common.resumed(contest, jobs, None if options.quick else options.folder, options.processes, options.minutes)
    return {
        "problems": {group: list(names) for group, names in problems.items()},
        "lengths": {name: len(series(name)) for names in problems.values() for name in names if name not in PANELS},
        "results": {key: {name: value[0] for name, value in each.items()} for key, each in found.items()},
        "complete": len(found) == len(jobs) and not options.only and not set(NEED_STATSMODELS) - set(methods),
    }


# ----------------------------------------------------------------------------------------------------------------- report


def mean_of(raw: common.Raw, name: str, method: str, what: str) -> float | None:
    """Over the origins."""
    each = [each[what] for key, each in raw["results"].items() if key.startswith(f"{name}|{method}|")]
    known = [value for value in each if np.isfinite(value)]
    return float(np.mean(known)) if known else None


def means_of(raw: common.Raw, groups: Sequence[str], method: str, what: str) -> list[float]:
    """Of every series of some groups."""
    each = [mean_of(raw, name, method, what) for group in groups for name in raw["problems"].get(group, [])]
    return [value for value in each if value is not None]


def worst_of(raw: common.Raw, what: str) -> tuple[float, str]:
    """The largest ratio of ours to the best rival, of the series with more than 200 values."""
    found = (0.0, "")
    for name, length in raw["lengths"].items():
        ours = mean_of(raw, name, OURS, what)
        others = [value for rival in RIVALS if (value := mean_of(raw, name, rival, what)) is not None]
        if ours is not None and others and length > LONG:
            found = max(found, (ours / min(others), name))
    return found


def table(raw: common.Raw) -> str:
    methods = [each for each in METHODS if any(f"|{each}|" in key for key in raw["results"])]
    lines = ["# Forecasts with nothing set", "", common.origin(raw), "", "## In short", ""]
    body = []
    for method in methods:
        cells = [method]
        for what in ("mase", "pinball"):
            for groups in (("set",), ("judged",), ("set", "judged")):
                each = means_of(raw, groups, method, what)
                cells.append(f"{np.mean(each):.3f}" if each else "–")
        for what in ("inside80", "inside95"):
            each = means_of(raw, ("set", "judged"), method, what)
            cells.append(f"{np.mean(each):.3f}" if each else "–")
        body.append(cells)
    heads = ["method", *(f"{what}, {group}" for what in ("MASE", "pinball") for group in ("set", "judged", "all"))]
    lines += common.rows([*heads, "inside 80 %", "inside 95 %"], body)
    ratio, name = worst_of(raw, "mase")
    if name:
        lines += [
            "",
            f"Largest MASE of `{OURS}` over the best rival, of series with more than {LONG} values: {ratio:.2f} ({name}).",
        ]
    times = [each["seconds"] for key, each in raw["results"].items() if f"|{OURS}|" in key]
    if times:
        usual, most = np.median(times), np.max(times)
        lines += ["", f"A fit and a forecast of `{OURS}` took {usual:.1f} s (median), {most:.1f} s at most."]
    titles = {"set": "Looked at while defaults were set", "judged": "Judged only", "panels": "Panels"}
    for group, names in raw["problems"].items():
        used = [*methods, OURS_TOGETHER] if group == "panels" else methods
        body = []
        for name in names:
            cells = [name]
            for method in used:
                values = [mean_of(raw, name, method, what) for what in ("mase", "pinball")]
                cells.append(" / ".join("–" if value is None else f"{value:.2f}" for value in values))
            body.append(cells)
        lines += ["", f"## {titles[group]}: MASE / pinball loss", "", *common.rows(["series", *used], body)]
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main(
        "forecasting", __doc__, measure, table, arguments=arguments, libraries=("scikit-learn", "statsmodels"), extend=extend
    )


if __name__ == "__main__":
    main()
