"""`echoscale fit`: from a data file to a table, a model, a picture and a page.

The target decides the tool: `es.Forecaster` predicts the future of numbers; `es.auto` predicts targets of the same row, and
labels of rows or of sequences. Everything is computed before anything is written.
"""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

import echoscale as es
from echoscale._internal.files import make_folder, write_atomically
from echoscale.app.cli import labelled_sequences as sequences
from echoscale.app.cli.output import STOPPED, check_file, check_folder, note, note_filled, print_json, say, silent, working
from echoscale.app.report import fits as fit_pages
from echoscale.data import several, tables
from echoscale.data.series import held
from echoscale.data.tables import DataFile, Notation, listed, when

if TYPE_CHECKING:
    import pandas as pd

    from echoscale._internal.table import Table
    from echoscale.forecasting import Backtest, Forecaster

# Least budget in seconds, for every value of all targets, with which forecasts use networks. On an idle machine the fit takes a
# third of it; the rest is for the table of baselines, or for other programs.
SECONDS_A_VALUE = 0.03
MODEL, PICTURE, PAGE = "model.safetensors", "picture.png", "report.html"
FEWEST = 3  # fewest earlier origins: fewer give rough errors
OWN, WITHOUT, RIDGE = "echoscale", "echoscale without networks", "ridge on lags"
# Ratio of the time of a fit at one earlier origin to the time of the fit to all data.
COSTS = {OWN: 1.2, RIDGE: 0.5, WITHOUT: 0.7}
# Seconds of the processor for the picture, the page and the files.
END_SECONDS = 2.0


@dataclass(frozen=True)
class FitRequest:
    """The user's request, checked as far as possible without the data."""

    data: Path
    targets: list[str]
    inputs: list[str]
    past: list[str]
    time: str | None
    every: str | None
    notation: Notation
    sequence: str | None
    horizon: int | None
    season: int | str | None
    seconds: float
    levels: tuple[float, ...]
    seed: int
    out: Path


@dataclass
class Made:
    """All that a fit makes, before anything is written.

    Attributes
    ----------
    model : Forecaster, AutoModel or SequenceModel
        The fitted model.
    notes : dict
        What the model file says of the data.
    picture : bytes
        PNG.
    page : str
        HTML.
    results : dict
        The results for programs.
    words : list of str
        The results for people, line by line.
    following : list of str
        The next commands.
    stopped : bool
        Whether Ctrl-C ended it early.
    """

    model: Any
    notes: dict[str, Any]
    picture: bytes
    page: str
    results: dict[str, Any]
    words: list[str]
    following: list[str]
    stopped: bool


def season_of(text: str) -> int | str | None:
    """The season option: auto, none or a number of steps."""
    if text in ("auto", "none"):
        return None if text == "none" else text
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"--season takes auto, none or a number of steps, got {text!r}.")
    return int(text)


def fit(asked: FitRequest, json: bool) -> None:
    """Run the whole command."""
    began, used = clock.perf_counter(), process_time()
    if not asked.seconds > 0:
        raise ValueError(f"--seconds must be above 0, got {asked.seconds:g}.")
    check_folder(asked.out)
    files = {"model": asked.out / MODEL, "picture": asked.out / PICTURE, "page": asked.out / PAGE}
    for file in files.values():
        check_file(file, [file.suffix])
    sequence = asked.sequence if asked.sequence != sequences.ONE_SERIES else None
    if sequence is not None and (asked.time not in (None, tables.NO_TIME) or asked.every is not None):
        raise ValueError("--sequence takes the rows of a sequence in the order of the file: leave --time and --every out.")
    time = tables.NO_TIME if sequence is not None else asked.time
    data = tables.read(asked.data, time, asked.every, asked.notation)
    # On a busy machine the end takes as much longer than its seconds of the processor as reading did.
    load = max((clock.perf_counter() - began) / max(process_time() - used, 1e-3), 1.0)
    deadline = began + asked.seconds - END_SECONDS * load
    if sequence is not None:
        made = _sequences(asked, data, sequence, deadline)
    else:
        columns = Columns.of(asked, data)
        note(described(data))
        for each in data.notes:
            note(f"Note: {each}.")
        if columns.labelled or asked.horizon == 0:
            made = _same_row(asked, data, columns, deadline)
        else:
            made = _future(asked, data, columns, deadline)
    make_folder(asked.out)
    es.save(made.model, files["model"], notes=made.notes)
    write_atomically(files["picture"], made.picture)
    write_atomically(files["page"], made.page.encode())
    if json:
        took = clock.perf_counter() - began
        print_json({"data": asked.data, "rows": len(data), **made.results, "files": files, "seconds": round(took, 2)})
    else:
        typer.echo("\n".join([*made.words, *(f"{name.capitalize()}: {path}" for name, path in files.items())]))
        note(f"Next: {made.following[0]}")
    if made.stopped:
        raise typer.Exit(STOPPED)


