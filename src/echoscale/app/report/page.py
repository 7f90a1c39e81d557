"""The blocks of a self-contained page: HTML with its style and its pictures inside, which loads nothing from elsewhere.

Text is escaped where it becomes `Html`, and only there.

`dots` draws means with their errors as dots, one line each, with the paper's values and the ceilings.
"""

from __future__ import annotations

import base64
import html
import math
import re
from collections.abc import Sequence
from typing import NamedTuple

# Sizes of a drawing of dots, in its own units: a wider one has smaller letters on a phone.
WIDTH, ROW, EDGE, FOOT = 600, 26, 20, 44
LETTER = 9.4  # width of one, on average, on a phone

STYLE = """
:root { --ground: #fff; --ink: #1a1a1a; --quiet: #595959; --line: #d0d0d0; --soft: #f4f4f2; --link: #0b5394;
  --agrees: #0b6b3a; --differs: #a3390b; --open: #5a5a5a; --ours: #0072b2; --mark: #a3390b; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --ground: #16181b; --ink: #ececec; --quiet: #b3b3b3; --line: #44484d;
  --soft: #22262a; --link: #8ec5ff; --agrees: #6fd39b; --differs: #ffa07a; --open: #bdbdbd;
  --ours: #7cc4f0; --mark: #ffa07a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
h3 { font-size: 1.05rem; margin: 1.8rem 0 .4rem; }
p { margin: .5rem 0; } a { color: var(--link); } ul { padding-left: 1.3rem; }
.verdict { font-size: 1.1rem; } .quiet { color: var(--quiet); font-size: .92rem; }
.banner { background: var(--soft); border-left: .3rem solid var(--quiet); padding: .6rem .9rem; margin: 1rem 0; }
.scroll { overflow-x: auto; } .scroll:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line); }
td.date { white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.agrees { color: var(--agrees); font-weight: 600; } .differs { color: var(--differs); font-weight: 600; }
.open { color: var(--open); font-weight: 600; }
figure { margin: .8rem 0; } figcaption { color: var(--quiet); font-size: .92rem; }
button.picture { display: block; width: 100%; max-width: 50rem;
  padding: 0; border: 1px solid var(--line); background: #fff; cursor: zoom-in; }
button.picture img { display: block; width: 100%; height: auto; }
dialog { max-width: 100vw; max-height: 100vh; padding: 0; border: 0; background: #fff; }
dialog img { display: block; max-width: none; width: max(96vw, 70rem); cursor: zoom-out; }
code, pre { font: .88em/1.5 ui-monospace, monospace; background: var(--soft); } code { padding: .1em .3em; }
pre { padding: .6rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
svg { display: block; width: 100%; max-width: 46rem; height: auto; }
svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
@media (max-width: 40rem) { svg text { font-size: 16px; } }
/* On a phone a row is a card: each value on a line, after the name of its column. */
@media (max-width: 40rem) { th { vertical-align: bottom; } th.number { white-space: normal; }
  .cards thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .cards :is(table, tbody, tr, td) { display: block; } .cards tr { border-bottom: 1px solid var(--line); padding: .4rem 0; }
  .cards td { border: 0; padding: .1rem 0; text-align: left; white-space: normal; }
  .cards td:empty { display: none; } .cards td:first-child { font-weight: 600; }
  .cards td[data-label]:not(:first-child)::before { content: attr(data-label) ": "; color: var(--quiet); } }
/* Figures are drawn on white: in the dark they are turned round, colours kept; not maps, whose colours are values. */
@media screen and (prefers-color-scheme: dark) { button.picture, dialog { background: #16181b; }
  button.picture img, dialog img { filter: invert(.91) hue-rotate(180deg); }
  button.picture img.map, dialog img.map { filter: brightness(.88); } }
"""
DATE = re.compile(r"\d{4}-\d\d-\d\d([ T][\d:]+)?")  # a date is not broken at its hyphens
# A picture opens in a dialog, which Escape or a click closes.
SCRIPT = """
const shown = document.querySelector('dialog');
if (shown) {
  for (const each of document.querySelectorAll('button.picture')) each.addEventListener('click', () => {
    const from = each.querySelector('img'), to = shown.querySelector('img');
    to.src = from.src; to.alt = from.alt; to.className = from.className; shown.showModal();
  });
  shown.addEventListener('click', () => shown.close());
}
"""
# The browser loads nothing from elsewhere.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'"


