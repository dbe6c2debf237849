"""Folders of jobs as runs leave them, and what a sweep over them says."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from tests.conftest import typed
from tests.examinations.builders import verdict
from undogmatic.records.records import Cost
from undogmatic.records.rubric import Rubric
from undogmatic.records.sweep_result import SweepResult
from undogmatic.records.words import Words
from undogmatic.sweep.compare import compare

PAIRS = 12
TOKENS = ("input_tokens", "output_tokens")
RUBRIC = {
    "_target_": "undogmatic.records.rubric.Rubric",
    "name": "mine",
    "scale": {"kind": "numeric", "minimum": 0, "maximum": 100},
    "guide": {"kind": "anchors", "at": [0, 25, 50, 75, 100]},
    "direction": "higher_is_worse",
    "margin": 10,
    "wordings": {
        "en": {
            "definition": "d",
            "question": "q",
            "unit": "points",
            "meanings": list("abcde"),
        }
    },
}


def multirun(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A sweep as it is started from the command line, in a process of its own."""
    return typed(
        "undogmatic.run",
        "-m",
        "tracking=none",
        *words,
        folder=folder,
        OPENAI_API_KEY="none",
    )


class OwnRubric(Rubric):
    """As a user may write one."""

    author: str


def texts(labels: bool = False) -> pd.DataFrame:
    """24 items in 12 pairs, one naked (label 100) and one explained (label 0) each."""
    rows = [
        (f"{n}-{side}", str(n), side)
        for n in range(PAIRS)
        for side in ("naked", "explained")
    ]
    frame = pd.DataFrame(rows, columns=["item_id", "pair_id", "condition"])
    frame["group"] = "pair " + frame["pair_id"]
    frame["label"] = (
        np.where(frame["condition"] == "naked", 100.0, 0.0) if labels else np.nan
    )
    return frame


def scored(
    naked: float, explained: float, seed: int = 0, labels: bool = False
) -> pd.DataFrame:
    """The texts with scores around the two means."""
    frame = texts(labels)
    noise = np.random.default_rng(seed).normal(scale=5, size=len(frame))
    frame["score"] = np.where(frame["condition"] == "naked", naked, explained) + noise
    return frame.assign(seconds=0.5)


def write_job(
    folder: Path, overrides: Sequence[str], scores: pd.DataFrame | None, **facts: Any
) -> None:
    """A job's folder as a run leaves it; without scores, one that failed with `error`."""
    error = facts.pop("error", None)
    spent = dict.fromkeys(("failed", "calls_cached", *TOKENS), 0)
    metrics = {"judged": 24, "calls": 24} | spent | facts.pop("metrics", {})
    (folder / ".hydra").mkdir(parents=True)
    (folder / ".hydra" / "overrides.yaml").write_text(yaml.safe_dump(list(overrides)))
    rubric = (
        RUBRIC | {"name": facts.pop("rubric", RUBRIC["name"])} | facts.pop("scale", {})
    )
    config = {
        "rubric": rubric,
        "analysis": {"treatment": "naked", "baseline": "explained"},
    }
    (folder / ".hydra" / "config.yaml").write_text(yaml.safe_dump(config))
    if error is not None:
        (folder / "error.txt").write_text(error)
    if scores is None:
        return
    known = {
        "status": "finished",
        "dataset_digest": "d",
        "headline": "ab.share",
        "uses_prompt": True,
        "choices": {},
    }
    (folder / "run.json").write_text(json.dumps(known | facts))
    (folder / "metrics.json").write_text(json.dumps(metrics))
    scores.to_csv(folder / "scores.csv", index=False)
    counted = {
        name.removeprefix("calls_"): metrics[name]
        for name in ("calls", "calls_cached", *TOKENS)
    }
    cost = Cost(
        **{name: round(n / len(scores)) for name, n in counted.items()},
        usd=metrics.get("usd"),
    )
    lines = [
        verdict(item, 50.0, cost=cost).model_dump_json() + "\n"
        for item in scores["item_id"]
    ]
    (folder / "judgments.jsonl").write_text("".join(lines), encoding="utf-8")


def metrics(share: float, **more: float) -> dict[str, float]:
    return {
        "ab.share": share,
        "ab.share_low": share - 0.1,
        "ab.share_high": min(1, share + 0.1),
        "judged": 24,
    } | more


def result_of(folder: Path) -> SweepResult:
    return compare(folder, "a sweep", "en")


def sweep_of(
    folder: Path,
    *jobs: tuple[pd.DataFrame | None, float],
    key: str = "model",
    more: Mapping[str, float] | None = None,
    **facts: Any,
) -> SweepResult:
    """What a sweep over `key` says whose jobs, called a, b, c and so on, have these scores and
    shares, and all of them these metrics (`more`). A list of facts has one for each job."""
    for n, (scores, share) in enumerate(jobs):
        own = {
            name: value[n]
            if isinstance(value, list) and len(value) == len(jobs)
            else value
            for name, value in facts.items()
        }
        numbers = metrics(share, **(more or {}))
        write_job(
            folder / str(n), [f"{key}={'abcdefgh'[n]}"], scores, metrics=numbers, **own
        )
    return result_of(folder)


def change_config(folder: Path, **changes: Any) -> None:
    """Put other values into the composed config of every job of a sweep."""
    for path in folder.glob("*/.hydra/config.yaml"):
        path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changes))


def said(result: SweepResult) -> str:
    return " ".join(
        Words("en", result.texts, strict=True).say(finding)
        for finding in result.findings
    )


def keys(result: SweepResult) -> list[str]:
    return [finding.key for finding in result.findings]


def doubting(seed: int, informed: bool) -> pd.DataFrame:
    """What analysis=calibration keeps per item: the same errors for all, and a doubt that knows
    them or not."""
    frame = texts()[["item_id"]].assign(unit=lambda own: own["item_id"])
    error = np.random.default_rng(0).uniform(0, 16, len(frame))
    doubt = error if informed else np.random.default_rng(seed).uniform(size=len(frame))
    frame = frame.assign(
        score=50 + error,
        truth=50.0,
        error=error,
        right=(error < 8).astype(float),
        uncertainty=doubt,
    )
    return frame.assign(confidence=0.5, inside=1.0, width=doubt, interval_score=doubt)