def described(data: DataFile) -> str:
    """The description of a file in one line."""
    index = data.frame.index
    span = f", {data.time} from {when(index[0])} to {when(index[-1])}" if data.time is not None else ", no column of times"
    return f"{data.path}: {len(data):,} row{'s' * (len(data) != 1)}{span}"


@dataclass(frozen=True)
class Columns:
    """The roles of the columns, which all exist."""

    targets: list[str]
    inputs: list[str]
    past: list[str]
    labelled: bool = False
    sequence: str | None = None

    @classmethod
    def of(cls, asked: FitRequest, data: DataFile) -> Columns:
        """Columns by the names of the user; a file with one column needs no names."""
        given = [*asked.targets, *asked.inputs, *asked.past]
        data.check(given)
        targets = asked.targets
        if not targets:
            left = [name for name in data.numeric() if name not in given and name != "row"]
            others = [name for name in data.frame.columns if name not in given and not data.is_text(name)]
            if not left and len(others) == 1:
                data.numbers(others)  # the error names the cell that is not a number
            if len(left) != 1:
                names = [name for name in data.frame.columns if name not in given and name != "row"]
                there = f"Give --target, one of {', '.join(names)}" if left else "No column holds numbers alone"
                raise ValueError(f"{data.path}: which column is to be predicted? {there}.")
            targets = left
        text = [name for name in targets if data.is_text(name)]
        if text and len(targets) > 1:
            raise ValueError(f"column {text[0]!r} holds words: labels are learned one column at a time.")
        if text and asked.horizon:
            raise ValueError(f"column {text[0]!r} holds words: labels are predicted for the same row, --horizon 0.")
        inputs, past = asked.inputs, asked.past
        same_row = bool(text) or asked.horizon == 0
        if asked.sequence is None:
            sequences.check_one_series(data, targets, [*inputs, *past])
        if same_row:
            others = [name for name in data.numeric() if name not in targets and not several.is_name(name)]
            inputs = [*inputs, *past] or others
            past = []
            if not inputs:
                raise ValueError(
                    f"{data.path}: the target of the same row needs inputs, and there is no other column of numbers."
                )
        return cls(targets, inputs, past, bool(text))

    def said(self, data: DataFile) -> list[str]:
        """A sentence that names the inputs and the unused columns."""
        past = f"; known only up to now: {', '.join(self.past)}" if self.past else ""
        lines = [f"Inputs: {', '.join(self.inputs) or 'none'}{past}"]
        used = {*self.targets, *self.inputs, *self.past, self.sequence}
        left = [name for name in data.frame.columns if name not in used]
        return [*lines, f"Not used: {listed(left)}"] if left else lines


# -------------------------------------------------------------------------------------------------------------- the future


def _future(asked: FitRequest, data: DataFile, columns: Columns, deadline: float) -> Made:
    targets = data.numbers(columns.targets)
    every = data.numbers([*columns.inputs, *columns.past])
    end = _checked_end(data, targets)
    y: Any = targets.iloc[:end]
    X = every.iloc[:end] if every.shape[1] else None
    ahead = _known_ahead(every.iloc[end:], columns)
    names = columns.targets
    gaps = int(y.isna().to_numpy().sum())
    if gaps:
        note(f"{gaps} gap{'s' * (gaps != 1)} in {', '.join(names)}: skipped as targets, filled as inputs.")
    budget = SECONDS_A_VALUE * y.size
    networks = asked.seconds >= budget
    if not networks:
        note(f"Networks are left out: {y.size:,} values need --seconds {np.ceil(budget):.0f}.")
    y = y[names[0]] if len(names) == 1 else y

    def forecaster(**settings: Any) -> Forecaster:
        both = {"season": asked.season, "past": columns.past, "seed": asked.seed, "networks": networks, **settings}
        return es.Forecaster(asked.horizon, **both)

    fitting = clock.perf_counter()
    with working(f"Fitting {', '.join(names)}"):
        model = forecaster().fit(y, X)
    took = clock.perf_counter() - fitting
    stopped, table, judged = False, None, None
    horizon = model.backtest_size()[0] or model.horizon_  # up to the judged horizon
    try:
        table, judged = _beside(asked, model, forecaster, y, X, took, deadline)
    except KeyboardInterrupt:
        say("Judging was stopped: the model is written without its table.")
        stopped = True
    steps = horizon if ahead is None else min(len(ahead), model.horizon_)
    forecast = None
    if steps:
        known = ahead.iloc[:steps][columns.inputs] if ahead is not None and columns.inputs else None
        forecast = model.predict(steps, known, asked.levels)
    roles = {
        "task": "forecast",
        "targets": names,
        "inputs": columns.inputs,
        "past": columns.past,
        "time": data.time,
        "horizon": horizon,
    }
    future = " --future FUTURE.csv" if model.future_inputs_ else ""
    file = asked.out / MODEL
    following = [f"echoscale forecast {file} --steps {horizon}{future}", f"echoscale timescales {file}"]
    with working("Drawing"):
        picture = fit_pages.forecast_picture(model, forecast, judged)
        page = fit_pages.forecast_page(model, data.path.name, described(data), table, forecast, judged, picture, following)
    results = {**roles, "season": model.season_, "table": table, "candidates": model.candidates_}
    words = [str(table), ""] if table is not None else []
    words += [f"Season: {_season(model)}", *columns.said(data), _saved(model, table)]
    return Made(model, {**roles, "data": data.path.name}, picture, page, results, words, following, stopped)


