"""Judge and people on the traces of a run's items in MLflow."""

import json
import re
from pathlib import Path
from typing import Any

from tests.review.conftest import UNREADABLE, by_hand, configure, fill, judgment, line_rows, noted, say, traces
from undogmatic.records.records import Judgment, Verdict
from undogmatic.review.commands import export, import_labels
from undogmatic.safety.secrets import redacted


def _named(assessment: Any) -> tuple[str, str]:
    return assessment.name, assessment.source.source_id


# MLflow's own queries use an option that SQLAlchemy 2.1 deprecates.
class TestMlflow:
    def traces(self, run: str) -> dict[tuple[str, str], list[Any]]:
        """The assessments by (item, repeat), in the order of their names."""
        note = noted(run)
        found = traces(note, run_id=note["run_id"], max_results=100)
        by_key = {(one.tags["item"], one.tags["repeat"]): sorted(one.assessments, key=_named) for one in found}
        assert len(by_key) == len(found)
        return by_key

    def test_judge_and_humans_stand_side_by_side_on_the_items_trace(self, logged: str) -> None:
        assert "MLflow: on 2 traces." in export(logged)
        rows = line_rows()
        assert [row["item_id"] for row in rows] == ["i1", "i0"]
        said = [{"label": 60 + k, "labeller": who, "comment": "hm"} for k, who in enumerate("ab")]
        filled = [row | each for row in rows for each in said]
        assert "MLflow: on 3 traces." in import_labels(logged, fill(filled, "f.jsonl"))
        found = self.traces(logged)
        assert set(found) == {("i0", "0"), ("i0", "1"), ("i1", "0")}
        by_a, by_b, flag, score = found["i0", "0"]
        told = [(e.name, e.value, e.source.source_id) for e in (by_a, by_b)]
        assert told == [("human_label", 60, "a"), ("human_label", 61, "b")]
        assert (by_a.source.source_type, by_a.metadata["comment"]) == ("HUMAN", "hm")
        assert (flag.name, flag.value) == ("judge_flag", True)
        assert (score.name, score.value, score.rationale) == ("judge_score", 40, "só cita\nno reason")
        assert score.source.source_type == "LLM_JUDGE"
        assert (score.metadata["interval"], score.metadata["queue"]) == ("25 to 55", rows[0]["queue"])
        failure = found["i1", "0"][-1]
        assert (failure.value, failure.error.error_code) == (None, "refusal")

    def test_a_second_time_updates_what_is_there(self, logged: str) -> None:
        export(logged)
        export(logged, "again", everything=True)
        for label, file in ((60, "f.csv"), (60, "f.csv"), (70, "g.csv")):
            by_hand(logged, file, item_id="i0", label=label, labeller="a", revise=label == 70)
        human, flag, score = self.traces(logged)["i0", "0"]
        assert (human.value, human.metadata["file"], flag.value) == (70, "g.csv:2", True)
        assert score.metadata["queue"] == line_rows("again.jsonl")[0]["queue"]

    def test_redact_lets_no_text_into_the_store(self, logged: str) -> None:
        configure(logged, "redact: false", "redact: true")
        export(logged)
        by_hand(logged, item_id="i0", label=60, comment="tudo isto é segredo")
        stored = b"".join(file.read_bytes() for file in Path("mlruns").rglob("*") if file.is_file())
        for text in ("só cita", "no reason", "text 0", "tudo isto é segredo"):
            assert text.encode() not in stored and json.dumps(text)[1:-1].encode() not in stored
        assert redacted("text 0").encode() in stored

    def test_what_cannot_be_logged_is_said_and_the_files_are_there(self, logged: str) -> None:
        note = noted(logged)
        Path("broken.db").write_bytes(b"this is not a database" * 100)
        for name, change, said in UNREADABLE:
            noted(logged, **(note | change))
            assert re.search(said, export(logged, name))
        configure(logged, "traces: 200", "traces: 0")
        noted(logged, **note)
        assert "tracking.traces=0" in export(logged, "d")
        assert all(Path(f"{name}.csv").is_file() for name in "abcd")
        assert self.traces(logged) == {("i1", "0"): []}

    def test_a_label_given_as_feedback_is_updated_as_such(self, logged: str) -> None:
        export(logged)
        say(noted(logged), "i1", 60, "a", rationale="hm")
        by_hand(logged, item_id="i1", label=70, labeller="a")
        human, *_ = [a for a in self.traces(logged)["i1", "0"] if a.name == "human_label"]
        assert (human.feedback is not None, human.value, human.rationale) == (True, 70, "hm")
        assert "0 labels added, 1 were there already" in import_labels(logged)


def test_a_trace_keeps_its_id_when_a_record_gains_a_field_with_a_default() -> None:
    from undogmatic.tracking.traces import mark_of

    bare = judgment("a", Verdict(score=1))
    spelled_out = judgment("a", Verdict(score=1, review=False, issues=(), details={}))
    assert mark_of("1", bare) == mark_of("1", spelled_out)
    assert mark_of("1", bare) != mark_of("2", bare) != mark_of("2", judgment("a", Verdict(score=2)))
    assert mark_of("1", bare) == mark_of("1", Judgment.model_validate_json(bare.model_dump_json()))
