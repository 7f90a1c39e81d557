"""`echoscale forecast` and `echoscale predict`: use a saved model."""

from __future__ import annotations

import io
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import typer

import echoscale as es
from echoscale._internal.files import make_folder, write_atomically
from echoscale._internal.progress import shown
from echoscale._internal.types import Floats
from echoscale.app.cli import labelled_sequences as sequences
from echoscale.app.cli.output import check_file, note, note_filled, print_json, silent, working
from echoscale.app.report.fits import forecast_picture, forecast_rows
from echoscale.data import tables as data_files
from echoscale.data.metrics import nrmse
from echoscale.data.scaling import is_constant
from echoscale.data.series import held
from echoscale.data.tables import DataFile, Notation, when
from echoscale.forecasting import AutoModel, Forecaster
from echoscale.storage import save_load

if TYPE_CHECKING:
    import pandas as pd

TABLES, PICTURES = (".csv", ".parquet"), (".png", ".svg")


def forecast(
    path: Path,
    steps: int | None,
    future: Path | None,
    after: Path | None,
    notation: Notation,
    levels: tuple[float, ...],
    out: Path | None,
    picture: Path | None,
    json: bool,
) -> None:
    """The next values of a forecaster."""
    for file, endings in ((out, TABLES), (picture, PICTURES)):
        if file is not None:
            check_file(file, endings)
    model = es.load(path)
    if not isinstance(model, Forecaster):
        hint = ": use `echoscale predict`" if hasattr(model, "predict") else ""
        raise ValueError(f"{path} holds {_called(model)}, and only a Forecaster can forecast{hint}.")
    if after is not None:
        data = _read_like(model, after, notation)
        new = _new_rows(model, data)
        with working(f"Taking in {len(new)} rows"):
            model.update(*_known(model, new))
    known = None
    if model.future_inputs_:
        known = _future_inputs(model, future, steps, notation)
        steps = len(known)
    elif future is not None:
        raise ValueError(f"{path} uses no future inputs: leave --future out.")
    steps = steps or int(save_load.notes(path).get("horizon", model.horizon_))
    if steps > model.horizon_:
        note(f"{steps} steps are more than the {model.horizon_} of the fit: they are tested first, which takes as long.")
    with working("Forecasting") if steps > model.horizon_ else nullcontext():
        found = model.predict(steps, known, levels)
    content = forecast_picture(model, found, None, picture.suffix[1:]) if picture is not None else b""
    _give(forecast_rows(found), out, json)
    if picture is not None:
        make_folder(picture.parent)
        write_atomically(picture, content)
        note(f"Picture: {picture}")


def predict(
    path: Path,
    source: Path,
    inputs: list[str],
    time: str | None,
    every: str | None,
    notation: Notation,
    sequence: str | None,
    levels: tuple[float, ...],
    out: Path | None,
    json: bool,
) -> None:
    """The target of every row, or of every sequence."""
    if out is not None:
        check_file(out, TABLES)
    model = es.load(path)
    frame: pd.DataFrame
    truth: npt.NDArray[Any] | None
    guess: npt.NDArray[Any]
    if sequence is not None and not isinstance(model, es.forecasting.SequenceModel):
        raise ValueError(f"{path} holds {_called(model)}, which predicts rows, not sequences: leave --sequence out.")
    if isinstance(model, Forecaster):
        frame, truth, guess = _step_by_step(model, _read_like(model, source, notation, time, every), levels)
    elif isinstance(model, es.forecasting.SequenceModel):
        data = data_files.read(source, data_files.NO_TIME, None, notation)
        frame, truth, guess = _labels(model, save_load.notes(path), data, inputs, sequence)
    elif hasattr(model, "predict"):
        data = data_files.read(source, time, every, notation)
        frame, truth, guess = _rows(model, save_load.notes(path), data, inputs)
    else:
        raise ValueError(f"{path} holds {_called(model)}, which cannot predict rows of a table.")
    _give(frame, out, json)
    if truth is not None:
        _say_error(truth, guess)


# --------------------------------------------------------------------------------------------------------- a forecaster


def _read_like(
    model: Forecaster, source: Path, notation: Notation, time: str | None = None, every: str | None = None
) -> DataFile:
    """Read a file, with times in the form of the model."""
    own = model.times(1).name
    return data_files.read(source, time or (data_files.NO_TIME if own is None else str(own)), every, notation)


