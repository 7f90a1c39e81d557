"""The description of a network: reservoirs, couplings and hyper-parameters. Frozen, without arrays, equal by value.

`Network` states the equation (paper: "Survey of timescales" and "Hierarchical Echo-State Networks").
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from echoscale._internal import checks, hints
from echoscale.network.leaks import check_places, is_spread, leaks_of
from echoscale.network.matrix import IDENTITY, Matrix, check_bias, check_input_connections, check_input_weights, check_residual
from echoscale.network.topologies import RANDOM_TOPOLOGIES, Concentric, Topology, check_topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from echoscale.engine.devices import DeviceLike
    from echoscale.engine.esn import ESN
    from echoscale.timescales import TimescaleTable

Member = TypeVar("Member", "Reservoir", "Coupling")

NORMALISATIONS = ("none", "spectral_radius", "sqrt_connections")
DEFAULT_CONNECTIONS = 10
TANH, LINEAR = ACTIVATIONS = ("tanh", "identity")


class EchoStateWarning(UserWarning):
    """Warning that a network may not forget its initial state: a spectral radius is 1 or above."""


class _Readable:
    """A repr that leaves out fields with their default value."""

    _always_shown: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = []
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.name in self._always_shown or value != field.default:  # a field without a default is always shown
                shown.append(f"{field.name}={_lines(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def _lines(value: object) -> str:
    """The repr of a value; several reservoirs or couplings stand on lines of their own."""
    if not isinstance(value, tuple) or len(value) < 2 or not isinstance(value[0], _Readable):
        return repr(value)
    return "(\n" + "".join(f"    {each!r},\n" for each in value) + ")"


# Methods that a description of a network does not have, and the call that does the job.
CALLED_INSTEAD = {
    "run": "A Network is a description: network.build(n_inputs, seed=0).run(u) draws its weights and gives its states.",
    "fit": "A Network is a description: es.ESNRegressor(network=network).fit(u, y) builds it and trains a readout.",
    "predict": "A Network is a description: es.ESNRegressor(network=network).fit(u, y).predict(u) gives outputs.",
}


@hints.options
@dataclass(frozen=True, repr=False)
class Reservoir(_Readable):
    """Description of one reservoir of leaky tanh (or linear) neurons.

        x(t+1) = (1 - alpha) x(t) + alpha tanh(gamma W_in s(t) + phi W_fb y(t-1) + rho W x(t) + beta b + couplings)

    x (units,) is the state, s (F,) the input, y (O,) the output, W (units, units) the recurrent matrix, W_in (units, F) the
    input matrix, W_fb (units, O) the matrix of output feedback and b (units,) the bias. All matrices are drawn from a seed.
    `Network` adds the couplings.

    Parameters
    ----------
    units : int
        Number of neurons.
    leak_rate : float, LogUniform, LogNormal or (units,) array, default 1.0
        Leak rate alpha in (0, 1]; a neuron's own timescale is tau = dt / alpha. A distribution, `LogUniform(0.05, 1.0)` or
        `LogNormal(0.2, 0.5)`, or an array (units,) gives every neuron its own. The field then holds the largest leak rate, and
        `leak_spread` and `leak_places` hold the others.
    spectral_radius : float, default 0.95
        Spectral radius rho of the recurrent matrix: a factor on W, which is normalised to spectral radius 1.
    input_scaling : float, default 1.0
        Factor gamma on the input matrix W_in, whose entries are U[-1, 1]. 0: no input.
    bias_scaling : float, default 0.0
        Factor beta on the bias b, whose entries are U[-1, 1]. 0: no bias, as in the paper.
    connections : int or None
        Number of weights in each row of a random W. None: 10, or all if there are fewer units.
    topology : str, Concentric or (units, units) matrix, default "normal"
        Kind of recurrent matrix: "normal" or "uniform" (random sparse), "delay_line", "ring", "concentric" or
        `Concentric(...)`, "diagonal" (complex pairs, uniform in the disc, as 2x2 rotations), or your own matrix, dense or scipy
        sparse.
    normalise : bool, default True
        Whether W is divided by its spectral radius. (A delay line is nilpotent: its weights are 1 instead.) False: W stays
        unchanged, and `spectral_radius` is a plain factor.
    feedback_scaling : float, default 0.0
        Factor phi on the feedback matrix W_fb, whose entries are U[-1, 1]. 0: no output feedback.
    leak_spread : float, default 0.0
        Spread s >= 0 of the leak rates alpha_i = alpha exp(-s q_i): the logarithm of the ratio of the fastest to the slowest
        leak rate. 0: one leak rate for all.
    leak_places : str or (units,) numbers, default "even"
        Places q_i in [0, 1] of the neurons, with 0 for the fastest: "even" (leak rates of equal ratio), "normal" (normal
        quantiles), both in a seeded permutation, or one number for every neuron.
    residual : str or (units, units) orthogonal matrix, default "identity"
        Matrix O in x(t+1) = (1 - alpha) O x(t) + alpha tanh(...): "identity", "shift" (neuron i keeps the state of neuron i -
        1), "orthogonal" (a random rotation), or your own matrix. With O, states turn or travel instead of fading in place.
    activation : "tanh" or "identity", default "tanh"
        Activation function. "identity" makes the level linear, x(t+1) = (1 - alpha) O x(t) + alpha h(t), so its memory does not
        saturate. Its spectral radius must stay below 1.
    input_weights : (units, F) matrix or None
        Your own W_in, dense or scipy sparse; (units,) for one input. `input_scaling` is still a factor on W_in. None: drawn.
    input_connections : int, float or None
        Sparsity of the input weights: a whole number is the number of inputs of each neuron, a share in (0, 1] is the share of
        neurons that receive each input. None: all neurons receive all inputs.
    bias : (units,) numbers or None
        Your own b, multiplied by `bias_scaling`. None: drawn.

    Examples
    --------
    >>> import echoscale as es
    >>> es.Reservoir(50, leak_rate=0.2, topology="ring")
    Reservoir(units=50, leak_rate=0.2, spectral_radius=0.95, input_scaling=1.0, topology='ring')
    """

    units: int
    leak_rate: Any = 1.0  # a `LeakLike`, kept as a float
    spectral_radius: float = 0.95
    input_scaling: float = 1.0
    bias_scaling: float = 0.0
    connections: int | None = None
    topology: Any = "normal"  # a `TopologyLike`, kept as a `Topology`
    normalise: bool = True
    feedback_scaling: float = 0.0
    leak_spread: float = 0.0
    leak_places: Any = "even"  # kept as a name or a tuple
    residual: Any = IDENTITY  # a `ResidualLike`, kept as a `Residual`
    activation: str = TANH
    input_weights: Any = None  # kept as a `Matrix`
    input_connections: int | float | None = None
    bias: Any = None  # kept as a tuple

    _always_shown = ("leak_rate", "spectral_radius", "input_scaling")

    def __post_init__(self) -> None:
        def keep(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        keep("units", checks.integer(self.units, "units", minimum=1))
        self._spread_leaks(keep)
        for name in ("spectral_radius", "input_scaling", "bias_scaling", "feedback_scaling"):
            keep(name, checks.non_negative(getattr(self, name), name))
        keep("topology", check_topology(self.topology, self.units))
        keep("input_weights", check_input_weights(self.input_weights, self.units))
        keep("input_connections", check_input_connections(self.input_connections, self.input_weights))
        keep("bias", check_bias(self.bias, self.units, self.bias_scaling))
        checks.choice(self.activation, ACTIVATIONS, "activation")
        keep("residual", check_residual(self.residual, self.units))
        keep("connections", _connections(self.connections, self.topology, self.units, "units"))
        if not isinstance(self.normalise, bool):
            raise TypeError(f"normalise must be True or False, got {self.normalise!r}.")

    def _spread_leaks(self, keep: Callable[[str, object], None]) -> None:
        if is_spread(self.leak_rate):
            if self.leak_spread:
                raise ValueError(
                    f"leak_rate={self.leak_rate!r:.80} has a spread of its own: leave leak_spread={self.leak_spread} out."
                )
            for name, value in leaks_of(self.leak_rate, self.units)._asdict().items():
                keep(name, value)
        keep("leak_rate", checks.leak_rate(self.leak_rate))
        keep("leak_spread", checks.leak_spread(self.leak_spread))
        keep("leak_places", check_places(self.leak_places, self.units, self.leak_spread))

    @property
    def links(self) -> int:
        """Number of weights in each row of a random W, given or by default."""
        return min(DEFAULT_CONNECTIONS, self.units) if self.connections is None else self.connections


@dataclass(frozen=True, repr=False)
class Coupling(_Readable):
    """A link from one reservoir to another: it adds strength W_kl x_l to h_k, with k = target and l = source.

    The paper writes rho^(kl) W^(kl).

    Parameters
    ----------
    source : int
        Number l of the reservoir that drives, from 0.
    target : int
        Number k of the reservoir that is driven.
    strength : float, default 1.0
        Factor on the matrix W_kl (target units, source units), of any sign.
    connections : int or None
        Number of weights in each row. None: 10, or all if the source is smaller.
    topology : str or (target units, source units) matrix, default "normal"
        Kind of matrix: "normal" (N(0, 1) weights), "uniform" (U[-1, 1]), or your own matrix.
    normalisation : str, default "none"
        Divisor of the matrix: "none", "spectral_radius" (square matrices only) or "sqrt_connections" (the root of
        `connections`).

    Examples
    --------
    >>> import echoscale as es
    >>> es.Network([es.Reservoir(20), es.Reservoir(30)], [es.Coupling(0, 1, strength=0.5)]).units
    50
    """

    source: int
    target: int
    strength: float = 1.0
    connections: int | None = None
    topology: Any = "normal"  # kept as a string or a `Matrix`
    normalisation: str = "none"

    _always_shown = ("strength",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", checks.integer(self.source, "source"))
        object.__setattr__(self, "target", checks.integer(self.target, "target"))
        object.__setattr__(self, "strength", checks.number(self.strength, "strength"))
        if self.source == self.target:
            raise ValueError(
                f"a coupling joins two reservoirs, got source = target = {self.source}. A reservoir's own recurrence is set "
                "by its topology and spectral_radius."
            )
        if isinstance(self.topology, str):
            checks.choice(self.topology, RANDOM_TOPOLOGIES, "the topology of a coupling")
        else:
            object.__setattr__(self, "topology", Matrix.of(self.topology, "the matrix of a coupling"))
        object.__setattr__(self, "connections", _connections(self.connections, self.topology, None, "source units"))
        checks.choice(self.normalisation, NORMALISATIONS, "normalisation")
        if isinstance(self.topology, Matrix) and self.normalisation == "sqrt_connections":
            raise ValueError('normalisation="sqrt_connections" is for random matrices; scale your own matrix instead.')

    def links(self, source_units: int) -> int:
        """Returns the number of weights in each row of a random matrix, given or by default.

        Parameters
        ----------
        source_units : int
            Number of neurons of the source.
        """
        return min(DEFAULT_CONNECTIONS, source_units) if self.connections is None else self.connections


@dataclass(frozen=True, repr=False)
class Network(_Readable):
    """Description of a network: a graph of reservoirs with chains, parallel paths, feedback and cycles.

        x_k(t+1) = (1 - alpha_k) x_k(t) + alpha_k tanh(h_k(t))
        h_k(t)   = gamma_k W_in_k s(t) + phi_k W_fb_k y(t-1) + rho_k W_k x_k(t) + beta_k b_k
                   + sum over couplings l -> k of c_kl W_kl x_l(t)

    s(t) (F,) is the input, x_k (n_k,) the state of reservoir k and y (O,) the output of the readout. alpha_k is its leak rate,
    rho_k its spectral radius, gamma_k its input scaling, phi_k the scaling of its output feedback and beta_k its bias scaling
    (both ours; 0 in the paper), c_kl the strength of a coupling. W_k, W_in_k, W_fb_k, b_k and W_kl are drawn from a seed and
    stay fixed.

    Parameters
    ----------
    reservoirs : list of Reservoir
        Reservoirs, at least one.
    couplings : list of Coupling
        Couplings, at most one from a reservoir to another.
    coupling_delay : 0 or 1, default 1
        Delay of the couplings. 1 (the paper): all reservoirs move at once, and x_k(t+1) depends on x_l(t). 0 (the DeepESN
        convention of most other libraries): reservoirs move one after another in the order of the list, and a coupling from an
        earlier reservoir carries the new state x_l(t+1); a coupling from a later reservoir carries x_l(t).

    Examples
    --------
    >>> import echoscale as es
    >>> fast, slow = es.Reservoir(50, leak_rate=1.0), es.Reservoir(50, leak_rate=0.1, input_scaling=0)
    >>> network = es.Network([fast, slow], [es.Coupling(0, 1), es.Coupling(1, 0, strength=0.1)])
    >>> network.build(n_inputs=2, seed=0).run([[0.1, 0.2], [0.3, 0.4]]).shape
    (2, 100)
    """

    # Any sequence is kept as a tuple.
    reservoirs: Sequence[Reservoir]
    couplings: Sequence[Coupling] = ()
    coupling_delay: int = 1

    _always_shown = ("couplings", "coupling_delay")

    def __post_init__(self) -> None:
        object.__setattr__(self, "reservoirs", _members(self.reservoirs, Reservoir, "reservoirs"))
        object.__setattr__(self, "couplings", _members(self.couplings, Coupling, "couplings"))
        if not self.reservoirs:
            raise ValueError("a network needs at least one reservoir; `reservoirs` is empty.")
        checks.choice(self.coupling_delay, (0, 1), "coupling_delay")
        seen: set[tuple[int, int]] = set()
        for coupling in self.couplings:
            self._check_coupling(coupling)
            if (coupling.source, coupling.target) in seen:
                raise ValueError(f"two couplings go from reservoir {coupling.source} to {coupling.target}; merge them.")
            seen.add((coupling.source, coupling.target))
        _warn_of_large_radii(self.reservoirs)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise hints.no_attribute(self, name, CALLED_INSTEAD)

    def _check_coupling(self, coupling: Coupling) -> None:
        last = len(self.reservoirs) - 1
        for end in ("source", "target"):
            if getattr(coupling, end) > last:
                raise ValueError(
                    f"{coupling!r} names reservoir {getattr(coupling, end)} as its {end}, but the reservoirs are 0 to {last}."
                )
        post, pre = self.reservoirs[coupling.target].units, self.reservoirs[coupling.source].units
        if isinstance(coupling.topology, Matrix) and coupling.topology.shape != (post, pre):
            raise ValueError(
                f"the matrix of the coupling {coupling.source} -> {coupling.target} must have shape (target units, source "
                f"units) = ({post}, {pre}), got {coupling.topology.shape}."
            )
        if coupling.connections is not None and coupling.connections > pre:
            raise ValueError(
                f"connections={coupling.connections} of the coupling {coupling.source} -> {coupling.target} is above the "
                f"{pre} units of its source; use at most {pre}."
            )
        if coupling.normalisation == "spectral_radius" and post != pre:
            raise ValueError(
                f"the coupling {coupling.source} -> {coupling.target} is {post}x{pre}: only a square matrix has a spectral "
                'radius. Use normalisation="sqrt_connections" or "none".'
            )

    @property
    def units(self) -> int:
        """Number N of neurons of all reservoirs together."""
        return sum(reservoir.units for reservoir in self.reservoirs)

    @property
    def feeds_back(self) -> bool:
        """Whether a reservoir receives the outputs of the step before (output feedback)."""
        return any(reservoir.feedback_scaling > 0 for reservoir in self.reservoirs)

    @property
    def spreads_leaks(self) -> bool:
        """Whether the neurons of a reservoir have different leak rates."""
        return any(reservoir.leak_spread > 0 for reservoir in self.reservoirs)

    @property
    def turns(self) -> bool:
        """Whether a reservoir has a residual matrix other than the identity."""
        return any(reservoir.residual != IDENTITY for reservoir in self.reservoirs)

    @property
    def linear(self) -> tuple[bool, ...]:
        """Whether each reservoir is linear; empty if none is."""
        each = tuple(reservoir.activation == LINEAR for reservoir in self.reservoirs)
        return each if any(each) else ()

    @property
    def slices(self) -> tuple[slice, ...]:
        """Slices of each reservoir's neurons in a state vector of length `units`."""
        edges = accumulate((reservoir.units for reservoir in self.reservoirs), initial=0)
        return tuple(slice(start, stop) for start, stop in pairwise(edges))

    def build(
        self,
        n_inputs: int,
        seed: int | None = 0,
        dtype: str = "float32",
        device: DeviceLike = None,
        *,
        n_outputs: int | None = None,
    ) -> ESN:
        """Draws the weights and returns the network, ready to run.

        The same seed gives the same weights on every machine and device.

        Parameters
        ----------
        n_inputs : int
            Number F of inputs.
        seed : int or None, default 0
            Random seed of the weights. None: fresh entropy (recorded as `esn.seed`).
        dtype : str, default "float32"
            Precision of states and arithmetic, "float32" or "float64".
        device : str, jax.Device or None
            Device that runs the network: "cpu", "gpu" or a device. None: JAX's choice.
        n_outputs : int or None
            Number O of outputs that are fed back; needed if `feeds_back`, otherwise ignored.

        Returns
        -------
        ESN
        """
        from echoscale.engine import esn

        return esn.build(self, n_inputs, seed, dtype, device, n_outputs)

    def timescales(self, dt: float = 1.0) -> TimescaleTable:
        """Returns the theoretical timescales of every reservoir, with a plot; `esn.timescales()` measures a built network.

        The table holds closed forms of the linear regime for random matrices: `timescales.bounds` and `timescales.peak`.

        Parameters
        ----------
        dt : float, default 1.0
            Time between two steps.
        """
        from echoscale.timescales import theory

        return theory.table(self, dt)

    def plot(self, axes: Axes | None = None) -> Figure:
        """Plots the graph: input, reservoirs with their hyper-parameters, couplings, readout.

        Parameters
        ----------
        axes : matplotlib Axes or None
            Axes to plot in. None: a new figure.

        Returns
        -------
        matplotlib Figure
        """
        from echoscale.network import diagram

        return diagram.draw(self, axes)

    def to_dict(self) -> dict[str, Any]:
        """Returns the description as plain dictionaries, lists, strings and numbers, for JSON."""
        return {
            "reservoirs": [to_dict(reservoir) for reservoir in self.reservoirs],
            "couplings": [to_dict(coupling) for coupling in self.couplings],
            "coupling_delay": self.coupling_delay,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Network:
        """Returns the network of a dictionary that `to_dict` made.

        Parameters
        ----------
        plain : dict
            Result of `to_dict`.
        """
        check_known(plain, ("reservoirs", "couplings", "coupling_delay"), "Network")
        if "reservoirs" not in plain:
            raise ValueError(f"a Network needs its reservoirs, got only {sorted(plain)}.")
        return cls(
            reservoirs=tuple(from_dict(Reservoir, each) for each in plain["reservoirs"]),
            couplings=tuple(from_dict(Coupling, each) for each in plain.get("couplings", ())),
            coupling_delay=plain.get("coupling_delay", 1),
        )


def _members(value: object, kind: type, name: str) -> tuple[Any, ...]:
    members = (value,) if isinstance(value, kind) else tuple(value) if isinstance(value, Iterable) else value
    if not isinstance(members, tuple) or not all(isinstance(member, kind) for member in members):
        raise TypeError(f"{name} must be a list of {kind.__name__} objects, got {value!r}.")
    return members


def _connections(value: object, topology: Topology, size: int | None, what: str) -> int | None:
    """The given number of weights in a row, checked; None for the default."""
    if value is None:
        return None
    if topology not in RANDOM_TOPOLOGIES:
        raise ValueError(f"connections={value} is for random matrices; the topology {topology!r} has its own. Leave it out.")
    count = checks.integer(value, "connections", minimum=1)
    if size is not None and count > size:
        raise ValueError(f"connections={count} is above the size, {size} {what}; use at most {size}.")
    return count


def _warn_of_large_radii(reservoirs: Iterable[Reservoir]) -> None:
    """Warns of spectral radii of 1 or above; without `normalise`, the number is a plain factor.

    Python shows the same text once, so a sweep does not repeat the warning.
    """
    large = []
    for k, each in enumerate(reservoirs):
        if each.activation == LINEAR and each.normalise and each.spectral_radius > 1:
            warnings.warn(
                f"reservoir {k} is linear with a spectral radius of {each.spectral_radius:g}, above 1: its states grow without "
                "bound. Set it below 1.",
                EchoStateWarning,
                stacklevel=1,
            )
        elif each.normalise and each.spectral_radius >= 1:
            large.append(f"{each.spectral_radius:g} (reservoir {k})")
    if large:
        warnings.warn(
            f"spectral radius {', '.join(large)} is 1 or above: the network may not forget its initial state.",
            EchoStateWarning,
            stacklevel=1,
        )


def to_dict(member: Reservoir | Coupling) -> dict[str, Any]:
    """The fields of a reservoir or coupling as plain values."""
    return {field.name: _plain(getattr(member, field.name)) for field in fields(member)}


def from_dict(kind: type[Member], plain: Mapping[str, Any]) -> Member:
    """The inverse of `to_dict`."""
    check_known(plain, [field.name for field in fields(kind)], kind.__name__)
    return kind(**{name: _read(value, name) if isinstance(value, Mapping) else value for name, value in plain.items()})


def _plain(value: object) -> Any:
    """A tuple as a list; a matrix, or concentric rings, as a mapping with one entry: its kind."""
    if isinstance(value, Matrix):
        return {"matrix": value.to_dict()}
    if isinstance(value, Concentric):
        return {"concentric": asdict(value)}
    return list(value) if isinstance(value, tuple) else value


def _read(plain: Mapping[str, Any], name: str) -> Any:
    """The inverse of `_plain` for a mapping: a matrix or concentric rings."""
    if len(plain) != 1:
        raise ValueError(f"{name} is of one kind, got {sorted(plain)}.")
    [(kind, content)] = plain.items()
    if checks.choice(kind, ("matrix", "concentric"), f"the kind of {name}") == "matrix":
        return Matrix.from_dict(content)
    check_known(content, [field.name for field in fields(Concentric)], "Concentric")
    return Concentric(**content)


def check_known(plain: Mapping[str, Any], names: Sequence[str], what: str) -> None:
    """Raises an error if a name is not one of `names`."""
    unknown = sorted(set(plain) - set(names))
    if unknown:
        raise ValueError(f"{what} has no {', '.join(map(repr, unknown))}; it knows {', '.join(names)}.")


def check_network(network: object, function: str) -> None:
    """Refuses everything but a description; the error says where the description is."""
    if isinstance(network, Network):
        return
    remedy = "es.single(100) makes one"
    if hasattr(network, "make_network"):
        remedy = "model.make_network() gives it"
    elif hasattr(network, "network"):
        remedy = "its .network is one"
    raise TypeError(f"{function} takes the description of a network, got {type(network).__name__}: {remedy}.")
