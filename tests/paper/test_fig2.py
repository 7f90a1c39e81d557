"""Fig. 2: the networks that it stores are the paper's, and it draws what it stores."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import xarray
from matplotlib.figure import Figure

import echoscale as es
from echoscale.sweeps import Runner
from paper import SCALES, fig2_architectures, make

NETWORKS = {
    "single": es.single(100),
    "hierarchical": es.hierarchical([50, 50], leak_rate=[1, 0.2]),
    "parallel": es.parallel([50, 50], leak_rate=[1, 0.2]),
}


def restored(data: xarray.Dataset) -> dict[str, es.Network]:
    return {
        str(each): es.Network.from_dict(json.loads(str(data.network.sel(architecture=each).item())))
        for each in data.architecture.values
    }


def drawn(figure: Figure) -> list[set[Any]]:
    """The names of reservoirs and arrows in each panel."""
    names = {"R1", "R2", "R1->R2", "input->R1", "input->R2", "R1->output", "R2->output"}
    return [{patch.get_gid() for patch in ax.patches} & names for ax in figure.axes]


@pytest.mark.parametrize("scale", SCALES)
def test_networks_come_back_from_the_data(scale: str) -> None:
    assert restored(fig2_architectures.compute(fig2_architectures.SETTINGS[scale], scale, Runner())) == NETWORKS


def test_each_panel_shows_its_reservoirs_and_arrows() -> None:
    figure = fig2_architectures.draw(fig2_architectures.compute(fig2_architectures.SETTINGS["smoke"], "smoke", Runner()))
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["A", "B", "C"]
    assert [ax.get_title().split("\n")[0] for ax in figure.axes] == list(NETWORKS)
    both = {"R1", "R2", "R1->output", "R2->output", "input->R1"}
    assert drawn(figure) == [{"R1", "input->R1", "R1->output"}, both | {"R1->R2"}, both | {"input->R2"}]


def test_captions_give_the_numbers() -> None:
    figure = fig2_architectures.draw(fig2_architectures.compute(fig2_architectures.SETTINGS["smoke"], "smoke", Runner()))
    for ax, network in zip(figure.axes, NETWORKS.values(), strict=True):
        text = "\n".join(each.get_text() for each in ax.texts)
        for reservoir in network.reservoirs:
            assert f"{reservoir.units} units" in text
            assert f"α = {reservoir.leak_rate:g}" in text


def test_panels_do_not_overlap() -> None:
    figure = fig2_architectures.draw(fig2_architectures.compute(fig2_architectures.SETTINGS["smoke"], "smoke", Runner()))
    figure.draw_without_rendering()
    boxes = [box for ax in figure.axes if (box := ax.get_tightbbox()) is not None]
    assert len(boxes) == 3
    for one, other in combinations(boxes, 2):
        assert not one.overlaps(other)
    for box in boxes:
        assert 0 <= box.x0 < box.x1 <= figure.bbox.width
        assert 0 <= box.y0 < box.y1 <= figure.bbox.height


def test_draw_uses_the_data_alone() -> None:
    data = fig2_architectures.compute(fig2_architectures.SETTINGS["smoke"], "smoke", Runner())
    other = es.hierarchical([20, 30], leak_rate=[0.7, 0.1])
    data["network"][2] = json.dumps(other.to_dict())
    figure = fig2_architectures.draw(data)
    assert "R1->R2" in drawn(figure)[2]
    assert any("30 units" in text.get_text() for text in figure.axes[2].texts)


def test_round_trip_through_the_file(tmp_path: Path) -> None:
    first = make(2, "smoke", tmp_path)
    again = make(2, "smoke", tmp_path)
    assert (first.reused, again.reused) == (False, True)
    assert restored(again.data) == NETWORKS
    assert again.data.network.attrs == first.data.network.attrs
