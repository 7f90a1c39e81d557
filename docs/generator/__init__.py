"""Tables, numbers and pictures of the pages, from result files."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]  # the package `paper`; the list of rooms
