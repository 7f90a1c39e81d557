"""Attacks by calls: random networks against NumPy, random arguments, streams cut, saved and loaded, the command line."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import naive
import numpy as np
from outcomes import Attack, Found, alike, clear
from typer.testing import CliRunner

import echoscale as es
from echoscale.app.cli import app
from echoscale.data import tables
from echoscale.network.topologies import TOPOLOGIES

TOLERANCE = {"float64": 1e-11, "float32": 1e-4}


def network(shapes: np.random.Generator, rng: np.random.Generator, most: int = 16) -> es.Network:
    """Any graph of a few reservoirs: sizes and links from the first generator, all other numbers from the second."""
    count = int(shapes.integers(1, 4))
    reservoirs = []
    for _ in range(count):
        units = int(shapes.integers(1, most))
        topology: Any = str(shapes.choice(TOPOLOGIES))
        if topology == "concentric" and units < 4:
            topology = es.Concentric(rings=1)
        reservoirs.append(
            es.Reservoir(
                units,
                leak_rate=float(rng.uniform(0.01, 1)),
                spectral_radius=float(rng.uniform(0, 0.99)),
                input_scaling=float(rng.choice([0.0, 0.5, 3.0])),
                bias_scaling=float(rng.choice([0.0, 0.3])),
                leak_spread=float(rng.uniform(0, 3)) if shapes.random() < 0.3 and units > 1 else 0.0,
                residual=str(shapes.choice(["identity", "identity", "shift", "orthogonal"])),
                topology=topology,
                connections=int(shapes.integers(1, units + 1))
                if topology in ("normal", "uniform") and shapes.random() < 0.5
                else None,
            )
        )
    links = {(int(a), int(b)) for a, b in shapes.integers(0, count, (int(shapes.integers(0, 4)), 2)) if a < b}
    couplings = [es.Coupling(a, b, float(rng.normal())) for a, b in sorted(links)]
    return es.Network(reservoirs, couplings, coupling_delay=int(shapes.integers(2)))


def against_numpy(rng: np.random.Generator, folder: Path) -> str:
    """The states of a random network are those of scalar loops, in any layout of series and snapshots."""
    shapes = alike(rng, 25)
    dtype, inputs = str(shapes.choice(list(TOLERANCE))), int(shapes.integers(1, 3))
    esn = network(shapes, rng).build(inputs, seed=int(rng.integers(1000)), dtype=dtype)
    steps, every = int(shapes.integers(1, 40)), int(shapes.integers(1, 5))
    u = rng.uniform(-2, 2, (int(shapes.integers(1, 5)), steps, inputs))
    expected = np.stack([naive.states_of(esn, each) for each in u])
    found = [(esn.run(u), expected), (esn.run_chunks(u), expected[:, -1])]
    if every <= steps:
        found.append((esn.snapshots(u, every), expected[:, every - 1 :: every]))
    for states, right in found:
        if np.abs(states - right).max() > TOLERANCE[dtype]:
            raise Found("silent", f"states differ by {np.abs(states - right).max():g} for {esn}")
    return "right"


def small_networks(rng: np.random.Generator, folder: Path) -> str:
    """1 to 16 units, 1 to 4 lanes, both precisions, every topology, both delays: where a compiler's smallest loops are."""
    shapes = alike(rng, 4)
    units, lanes = int(shapes.integers(1, 17)), int(shapes.integers(1, 5))
    topology: Any = str(shapes.choice(TOPOLOGIES))
    parts = [-(-units // 2), units // 2] if units > 1 and shapes.random() < 0.7 else [units]
    own: Any = es.Concentric(rings=1) if topology == "concentric" and min(parts) < 4 else topology
    make = es.hierarchical if len(parts) > 1 else es.parallel
    options: dict[str, Any] = {"coupling_delay": int(shapes.integers(2))} if len(parts) > 1 else {}
    esn = make(parts, topology=own, bias_scaling=0.3, leak_rate=0.6, **options).build(
        1, seed=int(rng.integers(1000)), dtype=str(shapes.choice(list(TOLERANCE)))
    )
    u, every = rng.uniform(-2, 2, (lanes, 17, 1)), int(shapes.integers(1, 5))
    expected = np.stack([naive.states_of(esn, each) for each in u])
    for states, right in (
        (esn.snapshots(u, every), expected[:, every - 1 :: every]),
        (esn.run_chunks(u), expected[:, -1]),
    ):
        if np.abs(states - right).max() > TOLERANCE[esn.dtype]:
            raise Found("silent", f"states differ for {esn}")
    return "right"


U, Y = es.tasks.narma(150, order=3, seed=0)
VALUES: dict[str, tuple[Any, ...]] = {
    "units": (3, 5, (3, 4), 0, -1, 2.5, "5", None, [], range(2, 4), True),
    "leak_rate": (0.3, (0.5, 1.0), 0, 1.5, float("nan"), "a", None, np.array([0.5])),
    "spectral_radius": (0.9, 0, -1, 1e39, float("inf"), [0.5, 0.6]),
    "input_scaling": (0.1, 1e39, 1e300, -1, None, (0.1, 0.2)),
    "washout": (None, 0, 10, 149, 150, 10**6, -1, 1.5, "10"),
    "scale": ("standard", None, "minmax", 1),
    "ridge": ("auto", 1e-3, [1e-3, 1.0], -1, float("nan"), [], "none", None),
    "folds": (5, 0.2, 1, 0, 1.0, "x", 1000),
    "columns": (None, *(es.readouts.Columns(inputs) for inputs in (1, 0, 3, 1000)), 3, "x"),
    "network": (None, es.single(4, topology="ring"), es.single(4, feedback_scaling=0.1), "x", 5),
    "dtype": ("float32", "float64", "float16", None),
    "random_state": (0, None, -1, "x", np.random.RandomState(0)),
}
INPUTS: tuple[Any, ...] = (
    U,
    U[:, 0],
    U[:1],
    U[:0],
    U.tolist(),
    np.stack([U, U]),
    [U, U[:50]],
    np.full_like(U, np.nan),
    U * 1e300,
    U.astype(complex),
    np.ma.masked_array(U, U > 0.4),
    U.astype(object),
    None,
    "text",
    5,
    [[1, 2], [3]],
    np.zeros((150, 0)),
    U > 0.2,
    U.astype(int),
)
TARGETS: tuple[Any, ...] = (
    Y,
    Y[:, 0],
    Y[:10],
    np.ones_like(Y),
    np.stack([Y, Y]),
    [Y, Y[:50]],
    None,
    Y > 0.3,
    np.full_like(Y, np.inf),
    "text",
    Y[:, 0] > 0.3,
)


def random_calls(rng: np.random.Generator, folder: Path) -> str:
    """Any arguments, any data: a result that is finite, or an error that says what is wrong."""

    def any_of(values: Any, first: float = 0.7) -> Any:
        return values[0] if rng.random() < first else values[int(rng.integers(len(values)))]

    kind = es.ESNRegressor if rng.random() < 0.5 else es.ESNStepClassifier
    chosen = {name: any_of(values) for name, values in VALUES.items() if rng.random() < 0.6}
    chosen = {"units": 4, **chosen}
    u, y = any_of(INPUTS), any_of(TARGETS if kind is es.ESNRegressor else (TARGETS[-1], *TARGETS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model: Any = kind(**chosen)
            if rng.random() < 0.3:
                model.partial_fit(u, y)
            else:
                model.fit(u, y)
            outputs = model.predict(u)
            if rng.random() < 0.2 and kind is es.ESNRegressor:
                model.forecast(int(rng.integers(1, 5)))
        except Exception as error:
            if type(error).__name__ == "NotFittedError":
                return "refused"
            return clear(error)
    flat = np.concatenate([np.ravel(each) for each in outputs]) if isinstance(outputs, list) else np.ravel(outputs)
    if flat.dtype.kind == "f" and not np.isfinite(flat).all():
        raise Found("silent", f"{kind.__name__}({chosen}) predicts what is not finite")
    return "right"


def cut_streams(rng: np.random.Generator, folder: Path) -> str:
    """A stream in pieces, saved and loaded between them, learns the same bits as in one piece."""
    rule: Any = es.learning.RLS(1e-3) if rng.random() < 0.5 else None
    whole, pieces = (es.OnlineLearner(es.single(5, leak_rate=0.5), readout=rule, washout=5, record=30) for _ in range(2))
    whole.partial_fit(U, Y)
    edges = np.sort(rng.integers(1, len(U), int(rng.integers(1, 5))))
    for begin, end in zip([0, *edges], [*edges, len(U)], strict=True):
        if begin < end:
            pieces.partial_fit(U[begin:end], Y[begin:end])
            if rng.random() < 0.5:
                pieces = es.load(es.save(pieces, folder / "learner.es"))
    if not np.array_equal(whole.values, pieces.values) or not np.array_equal(whole.readout.coef, pieces.readout.coef):
        raise Found("silent", f"a stream cut at {edges} learned something else")
    return "right"


WORDS = (
    "figure",
    "sweep",
    "sweeps",
    "list",
    "show",
    "export",
    "version",
    "--out",
    "--scale",
    "smoke",
    "99",
    "-1",
    "x [/].nc",
    "--folder",
    "spec.toml",
    "nothing",
    "--processes",
    "0",
    "[red]",
    "\x00",
    "--debug=",
    "--help",
    "folder",
    "",
    "é" * 300,
    "--scheduler",
    "nonsense",
)
TABLES = (
    "[network]",
    "[task]",
    "[axes]",
    "[protocol]",
    "structure = 'single'",
    "units = 3",
    "function = 'narma'",
    "seed = { count = 2 }",
    "units = -1",
    "function = 5",
    "seed = []",
    "train = 'x'",
    "reservoirs = 5",
    "ridge = {}",
    "[",
    "a = " + "[" * 3000,
    "lag = 7",
)


def command_lines(rng: np.random.Generator, folder: Path) -> str:
    """Any words, any file: a status, and never a traceback."""
    lines = [TABLES[int(k)] for k in rng.integers(0, len(TABLES), int(rng.integers(1, 10)))]
    (folder / "spec.toml").write_text("\n".join(lines))
    (folder / "folder").mkdir(exist_ok=True)
    words = [WORDS[int(k)] for k in rng.integers(0, len(WORDS), int(rng.integers(1, 6)))]
    if rng.random() < 0.5:
        words = ["sweep", "spec.toml", *words[:2]]
    before = os.getcwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(app, words)
    finally:
        os.chdir(before)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise Found("obscure", f"echoscale {words}: {type(result.exception).__name__}: {result.exception}")
    if "should not happen" in result.output:
        raise Found("obscure", f"echoscale {words}: {result.output}")
    return "right" if result.exit_code == 0 else "refused"


CSV_FILES = (
    "day,y,z\n" + "".join(f"2024-01-{d:02},{d * 1.5},{d % 7}\n" for d in range(1, 29)),
    "t;a;b\n" + "".join(f"{k};{k},5;x{k}\n" for k in range(20)),
    "1 2 3\n4 5 6\n7 8 9\n",
    '"","time","v"\n' + "".join(f'"{k}",{1949 + k / 12:.6f},{k}\n' for k in range(12)),
    "quarter,y\n1959Q1,1\n1959Q2,2\n1959Q3,3\n",
)
JUNK = (
    "",
    ",",
    ";",
    "\n",
    '"',
    "NaN",
    "inf",
    "1e999",
    "-",
    "x",
    "\t",
    "\ufeff",
    "2024-13-45",
    "0024",
    "9" * 20,
    "1/2/2024",
    "\0",
    "<",
)


def broken_tables(rng: np.random.Generator, folder: Path) -> str:
    """A CSV file with some letters lost, changed or added: read, or refused in a line that names it or an option."""
    letters = list(CSV_FILES[int(rng.integers(len(CSV_FILES)))])
    for _ in range(int(rng.integers(0, 6))):
        place = int(rng.integers(len(letters) + 1))
        letters[place : place + int(rng.choice([0, 0, 1, 12]))] = JUNK[int(rng.integers(len(JUNK)))]
    path = folder / "x.csv"
    path.write_text("".join(letters), encoding="utf-8")
    try:
        data = tables.read(path, [None, "none", "day"][int(rng.integers(3))], [None, "D", "1", "h"][int(rng.integers(4))])
        data.numbers(data.numeric())
    except (ValueError, OSError) as error:
        if "\n" in str(error) or len(str(error)) > 300 + len(str(path)):
            raise Found("obscure", str(error)) from error
        return "refused"
    return "right"


ATTACKS: dict[str, Attack] = {
    "random networks against NumPy": against_numpy,
    "networks of 1 to 16 units": small_networks,
    "random calls": random_calls,
    "streams cut, saved and loaded": cut_streams,
    "command lines": command_lines,
    "broken tables": broken_tables,
}
