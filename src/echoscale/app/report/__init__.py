"""Results as a page: one HTML file that opens anywhere, with its pictures and its style inside.

`page` holds the blocks of such a page.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from echoscale._internal.files import write_atomically
from echoscale.app.report import page

if TYPE_CHECKING:
    import xarray

    from echoscale.forecasting import Found

__all__ = ["page", "write_report"]


def write_report(result: Found | xarray.Dataset, path: str | os.PathLike[str]) -> Path:
    """Write a result of `auto` or `sweep` to one self-contained HTML page, with tables and pictures.

    Parameters
    ----------
    result : Found or xarray.Dataset
        Result of `es.auto`, `es.sweep` or `sweeps.recall`.
    path : path
        Name of the file, such as "report.html"; an existing file is replaced.

    Returns
    -------
    Path
        The same path.

    Examples
    --------
    >>> import tempfile
    >>> import echoscale as es
    >>> short = es.sweeps.Protocol(washout=50, train=200, validation=50, test=50)
    >>> result = es.sweep(es.single(10), "narma", {"leak_rate": [0.3, 1.0]}, protocol=short)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     es.write_report(result, f"{folder}/report.html").name
    'report.html'
    """
    import xarray

    from echoscale.app.report import fits, sweeps
    from echoscale.forecasting import Found

    if isinstance(result, Found):
        text = fits.auto_page(result)
    elif isinstance(result, xarray.Dataset) and {"settings", "errors"} <= set(result.attrs):
        text = sweeps.sweep_page(result)
    else:
        raise TypeError(f"write_report takes a result of es.auto or es.sweep, got {type(result).__name__}.")
    target = Path(path)
    write_atomically(target, text.encode())
    return target
