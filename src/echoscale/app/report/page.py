"""Blocks of a self-contained page: HTML that holds its style and its pictures and loads nothing from elsewhere.

Text is escaped where it becomes `Html`, and only there.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence

from echoscale._internal.table import Table, as_text

STYLE = """
:root { --ground: #fff; --ink: #1a1a1a; --quiet: #595959; --line: #d0d0d0; --soft: #f4f4f2; --link: #0b5394;
  color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --ground: #16181b; --ink: #ececec; --quiet: #b3b3b3; --line: #44484d;
  --soft: #22262a; --link: #8ec5ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
h3 { font-size: 1.05rem; margin: 1.8rem 0 .4rem; }
p { margin: .5rem 0; } a { color: var(--link); } ul { padding-left: 1.3rem; }
.verdict { font-size: 1.1rem; } .quiet { color: var(--quiet); font-size: .92rem; }
.scroll { overflow-x: auto; } .scroll:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line); }
td.date { white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { margin: .8rem 0; } figcaption { color: var(--quiet); font-size: .92rem; }
button.picture { display: block; width: 100%; max-width: 50rem;
  padding: 0; border: 1px solid var(--line); background: #fff; cursor: zoom-in; }
button.picture img { display: block; width: 100%; height: auto; }
dialog { max-width: 100vw; max-height: 100vh; padding: 0; border: 0; background: #fff; }
dialog img { display: block; max-width: none; width: max(96vw, 70rem); cursor: zoom-out; }
code, pre { font: .88em/1.5 ui-monospace, monospace; background: var(--soft); } code { padding: .1em .3em; }
pre { padding: .6rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
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
    """Text that is already HTML and is not escaped again."""

    __slots__ = ()


def text(words: object) -> Html:
    """Escaped text; `Html` stays unchanged."""
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


def table_of(made: Table) -> Html:
    """A `Table` with its title and its notes."""
    numbers = [k for k in range(1, len(made.columns)) if any(isinstance(row[k], int | float) for row in made.rows)]
    rows = [[as_text(value) for value in row] for row in made.rows]
    header = [name if "[" in name else name.replace("_", " ") for name in made.columns]  # leak_rate[0] stays
    notes = [paragraph(each, "quiet") for each in (made.title, *made.notes)]
    return join(table(header, rows, made.title or "Table", numbers), *notes)


def picture(png: bytes, seen: str, caption: Html | None = None, is_map: bool = False) -> Html:
    """A picture inside the page that opens in full size; `seen` is its description, and its caption unless one is given."""
    caption = text(seen) if caption is None else caption
    source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    kind = ' class="map"' if is_map else ""
    image = f'<img{kind} src="{source}" alt="{html.escape(seen)}">'
    return Html(f'<figure><button class="picture" type="button">{image}</button><figcaption>{caption}</figcaption></figure>')


def page(title: str, *parts: Html, style: str = "") -> str:
    """The whole document; `style` is additional CSS."""
    body = join(element("h1", text(title)), *parts)
    dialog = '<dialog aria-label="Picture, enlarged"><img alt=""></dialog>' if "<img " in body else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{text(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        f"{dialog}\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
