"""docs/commands.md: what its commands print is what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from echoscale.app.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?")
BLOCK = re.compile(r"^```(?P<language>python|console)\n(?P<body>.*?)^```", flags=re.DOTALL | re.MULTILINE)


def test_commands_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are equal; numbers too, to 5 %: machines differ."""
    monkeypatch.chdir(tmp_path)
    shown = 0
    for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        if block["language"] == "python":
            exec(block["body"], {})
            continue
        command, _, expected = block["body"].partition("\n")
        assert command.startswith("$ echoscale ")
        words_typed = shlex.split(command)[2:]
        # However slow the machine is, there is time for all origins.
        result = CliRunner().invoke(app, [*words_typed, *(["--seconds", "9999"] if words_typed[0] == "fit" else [])])
        assert result.exit_code == 0, result.stderr
        assert words(result.stdout) == words(expected)
        pairs = zip(NUMBER.findall(result.stdout), NUMBER.findall(expected), strict=True)
        assert not [pair for pair in pairs if float(pair[0]) != pytest.approx(float(pair[1]), rel=0.05)]
        shown += 1
    assert shown


def words(text: str) -> list[str]:
    """All but numbers and the lines of tables."""
    return re.sub(r"-{2,}", " ", NUMBER.sub(" ", text)).split()
