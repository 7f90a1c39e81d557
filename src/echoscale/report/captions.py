"""What the figures show, in a sentence each. A figure that has none here says it in the first line of its module."""

from __future__ import annotations

import importlib
from typing import NamedTuple

from echoscale.paper.gallery import FIGURES


class Legend(NamedTuple):
    """Attributes: title, a few words; shows, one or two sentences."""

    title: str
    shows: str


WRITTEN = {
    1: Legend(
        "Timescales of a reservoir",
        "Eigenvalues of a random matrix, the density of timescales by theory and by measurement, and what leak rate, spectral "
        "radius and structure do to it.",
    ),
    2: Legend("Architectures", "A single reservoir, two unconnected (parallel) ones, and two connected (hierarchical) ones."),
    3: Legend(
        "NARMA",
        "Error of single, unconnected and connected networks over their leak rates, with close-ups around the minima and the "
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
        "Accuracy of single, unconnected and connected networks over their leak rates, with few and with many snapshots.",
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
    """Title and words from "fig10_sines" and "Fig. 10: what it shows.".

    Parameters
    ----------
    number : int
        Of the figure.
    """
    name, words = FIGURES[number], importlib.import_module(f"echoscale.paper.{FIGURES[number]}").__doc__ or ""
    shows = words.partition("\n")[0].partition(": ")[2]
    return Legend(name.partition("_")[2].replace("_", " ").capitalize(), shows[:1].upper() + shows[1:])


CAPTIONS = {number: WRITTEN[number] if number in WRITTEN else of_module(number) for number in FIGURES}
