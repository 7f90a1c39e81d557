"""How good are forecasts and their intervals with nothing set? `es.Forecaster()` beside what people use.

    python benchmarks/forecasting.py            needs statsforecast, `make out/real_series.npz` and `make out/more_series.npz`
    python benchmarks/forecasting.py --quick    made series only, seconds

From each of four origins at the end of a series, a horizon apart, methods get all that is before and forecast the next steps:
the horizon of the M4 competition for the frequency of the data, fewer for short series. `es.Forecaster()` gets dates where the
source has dates; rivals are told the seasons of the calendar. MASE is the mean absolute error over the mean change of the
training data over the shortest of these seasons; the pinball loss is the mean over five quantiles, on the same scale.

Groups: the series "set" were looked at while methods were developed; "judged" and "short" (short economic series) were split
from them by `more_series.py` before the first run and only judge; "made" are drawn. Jobs are resumed from --folder: measure
some --methods on another machine, and copy the folders together. With --keep, methods that do not run keep their last scores.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np
import numpy.typing as npt
from forecasting_rivals import KINDS, MEDIAN, NEEDS, QUANTILES, RIVALS, forecasts, used
from more_series import Known, groups, known
from threadpoolctl import threadpool_limits

import echoscale as es

Floats = npt.NDArray[np.float64]

# One readout for all (`panel="all"`), or one each: rivals forecast one by one.
PANELS = {
    "panel: US economy": ("US unemployment", "US prices", "US product", "US treasury bills"),
    "panel: Australia": ("Australian beer", "Australian residents", "woollen yarn"),
    "panel: monthly": ("air passengers", "wine", "road casualties", "electrical equipment"),
}
# Steps: at most this part of a series lies behind the first origin.
SHARE = 0.4
ORIGINS = 4
OURS, UNDATED, TOGETHER = "es.Forecaster()", "es.Forecaster(), no dates", "es.Forecaster(panel='all')"
JOBS = (OURS, UNDATED, TOGETHER, *KINDS)  # rivals of a kind run together
METHODS = (OURS, UNDATED, *RIVALS)
SCORES = ("mase", "pinball", "inside80", "inside95", "seconds")
LONG = 200  # values: where nobody may be far behind


def horizon_of(each: Known) -> int:
    return min(each.horizon, max(int(SHARE * len(each.values)) // ORIGINS, 1))


def contest(name: str, origin: int, method: str) -> dict[str, Floats]:
    """Scores of one method, or of rivals of one kind, at one origin of a series or panel: means over its series."""
    whole = [known(each) for each in PANELS.get(name, (name,))]
    horizon = min(map(horizon_of, whole))
    cuts = [len(each.values) - horizon * (ORIGINS - origin) for each in whole]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        if method in KINDS:
            each_of = [
                forecasts(method, each.values[:cut], horizon, each.seasons) for each, cut in zip(whole, cuts, strict=True)
            ]
        else:
            each_of = ours(whole, cuts, horizon, method)
    scores: dict[str, list[list[float]]] = {}
    for each, cut, found in zip(whole, cuts, each_of, strict=True):
        train, truth = each.values[:cut], each.values[cut : cut + horizon]
        for label, (quantiles, seconds) in found.items():
            scores.setdefault(label, []).append([*score(train, truth, quantiles, each.seasons), seconds])
    # Seconds of all series together, means of everything else.
    return {label: np.append(np.mean(rows, axis=0)[:-1], np.sum(rows, axis=0)[-1]) for label, rows in scores.items()}


def ours(whole: Sequence[Known], cuts: Sequence[int], horizon: int, method: str) -> list[dict[str, tuple[Floats, float]]]:
    """Quantiles and processor seconds of `es.Forecaster` for every series."""
    common.pin_to_one_core()
    train = [each.values[:cut] for each, cut in zip(whole, cuts, strict=True)]
    y: Any = train if len(train) > 1 else train[0]
    if method == OURS and len(whole) == 1 and whole[0].start:
        y = whole[0].dated(cuts[0])
    began = time.process_time()
    forecast = es.Forecaster(panel="all" if method == TOGETHER else "each").fit(y).predict(horizon)
    seconds = (time.process_time() - began) / len(whole)
    rows = (forecast.lower(95), forecast.lower(80), forecast.mean, forecast.upper(80), forecast.upper(95))
    by_series = [row if len(whole) > 1 else [row] for row in rows]
    return [{method: (np.stack([np.ravel(row[b]) for row in by_series]), seconds)} for b in range(len(whole))]


def score(train: Floats, truth: Floats, quantiles: Floats, seasons: Sequence[int]) -> tuple[float, float, float, float]:
    """MASE, pinball loss, and the shares inside 80 and 95 %."""
    period = used(train, seasons)[0]
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
    parser.add_argument("--origins", nargs="*", type=int, default=list(range(ORIGINS)), help="from 0, the earliest")
    parser.add_argument("--only", nargs="*", help="groups of problems")
    parser.add_argument("--keep", action="store_true", help="methods that do not run keep the scores of the last result file")
    parser.add_argument(
        "--methods", nargs="*", default=list(JOBS), choices=JOBS, metavar="METHOD", help=f"of {', '.join(JOBS)}"
    )


def labels_of(job: str) -> list[str]:
    """The methods of a job."""
    return [*KINDS.get(job, (job,)), *([MEDIAN] if job == "statistical" else [])]


def measure(options: argparse.Namespace) -> common.Raw:
    if options.quick:
        problems: dict[str, Sequence[str]] = {"made": ("autoregression", "random walk #1")}
    else:
        problems = {**groups(), "panels": tuple(PANELS)}
    if options.only:
        problems = {group: names for group, names in problems.items() if group in options.only}
    absent = [each for each in options.methods if each in NEEDS and importlib.util.find_spec(NEEDS[each]) is None]
    methods = [each for each in options.methods if each not in absent]
    if absent:
        common.say(f"Not installed and left out: {', '.join(NEEDS[each] for each in absent)}.")
    jobs = {}
    for origin in options.origins[: 1 if options.quick else None]:
        for method in methods:
            for group, names in problems.items():
                # Without panels there is nothing to be learned together; panels have no dates.
                if (group == "panels") is not (method == TOGETHER) and method in (TOGETHER, UNDATED):
                    continue
                for name in names:
                    jobs[f"{name}|{method}|{origin}"] = {"name": name, "origin": origin, "method": method}
    found = common.resumed(contest, jobs, None if options.quick else options.folder, options.processes, options.minutes)
    results = {
        # Five digits: there are ten thousand rows.
        f"{key.split('|')[0]}|{label}|{key.split('|')[2]}": [float(f"{value:.5g}") for value in values]
        for key, each in found.items()
        for label, values in each.items()
    }
    if options.keep:
        measured = {label for method in methods for label in labels_of(method)}
        named = {name for names in problems.values() for name in names}
        for key, values in json.loads((common.RESULTS / "forecasting.json").read_text())["results"].items():
            name, label, _ = key.split("|")
            if name in named and label not in measured:
                results[key] = values
    there = {key.split("|")[1] for key in results}
    return {
        "problems": {group: list(names) for group, names in problems.items()},
        "frequencies": {name: known(name).frequency for names in problems.values() for name in names if name not in PANELS},
        "lengths": {name: len(known(name).values) for names in problems.values() for name in names if name not in PANELS},
        "scores": SCORES,
        "results": results,
        # What was looked at, and the forecaster without dates, are worth knowing but prove nothing.
        "complete": len(found) == len(jobs)
        and set(TITLES) - {"set"} <= set(problems)
        and {label for job in JOBS if job != UNDATED for label in labels_of(job)} <= there,
    }


# ----------------------------------------------------------------------------------------------------------------- report

TITLES = {
    "judged": "real, judged only",
    "short": "real, judged only, short economic",
    "set": "real, looked at",
    "made": "made",
    "panels": "panels",
}


def mean_of(raw: common.Raw, name: str, method: str, what: str, beside: str = "") -> float | None:
    """Over the origins at which the method, and another one beside it, forecast."""
    found = raw["results"]
    origins = [origin for origin in range(ORIGINS) if not beside or f"{name}|{beside}|{origin}" in found]
    each = [found[key][SCORES.index(what)] for origin in origins if (key := f"{name}|{method}|{origin}") in found]
    values = [value for value in each if math.isfinite(value)]
    return float(np.mean(values)) if values else None


def means_of(raw: common.Raw, group: str, method: str, what: str) -> list[float]:
    """Of every series of a group."""
    each = [mean_of(raw, name, method, what) for name in raw["problems"].get(group, [])]
    return [value for value in each if value is not None]


def log_ratios(raw: common.Raw, names: Sequence[str], what: str, rival: str) -> list[float]:
    """Logarithm of ours over a rival's, for every series."""
    pairs = [(mean_of(raw, name, OURS, what, rival), mean_of(raw, name, rival, what, OURS)) for name in names]
    return [math.log(mine / theirs) for mine, theirs in pairs if mine and theirs]


