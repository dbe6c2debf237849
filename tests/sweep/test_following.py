"""Jobs ranked by how they follow labels: their correlations side by side, and a paired bootstrap of the difference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.sweep.builders import RUBRIC, keys, result_of, texts, write_job
from undogmatic.report import sweep as report
from undogmatic.runs.outcome import SweepResult
from undogmatic.sweep.family import FOLLOWING, Sweep
from undogmatic.sweep.jobs import Job

HEADLINE = "labelled.spearman"
SIZE = 60


def labelled(noise: float, seed: int, groups: int = SIZE // 3) -> pd.DataFrame:
    """Sixty labelled texts, three of one source, scored with so much noise."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"item_id": [f"i{n}" for n in range(SIZE)], "pair_id": None, "condition": "gold:x"})
    frame["group"] = [f"g{n % groups}" for n in range(SIZE)]
    frame["label"] = np.random.default_rng(99).uniform(0, 100, SIZE)
    frame["score"] = (50 + 0.3 * (frame["label"] - 50) + rng.normal(scale=noise, size=SIZE)).clip(0, 100)
    return frame.assign(seconds=0.1)[[*texts().columns[:3], "group", "label", "score", "seconds"]]


def swept(folder: Path, *frames: pd.DataFrame, headline: str = HEADLINE) -> SweepResult:
    for n, frame in enumerate(frames):
        rho = float(frame["score"].corr(frame["label"], method="spearman"))
        numbers = {HEADLINE: rho, f"{HEADLINE}_low": rho - 0.1, f"{HEADLINE}_high": rho + 0.1}
        numbers |= {"labelled.pearson": float(frame["score"].corr(frame["label"])), "labelled.mae": 20.0}
        write_job(folder / str(n), [f"prompt={n}"], frame, metrics=numbers, headline=headline)
    return result_of(folder)


def test_the_better_follower_is_shown_by_its_correlations(tmp_path: Path) -> None:
    good, poor = labelled(2, 1), labelled(60, 2)
    result = swept(tmp_path, good, poor)
    rows = result.comparisons.set_index("measure")
    for measure, kind in (("spearman", "spearman"), ("pearson", "pearson")):
        row = rows.loc[measure]
        apart = good["score"].corr(good["label"], method=kind) - poor["score"].corr(poor["label"], method=kind)  # type: ignore[arg-type]
        sign = 1 if row["left"] == "prompt=0" else -1
        assert sign * row["difference"] == pytest.approx(apart)
        assert row["n"] == SIZE // 3
        assert row["shown"] == ("better" if sign == 1 else "worse")
        assert row["p_holm"] < 0.05
    assert "sweep.verdict_clear" in keys(result)
    table = result.tables["following"].set_index("name")
    assert table.loc["prompt=0", "spearman"] > table.loc["prompt=1", "spearman"]
    report.write(result, tmp_path)
    assert "How far do the scores follow the labels?" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_few_groups_show_nothing_that_many_texts_would(tmp_path: Path) -> None:
    many = swept(tmp_path / "many", labelled(20, 1), labelled(45, 2))
    few = swept(tmp_path / "few", labelled(20, 1, groups=4), labelled(45, 2, groups=4))
    assert "spearman" in set(many.comparisons["measure"])
    assert "spearman" not in set(few.comparisons["measure"])


def test_equal_judges_hardly_ever_differ() -> None:
    facts = {"headline": HEADLINE}
    shown = []
    for seed in range(8):
        scores = [labelled(20, 2 * seed + n).set_index("item_id") for n in (100, 101)]
        jobs = {str(n): Job(n, {}, {"rubric": RUBRIC}, facts, {}, frame, "finished") for n, frame in enumerate(scores)}
        table = Sweep(jobs).family.table
        rows = table[table["measure"].isin(FOLLOWING)]
        assert len(rows) == 2
        shown.append(bool((rows["shown"] != "open").any()))
    assert sum(shown) <= 1


def test_jobs_ranked_by_something_else_are_not_compared_by_correlations(tmp_path: Path) -> None:
    result = swept(tmp_path, labelled(2, 1), labelled(60, 2), headline="labelled.mae")
    assert not {"spearman", "pearson"} & set(result.comparisons["measure"])
    assert "following" not in result.tables


def test_copies_have_nothing_to_test(tmp_path: Path) -> None:
    result = swept(tmp_path, labelled(10, 1), labelled(10, 1))
    assert set(result.comparisons["shown"]) == {"identical"}


def test_a_switch_names_its_job_with_its_key(tmp_path: Path) -> None:
    for n, value in enumerate(("False", "True")):
        write_job(tmp_path / str(n), [f"prompt.reasoning={value}"], labelled(10, n), headline=HEADLINE)
    assert sorted(result_of(tmp_path).jobs["name"]) == ["reasoning=False", "reasoning=True"]
