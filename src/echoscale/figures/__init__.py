"""The figures of the paper. One module a figure: compute(scale) -> labelled data; draw(data) -> matplotlib figure."""

from echoscale.figures.gallery import FIGURES, Result, make
from echoscale.figures.label import SCALES

__all__ = ["FIGURES", "SCALES", "Result", "make"]
