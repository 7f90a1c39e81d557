"""scikit-learn's `random_state` as a seed."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from echoscale import _checks
from echoscale.esn import fresh_seed

RandomState = int | np.random.RandomState | None


def seed_of(random_state: RandomState) -> int:
    """None takes fresh entropy, a whole number is the seed itself, a generator is asked for one."""
    if random_state is None:
        return fresh_seed()
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return _checks.integer(random_state, "random_state")
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
