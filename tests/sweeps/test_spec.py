"""A sweep as a TOML file: every form of it means what the same arguments mean in Python, and mistakes are named."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import echoscale as es
from echoscale.sweeps import Protocol, Task, spec
from echoscale.sweeps.problem import RIDGE

Write = Callable[[str], Path]

NETWORK = '[network]\nstructure = "single"\nunits = 5\n'
TASK = '[task]\nfunction = "narma"\n'
AXES = "[axes]\nseed = [0]\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str) -> Path:
        path = tmp_path / "grid.toml"
        path.write_text(text)
        return path

    return written


def network(text: str, write: Write) -> es.Network:
    return spec.read(write(f"[network]\n{text}\n{TASK}{AXES}")).network


def axes(text: str, write: Write) -> dict[str, Any]:
    return spec.read(write(f"{NETWORK}{TASK}[axes]\n{text}")).axes


# Forms


def test_the_example_at_the_head_of_the_module(write: Write) -> None:
    assert spec.__doc__ is not None
    example = spec.__doc__[spec.__doc__.index("[network]") :]
    found = spec.read(write(example))
    assert found.network == es.hierarchical([50, 50], input_scaling=0.2)
    assert found.problem == Task("narma", {"order": 10})
    assert found.protocol == Protocol(lag=1, ridge=(1e-5, 1e-3, 0.1))
    assert list(found.axes) == ["seed", "leak_rate[0]", "leak_rate[1]"]
    assert found.axes["seed"] == list(range(20))
    np.testing.assert_array_equal(found.axes["leak_rate[0]"], np.linspace(0.05, 1.0, 20))
    assert found.axes["leak_rate[1]"] == [0.1, 0.2, 0.5, 1.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('structure = "single"\nunits = 30\nleak_rate = 0.3', es.single(30, leak_rate=0.3)),
        (
            'structure = "parallel"\nunits = [30, 20]\nleak_rate = [0.3, 1]\ntopology = "ring"',
            es.parallel([30, 20], leak_rate=[0.3, 1.0], topology="ring"),
        ),
        (
            'structure = "hierarchical"\nunits = [9, 8, 7]\ncoupling = [0.5, 0.25]\ncoupling_delay = 0',
            es.hierarchical([9, 8, 7], coupling=[0.5, 0.25], coupling_delay=0),
        ),
    ],
    ids=["single", "parallel", "hierarchical"],
)
def test_a_structure_with_its_keywords(text: str, expected: es.Network, write: Write) -> None:
    assert network(text, write) == expected


def test_reservoirs_and_couplings(write: Write) -> None:
    text = """
coupling_delay = 0
[[network.reservoirs]]
units = 12
leak_rate = 0.5
[[network.reservoirs]]
units = 7
input_scaling = 0
topology = "delay_line"
[[network.couplings]]
source = 0
target = 1
strength = 0.4
connections = 3
[[network.couplings]]
source = 1
target = 0
"""
    assert network(text, write) == es.Network(
        [es.Reservoir(12, leak_rate=0.5), es.Reservoir(7, input_scaling=0, topology="delay_line")],
        [es.Coupling(0, 1, strength=0.4, connections=3), es.Coupling(1, 0)],
        coupling_delay=0,
    )


def test_inline_reservoirs_without_couplings(write: Write) -> None:
    assert network("reservoirs = [{ units = 4 }, { units = 3, leak_rate = 0.1 }]", write) == es.Network(
        [es.Reservoir(4), es.Reservoir(3, leak_rate=0.1)]
    )


def test_axes_in_the_order_of_the_file(write: Write) -> None:
    text = """
