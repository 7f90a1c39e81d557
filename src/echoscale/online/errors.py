"""Where learning broke: which number, at which step, and what to do."""

from __future__ import annotations

import numpy as np

from echoscale.online import constraints, loop
from echoscale.online.adam import Adam
from echoscale.online.buffers import values
from echoscale.online.settings import LearnerSettings


class LearningError(FloatingPointError):
    """Something is no longer finite, or a hyper-parameter no longer allowed; the learner is as it was before that step."""


def explained(settings: LearnerSettings, carry: loop.Carry, at: int) -> LearningError:
    """From the carry after the step `at` that broke. The loss comes first: what follows from it is not its cause."""
    sums = np.asarray(carry.sums[0])[:, : settings.starts]
    now = values(settings, carry)
    wrong = np.argwhere(~np.asarray(constraints.allowed(now, settings.learned, settings.constraint)))
    bad = np.argwhere(~np.isfinite(sums))
    adam = isinstance(settings.readout, Adam)
    remedy = "Lower the readout's rate" if adam else "Let the readout forget less, or raise its ridge"
    if len(bad) and bad[0, 0] == 0:
        said = f"the loss{_of(settings, bad[0, 1])} is not finite. {remedy}."
    elif len(bad):
        name = settings.learned[bad[0, 0] - 1]
        said = (
            f"the gradient of {name}{_of(settings, bad[0, 1])} is not finite: its trace grows without bound. Lower its "
            f"learning rate (now {settings.speeds[bad[0, 0] - 1]:g}), or begin with a smaller spectral radius."
        )
    elif len(wrong):
        p, s = wrong[0]
        inside = "(0, 1]" if settings.learned[p].name == "leak_rate" else "[0, infinity)"
        left = f"left {inside}" if np.isfinite(now[p, s]) else "is not finite"
        said = (
            f"{settings.learned[p]}{_of(settings, s)} {left}: {now[p, s]:g}. Lower its learning rate (now "
            f"{settings.speeds[p]:g}), or keep it inside with constraint='clip'."
        )
    else:
        said = f"the readout is not finite. {remedy}."
    return LearningError(f"at step {at} {said} The learner is as it was before step {at}.")


def _of(settings: LearnerSettings, start: int) -> str:
    return f" of start {start}" if settings.starts > 1 else ""
