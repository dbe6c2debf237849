"""The review queue: which items are listed, in which order, and what is refused."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examinations.builders import made_up
from tests.examinations.builders import rubric as hundred
from tests.review.conftest import (
    MakeRun,
    Outcome,
    judgment,
    line_rows,
    sheet_rows,
    sure,
)
from undogmatic.cli.review import export
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.calibration import CalibrationAnalysis
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import tabulate
from undogmatic.records.records import Failure, Item, ScoreDistribution, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.review import queue
from undogmatic.safety.secrets import redacted

LEVELS = st.sampled_from(["low", "high", None])


class TestSelect:
    def draw(self, outcomes: Sequence[Outcome], **changes: Any) -> queue.Queue:
        options: dict[str, Any] = {
            "budget": None,
            "everything": False,
            "random": 0,
            "rng": np.random.default_rng(0),
        }
        items = [Item(id=f"i{k}", text="text") for k in range(len(outcomes))]
        judgments = [
            judgment(item.id, outcome)
            for item, outcome in zip(items, outcomes, strict=True)
        ]
        return queue.select(
            items, {each.key: each for each in judgments}, **(options | changes)
        )

    def ids(self, chosen: queue.Queue) -> list[str]:
        return [entry.judgment.item_id for entry in chosen.entries]

    def test_failures_first_then_the_widest_of_the_flagged(self) -> None:
        failure = Failure(reason="refusal", message="")
        outcomes = [
            sure(10, review=True),
            sure(90),
            sure(30, uncertainty="high"),
            failure,
        ]
        chosen = self.draw(outcomes)
        found = [("i3", "failed", None), ("i2", "flagged", 30), ("i0", "flagged", 10)]
        assert [(e.judgment.item_id, e.why, e.value) for e in chosen.entries] == found
        assert chosen.order == "width"

    def test_all_ranks_the_others_too(self) -> None:
        chosen = self.draw([sure(10, review=True), sure(90)], everything=True)
        assert [(e.judgment.item_id, e.why) for e in chosen.entries] == [
            ("i1", "unflagged"),
            ("i0", "flagged"),
        ]

    def test_confidence_counts_where_not_every_candidate_has_an_interval(self) -> None:
        outcomes = [
            Verdict(score=1, confidence=80),
            sure(90, confidence=95),
            Verdict(score=1, confidence=20),
        ]
        chosen = self.draw(outcomes, everything=True)
        assert (self.ids(chosen), chosen.order) == (["i2", "i0", "i1"], "confidence")
        assert chosen.entries[0].value == 80

    def test_the_level_counts_last_and_ties_keep_the_order_of_the_dataset(self) -> None:
        levels = ["low", "high", "medium", "high"]
        chosen = self.draw(
            [Verdict(score=1, uncertainty=u) for u in levels], everything=True
        )
        assert (self.ids(chosen), chosen.order) == (["i1", "i3", "i2", "i0"], "level")
        chosen = self.draw(
            [Verdict(score=1), Verdict(score=99, review=True)], everything=True
        )
        assert (self.ids(chosen), chosen.order) == (
            ["i0", "i1"],
            None,
        ), "without any measure nothing is claimed"

    def test_the_procedures_own_doubt_comes_before_the_interval(self) -> None:
        chosen = self.draw([sure(10, doubt=0.9), sure(90, doubt=0.1)], everything=True)
        assert (self.ids(chosen), chosen.order) == (["i0", "i1"], "procedure")

    @given(
        st.lists(
            st.tuples(*[st.none() | st.integers(0, 2)] * 4, LEVELS),
            min_size=10,
            max_size=14,
        )
    )
    @settings(max_examples=30, deadline=None)
    def test_the_measure_is_the_one_of_calibration(
        self, rows: list[tuple[Any, ...]]
    ) -> None:
        verdicts: list[Outcome] = []
        for k, (doubt, width, confidence, p, level) in enumerate(rows):
            interval = None if width is None else (0.0, float(width))
            odds = (
                None
                if p is None
                else ScoreDistribution(values=(0, 1), probabilities=(p / 2, 1 - p / 2))
            )
            fields = {
                "doubt": doubt,
                "interval": interval,
                "confidence": confidence,
                "uncertainty": level,
            }
            verdicts.append(
                Verdict(score=float(10 * k % 100), distribution=odds, **fields)
            )
        items = [
            Item(id=f"i{k}", text=made_up(9, str(k)), label=50.0)
            for k in range(len(verdicts))
        ]
        judged = RunEvidence(
            tabulate(items, [judgment(f"i{k}", v) for k, v in enumerate(verdicts)], 1),
            hundred(),
        )
        (result,) = CalibrationAnalysis(resamples=100)(judged, np.random.default_rng(0))
        used = [
            f.values["measure"]
            for f in result.findings
            if f.key == "calibration.measure"
        ]
        assert [self.draw(verdicts, everything=True).order] == (used or [None])

    def test_each_remaining_item_is_drawn_with_the_probability_stated(self) -> None:
        outcomes = [sure(width) for width in range(10)]
        drawn: list[str] = []
        for seed in range(200):
            chosen = self.draw(
                outcomes,
                everything=True,
                budget=2,
                random=2,
                rng=np.random.default_rng(seed),
            )
            assert self.ids(chosen)[:2] == ["i9", "i8"]
            assert [e.inclusion for e in chosen.entries] == [1, 1, 0.25, 0.25]
            drawn += self.ids(chosen)[2:]
        shares = [drawn.count(f"i{k}") / 200 for k in range(10)]
        assert shares[8:] == [0, 0]
        # four standard errors
        assert shares[:8] == pytest.approx([0.25] * 8, abs=0.125)

    def test_more_random_rows_than_items_left_takes_them_all_with_certainty(
        self,
    ) -> None:
        chosen = self.draw([sure(1), sure(2, review=True)], random=9)
        assert sorted(self.ids(chosen)) == ["i0", "i1"]
        assert {e.inclusion for e in chosen.entries} == {1.0}

    @pytest.mark.parametrize("name", ["budget", "random"])
    def test_negative_numbers_are_refused(self, name: str) -> None:
        with pytest.raises(ConfigError, match=f"--{name} is -1"):
            self.draw([sure(1)], **{name: -1})


class TestExport:
    def test_the_measure_is_named_where_it_is_read(self, make_run: MakeRun) -> None:
        said = export(
            str(make_run([sure(20, review=True, doubt=0.25), sure(5, doubt=0.125)]))
        )
        assert (
            "Most uncertain first, by procedure: the measure that analysis=calibration takes too."
            in said
        )
        assert [
            (row["uncertainty_by"], row["uncertainty_value"]) for row in line_rows()
        ] == [("procedure", 0.25)]

    def test_scores_have_the_precision_of_their_scale_categories_names(
        self, make_run: MakeRun, yes_no: Rubric
    ) -> None:
        export(
            str(
                make_run(
                    [Verdict(score=33.333333, interval=(1 / 3, 66.6), review=True)],
                    folder="a",
                )
            ),
            "of_a",
        )
        (row,) = line_rows("of_a.jsonl")
        assert [row[key] for key in ("score", "low", "high")] == [33, 0, 67]
        verdict = Verdict(score=1.0, category="yes", interval=(0.0, 1.0), review=True)
        said = export(str(make_run([verdict], folder="b", rubric=yes_no)), "of_b")
        (cells,) = sheet_rows("of_b.csv")
        assert [cells[key] for key in ("score", "low", "high")] == ["yes", "no", "yes"]
        assert "Fill in `label` (no / yes, rubric toy)" in said

    def test_both_files_hold_the_same_rows_ready_to_fill_in(
        self, make_run: MakeRun
    ) -> None:
        words: dict[str, Any] = {"rationale": "cites only", "issues": ("a", "b")}
        words["details"] = {"rules_fired": "overall, gap"}
        verdict = sure(20, review=True, confidence=30, uncertainty="high", **words)
        run = make_run(
            [verdict, sure(5), Failure(reason="unparseable", message="not JSON")]
        )
        said = export(str(run))
        first, second = line_rows()
        assert (first["item_id"], first["failure"], first["score"]) == (
            "i2",
            "unparseable: not JSON",
            None,
        )
        assert (second["text"], second["score"], second["low"], second["high"]) == (
            "text 0",
            40,
            30,
            50,
        )
        assert (second["rationale"], second["issues"]) == ("cites only", ["a", "b"])
        assert second["rules"] == ["overall", "gap"]
        assert (
            second["rank"],
            second["inclusion_probability"],
            second["condition"],
        ) == (2, 1, "c")
        assert (second["uncertainty_value"], second["uncertainty_by"]) == (20, "width")
        assert (second["label"], second["labeller"], second["comment"]) == (
            None,
            None,
            None,
        )
        cells = sheet_rows()[1]
        assert (cells["item_id"], cells["text"], cells["issues"], cells["label"]) == (
            "i0",
            "text 0",
            "a | b",
            "",
        )
        assert "2 of 3 judged items (1 failed, 1 flagged)" in said
        assert "--random N" in said
        assert "MLflow: skipped, because this run was not logged to MLflow" in said

    def test_redact_leaves_no_text(self, make_run: MakeRun) -> None:
        secret = "ninguém deve ler isto"
        verdict = sure(
            20,
            review=True,
            rationale=f"diz {secret}",
            issues=(secret,),
            details={"rules_fired": "gap"},
        )
        run = make_run([verdict], [Item(id="a", text=secret)])
        export(str(run), redact=True)
        assert (
            secret.encode()
            not in Path("queue.csv").read_bytes() + Path("queue.jsonl").read_bytes()
        )
        (row,) = line_rows()
        assert (row["text"], row["rules"]) == (redacted(secret), ["gap"])

    def test_an_item_judged_repeatedly_has_one_row_that_shows_the_flagged_judgment(
        self, make_run: MakeRun
    ) -> None:
        again = [judgment("i1", sure(50, review=True), 1), judgment("i0", sure(1), 1)]
        export(str(make_run([sure(1), sure(1)], repeats=again)))
        assert [(row["item_id"], row["repeat"], row["low"]) for row in line_rows()] == [
            ("i1", 1, 15)
        ]

    def test_a_queue_is_never_overwritten_and_nothing_flagged_writes_none(
        self, make_run: MakeRun
    ) -> None:
        assert "Nothing is flagged" in export(str(make_run([sure(1)], folder="calm")))
        assert not Path("queue.csv").exists()
        run = str(make_run([sure(1, review=True)]))
        export(run)
        Path("queue.jsonl").unlink()
        before = Path("queue.csv").read_bytes()
        with pytest.raises(ConfigError, match=r"queue\.csv exists: it may hold labels"):
            export(run)
        assert (
            Path("queue.csv").read_bytes() == before
            and not Path("queue.jsonl").exists()
        )

    def test_what_is_no_run_or_no_longer_over_its_dataset_is_said(
        self, tmp_path: Path, make_run: MakeRun
    ) -> None:
        run = make_run([sure(1, review=True)])
        (tmp_path / "run.jsonl").write_text('{"id": "i0", "text": "another"}\n')
        with pytest.raises(DataError, match="has changed since it was judged"):
            export(str(run))
        with pytest.raises(ConfigError, match="which is not a folder"):
            export("nowhere")
        make_run([sure(1)], folder="sweep/0")
        (tmp_path / "sweep" / "sweep.json").write_text("{}")
        with pytest.raises(ConfigError, match=r"folder of a sweep.*sweep/0"):
            export("sweep")
        shutil.rmtree(tmp_path / "sweep" / "0" / ".hydra")
        with pytest.raises(ConfigError, match=r"it lacks \.hydra/config\.yaml"):
            export("sweep/0")
