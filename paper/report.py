"""The report page: the claims of the paper and the results of these runs, all figures, and their origin."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from echoscale.app.report import page
from paper import files
from paper.claims import findings
from paper.comparison import standard_error
from paper.dots import STYLE as DOTS_STYLE
from paper.dots import Dot, dots
from paper.gallery import FIGURES, module_of, read, settings_of
from paper.provenance import description, settings_in
from paper.reproduce import NARMA_VARIANT, TELEGRAPH
from paper.verdicts import AGREES, DIFFERS, OPEN, PARTLY, Finding

if TYPE_CHECKING:
    import xarray

NAME = "index.html"
KINDS = {AGREES: "agrees", PARTLY: "partly", DIFFERS: "differs", OPEN: "open"}
# The look of the banner and of the verdicts.
STYLE = """
:root { --agrees: #0b6b3a; --partly: #7a5a00; --differs: #a3390b; --open: #5a5a5a; }
@media (prefers-color-scheme: dark) { :root { --agrees: #6fd39b; --partly: #e2c15c; --differs: #ffa07a; --open: #bdbdbd; } }
.banner { background: var(--soft); border-left: .3rem solid var(--quiet); padding: .6rem .9rem; margin: 1rem 0; }
.agrees { color: var(--agrees); font-weight: 600; } .differs { color: var(--differs); font-weight: 600; }
.partly { color: var(--partly); font-weight: 600; } .open { color: var(--open); font-weight: 600; }
"""
MAPS = (3, 4, 6)  # figures with maps, whose colours are values
APART = 2.0  # two runs that are more standard errors apart are called different


def write(folder: str | Path, scale: str) -> Path:
    """Write the page of all figures of a scale in a folder: `folder`/index.html."""
    folder = Path(folder)
    there = [number for number in FIGURES if _data(folder, number, scale).is_file()]
    if not there:
        raise ValueError(f"no figures of {scale} scale lie in {folder}: `python -m paper --scale {scale} --out {folder}`.")
    data = {number: read(_data(folder, number, scale)) for number in there}
    pictures = {number: _pictures(_data(folder, number, scale)) for number in data}
    target = folder / NAME
    files.write(target, document(data, pictures, scale).encode())
    return target


def _pictures(file: Path) -> list[bytes]:
    """The pictures (PNG) of a data file: that of the figure and its supplement, those that are there."""
    names = (file.with_name(f"{file.stem}{part}.png") for part in ("", "-supplement"))
    return [each.read_bytes() for each in names if each.is_file()]


def document(data: Mapping[int, xarray.Dataset], pictures: Mapping[int, Sequence[bytes]], scale: str) -> str:
    """The page as text, from the data of the figures and those pictures (PNG) that were drawn."""
    found = findings(data)
    return page.page(
        f"Reproduction of “Exploiting multiple timescales in hierarchical echo state networks”, {scale} scale",
        page.paragraph(_verdict(found), "verdict"),
        page.paragraph(_banner(data, scale), "banner"),
        page.section("Claims of the paper", *_claims(found)) if found else page.Html(""),
        page.section("Headline", *_headline(data)) if {4, 3} & set(data) else page.Html(""),
        page.section("Figures", *(_figure(n, data[n], pictures[n], found, scale) for n in data)),
        page.section("Against the runs of paper scale", *_changes(found, scale)) if found else page.Html(""),
        page.section("Where this came from", *_provenance(data)),
        page.section("What to do next", *_next(scale)),
        style=STYLE + DOTS_STYLE,
    )


def _data(folder: Path, number: int, scale: str) -> Path:
    return folder / f"fig{number}-{scale}.nc"


def _verdict(found: Sequence[Finding]) -> str:
    counts = {verdict: sum(each.verdict == verdict for each in found) for verdict in KINDS}
    if not found:
        return "No claim about these figures can be decided by a number."
    return (
        f"Of {len(found)} claims of the paper, {counts[AGREES]} agree with these runs, {counts[PARTLY]} in part, "
        f"{counts[DIFFERS]} differ{'s' * (counts[DIFFERS] == 1)}, and {counts[OPEN]} cannot be distinguished from chance "
        "at this scale."
    )


def _banner(data: Mapping[int, xarray.Dataset], scale: str) -> str:
    seeds = sorted({each.sizes["seed"] for each in data.values() if "seed" in each.sizes})
    words = f"{scale.capitalize()} scale"
    if seeds:
        words += f": {seeds[0]}" + f" to {seeds[-1]}" * (len(seeds) > 1) + f" seed{'s' * (seeds != [1])} per figure"
    if 6 in data and settings_in(data[6])["data"] != "mnist":
        words += "; 8×8 digits replace MNIST in figure 6"
    if scale != "paper":
        words += ". Networks are smaller or series shorter than in the paper: compare differences, not values"
    return words + "."


def _claims(found: Sequence[Finding]) -> list[page.Html]:
    rows = [
        (page.link(f"#{_heading(each.figure)}", f"Fig. {each.figure}"), each.claim, _badge(each.verdict), each.measured)
        for each in found
    ]
    note = (
        "Differences are taken seed by seed, ± their standard error. A verdict needs a 95 % interval of Student's t that does "
        "not contain 0."
    )
    return [page.table(("figure", "the paper says", "here", "measured"), rows, "Claims"), page.paragraph(note, "quiet")]


def _badge(verdict: str) -> page.Html:
    return page.element("span", page.text(verdict), KINDS[verdict])


def _headline(data: Mapping[int, xarray.Dataset]) -> list[page.Html]:
    parts: list[page.Html] = []
    if 4 in data:
        chosen = data[4].sel(TELEGRAPH)
        ceiling = float(chosen["ceiling"].sel(part="test").mean())
        named = {"single": ("single", 0.64), "unconnected": ("parallel", 0.75), "connected": ("hierarchical", 0.75)}
        lines = []
        for kind, (label, paper) in named.items():
            values = chosen["single_best"] if kind == "single" else chosen["best"].sel(network=kind)
            lines.append(_dot(label, values.values, paper, ceiling))
        parts += [dots(lines, "telegraph: joint accuracy on test series")]
    if 3 in data:
        chosen = data[3].sel(variant=NARMA_VARIANT)
        lines = []
        for task in chosen["task"].values.tolist():
            alone = chosen.sel(task=task)
            found = {"single": (alone["single_best_test"], alone["single_best_test_error"])}
            for kind, label in (("unconnected", "parallel"), ("strong", "hierarchical")):
                both = chosen.sel(surface=f"{task}, {kind}")
                found[label] = both["best_test"], both["best_test_error"]
            lines += [Dot(f"{task}: {label}", float(mean), _number(error)) for label, (mean, error) in found.items()]
        parts += [dots(lines, f"NARMA: test NRMSE ({NARMA_VARIANT})")]
    legend = "● ours, mean over the seeds ± standard error"
    if 4 in data:
        legend += "; ◇ the paper; | the ceiling: the accuracy of the exact Bayesian filter on the same series"
    return [*parts, page.paragraph(legend + ".", "quiet")]


def _dot(label: str, values: Any, paper: float, ceiling: float) -> Dot:
    each = np.asarray(values, np.float64)
    return Dot(label, float(each.mean()), _number(standard_error(each)), paper, ceiling)


def _number(value: Any) -> float:
    """The number, or 0 where there is none: one seed has no error."""
    return float(np.nan_to_num(float(value)))


def _heading(number: int) -> str:
    return page.address(_title(number))


def _title(number: int) -> str:
    return f"Figure {number}: {CAPTIONS[number].title}"


def _figure(number: int, data: xarray.Dataset, pictures: Sequence[bytes], found: Sequence[Finding], scale: str) -> page.Html:
    own = [each for each in found if each.figure == number]
    file = _data(Path(), number, scale).name
    caption = page.join(
        page.text(CAPTIONS[number].shows),
        page.Html("Data: "),
        page.join(page.link(file, file), page.Html("(netCDF).")),
        page.text(f"Computed in {float(data.attrs.get('seconds', 0)):g} s."),
    )
    parts = [_finding(own)]
    if not pictures:
        parts.append(page.element("p", caption))
    seen = f"{CAPTIONS[number].title}. {CAPTIONS[number].shows}"
    for picture, says in zip(pictures, (caption, page.text("Supplement: more panels of the same data.")), strict=False):
        parts.append(page.picture(picture, seen, says, is_map=number in MAPS))
    return page.section(_title(number), *parts, page.command(_command(number, data, scale)), level=3)


def _command(number: int, data: xarray.Dataset, scale: str) -> str:
    """The command that makes a figure, with its seeds unless they are those of the scale."""
    line = f"python -m paper {number} --scale {scale}"
    usual = description(number, scale, settings_of(number, scale))["settings"]
    if data.attrs["settings"] == usual or "seed" not in data.coords:
        return line
    return f"{line} --seeds {','.join(map(str, data['seed'].values.tolist()))}"


def _finding(own: Sequence[Finding]) -> page.Html:
    if not own:
        return page.paragraph("A drawing: there is no claim that a number can decide.")
    lines = [
        page.join(_badge(each.verdict), page.text(f"{each.claim} {each.measured[0].upper()}{each.measured[1:]}."))
        for each in own
    ]
    return page.items(lines)


def committed() -> dict[tuple[int, str], tuple[float, float]]:
    """(value, error) of every claim in the runs of paper scale that are part of this version."""
    rows = json.loads((Path(__file__).parent / "paper_scale.json").read_text(encoding="utf-8"))
    return {(row["figure"], row["claim"]): (row["value"], row["error"]) for row in rows}


def _changes(found: Sequence[Finding], scale: str) -> list[page.Html]:
    """These runs beside the runs of paper scale that are part of this version."""
    known, rows = committed(), []
    for each in found:
        if (each.figure, each.claim) not in known:
            continue
        value, error = known[each.figure, each.claim]
        spread = float(np.hypot(np.nan_to_num(each.error), error))
        if spread > 0:
            apart = f"{abs(each.value - value) / spread:.1f} standard errors apart"
        else:
            apart = "equal" if np.isclose(each.value, value, rtol=1e-6, atol=1e-9) else "differs"
        rows.append((f"Fig. {each.figure}", each.claim, f"{each.value:.3g}", f"{value:.3g}", apart))
    words = (
        "Values that decide the claims: here, and in the runs of paper scale that are part of this version. "
        + ("" if scale == "paper" else "Sizes differ, so values may differ; what matters is whether a verdict changes. ")
        + f"A difference of more than {APART:g} standard errors is unlikely to be chance."
    )
    header = ("figure", "claim", "here", "paper scale", "difference")
    return [page.paragraph(words), page.table(header, rows, "Against paper scale", numbers=(2, 3))]


def _provenance(data: Mapping[int, xarray.Dataset]) -> list[page.Html]:
    rows: list[tuple[str, ...]] = []
    for number, each in data.items():
        known = each.attrs
        seeds = each["seed"].values.tolist() if "seed" in each.coords else []
        made = ", ".join(f"{name} {known[name]}" for name in ("echoscale", "jax", "numpy", "scipy") if name in known)
        rows.append(
            (f"Fig. {number}", f"{float(known.get('seconds', 0)):g}", _span(seeds), made, str(known.get("machine", "")))
        )
    total = sum(float(each.attrs.get("seconds", 0)) for each in data.values())
    words = (
        f"{total:.0f} s in total. Every data file holds all settings. Written on {datetime.now(UTC):%Y-%m-%d} by "
        f"echoscale {version('echoscale')}, Python {platform.python_version()}, {platform.system()}."
    )
    header: tuple[str, ...] = ("figure", "seconds", "seeds", "versions", "machine")
    if len({row[3:] for row in rows}) == 1:  # equal for all figures: stated once
        words = f"All figures: {rows[0][3]}; {rows[0][4]}. {words}"
        rows, header = [row[:3] for row in rows], header[:3]
    return [page.table(header, rows, "Origin of the figures", numbers=(1,)), page.paragraph(words, "quiet")]


def _span(seeds: Sequence[int]) -> str:
    """ "0, 1", or "0 to 9" for consecutive seeds."""
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _next(scale: str) -> list[page.Html]:
    lines = []
    if scale != "paper":
        lines.append("python -m paper --scale paper                     # all seeds and sizes; continues after an interruption")
    lines += [
        'python -m paper 3 --variant "lag 1, ridge free"   # another reading of the text',
        "python -m paper 3 --seeds 100-119                 # other seeds",
    ]
    return [page.command("\n".join(lines))]


class Legend(NamedTuple):
    """A title, and one or two sentences that say what a figure shows."""

    title: str
    shows: str


WRITTEN = {
    1: Legend(
        "Timescales of a reservoir",
        "Eigenvalues of a random matrix, the density of timescales by theory and by measurement, and what leak rate, spectral "
        "radius and structure do to it.",
    ),
    2: Legend(
        "Architectures",
        "A single reservoir, two parallel ones (which the paper calls unconnected), and a hierarchy of two (connected).",
    ),
    3: Legend(
        "NARMA",
        "Error of single, parallel and hierarchical networks over their leak rates, with close-ups around the minima and the "
        "paths of learned leak rates.",
    ),
    4: Legend(
        "A volatile environment",
        "A noisy telegraph signal: accuracy for the state, the regime and both over the leak rates, beside the ceiling of the "
        "exact Bayesian filter.",
    ),
    5: Legend("Adaptation", "Leak rates that are learned online while the odds of the telegraph signal change."),
    6: Legend(
        "Images pixel by pixel",
        "Accuracy of single, parallel and hierarchical networks over their leak rates, with few and with many snapshots.",
    ),
    7: Legend(
        "The online gradient",
        "Gradients of the leak rates by traces, in several forms, against back-propagation through time.",
    ),
    8: Legend(
        "Relaxation after a pulse",
        "Modes of a reservoir against the linear theory, and the error over the strength of the pulse.",
    ),
    9: Legend(
        "Delayed inputs",
        "NARMA10 with the first reservoir replaced by delayed copies of the input: the best leak rate of the second, and the "
        "error.",
    ),
}


def of_module(number: int) -> Legend:
    """The legend of a figure from the name "fig10_sines" of its module and the first line "Fig. 10: what it shows."."""
    name, words = FIGURES[number], module_of(number).__doc__ or ""
    shows = words.partition("\n")[0].partition(": ")[2]
    return Legend(name.partition("_")[2].replace("_", " ").capitalize(), shows[:1].upper() + shows[1:])


CAPTIONS = {number: WRITTEN[number] if number in WRITTEN else of_module(number) for number in FIGURES}
