"""Judge and people on the traces of a run's items in MLflow, and labels that people gave there."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.review.conftest import (
    UNREADABLE,
    by_hand,
    configure,
    fill,
    judgment,
    line_rows,
    noted,
    say,
    trace_of,
    traces,
)
from undogmatic.cli.review import export, import_labels
from undogmatic.datasets.tabular import TextsDataset
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Judgment, Verdict
from undogmatic.review import labels
from undogmatic.safety.secrets import redacted


def _named(assessment: Any) -> tuple[str, str]:
    return assessment.name, assessment.source.source_id


# MLflow's own queries use an option that SQLAlchemy 2.1 deprecates.
class TestMlflow:
    def traces(self, run: str) -> dict[tuple[str, str], list[Any]]:
        """The assessments by (item, repeat), in the order of their names."""
        note = noted(run)
        found = traces(note, run_id=note["run_id"], max_results=100)
        by_key = {
            (one.tags["item"], one.tags["repeat"]): sorted(one.assessments, key=_named)
            for one in found
        }
        assert len(by_key) == len(found)
        return by_key

    def test_judge_and_humans_stand_side_by_side_on_the_items_trace(
        self, logged: str
    ) -> None:
        assert "MLflow: on 2 traces." in export(logged)
        rows = line_rows()
        assert [row["item_id"] for row in rows] == ["i1", "i0"]
        said = [
            {"label": 60 + k, "labeller": who, "comment": "hm"}
            for k, who in enumerate("ab")
        ]
        filled = [row | each for row in rows for each in said]
        assert "MLflow: on 3 traces." in import_labels(logged, fill(filled, "f.jsonl"))
        found = self.traces(logged)
        assert set(found) == {("i0", "0"), ("i0", "1"), ("i1", "0")}
        by_a, by_b, flag, score = found["i0", "0"]
        told = [(e.name, e.value, e.source.source_id) for e in (by_a, by_b)]
        assert told == [("human_label", 60, "a"), ("human_label", 61, "b")]
        assert (by_a.source.source_type, by_a.metadata["comment"]) == ("HUMAN", "hm")
        assert (flag.name, flag.value) == ("judge_flag", True)
        assert (score.name, score.value, score.rationale) == (
            "judge_score",
            40,
            "só cita\nno reason",
        )
        assert score.source.source_type == "LLM_JUDGE"
        assert (score.metadata["interval"], score.metadata["queue"]) == (
            "25 to 55",
            rows[0]["queue"],
        )
        failure = found["i1", "0"][-1]
        assert (failure.value, failure.error.error_code) == (None, "refusal")

    def test_a_second_time_updates_what_is_there(self, logged: str) -> None:
        export(logged)
        export(logged, "again", everything=True)
        for label, file in ((60, "f.csv"), (60, "f.csv"), (70, "g.csv")):
            by_hand(
                logged,
                file,
                item_id="i0",
                label=label,
                labeller="a",
                revise=label == 70,
            )
        human, flag, score = self.traces(logged)["i0", "0"]
        assert (human.value, human.metadata["file"], flag.value) == (
            70,
            "g.csv:2",
            True,
        )
        assert score.metadata["queue"] == line_rows("again.jsonl")[0]["queue"]

    def test_redact_lets_no_text_into_the_store(self, logged: str) -> None:
        configure(logged, "redact: false", "redact: true")
        export(logged)
        by_hand(logged, item_id="i0", label=60, comment="tudo isto é segredo")
        stored = b"".join(
            file.read_bytes() for file in Path("mlruns").rglob("*") if file.is_file()
        )
        for text in ("só cita", "no reason", "text 0", "tudo isto é segredo"):
            assert (
                text.encode() not in stored
                and json.dumps(text)[1:-1].encode() not in stored
            )
        assert redacted("text 0").encode() in stored

    def test_what_cannot_be_logged_is_said_and_the_files_are_there(
        self, logged: str
    ) -> None:
        note = noted(logged)
        Path("broken.db").write_bytes(b"this is not a database" * 100)
        for name, change, said in UNREADABLE:
            noted(logged, **(note | change))
            assert re.search(said, export(logged, name))
        configure(logged, "traces: 200", "traces: 0")
        noted(logged, **note)
        assert "tracking.traces=0" in export(logged, "d")
        assert all(Path(f"{name}.csv").is_file() for name in "abcd")
        # as it was logged with the run
        (said_of_it,) = self.traces(logged)[("i1", "0")]
        assert (said_of_it.name, said_of_it.metadata or {}) == ("judge_score", {})

    def test_a_label_given_as_feedback_is_updated_as_such(self, logged: str) -> None:
        export(logged)
        say(noted(logged), "i1", 60, "a", rationale="hm")
        by_hand(logged, item_id="i1", label=70, labeller="a")
        human, *_ = [
            a for a in self.traces(logged)["i1", "0"] if a.name == "human_label"
        ]
        assert (human.feedback is not None, human.value, human.rationale) == (
            True,
            70,
            "hm",
        )
        assert "0 labels added, 1 was there already" in import_labels(logged)


def test_a_trace_keeps_its_id_when_a_record_gains_a_field_with_a_default() -> None:
    from undogmatic.tracking.traces import mark_of

    bare = judgment("a", Verdict(score=1))
    spelled_out = judgment("a", Verdict(score=1, review=False, issues=(), details={}))
    assert mark_of("1", bare) == mark_of("1", spelled_out)
    assert (
        mark_of("1", bare)
        != mark_of("2", bare)
        != mark_of("2", judgment("a", Verdict(score=2)))
    )
    assert mark_of("1", bare) == mark_of(
        "1", Judgment.model_validate_json(bare.model_dump_json())
    )


Note = dict[str, str]


class TestFromMlflow:
    @pytest.fixture
    def note(self, logged: str) -> Note:
        """Where `logged` is, after all its three items were exported: i1 (failed), i0 and i2."""
        export(logged, everything=True)
        return noted(logged)

    def client(self, note: Note) -> Any:
        from mlflow.tracing.client import TracingClient

        return TracingClient(note["uri"])

    def correct(self, note: Note, trace: str) -> None:
        """Make the one label on a trace a 70, as the UI does."""
        from mlflow.entities import Expectation

        assessments = self.client(note).get_trace(trace).info.assessments
        (ours,) = [
            each.assessment_id for each in assessments if each.name == "human_label"
        ]
        self.client(note).update_assessment(trace, ours, Expectation("human_label", 70))

    def labels(self, run: str) -> list[tuple[str, float, str]]:
        return [
            (one.item_id, one.label, one.labeller) for one in labels.read(Path(run))
        ]

    def test_what_two_people_gave_comes_back_and_only_once(
        self, logged: str, note: Note
    ) -> None:
        first = say(note, "i0", 72.5, "ana", rationale="só cita")
        say(note, "i0", "60", "bo", kind="expectation")
        say(note, "i1", " 72,5 ", "ana", kind="expectation")
        said = import_labels(logged)
        for words in (
            "3 labels added, 1 row has no label",
            "2 of 3 judged items",
            "2 labellers: ana, bo",
        ):
            assert words in said
        assert sorted(self.labels(logged)) == [
            ("i0", 60, "bo"),
            ("i0", 72.5, "ana"),
            ("i1", 72.5, "ana"),
        ]
        (one,) = [
            one
            for one in labels.read(Path(logged))
            if (one.item_id, one.labeller) == ("i0", "ana")
        ]
        assert (one.comment, one.inclusion_probability, one.queue) == (
            "só cita",
            1,
            line_rows()[0]["queue"],
        )
        assert (one.store, one.trace, one.assessment) == (
            note["uri"],
            trace_of(note, "i0"),
            first.assessment_id,
        )
        assert one.file is None
        found = {
            item.id: item for item in TextsDataset(f"{logged}/labelled.jsonl").load()
        }
        assert {key: item.label for key, item in found.items()} == {
            "i0": 66.25,
            "i1": 72.5,
        }
        about = {"label_count": 2, "label_spread": 12.5, "inclusion_probability": 1}
        # a trace shows the score
        assert found["i0"].metadata == about | {"label_in_view": True}
        assert len(TextsDataset(f"{logged}/with_labels.jsonl").load()) == 3
        before = Path(logged, "labels.jsonl").read_bytes()
        assert "0 labels added, 3 were there already" in import_labels(logged)
        assert Path(logged, "labels.jsonl").read_bytes() == before

    def test_labels_that_a_file_brought_are_known(
        self, logged: str, note: Note
    ) -> None:
        rows = [
            {"item_id": "i0", "label": 7.5, "labeller": "ana"},
            {"item_id": "i1", "label": 10},
        ]
        import_labels(logged, fill(rows, "f.csv"), scale="0-10")
        # the two traces of i0 count once
        assert "0 labels added, 2 were there already" in import_labels(logged)
        say(note, "i2", 50, "bo")
        assert "1 label added, 2 were there already" in import_labels(
            logged, labeller="carla"
        )
        assert self.labels(logged) == [
            ("i0", 75, "ana"),
            ("i1", 100, "anonymous"),
            ("i2", 50, "bo"),
        ]

    def test_every_problem_is_named_by_trace_and_nothing_is_imported(
        self, logged: str, note: Note
    ) -> None:
        for item, value, who in (
            ("i0", 101, "ana"),
            ("i0", "muito", "bo"),
            ("i1", True, "ana"),
            ("i2", 50, "ana"),
        ):
            say(note, item, value, who)
        say(note, "i2", 60, "ana", kind="expectation")
        with pytest.raises(DataError, match=r"Nothing was imported\.$") as error:
            import_labels(logged)
        first, failed, sure_one = (
            f"trace {trace_of(note, item)} (item {item})" for item in ("i0", "i1", "i2")
        )
        for said in (
            f"{first}: `label` is 101, outside 0-100 of rubric=toy",
            f"{first}: `label` is 'muito', not a number (0-100)",
            f"{failed}: `label` is True, not a number (0-100)",
            f"{sure_one}: 'ana' labels the item 'i2' 60, but 50 at {sure_one}. Delete one",
        ):
            assert said in str(error.value)
        assert not Path(logged, "labels.jsonl").exists()

    def test_labels_on_another_scale_are_refused_and_mapped_when_named(
        self, logged: str, note: Note
    ) -> None:
        by_hand(logged, item_id="i2", label=90, labeller="ana")
        say(note, "i0", 7.5, "ana")
        with pytest.raises(
            DataError,
            match=r"human_label in sqlite.*all 1 labels lie .* --scale 0-10 maps them",
        ):
            import_labels(logged)
        # the 90, which is known, is on the rubric's scale
        import_labels(logged, scale="0-10")
        assert self.labels(logged) == [("i2", 90, "ana"), ("i0", 75, "ana")]
        for again in ("0-10", None):
            assert "0 labels added, 2 were there already" in import_labels(
                logged, scale=again
            )

    def test_a_label_corrected_in_the_ui_must_be_meant(
        self, logged: str, note: Note
    ) -> None:
        by_hand(logged, item_id="i1", label=60, labeller="ana")
        self.correct(note, trace_of(note, "i1"))
        with pytest.raises(
            DataError,
            match=r"'ana' labels the item 'i1' 70, but 60 before \(f.csv:2.*--revise",
        ):
            import_labels(logged)
        assert self.labels(logged) == [("i1", 60, "ana")]
        assert "1 label added" in import_labels(logged, revise=True)
        assert self.labels(logged) == [("i1", 70, "ana")]
        assert "0 labels added, 1 was there already" in import_labels(logged)

    def test_a_correction_of_one_of_two_repeats_is_pointed_out(
        self, logged: str, note: Note
    ) -> None:
        by_hand(logged, item_id="i0", label=60, labeller="ana")
        self.correct(note, trace_of(note, "i0", 1))
        with pytest.raises(
            DataError, match=f"70, but 60 at trace {trace_of(note, 'i0')}"
        ):
            import_labels(logged, revise=True)

    @pytest.mark.parametrize("nobody", [None, "default"])
    def test_a_nameless_label_keeps_its_labeller_if_changed(
        self, logged: str, note: Note, nobody: str | None
    ) -> None:
        first = say(note, "i0", 60, nobody)
        import_labels(logged, labeller="ana")
        second = say(note, "i0", 65, nobody, overrides=first.assessment_id)
        say(note, "i0", 70, nobody, overrides=second.assessment_id)
        with pytest.raises(
            DataError, match="'ana' labels the item 'i0' 70, but 60 before"
        ):
            import_labels(logged)
        import_labels(logged, revise=True)
        say(note, "i2", 80, nobody)
        assert "1 label added, 1 was there already" in import_labels(logged)
        assert self.labels(logged) == [("i0", 70, "ana"), ("i2", 80, "anonymous")]

    def test_what_was_overridden_or_deleted_in_time_does_not_come(
        self, logged: str, note: Note
    ) -> None:
        first = say(note, "i0", "nonsense", "ana")
        say(note, "i0", 70, "bo", overrides=first.assessment_id)
        before, after = say(note, "i1", 500, "ana"), say(note, "i2", 50, "ana")
        self.client(note).delete_assessment(before.trace_id, before.assessment_id)
        assert "not there any more" not in import_labels(logged)
        self.client(note).delete_assessment(after.trace_id, after.assessment_id)
        said = import_labels(logged)
        assert (
            "1 label that came from MLflow is not there any more and still counts: trace"
            f" {after.trace_id}" in said
        )
        assert self.labels(logged) == [("i0", 70, "bo"), ("i2", 50, "ana")]

    def test_other_assessments_of_people_are_counted_and_those_of_machines_not(
        self, logged: str, note: Note
    ) -> None:
        say(note, "i0", "odd", "ana", name="tone")
        say(note, "i1", "fine", "bo", name="tone")
        say(note, "i0", 41, "ana", name="judge_score")
        said = import_labels(logged)
        assert (
            "0 labels added" in said
            and "No person's `human_label` is on the 3 traces" in said
        )
        assert (
            "Other human assessments, not imported: judge_score (1), tone (2)." in said
        )
        assert not Path(logged, "labels.jsonl").exists()

    def test_random_items_keep_their_probability_in_full_and_half_of_them_is_too_few(
        self, logged: str
    ) -> None:
        export(logged, "drawn", budget=0, random=2)
        note = noted(logged)
        drawn = [row["item_id"] for row in line_rows("drawn.jsonl")]
        say(note, drawn[0], 50, "ana")
        say(note, drawn[0], 55, "bo")
        assert "Only 1 of 2 random rows have a label" in import_labels(logged)
        say(note, drawn[1], 60, "ana", kind="expectation")
        assert "Only" not in import_labels(logged)
        assert {one.inclusion_probability for one in labels.read(Path(logged))} == {
            2 / 3
        }
        found = TextsDataset(f"{logged}/labelled.jsonl").load()
        assert [item.metadata["inclusion_probability"] for item in found] == [
            2 / 3,
            2 / 3,
        ]

    def test_a_label_on_the_trace_of_another_repeat_has_the_items_probability(
        self, logged: str, note: Note
    ) -> None:
        by_hand(logged, item_id="i0", label=60, labeller="bo")  # traces the repeat
        say(note, "i0", 50, "ana", repeat=1)
        import_labels(logged)
        (one,) = [one for one in labels.read(Path(logged)) if one.labeller == "ana"]
        assert one.inclusion_probability == 1

    def test_a_label_older_than_the_items_last_export_has_no_probability(
        self, logged: str, note: Note
    ) -> None:
        say(note, "i0", 50, "ana")
        export(logged, "later", budget=0, random=3)
        say(note, "i1", 50, "ana")
        assert "no inclusion probability" in import_labels(logged)
        assert {
            one.item_id: one.inclusion_probability for one in labels.read(Path(logged))
        } == {
            "i0": None,
            "i1": 1,
        }

    def test_a_redacted_run_gives_its_labels_back_and_nothing_is_written_there(
        self, logged: str
    ) -> None:
        configure(logged, "redact: false", "redact: true")
        export(logged)
        say(noted(logged), "i0", 60, "ana", rationale="sem motivo")
        by_hand(logged, item_id="i1", label=80, labeller="bo", comment="segredo")
        stored = Path("mlruns/mlflow.db").read_bytes()
        import_labels(logged)
        comments = {one.item_id: one.comment for one in labels.read(Path(logged))}
        assert comments == {"i1": "segredo", "i0": "sem motivo"}
        assert Path("mlruns/mlflow.db").read_bytes() == stored
        assert b"segredo" not in stored and b"text 0" not in stored

    def test_what_cannot_be_read_is_said(
        self, logged: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        note = noted(logged)
        Path("broken.db").write_bytes(b"this is not a database" * 100)
        silent = ("a server", {"uri": "http://127.0.0.1:9"}, r"http://127\.0\.0\.1:9")
        for _, change, said in (*UNREADABLE, silent):
            noted(logged, **(note | change))
            with pytest.raises(
                ConfigError, match=f"nothing was imported .* cannot be read.*{said}"
            ):
                import_labels(logged)
        Path(logged, "mlflow.json").unlink()
        with pytest.raises(ConfigError, match="was not logged to MLflow"):
            import_labels(logged)

    def test_a_run_without_traces_is_told_how_to_get_them(self, logged: str) -> None:
        note = noted(logged)
        (info,) = traces(note)
        self.client(note).delete_traces(info.experiment_id, trace_ids=[info.trace_id])
        with pytest.raises(
            ConfigError, match=r"it has no traces in .*undogmatic review export"
        ):
            import_labels(logged)
