"""Judge and people on the traces of a run's items in MLflow."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.review.conftest import UNREADABLE, fill, judgment, line_rows, note_experiment, redact, say
from undogmatic.records.records import Judgment, Verdict
from undogmatic.review.commands import export, import_labels
from undogmatic.safety.secrets import redacted


# MLflow's own queries use an option that SQLAlchemy 2.1 deprecates.
class TestMlflow:
    def traces(self, run: str) -> dict[tuple[str, str], list[Any]]:
        """The assessments by (item, repeat), in the order of their names."""
        from mlflow import MlflowClient

        note = json.loads(Path(run, "mlflow.json").read_text())
        client = MlflowClient(note["uri"], note["uri"])
        where = {"locations": [note_experiment(note)], "run_id": note["run_id"]}
        found = [trace.info for trace in client.search_traces(**where, max_results=100)]
        by_key = {
            (info.tags["item"], info.tags["repeat"]): sorted(
                info.assessments, key=lambda a: (a.name, a.source.source_id)
            )
            for info in found
        }
        assert len(by_key) == len(found)
        return by_key

    def test_judge_and_humans_stand_side_by_side_on_the_items_trace(self, logged: str) -> None:
        assert "MLflow: on 2 traces." in export(logged)
        rows = line_rows()
        assert [row["item_id"] for row in rows] == ["i1", "i0"]
        filled = [
            row | {"label": 60 + k, "labeller": who, "comment": "hm"} for row in rows for k, who in enumerate("ab")
        ]
        assert "MLflow: on 3 traces." in import_labels(logged, fill(filled, "f.jsonl"))
        found = self.traces(logged)
        assert set(found) == {("i0", "0"), ("i0", "1"), ("i1", "0")}
        by_a, by_b, flag, score = found["i0", "0"]
        told = [(e.name, e.value, e.source.source_id) for e in (by_a, by_b)]
        assert told == [("human_label", 60, "a"), ("human_label", 61, "b")]
        assert by_a.source.source_type == "HUMAN"
        assert by_a.metadata["comment"] == "hm"
        assert (flag.name, flag.value) == ("judge_flag", True)
        assert (score.name, score.value, score.rationale) == ("judge_score", 40, "só cita\nno reason")
        assert score.source.source_type == "LLM_JUDGE"
        assert score.metadata["interval"] == "25 to 55"
        assert score.metadata["queue"] == rows[0]["queue"]
        failure = found["i1", "0"][-1]
        assert (failure.value, failure.error.error_code) == (None, "refusal")

    def test_a_second_time_updates_what_is_there(self, logged: str) -> None:
        export(logged)
        export(logged, "again", everything=True)
        filled = fill([{"item_id": "i0", "label": 60, "labeller": "a"}], "f.csv")
        import_labels(logged, filled)
        import_labels(logged, filled)
        import_labels(logged, fill([{"item_id": "i0", "label": 70, "labeller": "a"}], "g.csv"), revise=True)
        human, flag, score = self.traces(logged)["i0", "0"]
        assert (human.value, human.metadata["file"], flag.value) == (70, "g.csv:2", True)
        assert score.metadata["queue"] == line_rows("again.jsonl")[0]["queue"]

    def test_redact_lets_no_text_into_the_store(self, logged: str) -> None:
        redact(logged)
        export(logged)
        import_labels(logged, fill([{"item_id": "i0", "label": 60, "comment": "tudo isto é segredo"}], "f.csv"))
        stored = b"".join(file.read_bytes() for file in Path("mlruns").rglob("*") if file.is_file())
        for text in ("só cita", "no reason", "text 0", "tudo isto é segredo"):
            assert text.encode() not in stored
            assert json.dumps(text)[1:-1].encode() not in stored
        assert redacted("text 0").encode() in stored

    def test_what_cannot_be_logged_is_said_and_the_files_are_there(self, logged: str) -> None:
        note = Path(logged, "mlflow.json")
        noted = json.loads(note.read_text())
        Path("broken.db").write_bytes(b"this is not a database" * 100)
        for name, change, said in UNREADABLE:
            note.write_text(json.dumps(noted | change))
            assert re.search(said, export(logged, name))
        config = Path(logged, ".hydra", "config.yaml")
        config.write_text(config.read_text().replace("traces: 200", "traces: 0"))
        note.write_text(json.dumps(noted))
        assert "tracking.traces=0" in export(logged, "d")
        assert all(Path(f"{name}.csv").is_file() for name in "abcd")
        assert self.traces(logged) == {("i1", "0"): []}

    def test_a_label_given_as_feedback_is_updated_as_such(self, logged: str) -> None:
        export(logged)
        note = json.loads(Path(logged, "mlflow.json").read_text())
        say(note, "i1", 60, "a", rationale="hm")
        import_labels(logged, fill([{"item_id": "i1", "label": 70, "labeller": "a"}], "f.csv"))
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