def worst_of(raw: common.Raw) -> tuple[float, str]:
    """The largest ratio of our MASE to the best rival's, of the series with more than 200 values."""
    found = (0.0, "")
    for name, length in raw["lengths"].items():
        mine = mean_of(raw, name, OURS, "mase")
        others = [value for rival in RIVALS if (value := mean_of(raw, name, rival, "mase"))]
        if mine is not None and others and length > LONG:
            found = max(found, (mine / min(others), name))
    return found


def by_frequency(raw: common.Raw) -> list[str]:
    """Ours over the median of the three, for real series that judge, by the frequency of the data."""
    names = [name for group in ("judged", "short") for name in raw["problems"].get(group, [])]
    body = []
    for frequency in dict.fromkeys(raw["frequencies"][name] for name in names):
        chosen = [name for name in names if raw["frequencies"][name] == frequency]
        logs = [log_ratios(raw, chosen, what, MEDIAN) for what in ("mase", "pinball")]
        if all(logs):
            body.append([frequency or "no calendar", str(len(chosen)), *map(common.ratio_with_interval, logs)])
    title = f"## By frequency: `{OURS}` over the {MEDIAN}, real series that judge"
    return [title, "", *common.rows(("frequency", "series", "MASE", "pinball loss"), body), ""] if body else []


