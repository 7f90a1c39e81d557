"""echoscale: echo state networks with several timescales.

Names are loaded when they are first used, so that `import echoscale` is quick and JAX is not touched before it is needed. The
list of names is `__init__.pyi`, which type checkers read too.
"""

from __future__ import annotations

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
