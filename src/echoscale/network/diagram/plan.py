"""The plan of a diagram: positions of all parts, and the lengths that they share."""

from __future__ import annotations

from typing import NamedTuple

Point = tuple[float, float]
Ends = tuple[Point, Point]

FONT = 8.0  # points
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


class Spot(NamedTuple):
    """A circle."""

    x: float
    y: float
    radius: float


class Caption(NamedTuple):
    """The text above and below a reservoir."""

    above: str
    below: tuple[str, ...]

    @property
    def width(self) -> float:
        return LETTER * max(len(line) for line in (self.above, *self.below))


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


class Drawing(NamedTuple):
    """Positions of all parts in inches; (0, 0) is the middle of the input.

    columns  the column of each reservoir, from 0
    wires    the arrows: inputs, couplings, readouts, output feedback, each in the order of the network
    """

    input: Spot
    output: Spot
    reservoirs: tuple[Spot, ...]
    captions: tuple[Caption, ...]
    columns: tuple[int, ...]
    wires: tuple[Wire, ...]
    left: float
    right: float
    bottom: float
    top: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.top - self.bottom


def number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def name_of(k: int | None, other: str = "") -> str:
    return other if k is None else f"R{k + 1}"