def table(raw: common.Raw) -> str:
    methods = [each for each in METHODS if any(f"|{each}|" in key for key in raw["results"])]
    lines = ["# Forecasts with nothing set", "", common.origin(raw), ""]
    singles = [group for group in TITLES if group in raw["problems"] and group != "panels"]
    lines += [
        f"`{OURS}` over other methods, series by series: geometric mean with a 95 % interval over series, and median. "
        f"Below 1: `{OURS}` is better. {MEDIAN.capitalize()}: of AutoETS, AutoARIMA and AutoTheta, quantile by quantile.",
        "",
    ]
    for what, title in (("mase", "MASE"), ("pinball", "Pinball loss")):
        body = []
        for rival in (each for each in methods if each != OURS):
            cells = [rival]
            for group in singles:
                logs = log_ratios(raw, raw["problems"][group], what, rival)
                cells += [common.ratio_with_interval(logs), f"{math.exp(np.median(logs)):.3f}"] if logs else ["–", "–"]
            body.append(cells)
        heads = [head for group in singles for head in (f"{TITLES[group]} ({len(raw['problems'][group])})", "median")]
        lines += [f"## {title}, relative", "", *common.rows(("rival", *heads), body), ""]
    lines += by_frequency(raw)
    ratio, name = worst_of(raw)
    if name:
        lines += [
            f"Largest MASE of `{OURS}` over the best rival, of series with more than {LONG} values: {ratio:.2f} ({name}).",
            "",
        ]
    lines += ["## Coverage of intervals, and processor seconds a series", ""]
    body = []
    for method in methods:
        cells = [method]
        for group in singles:
            for what in ("inside80", "inside95"):
                each = means_of(raw, group, method, what)
                cells.append(f"{100 * np.mean(each):.1f}" if each else "–")
        seconds = [value for group in singles for value in means_of(raw, group, method, "seconds")]
        body.append([*cells, f"{np.median(seconds):.2f}", f"{np.mean(seconds):.2f}", f"{np.max(seconds):.1f}"])
    heads = [f"{TITLES[group]}: {level} %" for group in singles for level in (80, 95)]
    lines += [*common.rows(("method", *heads, "median s", "mean s", "most s"), body), ""]
    for group in (each for each in TITLES if each in raw["problems"]):
        used = [OURS, TOGETHER, *RIVALS] if group == "panels" else methods
        used = [each for each in used if any(f"|{each}|" in key for key in raw["results"])]
        body = []
        for name in raw["problems"][group]:
            cells = [name]
            for method in used:
                values = [mean_of(raw, name, method, what) for what in ("mase", "pinball")]
                cells.append(" / ".join("–" if value is None else f"{value:.2f}" for value in values))
            body.append(cells)
        lines += [f"## {TITLES[group].capitalize()}: MASE / pinball loss", "", *common.rows(["series", *used], body), ""]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main(
        "forecasting",
        __doc__,
        measure,
        table,
        arguments=arguments,
        libraries=("scikit-learn", "statsforecast", "lightgbm"),
        extend=extend,
    )


if __name__ == "__main__":
    main()
