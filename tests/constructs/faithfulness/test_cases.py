"""Cases and their summaries as items, and one message with its place for each thing that can be
wrong with them."""

import hashlib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.conftest import put
from undogmatic.constructs.faithfulness.cases import CasesDataset
from undogmatic.datasets.belonging import groups_of
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import items_digest
from undogmatic.safety.paths import data_folder


def table(name: str, *rows: Any) -> str:
    return str(put(Path(name), rows))


@pytest.fixture
def two() -> str:
    """A table of two cases: reference in the table, reference in a file."""
    Path("a.md").write_text("The opinion of A.", encoding="utf-8")
    Path("b.txt").write_text("O acórdão de B.", encoding="utf-8")
    Path("b.reference.txt").write_text("O resumo de B.\n", encoding="utf-8")
    return table(
        "cases.jsonl",
        {
            "case": "A",
            "document": "a.md",
            "reference": "The summary of A.",
            "language": "en",
        },
        {
            "case": "B",
            "document": "b.txt",
            "reference": "b.reference.txt",
            "split": "dev",
        },
    )


def test_a_case_is_an_item_with_the_path_of_its_document_and_a_split_takes_its_own(
    two: str,
) -> None:
    a, b = CasesDataset(two, split="all").load()
    assert a.inputs == {"document": "a.md", "reference": "The summary of A."}
    assert b.inputs == {"document": "b.txt", "reference": "O resumo de B."}
    sha256 = hashlib.sha256(b"The opinion of A.").hexdigest()
    assert a.metadata == {"language": "en", "document_sha256": sha256}
    assert [item.place for item in (a, b)] == ["cases.jsonl:1", "cases.jsonl:2"]
    sums = table("s.jsonl", {"case": "A", "text": "a"}, {"case": "B", "text": "b"})
    assert [item.id for item in CasesDataset(two).load()] == ["A"]
    assert [item.id for item in CasesDataset(two, sums, split="dev").load()] == ["B/s"]


def test_a_run_on_documents_is_the_same_wherever_they_lie(two: str) -> None:
    """What was judged is resumed from another folder, too; another document is another run."""
    digests = []
    for name, first in (("here", "a.md"), ("there", "a.md"), ("other", "b.txt")):
        folder = Path(name).absolute()
        folder.mkdir()
        (folder / "a.md").write_bytes(Path(first).read_bytes())
        row = {"case": "A", "document": "a.md", "reference": "R"}
        items = CasesDataset(
            table(str(folder / "cases.jsonl"), row), split="all"
        ).load()
        assert items[0].inputs["document"] == str(folder / "a.md")
        digests.append(items_digest(items))
    assert digests[0] == digests[1] != digests[2]


def test_a_folder_with_a_sub_folder_per_case_is_read_like_a_table() -> None:
    for name in ("B", "A", ".hidden"):
        folder = Path("cases", name)
        folder.mkdir(parents=True)
        (folder / "decision.pdf").write_bytes(b"%PDF")
        (folder / "reference.md").write_text(
            f"The summary of {name}.", encoding="utf-8"
        )
        (folder / "notes.docx").write_bytes(b"")
    items = CasesDataset("cases").load()
    assert [item.id for item in items] == ["A", "B"]
    assert items[0].inputs == {
        "document": "cases/A/decision.pdf",
        "reference": "The summary of A.",
    }


def test_summaries_are_items_of_their_case_and_system_and_the_three_formats_give_the_same(
    two: str,
) -> None:
    rows = [
        {"case": "A", "system": "m1", "text": "Short and  true.", "seed": 3},
        {"case": "A", "model": "m2", "text": "Long."},
        {"case": "B", "text": "Curto."},
    ]
    items = CasesDataset(two, table("sums.jsonl", *rows), split="all").load()
    assert [item.id for item in items] == ["A/m1", "A/m2", "B/sums"]
    inputs = {
        "summary": "Short and  true.",
        "reference": "The summary of A.",
        "opinion": "The opinion of A.",
    }
    assert items[0].inputs == inputs
    assert items[0].metadata == {
        "language": "en",
        "seed": 3,
        "case": "A",
        "system": "m1",
        "word_count": 3,
    }
    assert [item.pair for item in items] == ["A", "A", "B"]
    rows = [
        {"case": "A", "system": "m", "text": "x, y;\nz"},
        {"case": "B", "system": "m", "text": "«w»"},
    ]
    pd.DataFrame(rows).to_csv("s.csv", index=False)
    pd.DataFrame(rows).to_parquet("s.parquet")
    files = (table("s.jsonl", *rows), "s.csv", "s.parquet")
    forms = [
        [item.form() for item in CasesDataset(two, file, split="all").load()]
        for file in files
    ]
    assert forms[0] == forms[1] == forms[2] and len(forms[0]) == 2


