"""Takes pictures of every page of MLflow on a store, as a reader meets them: `python -m benchmarks.mlflow_pages`.

    python -m benchmarks.mlflow_pages                          # makes a small run and a sweep first
    python -m benchmarks.mlflow_pages --store mlruns/mlflow.db --out pictures

It starts `undogmatic ui` on the store and opens the pages in a headless Chromium. Needs Chromium (Debian's package).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.browser import Browser, browsing
from undogmatic.tracking.store import address_of

RUNS: Sequence[Sequence[str]] = (
    ("dataset=curated_development", "run.limit=120", "analysis=labelled", "model=patterns"),
    ("dataset=pairs", "readout=logprobs", "prompt=demos_pt", "run.limit=12"),
    ("dataset=pairs", "model=patterns,tfidf", "run.limit=80", "-m"),
)
"""What is logged where no store is named."""


CLEARED = """
for (const each of document.querySelectorAll('button'))
    if (/^(Got it|Close|Skip)$/.test(each.innerText)) each.click()
"""
"""Closes what MLflow lays over its pages on a first visit."""


@contextmanager
def served(store: Path) -> Iterator[str]:
    """The address of `undogmatic ui` on a store, while the context is open."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "undogmatic.cli", "ui", "--uri", address_of(store), "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


def asked(address: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    """What MLflow's REST interface answers."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{address}/api/{path}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def pages(address: str) -> dict[str, str]:
    """The pages by name: those of the experiment, of its newest labelled run, and the comparison of its newest runs."""
    found = asked(address, "2.0/mlflow/experiments/get-by-name?experiment_name=undogmatic")
    experiment = found["experiment"]["experiment_id"]
    searched = {"experiment_ids": [experiment], "max_results": 50}
    runs = asked(address, "2.0/mlflow/runs/search", searched)["runs"]
    kinds = {run["info"]["run_id"]: {tag["key"]: tag["value"] for tag in run["data"]["tags"]} for run in runs}
    judged = [each for each, tags in kinds.items() if tags.get("undogmatic.kind") == "run"]
    jobs = [each for each in judged if "mlflow.parentRunId" in kinds[each]] or judged
    alone = next((each for each in judged if "mlflow.parentRunId" not in kinds[each]), judged[0])
    looked = {"locations": [{"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment}}]}
    searched = looked | {"filter": f"request_metadata.`mlflow.sourceRun` = '{alone}'", "max_results": 1}
    trace = asked(address, "3.0/mlflow/traces/search", searched)["traces"][0]["trace_id"]
    of_run, of_experiment = f"#/experiments/{experiment}/runs/{alone}", f"#/experiments/{experiment}"
    compared = f"#/compare-runs?runs={json.dumps(jobs[:4])}&experiments={json.dumps([experiment])}"
    return {
        "runs": f"{of_experiment}/runs",
        "charts": f"{of_experiment}/runs?compareRunsMode=CHART",
        "overview": of_run,
        "metrics": f"{of_run}/model-metrics",
        "run_traces": f"{of_run}/traces",
        "artifacts": f"{of_run}/artifacts",
        "trace": f"{of_experiment}/traces?selectedEvaluationId={trace}",
        "report": f"{of_run}/artifacts/report.html",
        "results": f"{of_run}/artifacts/results.json",
        "traces": f"{of_experiment}/traces",
        "datasets": f"{of_experiment}/datasets",
        "prompts": "#/prompts",
        "experiment_prompts": f"{of_experiment}/prompts",
        "compare": compared.replace(" ", ""),
    }


async def visited(address: str, out: Path, only: Sequence[str], height: int, wait: float) -> None:
    """Open each page and take its picture."""
    async with browsing() as browser:
        for name, page in pages(address).items():
            if only and name not in only:
                continue
            await browser.size(1400, height)
            await browser.call("Page.navigate", url="about:blank")
            await browser.call("Page.navigate", url=f"{address}/{page}")
            await settled(browser, wait)
            await browser.js(CLEARED)
            await asyncio.sleep(1)
            await browser.picture(out / f"{name}.png")
            print(f"{name}: {page}")


async def settled(browser: Browser, wait: float) -> None:
    """Wait until a page shows something, and its text stays the same for a while."""
    text, since = "", time.monotonic()
    for _ in range(300):
        await asyncio.sleep(0.3)
        now = await browser.js("document.body ? document.body.innerText : ''")
        if now != text:
            text, since = now, time.monotonic()
        if len(text) > 200 and time.monotonic() - since > wait:
            return


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--store", type=Path, help="the database (default: one with a small run and a sweep is made)")
    parser.add_argument("--out", type=Path, default=Path("mlflow_pages"), help="the folder of the pictures")
    parser.add_argument("--only", nargs="*", default=[], help="names of pages (default: all)")
    parser.add_argument("--height", type=int, default=1000)
    parser.add_argument("--wait", type=float, default=2.0, help="seconds for which a page's text must stay the same")
    typed = parser.parse_args()
    typed.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        store = typed.store
        if store is None:
            for words in RUNS:
                subprocess.run([sys.executable, "-m", "undogmatic.run", *words], cwd=folder, check=True)
            store = Path(folder) / "mlruns" / "mlflow.db"
        with served(store) as address:
            asyncio.run(visited(address, typed.out, typed.only, typed.height, typed.wait))


if __name__ == "__main__":
    main()
