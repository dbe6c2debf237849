"""Labels come back from files: what is taken, what is refused, and where it goes."""

import shutil
import unicodedata
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.review.conftest import MakeRun, by_hand, fill, line_rows, sheet_rows, sure
from undogmatic.cli import main
from undogmatic.cli.review import export, import_labels
from undogmatic.datasets.labels import on_scale
from undogmatic.datasets.tabular import TextsDataset
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Item, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.review import labels


class TestImport:
    @pytest.fixture
    def run(self, make_run: MakeRun) -> str:
        run = make_run([sure(k, review=True) for k in range(4)])
        export(str(run))
        return str(run)

    @pytest.mark.parametrize("file", ["filled.csv", "filled.jsonl"])
    def test_labels_come_back_with_where_they_are_from(
        self, run: str, file: str
    ) -> None:
        rows = sheet_rows() if file.endswith("csv") else line_rows()
        rows[0] |= {"label": 72.5, "labeller": "ana", "comment": "só cita"}
        rows[2] |= {"label": 10, "labeller": "bruno"}
        said = import_labels(run, fill(rows, file))
        first, second = labels.read(Path(run))
        assert (first.item_id, first.label, first.labeller, first.comment) == (
            "i3",
            72.5,
            "ana",
            "só cita",
        )
        assert (first.file, first.line, first.inclusion_probability) == (
            file,
            2 if "csv" in file else 1,
            1.0,
        )
        assert first.queue == rows[0]["queue"]
        assert (second.item_id, second.label, second.comment) == ("i1", 10, None)
        for words in (
            "2 labels added, 2 rows have no label",
            "2 of 4 judged items",
            "MLflow: skipped",
        ):
            assert words in said

    def test_labels_are_not_taken_from_a_file_that_taking_them_writes(
        self, run: str, tmp_path: Path
    ) -> None:
        rows = [{"item_id": "i0", "label": 30, "labeller": "ana"}]
        import_labels(run, fill(rows, "own.csv"))
        written = Path(run) / "with_labels.jsonl"
        before = written.read_bytes()
        (tmp_path / "link.jsonl").symlink_to(written)
        for name in (str(written), "link.jsonl"):
            with pytest.raises(
                ConfigError,
                match=r"Copy that file, and name the copy: LABELS \w+-2.jsonl",
            ):
                import_labels(run, name)
        assert written.read_bytes() == before

    def test_a_spreadsheet_with_semicolons_may_write_decimal_commas(
        self, run: str
    ) -> None:
        rows = sheet_rows()
        rows[0] |= {"label": "72,5"}
        import_labels(run, fill(rows, "filled.csv", delimiter=";"), labeller="ana")
        assert [(one.label, one.labeller) for one in labels.read(Path(run))] == [
            (72.5, "ana")
        ]

    def test_several_labellers_and_the_mean_goes_to_the_dataset_files(
        self, run: str
    ) -> None:
        rows = [
            {"item_id": "i0", "label": 30, "labeller": "ana"},
            {"item_id": "i0", "label": 50, "labeller": "bo"},
        ]
        said = import_labels(run, fill(rows, "own.csv"))
        for words in (
            "1 of 4 judged items",
            "2 labellers: ana, bo",
            "no inclusion probability",
        ):
            assert words in said
        everything = TextsDataset(f"{run}/with_labels.jsonl").load()
        assert [(item.id, item.label) for item in everything] == [
            ("i0", 40),
            ("i1", None),
            ("i2", None),
            ("i3", None),
        ]
        (only,) = TextsDataset(f"{run}/labelled.jsonl").load()
        assert (only.text, only.condition) == ("text 0", "c")
        assert only.metadata == {"label_count": 2, "label_spread": 20}

    def test_importing_twice_adds_nothing_and_a_correction_must_be_meant(
        self, run: str
    ) -> None:
        first, corrected = (
            {"item_id": "i0", "label": label, "labeller": "ana"} for label in (30, 35)
        )
        by_hand(run, "own.csv", **first)
        assert "0 labels added, 1 was there already" in by_hand(run, "own.csv", **first)
        with pytest.raises(
            DataError,
            match=r"corrected\.csv:2: 'ana' labels .* 35, but 30 before \(own\.csv:2",
        ):
            by_hand(run, "corrected.csv", **corrected)
        by_hand(run, "corrected.csv", revise=True, **corrected)
        assert [one.label for one in labels.read(Path(run))] == [35]
        assert len(Path(run, "labels.jsonl").read_text().splitlines()) == 2

    def test_every_problem_is_named_and_nothing_is_imported(self, run: str) -> None:
        cells = [
            ("i0", "much", "1"),
            ("i1", "101", "1"),
            ("zz", "50", "1"),
            ("i2", "50", "1"),
            ("i2", "60", "1"),
        ]
        names = ("item_id", "label", "inclusion_probability")
        rows = [
            dict(zip(names, row, strict=True)) | {"labeller": "ana"}
            for row in (*cells, ("i3", "nan", "0"))
        ]
        with pytest.raises(DataError) as error:
            import_labels(run, fill(rows, "bad.csv"))
        for said in (
            "bad.csv:2: `label` is 'much', not a number (0-100) of rubric=toy",
            "bad.csv:3: `label` is 101, outside 0-100 of rubric=toy",
            "bad.csv:4: the item 'zz' is not one of the 4",
            "bad.csv:6: 'ana' labels the item 'i2' 60, but 50 at bad.csv:5",
            "bad.csv:7: `label` is 'nan'",
            "bad.csv:7: `inclusion_probability` is '0'",
        ):
            assert said in str(error.value)
        assert not Path(run, "labels.jsonl").exists()

    def test_labels_on_another_scale_are_refused_and_mapped_when_named(
        self, run: str
    ) -> None:
        rows = [
            {"item_id": f"i{k}", "label": given, "labeller": "ana"}
            for k, given in enumerate([0, 7.5, 10])
        ]
        filled = fill(rows, "ten.csv")
        with pytest.raises(DataError, match="--scale 0-10 maps them"):
            import_labels(run, filled)
        import_labels(run, filled, scale="0-10")
        kept = [(one.label, one.given, one.scale) for one in labels.read(Path(run))]
        assert kept == [
            (label, given, (0, 10)) for label, given in ((0, 0), (75, 7.5), (100, 10))
        ]

    @pytest.mark.parametrize(
        ("name", "content", "said"),
        [
            (
                "a.csv",
                "item_id,x\ni0,5\n",
                r"a\.csv: no column `label`, .*columns: item_id, x\. Name it: --label COLUMN",
            ),
            (
                "a.csv",
                "item_id,label,label\ni0,5,6\n",
                "two columns are called 'label'",
            ),
            ("a.csv", "item_id,label\ni0,5,6\n", r"a\.csv:2: more cells"),
            ("a.csv", 'item_id,label\ni0,50\n"i1,5', r"a\.csv:\d: not CSV"),
            ("a.csv", "", r"a\.csv is empty"),
            ("a.jsonl", '{"item_id": "i0"}\n', r"a\.jsonl: no column `label`"),
            (
                "a.jsonl",
                '{"item_id": "i0", "label": true}\n',
                r"a\.jsonl:1: `label` is True",
            ),
            ("a.jsonl", "{", r"a\.jsonl:1: not JSON"),
            ("a.xlsx", "x", r"a\.xlsx is no \.xlsx file"),
            (
                "a.csv",
                "texto,nota,pontos\ni0,5,a\n",
                r"no column `item_id`.*--item-id COLUMN",
            ),
            ("a.csv", "id,nota,score\ni0,5,6\n", "Type --label nota or --label score"),
            (
                "a.csv",
                "item_id,label,comment\ni0,50,\x81\n",
                "neither UTF-8 nor Windows-1252",
            ),
        ],
    )
    def test_a_file_that_cannot_be_read_is_named(
        self, run: str, name: str, content: str, said: str
    ) -> None:
        Path(name).write_text(content, encoding="latin-1")
        with pytest.raises((ConfigError, DataError), match=said):
            import_labels(run, name)

    def test_a_table_as_people_have_it_is_recognised_and_said(self, run: str) -> None:
        Path("a.csv").write_bytes(
            "texto;id;rótulo;anotador\num;i0;72,5;Ana\n".encode("cp1252")
        )
        said = import_labels(run, "a.csv")
        assert (
            "read as Windows-1252" in said
            and "item_id = `id`, labeller = `anotador`, label = `rótulo`" in said
        )
        pd.DataFrame({"item": ["i1"], "a": [3], "b": [40]}).to_excel(
            "b.xlsx", index=False
        )
        import_labels(run, "b.xlsx", columns={"label": "b"})
        kept = [
            (one.item_id, one.label, one.labeller) for one in labels.read(Path(run))
        ]
        assert kept == [("i0", 72.5, "Ana"), ("i1", 40, "anonymous")]

    @pytest.mark.parametrize("scale", ["ten", "10-0", "5-5", ""])
    def test_a_scale_that_is_none_is_refused(self, run: str, scale: str) -> None:
        with pytest.raises(ConfigError, match="--scale is"):
            by_hand(run, item_id="i0", label=5, scale=scale)

    def test_labels_are_kept_even_if_the_dataset_is_gone(self, run: str) -> None:
        Path("run.jsonl").unlink()
        said = by_hand(run, item_id="i0", label=50)
        assert (
            "no dataset files: `dataset.path` is 'run.jsonl', which does not exist"
            in said
        )
        assert "recorded as 'anonymous'" in said
        assert labels.read(Path(run))[0].label == 50

    def test_categories_are_labelled_by_name(
        self, make_run: MakeRun, yes_no: Rubric
    ) -> None:
        run = make_run(
            [Verdict(score=1.0), Verdict(score=0.0), Verdict(score=0.0)],
            folder="named",
            rubric=yes_no,
        )
        rows = [("i0", "Yes", "ana"), ("i1", "no", "ana"), ("i1", "yes", "bo")]
        filled = fill(
            [{"item_id": i, "label": label, "labeller": who} for i, label, who in rows],
            "named.csv",
        )
        assert "3 labels added" in import_labels(str(run), filled)
        assert [(one.label, one.given) for one in labels.read(run)] == [
            (1, "Yes"),
            (0, "no"),
            (1, "yes"),
        ]
        first, second = on_scale(
            TextsDataset(str(run / "labelled.jsonl")).load(), yes_no
        )
        assert (first.labels, first.label) == ({"overall": {"unnamed": 1.0}}, 1.0)
        assert (second.labels, second.label) == (
            {"overall": {"ana": 0.0, "bo": 1.0}},
            0.5,
        )
        with pytest.raises(
            DataError, match="`label` is 'perhaps', not one of no / yes of rubric=toy"
        ):
            by_hand(str(run), item_id="i0", label="perhaps")

    def test_low_labels_that_are_meant_are_taken_and_come_with_the_key_that_says_so(
        self, make_run: MakeRun
    ) -> None:
        run = make_run([sure(1) for _ in range(10)], folder="low")
        rows = [{"item_id": f"i{k}", "label": k} for k in range(10)]
        said = import_labels(str(run), fill(rows, "low.csv"), scale="0-100")
        assert (
            f"dataset.path={run}/with_labels.jsonl dataset.label_scale=[0,100]" in said
        )
        assert [one.label for one in labels.read(run)] == list(range(10))

    def test_random_rows_half_labelled_are_pointed_out(self, make_run: MakeRun) -> None:
        run = str(make_run([sure(k) for k in range(4)], folder="other"))
        export(run, "random", random=2)
        rows = line_rows("random.jsonl")
        rows[0]["label"] = 50
        assert "Only 1 of 2 random rows have a label" in import_labels(
            run, fill(rows, "a.jsonl")
        )
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
    "ação 🐍\u2028",
    "-5",
]
texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1
    ),
)
names = texts.filter(
    lambda text: (
        bool(text.strip()) and not any(unicodedata.category(c) == "Cc" for c in text)
    )
)
numbers = st.floats(0, 100, allow_nan=False)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    ids=st.lists(names, min_size=1, max_size=5, unique=True),
    text=texts.filter(str.strip),
    given=st.lists(numbers, min_size=5, max_size=5),
    comment=texts,
    suffix=st.sampled_from(["csv", "jsonl"]),
)
@example(
    ids=["a"], text="x" * 150_000, given=[50.0] * 5, comment="", suffix="csv"
)  # beyond the csv module's limit
@example(
    ids=["=x", "'=x", "''=x"],
    text="=1",
    given=[11, 22, 33, 44, 55],
    comment="=2",
    suffix="csv",
)
@example(
    ids=["=x", "'=x", "''=x"],
    text="=1",
    given=[11, 22, 33, 44, 55],
    comment="=2",
    suffix="jsonl",
)
def test_what_was_filled_in_is_what_comes_back(
    make_run: MakeRun,
    tmp_path: Path,
    ids: list[str],
    text: str,
    given: list[float],
    comment: str,
    suffix: str,
) -> None:
    for old in tmp_path.iterdir():  # of the example before
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    items = [Item(id=own, text=text) for own in ids]
    run = make_run(
        [sure(9, review=True, rationale=text, issues=(text,)) for _ in ids], items
    )
    export(str(run))
    rows: list[dict[str, Any]] = sheet_rows() if suffix == "csv" else line_rows()
    if suffix == "jsonl":
        assert {row["text"] for row in rows} == {text}
    wanted = dict(zip(ids, given, strict=False))
    # equal width: the order of the dataset
    for row, label in zip(rows, wanted.values(), strict=True):
        row |= {
            "label": repr(label) if suffix == "csv" else label,
            "labeller": "ana",
            "comment": comment,
        }
    import_labels(str(run), fill(rows, f"filled.{suffix}"), scale="0-100")
    found = labels.read(run)
    assert {one.item_id: one.label for one in found} == wanted
    assert {one.comment for one in found} == {comment if comment.strip() else None}
    assert {
        item.id: item.label for item in TextsDataset(str(run / "labelled.jsonl")).load()
    } == wanted


