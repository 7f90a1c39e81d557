"""The command line, as a user calls it."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

import echoscale
from echoscale.app.cli import app, output


def test_version_names_the_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout == f"echoscale {echoscale.__version__}\n"


def test_the_doctor_shows_versions_and_devices() -> None:
    result = CliRunner().invoke(app, ["doctor", "--json", "-q"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["versions"]["echoscale"] == echoscale.__version__
    assert told["devices"]
    result = CliRunner().invoke(app, ["doctor", "-q"])
    assert result.exit_code == 0, result.output
    assert f"echoscale {echoscale.__version__}" in result.stdout
    assert f"devices: {', '.join(told['devices'])}" in result.stdout


COMMANDS: tuple[list[str], ...] = (
    [], ["fit"], ["predict"], ["forecast"], ["timescales"], ["doctor"], ["lab"],
    ["sweep"], ["sweeps"], ["sweeps", "list"], ["sweeps", "show"], ["sweeps", "export"], ["data"], ["data", "fetch"],
)  # fmt: skip


def test_every_command_has_help() -> None:
    """By -h and --help, without markup that was swallowed; the list above is whole."""
    for command in COMMANDS:
        short, long = (CliRunner().invoke(app, [*command, option]) for option in ("-h", "--help"))
        assert short.exit_code == long.exit_code == 0
        assert short.output == long.output
        assert "--help" in short.output
        assert "..." not in short.output.partition("Commands:")[2], "a line of the list is cut"
    assert "[network], [task]" in CliRunner().invoke(app, ["sweep", "-h"], env={"COLUMNS": "200"}).output
    group = typer.main.get_command(app)
    assert {command[0] for command in COMMANDS if command} == set(group.commands)  # type: ignore[attr-defined]


def test_help_imports_nothing_heavy() -> None:
    """Of all commands, whose arguments are known when the app is there."""
    script = (
        "import sys\nfrom echoscale.app.cli import app\nimport typer.main\ntyper.main.get_command(app)\n"
        "assert not {'jax', 'numpy', 'sklearn', 'scipy', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_ctrl_c_is_not_lost_while_modules_are_imported() -> None:
    """JAX hooks into the collection of garbage, and an exception in its hook is ignored."""
    with output.loading():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_shells_complete_commands() -> None:
    typed = {"_ECHOSCALE_COMPLETE": "complete_bash", "COMP_WORDS": "echoscale fo", "COMP_CWORD": "1"}
    assert CliRunner().invoke(app, [], prog_name="echoscale", env=typed).stdout.split() == ["forecast"]


# ---------------------------------------------------------------------------------------------------- nothing shows a traceback

SPEC = """
[network]
structure = "single"
units = 5

[task]
function = "narma"
order = 3

[protocol]
washout = 20
train = 100
validation = 40
test = 40

