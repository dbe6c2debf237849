"""A finished run as the pipeline hands it over, without a model: scores are made up, everything
else is real."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from undogmatic.config.build import build
from undogmatic.constructs.shame.curated import CuratedDataset
from undogmatic.examinations.run_rows import tabulate
from undogmatic.records.records import (
    Cost,
    Failure,
    Item,
    Judgment,
    Provenance,
    ScoreDistribution,
    Verdict,
)
from undogmatic.records.results import FigureData, Finding, Told
from undogmatic.records.rubric import Rubric
from undogmatic.records.sweep_result import SweepResult
from undogmatic.records.wordings import texts_beside
from undogmatic.runs.outcome import Asked, FinishedRun, Repeatability
from undogmatic.safety.paths import conf_folder
from undogmatic.stats.estimate import Estimate
from undogmatic.sweep.compare import OWN_TEXTS

TRIAL = Path(__file__).with_name("trial.texts.yaml")
"""The wordings of an analysis called `trial`."""


def shame() -> Rubric:
    """The shipped rubric."""
    found: Rubric = build(
        yaml.safe_load((conf_folder() / "rubric" / "shame.yaml").read_text("utf-8")),
        "rubric",
    )
    return found


PROVENANCE = Provenance(
    model="m",
    readout="probe",
    prompt="anchored_pt",
    prompt_hash="a" * 64,
    program_hash="b",
    config_hash="c" * 64,
)


def judge(item: Item, outcome: Verdict | Failure) -> Judgment:
    """A judgment around an outcome."""
    cost = Cost(calls=1, input_tokens=180, output_tokens=1, usd=0.0, seconds=0.12)
    return Judgment(
        item_id=item.id,
        judge="score",
        outcome=outcome,
        cost=cost,
        provenance=PROVENANCE,
    )


def verdict(score: float, rationale: str | None = None, **more: Any) -> Verdict:
    """A verdict with a distribution over two levels, and what a judge style adds."""
    high = min(0.99, max(0.01, score / 100))
    distribution = ScoreDistribution(values=(0, 100), probabilities=(1 - high, high))
    return Verdict(
        score=score,
        distribution=distribution,
        interval=(max(0, score - 12), min(100, score + 12)),
        confidence=distribution.confidence,
        confidence_source="entropy",
        rationale=rationale,
        **more,
    )


PAIRS = [(80.0 + n, 20.0 - n) for n in range(8)]
SLOPE = {
    "left": "authority_only",
    "right": "explained_only",
    "pairs": PAIRS,
    "y_label": "score",
}


def trial_result() -> Told:
    """One analysis with a verdict, a finding, metrics, a table and a figure."""
    groups = pd.DataFrame(
        {
            "sort": ["authority_only", "explained_only"],
            "n": [8, 8],
            "mean": [81.25, 22.5],
        }
    )
    return Told(
        name="trial",
        numbers={
            "trial.share": Estimate(0.9375, 0.8, 0.99, unit="share"),
            "trial.rank_biserial": 0.875,
        },
        tables={"groups": groups},
        findings=[Finding("trial.plain", {"difference": 58.75})],
        drawings=[FigureData("pairs", "slope", SLOPE)],
        verdict=Finding(
            "trial.verdict",
            {"n": 8, "share": 0.9375, "interval": (0.8, 0.99), "p": 0.0004},
        ),
        headline="trial.share",
    )


Build = Callable[..., FinishedRun]


@pytest.fixture
def finished(tmp_path: Path) -> Build:
    """Make a finished run; keyword arguments replace its fields."""

    def make(
        outcomes: Sequence[tuple[Item, Verdict | Failure]] | None = None,
        results: Sequence[Told] | None = None,
        **fields: Any,
    ) -> FinishedRun:
        if outcomes is None:
            rng = np.random.default_rng(0)
            sides = [
                (n, c, centre)
                for n in range(8)
                for c, centre in (("authority_only", 80), ("explained_only", 22))
            ]
            items = [
                Item(id=f"t{n}:{c}", text=f"Texto {n}, {c}.", pair=f"t{n}", condition=c)
                for n, c, _ in sides
            ]
            outcomes = [
                (own, verdict(at + rng.uniform(-9, 9)))
                for own, (*_, at) in zip(items, sides, strict=True)
            ]
        items = [item for item, _ in outcomes]
        judgments = [judge(*pair) for pair in outcomes]
        frame = tabulate(items, judgments, 1)
        failed = float(frame["error"].notna().sum())
        metrics = {
            "judged": len(frame) - failed,
            "failed": failed,
            "calls": 16.0,
            "calls_cached": 0.0,
        }
        metrics |= {
            "input_tokens": 12880.0,
            "output_tokens": 16.0,
            "judging_seconds": 2.5,
            "judgments_per_second": 6.4,
        }
        run: dict[str, Any] = {
            "name": "local-anchored_pt-score-pairs",
            "folder": tmp_path / "outputs" / "2026-01-02" / "03-04-05",
            "language": "en",
            "config": {
                "seed": 0,
                "run": {"resume": None, "repeats": 1, "limit": None, "name": None},
                "model": {"path": None},
                "readout": {"_target_": "auto"},
                "dataset": {
                    "_target_": "undogmatic.constructs.shame.curated.CuratedDataset",
                    "split": "test",
                },
            },
            "choices": {
                "model": "local",
                "prompt": "anchored_pt",
                "judge": "score",
                "readout": "probe",
                "rubric": "shame",
                "dataset": "pairs",
                "analysis": "ab",
                "optimizer": "none",
                "engine": "local",
                "tracking": "mlflow",
            },
            "identity": "d" * 64,
            "rubric": shame(),
            "items": items,
            "judgments": judgments,
            "frame": frame,
            "results": [trial_result()] if results is None else results,
            "metrics": metrics,
            "prompt_id": "anchored_pt",
            "prompt_hash": "a" * 64,
            "asked": [asked()],
            "fitted": 0,
            "model_name": "gemma3-270m-q4-k-m-0123456789ab",
            "dataset_digest": "e" * 64,
            "versions": {"python": "3.11.9", "git": "f" * 40, "undogmatic": "0.1.0"},
            "started": 1767323045.0,
            "seconds": 4.0,
            "repeatability": Repeatability(None, None, None, 0.0, True),
            "texts": (TRIAL, *texts_beside(CuratedDataset)),
        }
        return FinishedRun(**(run | fields))

    return make


def asked(
    text: str = "Avalie o texto.", *, readout: str = "probe", uses_prompt: bool = False
) -> Asked:
    """One way of asking."""
    return Asked(
        readout, "gemma3-270m-q4-k-m-0123456789ab", "anchored_pt", uses_prompt, text
    )


@pytest.fixture
def swept(tmp_path: Path) -> SweepResult:
    """A sweep of three jobs, the last of which failed."""
    columns = (
        "number",
        "name",
        "status",
        "model",
        "headline",
        "low",
        "high",
        "trial.rank_biserial",
        "calls",
    )
    rows = [
        (1, "local-a", "finished", "local", 0.97, 0.9, 1.0, 0.99, 32.0),
        (0, "tfidf-a", "finished", "tfidf", 0.9, 0.8, 0.96, 0.85, 0.0),
        (2, "gpt-a", "failed", "gpt", *[np.nan] * 5),
    ]
    pair = {"left": ["local-a"], "right": ["tfidf-a"]}
    difference = {
        "difference": [6.5],
        "low": [1.0],
        "high": [12.0],
        "n": [32],
        "p": [0.0123],
        "p_holm": [0.0123],
    }
    return SweepResult(
        name="models",
        folder=tmp_path / "sweep",
        language="pt",
        jobs=pd.DataFrame(rows, columns=columns),
        choices=("model",),
        headline="trial.share",
        unit="share",
        comparisons=pd.DataFrame(pair | difference),
        agreement=pd.DataFrame(pair | {"spearman": [0.91]}),
        findings=[
            Finding("trial.plain", {"difference": 6.5}),
            Finding("trial.plain", {"difference": 1.5}),
        ],
        failed=[("gpt-a", "model=gpt needs OPENAI_API_KEY <script>")],
        rubric=shame(),
        texts=(OWN_TEXTS, TRIAL),
    )
