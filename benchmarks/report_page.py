"""Measures reports in a headless Chromium: size, time until the table stands, frames per second, width, accessibility.

    python -m benchmarks.report_page                     made runs of 138 and of 10,000 items
    python -m benchmarks.report_page --axe axe.min.js REPORT.html ...   reports that are there, and what axe-core says

Frames per second are those of the page's own clock: while nothing moves, and while the table is scrolled by a third of
its height with every frame. How fast that can be on a machine as busy as this one is now, is measured just before and
just after on a bare table of as many rows of that height, which has one cell in a row and no script; `share of bare`
is the report's rate as a share of the mean of both. The milliseconds that the page takes of the processor for a frame
depend on its speed alone; 16.7 are to be had for 60 frames a second.
axe-core (npm pack axe-core) is not part of the project; without it there are no lines `axe`. It looks at the page with
all that can be folded open.
"""

import argparse
import asyncio
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.browser import Browser, browsing

SCROLL = """
new Promise(done => {
  const pane = PANE, began = performance.now(), times = [];
  const step = now => {
    times.push(now);
    pane.scrollTop = (pane.scrollTop + pane.clientHeight / 3) % (pane.scrollHeight - pane.clientHeight);
    if (now - began < 2000) requestAnimationFrame(step);
    else done({ frames: times.length, rate: 1000 * (times.length - 1) / (times.at(-1) - times[0]),
                worst: Math.max(...times.slice(1).map((t, n) => t - times[n])) });
  };
  requestAnimationFrame(step);
})
"""
BARE = """
(() => {
  const pane = document.querySelector('.window'), high = pane.querySelector('.row').getBoundingClientRect().height;
  const bare = pane.cloneNode(false), table = document.createElement('table');
  for (let n = Math.round(pane.scrollHeight / high); n; n--) {
    const cell = table.insertRow().insertCell();
    cell.textContent = `${n}`;
    cell.style.height = `${high}px`;
  }
  bare.id = 'bare';
  bare.append(table);
  pane.before(bare);
  pane.style.display = 'none';
})()
"""
WINDOW = "[...document.querySelectorAll('.window')].find(each => each.clientHeight)"
SHOWN = (
    "document.getElementById('bare').remove(); document.querySelector('.window').style.display ="
    " ''; 0"
)
TRACED = "devtools.timeline,disabled-by-default-devtools.timeline"
OPENED = (
    "for (const folded of document.querySelectorAll('details')) folded.open = true; 0"
)
AXE = (
    "axe.run().then(told => told.violations.map(v => `${v.id} (${v.nodes.length}:"
    " ${v.nodes[0].html.slice(0, 90)})`))"
)


async def measure(page: Path, axe: str | None) -> dict[str, Any]:
    """The figures of one page."""
    began = time.perf_counter()
    async with browsing(page.resolve().as_uri()) as browser:
        await browser.until(
            "document.readyState === 'complete' && !document.querySelector('#bench:empty')"
        )
        told: dict[str, Any] = {
            "MB": page.stat().st_size / 1e6,
            "shown after s": time.perf_counter() - began,
        }
        await browser.size(1280)
        if await browser.js("!!document.querySelector('.window')"):
            told |= await scrolled(browser)
        for name, width, dark in (
            ("wide", 1280, False),
            ("dark", 1280, True),
            ("narrow", 390, False),
        ):
            await browser.size(width, dark=dark)
            told[f"over {width} px"] = await browser.js(
                "document.documentElement.scrollWidth - innerWidth > 0"
            )
            if axe is not None:
                await browser.js(f"{axe}; {OPENED}")
                await browser.js(
                    "document.querySelector('.window .row:nth-child(2)')?.click()"
                )
                told[f"axe {name}"] = await browser.js(AXE)
        told["errors"] = [
            e
            for e in browser.events
            if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")
        ]
    return told


async def scrolled(browser: Browser) -> dict[str, Any]:
    """Frames per second while nothing moves, while a bare table is scrolled, and while the report's
    own is."""
    still, before, own, after = [
        await paced(browser, pane) for pane in ("document.body", "bare", WINDOW, "bare")
    ]
    bare = {key: (before[key] + after[key]) / 2 for key in own}
    return {
        "frames still": still["rate"],
        "frames of a bare table": bare["rate"],
        "frames scrolled": own["rate"],
    } | {
        "share of bare": own["rate"] / bare["rate"],
        "frames scrolled, longest ms": own["worst"],
        "ms of the processor for a frame": own["busy"],
        "of a bare table": bare["busy"],
    }


