"""The values of all claims at paper scale, which the package carries for its reports."""

from __future__ import annotations

import json

from echoscale.paper.gallery import FIGURES
from echoscale.report.claims import findings
from generator.results import ROOT, figure

TARGET = ROOT / "src" / "echoscale" / "report" / "paper_scale.json"


def written() -> str:
    """What the file must hold."""
    rows = [each._asdict() for each in findings({number: figure(number) for number in FIGURES})]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
