"""`echoscale doctor`: versions and devices."""

from __future__ import annotations

import json

from typer.testing import CliRunner

import echoscale as es
from echoscale.app.cli import app


def test_the_doctor_shows_versions_and_devices() -> None:
    result = CliRunner().invoke(app, ["doctor", "--json", "-q"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["versions"]["echoscale"] == es.__version__
    assert told["devices"]
    result = CliRunner().invoke(app, ["doctor", "-q"])
    assert result.exit_code == 0, result.output
    assert f"echoscale {es.__version__}" in result.stdout
    assert f"devices: {', '.join(told['devices'])}" in result.stdout
