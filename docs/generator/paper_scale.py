"""The values of all claims at paper scale, beside which the report shows its own."""

from __future__ import annotations

import json

from generator.results import ROOT, figure
from paper.claims import findings
from paper.gallery import FIGURES

TARGET = ROOT / "paper" / "paper_scale.json"


def written() -> str:
    """What the file must hold."""
    rows = [each._asdict() for each in findings({number: figure(number) for number in FIGURES})]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
