"""The review queue: what is listed, what comes back, and what is refused; with and without MLflow."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from undogmatic.cli import main
from undogmatic.datasets.tabular import TextsDataset
from undogmatic.errors import ConfigError, DataError
from undogmatic.records import Cost, Failure, Item, Judgment, Provenance, Rubric, Verdict, items_digest
from undogmatic.review import labels, queue
from undogmatic.review.commands import export, import_from_mlflow, import_labels
from undogmatic.tracking.hide import redacted

PROVENANCE = Provenance(
    model="fake-chat", readout="structured", prompt="toy", prompt_hash="p", program_hash="g", config_hash="c"
)
Outcome = Verdict | Failure


def judgment(item: str, outcome: Outcome, repeat: int = 0) -> Judgment:
    return Judgment(
        item_id=item, repeat=repeat, judge="score", outcome=outcome, cost=Cost(calls=1), provenance=PROVENANCE
    )


def sure(width: float, **more: Any) -> Verdict:
    return Verdict(score=40.0, interval=(40 - width / 2, 40 + width / 2), **more)


MakeRun = Callable[..., Path]


@pytest.fixture
def make_run(tmp_path: Path, rubric: Rubric) -> MakeRun:
    """A run's folder as `undogmatic.run` leaves it: one item per outcome."""

    def make(
        outcomes: Sequence[Outcome], items: Sequence[Item] = (), folder: str = "run", repeats: Sequence[Judgment] = ()
    ) -> Path:
        items = items or [Item(id=f"i{k}", text=f"text {k}", condition="c") for k in range(len(outcomes))]
        path = tmp_path / folder
        (path / ".hydra").mkdir(parents=True)
        data = tmp_path / f"{folder}.jsonl"
        # Not TextsDataset's own reading of CSV or numbers: JSON keeps every text as it is.
        data.write_text("".join(i.model_dump_json(exclude_none=True, exclude={"metadata"}) + "\n" for i in items))
        config = {
            "rubric": {"_target_": "undogmatic.records.Rubric", **rubric.model_dump(mode="json")},
            "dataset": {"_target_": "undogmatic.datasets.tabular.TextsDataset", "path": data.name},
            "tracking": {"uri": None, "redact": False, "traces": 200},
            "run": {"limit": None},
        }
        (path / ".hydra" / "config.yaml").write_text(yaml.safe_dump(config))
        (path / ".hydra" / "hydra.yaml").write_text(yaml.safe_dump({"hydra": {"runtime": {"cwd": str(tmp_path)}}}))
        loaded = TextsDataset(str(data)).load()
        facts = {"started": 1_800_000_000.0, "dataset_digest": items_digest(loaded)}
        (path / "run.json").write_text(json.dumps(facts))
        made = [judgment(i.id, outcome) for i, outcome in zip(items, outcomes, strict=True)]
        journal = "".join(j.model_dump_json() + "\n" for j in [*made, *repeats])
        (path / "judgments.jsonl").write_text(journal, encoding="utf-8")
        return path

    return make


def sheet_rows(path: str = "queue.csv") -> list[dict[str, str]]:
    before = csv.field_size_limit(10**9)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))
    finally:
        csv.field_size_limit(before)


def line_rows(path: str = "queue.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_bytes().splitlines()]


def fill(rows: Sequence[dict[str, Any]], path: str, delimiter: str = ",") -> str:
    """Write rows back as a person's spreadsheet or script would."""
    if path.endswith(".jsonl"):
        Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


class TestSelect:
    def draw(self, outcomes: Sequence[Outcome], **changes: Any) -> queue.Queue:
        options: dict[str, Any] = {"budget": None, "everything": False, "random": 0, "rng": np.random.default_rng(0)}
        judgments = [judgment(f"i{k}", outcome) for k, outcome in enumerate(outcomes)]
        return queue.select(judgments, **(options | changes))

    def ids(self, chosen: queue.Queue) -> list[str]:
        return [entry.judgment.item_id for entry in chosen.entries]

    def test_failures_first_then_the_widest_of_the_flagged(self) -> None:
        outcomes = [
            sure(10, review=True),
            sure(90),
            sure(30, uncertainty="high"),
            Failure(reason="refusal", message=""),
        ]
        chosen = self.draw(outcomes)
        assert self.ids(chosen) == ["i3", "i2", "i0"]
        assert [(e.why, e.value) for e in chosen.entries] == [("failed", None), ("flagged", 30), ("flagged", 10)]
        assert chosen.measure == "interval width"

    def test_all_ranks_the_others_too(self) -> None:
        chosen = self.draw([sure(10, review=True), sure(90)], everything=True)
        assert self.ids(chosen) == ["i1", "i0"]
        assert [e.why for e in chosen.entries] == ["unflagged", "flagged"]

    def test_confidence_counts_where_not_every_candidate_has_an_interval(self) -> None:
        outcomes = [Verdict(score=1, confidence=80), sure(90, confidence=95), Verdict(score=1, confidence=20)]
        chosen = self.draw(outcomes, everything=True)
        assert self.ids(chosen) == ["i2", "i0", "i1"]
        assert chosen.measure == "100 - confidence"
        assert chosen.entries[0].value == 80

    def test_the_level_counts_last_and_ties_keep_the_order_of_the_dataset(self) -> None:
        levels = ["low", "high", "medium", "high"]
        chosen = self.draw([Verdict(score=1, uncertainty=u) for u in levels], everything=True)
        assert self.ids(chosen) == ["i1", "i3", "i2", "i0"]
        assert chosen.measure == "level"

    def test_without_any_uncertainty_nothing_is_claimed(self) -> None:
        chosen = self.draw([Verdict(score=1), Verdict(score=99, review=True)], everything=True)
        assert self.ids(chosen) == ["i0", "i1"]
        assert chosen.measure is None

    def test_each_remaining_item_is_drawn_with_the_probability_stated(self) -> None:
        outcomes = [sure(width) for width in range(10)]
        drawn: list[str] = []
        for seed in range(2000):
            chosen = self.draw(outcomes, everything=True, budget=2, random=2, rng=np.random.default_rng(seed))
            assert self.ids(chosen)[:2] == ["i9", "i8"]
            assert [e.inclusion for e in chosen.entries] == [1, 1, 0.25, 0.25]
            drawn += self.ids(chosen)[2:]
        shares = [drawn.count(f"i{k}") / 2000 for k in range(10)]
        assert shares[8:] == [0, 0]
        assert shares[:8] == pytest.approx([0.25] * 8, abs=0.04)  # four standard errors

    def test_more_random_rows_than_items_left_takes_them_all_with_certainty(self) -> None:
        chosen = self.draw([sure(1), sure(2, review=True)], random=9)
        assert sorted(self.ids(chosen)) == ["i0", "i1"]
        assert {e.inclusion for e in chosen.entries} == {1.0}

    def test_negative_numbers_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="--budget is -1"):
            self.draw([sure(1)], budget=-1)
        with pytest.raises(ConfigError, match="--random is -2"):
            self.draw([sure(1)], random=-2)


