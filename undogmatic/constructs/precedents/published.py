"""Reads tables of precedents as courts publish them into rows of the table of precedents.

A column is recognised by its name, whatever its case, accents and spaces: `numeroPrecedente`,
"Número do tema" and "Súmula" all hold numbers. What a court says of a precedent's state becomes one
of the table's; what is not decided yet is left out, and so is what the grammar does not know.
"""

import csv
import html
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from undogmatic.constructs.precedents.grammar import Grammar, fold
from undogmatic.constructs.precedents.table import FIELDS, Precedents
from undogmatic.datasets.frames import read_frame
from undogmatic.errors import ConfigError, DataError
from undogmatic.safety import files
from undogmatic.safety.outside import listed, read_bytes

NAMES: Mapping[str, str] = {
    "kind": "tipoprecedente tipodeprecedente tipo classe especie kind",
    "number": (
        "numeroprecedente numerodoprecedente numerodotema numerotema ntema nrtema"
        " numerodasumula numerosumula numerodoenunciado numero nr n number"
        " tema sumulavinculante sumula precedente processo classeenumero"
    ),
    "court": "tribunal corte orgao court",
    "section": "orgaojulgador secao subsecao",
    "leading_case": (
        "leadingcase processoparadigma paradigma casoparadigma processos"
        " processosparadigmanumero"
    ),
    "status": "situacao situacaodotema situacaodoprecedente status",
    "holding": (
        "tesefirmada textodatese tese tesejuridica textodasumula enunciado"
        " textodoenunciado verbete texto ementa holding"
    ),
    "question": "questao",
    "recognised": "harepercussao harepercussaogeral",
    "date": (
        "datajulgamento datadojulgamento datadaaprovacao dataaprovacao"
        " datapublicacaoacordao datadapublicacao datadotransitoemjulgado data date"
    ),
}
"""The names of the columns by their role, the likeliest first, as `_plain` writes them.

`question` is the text of a súmula in the national base of precedents, whose theses are those of
themes alone; of a theme it is what was asked, which is no thesis.
"""
STATES = (
    (r"cancelad|revogad", "cancelled"),
    (r"superad|sem efeito", "superseded"),
    (r"modulad", "modulated"),
)
OPEN = re.compile(
    r"afetad|sobrestad|em julgamento|pendente|aguarda|vinculad[ao] a tema|sem processo vinculado"
    r"|nao ha repercussao|negada|inexistencia|reconhecida a (?:existencia|repercussao)"
    r"|(?:nao|in)[ -]?admitid"
)
"""What a court says of what is not decided, or decided by nothing that binds."""
KINDS = {
    "temarepetitivo": "tema",
    "recursorepetitivo": "tema",
    "repetitivo": "tema",
    "temaderepercussaogeral": "tema",
    "repercussaogeral": "tema",
    "incidentederecursorepetitivo": "tema_tst",
    "irr": "tema_tst",
    "rg": "tema_rg",
    "rr": "tema_tr",
    "sum": "sumula",
    "orientacaojurisprudencial": "oj",
    "incidentedeassuncaodecompetencia": "iac",
    "incidentederesolucaodedemandasrepetitivas": "irdr",
}
"""Kinds as courts write them, beside the names that the grammar has."""
NO_THESIS = ("nao informado", "nao informada", "sem tese", "sem tese firmada", "n/a")
"""What the national base of precedents writes where no thesis was published."""
WITH_OWN_TEXT = ("sumula", "sumula_vinculante", "oj")
"""Kinds that are a text of their own, and no answer to a question."""