"task.order" = [10, 5]
"leak_rate[1]" = { from = 1.0, to = 0.5, count = 3 }
seed = { count = 3 }
topology = ["normal", "ring"]
coupling = 0.5
task_seed = [7, 3]
spectral_radius = { count = 1, to = 2, from = 0.9 }
"""
    found = axes(text, write)
    assert list(found.items()) == [
        ("task.order", [10, 5]),
        ("leak_rate[1]", [1.0, 0.75, 0.5]),
        ("seed", [0, 1, 2]),
        ("topology", ["normal", "ring"]),
        ("coupling", 0.5),
        ("task_seed", [7, 3]),
        ("spectral_radius", [0.9]),
    ]


def test_axes_as_dotted_keys_of_a_table(write: Write) -> None:
    """TOML itself reads an axis without quotes as a table in a table."""
    with pytest.raises(ValueError, match=r"the axis 'task' is a list"):
        axes("task.order = [10, 5]", write)


def test_a_task_by_its_module_with_keywords(write: Write) -> None:
    text = '[task]\nfunction = "echoscale.tasks:narma"\norder = 4\n'
    found = spec.read(write(NETWORK + text + AXES)).problem
    assert found == Task("narma", {"order": 4})
    assert found.function == "echoscale.tasks:narma"
    assert spec.read(write(NETWORK + TASK + AXES)).problem.parameters == {}


def test_the_protocol(write: Write) -> None:
    assert spec.read(write(NETWORK + TASK + AXES)).protocol == Protocol()
    text = """
[protocol]
washout = 0
train = 300
validation = 50
test = 70
lag = 0
ridge = [1e-4, 1]
direct = true
score = "mse"
dtype = "float64"
scale = "none"
"""
    found = spec.read(write(NETWORK + TASK + AXES + text)).protocol
    assert found == Protocol(0, 300, 50, 70, 0, (1e-4, 1.0), True, "mse", "float64", None)
    assert spec.read(write(f"{NETWORK}{TASK}{AXES}[protocol]\n")).protocol.ridge == RIDGE


def test_a_file_gives_the_same_sweep_as_the_arguments(write: Write) -> None:
    text = """
