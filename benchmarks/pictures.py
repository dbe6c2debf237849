"""Takes the pictures of all reports and of all pages of MLflow: `python -m benchmarks.pictures`.

    python -m benchmarks.pictures                        # makes the runs, and then docs/pictures/ and docs/pictures.md
    python -m benchmarks.pictures --folder runs          # keeps the runs there; those that are there are not made again
    python -m benchmarks.pictures --only sweep overview  # some of them

Each report is written anew in English and in Portuguese and opened in a headless Chromium: light, dark and 390 pixels
wide, its beginning and its table of items. MLflow is English, and has a dark mode of its own. Needs Chromium.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
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

RUNS: Mapping[str, tuple[str, Sequence[str]]] = {
    "pairs": (
        "The main job: does the judge tell an explanation from its imitation? Pairs of texts.",
        (),
    ),
    "labelled": (
        "Texts with labels of people: does the judge score as they do?",
        ("dataset=curated_development", "analysis=labelled", "model=patterns"),
    ),
    "controls": (
        "Texts whose scores are known to lie in a band.",
        ("dataset=controls", "model=patterns"),
    ),
    "prompted": (
        "A judge that reads its prompt, with few texts: nothing is decided.",
        ("dataset=pairs", "readout=logprobs", "prompt=demos_pt", "run.limit=24"),
    ),
    "distilled": (
        "A student that imitates another judge, on labelled texts.",
        (
            "dataset=labelled",
            "run.limit=150",
            "model=distilled",
            "model.path=student.safetensors",
        ),
    ),
    "sweep": (
        "A sweep: which of two judges is better, item by item.",
        ("-m", "dataset=pairs", "model=patterns,tfidf", "run.limit=80"),
    ),
    "bakeoff": (
        "A bake-off: which way of asking knows best when it is wrong?",
        ("-m", "experiment=uncertainty_bakeoff", "arm=probe,entropy", "run.limit=40"),
    ),
    "search": (
        "A search of prompts: the winner is judged once on texts that the search has not seen.",
        (
            "-m",
            "hydra/sweeper=optuna",
            "experiment=prompt_search",
            "hydra.sweeper.n_trials=4",
            "run.limit=12",
        ),
    ),
}
"""What is run, by name, and what its picture shows. The student is distilled from the judge of
`labelled`."""
CHECKS: Mapping[str, tuple[str, Sequence[str]]] = {
    "answer": (
        "`undogmatic check` of a judge that may be believed, as README.md and the first page show it.",
        ("judge_careful",),
    ),
    "check": (
        "`undogmatic check` of one judge: its table of items begins where it differs from people.",
        ("judge_keyword",),
    ),
    "check_several": ("`undogmatic check` of three judges.", ()),
}
CARD = "The trust card of a judge, against which a gate holds thresholds."
MLFLOW = {
    "runs": "All runs, sorted by verdict and headline.",
    "charts": "The charts that hold runs side by side.",
    "overview": "A run: its verdict is its description.",
    "metrics": "A run's numbers, each one chart.",
    "run_traces": "The traces of a run: text, verdict, score and label.",
    "artifacts": "A run's files.",
    "trace": "One judgment with its calls.",
    "report": "The report among a run's files.",
    "results": "Every figure with its interval, as a table.",
    "traces": "The traces of all runs.",
    "datasets": "The datasets, with their labels.",
    "prompts": "The prompts that reached a model.",
    "experiment_prompts": "The prompts of the experiment.",
    "compare": "Jobs of a sweep, compared by what differs between them.",
}
LOOKS = {"light": (1280, False), "dark": (1280, True), "narrow": (390, False)}
LOOKS_OF_ANSWER = {
    "light": (960, False),
    "dark": (960, True),
    "narrow": (390, False),
    "narrow_dark": (390, True),
}
"""The first page of the documentation shows it in the colours and in the width of its reader, and no
more than the answer."""
ENDS = (
    "Math.ceil(document.querySelector('.answer').getBoundingClientRect().bottom) + 16"
)
BARE = "document.documentElement.style.scrollbarWidth = 'none'; scrollTo(0, 0)"
LANGUAGES = {"en": "English", "pt": "Portuguese"}
# what MLflow calls its switch in the browser's storage
DARK = "_mlflow_dark_mode_toggle_enabled"
QUALITY, HEIGHT = 38, 860


CLEARED = """
for (const each of document.querySelectorAll('button'))
    if (/^(Got it|Close|Skip)/i.test(each.innerText || each.ariaLabel || '')) each.click()
