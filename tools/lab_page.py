"""The live page in Chromium: how many updates a second it shows while it learns, and its picture for the documentation.

    python tools/lab_page.py                 updates a second, of both ways to learn
    python tools/lab_page.py --picture FILE  the page after some seconds of learning

Points are those of the path that have arrived in the browser, frames those that it painted with a new point, looks those that
brought new numbers and the next of the pictures, which take turns while it learns. What a user sees are frames. All are counted
from the first point on; `tune` ends by itself after some points.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SECONDS = 10.0
STEP, ENDED = re.compile(r"Step \d|Finished after \d"), re.compile(r"Finished after \d")
COUNTED = {"points": "points", "frames": "frames with a new point", "looks": "looks"}
# The times at which something arrives: points of the path, and the line of numbers.
COUNT = """
window.counted = {points: [], frames: [], looks: []};
const now = (kind) => window.counted[kind].push(performance.now() / 1000);
const models = [...Bokeh.documents[0].all_models];
const of = (name) => models.find((each) => each.name === name);
const path = of('path'), numbers = of('numbers');
path.streaming.connect(() => now('points'));
numbers.properties.text.change.connect(() => now('looks'));
let before = 0;
const painted = () => {
  if (window.counted.points.length > before) now('frames');
  before = window.counted.points.length;
  requestAnimationFrame(painted);
};
requestAnimationFrame(painted);
"""


@contextmanager
def opened(width: int, height: int) -> Iterator[tuple[Any, int]]:
    """The page, served by `echoscale lab`, and the process that serves it."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "echoscale", "lab", "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        with sync_playwright() as driver:
            # As a desktop without a GPU draws; headless Chromium would emulate one.
            flags = ["--no-sandbox", "--disable-gpu"]
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
            page = browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=1)
            page.goto(address)
            page.get_by_text("NRMSE:").wait_for(timeout=120_000)
            page.wait_for_timeout(8000)  # until the map is full
            yield page, server.pid
            browser.close()
    finally:
        server.terminate()
        server.wait()


def processor_seconds(process: int) -> float:
    """Of a process so far, on Linux."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def speed(page: Any, process: int, way: str) -> str:
    """One line of numbers."""
    page.get_by_label("How").select_option(way)
    page.evaluate(COUNT)
    page.get_by_role("button", name="Learn").click()
    page.get_by_text(STEP).wait_for(timeout=120_000)  # compiled by then
    began, used = time.perf_counter(), processor_seconds(process)
    # It may end at any moment: what is asked for must be there at the end too.
    while time.perf_counter() - began < SECONDS and not page.get_by_text(ENDED).count():
        page.wait_for_timeout(50)
    passed, used = time.perf_counter() - began, processor_seconds(process) - used
    found = page.evaluate("window.counted")
    first, last = found["points"][0], found["points"][-1]
    span = max(last - first, 1e-9)
    rates = {key: sum(first < each <= last for each in found[key]) / span for key in COUNTED}
    each = ", ".join(f"{rates[key]:.1f} {name}" for key, name in COUNTED.items())
    return f"{way}: {each} a second over {span:.1f} s ({len(found['points'])} points); server {used / passed:.2f} cores"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", type=Path, help="write a picture instead")
    options = parser.parse_args()
    if options.picture:
        with opened(1400, 1120) as (page, _):
            page.get_by_role("button", name="Learn").click()
            page.get_by_text(re.compile(r"Step 5\d\d")).wait_for(timeout=120_000)
            page.get_by_role("button", name="Stop").click()
            page.wait_for_timeout(1000)
            page.screenshot(path=options.picture)
        return
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for way in ("online", "tune"):
        with opened(1400, 1000) as (page, process):
            print(speed(page, process, way), flush=True)


if __name__ == "__main__":
    main()
