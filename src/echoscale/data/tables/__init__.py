"""Data files as tables: CSV, Parquet and NPZ, with a time column or without one.

Nothing is sorted, filled or dropped silently. A file that allows two readings raises an error, and options decide (`Notation`).
Errors name the row and the column; the first row below the header is row 1.
"""

from echoscale.data.tables.file import DataFile, listed, when
from echoscale.data.tables.notation import Notation
from echoscale.data.tables.reading import READERS, parse_csv, read
from echoscale.data.tables.times import NO_TIME

__all__ = ["NO_TIME", "READERS", "DataFile", "Notation", "listed", "parse_csv", "read", "when"]