[axes]
seed = { count = 2 }
leak_rate = [0.2, 1]
[protocol]
washout = 20
train = 200
validation = 80
test = 80
ridge = [1e-5, 1e-2]
"""
    found = spec.read(write(NETWORK + TASK + text))
    data = es.sweep(found.network, found.problem, found.axes, protocol=found.protocol)
    protocol = Protocol(washout=20, train=200, validation=80, test=80, ridge=(1e-5, 1e-2))
    expected = es.sweep(es.single(5), "narma", {"seed": range(2), "leak_rate": [0.2, 1]}, protocol=protocol)
    assert data.equals(expected)
    assert data.attrs["sweep"] == expected.attrs["sweep"]


# Mistakes: what the message must hold, besides the name of the file

MISTAKES = {
    "no network": (TASK + AXES, ["has no [network]", "has the tables [network], [task], [axes]", "[protocol]"]),
    "no task": (NETWORK + AXES, ["has no [task]"]),
    "no axes": (NETWORK + TASK, ["has no [axes]"]),
    "empty file": ("", ["has no [network]"]),
    "unknown table": (f"{NETWORK}{TASK}{AXES}[axis]\nseed = [0]\n", ["has an unknown table [axis]", "[axes]"]),
    "no TOML": ("[network\nstructure", ["is not TOML", "line 1"]),
    "twice": (f"{NETWORK}{TASK}{AXES}{AXES}", ["is not TOML"]),
    "no function": (f"{NETWORK}[task]\norder = 3\n{AXES}", ["[task]", "needs a function"]),
    "unknown protocol key": (f"{NETWORK}{TASK}{AXES}[protocol]\nburnin = 3\n", ["[protocol]", "burnin"]),
    "no whole steps": (f"{NETWORK}{TASK}{AXES}[protocol]\ntrain = 20.5\n", ["train", "20.5"]),
}
# The same for what other modules check, whose messages know nothing of files.
DEEPER = {
    "unknown structure": (
        f'[network]\nstructure = "tree"\nunits = 3\n{TASK}{AXES}',
        ["'tree'", "single, parallel, hierarchical", "reservoirs"],
    ),
    "no structure": (f"[network]\nunits = 3\n{TASK}{AXES}", ["None", "single, parallel, hierarchical"]),
    "no units": (f'[network]\nstructure = "single"\n{TASK}{AXES}', ["[network] needs units"]),
    "unknown keyword": (f"{NETWORK}leak = 0.3\n{TASK}{AXES}", ["[network]", "'leak'"]),
    "bad number": (f"{NETWORK}leak_rate = 1.5\n{TASK}{AXES}", ["leak_rate", "1.5"]),
    "list for single": (f'[network]\nstructure = "single"\nunits = [3, 4]\n{TASK}{AXES}', ["units", "[3, 4]"]),
    "number for parallel": (f'[network]\nstructure = "parallel"\nunits = 3\n{TASK}{AXES}', ["units", "3"]),
    "structure and reservoirs": (
        f'[network]\nstructure = "single"\nreservoirs = [{{ units = 3 }}]\n{TASK}{AXES}',
        ["structure"],
    ),
    "reservoir without units": (f"[network]\nreservoirs = [{{ leak_rate = 0.5 }}]\n{TASK}{AXES}", ["units"]),
    "unknown reservoir key": (f"[network]\nreservoirs = [{{ units = 3, leak = 0.5 }}]\n{TASK}{AXES}", ["leak"]),
    "coupling to nowhere": (
        f"[network]\nreservoirs = [{{ units = 3 }}]\ncouplings = [{{ source = 0, target = 1 }}]\n{TASK}{AXES}",
        ["reservoir 1", "target"],
    ),
    "unknown task": (f'{NETWORK}[task]\nfunction = "narmalade"\n{AXES}', ["narmalade", "echoscale.tasks", "module:function"]),
    "unknown module": (f'{NETWORK}[task]\nfunction = "nowhere:narma"\n{AXES}', ["nowhere:narma", "module:function"]),
    "bad protocol value": (f"{NETWORK}{TASK}{AXES}[protocol]\nlag = 2\n", ["lag", "2"]),
    "axis without count": (
        f"{NETWORK}{TASK}[axes]\nleak_rate = {{ from = 0.1, to = 1.0 }}\n",
        ["'leak_rate'", "{ count = n }", "{ from = a, to = b, count = n }"],
    ),
    "empty axis table": (f"{NETWORK}{TASK}[axes]\nseed = {{}}\n", ["'seed'", "{ count = n }"]),
    "axis with another key": (f"{NETWORK}{TASK}[axes]\nseed = {{ count = 2, step = 3 }}\n", ["'seed'", "step"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_in_a_file(name: str, write: Write) -> None:
    text, parts = MISTAKES[name]
    path = write(text)
    with pytest.raises(ValueError, match=re.escape(str(path))) as caught:
        spec.read(path)
    assert not [part for part in parts if part not in str(caught.value)]


@pytest.mark.parametrize("name", DEEPER)
def test_mistakes_in_a_table(name: str, write: Write) -> None:
    text, parts = DEEPER[name]
    with pytest.raises((ValueError, TypeError)) as caught:
        spec.read(write(text))
    assert not [part for part in parts if part not in str(caught.value)], str(caught.value)


@pytest.mark.parametrize("name", DEEPER)
def test_every_mistake_names_the_file(name: str, write: Write) -> None:
    path = write(DEEPER[name][0])
    with pytest.raises(ValueError, match=re.escape(str(path))):
        spec.read(path)


@pytest.mark.parametrize(
    "text",
    ["seed = { count = 'three' }", "seed = { count = 2.7 }", "leak_rate = { from = 'a', to = 'b', count = 2 }"],
    ids=["word", "fraction", "words"],
)
def test_numbers_of_an_axis_that_are_none(text: str, write: Write) -> None:
    name = text.split(" ")[0]
    with pytest.raises(ValueError, match=rf"the axis '{name}' is a list"):
        axes(text, write)


@pytest.mark.parametrize("name", ["network", "task", "axes"])
def test_tables_that_are_none(name: str, write: Write) -> None:
    others = {"network": NETWORK, "task": TASK, "axes": AXES}
    path = write(f"{name} = 3\n" + "".join(text for other, text in others.items() if other != name))
    with pytest.raises(ValueError, match=re.escape(f"{path}") + rf".*\[{name}\]|\[{name}\].*" + re.escape(f"{path}")):
        spec.read(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape(f"there is no file {tmp_path / 'grid.toml'}.")):
        spec.read(tmp_path / "grid.toml")
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        spec.read(tmp_path)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(ValueError, match=re.escape(f"{path} is not TOML")):
        spec.read(path)


def test_a_file_with_other_letters(tmp_path: Path) -> None:
    """TOML is UTF-8 everywhere, whatever the system prefers."""
    path = tmp_path / "grid.toml"
    path.write_bytes(f"# Größe\n{NETWORK}{TASK}{AXES}".encode())
    assert spec.read(path).network == es.single(5)
