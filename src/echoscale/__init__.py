"""echoscale: echo state networks with several timescales.

Names are loaded when they are first used, so that `import echoscale` is quick and JAX is not touched before it is needed. The
list of names is `__init__.pyi`, which type checkers read too.
"""

from __future__ import annotations

from typing import Any

import lazy_loader

__version__ = "0.1.0"
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
# Names of other libraries, and our name for the same job.
_ELSEWHERE = {
    "FORCE": "OnlineLearner(..., readout=es.learning.RLS())",
    "LMS": "OnlineLearner",
    "Ridge": "ESNRegressor(ridge=...), or readouts.ridge for statistics of states",
    "LinearReadout": "ESNRegressor",
    "StatsForecast": "Forecaster",
}


def __getattr__(name: str) -> Any:
    if name in __all__:
        return _load(name)
    message = f"module 'echoscale' has no attribute {name!r}."
    if name.startswith("_"):
        raise AttributeError(message)
    if name in _ELSEWHERE:
        raise AttributeError(f"{message} Use es.{_ELSEWHERE[name]}.")
    from types import ModuleType

    from echoscale._internal import hints

    rooms = {each: _load(each) for each in __all__ if isinstance(_load(each), ModuleType)}
    inside = [f"{room}.{name}" for room, module in rooms.items() if name in module.__all__]
    raise AttributeError(f"{message} Use es.{inside[0]}." if inside else message + hints.hint(name, __all__))