class TestExport:
    def test_both_files_hold_the_same_rows_ready_to_fill_in(self, make_run: MakeRun) -> None:
        verdict = sure(
            20,
            review=True,
            confidence=30,
            uncertainty="high",
            rationale="cites only",
            issues=("a", "b"),
            details={"rules_fired": "overall, gap"},
        )
        run = make_run([verdict, sure(5), Failure(reason="unparseable", message="not JSON")])
        said = export(str(run))
        first, second = line_rows()
        assert (first["item_id"], first["failure"], first["score"]) == ("i2", "unparseable: not JSON", None)
        assert (second["text"], second["score"], second["low"], second["high"]) == ("text 0", 40, 30, 50)
        assert (second["rationale"], second["issues"], second["rules"]) == (
            "cites only",
            ["a", "b"],
            ["overall", "gap"],
        )
        assert (second["rank"], second["inclusion_probability"], second["condition"]) == (2, 1, "c")
        assert (second["uncertainty_value"], second["uncertainty_by"]) == (20, "interval width")
        assert (second["label"], second["labeller"], second["comment"]) == (None, None, None)
        cells = sheet_rows()[1]
        assert (cells["item_id"], cells["text"], cells["issues"], cells["label"]) == ("i0", "text 0", "a | b", "")
        assert "2 of 3 judged items (1 failed, 1 flagged)" in said
        assert "--random N" in said
        assert "MLflow: skipped, because this run was not logged there" in said

    def test_redact_leaves_no_text(self, make_run: MakeRun) -> None:
        secret = "ninguém deve ler isto"
        verdict = sure(20, review=True, rationale=f"diz {secret}", issues=(secret,), details={"rules_fired": "gap"})
        run = make_run([verdict], [Item(id="a", text=secret)])
        export(str(run), redact=True)
        written = Path("queue.csv").read_text(encoding="utf-8") + Path("queue.jsonl").read_text(encoding="utf-8")
        assert secret not in written
        assert line_rows()[0]["text"] == redacted(secret)
        assert line_rows()[0]["rules"] == ["gap"]

    def test_an_item_judged_repeatedly_has_one_row_that_shows_the_flagged_judgment(self, make_run: MakeRun) -> None:
        run = make_run(
            [sure(1), sure(1)], repeats=[judgment("i1", sure(50, review=True), 1), judgment("i0", sure(1), 1)]
        )
        export(str(run))
        assert [(row["item_id"], row["repeat"], row["low"]) for row in line_rows()] == [("i1", 1, 15)]

    def test_a_queue_is_never_overwritten(self, make_run: MakeRun) -> None:
        run = str(make_run([sure(1, review=True)]))
        export(run)
        Path("queue.jsonl").unlink()
        before = Path("queue.csv").read_bytes()
        with pytest.raises(ConfigError, match=r"queue\.csv exists: it may hold labels"):
            export(run)
        assert Path("queue.csv").read_bytes() == before
        assert not Path("queue.jsonl").exists()

    def test_nothing_flagged_writes_nothing(self, make_run: MakeRun) -> None:
        assert "Nothing is flagged" in export(str(make_run([sure(1)])))
        assert not Path("queue.csv").exists()

    def test_a_dataset_that_changed_is_refused(self, make_run: MakeRun, tmp_path: Path) -> None:
        run = make_run([sure(1, review=True)])
        (tmp_path / "run.jsonl").write_text('{"id": "i0", "text": "another"}\n')
        with pytest.raises(DataError, match="has changed since it was judged"):
            export(str(run))

    def test_what_is_no_run_is_said(self, tmp_path: Path, make_run: MakeRun) -> None:
        with pytest.raises(ConfigError, match="which is not a folder"):
            export("nowhere")
        make_run([sure(1)], folder="sweep/0")
        (tmp_path / "sweep" / "sweep.json").write_text("{}")
        with pytest.raises(ConfigError, match=r"folder of a sweep.*sweep/0"):
            export("sweep")
        shutil.rmtree(tmp_path / "sweep" / "0" / ".hydra")
        with pytest.raises(ConfigError, match=r"no \.hydra/config\.yaml"):
            export("sweep/0")