def test_documents_and_references_may_be_missing_where_nothing_needs_them() -> None:
    path = table("c.jsonl", {"case": "A", "reference": "The summary."}, {"case": "B"})
    sums = table("s.jsonl", {"case": "A", "text": "a"}, {"case": "B", "text": "b"})
    a, b = CasesDataset(path, sums, needs_reference=False).load()
    assert list(a.inputs) == ["summary", "reference"]
    assert list(b.inputs) == ["summary"]
    with pytest.raises(
        DataError, match=r"c\.jsonl:1: the case 'A' has no document\. Give its path"
    ):
        CasesDataset(path, needs_reference=False).load()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {"document": "a.md"},
            "cases.jsonl:1: `case` is missing. Columns: case, document, reference.",
        ),
        (
            {"case": " ", "reference": "r"},
            "cases.jsonl:1: `case` is ' ', which is no name",
        ),
        (
            {"case": ["A"], "reference": "r"},
            "cases.jsonl:1: `case` is ['A'], which is no name",
        ),
        (
            {"case": "A", "document": "a.md"},
            "cases.jsonl:1: the case 'A' has no reference summary. Give one in",
        ),
        (
            {"case": "A", "document": "a.md", "reference": " "},
            "cases.jsonl:1: the case 'A' has no reference summary",
        ),
        (
            {"case": "A", "document": "a.md", "reference": [1]},
            "cases.jsonl:1: `reference` is [1]; it must be a text",
        ),
        (
            {"case": "A", "document": "a.md", "reference": "x.txt"},
            "cases.jsonl:1: `reference` is 'x.txt', which is no",
        ),
        (
            {"case": "A", "document": "a.md", "reference": "empty.txt"},
            "cases.jsonl:1: `reference` is 'empty.txt', w",
        ),
        (
            {"case": "A", "document": "no.pdf", "reference": "r"},
            "cases.jsonl:1: `document` is 'no.pdf', which is no f",
        ),
        (
            {"case": "A", "document": "a.docx", "reference": "r"},
            "known kinds: .pdf, .txt, .md.",
        ),
        (
            {"case": "A", "document": "\0", "reference": "r"},
            "cases.jsonl:1: `document` is '\\x00', which is no file",
        ),
        (
            {"case": "A", "reference": "r"},
            "cases.jsonl:1: the case 'A' has no document. Give its path in the column",
        ),
        (
            {"case": "A\nB", "document": "a.md", "reference": "r"},
            "cases.jsonl:1: `id` is 'A\\nB': a name is one line",
        ),
        (
            {"case": "Aa", "text": "t"},
            "s.jsonl:2: the case 'Aa' is not among the cases. Did you mean 'A'?",
        ),
        (
            {"case": "zzz", "text": "t"},
            "s.jsonl:2: the case 'zzz' is not among the cases. Cases: A, B.",
        ),
        (
            {"text": "t"},
            "s.jsonl:2: `case` is missing. Columns: case, system (or model), text.",
        ),
        (
            {"case": "B"},
            "s.jsonl:2: the summary of 'B' by 's' has no words; `text` must hold it.",
        ),
        (
            {"case": "B", "text": " \n"},
            "s.jsonl:2: the summary of 'B' by 's' has no words",
        ),
        ({"case": "B", "text": 7}, "s.jsonl:2: the summary of 'B' by 's' has no words"),
        (
            {"case": "B", "system": "", "text": "t"},
            "s.jsonl:2: `system` is '', which is no name",
        ),
        (
            {"case": "A", "text": "t"},
            "s.jsonl:2: a summary of 'A' by 's' was already given at s.jsonl:1.",
        ),
    ],
)
def test_a_bad_case_or_summary_is_one_message_with_its_line(
    two: str, row: dict[str, Any], said: str
) -> None:
    for name, content in (("a.docx", "PK"), ("empty.txt", " \n")):
        Path(name).write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        if said.startswith("s.jsonl"):
            CasesDataset(
                two, table("s.jsonl", {"case": "A", "text": "a"}, row), split="all"
            ).load()
        else:
            CasesDataset(table("cases.jsonl", row)).load()
    assert said in str(caught.value)


