"""A learner as plain values and named arrays, and back: what `echoscale.save` writes of it. It carries on bit for bit.

The settings are the arguments of `OnlineLearner`; the stream is the leaves of its carry in their fixed order, the history, and
what the protocol remembers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from echoscale.esn import ESN
from echoscale.hyper import Hyper
from echoscale.online.adam import Adam
from echoscale.online.buffers import Stream
from echoscale.online.history import History
from echoscale.online.learner import OnlineLearner
from echoscale.online.protocol import ProtocolMemory, Reinitialise
from echoscale.readouts.rls import RLS

Tensors = dict[str, npt.NDArray[Any]]
PLAIN = ("outputs", "loss", "trace", "constraint", "record", "washout", "average", "seed", "fit_intercept")
ROWS = ("targets", "loss", "gradient", "value")


def pack(learner: OnlineLearner, tensors: Tensors) -> dict[str, Any]:
    """Settings as JSON can hold them; arrays go to `tensors`."""
    settings, stream = learner.settings, learner.stream
    rule = settings.readout
    about: dict[str, Any] = {name: getattr(settings, name) for name in PLAIN}
    about |= {
        "parameters": [str(each) for each in settings.learned],
        "readout": {"rls": [rule.ridge, rule.forgetting]} if isinstance(rule, RLS) else {"adam": _adam(rule)},
        "rates": _adam(settings.rates),
        "protocol": asdict(settings.protocol) if settings.protocol else None,
    }
    for name, leaves in zip(Hyper._fields, settings.hyper, strict=True):
        tensors |= {f"starts.{name}.{k}": np.asarray(leaf, np.float64) for k, leaf in enumerate(leaves)}
    if stream is not None:
        about |= {"sequences": learner.sequences, "step": stream.step}
        about |= {"window": stream.history.window, "windows": stream.history.used}
        tensors |= {f"carry.{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(stream.carry))}
        tensors |= {f"history.{name}": getattr(stream.history, name)[: stream.history.used] for name in ROWS}
        tensors |= {f"protocol.{name}": getattr(stream.memory, name) for name in ProtocolMemory._fields}
        tensors["frozen"] = stream.frozen
    return about


def unpack(about: Mapping[str, Any], esn: ESN, tensors: Tensors) -> OnlineLearner:
    """The learner that `pack` took apart."""
    [(kind, rule)] = about["readout"].items()
    learner = OnlineLearner(
        esn,
        parameters=tuple(about["parameters"]),
        readout=RLS(*rule, fit_intercept=about["fit_intercept"]) if kind == "rls" else Adam(**rule),
        rates=Adam(**about["rates"]),
        protocol=Reinitialise(**about["protocol"]) if about["protocol"] else None,
        starts=_starts(esn, tensors),
        **{name: about[name] for name in PLAIN},
    )
    if "step" in about:
        stream = learner.begin(about["sequences"])
        leaves, structure = jax.tree.flatten(stream.carry)
        saved = [tensors[f"carry.{i}"] for i in range(len(leaves))]
        for i, (ours, theirs) in enumerate(zip(leaves, saved, strict=True)):
            if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
                raise ValueError(f"carry.{i} is {theirs.dtype} {theirs.shape}, not {ours.dtype} {ours.shape}")
        learner.stream = Stream(
            jax.tree.unflatten(structure, saved),
            about["step"],
            History(about["window"], about["windows"], *(tensors[f"history.{name}"].copy() for name in ROWS)),
            ProtocolMemory(*(tensors[f"protocol.{name}"] for name in ProtocolMemory._fields)),
            tensors["frozen"],
        )
    return learner


def _adam(rule: Adam) -> dict[str, Any]:
    settings = asdict(rule)
    return {**settings, "rate": dict(rule.rate)} if isinstance(rule.rate, Mapping) else settings


def _starts(esn: ESN, tensors: Tensors) -> Hyper:
    return Hyper(
        *(
            tuple(tensors[f"starts.{name}.{k}"] for k in range(len(leaves)))
            for name, leaves in zip(Hyper._fields, esn.hyper, strict=True)
        )
    )
