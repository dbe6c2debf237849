"""Sweeps: what is read from the jobs' folders, what is concluded from it, and how the command
ends."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from omegaconf import OmegaConf

from tests.conftest import Capture, Patch, put
from tests.sweep import builders
from tests.sweep.builders import (
    doubting,
    keys,
    metrics,
    multirun,
    result_of,
    said,
    scored,
    sweep_of,
    write_job,
)
from undogmatic.config import compose
from undogmatic.errors import ConfigError
from undogmatic.runs.folder import RunFolder
from undogmatic.runs.manifest import output_folder
from undogmatic.safety.command import SWEEP_FOLDER, SWEEP_RUN, exit_status
from undogmatic.sweep import SweepCallback
from undogmatic.sweep.jobs import read_jobs


class TestLeaderboard:
    def test_jobs_are_ranked_by_their_headline_and_keep_its_interval(
        self, tmp_path: Path
    ) -> None:
        message = "model=c needs GONE_API_KEY"
        result = sweep_of(
            tmp_path,
            (scored(60, 50), 0.7),
            STRONG,
            (None, 0),
            error=[None, None, message],
        )
        assert result.jobs["name"].tolist() == ["b", "a", "c"]
        assert result.jobs["status"].tolist() == ["finished", "finished", "failed"]
        assert result.jobs.loc[
            1, ["headline", "low", "high"]
        ].tolist() == pytest.approx([0.7, 0.6, 0.8])
        assert np.isnan(result.jobs.loc[2, "headline"])
        assert (result.headline, result.choices) == ("ab.share", ("model",))
        assert result.failed == [("c", message)]

    def test_each_rubric_of_a_sweep_is_held_against_its_own_margin_and_scale(
        self, tmp_path: Path
    ) -> None:
        """The first rubric's scale ends at 1 and its margin is .1: two jobs of the other differ by
        5 of 100 points."""
        unit: dict[str, Any] = {
            "scale": {
                "scale": {"kind": "numeric", "minimum": 0, "maximum": 1},
                "guide": {"kind": "anchors", "at": [0, 0.25, 0.5, 0.75, 1]},
                "margin": 0.1,
            }
        }
        small = scored(0.9, 0.1).assign(score=lambda own: own["score"].clip(0, 1))
        write_job(
            tmp_path / "0",
            ["rubric=unit"],
            small,
            metrics=metrics(0.7),
            rubric="unit",
            **unit,
        )
        for n, extra in ((1, 0.0), (2, 5.0)):
            frame = scored(60, 40)
            frame["score"] += extra * np.linspace(-0.2, 2.2, 24)
            gain = {"calibration.review_gain": 0.5, "calibration.judged": 24.0}
            write_job(
                tmp_path / str(n),
                [f"rubric=mine{n}"],
                frame,
                metrics=metrics(1.0) | gain,
                rubric="mine",
            )
            doubting(n, informed=n == 1).to_csv(
                tmp_path / str(n) / "items_calibration.csv", index=False
            )
        result = result_of(tmp_path)
        tests = result.comparisons.set_index("measure")
        # beyond .1, and within the 10 points that matter
        assert tests.loc["score", "shown"] == "equal"
        named = {
            finding.values["margin"]
            for finding in result.findings
            if "margin" in finding.values
        }
        assert named == {10}  # by the sentences too
        assert "sweep.tests_margin_of" in keys(result)
        assert result.rubric is None  # no unit and no axis in common
        area = tests.loc["aurc"]
        # not cut at the end of the other scale
        assert area["low"] < area["difference"] < -1

    def test_judges_of_different_rubrics_are_not_ranked_against_one_another(
        self, tmp_path: Path
    ) -> None:
        own = {"standing": {"ab": "supported"}, "rubric": ["mine", "other"]}
        result = sweep_of(tmp_path, (scored(60, 50), 0.7), STRONG, key="rubric", **own)
        assert keys(result)[:2] == ["sweep.verdict_alone_supported"] * 2
        assert "sweep.other_criteria" in keys(result)
        assert not {"sweep.winner", "sweep.family"} & set(keys(result))
        assert result.comparisons.empty
        assert result.jobs["criterion"].tolist() == ["mine", "other"]

    @pytest.mark.parametrize(
        ("key", "values", "names"),
        [
            ("prompt", ["a", "b", "b"], ["a", "b", "b (job 2)"]),
            (
                "prompt.reasoning",
                ["False", "True", "1e-3"],
                ["reasoning=1e-3", "reasoning=False", "reasoning=True"],
            ),
        ],
    )
    def test_only_what_varies_names_a_job(
        self, tmp_path: Path, key: str, values: list[str], names: list[str]
    ) -> None:
        for n, value in enumerate(values):
            write_job(
                tmp_path / str(n),
                ["model=m", f"{key}={value}", "run.resume=x"],
                scored(60, 50, seed=n),
            )
        result = result_of(tmp_path)
        assert result.choices == (key,) and sorted(result.jobs["name"]) == names

    def test_a_sweep_in_which_nothing_ended_says_so_and_metrics_with_intervals_come_along(
        self, tmp_path: Path
    ) -> None:
        result = sweep_of(
            tmp_path / "none", (None, 0), (None, 0), error=["no server", None]
        )
        assert keys(result) == ["sweep.verdict_none"]
        assert [message for _, message in result.failed] == [
            "no server",
            "it did not come to its end (killed?)",
        ]
        assert (len(result.comparisons), len(result.figures)) == (0, 0)
        more = {
            "ab.auc": 0.9,
            "ab.auc_low": 0.8,
            "ab.auc_high": 0.95,
            "length.x": 1.0,
            "length.x_low": 0.0,
        }
        write_job(
            tmp_path / "m" / "0",
            ["model=a"],
            scored(90, 10),
            metrics=metrics(0.9, **more),
        )
        jobs = result_of(tmp_path / "m").jobs
        assert jobs.loc[0, "ab.auc_interval"] == (0.8, 0.95) and "length.x" not in jobs


WEAK, STRONG = (scored(55, 50), 0.7), (scored(90, 10, seed=1), 1.0)
ALIKE = [(scored(60, 50, seed=n), 0.9 + 0.02 * n) for n in range(2)]
RIGHT, WRONG = (
    (scored(95, 5, labels=True), 0.8),
    (scored(60, 40, seed=1, labels=True), 0.9),
)


class TestVerdict:
    @pytest.mark.parametrize(
        ("jobs", "facts", "verdict", "measure", "told"),
        [
            ([WEAK, STRONG], {}, "clear_margin", "pair_difference", "b ranks first"),
            # the leader was fitted to the texts
            (
                [WEAK, STRONG],
                {"seen": [0, 12]},
                "seen",
                None,
                "",
            ),
            ([WEAK, STRONG], {"seen": [12, 0]}, "clear_margin", None, ""),
            (ALIKE, {}, "equal", None, "its lead is too small to matter: "),
            ([RIGHT, WRONG], {}, "mixed", "absolute_error", ""),
            ([(scored(90, 10, seed=n), 1.0) for n in range(2)], {}, "tied", None, ""),
            ([WEAK, STRONG], {"headline": None}, "no_headline", None, ""),
            (
                [WEAK, WEAK, (None, 0.0)],
                {"error": [None, None, "no key"]},
                "identical",
                None,
                "2 of the 3 jobs",
            ),
        ],
    )
    def test_what_is_shown_of_a_lead(
        self,
        tmp_path: Path,
        jobs: Any,
        facts: dict[str, Any],
        verdict: str,
        measure: str | None,
        told: str,
    ) -> None:
        result = sweep_of(tmp_path, *jobs, **facts)
        assert keys(result)[0] == f"sweep.verdict_{verdict}"
        assert measure in (None, result.findings[0].values.get("measure"))
        assert told in said(result)
        assert (result.headline is None) == ("headline" in facts)

    def test_a_lead_that_may_be_chance_says_how_many_texts_would_decide_and_without_a_margin_nothing_is_equal(
        self, tmp_path: Path
    ) -> None:
        result = sweep_of(tmp_path / "open", ALIKE[0], (scored(69, 48, seed=1), 0.92))
        assert keys(result)[0] == "sweep.verdict_open_needed"
        values = result.findings[0].values
        assert values["needed"] > values["units_n"] == builders.PAIRS
        # A difference is there, and it is not known to be large enough.
        row = result.comparisons.set_index("measure").loc["pair_difference"]
        assert (
            row["p_holm"] < 0.05
            and abs(row["difference"]) > 10
            and row["shown"] == "open"
        )
        sweep_of(tmp_path / "alike", *ALIKE)
        builders.change_config(
            tmp_path / "alike",
            rubric={k: v for k, v in builders.RUBRIC.items() if k != "margin"},
        )
        assert keys(result_of(tmp_path / "alike"))[0] == "sweep.verdict_open_margin"


class TestComparisons:
    def test_a_leader_with_a_twin_is_one_candidate_with_two_names(
        self, tmp_path: Path
    ) -> None:
        """Two prompts that do not reach the model gave the same scores: neither is better than
        "every other"."""
        for n, prompt in enumerate(("strict", "kind")):
            write_job(
                tmp_path / str(n),
                [f"prompt={prompt}", "model=good"],
                scored(90, 10),
                metrics=metrics(1.0),
            )
        write_job(
            tmp_path / "2",
            ["prompt=kind", "model=weak"],
            scored(55, 50, seed=1),
            metrics=metrics(0.6),
        )
        result = result_of(tmp_path)
        lead = result.findings[0]
        assert lead.key == "sweep.verdict_clear_margin", keys(result)
        assert (
            lead.values["best"] == "strict, good = kind, good" and lead.values["n"] == 2
        )
        assert "sweep.twins" in keys(result)[: result.verdicts]
        assert "strict, good = kind, good ranks first of 2 judges" in said(result)

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("doubt", 0.7),
            ("uncertainty", "high"),
            ("confidence", 30.0),
            ("interval", [40.0, 60.0]),
            ("interval", [49.0, 60.0]),
            (
                "distribution",
                {"values": [0.0, 50.0, 100.0], "probabilities": [0.2, 0.6, 0.2]},
            ),
            ("rationale", "another word"),
        ],
    )
    @pytest.mark.parametrize("headlines", [(1.0, 1.0), (1.0, 0.9)])
    def test_equal_scores_with_another_doubt_are_two_judges(
        self, tmp_path: Path, field: str, value: Any, headlines: tuple[float, float]
    ) -> None:
        """`devils_advocate` leaves the score of its initial judge as it is, and doubts it."""
        for n, (judge, share) in enumerate(
            zip(("score", "devils_advocate"), headlines, strict=True)
        ):
            write_job(
                tmp_path / str(n),
                [f"judge={judge}", "model=good"],
                scored(90, 10),
                metrics=metrics(share),
            )
        write_job(
            tmp_path / "2",
            ["judge=score", "model=weak"],
            scored(55, 50, seed=1),
            metrics=metrics(0.6),
        )
        path = tmp_path / "1" / "judgments.jsonl"
        lines = [
            json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()
        ]
        for line in lines:
            line["outcome"][field] = value
        path.write_text(
            "".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8"
        )
        result = result_of(tmp_path)
        names, found = "score, good = devils_advocate, good", keys(result)
        # no doubt: one judge with two names, where its figure is one
        if field == "rationale":
            assert ("sweep.twins" in found) == (headlines[0] == headlines[1])
            assert "sweep.equal_scores" not in found
        else:
            assert (
                "sweep.twins" not in found
                and result.findings[0].values.get("best") != names
            )
            assert (
                "Equal scores, other doubt: score, good; devils_advocate, good"
                in said(result)
            )

    def test_a_judge_that_fails_on_some_texts_and_else_says_the_same_does_not_lead(
        self, tmp_path: Path
    ) -> None:
        whole, few = scored(60, 50), scored(60, 50)
        few.loc[few["pair_id"].astype(int) < 4, "score"] = np.nan
        result = sweep_of(tmp_path, (whole, 0.7), (few, 0.8))
        assert (
            keys(result)[0] == "sweep.verdict_same"
            and result.findings[0].answer == "undecided"
        )
        (told,) = [
            finding.values
            for finding in result.findings
            if finding.key == "sweep.uneven_pairs"
        ]
        assert (
            told["n"] == builders.PAIRS - 4
            and len({each.split()[1] for each in told["right"].split("; ")}) == 1
        )

    def test_identical_jobs_are_called_so_and_are_no_test(self, tmp_path: Path) -> None:
        same, facts = (scored(90, 10), 1.0), {"choices": {"readout": "probe"}}
        other = (scored(60, 40, seed=1), 0.8)
        result = sweep_of(
            tmp_path,
            same,
            same,
            other,
            key="prompt",
            uses_prompt=[False, False, True],
            **facts,
        )
        same = result.comparisons[
            (result.comparisons["left"] == "a") & (result.comparisons["right"] == "b")
        ]
        assert set(same["shown"]) == {"identical"}
        assert same["p"].isna().all()
        assert {"sweep.prompt_unused", "sweep.identical"} <= set(keys(result))
        assert "a = b" in said(result)
        others = result.comparisons[result.comparisons["shown"] != "identical"]
        # a and b against c are one hypothesis per measure, so the smaller p-value counts twice and
        # no more.
        assert len(others) == 4
        smallest = others["p"].astype(float).min()
        assert others["p_holm"].astype(float).min() == pytest.approx(2 * smallest)
        (family,) = [
            finding for finding in result.findings if finding.key == "sweep.family"
        ]
        assert family.values["n"] == 2

    def test_a_difference_is_left_minus_right_and_the_same_again_and_errors_are_compared_where_there_are_labels(
        self, tmp_path: Path
    ) -> None:
        first = sweep_of(
            tmp_path, (scored(80, 60), 0.5), (scored(70, 50), 0.5)
        ).comparisons
        rows = first.set_index("measure")
        assert rows.loc["score", "difference"] == pytest.approx(10)
        assert rows.loc["pair_difference", "shown"] == "identical"
        assert (rows["left"] == "a").all()
        pd.testing.assert_frame_equal(first, result_of(tmp_path).comparisons)
        row = (
            sweep_of(tmp_path / "labelled", RIGHT, WRONG)
            .comparisons.set_index("measure")
            .loc["absolute_error"]
        )
        assert row["low"] < row["difference"] < row["high"] < 0
        assert row["p_holm"] < 0.01

    def test_jobs_on_other_items_and_items_that_either_failed_on_are_not_compared(
        self, tmp_path: Path
    ) -> None:
        jobs = (scored(80, 60), 0.5), (scored(70, 50, seed=1), 0.5)
        result = sweep_of(
            tmp_path / "others", *jobs, key="dataset", dataset_digest=["d", "other"]
        )
        assert result.comparisons.empty
        assert "sweep.other_items" in keys(result)
        holes = scored(80, 60)
        holes.loc[[0, 3], "score"] = np.nan
        counts = sweep_of(
            tmp_path / "holes", (holes, 0.5), jobs[1]
        ).comparisons.set_index("measure")["n"]
        # pairs are the unit; two of them have one text left
        assert counts["score"] == builders.PAIRS
        assert counts["pair_difference"] == builders.PAIRS - 2

    def test_agreement_of_a_job_with_itself_and_with_a_constant(
        self, tmp_path: Path
    ) -> None:
        one = (scored(90, 10), 0.5)
        result = sweep_of(tmp_path, one, one, (scored(50, 50).assign(score=50.0), 0.5))
        rows = result.agreement.set_index(["left", "right"])
        assert rows.loc[
            ("a", "b"), ["pearson_between", "kappa_between", "alpha"]
        ].tolist() == pytest.approx([1, 1, 1])
        assert rows.loc[("a", "b"), "bias"] == 0
        assert pd.isna(rows.loc[("a", "c"), "pearson_between"])
        (heat,) = [f for f in result.figures if f.kind == "heatmap"]
        assert np.isnan(heat.data["matrix"][0][2])


class TestJobs:
    def test_a_stopped_job_can_be_told_from_a_failed_one(self, tmp_path: Path) -> None:
        write_job(
            tmp_path / "0", ["a=1"], scored(1, 0), status="stopped", error="budget"
        )
        write_job(
            tmp_path / "1",
            ["a=2"],
            scored(1, 0),
            status="running",
            error="no such column",
        )
        write_job(tmp_path / "2", ["a=3"], scored(1, 0), status="running")
        assert [job.status for job in read_jobs(tmp_path)] == [
            "stopped",
            "failed",
            "stopped",
        ]

    def test_a_rubric_may_refer_to_the_config_and_be_of_a_class_of_ones_own(
        self, tmp_path: Path, monkeypatch: Patch
    ) -> None:
        monkeypatch.setenv("UNDOGMATIC_ALLOW", "tests")
        own = {
            "_target_": "tests.sweep.builders.OwnRubric",
            "author": "me",
            "margin": "${rubric.guide.at[1]}",
        }
        write_job(tmp_path / "0", ["model=a"], scored(60, 50), scale=own)
        (job,) = read_jobs(tmp_path)
        assert (job.status, job.rubric.margin, type(job.rubric).__name__) == (
            "finished",
            25,
            "OwnRubric",
        )


def composed(folder: Path, *overrides: str) -> Any:
    """What Hydra hands to the callbacks, as far as they look at it."""
    hydra = {"sweep": {"dir": str(folder)}, "overrides": {"task": list(overrides)}}
    tracking = {"_target_": "undogmatic.tracking.NoTracker"}
    return OmegaConf.create(
        {"tracking": tracking, "report": {"language": "en"}, "seed": 0, "hydra": hydra}
    )


class TestCallback:
    @pytest.fixture(autouse=True)
    def _within_a_command(self) -> Iterator[None]:
        """A callback is called while the command's config is composed."""
        with compose.opened((), (), "run"):
            yield

    def test_jobs_are_told_where_they_belong_and_leave_nothing_behind(
        self, tmp_path: Path, capsys: Capture
    ) -> None:
        callback, config = SweepCallback(), composed(tmp_path, "model=a,b")
        callback.on_multirun_start(config)
        assert os.environ[SWEEP_FOLDER] == str(tmp_path)
        sweep_of(tmp_path, (scored(90, 10), 1.0), WRONG)
        callback.on_multirun_end(config)
        assert not {SWEEP_FOLDER, SWEEP_RUN} & os.environ.keys()
        manifest = RunFolder(tmp_path).sweep
        assert manifest is not None
        assert (manifest["status"], manifest["overrides"]) == (
            "finished",
            ["model=a,b"],
        )
        assert (tmp_path / "report.html").is_file()
        assert "a ranks first" in capsys.readouterr().out

    def test_a_sweep_is_continued_only_by_its_own_command(
        self, tmp_path: Path, capsys: Capture, monkeypatch: Patch
    ) -> None:
        # restored afterwards: this sweep has no end
        monkeypatch.setenv(SWEEP_FOLDER, "")
        callback = SweepCallback()
        callback.on_multirun_start(composed(tmp_path, "model=a,b"))
        callback.on_multirun_start(
            composed(tmp_path, "model=a,b", f"run.resume={tmp_path}")
        )
        with pytest.raises(SystemExit) as ended:
            callback.on_multirun_start(composed(tmp_path, "model=a,c"))
        assert ended.value.code == 2
        assert "holds another sweep: model=a,b" in capsys.readouterr().err

    def test_what_cannot_be_swept_ends_the_command(
        self, tmp_path: Path, capsys: Capture
    ) -> None:
        (tmp_path / "run.json").write_text("{}")
        for word, told in (
            (
                "model=a,b",
                "which holds a single run, not a sweep. Continue it without -m.",
            ),
            ("run.name=${nowhere}", "error: Interpolation key 'nowhere' not found\n"),
        ):
            with pytest.raises(SystemExit) as ended:
                SweepCallback().on_multirun_start(composed(tmp_path, word))
            assert ended.value.code == 2
            assert told in capsys.readouterr().err

    def test_the_last_unfinished_sweep_is_found_apart_from_runs(self) -> None:
        fresh = "outputs/2026-01-03/00-00-00-sweep"
        with pytest.raises(ConfigError, match="no unfinished sweep"):
            output_folder("last", fresh)
        for folder, name in (
            ("2026-01-01/10-00-00-sweep", "sweep.json"),
            ("2026-01-02/10-00-00", "run.json"),
        ):
            (Path("outputs") / folder).mkdir(parents=True)
            (Path("outputs") / folder / name).write_text('{"status": "running"}')
        assert output_folder("last", fresh) == "outputs/2026-01-01/10-00-00-sweep"
        assert (
            output_folder("last", "outputs/2026-01-03/00-00-00")
            == "outputs/2026-01-02/10-00-00"
        )


