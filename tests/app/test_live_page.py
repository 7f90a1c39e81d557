"""One page without a browser: what it says of its numbers, and which data it names."""

from __future__ import annotations

import base64
from dataclasses import replace
from types import SimpleNamespace

import pytest

pytest.importorskip("bokeh", reason="the lab needs Bokeh: pip install echoscale[lab]")

from bokeh.document import Document

from echoscale.app.live.controls import Controls, Level
from echoscale.app.live.data import TASKS
from echoscale.app.live.numbers import look
from echoscale.app.live.page import LivePage, numbers


def test_a_network_that_is_worse_than_the_baseline_is_called_so() -> None:
    data = TASKS["Mackey-Glass"]()
    view, baseline = look(Controls((Level(20),)), data), data.baseline()
    assert view.errors["test"] < baseline.error
    good = numbers(view, baseline)
    assert f"the last value repeated: <strong>{baseline.error:.4f}</strong>" in good
    assert "worse" not in good
    bad = replace(view, errors={**view.errors, "test": 15.08})
    assert "On test data this network is worse than the baseline." in numbers(bad, baseline)


def test_a_file_is_named_among_the_tasks_and_can_be_chosen_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LivePage, "refresh", lambda page: None)
    page = LivePage(Document())
    content = base64.b64encode("\n".join(["a", *(str(k % 7) for k in range(150))]).encode()).decode()
    page.file = SimpleNamespace(value=content, filename="sales.csv")
    page._upload()
    mine = page.data
    assert (mine.name, page.task.value) == ("sales.csv", "file: sales.csv")
    assert page.task.options == [*TASKS, "file: sales.csv"]
    page.task.value = "NARMA10"
    assert page.data.name == "NARMA10"
    page.task.value = "file: sales.csv"
    assert page.data is mine
    page.file = SimpleNamespace(value=base64.b64encode(b"a,b").decode(), filename="bad.csv")
    page._upload()
    assert page.data is mine
    assert page.task.value == "file: sales.csv"
