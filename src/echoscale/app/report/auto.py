"""The report of `es.auto`: the chosen method, its comparison with others, and its networks."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import echoscale
from echoscale.app.report import page
from echoscale.app.report.page import Dot, Html, dots

if TYPE_CHECKING:
    from echoscale.forecasting import Found
    from echoscale.network import Network

DRAWN = 3  # networks with a diagram


def document(found: Found, more: Sequence[Html] = (), last: Sequence[Html] = ()) -> str:
    """The page as text."""
    metric = found.table.columns[1]
    lines = [Dot(str(name), float(error), 0.0) for name, error, *_ in found.table.rows if error is not None]
    return page.page(
        "From data to a model",
        page.paragraph(f"Taken: {found.winner}. {metric} {found.error:.4g} on held-out data.", "verdict"),
        page.items([page.text(each) for each in found.reasons]),
        *more,
        page.section(
            "Beside the simple methods",
            dots(lines, f"{metric}, less is better") if len(lines) > 1 else Html(""),
            table_of(found.table),
        ),
        page.section("Networks", *_networks(found.networks)),
        page.section(
            "Where this came from",
            page.paragraph(
                f"{found.rounds} round{'s' * (found.rounds != 1)} in {found.seconds:.1f} s, echoscale {echoscale.__version__}.",
                "quiet",
            ),
        ),
        *last,
    )


def table_of(table: echoscale.Table) -> Html:
    """A `Table` with its title and its notes."""
    numbers = [k for k in range(1, len(table.columns)) if any(isinstance(row[k], int | float) for row in table.rows)]
    rows = [[_shown(value) for value in row] for row in table.rows]
    header = [name if "[" in name else name.replace("_", " ") for name in table.columns]  # leak_rate[0] stays
    notes = [page.paragraph(each, "quiet") for each in table.notes]
    return page.join(page.table(header, rows, table.title or "Table", numbers), page.paragraph(table.title, "quiet"), *notes)


def _shown(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _networks(networks: tuple[Network, ...]) -> list[Html]:
    if not networks:
        return [page.paragraph("None: a simple method is at least as good.")]
    words = f"{len(networks)} are averaged" if len(networks) > 1 else "One is used"
    words += f"; the first {DRAWN} are shown." if len(networks) > DRAWN else "."
    parts = [page.paragraph(words)]
    for number, network in enumerate(networks[:DRAWN], 1):
        picture = io.BytesIO()
        network.plot().savefig(picture, format="png", dpi=160)
        seen = f"Diagram of a network of {len(network.reservoirs)} reservoirs with {network.units} neurons."
        parts += [page.picture(picture.getvalue(), seen, page.text(f"Network {number}.")), table_of(network.timescales())]
    return parts