def test_a_sweep_with_a_failing_job_reports_the_others_and_does_not_end_with_0(
    tmp_path: Path,
) -> None:
    rows = [
        {"id": str(n), "text": f"Conforme o Tema {n} do STF, porque sim."}
        for n in range(4)
    ]
    put(tmp_path / "good.jsonl", rows)
    (tmp_path / "bad.jsonl").write_text("not json", encoding="utf-8")
    settings = (
        "model=patterns dataset=texts dataset.path=good.jsonl,bad.jsonl analysis=none"
        " hydra.sweep.dir=swept"
    )
    first = multirun(tmp_path, *settings.split())
    assert first.returncode == 2, first.stderr
    assert "Traceback" not in first.stderr and "begins with 'not json'" in first.stdout
    assert (
        "\nJob 0, dataset.path=good.jsonl: No analysis" in first.stdout
        and f"{Path('swept/report.html')}\n" in first.stdout
        and str(tmp_path) not in first.stdout
    )
    assert first.stderr.rstrip().endswith("run.resume=swept")
    assert [job.status for job in read_jobs(tmp_path / "swept")] == [
        "finished",
        "failed",
    ]
    put(tmp_path / "bad.jsonl", rows[:1])
    again = multirun(tmp_path, *settings.split())
    assert again.returncode == 0, again.stderr
    assert "0 judged" in again.stderr  # the first job is answered from its journal
    assert [job.status for job in read_jobs(tmp_path / "swept")] == [
        "finished",
        "finished",
    ]
    assert exit_status() == 0  # of this process, which ran no job