def test_a_sheet_holds_no_cell_that_runs_as_a_formula(make_run: MakeRun) -> None:
    evil = '=HYPERLINK("http://x","y")'
    run = make_run(
        [sure(9, review=True, rationale=evil, issues=(evil,))],
        [Item(id=evil, text=evil, condition=evil)],
    )
    export(str(run))
    (row,) = sheet_rows()
    assert not [cell for cell in row.values() if cell[:1] in "=+-@" and cell]


def test_the_commands_print_and_refuse_in_one_message(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(make_run([sure(20, review=True), sure(5), sure(5)]))
    main(
        [
            "review",
            "export",
            run,
            "--budget",
            "1",
            "--random",
            "1",
            "--seed",
            "3",
            "--out",
            "q",
        ]
    )
    assert (
        "q.csv and q.jsonl: 2 of 3 judged items (1 flagged, 1 random)"
        in capsys.readouterr().out
    )
    rows = line_rows("q.jsonl")
    assert [row["inclusion_probability"] for row in rows] == [1.0, 0.5]
    rows[0]["label"] = 80
    filled = fill(rows, "f.csv")
    main(["review", "import", run, filled, "--labeller", "ana"])
    assert "1 label added, 1 row has no label" in capsys.readouterr().out
    main(["review", "import", run, "--labeller", "ana", filled])
    assert "0 labels added, 1 was there already" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["review", "import", run, "none.csv"])
    assert "`LABELS` is 'none.csv', which does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("kept", [True, False])