def _saved(model: Forecaster, table: Table | None) -> str:
    """A sentence that names the saved row of the table, and another row with a smaller error."""
    used = sum(weight for name, _, weight in model.candidates_.rows if "network" in str(name))
    share = f"networks have {used:.0%} of the weight" if used else "no networks"
    better = [str(row[0]) for row in table.rows[:1] if row[0] != OWN] if table is not None else []
    return f"Saved: {OWN} ({share})" + "".join(f"; in this table {name} has a smaller error" for name in better)


def _checked_end(data: DataFile, targets: pd.DataFrame) -> int:
    """Number of rows with a target, before the future; raises an error for targets that cannot be forecast."""
    known = targets.notna().to_numpy()
    some = np.flatnonzero(known.any(axis=1))
    for b, name in enumerate(targets.columns):
        values = targets[name].to_numpy()[known[:, b]]
        if not len(values):
            raise ValueError(f"{data.path}: column {name!r} holds no number.")
        if len(values) > 1 and (values == values[0]).all():
            raise ValueError(f"{data.path}: column {name!r} is constant ({values[0]:g}): there is nothing to forecast.")
    return int(some[-1]) + 1


def _known_ahead(rest: pd.DataFrame, columns: Columns) -> pd.DataFrame | None:
    """Inputs of the rows without a target at the end; None if no inputs are needed."""
    if not columns.inputs:
        return None
    gaps = rest[columns.inputs].isna().to_numpy().any(axis=1)
    whole = int(np.argmax(gaps)) if gaps.any() else len(rest)
    if not whole:
        note(
            f"The future of {', '.join(columns.inputs)} is not in the file, so nothing is forecast yet: add rows with inputs "
            "and without a target, or use `echoscale forecast --future`; --past is for inputs known only up to now.",
        )
    return rest.iloc[:whole]


def judged_within(left: float, took: float, most: int, rivals: Sequence[str]) -> tuple[int, list[str]]:
    """Number of earlier origins and baselines within the time limit: all baselines, the first alone, or none."""
    fits = left / max(took, 1e-3)
    for kept in (list(rivals), list(rivals[:1]), []):
        once = sum(COSTS[name] for name in kept)
        origins = min(int((fits - once) / (COSTS[OWN] + once)), most)
        if origins >= 1:
            return origins, kept
    return 0, []


def _beside(
    asked: FitRequest,
    model: Forecaster,
    forecaster: Any,
    y: Any,
    X: pd.DataFrame | None,
    took: float,
    deadline: float,
) -> tuple[Table | None, Backtest | None]:
    """The table of baselines, at as many earlier origins as the time limit allows."""
    steps, most = model.backtest_size()
    if most < 1:
        note("There are too few values for a test at earlier origins.")
        return None, None
    rivals: dict[str, dict[str, Any]] = {RIDGE: {"networks": False, "mode": "direct"}}
    if any("network" in str(name) for name in model.candidates_["forecaster"]):
        rivals[WITHOUT] = {"networks": False}
    origins, kept = judged_within(deadline - clock.perf_counter(), took, most, list(rivals))
    if origins < 1:
        enough = np.ceil(asked.seconds + took * (COSTS[OWN] + 2 * COSTS[RIDGE]))
        note(f"No time is left for a test at earlier origins: --seconds {enough:.0f} would do.")
        return None, None
    words = f"at {origins} earlier origin{'s' * (origins != 1)}"
    with working(f"Judging {OWN} {words}"):
        judged = {OWN: model.backtest(steps, origins, asked.levels)}
    for name in rivals:
        if name not in kept or clock.perf_counter() + COSTS[name] * (1 + origins) * took > deadline:
            note(f"No time is left for {name} in the table.")
            continue
        with working(f"Judging {name} {words}"):
            judged[name] = forecaster(**rivals[name]).fit(y, X).backtest(steps, origins, asked.levels)
    if origins < FEWEST:
        note(f"Judged {words} only, so that errors are rough.")
    own = judged.pop(OWN)
    return own.beside(judged, OWN), own


