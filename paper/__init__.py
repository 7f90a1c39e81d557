"""The figures of the paper: the first user of echoscale, beside the library and not part of it.

    python -m paper 3 --scale smoke        compute and draw figure 3, in seconds

Each figure has one module with `SETTINGS` for every scale, `compute(settings, scale, run)`, which returns labelled data,
and `draw(data)`; some have `draw_supplement(data)`, a second picture. `run` is an `echoscale.sweeps.Runner`: it keeps finished
jobs, so an interrupted figure continues where it stopped.
"""

from paper.gallery import FIGURES, Result, make
from paper.provenance import SCALES

__all__ = ["FIGURES", "SCALES", "Result", "make"]