async def paced(browser: Browser, pane: str) -> dict[str, float]:
    """Frames per second while an element is scrolled, the longest frame, and milliseconds of the
    processor for each."""
    if pane == "bare":
        await browser.js(BARE)
    browser.events.clear()
    await browser.call("Tracing.start", categories=TRACED, transferMode="ReportEvents")
    told = await browser.js(SCROLL.replace("PANE", WINDOW if pane == "bare" else pane))
    await browser.call("Tracing.end")
    while not any(
        each.get("method") == "Tracing.tracingComplete" for each in browser.events
    ):
        await browser.js("0")
    if pane == "bare":
        await browser.js(SHOWN)
    sent = (
        each["params"]["value"]
        for each in browser.events
        if each.get("method") == "Tracing.dataCollected"
    )
    spans = [span for several in sent for span in several]
    page = {span["tid"] for span in spans if span["name"] == "FireAnimationFrame"}
    busy = (
        sum(
            span.get("tdur", 0)
            for span in spans
            if span["name"] == "RunTask" and span["tid"] in page
        )
        / 1000
    )
    return told | {"busy": busy / told["frames"]}


def made_run(folder: Path, n: int) -> Path:
    """The report of a run over `n` made texts of about a thousand characters, with labels, pairs
    and exchanges."""
    from tests.report.conftest import judge, shame, verdict
    from undogmatic.examinations.run_rows import tabulate
    from undogmatic.records.records import Call, Item
    from undogmatic.report import contents
    from undogmatic.runs.outcome import Asked, FinishedRun, Repeatability
    from undogmatic.safety.paths import conf_folder

    rng, words = (
        random.Random(0),
        (conf_folder() / "rubric" / "shame.yaml").read_text("utf-8").split(),
    )
    items, judgments = [], []
    for k in range(n):
        text = " ".join(rng.choices(words, k=150))
        items.append(
            Item(
                id=f"item-{k}",
                text=text,
                pair=f"pair-{k // 2}",
                condition="ab"[k % 2],
                label=rng.randint(0, 100),
            )
        )
        reason = " ".join(rng.choices(words, k=30))
        sent = {
            "messages": [
                {"role": "system", "content": " ".join(words)},
                {"role": "user", "content": text},
            ]
        }
        call = Call(
            model="m", request=sent, reply={"score": rng.random(), "reason": reason}
        )
        own = judge(
            items[-1],
            verdict(
                rng.uniform(0, 100), reason, uncertainty=rng.choice(["low", "high"])
            ),
        )
        judgments.append(own.model_copy(update={"calls": (call,)}))
    run = FinishedRun(
        name="made",
        folder=folder,
        language="en",
        config={"seed": 0},
        rubric=shame(),
        items=items,
        judgments=judgments,
        choices=dict.fromkeys(
            "model prompt judge readout dataset analysis".split(), "made"
        ),
        identity="0" * 64,
        frame=tabulate(items, judgments, 1),
        results=[],
        prompt_id="made",
        prompt_hash="0" * 64,
        metrics=dict.fromkeys(
            "judged failed calls calls_cached input_tokens output_tokens".split(), 0.0
        ),
        asked=[Asked("r", "m", "p", True, "Rate.")],
        fitted=0,
        model_name="m",
        dataset_digest="0" * 64,
        versions={},
        started=0.0,
        seconds=1.0,
        repeatability=Repeatability(None, None, None, 0.0, True),
    )
    contents.write(run)
    return folder / "report.html"


def main() -> None:
    """Print the figures of each report, one line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="*", type=Path)
    parser.add_argument("--axe", type=Path, help="axe.min.js of axe-core")
    typed = parser.parse_args()
    axe = None if typed.axe is None else typed.axe.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for page in typed.reports or [
            made_run(Path(folder) / str(n), n) for n in (138, 10_000)
        ]:
            print(f"\n{page}")
            for name, value in asyncio.run(measure(page, axe)).items():
                print(
                    f"  {name:28} {np.round(value, 2) if isinstance(value, float) else value}"
                )


if __name__ == "__main__":
    main()
