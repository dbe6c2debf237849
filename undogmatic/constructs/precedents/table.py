"""Looks citations up in a table of precedents: the one that ships, or one of the user's."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

from undogmatic.constructs.precedents import describes as describing
from undogmatic.constructs.precedents.grammar import Citation, Grammar
from undogmatic.datasets.rows import empty, table_file, table_rows
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.results import Finding
from undogmatic.safety.existing import existing_file
from undogmatic.safety.outside import brief, listed
from undogmatic.safety.paths import data_folder

Outcome = Literal["found", "other_court", "changed", "not_listed"]
"""In the table as cited; there with another court; there, and modulated, superseded or cancelled;
not in this table."""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
STATUSES = ("in_force", "modulated", "partly_superseded", "superseded", "cancelled")
FIELDS = tuple(
    "precedent court kind number series leading_case status note holding date source".split()
)
"""The columns that a table may have; `kind` and `number` it must have, and `court` where the kind
does not say it."""


@dataclass(frozen=True)
class Entry:
    """A row of the table: how it is cited, where it stands, and its cells."""

    shown: str
    court: str
    series: str | None
    line: int
    cells: Mapping[str, str]


@dataclass(frozen=True)
class LookedUp:
    """A citation, what came of looking it up, the entries that it was found as, and what is said of
    it; where it was asked for, what stands around each mention, and what the text tells of the
    precedent (None: not examined).
    """

    citation: Citation
    shown: str
    outcome: Outcome
    entries: tuple[Entry, ...]
    told: Finding
    passages: tuple[str, ...] = ()
    described: describing.Described | None = None

    @property
    def decided(self) -> list[Entry]:
        """The entries of which the table says what they decided, where it has the citation as it
        is."""
        own = () if self.outcome == "other_court" else self.entries
        return [entry for entry in own if entry.cells.get("holding")]


class Precedents:
    """A grammar of citations and a table to look them up in.

    Args:
        grammar: A YAML file that says how citations are written; None: that of Brazilian courts.
        path: A table (CSV, JSON Lines, Parquet) with the columns FIELDS; None: the one that ships.
        columns: What they are called in that table, where it has names of its own: {number: nr}.
        describes: By what to tell whether a text describes what a precedent decided; None: that is
            not examined. A judge is asked later (`asking.ask`).
    """

    def __init__(
        self,
        grammar: str | None = None,
        path: str | None = None,
        columns: Mapping[str, str] | None = None,
        describes: describing.By | None = None,
    ) -> None:
        if describes not in (None, *(ways := get_args(describing.By))):
            raise ConfigError(
                f"`precedents.describes` is {brief(describes)}; it may be: {', '.join(ways)}."
            )
        self.describes = describes
        if grammar is not None and path is None:
            raise ConfigError(
                "`precedents.grammar` is a file of yours; name its table too: precedents.path=FILE."
            )
        own = (
            None
            if grammar is None
            else existing_file(grammar, "precedents.grammar", (".yaml", ".yml"))
        )
        self.grammar = Grammar(own or data_folder() / "precedents" / "brazil.yaml")
        own = None if path is None else table_file(path, "precedents.path")
        self.path = own or data_folder() / "curated" / "precedents.csv"
        self.columns = {name: name for name in FIELDS} | dict(columns or {})
        if unknown := self.columns.keys() - set(FIELDS):
            raise ConfigError(
                f"`precedents.columns` names {brief(min(unknown))}; there are: {', '.join(FIELDS)}."
            )

    def look_up(self, text: str) -> list[LookedUp]:
        """Every precedent that a text cites, once, in the order in which they come."""
        once: dict[tuple[str, str, str | None, str | None], list[int]] = defaultdict(
            list
        )
        cited = self.grammar.citations(text)
        for n, one in enumerate(cited):
            once[(one.kind, one.number, one.series, one.court)].append(n)
        found = [self._looked_up(cited[mentions[0]]) for mentions in once.values()]
        if self.describes is None:
            return found
        around, known = (
            describing.passages(text, cited),
            {entry.shown for one in found for entry in one.entries},
        )
        names, told = (
            describing.stems(" ".join(one.words for one in cited)),
            list[LookedUp](),
        )
        for its, mentions in zip(found, once.values(), strict=True):
            texts, own = (
                tuple(around[n] for n in mentions),
                {entry.shown for entry in its.decided},
            )
            said = (
                self.holdings.said(texts, own, known, names)
                if own and self.describes == "words"
                else None
            )
            told.append(replace(its, passages=texts, described=said))
        return told

    @cached_property
    def reliability(self) -> describing.Measured | None:
        """How often comparing words is right about the passages that ship, of the precedents that
        ship."""
        if self.describes != "words":
            return None
        look_up = Precedents(describes="words").look_up
        return describing.measure(
            "words", lambda row: next(one.described for one in look_up(row["passage"]))
        )

    @cached_property
    def holdings(self) -> describing.Holdings:
        """What the entries decided, to compare texts with."""
        entries = (entry for entries in self.entries.values() for entry in entries)
        return describing.Holdings(
            {
                entry.shown: entry.cells["holding"]
                for entry in entries
                if "holding" in entry.cells
            }
        )

    @cached_property
    def entries(self) -> dict[tuple[str, str], list[Entry]]:
        """The table's rows by kind and number. Raises DataError naming file and line."""
        rows: dict[tuple[str, str], list[Entry]] = defaultdict(list)
        for line, row in table_rows(
            self.path, [self.columns["kind"], self.columns["number"]]
        ):
            cells = {
                k: str(row[column]).strip()
                for k, column in self.columns.items()
                if not empty(row.get(column))
            }
            key, entry = self._entry(line, cells)
            if same := [
                e
                for e in rows[key]
                if (e.court, e.series) == (entry.court, entry.series)
            ]:
                twice = (
                    f"{entry.shown} stands in this table already, at line {same[0].line}. Keep one"
                    " of the rows."
                )
                raise DataError(f"{self.path}:{line}: {twice}")
            rows[key].append(entry)
        if not rows:
            raise DataError(
                f"{self.path} holds no precedents. Its columns may be: {', '.join(FIELDS)}."
            )
        return dict(rows)

    def _entry(self, line: int, cells: dict[str, str]) -> tuple[tuple[str, str], Entry]:
        layout = self.grammar.layout

        def wrong(field: str, allowed: str) -> DataError:
            said = f"is {brief(cells[field])}" if field in cells else "is empty"
            return DataError(
                f"{self.path}:{line}: `{self.columns[field]}` {said}; {allowed}."
            )

        if (kind := self.grammar.kind_of(cells.get("kind", ""))) is None:
            raise wrong(
                "kind",
                "it may be:"
                f" {', '.join(key for key, spec in layout.kinds.items() if not spec.kind)}",
            )
        if (number := self.grammar.number_of(kind, cells.get("number", ""))) is None:
            raise wrong("number", f"it must be a number of the kind {kind}")
        written = cells.get("court", layout.kinds[kind].court or "").casefold()
        if (
            court := next(
                (name for name in layout.courts if name.casefold() == written), None
            )
        ) is None:
            raise wrong("court", f"it may be: {listed([*layout.courts])}")
        known = {
            word.casefold(): name
            for name in STATUSES
            for word in (name, *layout.status.get(name, ()))
        }
        if (status := known.get(cells.get("status", STATUSES[0]).casefold())) is None:
            raise wrong("status", f"it may be: {', '.join(known)}")
        series = cells.get("series")
        shown = self.grammar.shown(court, kind, number, series)
        return (kind, number), Entry(
            shown, court, series, line, cells | {"court": court, "status": status}
        )

    @cached_property
    def _cases(self) -> dict[tuple[str, str], list[Entry]]:
        """The entries by the case that they come from."""
        cases: dict[tuple[str, str], list[Entry]] = defaultdict(list)
        for entry in (entry for entries in self.entries.values() for entry in entries):
            for case in self.grammar.citations(entry.cells.get("leading_case", "")):
                cases[self._case(case)].append(entry)
        return cases

    def _case(self, citation: Citation) -> tuple[str, str]:
        return self.grammar.layout.kinds[
            citation.kind
        ].series_of or citation.kind, citation.number

    @cached_property
    def about(self) -> dict[str, Any]:
        """How many entries the table has, and as of when (the latest date in it; None without
        dates)."""
        entries = [entry for entries in self.entries.values() for entry in entries]
        return {
            "n": len(entries),
            "date": max((e.cells.get("date", "") for e in entries), default="") or None,
        }

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many entries it has by court and kind, as they are cited."""
        found: dict[str, int] = defaultdict(int)
        for (kind, _), entries in self.entries.items():
            for entry in entries:
                name = self.grammar.layout.kinds[kind].name or kind
                found[f"{name} ({entry.court})"] += 1
        return dict(found)

    def _looked_up(self, cited: Citation) -> LookedUp:
        """Look one up. A court that only the passage suggests does not count against it: the table
        then says whose the number is."""
        spec, shown = self.grammar.layout.kinds[cited.kind], self.grammar.shown
        there = self.entries.get((cited.kind, cited.number), [])
        there = [
            entry
            for entry in there
            if cited.series is None or entry.series in (None, cited.series)
        ]
        own, how = [entry for entry in there if entry.court == cited.court], ""
        if spec.case and not own:
            own = there = self._cases.get(self._case(cited), [])
            how = "_case"
        # The court was only guessed from words nearby. That the table has the number
        # for another one then says that the guess is wrong, and not the text.
        elif not own and there and cited.stated not in ("beside", "kind"):
            own, how, sole = there, "_unnamed", len(there) == 1
            cited = cited._replace(
                court=there[0].court if sole else None,
                stated="table" if sole else cited.stated,
            )
        named = shown(
            None if how == "_unnamed" else cited.court,
            cited.kind,
            cited.number,
            cited.series,
        )
        values: dict[str, Any] = {
            "cited": named,
            "entries": [entry.shown for entry in there],
        }
        altered = [entry.shown for entry in own if entry.cells["status"] != STATUSES[0]]
        outcome: Outcome = "found" if own else "other_court" if there else "not_listed"
        if own and len(altered) == len(own):
            note = own[0].cells.get("note")
            outcome, how = "changed", how.replace("_unnamed", "")
            values |= {
                "status": own[0].cells["status"],
                "note": f": {note}" if note else "",
            }
        elif altered:
            how, values = f"{how}_some", values | {"altered": altered}
        elif outcome == "not_listed":
            no_kind = not spec.case and all(
                kind != cited.kind for kind, _ in self.entries
            )
            how = "_kind" if no_kind else "" if self.about["date"] else "_undated"
            values |= self.about | {"kind": spec.name or cited.kind}
        return LookedUp(
            cited,
            named,
            outcome,
            tuple(own or there),
            Finding(f"precedents.{outcome}{how}", values),
        )
