"""Hyper-parameters as arrays of a model file, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from echoscale.data.model_arrays import Tensors, taken
from echoscale.engine.hyper import Hyper


def kept_hyper(hyper: Hyper, start: str) -> Tensors:
    """All leaves as arrays, under names that begin so."""
    named = zip(Hyper._fields, hyper, strict=True)
    return {f"{start}.{name}.{k}": np.asarray(leaf, np.float64) for name, leaves in named for k, leaf in enumerate(leaves)}


def read_hyper(like: Hyper, tensors: Tensors, start: str) -> Hyper:
    """The inverse of `kept_hyper`; every leaf lies where it makes sense."""
    leaves: dict[str, list[Any]] = {}
    for name, own in zip(Hyper._fields, like, strict=True):
        found = [tensors[f"{start}.{name}.{k}"] for k in range(len(own))]
        leaves[name] = [taken(tensors, f"{start}.{name}.{k}", (None,) * min(each.ndim, 1)) for k, each in enumerate(found)]
    return like.replace(**{name: each for name, each in leaves.items() if each})