class _Table(HTMLParser):
    """Collects the cells of the tables of a page, row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def _page(path: str) -> pd.DataFrame | None:
    """The table of an HTML page, which the STF publishes under the ending .xls; None where a file
    is none. Of columns with the same name the first is kept."""
    file = Path(path)
    if file.suffix.lower() not in (".xls", ".html", ".htm") or not file.is_file():
        return None
    text = read_bytes(file, LARGEST).decode("utf-8-sig", errors="replace")
    if "<table" not in text.lower():
        return None
    table = _Table()
    table.feed(text)
    rows = [row for row in table.rows if row]
    if len(rows) < 2:
        raise DataError(f"{path}: its table has no row below the names of its columns.")
    names = [_mended(name).strip() for name in rows[0]]
    first = {name: n for n, name in reversed(list(enumerate(names)))}
    cells = {
        name: [_mended(row[n]) if n < len(row) else None for row in rows[1:]]
        for name, n in first.items()
    }
    return pd.DataFrame(cells)


LARGEST = 200_000_000  # bytes of a page that are read


def _mended(cell: str) -> str:
    """A cell whose accents were encoded twice ("NÃ£o hÃ¡"), as it was meant."""
    try:
        return cell.encode("cp1252").decode("utf-8")
    except UnicodeError:
        return cell


class Published(NamedTuple):
    """The rows of a published table, the columns that they were read from by role, how many rows
    were left out by reason, and how many there are by kind."""

    rows: Sequence[Mapping[str, str]]
    columns: Mapping[str, str]
    left_out: Mapping[str, int]
    kinds: Mapping[str, int]


def _text(cell: object) -> str:
    """A cell without tags of HTML, on one line."""
    text = "" if cell is None else str(cell)
    return re.sub(r"\s+", " ", html.unescape(TAG.sub(" ", text))).strip()


TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


def _plain(written: str) -> str:
    """A name or a kind without accents, case and all but letters."""
    return re.sub(r"[^a-z]", "", fold(written)[0].casefold())


def read_published(
    path: str,
    grammar: Precedents,
    court: str | None = None,
    kind: str | None = None,
    sheet: str | None = None,
) -> Published:
    """Read a table as a court publishes it.

    Args:
        path: CSV, XLSX, JSON Lines ...
        grammar: Whose grammar knows kinds, courts and numbers.
        court, kind: Of all rows, where no column and no number says it.
        sheet: Of a workbook.
    Raises:
        ConfigError, DataError: Where no column holds numbers, or it is not known of which court or
            kind they are.
    """
    page = _page(path)
    frame = read_frame(path, sheet) if page is None else read_frame(page)
    there = {_plain(str(column)): str(column) for column in frame.cells}
    columns = {
        role: there[name]
        for role, names in NAMES.items()
        if (name := next((each for each in names.split() if each in there), None))
    }
    if "number" not in columns:
        raise ConfigError(
            f"{path}: no column holds the numbers of precedents. There are:"
            f" {listed([*map(str, frame.cells)])}. Call it `numero`, `tema` or `súmula`."
        )
    of_column = grammar.grammar.kind_of(columns["number"]) or KINDS.get(
        _plain(columns["number"])
    )
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    left_out: Counter[str] = Counter()
    for cells in frame.cells.to_dict("records"):
        said = {
            role: text
            for role, column in columns.items()
            if (text := _text(cells[column])) not in ("", "nan", "-")
        }
        row = _row(said, grammar, court, kind or of_column, Path(path).name)
        if isinstance(row, str):
            left_out[row] += 1
            continue
        rows[
            tuple(row.get(key, "") for key in ("court", "kind", "number", "series"))
        ] = row
    if missing := left_out.pop("court", 0) or left_out.pop("kind", 0):
        what = "court" if not court and missing else "kind"
        raise ConfigError(
            f"{path}: of {missing} row(s) it is not known of which {what} they are. Say so:"
            f" --court STF, and where no column and no number names the kind, --kind tema."
        )
    return Published(
        [*rows.values()],
        columns,
        left_out,
        Counter(row["kind"] for row in rows.values()),
    )


def _row(
    said: Mapping[str, str],
    table: Precedents,
    court: str | None,
    kind: str | None,
    source: str,
) -> dict[str, str] | str:
    """A row of the table of precedents, or why there is none."""
    grammar, written = table.grammar, said.get("number", "")
    series = None
    kind = _kind_of(said, grammar, kind)
    if kind is None and "kind" in said:
        return f"of the kind {said['kind'][:40]!r}"
    whole = f"{said.get('kind', '')} {written}" if written[:1].isdigit() else written
    if cited := grammar.citations(f"{whole} {court or ''}".strip()):
        own, series = cited[0], cited[0].series
        kind, number = (kind if "kind" in said and kind else own.kind), own.number
        court = court or own.court
    else:
        digits = re.sub(r"(?i)^n[.ºo°]*\s*", "", written)
        number = "" if kind is None else grammar.number_of(kind, digits) or ""
    if kind is None:
        return "kind"
    spec = grammar.layout.kinds[kind]
    kind, fixed = spec.kind or kind, spec.court
    found = grammar.court_of(fixed or court or said.get("court", ""))
    if found is None:
        return "court"
    if kind == "oj" and series is None:
        series = _section(said, grammar)
        if series is None:
            return "without the section that numbers it"
    said = _with_thesis(said, kind)
    status = _status(said)
    if not number or status is None:
        return "not decided" if number else "without a number that the grammar reads"
    row = {
        "precedent": "-".join(filter(None, (found, kind.upper(), series, number))),
        "court": found,
        "kind": kind,
        "number": number,
        "status": status,
        "note": said.get("status", "") if status != "in_force" else "",
        "source": source,
        "date": _date(said.get("date", "")),
        "series": series or "",
    }
    return row | {key: said[key] for key in ("leading_case", "holding") if key in said}


def _section(said: Mapping[str, str], grammar: Grammar) -> str | None:
    """The section of the TST that numbers an OJ, as the grammar reads it in a citation."""
    if "section" not in said:
        return None
    cited = grammar.citations(f"OJ 1 da {said['section']} do TST")
    return cited[0].series if cited else None


def _with_thesis(said: Mapping[str, str], kind: str) -> Mapping[str, str]:
    """A row without a thesis that says that there is none, and a súmula with its own text."""
    thesis = fold(said.get("holding", ""))[0].casefold().strip(" .")
    there = {role: cell for role, cell in said.items() if role != "holding"}
    if thesis and thesis not in NO_THESIS:
        return said
    if kind in WITH_OWN_TEXT and "question" in said:
        return there | {"holding": said["question"]}
    return there


def _status(said: Mapping[str, str]) -> str | None:
    """The state of a precedent in the table's words; None where nothing is decided."""
    if fold(said.get("recognised", ""))[0].casefold().startswith("nao"):
        return None
    state = fold(said.get("status", ""))[0].casefold()
    for words, ours in STATES:
        if re.search(words, state):
            return ours
    return (
        None if OPEN.search(state) or (state and "holding" not in said) else "in_force"
    )