def test_a_case_that_comes_twice_and_a_folder_that_is_no_folder_of_cases_are_named() -> (
    None
):
    path = table("c.jsonl", *[{"case": "A", "reference": "r"}] * 2)
    with pytest.raises(
        DataError, match=r"c\.jsonl:2: the case 'A' was already given at c\.jsonl:1\."
    ):
        CasesDataset(path).load()
    for file in map(Path, ("flat/a.pdf", "many/A/a.pdf", "many/A/b.md")):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"flat: no sub-folder in it\. Give each case one"
    ):
        CasesDataset("flat").load()
    with pytest.raises(
        DataError, match=r"many/A: 2 documents \(a\.pdf, b\.md\); leave one\."
    ):
        CasesDataset("many").load()


def test_what_the_user_set_is_named(two: str) -> None:
    for path, summaries, said in (
        (
            "nothing.csv",
            None,
            r"`dataset\.path` is 'nothing\.csv', which does not exist",
        ),
        (
            two,
            "nothing.csv",
            r"`dataset.summaries` is 'nothing.csv', which does not exist",
        ),
        (None, "shippd", r"`dataset\.summaries` is 'shippd'\. Did you mean shipped\?"),
        (two, "shipped", "which are summaries of the shipped cases"),
        (two, "b.txt", r"`dataset\.summaries` is 'b\.txt'; known formats: \.csv"),
    ):
        with pytest.raises(ConfigError, match=said):
            CasesDataset(path, summaries)
    assert CasesDataset(two, table("shipped.jsonl", {"case": "A", "text": "a"})).load()
    path = table("c.jsonl", {"case": "A", "reference": "r"})
    with pytest.raises(
        DataError, match=r"no cases of the split dev \(there are: test\)"
    ):
        CasesDataset(path, split="dev").load()


def test_the_shipped_cases_are_items_with_pdf_or_text_and_their_splits_share_nothing() -> (
    None
):
    texts, pdfs = (
        CasesDataset(split="all").load(),
        CasesDataset(split="all", document="pdf").load(),
    )
    assert [item.id for item in texts] == [item.id for item in pdfs]
    assert {Path(item.inputs["document"]).suffix for item in texts} == {".md"}
    for item in pdfs:
        content = Path(item.inputs["document"]).read_bytes()
        assert content.startswith(b"%PDF")
        assert item.metadata["document_sha256"] == hashlib.sha256(content).hexdigest()
    ids = {
        split: {item.id for item in CasesDataset(split=split).load()}
        for split in ("dev", "test")
    }
    assert (len(ids["dev"]), len(ids["test"])) == (8, 3)
    assert not ids["dev"] & ids["test"]
    assert {item.id for item in CasesDataset().load()} == ids["test"], (
        "what nobody fitted to is the default"
    )
    assert (data_folder() / "faith" / "summaries.jsonl").is_file()


def test_the_shipped_summaries_of_one_case_are_one_unit_and_the_licence_of_the_users_is_not_known(
    two: str,
) -> None:
    """Filler and formulas that cases share do not tie them to one another."""
    dataset = CasesDataset(summaries="shipped", split="all")
    items = dataset.load()
    names = groups_of(items)
    assert (
        len({(names[item.id], item.metadata["case"]) for item in items})
        == len(set(names.values()))
        == 11
    )
    assert (
        dataset.licence is not None
        and dataset.about == "shipped summaries (shipped), all split"
    )
    sums = table("s.jsonl", {"case": "us-ferry", "text": "a"})
    assert CasesDataset(two).licence is None
    assert CasesDataset(summaries=sums, split="all").licence is None
    assert CasesDataset().licence is not None