class TestImport:
    @pytest.fixture
    def run(self, make_run: MakeRun) -> str:
        run = make_run([sure(k, review=True) for k in range(4)])
        export(str(run))
        return str(run)

    @pytest.mark.parametrize("file", ["filled.csv", "filled.jsonl"])
    def test_labels_come_back_with_where_they_are_from(self, run: str, file: str) -> None:
        rows = sheet_rows() if file.endswith("csv") else line_rows()
        rows[0] |= {"label": 72.5, "labeller": "ana", "comment": "só cita"}
        rows[2] |= {"label": 10, "labeller": "bruno"}
        said = import_labels(run, fill(rows, file))
        first, second = labels.read(Path(run))
        assert (first.item_id, first.label, first.labeller, first.comment) == ("i3", 72.5, "ana", "só cita")
        assert (first.file, first.line, first.inclusion_probability) == (file, 2 if "csv" in file else 1, 1.0)
        assert first.queue == rows[0]["queue"]
        assert (second.item_id, second.label, second.comment) == ("i1", 10, None)
        assert "2 labels added, 2 rows have no label" in said
        assert "2 of 4 judged items" in said
        assert "MLflow: skipped" in said

    def test_a_spreadsheet_with_semicolons_may_write_decimal_commas(self, run: str) -> None:
        rows = sheet_rows()
        rows[0] |= {"label": "72,5"}
        import_labels(run, fill(rows, "filled.csv", delimiter=";"), labeller="ana")
        assert [(one.label, one.labeller) for one in labels.read(Path(run))] == [(72.5, "ana")]

    def test_several_labellers_and_the_mean_goes_to_the_dataset_files(self, run: str) -> None:
        rows = [{"item_id": "i0", "label": 30, "labeller": "ana"}, {"item_id": "i0", "label": 50, "labeller": "bo"}]
        said = import_labels(run, fill(rows, "own.csv"))
        assert "1 of 4 judged items" in said
        assert "2 labellers: ana, bo" in said
        assert "no inclusion probability" in said
        everything = TextsDataset(f"{run}/with_labels.jsonl").load()
        assert [(item.id, item.label) for item in everything] == [("i0", 40), ("i1", None), ("i2", None), ("i3", None)]
        (only,) = TextsDataset(f"{run}/labelled.jsonl").load()
        assert (only.text, only.condition) == ("text 0", "c")
        assert only.metadata == {"label_count": 2, "label_spread": 20}

    def test_importing_twice_adds_nothing_and_a_correction_must_be_meant(self, run: str) -> None:
        filled = fill([{"item_id": "i0", "label": 30, "labeller": "ana"}], "own.csv")
        import_labels(run, filled)
        assert "0 labels added, 1 were there already" in import_labels(run, filled)
        corrected = fill([{"item_id": "i0", "label": 35, "labeller": "ana"}], "corrected.csv")
        with pytest.raises(DataError, match=r"corrected\.csv:2: 'ana' labels .* 35, but 30 before \(own\.csv:2"):
            import_labels(run, corrected)
        import_labels(run, corrected, revise=True)
        assert [one.label for one in labels.read(Path(run))] == [35]
        assert len(Path(run, "labels.jsonl").read_text().splitlines()) == 2

    def test_every_problem_is_named_and_nothing_is_imported(self, run: str) -> None:
        rows = [
            {"item_id": "i0", "label": "much", "labeller": "ana", "inclusion_probability": "1"},
            {"item_id": "i1", "label": "101", "labeller": "ana", "inclusion_probability": "1"},
            {"item_id": "zz", "label": "50", "labeller": "ana", "inclusion_probability": "1"},
            {"item_id": "i2", "label": "50", "labeller": "ana", "inclusion_probability": "1"},
            {"item_id": "i2", "label": "60", "labeller": "ana", "inclusion_probability": "1"},
            {"item_id": "i3", "label": "nan", "labeller": "ana", "inclusion_probability": "0"},
        ]
        with pytest.raises(DataError) as error:
            import_labels(run, fill(rows, "bad.csv"))
        said = str(error.value)
        assert "bad.csv:2: `label` is 'much', which is not a number" in said
        assert "bad.csv:3: `label` is 101, outside the scale of rubric=toy (0 to 100)" in said
        assert "bad.csv:4: the item 'zz' is not one of the 4" in said
        assert "bad.csv:6: 'ana' labels the item 'i2' 60, but 50 at bad.csv:5" in said
        assert "bad.csv:7: `label` is 'nan'" in said
        assert "bad.csv:7: `inclusion_probability` is '0'" in said
        assert not Path(run, "labels.jsonl").exists()

    def test_labels_on_another_scale_are_refused_and_mapped_when_named(self, run: str) -> None:
        filled = fill(
            [{"item_id": f"i{k}", "label": given, "labeller": "ana"} for k, given in enumerate([0, 7.5, 10])], "ten.csv"
        )
        with pytest.raises(DataError, match="--scale 0-10 maps them"):
            import_labels(run, filled)
        import_labels(run, filled, scale="0-10")
        assert [(one.label, one.given, one.scale) for one in labels.read(Path(run))] == [
            (0, 0, (0, 10)),
            (75, 7.5, (0, 10)),
            (100, 10, (0, 10)),
        ]

    def test_low_labels_that_are_meant_are_taken_when_the_scale_is_named(self, run: str) -> None:
        filled = fill([{"item_id": "i0", "label": 5, "labeller": "ana"}], "low.csv")
        import_labels(run, filled, scale="0-100")
        assert labels.read(Path(run))[0].label == 5

    @pytest.mark.parametrize(
        ("name", "content", "said"),
        [
            ("a.csv", "item_id,score\ni0,5\n", r"a\.csv:1: no column `label`; columns: item_id, score"),
            ("a.csv", "item_id,label,label\ni0,5,6\n", "more than one column `label`"),
            ("a.csv", "item_id,label\ni0,5,6\n", r"a\.csv:2: more cells"),
            ("a.csv", 'item_id,label\ni0,50\n"i1,5', r"a\.csv:\d: not CSV"),
            ("a.csv", "", "no column `item_id`; columns: none"),
            ("a.jsonl", '{"item_id": "i0"}\n', r"a\.jsonl:1: the field `label` is missing"),
            ("a.jsonl", '{"item_id": "i0", "label": true}\n', r"a\.jsonl:1: `label` is True"),
            ("a.jsonl", "{", r"a\.jsonl:1: not JSON"),
            ("a.xlsx", "x", "Save the sheet as CSV"),
        ],
    )
    def test_a_file_that_cannot_be_read_is_named(self, run: str, name: str, content: str, said: str) -> None:
        Path(name).write_text(content)
        with pytest.raises(DataError, match=said):
            import_labels(run, name)

    def test_a_sheet_saved_in_another_encoding_is_named(self, run: str) -> None:
        Path("a.csv").write_bytes("item_id,label,comment\ni0,50,só\n".encode("latin-1"))
        with pytest.raises(DataError, match="not UTF-8"):
            import_labels(run, "a.csv")

    @pytest.mark.parametrize("scale", ["ten", "10-0", "5-5", ""])
    def test_a_scale_that_is_none_is_refused(self, run: str, scale: str) -> None:
        with pytest.raises(ConfigError, match="--scale is"):
            import_labels(run, fill([{"item_id": "i0", "label": 5}], "a.csv"), scale=scale)

    def test_labels_are_kept_even_if_the_dataset_is_gone(self, run: str) -> None:
        Path("run.jsonl").unlink()
        said = import_labels(run, fill([{"item_id": "i0", "label": 50}], "a.csv"))
        assert "no dataset files: `dataset.path` is 'run.jsonl', which does not exist" in said
        assert "recorded as 'anonymous'" in said
        assert labels.read(Path(run))[0].label == 50

    def test_random_rows_half_labelled_are_pointed_out(self, make_run: MakeRun) -> None:
        run = str(make_run([sure(k) for k in range(4)], folder="other"))
        export(run, "random", random=2)
        rows = line_rows("random.jsonl")
        rows[0]["label"] = 50
        assert "Only 1 of 2 random rows have a label" in import_labels(run, fill(rows, "a.jsonl"))
        rows[1]["label"] = 60
        assert "Only" not in import_labels(run, fill(rows, "a.jsonl"))
        found = TextsDataset(f"{run}/labelled.jsonl").load()
        assert [item.metadata["inclusion_probability"] for item in found] == [0.5, 0.5]