def _season(model: Forecaster) -> str:
    periods = model.season_ if isinstance(model.season_, list) else [model.season_]
    several = [each if isinstance(each, tuple) else (each,) for each in periods]
    said = ["none found" if each == (None,) else f"{' and '.join(map(str, each))} steps" for each in several]
    if len(set(said)) == 1:
        return said[0]
    return ", ".join(f"{name} {each}" for name, each in zip(model.targets_, said, strict=True))


# ----------------------------------------------------------------------------------------------------------- the same row


def _same_row(asked: FitRequest, data: DataFile, columns: Columns, deadline: float) -> Made:
    name = columns.targets[0]
    if columns.labelled:
        sequences.check_whole(data, name, "label", "fill it, or leave the row out")
        y: Any = data.frame[name].astype("str").to_numpy().astype(str)
        if len(set(y)) < 2:
            raise ValueError(f"{data.path}: column {name!r} is constant ({y[0]!r}): there is nothing to predict.")
    else:
        numbers = data.numbers(columns.targets)
        _checked_end(data, numbers)
        y = numbers.to_numpy()
    u = data.numbers(columns.inputs).to_numpy()
    note_filled(int(np.isnan(u).sum()))
    index = data.frame.index
    notes = {
        "task": "same row",
        "time": data.time,
        "last": None if data.time is None else when(index[-1]),
        "next": _after(index) if data.time is not None else None,
    }
    return _automatic(asked, data, columns, held(u), y, notes, deadline)


def _sequences(asked: FitRequest, data: DataFile, name: str, deadline: float) -> Made:
    """Fit labels of sequences."""
    if asked.horizon:
        raise ValueError("--sequence learns one label per sequence, and no future: leave --horizon out.")
    given = [*asked.inputs, *asked.past]
    data.check([*asked.targets, *given])
    if len(asked.targets) != 1:
        others = [each for each in data.frame.columns if each not in (name, *given)]
        raise ValueError(
            f"{data.path}: which column holds the labels of the sequences? Give --target, one of {listed(others)}."
        )
    groups = sequences.grouped(data, name)
    y = sequences.labels(data, groups, asked.targets[0])
    inputs = given or sequences.inputs_of(data, groups, [name, *asked.targets])
    columns = Columns(asked.targets, inputs, [], labelled=True, sequence=name)
    u = sequences.values_of(data, groups, inputs)
    note(f"{data.path}: {len(data):,} rows in {len(groups):,} sequences, named by {name}")
    note_filled(int(data.numbers(inputs).isna().to_numpy().sum()))
    notes = {"task": "sequences", "sequence": name, "time": None}
    return _automatic(asked, data, columns, u, y, notes, deadline)


def _automatic(
    asked: FitRequest, data: DataFile, columns: Columns, u: Any, y: Any, notes: dict[str, Any], deadline: float
) -> Made:
    """Fit a model with `es.auto`, and write its page and files."""
    stopped = False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seconds = max(deadline - clock.perf_counter(), asked.seconds / 2)
        found = es.auto(u, y, seconds, asked.seed, labels=columns.labelled, progress=not silent.get())
    for words in dict.fromkeys(str(each.message) for each in caught):
        stopped = stopped or words.startswith("interrupted")
        note(f"Note: {words}")
    notes |= {"data": data.path.name, "targets": columns.targets, "inputs": columns.inputs}
    following = [f"echoscale predict {asked.out / MODEL} NEW.csv"]
    with working("Drawing"):
        guess = None if columns.labelled else np.asarray(found.model.predict(u)).reshape(len(u), -1)
        picture = fit_pages.same_row_picture(found, data.frame.index, columns.targets, y, guess)
        page = fit_pages.auto_page(found, described(data), picture, following)
    results = {
        **{key: notes[key] for key in ("task", "targets", "inputs", "time")},
        "winner": found.winner,
        "error": found.error,
        "table": found.table,
        "reasons": list(found.reasons),
    }
    told = [str(found), "", *columns.said(data), f"Saved: {found.winner}"]
    return Made(found.model, notes, picture, page, results, told, following, stopped)


def _after(index: pd.Index[Any]) -> str | None:
    """The time of the next row; None if the steps are uneven."""
    if len(index) < 2:
        return None
    step = getattr(index, "freq", None)
    return when(index[-1] + (index[-1] - index[-2] if step is None else step))
