"""Tables as people have them: what is recognised is said, what is doubtful is asked, nothing is
judged by a guess."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

from tests.conftest import Capture, Patch, put
from undogmatic.config.build import build, settings
from undogmatic.config.door import compose_config
from undogmatic.datasets.labels import TEXTS, Labelled, load, read_labels
from undogmatic.datasets.tabular import TextsDataset
from undogmatic.errors import ConfigError, DataError, UndogmaticError
from undogmatic.experiment import run_experiment
from undogmatic.records.words import Words

TWO_MARKS = "texto;nota, final\n" + "".join(f"texto {n};{n},0\n" for n in range(6))
GRADES = [1.0, 2.5, 4.0, 6.5, 8.0, 10.0]
TEXT = [
    f"O juiz explica a regra e a razão número {n}; por isso decide, não?"
    for n in range(6)
]
WANTED = pytest.approx([100 * (grade - 1) / 9 for grade in GRADES])


def comma(number: float) -> str:
    return str(number).replace(".", ",")


def table(
    mark: str = ";", encoding: str = "utf-8", head: Sequence[str] = ("texto", "nota")
) -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=mark).writerows(
        [head, *zip(TEXT, map(comma, GRADES), strict=True)]
    )
    return out.getvalue().encode(encoding)


def sheet(*rows: Sequence[Any]) -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(out)
    return out.getvalue()


def ods(*rows: Sequence[Any]) -> bytes:
    cells = "".join(
        f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>"
        for row in rows
    )
    urn = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = f'xmlns:office="{urn}:office:1.0" xmlns:table="{urn}:table:1.0" xmlns:text="{urn}:text:1.0"'
    grid = f'<table:table table:name="Plan1">{cells}</table:table>'
    body = f"<office:body><office:spreadsheet>{grid}</office:spreadsheet></office:body>"
    manifest = (
        f'<manifest:manifest xmlns:manifest="{urn}:manifest:1.0"></manifest:manifest>'
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr(
            "content.xml",
            f"<office:document-content {spaces}>{body}</office:document-content>",
        )
        file.writestr("META-INF/manifest.xml", manifest)
    return out.getvalue()


def _ods_cell(cell: Any) -> str:
    value = (
        f'float" office:value="{cell}' if isinstance(cell, int | float) else "string"
    )
    return f'<table:table-cell office:value-type="{value}"><text:p>{cell}</text:p></table:table-cell>'


def read(
    name: str, content: bytes | None = None, rubric: str = "shame", **options: Any
) -> tuple[Labelled, str]:
    """The labelled items, and all that is said of how the file was read."""
    if content is not None:
        Path(name).write_bytes(content)
    node = compose_config(["dataset=my", f"dataset.path={name}", f"rubric={rubric}"])
    dataset: TextsDataset = build(node["dataset"] | options, "dataset")
    found = read_labels(dataset.load(), build(node["rubric"], "rubric"))
    for language in ("pt", "en"):
        words = Words(language, [TEXTS], strict=True)
        said = " ".join(map(words.say, [*dataset.read, *found.notes]))
    return found, said


ROWS = list(zip(TEXT, GRADES, strict=True))
LINES = "".join(
    json.dumps({"texto": t, "nota": g}, ensure_ascii=False) + "\n" for t, g in ROWS
)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", table(encoding="cp1252"), "read as Windows-1252"),
        ("a.csv", table(",", "utf-8-sig"), "text = `texto`, label = `nota`"),
        ("a.tsv", table("\t", "utf-16"), "read as UTF-16"),
        ("a.csv", b"sep=;\r\n" + table(), "`dataset.columns.label=nota`"),
        ("a.csv", table(head=("Texto da peça", "Nota final")), "label = `Nota final`"),
        ("a.csv", f"sep=;\n{TWO_MARKS}".encode(), "label = `nota, final`"),
        (
            "a.xlsx",
            sheet(
                ("texto", "nota", "grupo"),
                *((*r, "a" if n % 3 == 0 else None) for n, r in enumerate(ROWS)),
            ),
            "`grupo` is empty for 4 items (the first: a.xlsx:3)",
        ),
        ("a.xlsx", sheet(("texto", "nota"), *ROWS), "1 was read as 0 and 10 as 100"),
        (
            "a.xlsx",
            sheet(("Turma de 2026",), (), ("texto", "nota", "obs"), *ROWS),
            "Turma de 2026) was taken for a ti",
        ),
        (
            "a.xlsx",
            sheet(("texto", "nota"), *((t, comma(g)) for t, g in ROWS)),
            "If 10 is your good end",
        ),
        ("a.json", b'[{"texto": "x", "nota": 1}]', "label"),
        ("a.jsonl", LINES.encode("cp1252"), "read as Windows-1252"),
        ("a.jsonl", LINES.encode("utf-16"), "read as UTF-16"),
    ],
)
def test_a_table_is_read_whatever_its_form(
    name: str, content: bytes, said: str
) -> None:
    found, told = read(name, content)
    assert said in told
    assert found.items[0].label == 0 or name == "a.json"
    assert (
        [item.label for item in found.items] == WANTED
        or name == "a.json"
        or b"sep=;\ntexto;nota," in content
    )


def test_the_open_document_sheet_and_the_range_of_one() -> None:
    pytest.importorskip("python_calamine")
    assert [
        item.label
        for item in read(
            "a.ods",
            ods(("id", "texto", "nota"), *((n, *r) for n, r in enumerate(ROWS))),
        )[0].items
    ] == WANTED
    found, _ = read(
        "a.ods",
        ods(("nada",), ("texto", "nota"), *ROWS, ("média", 5)),
        sheet="Plan1!A2:B8",
    )
    assert [item.label for item in found.items] == WANTED


def test_lines_and_parquet_with_several_people_and_groups() -> None:
    people = {
        "resposta": TEXT,
        "nota_ana": GRADES,
        "nota_bia": GRADES[::-1],
        "grupo": list("aabbcc"),
    }
    pd.DataFrame(people).to_parquet("a.parquet")
    put(Path("a.jsonl"), pd.DataFrame(people).to_dict("records"))
    for name in ("a.parquet", "a.jsonl"):
        first = read(name)[0].items[0]
        assert first.labels["overall"] == {"nota_ana": 0.0, "nota_bia": 100.0}
        assert first.metadata == {"group": "a"}
    rows = [
        ("texto", "avaliador", "nota"),
        *((t, who, g) for t, g in ROWS for who in ("Ana", "Bia")),
    ]
    long, _ = read("a.xlsx", sheet(*rows))
    assert long.items[0].labels["overall"] == {"Ana": 0.0, "Bia": 0.0}
    assert len(long.items) == 6


def test_words_are_mapped_where_their_order_is_clear_and_else_asked_for() -> None:
    content = sheet(
        ("texto", "rótulo"), *((t, "sim" if g > 5 else "não") for t, g in ROWS)
    )
    found, told = read("a.xlsx", content, "coherence")
    assert [item.label for item in found.items] == [0, 0, 0, 100, 100, 100]
    assert (
        found.scale is not None
        and found.scale.words == ("não", "sim")
        and "`dataset.label_scale=[não,sim]`" in told
    )
    with pytest.raises(
        DataError,
        match=r"dataset\.label_scale=\[não,sim\] or dataset\.label_scale=\[sim,não\]",
    ):
        read("a.xlsx")
    assert [
        item.label for item in read("a.xlsx", label_scale=("sim", "não"))[0].items
    ] == [
        100,
        100,
        100,
        0,
        0,
        0,
    ]
    with pytest.raises(
        DataError, match=r"their order is unknown.*dataset\.label_scale=\[azul,verde\]"
    ):
        read(
            "b.xlsx",
            sheet(
                ("texto", "rótulo"),
                *((t, "azul" if g > 5 else "verde") for t, g in ROWS),
            ),
        )


def test_what_is_typed_is_taken_and_accents_need_not_be() -> None:
    content = table(head=("peça", "Avaliação nº 1"))
    words = [
        "dataset=my",
        "dataset.path=a.csv",
        "dataset.columns.text=peça",
        "dataset.columns.label=avaliacao_no_1",
    ]
    Path("a.csv").write_bytes(content)
    first, *_ = build(compose_config(words)["dataset"], "dataset").load()
    assert (first.inputs, first.label) == ({"text": TEXT[0]}, 1.0)
    first, *_ = build(
        compose_config([*words[:3], "dataset.columns.label=[]"])["dataset"], "dataset"
    ).load()
    assert (first.label, first.metadata) == (None, {"Avaliação nº 1": "1,0"})
    with pytest.raises(
        ConfigError, match=r"`dataset\.columns\.text` is 'peca2'.* Did you mean peca\?"
    ):
        read("a.csv", columns={"text": ("peca2",)})


def test_a_formula_counts_by_what_it_came_to() -> None:
    content = sheet(("texto", "nota"), *((t, f"={g}+0") for t, g in ROWS))
    with pytest.raises(
        ConfigError, match="`nota` holds formulas without the values that they came to"
    ):
        read("a.xlsx", content)
    with zipfile.ZipFile("a.xlsx") as old, zipfile.ZipFile("b.xlsx", "w") as new:
        for part in old.namelist():
            xml = old.read(part).decode()
            xml = re.sub(r"<f>([\d.]+)\+0</f><v ?/>", r"<f>\1+0</f><v>\1</v>", xml)
            new.writestr(part, xml)
    assert [item.label for item in read("b.xlsx")[0].items] == WANTED


TWO_TABLES = sheet(("texto", "nota"), *ROWS, (), ("nome", "valor"), ("Ana", 3))
BESIDE = sheet(("texto", "nota", None, "nome"), (*ROWS[0], None, "Ana"), *ROWS[1:])
MERGED = sheet(
    ("texto", "notas", None), (None, "ana", "bia"), *((t, g, g) for t, g in ROWS)
)
MIXED = b"texto;nota\num texto;7\noutro texto;8\nmais um texto|4\n"
TWO_TEXTS = sheet(
    ("resposta", "resumo", "nota"), *((t, f"Um resumo: {t}", g) for t, g in ROWS)
)
TWO_GRADES = sheet(("texto", "nota", "pontuação"), *((t, g, g) for t, g in ROWS))
UNTOLD = sheet(("texto", "nota"), *((t, 3 + g / 2) for t, g in ROWS))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.xlsx", TWO_TABLES, "dataset.sheet=A1:B7"),
        ("a.xlsx", BESIDE, "dataset.sheet=A1:B7"),
        ("a.xlsx", MERGED, "dataset.sheet=A2:C8"),
        (
            "a.csv",
            TWO_MARKS.encode(),
            "commas give 'texto;nota', ' final'; semicolons give 'texto', 'nota, final'",
        ),
        (
            "a.csv",
            MIXED,
            "a.csv:4: this row is separated by bars, and the first line by semicolons",
        ),
        (
            "a.xlsx",
            TWO_TEXTS,
            "dataset.columns.text=resposta or dataset.columns.text=resumo",
        ),
        (
            "a.xlsx",
            TWO_GRADES,
            "dataset.columns.label=nota or dataset.columns.label=pontuacao",
        ),
        (
            "a.csv",
            table().replace(b"4,0", b"2024-05-01"),
            "a.csv:4: `nota` is '2024-05-01', which is no label but a",
        ),
        ("a.csv", table().partition(b"\n")[2], "seems to be a row"),
        (
            "a.csv",
            b"a;b\n1;2\n3;4\n",
            "no column `text`, and none that seems to be it. Columns: `a`, `b`",
        ),
        ("a.xlsx", UNTOLD, "dataset.label_scale=[1,10]"),
    ],
)
def test_what_is_doubtful_is_shown_with_the_option_that_settles_it(
    name: str, content: bytes, said: str
) -> None:
    with pytest.raises(UndogmaticError) as caught:
        read(name, content)
    assert said in str(caught.value)


CHOICES = {
    "model": "patterns",
    "prompt": "anchored_pt",
    "judge": "score",
    "dataset": "my",
    "analysis": "none",
}


def run(folder: Path, *words: str) -> None:
    config = compose_config(
        ["model=patterns", "tracking=none", "dataset=my", "dataset.path=a.csv", *words]
    )
    run_experiment(config, CHOICES, folder)


def test_one_command_judges_a_sheet_and_says_first_what_it_assumed(
    tmp_path: Path, capsys: Capture
) -> None:
    Path("a.csv").write_bytes(table(encoding="cp1252"))
    run(tmp_path / "out", "report.language=pt", "analysis=none")
    first, second, third, *_ = capsys.readouterr().out.splitlines()
    assert (
        first.startswith("a.csv não está em UTF-8")
        and "label = `nota`" in second
        and "[1,10]" in third
    )
    assert "Colunas reconhecidas pelo nome: text = `texto`" in (
        tmp_path / "out" / "report.md"
    ).read_text(encoding="utf-8")
    known = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert known["label_scale"] == {"ends": [1.0, 10.0], "words": [], "assumed": True}


def test_a_bad_file_is_told_before_anything_is_built(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    Path("a.csv").write_bytes(table().replace(b"4,0", b"quatro"))
    monkeypatch.setattr(
        "undogmatic.engine.recipe.Recipe.build",
        lambda _: pytest.fail("a judge was built"),
    )
    with pytest.raises(
        DataError, match=r"a\.csv:4, item '4': `label` is 'quatro', not a number"
    ):
        run(tmp_path / "out")


VERDICTS = b"texto,nota,veredito,judge_reason\n" + b"".join(
    f"{TEXT[n]!r},{n % 2},{n // 2 % 2},porque sim {n}\n".replace("'", '"').encode()
    for n in range(6)
)


def test_a_table_with_verdicts_asks_whether_to_check_them() -> None:
    found, said = read("a b.csv", VERDICTS, label_scale=[1, 0])
    asked = "Do you want to check the verdicts in `veredito`? Then type `undogmatic check 'a b.csv'`"
    assert said.startswith(asked)
    assert [item.label for item in found.items] == [100, 0, 100, 0, 100, 0]
    # What is no verdict, or named as something else, is not asked about.
    assert "check" not in read("a.csv", VERDICTS.replace(b"veredito", b"assunto"))[1]
    named = {
        "text": None,
        "label": ["veredito"],
        "rater": None,
        "id": None,
        "group": None,
    }
    assert "check" not in read("a.csv", VERDICTS, columns=named)[1]


@pytest.mark.parametrize(
    ("tool", "file"),
    [("deepeval-4.3.1", "run.json"), ("inspect_ai-0.3.285", "capitals.json")],
)
def test_a_log_that_cannot_be_judged_is_told_to_be_checked(
    tool: str, file: str
) -> None:
    path = Path(__file__).parents[1] / "fixtures" / tool / file
    with pytest.raises(
        UndogmaticError, match=f"To check them: undogmatic check {path}$"
    ):
        load(settings(compose_config(["dataset=my", f"dataset.path={path}"])))