HOSTILE = [
    "=1+1",
    "'=x",
    "'plain",
    '"',
    "a,b;c\td",
    "line\r\nbreak\n",
    "@cmd|' /C calc'!A0",
    "\x00",
    "ação 🐍\u2028",
    "-5",
]
texts = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
numbers = st.floats(0, 100, allow_nan=False)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ids=st.lists(texts.filter(str.strip), min_size=1, max_size=5, unique=True),
    text=texts.filter(str.strip),
    given=st.lists(numbers, min_size=5, max_size=5),
    comment=texts,
    suffix=st.sampled_from(["csv", "jsonl"]),
)
@example(ids=["a"], text="x" * 150_000, given=[50.0] * 5, comment="", suffix="csv")  # beyond the csv module's limit
@example(ids=["=x", "'=x", "''=x"], text="=1", given=[11, 22, 33, 44, 55], comment="=2", suffix="csv")
@example(ids=["=x", "'=x", "''=x"], text="=1", given=[11, 22, 33, 44, 55], comment="=2", suffix="jsonl")
def test_what_was_filled_in_is_what_comes_back(
    make_run: MakeRun, tmp_path: Path, ids: list[str], text: str, given: list[float], comment: str, suffix: str
) -> None:
    for old in tmp_path.iterdir():  # of the example before
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    items = [Item(id=own, text=text) for own in ids]
    run = make_run([sure(9, review=True, rationale=text, issues=(text,)) for _ in ids], items)
    export(str(run))
    rows: list[dict[str, Any]] = sheet_rows() if suffix == "csv" else line_rows()
    if suffix == "jsonl":
        assert {row["text"] for row in rows} == {text}
    wanted = dict(zip(ids, given, strict=False))
    for row, label in zip(rows, wanted.values(), strict=True):  # equal width: the order of the dataset
        row |= {"label": repr(label) if suffix == "csv" else label, "labeller": "ana", "comment": comment}
    import_labels(str(run), fill(rows, f"filled.{suffix}"), scale="0-100")
    found = labels.read(run)
    assert {one.item_id: one.label for one in found} == wanted
    assert {one.comment for one in found} == {comment if comment.strip() else None}
    assert {item.id: item.label for item in TextsDataset(str(run / "labelled.jsonl")).load()} == wanted


