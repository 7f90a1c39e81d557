"""The figures of the paper. One module a figure: compute(scale, run) -> labelled data; draw(data) -> matplotlib figure.

`run` takes jobs and gives their results (`echoscale.experiments.run`), so that an interrupted figure goes on where it stopped.
"""

from echoscale.paper import reproduce
from echoscale.paper.gallery import FIGURES, Result, make
from echoscale.paper.provenance import SCALES

__all__ = ["FIGURES", "SCALES", "Result", "make", "reproduce"]
