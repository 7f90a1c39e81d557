"""The HTML around the widgets and pictures: headings, style, and a script of ours that names what Bokeh leaves unnamed."""

from __future__ import annotations

WORDS = {
    "prediction": ("Prediction", "Beside the target, on held-out test data."),
    "map": (
        "Error map",
        "NRMSE on the validation steps. The crossed circle is where the sliders stand, the line what was learned.",
    ),
    "timescales": (
        "Timescales",
        "Their density in each level, by theory (spectral radius in (0, 1]), over the autocorrelation of the data.",
    ),
    "disc": ("Eigenvalues", "Of each level by itself, in the linear regime. Inside the dashed circle states decay."),
    "response": ("Impulse response", "Root of the mean square over the neurons of each level, in the linear regime."),
    "states": ("States", "The first neurons of each level, on held-out test data."),
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
@media (max-width: 44rem) { main { grid-template-columns: minmax(0, 1fr); } }
/* Bokeh's widgets and pictures have no dark look that follows the browser's: the whole page is turned round, hues are kept.
   The map is turned back: its colours are values. */
@media (prefers-color-scheme: dark) { html { background: #fff; filter: invert(.9) hue-rotate(180deg); }
  section.map > .picture { filter: invert(1) hue-rotate(180deg); background: #fff; } }
"""
# Handles of sliders have no name of their own: that of the slider, also after it was hidden and shown again.
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
<section><h2>Take it with you</h2>{{ embed(roots.take) }}</section>
</div>
</main>
<script>{{ script }}</script>
{% endblock %}
"""
FULL = """
{% block title %}echoscale lab{% endblock %}
{% block contents %}
<p>{{ most }} pages of the lab are open. Close one, wait some seconds and load this page again.</p>
{% endblock %}
"""