def test_a_sheet_holds_no_cell_that_runs_as_a_formula(make_run: MakeRun) -> None:
    evil = '=HYPERLINK("http://x","y")'
    run = make_run([sure(9, review=True, rationale=evil, issues=(evil,))], [Item(id=evil, text=evil, condition=evil)])
    export(str(run))
    (row,) = sheet_rows()
    assert not [cell for cell in row.values() if cell[:1] in "=+-@" and cell]


def test_the_commands_print_and_refuse_in_one_message(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(make_run([sure(20, review=True), sure(5), sure(5)]))
    main(["review", "export", run, "--budget", "1", "--random", "1", "--seed", "3", "--out", "q"])
    assert "q.csv and q.jsonl: 2 of 3 judged items (1 flagged, 1 random)" in capsys.readouterr().out
    rows = line_rows("q.jsonl")
    assert [row["inclusion_probability"] for row in rows] == [1.0, 0.5]
    rows[0]["label"] = 80
    filled = fill(rows, "f.csv")
    main(["review", "import", run, filled, "--labeller", "ana"])
    assert "1 labels added, 1 rows have no label" in capsys.readouterr().out
    main(["review", "import", run, "--labeller", "ana", filled])
    assert "0 labels added, 1 were there already" in capsys.readouterr().out
    with pytest.raises(SystemExit) as caught:
        main(["review", "import", run, "none.csv"])
    assert caught.value.code == 2
    assert "`LABELS` is 'none.csv', which does not exist" in capsys.readouterr().err


@pytest.fixture(scope="session")
def fresh_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated MLflow database; making one takes seconds, copying it none."""
    from undogmatic.tracking.store import opened

    file = tmp_path_factory.mktemp("review") / "mlflow.db"
    with opened(f"sqlite:///{file}", "undogmatic", ""):
        pass
    return file


@pytest.fixture
def logged(make_run: MakeRun, fresh_store: Path, tmp_path: Path) -> str:
    """A run of a flagged item judged twice, a failed and a sure one, logged, but only the failed one traced."""
    from undogmatic.tracking.store import default_uri, opened
    from undogmatic.tracking.traces import log_traces

    flagged = sure(30, review=True, confidence=20, rationale="só cita", issues=("no reason",))
    failed = Failure(reason="refusal", message="no")
    run = make_run([flagged, failed, sure(2)], repeats=[judgment("i0", sure(4), 1)])
    (tmp_path / "mlruns").mkdir()
    shutil.copy(fresh_store, tmp_path / "mlruns")
    with opened(None, "undogmatic", "") as store:
        run_id = store.client.create_run(store.experiment_id).info.run_id
        items = [Item(id="i1", text="text 1", condition="c")]
        log_traces(store, run_id, items, [judgment("i1", failed)], started=1_800_000_000, hide=False)
    note = {"uri": default_uri(), "experiment": "undogmatic", "run_id": run_id}
    (run / "mlflow.json").write_text(json.dumps(note))
    return str(run)


# MLflow's own queries use an option that SQLAlchemy 2.1 deprecates.
@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated")
class TestMlflow:
    def traces(self, run: str) -> dict[tuple[str, str], list[Any]]:
        """The assessments by (item, repeat), in the order of their names."""
        from mlflow import MlflowClient

        note = json.loads(Path(run, "mlflow.json").read_text())
        client = MlflowClient(note["uri"], note["uri"])
        experiment = client.get_experiment_by_name("undogmatic").experiment_id
        found = client.search_traces(locations=[experiment], run_id=note["run_id"], max_results=100)
        by_name = {}
        for trace in found:
            key = trace.info.tags["item"], trace.info.tags["repeat"]
            assert key not in by_name
            by_name[key] = sorted(trace.info.assessments, key=lambda a: (a.name, a.source.source_id))
        return by_name

    def test_judge_and_humans_stand_side_by_side_on_the_items_trace(self, logged: str) -> None:
        assert "MLflow: on 2 traces." in export(logged)
        rows = line_rows()
        assert [row["item_id"] for row in rows] == ["i1", "i0"]
        people = [
            row | {"label": 60 + k, "labeller": who, "comment": "hm"} for row in rows for k, who in enumerate("ab")
        ]
        assert "MLflow: on 3 traces." in import_labels(logged, fill(people, "f.jsonl"))
        found = self.traces(logged)
        assert set(found) == {("i0", "0"), ("i0", "1"), ("i1", "0")}
        by_a, by_b, flag, score = found["i0", "0"]
        assert [(e.name, e.value, e.source.source_id) for e in (by_a, by_b)] == [
            ("human_label", 60, "a"),
            ("human_label", 61, "b"),
        ]
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
        config = Path(logged, ".hydra", "config.yaml")
        config.write_text(config.read_text().replace("redact: false", "redact: true"))
        export(logged)
        import_labels(logged, fill([{"item_id": "i0", "label": 60, "comment": "tudo isto é segredo"}], "f.csv"))
        stored = b"".join(file.read_bytes() for file in Path("mlruns").iterdir())
        for text in ("só cita", "no reason", "text 0", "tudo isto é segredo"):
            assert text.encode() not in stored
            assert json.dumps(text)[1:-1].encode() not in stored
        assert redacted("text 0").encode() in stored

    def test_what_cannot_be_logged_is_said_and_the_files_are_there(self, logged: str) -> None:
        note = Path(logged, "mlflow.json")
        noted = json.loads(note.read_text())
        note.write_text(json.dumps(noted | {"run_id": "0" * 32}))
        assert "is no longer in" in export(logged, "a")
        note.write_text(json.dumps(noted | {"uri": "sqlite:////nowhere/mlflow.db"}))
        assert "is gone (/nowhere/mlflow.db)" in export(logged, "b")
        Path("broken.db").write_bytes(b"this is not a database" * 100)
        note.write_text(json.dumps(noted | {"uri": "sqlite:///broken.db"}))
        assert "not a database" in export(logged, "c")
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
        assert "0 labels added, 1 were there already" in import_from_mlflow(logged)


def say(
    note: dict[str, str],
    item: str,
    value: Any,
    who: str | None,
    *,
    repeat: int = 0,
    kind: str = "feedback",
    **more: Any,
) -> Any:
    """Add an assessment of a person to an item's trace, as the UI does; returns it."""
    from mlflow.entities import AssessmentSource, Expectation, Feedback
    from mlflow.tracing.client import TracingClient

    source = AssessmentSource("HUMAN", who)
    made = (Feedback if kind == "feedback" else Expectation)(
        more.pop("name", "human_label"), value, source=source, **more
    )
    return TracingClient(note["uri"]).log_assessment(trace_of(note, item, repeat), made)


def trace_of(note: dict[str, str], item: str, repeat: int = 0) -> str:
    from mlflow import MlflowClient

    client = MlflowClient(note["uri"], note["uri"])
    experiment = client.get_experiment_by_name("undogmatic").experiment_id
    wanted = f"tags.item = '{item}' AND tags.repeat = '{repeat}'"
    (found,) = client.search_traces(locations=[experiment], filter_string=wanted)
    return str(found.info.trace_id)


@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated")
class TestFromMlflow:
    @pytest.fixture
    def note(self, logged: str) -> dict[str, str]:
        """Where `logged` is, after all its three items were exported: i1 (failed), i0 and i2."""
        export(logged, everything=True)
        read: dict[str, str] = json.loads(Path(logged, "mlflow.json").read_text())
        return read

    def client(self, note: dict[str, str]) -> Any:
        from mlflow.tracing.client import TracingClient

        return TracingClient(note["uri"])

    def labels(self, run: str) -> list[tuple[str, float, str]]:
        return [(one.item_id, one.label, one.labeller) for one in labels.read(Path(run))]

    def test_feedback_and_expectations_by_two_people_come_back_and_a_second_time_adds_nothing(
        self, logged: str, note: dict[str, str]
    ) -> None:
        first = say(note, "i0", 72.5, "ana", rationale="só cita")
        say(note, "i0", "60", "bo", kind="expectation")
        say(note, "i1", " 72,5 ", "ana", kind="expectation")
        said = import_from_mlflow(logged)
        assert "3 labels added, 1 rows have no label" in said
        assert "2 of 3 judged items" in said
        assert "2 labellers: ana, bo" in said
        assert sorted(self.labels(logged)) == [("i0", 60, "bo"), ("i0", 72.5, "ana"), ("i1", 72.5, "ana")]
        (one,) = [one for one in labels.read(Path(logged)) if (one.item_id, one.labeller) == ("i0", "ana")]
        assert (one.comment, one.inclusion_probability, one.queue) == ("só cita", 1, line_rows()[0]["queue"])
        assert (one.store, one.trace, one.assessment) == (note["uri"], trace_of(note, "i0"), first.assessment_id)
        assert one.file is None
        found = {item.id: item for item in TextsDataset(f"{logged}/labelled.jsonl").load()}
        assert {key: item.label for key, item in found.items()} == {"i0": 66.25, "i1": 72.5}
        assert found["i0"].metadata == {"label_count": 2, "label_spread": 12.5, "inclusion_probability": 1}
        assert len(TextsDataset(f"{logged}/with_labels.jsonl").load()) == 3
        before = Path(logged, "labels.jsonl").read_bytes()
        assert "0 labels added, 3 were there already" in import_from_mlflow(logged)
        assert Path(logged, "labels.jsonl").read_bytes() == before

    def test_labels_that_a_file_brought_are_known(self, logged: str, note: dict[str, str]) -> None:
        rows = [{"item_id": "i0", "label": 7.5, "labeller": "ana"}, {"item_id": "i1", "label": 10}]
        import_labels(logged, fill(rows, "f.csv"), scale="0-10")
        assert "0 labels added, 2 were there already" in import_from_mlflow(logged)  # the two traces of i0 count once
        say(note, "i2", 50, "bo")
        assert "1 labels added, 2 were there already" in import_from_mlflow(logged, labeller="carla")
        assert self.labels(logged) == [("i0", 75, "ana"), ("i1", 100, "anonymous"), ("i2", 50, "bo")]

    def test_every_problem_is_named_by_trace_and_nothing_is_imported(self, logged: str, note: dict[str, str]) -> None:
        say(note, "i0", 101, "ana")
        say(note, "i0", "muito", "bo")
        say(note, "i1", True, "ana")
        say(note, "i2", 50, "ana")
        say(note, "i2", 60, "ana", kind="expectation")
        with pytest.raises(DataError) as error:
            import_from_mlflow(logged)
        said = str(error.value)
        first, failed, sure_one = (f"trace {trace_of(note, item)} (item {item})" for item in ("i0", "i1", "i2"))
        assert f"{first}: `label` is 101, outside the scale of rubric=toy (0 to 100)" in said
        assert f"{first}: `label` is 'muito', which is not a number" in said
        assert f"{failed}: `label` is True, which is not a number" in said
        assert f"{sure_one}: 'ana' labels the item 'i2' 60, but 50 at {sure_one}. Delete one" in said
        assert said.endswith("Nothing was imported.")
        assert not Path(logged, "labels.jsonl").exists()

    def test_labels_on_another_scale_are_refused_and_mapped_when_named(self, logged: str, note: dict[str, str]) -> None:
        import_labels(logged, fill([{"item_id": "i2", "label": 90, "labeller": "ana"}], "f.csv"))
        say(note, "i0", 7.5, "ana")
        with pytest.raises(DataError, match=r"human_label in sqlite.*all 1 labels lie .* --scale 0-10 maps them"):
            import_from_mlflow(logged)
        import_from_mlflow(logged, scale="0-10")  # the 90, which is known, is on the rubric's scale
        assert self.labels(logged) == [("i2", 90, "ana"), ("i0", 75, "ana")]
        for again in ("0-10", None):
            assert "0 labels added, 2 were there already" in import_from_mlflow(logged, scale=again)

    def test_a_label_corrected_in_the_ui_must_be_meant(self, logged: str, note: dict[str, str]) -> None:
        from mlflow.entities import Expectation

        import_labels(logged, fill([{"item_id": "i1", "label": 60, "labeller": "ana"}], "f.csv"))
        trace = trace_of(note, "i1")
        (own,) = [
            a.assessment_id for a in self.client(note).get_trace(trace).info.assessments if a.name == "human_label"
        ]
        self.client(note).update_assessment(trace, own, Expectation("human_label", 70))
        with pytest.raises(DataError, match=r"'ana' labels the item 'i1' 70, but 60 before \(f.csv:2.*--revise"):
            import_from_mlflow(logged)
        assert self.labels(logged) == [("i1", 60, "ana")]
        assert "1 labels added" in import_from_mlflow(logged, revise=True)
        assert self.labels(logged) == [("i1", 70, "ana")]
        assert "0 labels added, 1 were there already" in import_from_mlflow(logged)

    def test_a_correction_of_one_of_two_repeats_is_pointed_out(self, logged: str, note: dict[str, str]) -> None:
        from mlflow.entities import Expectation

        import_labels(logged, fill([{"item_id": "i0", "label": 60, "labeller": "ana"}], "f.csv"))
        trace, other = trace_of(note, "i0", 1), trace_of(note, "i0")
        (own,) = [
            a.assessment_id for a in self.client(note).get_trace(trace).info.assessments if a.name == "human_label"
        ]
        self.client(note).update_assessment(trace, own, Expectation("human_label", 70))
        with pytest.raises(DataError, match=f"70, but 60 at trace {other}"):
            import_from_mlflow(logged, revise=True)

    @pytest.mark.parametrize("nobody", [None, "default"])
    def test_a_nameless_label_keeps_its_labeller_when_the_ui_puts_another_in_its_place(
        self, logged: str, note: dict[str, str], nobody: str | None
    ) -> None:
        first = say(note, "i0", 60, nobody)
        import_from_mlflow(logged, labeller="ana")
        second = say(note, "i0", 65, nobody, overrides=first.assessment_id)
        say(note, "i0", 70, nobody, overrides=second.assessment_id)
        with pytest.raises(DataError, match="'ana' labels the item 'i0' 70, but 60 before"):
            import_from_mlflow(logged)
        import_from_mlflow(logged, revise=True)
        say(note, "i2", 80, nobody)
        assert "1 labels added, 1 were there already" in import_from_mlflow(logged)
        assert self.labels(logged) == [("i0", 70, "ana"), ("i2", 80, "anonymous")]

    def test_what_was_overridden_or_deleted_before_does_not_come(self, logged: str, note: dict[str, str]) -> None:
        first = say(note, "i0", "nonsense", "ana")
        say(note, "i0", 70, "bo", overrides=first.assessment_id)
        gone = say(note, "i1", 500, "ana")
        self.client(note).delete_assessment(gone.trace_id, gone.assessment_id)
        import_from_mlflow(logged)
        assert self.labels(logged) == [("i0", 70, "bo")]

    def test_what_was_deleted_afterwards_still_counts_and_is_named(self, logged: str, note: dict[str, str]) -> None:
        gone = say(note, "i1", 50, "ana")
        assert "not there any more" not in import_from_mlflow(logged)
        self.client(note).delete_assessment(gone.trace_id, gone.assessment_id)
        said = import_from_mlflow(logged)
        assert f"1 labels that came from MLflow are not there any more and still count: trace {gone.trace_id}" in said
        assert self.labels(logged) == [("i1", 50, "ana")]

    def test_other_assessments_of_people_are_counted_and_those_of_machines_not(
        self, logged: str, note: dict[str, str]
    ) -> None:
        say(note, "i0", "odd", "ana", name="tone")
        say(note, "i1", "fine", "bo", name="tone")
        say(note, "i0", 41, "ana", name="judge_score")
        said = import_from_mlflow(logged)
        assert "0 labels added" in said
        assert "No person's `human_label` is on the 3 traces" in said
        assert "Other human assessments, not imported: judge_score (1), tone (2)." in said
        assert not Path(logged, "labels.jsonl").exists()

    def test_random_items_keep_their_probability_in_full_and_half_of_them_is_too_few(self, logged: str) -> None:
        export(logged, "drawn", budget=0, random=2)
        note = json.loads(Path(logged, "mlflow.json").read_text())
        drawn = [row["item_id"] for row in line_rows("drawn.jsonl")]
        say(note, drawn[0], 50, "ana")
        say(note, drawn[0], 55, "bo")
        assert "Only 1 of 2 random rows have a label" in import_from_mlflow(logged)
        say(note, drawn[1], 60, "ana", kind="expectation")
        assert "Only" not in import_from_mlflow(logged)
        assert {one.inclusion_probability for one in labels.read(Path(logged))} == {2 / 3}
        found = TextsDataset(f"{logged}/labelled.jsonl").load()
        assert [item.metadata["inclusion_probability"] for item in found] == [2 / 3, 2 / 3]

    def test_a_label_on_the_trace_of_another_repeat_has_the_items_probability(
        self, logged: str, note: dict[str, str]
    ) -> None:
        import_labels(logged, fill([{"item_id": "i0", "label": 60, "labeller": "bo"}], "f.csv"))  # traces the repeat
        say(note, "i0", 50, "ana", repeat=1)
        import_from_mlflow(logged)
        (one,) = [one for one in labels.read(Path(logged)) if one.labeller == "ana"]
        assert one.inclusion_probability == 1

    def test_a_label_older_than_the_items_last_export_has_no_probability(
        self, logged: str, note: dict[str, str]
    ) -> None:
        say(note, "i0", 50, "ana")
        export(logged, "later", budget=0, random=3)
        say(note, "i1", 50, "ana")
        assert "no inclusion probability" in import_from_mlflow(logged)
        assert {one.item_id: one.inclusion_probability for one in labels.read(Path(logged))} == {"i0": None, "i1": 1}

    def test_a_redacted_run_gives_its_labels_back_and_nothing_is_written_there(self, logged: str) -> None:
        config = Path(logged, ".hydra", "config.yaml")
        config.write_text(config.read_text().replace("redact: false", "redact: true"))
        export(logged)
        note = json.loads(Path(logged, "mlflow.json").read_text())
        say(note, "i0", 60, "ana", rationale="sem motivo")
        import_labels(logged, fill([{"item_id": "i1", "label": 80, "labeller": "bo", "comment": "segredo"}], "f.csv"))
        stored = Path("mlruns/mlflow.db").read_bytes()
        import_from_mlflow(logged)
        assert [(one.item_id, one.comment) for one in labels.read(Path(logged))] == [
            ("i1", "segredo"),
            ("i0", "sem motivo"),
        ]
        assert Path("mlruns/mlflow.db").read_bytes() == stored
        assert b"segredo" not in stored
        assert b"text 0" not in stored

    def test_what_cannot_be_read_is_said(self, logged: str) -> None:
        note = Path(logged, "mlflow.json")
        noted = json.loads(note.read_text())
        note.write_text(json.dumps(noted | {"run_id": "0" * 32}))
        with pytest.raises(ConfigError, match="is no longer in"):
            import_from_mlflow(logged)
        note.write_text(json.dumps(noted | {"uri": "sqlite:////nowhere/mlflow.db"}))
        with pytest.raises(ConfigError, match=r"is gone \(/nowhere/mlflow\.db\)"):
            import_from_mlflow(logged)
        Path("broken.db").write_bytes(b"this is not a database" * 100)
        note.write_text(json.dumps(noted | {"uri": "sqlite:///broken.db"}))
        with pytest.raises(ConfigError, match=r"nothing was imported .* cannot be read.*not a database"):
            import_from_mlflow(logged)
        note.unlink()
        with pytest.raises(ConfigError, match="was not logged to MLflow"):
            import_from_mlflow(logged)

    def test_a_server_that_does_not_answer_is_named(self, logged: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        note = Path(logged, "mlflow.json")
        note.write_text(json.dumps(json.loads(note.read_text()) | {"uri": "http://127.0.0.1:9"}))
        with pytest.raises(ConfigError, match=r"cannot be read.*http://127\.0\.0\.1:9"):
            import_from_mlflow(logged)

    def test_a_run_without_traces_is_told_how_to_get_them(self, logged: str) -> None:
        note = json.loads(Path(logged, "mlflow.json").read_text())
        self.client(note).delete_traces(note_experiment(note), trace_ids=[trace_of(note, "i1")])
        with pytest.raises(ConfigError, match=r"it has no traces in .*undogmatic review export"):
            import_from_mlflow(logged)


def note_experiment(note: dict[str, str]) -> str:
    from mlflow import MlflowClient

    return str(MlflowClient(note["uri"], note["uri"]).get_experiment_by_name("undogmatic").experiment_id)


def test_a_trace_keeps_its_id_when_a_record_gains_a_field_with_a_default() -> None:
    from undogmatic.tracking.traces import trace_id

    bare = judgment("a", Verdict(score=1))
    spelled_out = judgment("a", Verdict(score=1, review=False, issues=(), details={}))
    assert trace_id("1", bare) == trace_id("1", spelled_out)
    assert trace_id("1", bare) != trace_id("2", bare) != trace_id("2", judgment("a", Verdict(score=2)))
    assert trace_id("1", bare) == trace_id("1", Judgment.model_validate_json(bare.model_dump_json()))
