"""Write all that pages take from result files: `python docs/generate.py`, or `--check` to see what differs.

<!-- table: name -->      a table of docs/generator/tables.py, up to <!-- end -->
docs/generator/claims.py  numbers in sentences
docs/figures/rooms.svg    the import graph
"""

from __future__ import annotations

import sys

from generator import pages

if __name__ == "__main__":
    sys.exit(pages.main(sys.argv[1:]))
