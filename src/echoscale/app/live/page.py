"""One visitor's page: widgets, pictures, the HTML around them, and the threads that compute.

Only Bokeh's loop changes the page. Threads compute and return their results to the loop. Only the newest look at the network
counts: all requests during a running look are merged into one. Map and learning end when a newer number is given out.

The HTML has headings, a style, and a script that names the elements that Bokeh leaves unnamed.
"""

from __future__ import annotations

import base64
import html
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bokeh.events import ClientReconnected, ConnectionLost, DocumentReady
from bokeh.layouts import column, row
from bokeh.models import (
    Button,
    ColumnDataSource,
    CustomJS,
    Div,
    FileInput,
    PreText,
    RadioButtonGroup,
    Select,
    Slider,
)

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.app.live import data as lab_data
from echoscale.app.live.controls import MOST_LEVELS, PENALTIES, RANGES, SIZES, STRUCTURES, Controls, Level, bounded, place_of
from echoscale.app.live.numbers import MapAxis, Seen, as_python, axis, look, online, rows, tuned
from echoscale.app.live.plots import LEVELS, PICTURES, Pictures
from echoscale.storage.save_load import save

if TYPE_CHECKING:
    from bokeh.document import Document

# The name of every hyper-parameter on the page.
TITLES = {
    "units": "neurons",
    "leak_rate": "leak rate",
    "spectral_radius": "spectral radius",
    "input_scaling": "input scaling",
    "bias_scaling": "bias scaling",
    "coupling": "coupling from the previous level",
}
WAYS = {"online": online, "tune": tuned}
PAUSE = 1 / 20  # least number of seconds between two points of the path: browsers draw no faster
# Sends the visitor a file from the server.
DOWNLOAD = """
const bytes = Uint8Array.from(atob(cb_obj.data.content[0]), (each) => each.charCodeAt(0));
const link = document.createElement('a');
link.href = URL.createObjectURL(new Blob([bytes]));
link.download = cb_obj.data.name[0];
link.click();
setTimeout(() => URL.revokeObjectURL(link.href), 1000);
"""

# The heading of every picture, and the sentence below it.
WORDS = {
    "prediction": ("Prediction", "Prediction and target on held-out test data."),
    "map": (
        "Error map",
        "NRMSE on the validation steps. The crossed circle marks the sliders, the line the path of learning.",
    ),
    "timescales": (
        "Timescales",
        "Theoretical density of the timescales of each level (spectral radius in (0, 1]), and autocorrelation of the data.",
    ),
    "disc": ("Eigenvalues", "Eigenvalues of each level alone, in the linear regime. Modes inside the dashed circle decay."),
    "response": ("Impulse response", "Root mean square over the neurons of each level, in the linear regime."),
    "states": ("States", "First neurons of each level on held-out test data."),
}
QUIET = "#595959"
STYLE = """
:root { color-scheme: light; --ink: #1a1a1a; --quiet: #595959; --line: #d0d0d0; }
* { box-sizing: border-box; }
html, body { height: auto; }
body { margin: 0; background: #fff; color: var(--ink); font: 1rem/1.45 system-ui, sans-serif; overflow-wrap: break-word; }
header, main { padding: .6rem 1rem; max-width: 110rem; margin: 0 auto; }
h1 { font-size: 1.4rem; margin: .2rem 0; } h2 { font-size: 1.05rem; margin: .3rem 0; }
.quiet { color: var(--quiet); font-size: .86rem; margin: .1rem 0 .6rem; }
main { display: grid; grid-template-columns: 21rem minmax(0, 1fr); gap: 1rem 1.4rem; align-items: start; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(24rem, 100%), 1fr)); gap: .4rem 1.2rem; }
.side > section, .pictures > section { border-top: 1px solid var(--line); min-width: 0; }
@media (max-width: 60rem) { main { grid-template-columns: 17rem minmax(0, 1fr); } }
/* On a phone, the prediction comes first, then the controls, then all other pictures. */
@media (max-width: 44rem) { main { grid-template-columns: minmax(0, 1fr); } .side, .pictures { display: contents; }
  section.prediction { order: -1; } }
/* Bokeh's widgets and pictures have no dark look that follows the browser's: the whole page is turned round, hues are kept.
   The map is turned back: its colours are values. */
@media (prefers-color-scheme: dark) { html { background: #fff; filter: invert(.9) hue-rotate(180deg); }
  section.map > .picture { filter: invert(1) hue-rotate(180deg); background: #fff; } }
"""
# Handles of sliders have no name: they get the name of the slider, also after it was hidden and shown again.
SCRIPT = """
const reach = (root) => {
  for (const each of root.querySelectorAll('*')) if (each.shadowRoot) {
    const title = each.shadowRoot.querySelector('.bk-slider-title');
    const handle = each.shadowRoot.querySelector('.noUi-handle');
    if (title && handle) handle.setAttribute('aria-label', title.textContent.split(':')[0]);
    reach(each.shadowRoot);
  }
};
setInterval(() => reach(document), 500);
"""
PAGE = """
{% block title %}echoscale lab{% endblock %}
{% block postamble %}<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{{ style }}</style>{% endblock %}
{% block contents %}
<header><h1>echoscale lab</h1>{{ embed(roots.numbers) }}{{ embed(roots.message) }}</header>
<main>
<div class="side">
<section><h2>Data</h2>{{ embed(roots.data) }}</section>
<section><h2>Learn</h2>{{ embed(roots.learn) }}</section>
<section><h2>Network</h2>{{ embed(roots.network) }}</section>
</div>
<div class="pictures">
{% for name, (heading, words) in words.items() %}
<section class="{{ name }}"><h2>{{ heading }}</h2>
<div class="picture">{{ embed(roots[name]) }}</div><p class="quiet">{{ words }}</p></section>
{% endfor %}
<section><h2>Export</h2>{{ embed(roots.take) }}</section>
</div>
</main>
<script>{{ script }}</script>
{% endblock %}
"""
FULL = """
{% block title %}echoscale lab{% endblock %}
{% block contents %}
<p>{{ most }} live pages are open. Close one, wait a few seconds and load this page again.</p>
{% endblock %}
"""


