"""How a network runs: the step, the scan over it, lanes, devices, and derivatives of the states.

    x, traces = traces.step(weights, hyper, x, traces, u_t, parameters)

The step and its traces are pure functions of JAX, for your own learning rules. `bptt` is the reference for gradients. Names are
loaded when they are first used, since eigenvalues need no JAX. The list of names is `__init__.pyi`.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