def _new_rows(model: Forecaster, data: DataFile) -> DataFile:
    """Rows after the last row of the model; without times, all rows."""
    if data.time is None:
        return data
    start = model.times(1)[0]
    first = int(np.searchsorted(data.frame.index, start))
    if first == len(data):
        raise ValueError(f"{data.path} ends at {when(data.frame.index[-1])}; the model wants {when(start)} next.")
    if first:
        note(f"{first} of {len(data)} rows are before {when(start)}, the model's next time: left out.")
    return data.rows(first)


def _known(model: Forecaster, data: DataFile) -> tuple[Any, pd.DataFrame | None]:
    """y and X of new rows, in the form of the fit."""
    y = data.numbers(model.targets_).set_axis(_index(model, len(data), data))
    X = data.numbers(model.inputs_).set_axis(y.index) if model.inputs_ else None
    return (y[model.targets_[0]] if len(model.targets_) == 1 else y), X


def _index(model: Forecaster, rows: int, data: DataFile) -> pd.Index[Any]:
    """The times of new rows, which follow the times of the model."""
    wanted = model.times(rows)
    if data.time is not None:
        off = np.flatnonzero(np.asarray(data.frame.index != wanted))
        if len(off):
            row = int(off[0])
            raise ValueError(f"{data.path}: {data.at(row)} should be {when(wanted[row])}, the model's next time.")
    return wanted


def _future_inputs(model: Forecaster, future: Path | None, steps: int | None, notation: Notation) -> pd.DataFrame:
    """Inputs of the next steps: all, or the wanted number."""
    names, start = ", ".join(model.future_inputs_), model.times(1)[0]
    if future is None:
        raise ValueError(f"the model needs the inputs of the future steps, {names}: give a file with --future.")
    data = _read_like(model, future, notation)
    data.check(model.future_inputs_)
    if data.time is not None:
        data = data.rows(int(np.searchsorted(data.frame.index, start)))
    elif set(model.targets_) <= set(data.frame.columns):
        known = data.numbers(model.targets_).notna().to_numpy().any(axis=1)
        if known.all():
            raise ValueError(f"{future}: every row has {' and '.join(model.targets_)}, so no row is in the future.")
        data = data.rows(int(np.flatnonzero(known)[-1]) + 1 if known.any() else 0)
    if not len(data):
        raise ValueError(f"{future} has no row at {when(start)} or later, where the forecast begins.")
    if steps is not None and len(data) < steps:
        raise ValueError(f"{future} has {len(data)} rows from {when(start)} on, but {steps} steps were requested.")
    data = data.rows(0, steps)
    found = data.numbers(model.future_inputs_)
    gaps = np.argwhere(found.isna().to_numpy())
    if len(gaps):
        row, column = gaps[0]
        raise ValueError(f"{future}: a gap at {data.at(int(row))}, column {found.columns[column]!r}: the future must be known.")
    return found.set_axis(_index(model, len(data), data))


def _step_by_step(model: Forecaster, data: DataFile, levels: tuple[float, ...]) -> tuple[pd.DataFrame, Floats, Floats]:
    """Forecast every row from the rows before it."""
    import pandas as pd

    data = _new_rows(model, data)
    y, X = _known(model, data)
    found = []
    with shown(not silent.get(), "predicting") as tell:
        for row in range(len(data)):
            now = None if X is None else X.iloc[row : row + 1]
            ahead = None if now is None or not model.future_inputs_ else now[list(model.future_inputs_)]
            found.append(forecast_rows(model.predict(1, ahead, levels)))
            model.update(y.iloc[row : row + 1], now)
            tell(row + 1, len(data), "")
    frame = pd.concat(found, ignore_index=True)
    truth = np.asarray(y, np.float64).reshape(len(data), -1)
    frame.insert(2, "value", truth.ravel())
    return frame, truth, frame["forecast"].to_numpy().reshape(truth.shape)


# --------------------------------------------------------------------------------------------------------- other models