def test_jobs_with_the_same_scores_are_told_apart_by_the_worth_of_their_uncertainty(
    tmp_path: Path,
) -> None:
    for number, (arm, informed) in enumerate(
        {"knowing": True, "guessing": False}.items()
    ):
        gain = {
            "calibration.review_gain": 1.0 if informed else 0.0,
            "calibration.judged": 24.0,
        }
        counts, headline = (
            {
                "calls": 72,
                "input_tokens": 240,
                "output_tokens": 24,
            },
            "calibration.review_gain",
        )
        write_job(
            tmp_path / str(number),
            [f"arm={arm}"],
            scored(80, 20),
            metrics=gain | counts,
            headline=headline,
        )
        doubting(1, informed).to_csv(
            tmp_path / str(number) / "items_calibration.csv", index=False
        )
    result = result_of(tmp_path)
    assert keys(result)[0].startswith("sweep.verdict_clear")
    tests = result.comparisons.set_index("measure")
    assert (
        tests.loc["review_gain", "difference"] > 0.5
        and tests.loc["review_gain", "p_holm"] < 0.05
    )
    assert (
        tests.loc["aurc", "difference"] < 0
        and tests.loc["review_gain", "shown"] == "better"
    )
    # The same for every text: nothing to describe, and what is described has no p-value.
    assert set(result.tables["described"]["measure"]) == {"width"}
    assert "p" not in result.tables["described"]
    # 24 independent texts; a run of its own gives no ECE below 30 either
    assert "ece" not in tests.index
    tested = [
        finding.values["measure"]
        for finding in result.findings
        if finding.key.startswith("sweep.pair_")
    ]
    assert sorted(tested) == ["aurc", "interval_score", "review_gain"]
    order = result.tables["worth_order"].set_index("name")
    assert order["review_gain_group"].to_dict() == {"knowing": "a", "guessing": "b"}
    costs = result.tables["costs"].set_index("name")
    assert (
        costs.loc["knowing", "calls_per_item"] == 3
        and costs.loc["knowing", "tokens_per_item"] == 11
    )
    curve = next(f for f in result.figures if f.name == "review")
    assert curve.data["n"] == 24 and list(curve.data["lines"]) == [
        "knowing",
        "guessing",
    ]
    assert said(result)