[axes]
seed = { count = 2 }
"""


def called(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, in this folder; an empty variable is taken away."""
    whole = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), **environment}
    whole = {name: value for name, value in whole.items() if value}
    command = [sys.executable, "-m", "echoscale", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=whole, timeout=300, check=False)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep that is done."""
    folder = tmp_path_factory.mktemp("swept")
    (folder / "spec.toml").write_text(SPEC)
    done = called("sweep", "spec.toml", "--out", "seeds.csv", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_compiled_programs_are_kept(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    # A folder of the user's own would be taken instead; a fast machine compiles everything at once.
    own = {"JAX_COMPILATION_CACHE_DIR": "", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    assert called("sweep", "spec.toml", folder=tmp_path, **own).returncode == 0
    assert any("scan" in each.name for each in (tmp_path / "cache" / "echoscale" / "jax").iterdir())


REFUSED: dict[str, tuple[list[str], str]] = {
    "out is a folder": (["sweep", "spec.toml", "--out", "folder.nc"], "is a folder"),
    "out has no folder": (["sweep", "spec.toml", "--out", "nowhere/x.nc"], "no folder"),
    "out has markup": (["sweep", "spec.toml", "--out", "x [/].nc [red]"], "x [/].nc [red] must end in"),
    "out is read-only": (["sweep", "spec.toml", "--out", "locked.csv"], "read-only"),
    "a folder that is none": (["sweeps", "list", "--folder", "spec.toml"], "is a file"),
    "a spec that is a folder": (["sweep", "folder.nc"], "folder.nc"),
    "a matrix of nothing": (["sweep", "matrix.toml"], "a matrix is described by shape"),
    "nested too deeply": (["sweep", "deep.toml"], "is not TOML"),
    "an axis without end": (["sweep", "long.toml"], "give 1 to 1,000,000"),
    "no such sweep": (["sweeps", "show", "[/red]"], "'[/red]' is not in sweeps"),
    "a scheduler that is none": (["sweep", "spec.toml", "--scheduler", "nonsense"], "not the address of a scheduler"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_told_in_a_line(name: str, swept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(swept)
    (swept / "folder.nc").mkdir(exist_ok=True)
    own = "reservoirs = [{ units = 5, topology = { matrix = {} } }]"
    (swept / "matrix.toml").write_text(SPEC.replace('structure = "single"\nunits = 5', own))
    (swept / "deep.toml").write_text("a = " + "[" * 5000 + "]" * 5000)
    (swept / "long.toml").write_text(SPEC.replace("count = 2", "count = 1000000000000"))
    (swept / "locked.csv").touch()
    (swept / "locked.csv").chmod(0o444)
    arguments, words = REFUSED[name]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert not result.stdout
    assert isinstance(result.exception, SystemExit), "no traceback"


def test_debug_shows_where_an_error_came_from(swept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(swept)
    result = CliRunner().invoke(app, ["--debug", "sweep", "nothing.toml"])
    assert isinstance(result.exception, ValueError)
    plain = called("--debug", "sweep", "nothing.toml", folder=swept)
    assert "Traceback" in plain.stderr
    assert "Traceback" not in called("sweep", "nothing.toml", folder=swept).stderr


def test_an_error_of_ours_is_told_in_a_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("test")

    monkeypatch.setattr("echoscale.sweeps.spec.read", broken)
    result = CliRunner().invoke(app, ["sweep", "x.toml"])
    assert result.exit_code == 1
    assert "KeyError: 'test'. This should not happen" in result.stderr


TERMINALS: dict[str, dict[str, str]] = {
    "dumb, ASCII": {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "TERM": "dumb", "NO_COLOR": "1"},
    "no columns, no home": {"COLUMNS": "0", "HOME": "", "XDG_CACHE_HOME": "", "USERPROFILE": ""},
}


@pytest.mark.parametrize("name", TERMINALS)
def test_results_are_the_same_on_every_terminal(name: str, swept: Path) -> None:
    """Lines are not broken, nothing is missing, and standard error is empty but for progress."""
    long = swept / ("runs[test] " + "x" * 90)
    long.mkdir(exist_ok=True)
    result = called("sweep", "spec.toml", "--out", str(long / "seeds.csv"), folder=swept, **TERMINALS[name])
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert_whole(result.stdout, long / "seeds.csv")


@pytest.mark.parametrize("columns", ["0", "5"])
def test_results_are_the_same_at_any_width(columns: str, swept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(swept)
    long = swept / ("runs[test] " + "x" * 90)
    long.mkdir(exist_ok=True)
    arguments = ["sweep", "spec.toml", "--out", str(long / "seeds.csv")]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": columns, "LINES": "2"})
    assert result.exit_code == 0, result.output
    assert_whole(result.stdout, long / "seeds.csv")


def assert_whole(printed: str, out: Path) -> None:
    lines = printed.splitlines()
    assert lines[0] == "The best 1 of 1 points by validation error, mean over seeds"
    assert lines[-1] == f"Results: {out}"


def test_a_broken_pipe_is_no_error(swept: Path) -> None:
    """`echoscale sweeps list | head -0`: nobody reads, and nobody is told."""
    command = [sys.executable, "-m", "echoscale", "sweeps", "list"]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as out:
        ended = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, cwd=swept, timeout=120, check=False)
    assert ended.stderr == ""
    assert ended.returncode in (0, 1)