class LivePage:
    """All widgets, pictures and threads of one session."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.controls = Controls()
        self.data = lab_data.TASKS["NARMA10"]()
        self.view: Seen | None = None
        self.baseline: lab_data.Baseline | None = None
        self.sources = dict(lab_data.TASKS)
        self.pictures = Pictures()
        self._threads = {name: ThreadPoolExecutor(1, thread_name_prefix=name) for name in ("look", "map", "learn")}
        self._numbers = {"map": 0, "learn": 0}
        self._looking = self._asked = self._following = self._warned = False
        self._mapped: object = None
        self._turns = itertools.cycle(PICTURES)
        self._widgets()
        self.pictures.show_data(self.data)
        self._new_axes()
        document.title = "echoscale lab"
        document.template = PAGE
        document.template_variables.update(words=WORDS, style=STYLE, script=SCRIPT)
        for root in self._roots():
            document.add_root(root)
        # Nothing is computed for a page that nobody watches.
        document.on_event(DocumentReady, lambda event: self.refresh())
        document.on_event(ClientReconnected, lambda event: self.refresh())
        document.on_event(ConnectionLost, lambda event: self._rest())
        document.on_session_destroyed(self._end)

    # Widgets

    def _widgets(self) -> None:
        wide: dict[str, Any] = {"sizing_mode": "stretch_width"}
        self.numbers = Div(text="", name="numbers", **wide)
        self.message = Div(text="", name="message", visible=False, **wide)
        self.task = Select(title="Task or file", value="NARMA10", options=[*self.sources], **wide)
        self.file = FileInput(title="Or your CSV file, which stays in memory", accept=".csv,text/csv", **wide)
        self.count = RadioButtonGroup(labels=["1 level", "2 levels", "3 levels"], active=1, **wide)
        self.structure = RadioButtonGroup(labels=list(STRUCTURES), active=0, **wide)
        self.ridge = Select(title="Ridge penalty", value="1e-3", options=list(PENALTIES), **wide)
        self.sliders: list[dict[str, Slider]] = []
        self.groups = []
        for k, level in enumerate((*self.controls.levels, Level(leak_rate=0.03, input_scaling=0.0))):
            own = {name: self._slider(k, name, getattr(level, name)) for name in TITLES if k or name != "coupling"}
            self.sliders.append(own)
            heading = Div(text=f'<strong style="color:{LEVELS[k]}">Level {k + 1}</strong>', **wide)
            self.groups.append(column(heading, *own.values(), visible=k < 2, **wide))
        self.map_holder = column(name="map", sizing_mode="stretch_width")
        self.across = Select(title="Horizontal axis of the map", **wide)
        self.up = Select(title="Vertical axis of the map", **wide)
        self.way = Select(title="Method", value="online", options=[*WAYS], **wide)
        self.learn = Button(label="Learn", align="end")
        self.stop = Button(label="Stop", disabled=True, align="end")
        self.progress = Div(text="", **wide)
        self.copy = Button(label="Copy as Python")
        self.save = Button(label="Save model")
        self.code = PreText(
            text="", stylesheets=["pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12px; }"], **wide
        )
        self.download = ColumnDataSource({"content": [], "name": []})

        self.task.on_change("value", lambda attr, old, new: self._source_chosen())
        # The name of the file arrives a moment later.
        self.file.on_change("value", lambda attr, old, new: self._post(self._upload))
        for each, name in ((self.count, "active"), (self.structure, "active"), (self.ridge, "value")):
            each.on_change(name, lambda attr, old, new: self._changed())
        self.structure.on_change("active", lambda attr, old, new: self._let_all_hear())
        for each in (self.across, self.up):
            each.on_change("value", lambda attr, old, new: self._axes_chosen())
        self.learn.on_click(self.start_learning)
        self.stop.on_click(self.stop_learning)
        self.copy.js_on_click(CustomJS(args={"code": self.code}, code="navigator.clipboard?.writeText(code.text);"))
        self.save.on_click(self._save)
        self.download.js_on_change("data", CustomJS(code=DOWNLOAD))

    def _slider(self, level: int, name: str, value: float) -> Slider:
        low, high, step = SIZES if name == "units" else RANGES[name]
        made = Slider(
            start=low,
            end=high,
            step=step,
            value=value,
            title=f"Level {level + 1}, {TITLES[name]}",
            format="0" if name == "units" else "0.000",
            name=f"{name}[{level}]",
            sizing_mode="stretch_width",
        )
        made.on_change("value", lambda attr, old, new: self._changed())
        return made

    def _roots(self) -> list[Any]:
        wide: dict[str, Any] = {"sizing_mode": "stretch_width"}
        return [
            self.numbers,
            self.message,
            column(self.task, self.file, name="data", **wide),
            column(self.count, self.structure, *self.groups, self.ridge, name="network", **wide),
            column(
                row(self.across, self.up, **wide),
                row(self.way, self.learn, self.stop, **wide),
                self.progress,
                name="learn",
                **wide,
            ),
            column(row(self.copy, self.save), self.code, name="take", tags=[self.download], **wide),
            *(self.pictures.figures[name] for name in WORDS if name != "map"),
            self.map_holder,
        ]

    # Data and sliders

    def take(self, made: Callable[[], lab_data.LabData]) -> bool:
        """Use other data. If they cannot be read, a message gives the reason, and the old data stay."""
        self.stop_learning()
        try:
            data = made()
            self.pictures.show_data(data)
        except ValueError as error:
            self._say(str(error), alarm=True)
            return False
        self.data, self.view, self.baseline = data, None, None
        # Results of the old data must not appear with the new data.
        self.numbers.text, self.code.text = '<p role="status" style="margin:0">Computing ...</p>', ""
        self._numbers["map"] += 1
        self._mapped = None
        self.pictures.clear_map()
        self._say("")
        self.refresh()
        return True

    def _source_chosen(self) -> None:
        if not self._following:
            self.take(self.sources[checks.choice(self.task.value, [*self.sources], "data")])

    def _upload(self) -> None:
        """Add an uploaded file to the choices and choose it."""
        if self.take(lambda: lab_data.from_csv(base64.b64decode(self.file.value), self.file.filename)):
            data, name = self.data, f"file: {self.data.name}"
            self.sources = {**lab_data.TASKS, name: lambda: data}
            self._following = True
            self.task.options, self.task.value = [*self.sources], name
            self._following = False

    def _say(self, words: str, alarm: bool = False) -> None:
        role, colour = ("alert", "#a3390b") if alarm else ("status", QUIET)
        self.message.text = f'<p role="{role}" style="color:{colour};margin:0">{html.escape(words)}</p>' if words else ""
        self.message.visible = bool(words)

    def _alarm(self, error: str) -> None:
        if error:
            self._say(error, alarm=True)

    def _changed(self) -> None:
        """A slider moved, by the user or by learning."""
        if self._following:
            return
        self.stop_learning()
        count = checks.choice(self.count.active, range(MOST_LEVELS), "levels") + 1
        structure = STRUCTURES[checks.choice(self.structure.active, range(len(STRUCTURES)), "structure")]
        ridge = float(checks.choice(self.ridge.value, PENALTIES, "ridge"))
        values = [{name: bounded(name, each.value) for name, each in own.items()} for own in self.sliders[:count]]
        levels = tuple(Level(int(own.pop("units")), **own) for own in values)
        before = self.controls.names
        self.controls = Controls(levels, structure, ridge, self.controls.seed)
        for k, group in enumerate(self.groups):
            group.visible = k < len(levels)
            if k:
                self.sliders[k]["coupling"].visible = structure == STRUCTURES[0]
        if self.controls.names != before:
            self._new_axes()
        self.refresh()

    def _let_all_hear(self) -> None:
        """Give every parallel level an input: without input its states stay 0."""
        for own in self.sliders[1:]:
            if self.structure.active and not own["input_scaling"].value:
                own["input_scaling"].value = self.sliders[0]["input_scaling"].value

    # A look at the network

    def refresh(self) -> None:
        """Look at the network with the current sliders, after a running look."""
        if self._looking:
            self._asked = True
            return
        self._looking, self._asked = True, False
        controls, data, baseline = self.controls, self.data, self.baseline
        work = self._threads["look"].submit(lambda: (look(controls, data), baseline or data.baseline()))
        work.add_done_callback(lambda done: self._post(partial(self._show, done, controls, data)))

    def _show(self, done: Future[tuple[Seen, lab_data.Baseline]], controls: Controls, data: lab_data.LabData) -> None:
        self._looking = False
        error = done.exception()
        if error is not None:
            self._alarm(str(error))
        elif data is self.data and controls.names == self.controls.names:  # else the result belongs to sliders that are gone
            self.view, self.baseline = done.result()
            # During learning, pictures take turns: drawing all of them at every point would be slow.
            self.pictures.show(self.view, [next(self._turns)] if self._learning else PICTURES)
            self.pictures.show_place(*(controls.value(axis.name) for axis in self.axes))
            self.numbers.text = numbers(self.view, self.baseline)
            self.code.text = as_python(controls, data)
            notes = (*data.notes, *self.view.notes)
            if notes or self._warned:
                self._say(" ".join(notes))
            self._warned = bool(notes)
        if self._asked:
            self.refresh()
        elif error is None:
            self._fill()

    # The map

    @property
    def axes(self) -> tuple[MapAxis, MapAxis]:
        """The axes of the map."""
        names = [checks.choice(each.value, self.controls.names, "axis") for each in (self.across, self.up)]
        return axis(names[0]), axis(names[1])

    def _new_axes(self) -> None:
        """Set the choices of axes; first the leak rates of two levels, or leak rate and spectral radius of one."""
        names = self.controls.names
        self._following = True
        self.across.options = self.up.options = list(names)
        self.across.value, self.up.value = names[0], names[1]
        self._following = False
        self._new_map()

    def _axes_chosen(self) -> None:
        if not self._following:
            self.stop_learning()
            self._say("")
            self._new_map()
            self.refresh()

    def _new_map(self) -> None:
        made = self.pictures.new_map(*self.axes)
        self._mapped = None
        self.map_holder.children = [made]

    def _fill(self) -> None:
        """Compute the map again unless network, data and axes are the same."""
        across, up = self.axes
        if across.name == up.name:
            self._say("Choose two different hyper-parameters for the map.", alarm=True)
            return
        wanted = (self.controls.changed(across.name, 1.0).changed(up.name, 1.0), across.name, up.name)
        if self._mapped == wanted:
            return
        self._mapped = wanted
        self.pictures.clear_map()
        self.pictures.path.data = {"x": [], "y": []}
        cells = rows(self.controls, self.data, across, up)
        self._show_each("map", cells, lambda row: self.pictures.show_row(*row), self._alarm)

    # Learning

    @property
    def _learning(self) -> bool:
        return not self.stop.disabled

    def start_learning(self) -> None:
        """Learn the two hyper-parameters of the map, from the current sliders."""
        self.stop_learning()
        across, up = self.axes
        if across.name == up.name:
            return
        self.learn.disabled, self.stop.disabled = True, False
        names = [across.name, up.name]
        begin = [self.controls.value(name) for name in names]
        self.pictures.path.data = {"x": begin[:1], "y": begin[1:]}
        self.progress.text = "Learning ..."
        points = WAYS[self.way.value](self.controls, self.data, names)
        self._show_each("learn", points, partial(self._step, names), self._learned, PAUSE)

    def stop_learning(self) -> None:
        """Stop learning, at the latest at the next point of the path."""
        self._numbers["learn"] += 1
        if not self._learning:
            return
        self.learn.disabled, self.stop.disabled = False, True
        self.progress.text = f"Stopped after {len(self.pictures.path.data['x']) - 1} steps."
        self.refresh()  # all pictures once more

    def _step(self, names: list[str], values: Floats) -> None:
        """Show one more point of the path, and move the sliders there."""
        self._following = True
        for name, value in zip(names, values.tolist(), strict=True):
            self.controls = self.controls.changed(name, value)
            kind, level = place_of(name)
            self.sliders[level][kind].value = bounded(kind, value)
        self._following = False
        self.pictures.path.stream({"x": values[:1], "y": values[1:]})
        self.progress.text = f"Step {len(self.pictures.path.data['x']) - 1}"
        self.refresh()

    def _learned(self, error: str) -> None:
        self.learn.disabled, self.stop.disabled = False, True
        self.progress.text = f"Finished after {len(self.pictures.path.data['x']) - 1} steps."
        self.refresh()
        self._alarm(error)

    # Threads

    def _show_each(
        self,
        name: str,
        values: Iterator[Any],
        show: Callable[[Any], None],
        end: Callable[[str], None],
        pause: float = 0.0,
    ) -> None:
        """Compute values in a thread, and show each value on the page before the next one is computed.

        Otherwise values would pile up on a slow machine and delay a click on Stop. The loop ends when `self._numbers[name]`
        changes. `end` receives the error, or an empty text after the last value. `pause` is the least time between two values
        in seconds.
        """
        self._numbers[name] += 1
        number, due = self._numbers[name], 0.0

        def compute() -> Any:
            nonlocal due
            value = next(values, None)
            time.sleep(max(0.0, due - time.perf_counter()))
            due = time.perf_counter() + pause
            return value

        def ask() -> None:
            work = self._threads[name].submit(compute)
            work.add_done_callback(lambda done: self._post(partial(answer, done)))

        def answer(done: Future[Any]) -> None:
            if number != self._numbers[name]:
                return
            error = done.exception()
            if error is not None or done.result() is None:
                end(str(error or ""))
            else:
                show(done.result())
                ask()

        ask()

    def _post(self, work: Callable[[], None]) -> None:
        """Run a function in Bokeh's loop, unless the page is closed."""
        if self._threads:
            self.document.add_next_tick_callback(work)

    # The end

    def _save(self) -> None:
        if self.view is None:
            return
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.safetensors"
            save(self.view.model, file)
            content = base64.b64encode(file.read_bytes()).decode()
        self.download.data = {"content": [content], "name": ["model.safetensors"]}

    def _rest(self) -> None:
        """End map and learning; the next look computes the map again."""
        self._numbers = {name: number + 1 for name, number in self._numbers.items()}
        self._mapped = None

    def _end(self, session_context: object) -> None:
        self._rest()
        threads, self._threads = self._threads, {}
        for each in threads.values():
            each.shutdown(wait=False, cancel_futures=True)


def numbers(view: Seen, baseline: lab_data.Baseline) -> str:
    """The line of numbers, as HTML."""
    errors = ", ".join(f"{name} <strong>{value:.4f}</strong>" for name, value in view.errors.items())
    words = f"NRMSE: {errors}. Baseline on test data, {baseline.name}: <strong>{baseline.error:.4f}</strong>."
    if view.errors["test"] > baseline.error:
        words += ' <span style="color:#a3390b">On test data this network is worse than the baseline.</span>'
    if view.accuracies:
        each = ", ".join(
            f"{name} <strong>{value:.3f}</strong> (ceiling {baseline.ceiling[name]:.3f})"
            for name, value in view.accuracies.items()
        )
        words += f" Accuracy on test data, with the exact Bayesian filter as ceiling: {each}."
    return f'<p role="status" style="margin:0">{words}</p>'
