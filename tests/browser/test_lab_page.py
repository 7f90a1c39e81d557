"""The live page in a browser, served by the command that users type."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner
from watched import SLOW, Opened

import echoscale as es
from echoscale.app.cli import app
from echoscale.app.live.controls import Controls
from echoscale.app.live.data import STEPS, TASKS
from echoscale.app.live.numbers import as_python, look

if TYPE_CHECKING:
    from playwright.sync_api import Page

COMMAND = [sys.executable, "-m", "echoscale", "lab", "--no-browser", "--port"]
PATH = "[...Bokeh.documents[0].all_models].find((each) => each.name === 'path').data.x.length"


@pytest.fixture(scope="module")
def address(browser: object) -> Iterator[str]:
    """The browser comes first, so that nothing is served where there is none."""
    pytest.importorskip("bokeh", reason="the lab needs Bokeh: pip install echoscale[lab]")
    server = subprocess.Popen([*COMMAND, "0"], stdout=subprocess.PIPE, text=True, env=os.environ)
    assert server.stdout is not None
    yield server.stdout.readline().strip()
    server.terminate()
    server.wait(30)
    server.stdout.close()


def seen(page: Page) -> dict[str, float]:
    """The errors that the page shows."""
    text = page.get_by_text("NRMSE:").inner_text(timeout=SLOW)
    return {name: float(value) for name, value in re.findall(r"(training|validation|test) (\d+\.\d+)", text)}


def path(page: Page) -> int:
    """Points of the path on the map."""
    found = page.evaluate(PATH)
    assert isinstance(found, int)
    return found


def test_a_slider_changes_the_numbers_to_those_of_the_library(address: str, opened: Opened, tmp_path: Path) -> None:
    page = opened(address, address).page
    start = seen(page)
    data = TASKS["NARMA10"]()
    for name, value in look(Controls(), data).errors.items():
        assert start[name] == pytest.approx(value, abs=6e-5)
    handle = page.get_by_role("slider", name="Level 2, leak rate")
    handle.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    now = handle.get_attribute("aria-valuetext")
    assert now is not None
    moved = look(Controls().changed("leak_rate[1]", float(now)), data).errors
    assert float(now) == pytest.approx(0.33)
    assert f"{moved['test']:.4f}" != f"{start['test']:.4f}"
    page.get_by_text(f"test {moved['test']:.4f}").wait_for(timeout=SLOW)
    page.get_by_text("leak_rate=[0.9, 0.33]").wait_for(timeout=SLOW)
    assert {name: f"{value:.4f}" for name, value in seen(page).items()} == {k: f"{v:.4f}" for k, v in moved.items()}
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy as Python").click()
    assert page.evaluate("navigator.clipboard.readText()") == as_python(Controls().changed("leak_rate[1]", float(now)), data)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save model").click()
    download.value.save_as(tmp_path / "model.safetensors")
    model, (_, trained, validated, _) = es.load(tmp_path / "model.safetensors"), data.cuts
    prediction = model.predict(data.u[trained:], state=model.state_)[validated - trained :]
    assert es.nrmse(data.y[validated:], prediction) == pytest.approx(moved["test"], rel=1e-6)


def test_learning_draws_a_path_until_it_is_stopped(address: str, opened: Opened) -> None:
    page = opened(address, address).page
    before = seen(page)
    learn, stop = page.get_by_role("button", name="Learn"), page.get_by_role("button", name="Stop")
    assert stop.is_disabled()
    said = page.get_by_text(re.compile("(Stopped|Finished) after"))
    for _ in range(3):  # on a machine that is slow enough, learning is over before the click arrives
        learn.click()
        page.get_by_text(re.compile(r"Step \d")).wait_for()
        first = path(page)
        page.wait_for_function(f"{PATH} > {first + 2}")
        stop.click()
        said.wait_for()
        if said.inner_text().startswith("Stopped"):
            break
    else:
        pytest.fail("three times, learning was over before it could be stopped.")
    stopped = page.get_by_text("Stopped after")
    assert learn.is_enabled()
    assert stop.is_disabled()
    for _ in range(50):  # what was on its way arrives; then nothing moves
        last = path(page)
        page.wait_for_timeout(400)
        if path(page) == last and stopped.inner_text() == f"Stopped after {last - 1} steps.":
            break
    else:
        pytest.fail(f"{path(page)} points, but: {stopped.inner_text()}")
    assert seen(page) != before


def test_files_of_the_user_on_a_phone(address: str, opened: Opened, tmp_path: Path) -> None:
    watched = opened(address, address, width=390)
    page = watched.page
    start = seen(page)
    places = [page.get_by_role("heading", name=name, exact=True).bounding_box() for name in ("Prediction", "Data", "Error map")]
    heights = [each["y"] for each in places if each]
    assert heights == sorted(heights)
    assert len(heights) == 3
    bad = tmp_path / "bad.csv"
    values = [f"{k % 7}" for k in range(STEPS + 1)]  # as long as the tasks, so that nothing is compiled anew
    bad.write_text("\n".join(["a", *values[:8], "<b>x</b>", *values[9:]]))
    page.locator("input[type=file]").set_input_files(bad)
    alarm = page.get_by_role("alert")
    alarm.wait_for(timeout=SLOW)
    assert alarm.inner_text() == "bad.csv: '<b>x</b>' at row 9, column 'a', is no number."
    assert seen(page) == start, "what was there stays"
    good = tmp_path / "good.csv"
    good.write_text("\n".join(["a", *values]))
    page.locator("input[type=file]").set_input_files(good)
    page.get_by_text("file: good.csv").first.wait_for(state="attached", timeout=SLOW)
    assert page.get_by_label("Task or file").input_value() == "file: good.csv"
    alarm.wait_for(state="detached")
    page.get_by_role("slider", name="Level 1, neurons").wait_for(timeout=SLOW)
    assert watched.overflow() == 0


def test_a_port_in_use_is_told_in_a_line() -> None:
    pytest.importorskip("bokeh", reason="the lab needs Bokeh: pip install echoscale[lab]")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, ["lab", "--no-browser", "--port", str(port)])
    assert result.exit_code == 2
    assert result.stdout == ""
    [line] = result.stderr.splitlines()
    assert line.startswith(f"Error: cannot listen on 127.0.0.1:{port}: Address already in use.")
