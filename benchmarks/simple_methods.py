"""How good are the simple methods of `es.auto` on short series? Beside the better of ridge on lags and the seasonal naive.

    python benchmarks/simple_methods.py            two minutes
    python benchmarks/simple_methods.py --quick    seconds

Series of known kinds (`drawn_series.py`), 160 and 320 values, 1 and 6 steps ahead, split and judged as in `real_data.py`. No
network is tried. The rival is the better of two methods *on the test data*: nobody can know it beforehand. How often even a
user who knows the kind of the series, and which method is best for it on average, stays behind it stands in the table too.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence

import common
import numpy as np
import numpy.typing as npt
import real_data
from drawn_series import KINDS, drawn
from threadpoolctl import threadpool_limits

from echoscale.forecasting.methods import SIMPLE, compare, final
from echoscale.forecasting.model import model_of
from echoscale.forecasting.problem import as_problem
from echoscale.forecasting.rows import Steps
from echoscale.forecasting.search import Search

Floats = npt.NDArray[np.float64]

LENGTHS, HORIZONS = (160, 320), (1, 6)
SEEDS = 8
LIMIT = 1.05
OURS = "taken"


def errors(series: Floats, horizon: int) -> dict[str, float]:
    """Of the simple methods, of their mean as it is taken, and of the two rivals, on the last quarter of a series."""
    split = real_data.Split("", horizon, series)
    problem = as_problem(split.u[: split.known], split.y[: split.known], None, "standard")
    search = Search(Steps(problem), 0)
    compared = compare(search)

    def error(shares: dict[str, float]) -> float:
        return split.of_model(model_of(problem, search.steps.drive, *final(search, compared._replace(weights=shares), SIMPLE)))

    found = {name: error({name: 1.0}) for name in compared.fitted}
    best = min(real_data.ridge(split, 0, 0)["error"], real_data.seasonal(split, 0, 0)["error"])
    return {**found, OURS: error(compared.weights), "rival": best}


def measure(options: argparse.Namespace) -> common.Raw:
    kinds, seeds = (list(KINDS)[:2], 2) if options.quick else (list(KINDS), SEEDS)
    lengths = LENGTHS[:1] if options.quick else LENGTHS
    found = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for kind in kinds:
            for length in lengths:
                for horizon in HORIZONS:
                    each = [errors(drawn(kind, length, seed), horizon) for seed in range(seeds)]
                    found.append({"kind": kind, "length": length, "horizon": horizon, "errors": each})
            common.say(kind)
    return {"seeds": seeds, "problems": found}


def ratios(problem: common.Raw, method: str) -> list[float]:
    """Over the rival's error, for every seed."""
    return [each[method] / each["rival"] for each in problem["errors"]]


def of_the_knowing(problem: common.Raw) -> list[float]:
    """Of the method that is best on average over all series of this kind, length and horizon."""
    every = set.intersection(*(set(each) for each in problem["errors"])) - {"rival", OURS}
    return min((ratios(problem, name) for name in sorted(every)), key=lambda each: float(np.mean(np.log(each))))


def summary(raw: common.Raw) -> list[tuple[str, list[float], list[float]]]:
    """(kind, ratios of what is taken, ratios of who knows the kind), and all together."""
    found = []
    for kind in dict.fromkeys(each["kind"] for each in raw["problems"]):
        mine = [each for each in raw["problems"] if each["kind"] == kind]
        found.append(
            (kind, [x for each in mine for x in ratios(each, OURS)], [x for each in mine for x in of_the_knowing(each)])
        )
    found.append(("all", [x for _, ours, _ in found for x in ours], [x for *_, knowing in found for x in knowing]))
    return found


def table(raw: common.Raw) -> str:
    body = []
    for kind, *both in summary(raw):
        cells = [
            cell for each in both for cell in (f"{np.exp(np.mean(np.log(each))):.3f}", f"{np.mean(np.array(each) > LIMIT):.0%}")
        ]
        body.append([kind, *cells])
    heads = ("kind of series", "es.auto's simple methods", f"above {LIMIT}", "who knows the kind", f"above {LIMIT}")
    lines = [
        "# Simple methods on short series",
        "",
        common.origin(raw),
        "",
        "Test error over that of the better of ridge on lags and the seasonal naive, which is known afterwards only: geometric "
        f"mean, and the share of series above {LIMIT}. {raw['seeds']} series of every kind, length (160 and 320 values) and "
        "horizon (1 and 6 steps). *Who knows the kind* takes the one method that is best on average for series of that kind, "
        "length and horizon.",
        "",
        *common.rows(heads, body, left=1),
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("simple_methods", __doc__, measure, table, arguments=arguments)


if __name__ == "__main__":
    main()
