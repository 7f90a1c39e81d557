"""Pictures of the committed data: letters that can be read, one vocabulary, one colour for each kind of network, named axes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from paper import FIGURES, gallery, style

COMMITTED = Path(__file__).parents[2] / "docs" / "figures"
# A picture: figure, what draws it, and its variant; of the others, the one that differs most from the first.
PICTURES = [
    (number, part, variant)
    for number in FIGURES
    for part in ("draw", "draw_supplement")
    if hasattr(gallery.module_of(number), part)
    for variant in (None, *gallery.variants_of(number)[-1:])
]
MOST_PANELS = 10


@pytest.fixture(scope="module", params=PICTURES, ids=lambda each: "-".join(map(str, each)))
def picture(request: pytest.FixtureRequest) -> Figure:
    number, part, variant = request.param
    data = gallery.read(COMMITTED / f"fig{number}-paper.nc")
    draw = getattr(gallery.module_of(number), part)
    figure: Figure = draw(data) if variant is None else draw(data, variant)
    figure.draw_without_rendering()
    return figure


def texts(picture: Figure) -> list[Text]:
    """All texts that can be seen; of the ticks, those within the axes."""
    hidden: set[int] = set()
    for ax in picture.get_axes():
        for axis, ends in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            low, high = sorted(ends)
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low <= tick.get_loc() <= high or not ax.axison:
                    hidden |= {id(tick.label1), id(tick.label2)}
    return [
        each
        for each in picture.findobj(Text)
        if isinstance(each, Text) and each.get_visible() and each.get_text().strip() and id(each) not in hidden
    ]


def test_letters_can_be_read_and_nothing_overlaps(picture: Figure) -> None:
    page, found = picture.bbox, texts(picture)
    assert len(found) > 10
    smallest = style.SMALL - ("Fig. 2." in picture.get_suptitle())  # where the library draws the networks
    assert [each.get_text() for each in found if float(each.get_fontsize()) < smallest] == []
    boxes = [(each.get_text(), each.get_window_extent()) for each in found]
    assert [says for says, box in boxes if not (page.x0 <= box.x0 and box.x1 <= page.x1)] == []
    assert [says for says, box in boxes if not (page.y0 <= box.y0 and box.y1 <= page.y1)] == []
    pairs = itertools.combinations(boxes, 2)
    clashes = [(a, b) for (a, one), (b, other) in pairs if (both := Bbox.intersection(one, other)) and min(both.size) > 0.5]
    assert clashes == []


def test_few_panels_and_named_scales(picture: Figure) -> None:
    panels = [ax for ax in picture.get_axes() if ax.get_title(loc="left")]
    assert 0 < len(panels) <= MOST_PANELS
    for ax in picture.get_axes():
        for label, scale in ((ax.get_xlabel(), ax.get_xscale()), (ax.get_ylabel(), ax.get_yscale())):
            assert not label or ("log scale" in label) == (scale != "linear"), (label, scale)
    for scale in ("xscale", "yscale"):
        of_panels = {getattr(ax, f"get_{scale}")() for ax in panels} - {"linear"}
        named = [getattr(ax, f"get_{scale[0]}label")() for ax in panels]
        assert not of_panels or any("log scale" in each for each in named)


def test_one_vocabulary(picture: Figure) -> None:
    said = "\n".join(each.get_text() for each in texts(picture))
    for word in (">=", "1e-", "rho", "alpha1", "lag 1", "lag 0", "ESN"):
        assert word not in said.replace("\\rho", "").replace("\\alpha", "")
    if "Fig. 2." in said:  # the one that says what the paper calls them
        assert "in the paper: unconnected" in said
    else:
        assert "connected" not in said


def entries(picture: Figure) -> Iterator[tuple[str, Artist]]:
    """The texts of all legends, with their marks."""
    for legend in picture.findobj(Legend):
        if isinstance(legend, Legend):
            for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True):
                if handle is not None:
                    yield text.get_text(), handle


def test_a_kind_of_network_has_one_colour(picture: Figure) -> None:
    colours = {"parallel": style.PARALLEL, "hierarchical": style.HIERARCHICAL}
    for says, mark in entries(picture):
        for word in says.split():
            if word in colours:
                assert colour(mark) == colours[word].lower(), says


def colour(mark: Any) -> str:
    """The colour of a mark in a legend, without its transparency."""
    if isinstance(mark, Patch) and mark.get_fill():
        return to_hex(mark.get_facecolor())
    found = mark.get_color() if hasattr(mark, "get_color") else mark.get_edgecolor()
    return to_hex(found[0] if getattr(found, "ndim", 1) == 2 else found).lower()


def test_labels_name_their_scale() -> None:
    axes = Figure().subplots()
    assert isinstance(axes, Axes)
    axes.set(xscale="log", yscale="symlog")
    style.panel(axes, "A", x="delay (steps)", y="error")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("delay (steps, log scale)", "error\n(log scale, linear near 0)")


def test_lines_of_a_text_are_about_equally_long() -> None:
    assert style.wrapped("one two three four five six", 24).split("\n") == ["one two three", "four five six"]