def test_an_id_like_a_formula_is_known_again_with_its_apostrophe_or_without(
    make_run: MakeRun, kept: bool
) -> None:
    ids = ["=1+1", "-x", "@a", "plain"]
    run = make_run(
        [sure(9, review=True) for _ in ids], [Item(id=own, text="t") for own in ids]
    )
    export(str(run))
    rows = sheet_rows()
    assert [row["item_id"] for row in rows] == ["'=1+1", "'-x", "'@a", "plain"]
    for n, row in enumerate(rows):
        row |= {
            "label": str(50 + n),
            "item_id": row["item_id"] if kept else row["item_id"].removeprefix("'"),
        }
    import_labels(str(run), fill(rows, "filled.csv"))
    assert {one.item_id: one.label for one in labels.read(run)} == dict(
        zip(ids, [50, 51, 52, 53], strict=True)
    )
    assert all(
        Path(name).stat().st_mode & 0o077 == 0
        for name in ("queue.csv", "queue.jsonl", run / labels.FILE)
    )


@pytest.mark.parametrize("blind", [True, False])
def test_labels_given_with_the_score_in_view_are_told_apart(
    make_run: MakeRun, blind: bool
) -> None:
    run = str(make_run([sure(k, review=True, rationale="why") for k in range(4)]))
    assert ("--blind" in export(run, blind=blind)) is not blind
    rows = sheet_rows()
    assert ("score" in rows[0], "rationale" in line_rows()[0]) == (not blind, not blind)
    for row in rows[:2]:
        row |= {"label": 50, "labeller": "ana"}
    import_labels(run, fill(rows, "filled.csv"))
    assert [one.in_view for one in labels.read(Path(run))] == [not blind] * 2
    seen = [
        item.metadata.get("label_in_view", False)
        for item in TextsDataset(f"{run}/with_labels.jsonl").load()
    ]
    assert sum(seen) == (0 if blind else 2)
