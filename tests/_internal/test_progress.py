"""Progress where there is no terminal: plain lines, ever fewer."""

from __future__ import annotations

import pytest

from echoscale._internal import progress


def test_without_a_terminal_progress_is_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A line after 1, 3, 7, 15, ... seconds; nothing for what takes less than one, and nothing on standard output."""
    now = [0.0]
    monkeypatch.setattr("echoscale._internal.progress.time.monotonic", lambda: now[0])
    with progress.shown(True, "work") as tell:
        for step in range(1, 101):
            now[0] = step / 5
            tell(step, 100, "error 0.5" if step < 50 else "")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "work: 5 of 100, error 0.5",
        "work: 15 of 100, error 0.5",
        "work: 35 of 100, error 0.5",
        "work: 75 of 100",
    ]
    with progress.shown(True, "[red]") as tell:
        tell(1, 2, "")
    assert capsys.readouterr() == ("", "")
