"""Write all that pages take from result files and from the code: `python docs/generate.py`.

<!-- table: name -->      a table of docs/generator/tables.py, up to <!-- end -->
docs/figures/rooms.svg    the import graph
docs/first_steps.ipynb    the first tutorial as a notebook

With --check nothing is written, and what differs is named. --picture draws the pictures of examples again.
"""

from __future__ import annotations

import sys

from generator import pages

if __name__ == "__main__":
    sys.exit(pages.main(sys.argv[1:]))