def _kind_of(
    said: Mapping[str, str], grammar: Grammar, otherwise: str | None
) -> str | None:
    if "kind" not in said:
        return otherwise
    return grammar.kind_of(said["kind"]) or KINDS.get(_plain(said["kind"]))


def _date(written: str) -> str:
    """A date as year-month-day; empty where it is none."""
    if found := re.match(r"(\d{1,2})/(\d{1,2})/(\d{4})", written):
        return f"{found[3]}-{int(found[2]):02}-{int(found[1]):02}"
    found = re.match(r"\d{4}-\d{2}-\d{2}", written)
    return found[0] if found else ""


def write_table(
    published: Sequence[Published], shipped: Precedents, out: Path
) -> Precedents:
    """Write the rows that ship and those that were read into one table, of two rows of one
    precedent the one read last; the table, read back."""
    rows: dict[tuple[str, ...], Mapping[str, str]] = {}
    entries = (entry for entries in shipped.entries.items() for entry in entries[1])
    ours = [
        dict(entry.cells) | {"source": entry.cells.get("source", "")}
        for entry in entries
    ]
    for row in (*ours, *(row for each in published for row in each.rows)):
        kind = shipped.grammar.kind_of(row["kind"]) or row["kind"]
        key = (row["court"], kind, row["number"], row.get("series", ""))
        before, new = (
            rows.get(key, {}),
            {name: cell for name, cell in row.items() if cell},
        )
        if (
            before.get("status", "in_force") != "in_force"
            and new["status"] == "in_force"
        ):
            del new["status"]  # lists of theses do not say that one was modulated since
        rows[key] = {**before, **new}
    text = io.StringIO()
    writer = csv.DictWriter(
        text, FIELDS, restval="", extrasaction="ignore", lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows.values())
    files.write(out, text.getvalue())
    return Precedents(path=str(out))
