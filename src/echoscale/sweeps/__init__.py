"""Grids of experiments: a network is scored on a problem at every point of a grid, with jobs that resume.

Names are loaded when they are first used. The list of names is `__init__.pyi`.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
