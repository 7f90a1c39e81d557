"""The lines of a diagram: their ends and their routes through gaps and lanes, and the lengths that all parts share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import hypot
from typing import Any, NamedTuple

from echoscale.network import Network

Point = tuple[float, float]
Ends = tuple[Point, Point]

# All lengths are inches.
LINE = 0.135  # the height of a line of text
LETTER = 0.06  # the width of a character, a little too wide for safety
NODE = 0.145  # the radius of input and output
PORT = 0.15  # between lines that meet a reservoir on one side: a label fits in
LANE = 0.17  # between lines above or below the columns: a label fits in
TRACK = 0.09  # between lines that run up and down in one gap
STUB = 0.15  # the straight end of a line, for the arrow head
CORNER = 0.1  # the length of a rounded corner
LIFT = 0.05  # from a line to the foot of its label
AIR = 0.07  # around circles, captions and the whole


class Wire(NamedTuple):
    """An arrow: a line through `points` with rounded corners, and a label at `at`."""

    kind: str  # "input", "coupling", "readout" or "feedback"
    source: int | None  # a reservoir, or None for the input, or for the output that is fed back
    target: int | None  # a reservoir, or None for the output
    label: str
    silent: bool  # a coupling of strength 0
    points: tuple[Point, ...]
    at: Point

    @property
    def name(self) -> str:
        """For example "input->R1", "R1->R2", "R2->output" or "output->R1"."""
        source = "output" if self.kind == "feedback" else "input"
        return f"{name_of(self.source, source)}->{name_of(self.target, 'output')}"


def number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def name_of(k: int | None, other: str = "") -> str:
    return other if k is None else f"R{k + 1}"


class Link(NamedTuple):
    """The two ends of a wire, before its way is known. The input is in column -1, the output in the column after the last."""

    kind: str
    source: int | None
    target: int | None
    label: str
    silent: bool
    start: int  # column
    stop: int  # column
    early: bool = False  # the label stands at the source

    @property
    def span(self) -> int:
        return abs(self.stop - self.start)

    @property
    def text(self) -> float:
        return LETTER * len(self.label)

    @property
    def ahead(self) -> bool:
        return self.stop > self.start

    @property
    def way(self) -> str:
        """Within one gap "straight" or "back"; over or under the columns between "over", "under" or, to the output, "out".

        Output feedback goes round the output and under all columns, even the last.
        """
        if self.kind == "feedback":
            return "under"
        if self.span == 1:
            return "straight" if self.ahead else "back"
        return "out" if self.kind == "readout" else "over" if self.ahead else "under"

    @property
    def bus(self) -> Any:
        """The key of wires that share a track: long ways from the input, or long ways to the output."""
        return self if self.kind == "coupling" else self.kind


def links_of(network: Network, column: Sequence[int]) -> list[Link]:
    links = [
        Link("input", None, k, f"γ = {number(each.input_scaling)}", False, -1, column[k])
        for k, each in enumerate(network.reservoirs)
        if each.input_scaling > 0
    ]
    links += [
        Link("coupling", c.source, c.target, number(c.strength), c.strength == 0, column[c.source], column[c.target])
        for c in network.couplings
    ]
    links += [Link("readout", k, None, "", False, here, max(column) + 1) for k, here in enumerate(column)]
    links += [
        Link("feedback", None, k, f"φ = {number(each.feedback_scaling)}", False, max(column) + 1, column[k])
        for k, each in enumerate(network.reservoirs)
        if each.feedback_scaling > 0
    ]
    sources, targets = (Counter(each[end] for each in links if each.way == "straight") for end in (1, 2))
    return [  # where many lines meet, each label is at a place where its line is alone
        each._replace(early=each.way == "straight" and targets[each.target] > 3 and sources[each.source] == 1) for each in links
    ]


def ports_of(links: Sequence[Link], y: Sequence[float], radius: Sequence[float]) -> dict[Link, Ends]:
    """The points where each link leaves and arrives: x from the middle of its circle, y absolute.

    From the top: the lanes above, the gap (around the middle, so that a chain is one straight line), ways back, the lanes
    below. Lines that leave share a port. Each line that arrives has its own port, the longest at the rim, so that they do not
    cross.
    """
    leave = {each: (NODE, 0.0) if each.way == "straight" or each.kind == "feedback" else (0.0, NODE) for each in links}
    arrive = {each: (-NODE, 0.0) if each.way == "straight" else (0.0, -NODE) for each in links}
    for k, r in enumerate(radius):

        def together(*ways: str, k: int = k) -> list[list[Link]]:
            found = [each for each in links if each.source == k and each.way in ways]
            return [found] if found else []

        def apart(way: str, sign: int = 1, k: int = k) -> list[list[Link]]:
            found = [each for each in links if each.target == k and each.way == way]
            return [[each] for each in sorted(found, key=lambda each: (sign * each.span, -_height(each.source, y)))]

        nothing: list[list[Link]] = []
        left = (apart("over", -1), apart("straight"), together("back", "under"), nothing)
        right = (together("over"), together("straight"), apart("back"), apart("under") + together("out"))
        for sign, side in ((-1, left), (1, right)):
            heights = _heights([len(part) for part in side], r)
            for height, group in zip(heights, (group for part in side for group in part), strict=True):
                for each in group:
                    (arrive if each.target == k else leave)[each] = sign * (r**2 - height**2) ** 0.5, y[k] + height
    return {each: (leave[each], arrive[each]) for each in links}


def _height(k: int | None, y: Sequence[float]) -> float:
    return 0.0 if k is None else y[k]


def _heights(counts: Sequence[int], radius: float) -> list[float]:
    """Heights of the ports above, around, just below and farther below the middle of a circle, from the top down."""
    above, around, back, below = counts
    limit = 0.92 * radius
    reach = min(PORT * max(0, around - 1) / 2, 0.8 * radius)
    up = min(PORT, (limit - reach) / max(1, above))
    down = min(PORT, (limit - reach) / max(1, back + below / 2))
    floor = reach + down * back
    further = min(PORT, (limit - floor) / max(1, below))
    return [
        *(reach + up * n for n in range(above, 0, -1)),
        *(reach - 2 * reach * n / max(1, around - 1) for n in range(around)),
        *(-reach - down * n for n in range(1, back + 1)),
        *(-floor - further * n for n in range(1, below + 1)),
    ]


def lanes_of(links: Iterable[Link], edges: Sequence[float]) -> dict[Any, float]:
    """The height of every long route: beyond the `edges` of the columns that it passes, and beyond shorter routes there."""
    spans: dict[Any, tuple[int, int]] = {}
    for each in links:
        low, high = spans.get(each.bus, (each.start, each.start))
        spans[each.bus] = min(low, each.start, each.stop), max(high, each.start, each.stop)
    lanes: dict[Any, float] = {}
    for key, (low, high) in sorted(spans.items(), key=lambda item: (isinstance(item[0], str), item[1][1] - item[1][0])):
        beside = [lanes[other] + LANE for other in lanes if spans[other][0] < high and low < spans[other][1]]
        lanes[key] = max([*(edge + AIR for edge in edges[max(0, low) : high + 1]), *beside])
    return lanes


def least_radius(links: Sequence[Link], k: int) -> float:
    """A radius with enough room for the labels at the ports of reservoir k."""
    count = sum(each.way == "straight" and not each.early for each in links if each.target == k)
    reach = PORT * max(0, count - 1) / 2
    top = any(each.way == "over" and each.kind == "input" for each in links if each.target == k)
    return max(reach / 0.8, (reach + PORT * top) / 0.92)


class Gap(NamedTuple):
    """The room between two columns: lines bend from `start` to `stop`, labels stand before and after, up to `end`."""

    start: float
    stop: float
    end: float
    middle: float  # middle of the room that lines to the lanes below leave free
    level: bool  # no line climbs
    left: dict[Any, float]  # tracks of lines that leave or reach the column on the left, by bus
    right: dict[Any, float]


def gap_before(links: Sequence[Link], place: int, x: float, ports: Mapping[Link, Ends], size: float) -> Gap:
    """The gap before column `place`, from x on. The longer of two nested ways is the outer one, so that they do not cross."""
    ahead = [each for each in links if each.ahead and each.stop == place]
    back = [each for each in links if not each.ahead and each.stop == place - 1]
    leaving = [each for each in links if each.ahead and each.start == place - 1]
    returning = [each for each in links if not each.ahead and each.start == place and each.kind != "feedback"]
    left = [
        *sorted((each for each in back if each.way == "under"), key=lambda each: -each.span),
        *sorted((each for each in leaving if each.way == "over" and each.kind == "coupling"), key=lambda each: -each.span),
    ]
    right = [
        *sorted((each for each in ahead if each.way == "over"), key=lambda each: each.span),
        *sorted((each for each in returning if each.way == "under"), key=lambda each: each.span),
    ]
    inside = [each for each in (*ahead, *back) if each.way in ("straight", "back")]
    bowed = [each for each in inside if _bowed(each, ports[each])]
    climb = max((abs(ports[each][0][1] - ports[each][1][1]) for each in inside if each not in bowed), default=0.0)
    level = climb < 1e-9
    bend = max([0.0 if level else size * min(0.12 + 0.1 * climb, 0.6), *(each.text for each in bowed)])
    before = [each for each in inside if each.early or (each.way == "back" and each not in bowed)]
    before += [each for each in back if each.kind == "feedback"]
    after = [each for each in ahead if not each.early and (each.kind == "input" or each.span == 1)]

    # From left to right: readouts, which go down close by, labels, tracks, bends, tracks, labels.
    out = any(each.way == "out" for each in leaving)
    tracks = [list(dict.fromkeys(each.bus for each in group)) for group in (left, right)]
    start = x + max([AIR * (1 + out) if out or left or not level else 0.0, STUB if back else 0.0])
    start = max([start, *(x + AIR * out + AIR / 2 + each.text + CORNER for each in before)])
    first = start + TRACK * len(tracks[0])
    rest = TRACK * len(tracks[1]) + (CORNER if right or not level else 0.0) + max([STUB, *(each.text + AIR for each in after)])
    last = max(first + bend, x + 0.35 * size - rest)
    return Gap(
        start,
        last + TRACK * len(tracks[1]),
        last + rest,
        (first + last if any(each.way == "under" for each in returning) else x + last + rest) / 2,
        level,
        {key: start + TRACK * n for n, key in enumerate(tracks[0])} | ({"readout": x + AIR} if out else {}),
        {key: last + TRACK * (n + 1) for n, key in enumerate(tracks[1])},
    )


def _bowed(link: Link, ends: Ends) -> bool:
    """A step back within a row, bent down, away from the line ahead."""
    return link.way == "back" and abs(ends[0][1] - ends[1][1]) < PORT / 2


def wire_of(link: Link, x: Sequence[float], ends: Ends, gaps: Sequence[Gap], lane: float) -> Wire:
    """The wire of a link; `x` holds the places of the input, the columns and the output."""
    (x0, y0), (x1, y1) = ends
    x0, x1 = x0 + x[link.start + 1], x1 + x[link.stop + 1]
    gap = gaps[link.stop if link.ahead else link.stop + 1]  # where it arrives
    near, far = (gap.start, gap.stop) if link.ahead else (gap.stop, gap.start)
    points = [(x0, y0), (near, y0), (far, y1), (x1, y1)]
    before, after = gap.start - CORNER - link.text / 2, gap.end - (AIR + link.text) / 2  # the middle of a label
    at = after if link.ahead else before, y1 + LIFT
    if link.way not in ("straight", "back"):
        if link.kind == "feedback":
            first = {link.bus: x0 + TRACK}
        else:
            first = gaps[link.start + 1].left if link.ahead else gaps[link.start].right
        last = gap.right if link.ahead else gap.left
        a, b = first.get(link.bus, x0), last.get(link.bus, x1)
        points = [(x0, y0), (a, y0), (a, lane), (b, lane), (b, y1), (x1, y1)]
        if link.kind == "coupling":  # labelled at a column, where nothing goes up or down, and on the outer side
            at = x[(link.start + link.stop) // 2 + 1], lane + LIFT - (0 if link.ahead else LANE)
        elif link.kind == "feedback":  # below its line, since other feedback lines arrive above
            at = before, y1 - 2.2 * LIFT
    elif _bowed(link, ends):
        points[1:3] = [((x0 + x1) / 2, (y0 + y1) / 2 - 0.8 * PORT)]
        at = gap.middle, (y0 + y1) / 2 - 0.4 * PORT + LIFT
    elif link.early:
        at = before, y0 + LIFT
    elif gap.level:
        at = (x0 + x1) / 2, y1 + LIFT
    return Wire(link.kind, link.source, link.target, link.label, link.silent, _tidy(points), at)


def _tidy(points: Iterable[Point]) -> tuple[Point, ...]:
    """The points, without repetitions and without points on the line between their neighbours."""
    kept: list[Point] = []
    for x, y in points:
        if kept and hypot(x - kept[-1][0], y - kept[-1][1]) < 1e-9:
            continue
        if len(kept) > 1:
            (x0, y0), (x1, y1) = kept[-2:]
            if abs((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)) < 1e-9:
                kept.pop()
        kept.append((x, y))
    return tuple(kept)
