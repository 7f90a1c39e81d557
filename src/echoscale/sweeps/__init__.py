"""Grids of experiments: a network, a problem, axes and a score; batched on lanes, kept in a folder, run by an executor.

Names are loaded when they are first used. The list of names is `__init__.pyi`.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