def _rows(
    model: Any, notes: dict[str, Any], data: DataFile, inputs: list[str]
) -> tuple[pd.DataFrame, npt.NDArray[Any] | None, npt.NDArray[Any]]:
    """Predictions from the inputs up to every row."""
    import pandas as pd

    known = [str(each) for each in notes.get("targets", ())]
    features = int(model.n_features_in_)
    columns = inputs or [str(each) for each in notes.get("inputs", ())]
    columns = columns or [name for name in data.numeric() if name != "row"]
    _check_count(columns, features)
    u = data.numbers(columns).to_numpy()
    note_filled(int(np.isnan(u).sum()))
    settings = {}
    if isinstance(model, AutoModel) and notes.get("next") is not None:
        follows = data.time is not None and when(data.frame.index[0]) == notes["next"]
        if follows:
            settings["state"] = model.state_
        why = "follow the training data" if follows else "do not follow the training data: the first predictions are less sure"
        note(f"The rows {why}.")
    guess = np.asarray(model.predict(held(u), **settings))
    guess = guess[:, None] if guess.ndim == 1 else guess
    names = known if len(known) == guess.shape[1] else [f"y{o}" for o in range(guess.shape[1])]
    made: dict[str, Any] = {} if data.time is None else {data.time: data.frame.index}
    truth = None
    if known and set(known) <= set(data.frame.columns):
        labelled = guess.dtype.kind not in "iuf"
        truth = data.frame[known].astype("str").to_numpy().astype(str) if labelled else data.numbers(known).to_numpy()
        made |= {name: data.frame[name].to_numpy() for name in known}
    made |= {f"{name} predicted": each for name, each in zip(names, guess.T, strict=True)}
    return pd.DataFrame(made), truth, guess


def _labels(
    model: es.forecasting.SequenceModel, notes: dict[str, Any], data: DataFile, inputs: list[str], sequence: str | None
) -> tuple[pd.DataFrame, npt.NDArray[Any] | None, npt.NDArray[Any]]:
    """The label of every sequence."""
    import pandas as pd

    name = sequence or notes.get("sequence")
    if name is None:
        raise ValueError("the model does not know which column names the sequences: give --sequence.")
    groups = sequences.grouped(data, name)
    columns = inputs or [str(each) for each in notes.get("inputs", ())] or sequences.inputs_of(data, groups, [name])
    _check_count(columns, len(model.scaling.mean))
    guess = np.asarray(model.predict(sequences.values_of(data, groups, columns)))[:, None]
    known = [str(each) for each in notes.get("targets", ())]
    made: dict[str, Any] = {name: list(groups)}
    truth = None
    if known and set(known) <= set(data.frame.columns):
        truth = sequences.labels(data, groups, known[0])[:, None]
        made[known[0]] = truth[:, 0]
    made[f"{known[0] if known else 'label'} predicted"] = guess[:, 0]
    return pd.DataFrame(made), truth, guess.astype(str)


def _check_count(columns: list[str], features: int) -> None:
    if len(columns) != features:
        raise ValueError(
            f"the model takes {features} inputs, not {len(columns)} ({', '.join(columns)}): name them with --inputs."
        )


def _say_error(truth: npt.NDArray[Any], guess: npt.NDArray[Any]) -> None:
    if truth.dtype.kind not in "iuf":
        note(f"Wrong labels: {float((truth != guess).mean()):.1%} of {len(truth)}.")
        return
    known = ~np.isnan(truth).any(axis=1)
    truth, guess = truth[known], guess[known]
    if len(truth) > 1 and not is_constant(truth).any():
        note(f"NRMSE of {len(truth)} rows: {nrmse(truth, guess):.3g} (predicting the mean gives 1).")


# -------------------------------------------------------------------------------------------------------------- results


def _called(model: object) -> str:
    kind = type(model).__name__
    return f"an {kind}" if kind[0] in "AEONR" else f"a {kind}"


def _give(frame: pd.DataFrame, out: Path | None, json: bool) -> None:
    """Write a table to a file or to standard output."""
    if out is not None:
        make_folder(out.parent)
        write_atomically(out, _csv(frame).encode() if out.suffix.lower() == ".csv" else _parquet(frame))
        print_json({"file": out, "rows": len(frame)}) if json else typer.echo(out)
    elif json:
        worded = frame.apply(lambda column: column if column.dtype.kind in "biuf" else column.map(when))
        print_json(worded.to_dict("records"))
    else:
        typer.echo(_csv(frame), nl=False)


def _csv(frame: pd.DataFrame) -> str:
    return frame.to_csv(index=False, float_format="%.8g", lineterminator="\n")


def _parquet(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    try:
        frame.to_parquet(file)
    except ImportError:
        raise ImportError("Parquet files need the package pyarrow: pip install pyarrow.") from None
    return file.getvalue()
