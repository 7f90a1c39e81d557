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

from echoscale._internal import checks
from echoscale.data.model_arrays import Tensors, read_names, taken
from echoscale.engine.esn import ESN
from echoscale.learning.online.adam import Adam
from echoscale.learning.online.buffers import Stream
from echoscale.learning.online.history import History
from echoscale.learning.online.learner import OnlineLearner
from echoscale.learning.online.reinitialise import ProtocolMemory, Reinitialise
from echoscale.readouts.rls import RLS
from echoscale.storage.hyper import kept_hyper, read_hyper

PLAIN = ("outputs", "loss", "trace", "constraint", "record", "washout", "average", "seed")
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
    tensors |= kept_hyper(settings.hyper, "starts")
    if stream is not None:
        about |= {"sequences": learner.sequences, "step": stream.step, "feature_names": list(learner.feature_names)}
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
        readout=RLS(*rule) if kind == "rls" else Adam(**rule),
        rates=Adam(**about["rates"]),
        protocol=Reinitialise(**about["protocol"]) if about["protocol"] else None,
        starts=read_hyper(esn.hyper, tensors, "starts"),
        **{name: about[name] for name in PLAIN},
    )
    if "step" in about:
        learner.stream = _stream(about, learner, tensors)
        learner.feature_names = read_names(about["feature_names"], esn.columns)
    return learner


def _stream(about: Mapping[str, Any], learner: OnlineLearner, tensors: Tensors) -> Stream:
    """Where learning was. What the file says must fit what a stream of this learner holds, array by array."""
    sequences = checks.integer(about["sequences"], "sequences", minimum=1)
    step = checks.integer(about["step"], "step")
    window, windows = (checks.integer(about[name], name, minimum=least) for name, least in (("window", 1), ("windows", 0)))
    # Before room is made for so many: the states of all of them are in the file.
    if sequences > tensors["carry.0"].size:
        raise ValueError(f"the states of {sequences} sequences are not there")
    stream = learner.begin(sequences)
    leaves, structure = jax.tree.flatten(stream.carry)
    saved = []
    for i, ours in enumerate(leaves):
        theirs = taken(tensors, f"carry.{i}", ours.shape, ours.dtype.kind)
        if ours.dtype != theirs.dtype:
            raise ValueError(f"carry.{i} is {theirs.dtype}, not {ours.dtype}")
        saved.append(theirs)
    rows = {name: getattr(stream.history, name).shape[1:] for name in ROWS}
    history = [taken(tensors, f"history.{name}", (windows, *shape), finite=False).copy() for name, shape in rows.items()]
    memory = {name: np.asarray(value) for name, value in stream.memory._asdict().items()}
    seen = [taken(tensors, f"protocol.{name}", each.shape, each.dtype.kind, finite=False) for name, each in memory.items()]
    frozen = taken(tensors, "frozen", stream.frozen.shape, "b")
    return Stream(jax.tree.unflatten(structure, saved), step, History(window, windows, *history), ProtocolMemory(*seen), frozen)


def _adam(rule: Adam) -> dict[str, Any]:
    settings = asdict(rule)
    return {**settings, "rate": dict(rule.rate)} if isinstance(rule.rate, Mapping) else settings
