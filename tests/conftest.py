"""Set up before anything is imported."""

import os

# scikit-learn's check of array API input is skipped without it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
