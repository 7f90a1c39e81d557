"""Drawings of means with their errors as dots, one line each, with the paper's values and the ceilings."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import NamedTuple

from echoscale.app.report import page

# Sizes of a drawing, in its own units: a wider one has smaller letters on a phone.
WIDTH, ROW, EDGE, FOOT = 600, 26, 20, 44
LETTER = 9.4  # width of one, on average, on a phone

STYLE = """
:root { --ours: #0072b2; --mark: #a3390b; }
@media (prefers-color-scheme: dark) { :root { --ours: #7cc4f0; --mark: #ffa07a; } }
svg { display: block; width: 100%; max-width: 46rem; height: auto; }
svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
@media (max-width: 40rem) { svg text { font-size: 16px; } }
"""


class Dot(NamedTuple):
    """One line of the drawing.

    Attributes
    ----------
    label : str
        Name of the measured quantity.
    mean : float
        Mean over the seeds.
    error : float
        Standard error of the mean; 0 if there is none.
    paper : float or None
        Value in the paper.
    ceiling : float or None
        Largest possible value.
    """

    label: str
    mean: float
    error: float
    paper: float | None = None
    ceiling: float | None = None


def dots(lines: Sequence[Dot], axis: str) -> page.Html:
    """A drawing with one line for each dot, on a common axis."""
    marks = [each for line in lines for each in (line.mean - line.error, line.mean + line.error, line.paper, line.ceiling)]
    known = [each for each in marks if each is not None]
    step = _step((max(known) - min(known)) or 1.0)
    low, high = math.floor(min(known) / step) * step, math.ceil(max(known) / step) * step
    if low == high:
        high = low + step
    bottom, left = EDGE + ROW * len(lines), 24 + LETTER * max(len(line.label) for line in lines)

    def at(value: float) -> float:
        return left + (value - low) / (high - low) * (WIDTH - left - EDGE)

    parts = []
    for k in range(round((high - low) / step) + 1):
        value = low + k * step
        x = at(value)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{EDGE - 6}" y2="{bottom}" stroke="var(--line)"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{value:.{_digits(step)}f}</text>')
    for k, line in enumerate(lines):
        y = EDGE + ROW * k + ROW / 2
        parts.append(f'<text x="{left - 12:.1f}" y="{y + 4:.1f}" text-anchor="end">{html.escape(line.label)}</text>')
        if line.ceiling is not None:
            x = at(line.ceiling)
            parts.append(f'<path d="M{x:.1f} {y - 9:.1f}v18" stroke="var(--ink)" stroke-width="2"/>')
        if line.paper is not None:
            x = at(line.paper)
            parts.append(f'<path d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z" fill="none" stroke="var(--mark)" stroke-width="2"/>')
        ends = at(line.mean - line.error), at(line.mean + line.error)
        parts.append(f'<path d="M{ends[0]:.1f} {y:.1f}H{ends[1]:.1f}" stroke="var(--ours)" stroke-width="2"/>')
        parts.append(f'<circle cx="{at(line.mean):.1f}" cy="{y:.1f}" r="4.5" fill="var(--ours)"/>')
    middle = (left + WIDTH - EDGE) / 2
    parts.append(f'<text x="{middle:.1f}" y="{bottom + 36}" text-anchor="middle">{html.escape(axis)}</text>')
    said = html.escape(f"{axis}. " + "; ".join(f"{line.label}: {line.mean:.3g} ± {line.error:.2g}" for line in lines))
    frame = f'<svg viewBox="0 0 {WIDTH} {bottom + FOOT}" role="img" aria-label="{said}">'
    return page.Html(f"{frame}{''.join(parts)}</svg>")


def _step(span: float) -> float:
    """1, 2 or 5 times a power of ten, with at most six steps in the span."""
    power = 10.0 ** math.floor(math.log10(span / 6))
    return next(factor * power for factor in (1, 2, 5, 10) if span / (factor * power) <= 6)


def _digits(step: float) -> int:
    return max(0, -math.floor(math.log10(step) + 1e-9))
