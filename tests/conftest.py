"""Set up before anything is imported."""

import os

# scikit-learn's check of array API input is skipped without it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
