"""The figures of the paper. One module a figure: compute(scale, run) -> labelled data; draw(data) -> matplotlib figure.

`run` takes jobs and gives their results (`echoscale.sweeps.run`), so that an interrupted figure goes on where it stopped.
"""

from paper import reproduce
from paper.gallery import FIGURES, Result, make
from paper.provenance import SCALES

__all__ = ["FIGURES", "SCALES", "Result", "make", "reproduce"]