class Html(str):
    """Text that is HTML already, and is not escaped again."""

    __slots__ = ()


def text(words: object) -> Html:
    """Any text, escaped; `Html` stays unchanged."""
    return words if isinstance(words, Html) else Html(html.escape(str(words)))


def join(*parts: Html) -> Html:
    """Pieces one after the other."""
    return Html("\n".join(parts))


def paragraph(words: str, kind: str = "") -> Html:
    """A paragraph of plain words."""
    return element("p", text(words), kind)


def element(tag: str, content: Html, kind: str = "") -> Html:
    """<tag class="kind">content</tag>."""
    named = f' class="{kind}"' if kind else ""
    return Html(f"<{tag}{named}>{content}</{tag}>")


def items(each: Sequence[Html]) -> Html:
    """A list of points."""
    return element("ul", join(*(element("li", one) for one in each)))


def section(title: str, *parts: Html, level: int = 2) -> Html:
    """A heading that can be linked to, and its content."""
    return join(Html(f'<h{level} id="{address(title)}">{text(title)}</h{level}>'), *parts)


def address(title: str) -> str:
    """The part after # in a link to a heading."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def link(target: str, words: str) -> Html:
    """A link to a file beside the page, or to a heading."""
    return Html(f'<a href="{html.escape(target)}">{text(words)}</a>')


def command(line: str) -> Html:
    """A command, shown literally."""
    return Html(f"<pre>{text(line)}</pre>")


def table(header: Sequence[str], rows: Sequence[Sequence[object]], name: str, numbers: Sequence[int] = ()) -> Html:
    """A table that scrolls if it is too wide; on a phone, rows of text become cards."""

    names = [f' data-label="{html.escape(each)}"' if each else "" for each in header]

    def cells(values: Sequence[object], tag: str) -> str:
        kinds = [
            ' class="number"' if place in numbers else ' class="date"' if DATE.fullmatch(str(value)) else ""
            for place, value in enumerate(values)
        ]
        labels = names if tag == "td" else [""] * len(names)
        each = zip(kinds, labels, values, strict=True)
        return "".join(f"<{tag}{kind}{label}>{text(value)}</{tag}>" for kind, label, value in each)

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    head = f"<thead><tr>{cells(header, 'th')}</tr></thead>"
    kind = "scroll cards" if 2 * len(numbers) < len(header) > 3 else "scroll"  # columns of numbers are read from top to bottom
    frame = f'<div class="{kind}" tabindex="0" role="region" aria-label="{html.escape(name)}">'
    return Html(f"{frame}<table>{head}<tbody>{body}</tbody></table></div>")


def picture(png: bytes, seen: str, caption: Html, is_map: bool = False) -> Html:
    """A picture inside the page that opens large."""
    source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    kind = ' class="map"' if is_map else ""
    image = f'<img{kind} src="{source}" alt="{html.escape(seen)}">'
    return Html(f'<figure><button class="picture" type="button">{image}</button><figcaption>{caption}</figcaption></figure>')


def page(title: str, *parts: Html) -> str:
    """The whole document."""
    body = join(element("h1", text(title)), *parts)
    dialog = '<dialog aria-label="Picture, enlarged"><img alt=""></dialog>' if "<img " in body else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        f"{dialog}\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


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


def dots(lines: Sequence[Dot], axis: str) -> Html:
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
    return Html(f"{frame}{''.join(parts)}</svg>")


def _step(span: float) -> float:
    """1, 2 or 5 times a power of ten, with at most six steps in the span."""
    power = 10.0 ** math.floor(math.log10(span / 6))
    return next(factor * power for factor in (1, 2, 5, 10) if span / (factor * power) <= 6)


def _digits(step: float) -> int:
    return max(0, -math.floor(math.log10(step) + 1e-9))