def test_costs_are_multiples_of_the_job_with_the_fewest_calls_and_the_cache_is_not_free(
    tmp_path: Path,
) -> None:
    for number, (judge, calls, seconds) in enumerate(
        [("debate", 72, 2.0), ("score", 24, 0.5), ("selective", 48, 1.0)]
    ):
        counts = {
            "calls": calls,
            "input_tokens": 10 * calls,
            "output_tokens": 2 * calls,
            "usd": 0.0,
        }
        trigger = {"costs.trigger_rate": 0.25} if judge == "selective" else {}
        frame = scored(80, 20).assign(seconds=seconds)
        write_job(
            tmp_path / "of" / str(number),
            [f"judge={judge}"],
            frame,
            metrics=counts | trigger,
            headline=None,
        )
    costs = result_of(tmp_path / "of").tables["costs"].set_index("name")
    assert costs["calls_ratio"].to_dict() == {
        "debate": 3.0,
        "score": 1.0,
        "selective": 2.0,
    }
    assert costs["seconds_ratio"].to_dict() == {
        "debate": 4.0,
        "score": 1.0,
        "selective": 2.0,
    }
    # nothing has no multiple
    assert costs["usd_per_item"].eq(0).all() and "usd_ratio" not in costs
    assert (
        costs.loc["selective", "trigger_rate"] == 0.25
        and costs.loc["score"].isna()["trigger_rate"]
    )
    asked = metrics(1.0, usd=0.0, input_tokens=2400, output_tokens=240)
    folder = tmp_path / "cached"
    write_job(folder / "0", ["judge=asked"], scored(80, 20), metrics=asked)
    answered = metrics(1.0, usd=0.0, calls=0, calls_cached=72)
    write_job(
        folder / "1",
        ["judge=cached"],
        scored(70, 20, seed=1).assign(seconds=0.001),
        metrics=answered,
    )
    result = result_of(folder)
    costs = result.tables["costs"].set_index("name")
    assert costs["calls_ratio"].to_dict() == {"asked": 1.0, "cached": 3.0}
    for quantity in ("tokens", "seconds", "usd"):
        assert costs[f"{quantity}_per_item"].isna().to_dict() == {
            "asked": False,
            "cached": True,
        }
    assert result.jobs.set_index("name")["seconds"].isna().to_dict() == {
        "asked": False,
        "cached": True,
    }
    assert "cached" in said(
        result
    ) and "unknown where there is no such judgment" in said(result)