"""
"""Closes what MLflow lays over its pages on a first visit."""


@contextmanager
def served(store: Path) -> Iterator[str]:
    """The address of `undogmatic ui` on a store, while the context is open."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "undogmatic.cli",
        "ui",
        "--uri",
        address_of(store),
        "--port",
        str(port),
    ]
    server = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(
                    f"http://127.0.0.1:{port}/health", timeout=5
                ).close()
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
    request = urllib.request.Request(
        f"{address}/api/{path}", data, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def pages(address: str) -> dict[str, str]:
    """The pages by name: those of the experiment, of its newest labelled run, and the comparison of
    its newest runs."""
    found = asked(
        address, "2.0/mlflow/experiments/get-by-name?experiment_name=undogmatic"
    )
    experiment = found["experiment"]["experiment_id"]
    searched = {"experiment_ids": [experiment], "max_results": 50}
    runs = asked(address, "2.0/mlflow/runs/search", searched)["runs"]
    kinds = {
        run["info"]["run_id"]: {tag["key"]: tag["value"] for tag in run["data"]["tags"]}
        for run in runs
    }
    judged = [
        each for each, tags in kinds.items() if tags.get("undogmatic.kind") == "run"
    ]
    jobs = [each for each in judged if "mlflow.parentRunId" in kinds[each]] or judged
    alone = next(
        (each for each in judged if "mlflow.parentRunId" not in kinds[each]), judged[0]
    )
    looked = {
        "locations": [
            {
                "type": "MLFLOW_EXPERIMENT",
                "mlflow_experiment": {"experiment_id": experiment},
            }
        ]
    }
    searched = looked | {
        "filter": f"request_metadata.`mlflow.sourceRun` = '{alone}'",
        "max_results": 1,
    }
    trace = asked(address, "3.0/mlflow/traces/search", searched)["traces"][0][
        "trace_id"
    ]
    of_run, of_experiment = (
        f"#/experiments/{experiment}/runs/{alone}",
        f"#/experiments/{experiment}",
    )
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


async def visited(address: str, out: Path, only: Sequence[str]) -> None:
    """Take the pictures of MLflow's pages."""
    chosen = {
        name: page for name, page in pages(address).items() if not only or name in only
    }
    for look, (width, dark) in LOOKS.items() if chosen else ():
        async with browsing(address) as browser:
            await browser.until("document.readyState === 'complete'")
            await browser.js(f"localStorage.setItem('{DARK}', '{str(dark).lower()}')")
            for name, page in chosen.items():
                await browser.size(width, HEIGHT, dark)
                await browser.call("Page.navigate", url="about:blank")
                await browser.call("Page.navigate", url=f"{address}/{page}")
                await settled(browser, 1.5)
                await browser.js(CLEARED)
                await asyncio.sleep(0.5)
                await kept(browser, out / f"mlflow_{name}_{look}.webp")


async def kept(browser: Browser, path: Path) -> None:
    """Keep what the window shows, as a small file."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        await browser.picture(shot := Path(folder) / "shot.png")
        Image.open(shot).convert("RGB").save(path, "webp", quality=QUALITY, method=6)


async def looked_at(page: Path, out: Path, name: str) -> None:
    """Take the pictures of a report: its beginning in every look, and its table with a row open."""
    async with browsing(page.resolve().as_uri()) as browser:
        await browser.until(
            "document.readyState === 'complete' && !document.querySelector('#bench:empty')"
        )
        cut = name.startswith("answer_")
        for look, (width, dark) in (LOOKS_OF_ANSWER if cut else LOOKS).items():
            await browser.size(width, HEIGHT, dark)
            await browser.js(BARE)
            if cut:
                await browser.size(width, await browser.js(ENDS), dark)
            await asyncio.sleep(0.3)
            await kept(browser, out / f"{name}_{look}.webp")
        if not cut and await browser.js("!!document.querySelector('.window .row')"):
            await browser.size(1280, HEIGHT)
            await browser.js("document.querySelector('.window .row').click()")
            await browser.js("document.querySelector('#bench').scrollIntoView()")
            await asyncio.sleep(0.3)
            await kept(browser, out / f"{name}_items.webp")


def made(folder: Path, only: Sequence[str]) -> None:
    """Make the runs that are not there."""
    for name, (_, words) in RUNS.items():
        if (only and name not in only) or (folder / name).exists():
            continue
        if name == "distilled":
            called(
                folder,
                "undogmatic.cli",
                "distill",
                "labelled",
                "--out",
                "student.safetensors",
            )
        called(
            folder,
            "undogmatic.run",
            *words,
            f"hydra.{'sweep' if '-m' in words else 'run'}.dir={name}",
        )


def called(folder: Path, *words: str) -> None:
    """Run one of our commands in a folder."""
    print(" ".join(words), flush=True)
    subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )


def _page(folder: Path, language: str) -> Path:
    """The report of a folder in a language: another one than that of the run stands beside."""
    beside = folder / f"report.{language}.html"
    return beside if beside.exists() else folder / "report.html"


def reported(folder: Path, out: Path, only: Sequence[str]) -> None:
    """Write every report in both languages, and take its pictures."""
    # to be named without a path
    shutil.copy(
        Path(__file__).resolve().parents[1] / "data" / "check" / "demo.csv", folder
    )
    for language in ("en", "pt"):
        for name in RUNS:
            if (folder / name).exists() and (not only or name in only):
                called(folder, "undogmatic.cli", "report", name, "--language", language)
                asyncio.run(
                    looked_at(_page(folder / name, language), out, f"{name}_{language}")
                )
        for name, (_, judges) in CHECKS.items():
            if not only or name in only:
                chosen = [word for judge in judges for word in ("--judge", judge)]
                written = [
                    "--report",
                    name,
                    "--card",
                    f"{name}.html",
                    "--language",
                    language,
                ]
                called(folder, "undogmatic.cli", "check", "demo.csv", *chosen, *written)
                asyncio.run(
                    looked_at(_page(folder / name, language), out, f"{name}_{language}")
                )
                if name == "check":
                    asyncio.run(
                        looked_at(folder / f"{name}.html", out, f"card_{language}")
                    )


def shown(out: Path) -> str:
    """The page that shows the pictures of a folder."""
    told = {
        name: sentence for name, (sentence, _) in (*RUNS.items(), *CHECKS.items())
    } | {"card": CARD}
    lines = [
        "# Pictures of all reports and pages",
        "",
        (
            "`python -m benchmarks.pictures` makes the runs, opens every page in a browser and"
            " writes this page. Each report stands here in English and in Portuguese: its"
            " beginning, light, dark and 390 pixels wide, and its table of items with a row open."
            " MLflow's own pages are English, and their dark mode is MLflow's own switch."
        ),
    ]
    for name, sentence in told.items():
        lines += ["", f"## {name.replace('_', ' ')}", "", sentence]
        for language in ("en", "pt"):
            looks = LOOKS_OF_ANSWER if name == "answer" else LOOKS
            alt = f"{name.replace('_', ' ')} in {LANGUAGES[language]}"
            lines += ["", *_links(out, f"{name}_{language}", (*looks, "items"), alt)]
    lines += ["", "## MLflow"]
    for name, sentence in MLFLOW.items():
        links = _links(out, f"mlflow_{name}", tuple(LOOKS), sentence.rstrip("."))
        lines += ["", sentence, "", *links] if links else []
    return "\n".join(lines) + "\n"


def _links(out: Path, name: str, looks: Sequence[str], alt: str) -> list[str]:
    """The pictures of a page in each look that there is, with words for those who do not see them."""
    return [
        f"![{alt}, {look.replace('_', ' ')}](pictures/{name}_{look}.webp)"
        for look in looks
        if (out / f"{name}_{look}.webp").exists()
    ]


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
    """Make the runs, take the pictures and write the page."""
    docs = Path(__file__).resolve().parents[1] / "docs"
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--folder",
        type=Path,
        help="where the runs lie (default: a folder that is removed again)",
    )
    parser.add_argument(
        "--out", type=Path, default=docs / "pictures", help="the folder of the pictures"
    )
    parser.add_argument(
        "--only",
        nargs="*",
        default=[],
        help="names of runs, checks and pages (default: all)",
    )
    typed = parser.parse_args()
    typed.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (typed.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        made(folder, typed.only)
        reported(folder, typed.out, typed.only)
        if (store := folder / "mlruns" / "mlflow.db").exists() and (
            not typed.only or {*typed.only} & {*MLFLOW}
        ):
            with served(store) as address:
                asyncio.run(visited(address, typed.out, typed.only))
    (typed.out.parent / "pictures.md").write_text(shown(typed.out), encoding="utf-8")


if __name__ == "__main__":
    main()
