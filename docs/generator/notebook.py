"""docs/first_steps.ipynb: the page of that name as a notebook. Its cells are the Python of the page, which the tests run."""

from __future__ import annotations

import json
import re
from typing import Any

from generator.results import ROOT

PAGE = ROOT / "docs" / "first_steps.md"
TARGET = PAGE.with_suffix(".ipynb")
PIECE = re.compile(r"^```(?P<language>python|text)\n(?P<body>.*?)^```\n", flags=re.DOTALL | re.MULTILINE)


def written() -> str:
    """What the file must hold."""
    text = PAGE.read_text(encoding="utf-8")
    cells: list[dict[str, Any]] = []
    end = 0
    for piece in PIECE.finditer(text):
        cells += words(text[end : piece.start()])
        end = piece.end()
        if piece["language"] == "text":  # what the cell before prints
            cells[-1]["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines(piece["body"])}]
        else:
            source = lines(piece["body"].rstrip("\n"))
            cells.append({"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source})
    cells += words(text[end:])
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    book = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def words(text: str) -> list[dict[str, Any]]:
    """The cell between two pieces of code, if any: without pictures, which the code draws, and links to other pages."""
    text = re.sub(r"^!\[.*?\]\(.*?\)\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", text)
    text = re.sub(r"\n{3,}", "\n\n", text).strip()
    return [{"cell_type": "markdown", "metadata": {}, "source": lines(text)}] if text else []


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
