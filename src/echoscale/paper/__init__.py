"""The figures of the paper. One module a figure: compute(scale) -> labelled data; draw(data) -> matplotlib figure."""

from echoscale.paper import reproduce
from echoscale.paper.gallery import FIGURES, Result, make
from echoscale.paper.provenance import SCALES

__all__ = ["FIGURES", "SCALES", "Result", "make", "reproduce"]
