"""Diagrams: who stands where, which arrows and numbers are drawn, and that nothing covers anything else."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise
from math import hypot
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import Collection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from echoscale import Concentric, Coupling, Network, Reservoir, hierarchical, parallel, single
from echoscale.network.diagram import SIZES, draw, layout, shade
from echoscale.network.diagram.layout import Drawing, Spot
from echoscale.network.diagram.wires import AIR, LETTER, LINE, Wire


def chain_of(*couplings: Coupling, count: int, **settings: Any) -> Network:
    return Network([Reservoir(50, input_scaling=float(k == 0), **settings) for k in range(count)], couplings)


SPEEDS = [1, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.01]
CASES = {
    "single": single(100),
    "hierarchical": hierarchical([50, 50], leak_rate=[1, 0.2], input_scaling=0.2),
    "parallel": parallel([50, 50], leak_rate=[1, 0.5], input_scaling=0.2),
    "four levels": hierarchical([50] * 4, leak_rate=SPEEDS[:4], coupling=[1, 0.5, -2], input_scaling=[0.2, 0.1, 0, 0.05]),
    "feedback": chain_of(
        *(Coupling(0, 1), Coupling(1, 2, 0.5), Coupling(2, 0, 0.1), Coupling(1, 0, 0.2), Coupling(2, 1, 0)), count=3
    ),
    "skip": chain_of(Coupling(0, 1), Coupling(1, 2, 0.5), Coupling(0, 2, 0.25), count=3),
    "chain of 8": hierarchical([50] * 8, leak_rate=SPEEDS),
    "8 in parallel": parallel([50] * 8, leak_rate=SPEEDS, input_scaling=[0.1, 0.2, 0.3, 0, 0.5, 0.6, 0.7, 0.8]),
    "many into one": Network(
        [*(Reservoir(50) for _ in range(8)), Reservoir(50, input_scaling=0)], [Coupling(k, 8, k / 10) for k in range(8)]
    ),
    "layers": Network(
        [Reservoir(100) for _ in range(9)],
        [Coupling(a, b, a / 10) for a in range(6) for b in range(a // 3 * 3 + 3, a // 3 * 3 + 6)],
    ),
    "output feedback": single(100, feedback_scaling=0.5),
    "output feedback of a chain": hierarchical([50] * 3, leak_rate=SPEEDS[:3], feedback_scaling=[0.25, 0, 0.1]),
    "output feedback in parallel": parallel([50] * 3, feedback_scaling=[0.3, 0, 1]),
    "sizes": Network(
        [
            Reservoir(1),
            Reservoir(10, 0.5, topology="ring", bias_scaling=0.3),
            Reservoir(200, 0.1, topology="delay_line", input_scaling=0),
            Reservoir(5000, 0.01, topology=Concentric(3), input_scaling=0),
        ],
        [Coupling(0, 2), Coupling(1, 2, 0.5), Coupling(2, 3, -1e-5)],
    ),
}
every_case = pytest.mark.parametrize("name", CASES)


def network_of(seed: int, cyclic: bool = True) -> Network:
    """Up to eight reservoirs of all sizes in any graph, from unconnected to full."""
    rng = np.random.default_rng(seed)
    count, density = int(rng.integers(1, 9)), rng.choice([0.0, 0.1, 0.2, 0.4, 1.0])
    reservoirs = [
        Reservoir(
            int(rng.choice([1, 5, 50, 300, 4000])),
            input_scaling=rng.choice([0, 0.2, 1]),
            bias_scaling=rng.choice([0, 0, 0.25]),
            topology=str(rng.choice(["normal", "ring"])),
        )
        for _ in range(count)
    ]
    backwards = rng.choice([0, 0.3, 1]) if cyclic else 0
    couplings = [
        Coupling(a, b, rng.choice([0, 1, -0.25, 1e-5]))
        for a in range(count)
        for b in range(count)
        if a != b and rng.random() < density * (1 if a < b else backwards)
    ]
    return Network(reservoirs, couplings)


def feeding_back(network: Network, seed: int) -> Network:
    """The same graph with output feedback to some of its reservoirs."""
    strengths = np.random.default_rng(seed).choice([0, 0.3], len(network.reservoirs))
    return replace(
        network,
        reservoirs=[replace(each, feedback_scaling=phi) for each, phi in zip(network.reservoirs, strengths, strict=True)],
    )


any_network = pytest.mark.parametrize(
    "network", [*(network_of(seed) for seed in range(12)), *(feeding_back(network_of(seed), seed) for seed in range(4))]
)


# Columns


@pytest.mark.parametrize(
    ("count", "pairs", "expected"),
    [
        (1, [], [0]),
        (3, [], [0, 0, 0]),
        (3, [(0, 1), (1, 2)], [0, 1, 2]),
        (3, [(2, 1), (1, 0)], [2, 1, 0]),
        (3, [(0, 1), (1, 2), (0, 2)], [0, 1, 2]),
        (4, [(0, 2), (1, 2), (2, 3)], [0, 0, 1, 2]),
        (3, [(0, 1), (1, 2), (2, 0)], [0, 1, 2]),
        (3, [(0, 2), (2, 1), (1, 0)], [0, 1, 2]),
        (4, [(3, 0), (0, 1), (1, 0), (1, 2)], [1, 2, 3, 0]),
        (5, [(0, 1), (1, 0), (2, 3), (1, 4), (3, 4)], [0, 1, 0, 1, 2]),
    ],
)
def test_columns(count: int, pairs: list[tuple[int, int]], expected: list[int]) -> None:
    assert [*layout(Network([Reservoir(5)] * count, [Coupling(a, b) for a, b in pairs])).columns] == expected


def test_without_cycles_the_column_is_the_length_of_the_longest_way() -> None:
    """(A^n)_ab counts the ways of length n from a to b."""
    for network in (network_of(seed, cyclic=False) for seed in range(30)):
        adjacency = np.zeros((len(network.reservoirs),) * 2, int)
        for each in network.couplings:
            adjacency[each.source, each.target] = 1
        ways: list[Any] = [np.linalg.matrix_power(adjacency, n).any(axis=0) for n in range(len(adjacency))]
        assert [*layout(network).columns] == [max(n for n, way in enumerate(ways) if way[k]) for k in range(len(adjacency))]


# Any graph


@any_network
def test_any_graph(network: Network) -> None:
    plan = layout(network)
    assert_couplings_point_right_except_within_a_cycle(network, plan)
    assert_input_at_the_left_and_output_at_the_right(plan)
    assert_every_line_joins_its_circles(network, plan)
    for size in (1.0, 0.6):
        assert_nothing_covers_anything(layout(network, size=size))


def assert_couplings_point_right_except_within_a_cycle(network: Network, plan: Drawing) -> None:
    pairs = [(each.source, each.target) for each in network.couplings]
    shape = (len(network.reservoirs),) * 2
    graph = scipy.sparse.coo_array((np.ones(len(pairs)), tuple(np.array(pairs, int).reshape(-1, 2).T)), shape=shape)
    _, cycle = scipy.sparse.csgraph.connected_components(graph, connection="strong")
    for a, b in pairs:
        assert cycle[a] == cycle[b] or plan.reservoirs[a].x + plan.reservoirs[a].radius < plan.reservoirs[b].x
    for each in set(cycle):
        members = np.flatnonzero(cycle == each)
        assert np.diff([plan.columns[k] for k in members]).tolist() == [1] * (len(members) - 1)


# Places


def boxes(plan: Drawing) -> dict[str, list[Bbox]]:
    """The room of every text by what it belongs to, estimated from its letters."""
    found: dict[str, list[Bbox]] = {}
    for k, (spot, caption) in enumerate(zip(plan.reservoirs, plan.captions, strict=True)):
        feet = [spot.y + spot.radius + AIR, *(spot.y - spot.radius - LINE * (n + 1) for n in range(len(caption.below)))]
        lines = zip((caption.above, *caption.below), feet, strict=True)
        found[f"R{k + 1}"] = [box(spot.x, foot, text) for text, foot in lines]
    return found | {wire.name: [box(*wire.at, wire.label)] for wire in plan.wires if wire.label}


def box(x: float, foot: float, text: str) -> Bbox:
    half = LETTER * len(text) / 2
    return Bbox.from_extents(x - half, foot - 0.025, x + half, foot + 0.085)


def distance(spot: Spot, wire: Wire) -> float:
    """From the middle of a circle to a line before its corners are rounded, which takes them away from the circles."""
    middle = np.array([spot.x, spot.y])
    lengths = []
    for a, b in pairwise(np.array(wire.points)):
        share = np.clip((middle - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
        lengths.append(np.hypot(*(a + share * (b - a) - middle)))
    return float(min(lengths))


def inside(spot: Spot, room: Bbox) -> bool:
    """A box reaches into a circle."""
    return hypot(np.clip(spot.x, room.x0, room.x1) - spot.x, np.clip(spot.y, room.y0, room.y1) - spot.y) < spot.radius


def source_of(wire: Wire, plan: Drawing) -> Spot:
    if wire.source is not None:
        return plan.reservoirs[wire.source]
    return plan.output if wire.kind == "feedback" else plan.input


def assert_nothing_covers_anything(plan: Drawing) -> None:
    spots = [plan.input, plan.output, *plan.reservoirs]
    assert all(hypot(a.x - b.x, a.y - b.y) > a.radius + b.radius for a, b in combinations(spots, 2))

    rooms = [(owner, room) for owner, parts in boxes(plan).items() for room in parts]
    clashes = [(a, b) for (a, one), (b, other) in combinations(rooms, 2) if a != b and one.overlaps(other)]
    assert not clashes
    assert not [(owner, spot) for owner, room in rooms for spot in spots if inside(spot, room)]

    captions = np.array([room.extents for owner, room in rooms if "->" not in owner])
    for wire in plan.wires:
        ends = {source_of(wire, plan)}
        ends |= {plan.output if wire.target is None else plan.reservoirs[wire.target]}
        assert all(distance(spot, wire) > spot.radius for spot in spots if spot not in ends)
        x, y = np.concatenate([np.linspace(a, b, 50) for a, b in pairwise(wire.points)]).T[:, :, None]
        assert not ((captions[:, 0] < x) & (x < captions[:, 2]) & (captions[:, 1] < y) & (y < captions[:, 3])).any()

    points = np.array([point for wire in plan.wires for point in wire.points])
    corners = np.concatenate([points, *(room.get_points() for _, room in rooms)])
    assert (corners > [plan.left, plan.bottom]).all()
    assert (corners < [plan.right, plan.top]).all()


def assert_input_at_the_left_and_output_at_the_right(plan: Drawing) -> None:
    assert all(plan.input.x + plan.input.radius < spot.x - spot.radius for spot in plan.reservoirs)
    assert all(spot.x + spot.radius < plan.output.x - plan.output.radius for spot in plan.reservoirs)
    assert (
        plan.input.y
        == plan.output.y
        == pytest.approx(np.mean([max(s.y for s in plan.reservoirs), min(s.y for s in plan.reservoirs)]))
    )


def assert_every_line_joins_its_circles(network: Network, plan: Drawing) -> None:
    joined = [(wire.kind, wire.source, wire.target) for wire in plan.wires]
    assert joined == [
        *(("input", None, k) for k, each in enumerate(network.reservoirs) if each.input_scaling),
        *(("coupling", each.source, each.target) for each in network.couplings),
        *(("readout", k, None) for k in range(len(network.reservoirs))),
        *(("feedback", None, k) for k, each in enumerate(network.reservoirs) if each.feedback_scaling),
    ]
    for wire in plan.wires:
        start = source_of(wire, plan)
        stop = plan.output if wire.target is None else plan.reservoirs[wire.target]
        for (x, y), spot in ((wire.points[0], start), (wire.points[-1], stop)):
            assert hypot(x - spot.x, y - spot.y) == pytest.approx(spot.radius)


def wire(network: Network, name: str) -> Wire:
    [found] = [each for each in layout(network).wires if each.name == name]
    return found


def test_a_chain_is_one_straight_line() -> None:
    plan = layout(CASES["chain of 8"])
    assert {spot.y for spot in plan.reservoirs} == {0}
    ahead = [wire for wire in plan.wires if wire.kind != "readout"] + [wire for wire in plan.wires if wire.name == "R8->output"]
    assert all(y == 0 for wire in ahead for _, y in wire.points)


def test_a_skip_goes_above_and_feedback_below() -> None:
    plan = layout(CASES["skip"])
    middle = plan.reservoirs[1]
    assert max(y for _, y in wire(CASES["skip"], "R1->R3").points) > middle.y + middle.radius + LINE
    middle = layout(CASES["feedback"]).reservoirs[1]
    assert min(y for _, y in wire(CASES["feedback"], "R3->R1").points) < middle.y - middle.radius - 3 * LINE


def test_a_step_back_keeps_below_the_line_ahead() -> None:
    ahead, back = wire(CASES["feedback"], "R1->R2"), wire(CASES["feedback"], "R2->R1")
    assert {y for _, y in ahead.points} == {0}
    (_, y0), (_, bow), (_, y1) = back.points
    assert bow < min(y0, y1) < max(y0, y1) < 0


def test_two_chains_do_not_cross() -> None:
    """R1 drives R4 and R2 drives R3: R4 stands above R3."""
    plan = layout(Network([Reservoir(5)] * 4, [Coupling(0, 3), Coupling(1, 2)]))
    assert [spot.y for spot in plan.reservoirs] == [
        plan.reservoirs[3].y,
        plan.reservoirs[2].y,
        *[spot.y for spot in plan.reservoirs[2:]],
    ]
    assert plan.reservoirs[0].y > 0 > plan.reservoirs[1].y


def test_area_grows_gently_with_units() -> None:
    areas = [layout(single(units)).reservoirs[0].radius ** 2 for units in (10, 50, 100, 1000)]
    assert areas == sorted(areas)
    assert areas[2] / areas[0] == pytest.approx(2, rel=0.01)
    assert areas[3] / areas[2] == pytest.approx(2, rel=0.01)


# Content


def texts(figure: Figure, gid: str) -> list[str]:
    return [each.get_text() for each in figure.findobj(Text) if isinstance(each, Text) and each.get_gid() == gid]


def arrows(figure: Figure) -> dict[str, FancyArrowPatch]:
    found = figure.findobj(FancyArrowPatch)
    assert len({each.get_gid() for each in found}) == len(found)
    return {str(each.get_gid()): each for each in found if isinstance(each, FancyArrowPatch)}


def assert_one_arrow_for_each_coupling_input_and_readout(network: Network, figure: Figure) -> None:
    kinds = Counter("input" if "input" in key else "output" if "output" in key else "coupling" for key in arrows(figure))
    fed = sum(each.input_scaling > 0 for each in network.reservoirs)
    read = len(network.reservoirs) + sum(each.feedback_scaling > 0 for each in network.reservoirs)
    assert kinds == Counter(input=fed, output=read, coupling=len(network.couplings))


def test_numbers() -> None:
    figure = draw(CASES["four levels"])
    assert [texts(figure, f"input->R{k} label") for k in (1, 2, 3, 4)] == [["γ = 0.2"], ["γ = 0.1"], [], ["γ = 0.05"]]
    assert [texts(figure, f"R{k}->R{k + 1} label") for k in (1, 2, 3)] == [["1"], ["0.5"], ["−2"]]
    assert [texts(figure, f"R{k} caption") for k in (1, 2)] == [
        ["R1", "50 units", "α = 1", "ρ = 0.95"],
        ["R2", "50 units", "α = 0.7", "ρ = 0.95"],
    ]
    heard = draw(CASES["output feedback of a chain"])
    assert [texts(heard, f"output->R{k} label") for k in (1, 2, 3)] == [["φ = 0.25"], [], ["φ = 0.1"]]
    assert texts(figure, "s(t) label") == ["s(t)"]
    assert texts(figure, "y(t) label") == ["y(t)"]


def test_topology_and_bias_are_named_where_they_are_not_the_default() -> None:
    figure = draw(CASES["sizes"])
    assert texts(figure, "R1 caption")[1] == "1 unit"
    assert texts(figure, "R2 caption")[-2:] == ["ring", "bias 0.3"]
    assert texts(figure, "R3 caption")[-1] == "delay line"
    assert texts(figure, "R4 caption")[1::3] == ["5,000 units", "concentric"]
    assert texts(figure, "R3->R4 label") == ["−1e−05"]
    own = Reservoir(3, leak_rate=1 / 3, topology=np.eye(3))
    assert texts(draw(Network([own])), "R1 caption") == ["R1", "3 units", "α = 0.333", "ρ = 0.95", "own matrix"]
    many = draw(parallel([50] * 4, leak_rate=0.5, bias_scaling=0.1))
    assert texts(many, "R4 caption") == ["R4: 50 units", "α = 0.5, ρ = 0.95", "bias 0.1"]


def test_a_coupling_of_strength_0_is_grey_and_dashed() -> None:
    drawn = arrows(draw(CASES["feedback"]))
    assert drawn["R3->R2"].get_linestyle() != "-"
    red, green, blue = to_rgb(drawn["R3->R2"].get_edgecolor())
    assert red == green == blue > 0.4
    assert drawn["R2->R1"].get_linestyle() == "-"
    assert to_hex(drawn["R2->R1"].get_edgecolor()) == "#000000"


def test_readouts_are_thin_and_of_another_colour() -> None:
    drawn = arrows(draw(CASES["hierarchical"]))
    assert drawn["R1->output"].get_linewidth() < drawn["R1->R2"].get_linewidth()
    colours = {to_hex(drawn[name].get_edgecolor()) for name in ("input->R1", "R1->R2", "R1->output")}
    assert len(colours) == 3


def test_slow_reservoirs_are_darker() -> None:
    brightness = [np.dot(shade(leak_rate), [0.299, 0.587, 0.114]) for leak_rate in (1, 0.7, 0.5, 0.2, 0.1, 0.05, 0.01)]
    assert all(fast - slow > 0.02 for fast, slow in pairwise(brightness))
    figure = draw(CASES["hierarchical"])
    faces = {str(each.get_gid()): each.get_facecolor() for each in figure.findobj(Circle) if isinstance(each, Circle)}
    assert faces["R1"][:3] == shade(1.0)
    assert faces["R2"][:3] == shade(0.2)


def assert_neurons_stay_in_their_circle(network: Network, figure: Figure) -> None:
    for k, spot in enumerate(layout(network).reservoirs):
        found = [each for each in figure.findobj(Collection) if each.get_gid() == f"R{k + 1} neurons"]
        [dots] = [each for each in found if isinstance(each, Collection)]
        corners = np.concatenate([path.vertices for path in dots.get_paths()])
        assert np.hypot(*(corners - [spot.x, spot.y]).T).max() < spot.radius
        assert 1 <= len(dots.get_paths()) <= max(14, network.reservoirs[k].units)


# Pictures


def picture(figure: Figure) -> Any:
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


def test_the_seed_places_the_neurons() -> None:
    first, again, other = (picture(draw(CASES["hierarchical"], seed=seed)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def shown(figure: Figure) -> list[tuple[Text, Bbox]]:
    """Texts and their extents in pixels, as Agg draws them."""
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    found = [each for each in figure.findobj(Text) if isinstance(each, Text) and each.get_visible() and each.get_text()]
    return [(each, each.get_window_extent(canvas.get_renderer())) for each in found if each.axes is None or each.get_gid()]


def assert_readable(figure: Figure) -> None:
    """Texts are in the picture, of 8 points or more, and apart; they are clear of circles, other than s(t) and y(t)."""
    extents = shown(figure)
    assert extents
    width, height = figure.bbox.size
    for text, room in extents:
        assert float(text.get_fontsize()) >= 8
        assert room.x0 >= 0
        assert room.y0 >= 0
        assert room.x1 <= width
        assert room.y1 <= height
    # Lines of one caption are set closely; boxes have the height of the font's tallest and deepest letters.
    pairs = combinations(extents, 2)
    assert not [
        (a.get_text(), b.get_text()) for (a, one), (b, other) in pairs if _owner(a) != _owner(b) and one.overlaps(other)
    ]
    circles = [each for each in figure.findobj(Circle) if isinstance(each, Circle)]
    for circle in circles:
        x, y = circle.get_transform().transform([(0, 0)])[0]
        radius = circle.get_window_extent().width / 2
        for text, room in extents:
            if str(text.get_gid()) != f"{circle.get_gid()} label" or circle.axes is not text.axes:
                assert not inside(Spot(x, y, radius - 2), room), (circle.get_gid(), text.get_text())


def _owner(text: Text) -> tuple[int, str]:
    return id(text.axes), str(text.get_gid())


@every_case
def test_every_diagram_is_whole_and_readable(name: str) -> None:
    figure = draw(CASES[name])
    assert_one_arrow_for_each_coupling_input_and_readout(CASES[name], figure)
    assert_neurons_stay_in_their_circle(CASES[name], figure)
    assert_readable(figure)


def test_the_papers_figure_of_three_networks_is_readable() -> None:
    width = 7.0  # inches: narrow
    networks = [CASES["single"], CASES["hierarchical"], CASES["parallel"]]
    figure = Figure(figsize=(width, 3.2), layout="constrained")
    axes = figure.subplots(1, 3, width_ratios=[layout(each).width for each in networks])
    for ax, network in zip(axes, networks, strict=True):
        assert draw(network, ax) is figure
        names = {each.get_gid() for each in ax.findobj(FancyArrowPatch)}
        assert names == {wire.name for wire in layout(network).wires}
    assert_readable(figure)
    # An inch is an inch, or as close to it as the smallest circles would come; the inputs are at one height.
    for ax, network in zip(axes, networks, strict=True):
        room = width * ax.get_position(original=True).width
        assert min(1, room / layout(network, size=SIZES[-1]).width) / 1.03 < room / np.ptp(ax.get_xlim()) < 1.01
    [heights] = {round(float(ax.transData.transform((0, 0))[1])) for ax in axes}
    assert 0.4 < heights / figure.bbox.height < 0.6


def test_where_room_is_short_circles_shrink_before_the_whole_does() -> None:
    network, natural = CASES["hierarchical"], layout(CASES["hierarchical"])
    figure = Figure(figsize=(0.9 * natural.width, 0.9 * natural.height))
    ax = figure.add_axes((0, 0, 1, 1))
    draw(network, ax)
    assert np.ptp(ax.get_xlim()) < 1.03 * 0.9 * natural.width
    [circle] = [each for each in figure.findobj(Circle) if each.get_gid() == "R1" and isinstance(each, Circle)]
    assert 0.6 * natural.reservoirs[0].radius < circle.get_radius() < 0.95 * natural.reservoirs[0].radius
    assert_readable(figure)


def test_large_axes_show_the_natural_size() -> None:
    figure = Figure(figsize=(6, 4))
    ax = figure.add_axes((0, 0, 1, 1))
    draw(CASES["hierarchical"], ax)
    assert np.ptp(ax.get_xlim()) == pytest.approx(6)
    assert np.ptp(ax.get_ylim()) == pytest.approx(4)


@pytest.mark.parametrize("size", [(1.0, 4.0), (4.0, 0.7), (2.8, 1.3)])
def test_small_axes_show_the_whole(size: tuple[float, float]) -> None:
    figure = Figure(figsize=size)
    ax = figure.add_axes((0, 0, 1, 1))
    draw(CASES["hierarchical"], ax)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    plan = layout(CASES["hierarchical"], size=0.6)
    assert right - left >= plan.width - 1e-9
    assert top - bottom >= plan.height - 1e-9
    assert (right - left) / (top - bottom) == pytest.approx(size[0] / size[1])
    assert left < plan.left + 1e-9
    assert bottom < plan.bottom + 1e-9
    assert top > plan.top - 1e-9


@pytest.mark.parametrize("arranged", [None, "constrained"])
def test_other_axes_are_left_alone(arranged: Any) -> None:
    figure = Figure(layout=arranged)
    empty, full, given_ax = figure.subplots(1, 3)
    full.plot([0, 1], [2, 3])
    before = [(len(ax.get_children()), ax.axison, ax.get_xlim(), ax.get_ylim(), ax.get_aspect()) for ax in (empty, full)]
    assert draw(CASES["parallel"], given_ax) is figure
    after = [(len(ax.get_children()), ax.axison, ax.get_xlim(), ax.get_ylim(), ax.get_aspect()) for ax in (empty, full)]
    assert before == after
    assert not given_ax.axison


def test_axes_of_a_part_of_a_figure() -> None:
    figure = Figure(figsize=(8, 4))
    parts: Any = figure.subfigures(1, 2)
    ax = parts[1].add_axes((0, 0, 1, 1))
    assert draw(CASES["single"], ax) is figure
    assert np.ptp(ax.get_xlim()) == pytest.approx(4)


def test_the_module_is_cheap_and_pyplot_is_never_touched() -> None:
    script = (
        "import sys, echoscale.network.diagram as drawing\n"
        "from echoscale.network import single\n"
        "assert not {'matplotlib', 'scipy', 'jax'} & set(sys.modules)\n"
        "drawing.draw(single(9))\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
