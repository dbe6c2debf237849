"""Counts what judges quote as wrong or missing by class: by rules, and beside them the classes that others gave."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.analyses.base import Limited, LongTable, Share, Unsuited
from undogmatic.analyses.ruling import Rule, Rules, always, verdict
from undogmatic.datasets.base import existing_file, make_item, unique
from undogmatic.datasets.rows import json_lines
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import OVERALL, Item
from undogmatic.records.results import AnalysisResult, Finding, Standing, Telling
from undogmatic.safety.outside import Unreadable, brief, json_value, read_yaml
from undogmatic.safety.paths import data_folder
from undogmatic.safety.secrets import is_redacted
from undogmatic.stats import agreement, limits

OTHER = "other"
KINDS = ("errors", "omissions")
JOURNAL = "judgments.jsonl"
_NO_WORDS = ("severity", "category", "categories", "primary_category")  # of a quote, but nothing that it says


class Quoted(NamedTuple):
    """One thing that a judge found, in its words. `given` is the class that somebody put it in, if anybody did."""

    kind: str
    text: str
    severity: str | None
    given: str | None


class QuoteClasses:
    """Classes by ordered patterns, the first that is found counts.

    Args:
        path: A YAML file with the lists `errors` and `omissions`, each of {class, any: [patterns]}; None: the shipped.
    """

    def __init__(self, path: str | None = None, key: str = "rules") -> None:
        file = data_folder() / "faith" / "error_rules.yaml" if path is None else existing_file(path, key, (".yaml",))
        try:
            loaded = read_yaml(file)
            self.by_kind = {
                kind: [
                    (str(rule["class"]), [re.compile(p, re.IGNORECASE) for p in rule["any"]]) for rule in loaded[kind]
                ]
                for kind in KINDS
            }
        except (KeyError, TypeError, re.error) as error:
            raise ConfigError(
                f"{file}: no rules ({type(error).__name__}: {brief(str(error))}). It holds the lists `errors` and "
                "`omissions`, each of {class: NAME, any: [regular expressions]}."
            ) from None

    def classify(self, kind: str, text: str) -> str:
        """The class of a quote; OTHER where no pattern is found."""
        rules = self.by_kind.get(kind, ())
        return next((name for name, patterns in rules if any(each.search(text) for each in patterns)), OTHER)


def quotes(details: Mapping[str, Any], given: Sequence[str] = ()) -> list[Quoted]:
    """The quotes in the details of a judgment: `errors` and `omissions`, JSON text of a list of texts or objects.

    Args:
        details: Of a verdict.
        given: Fields that may hold the class that somebody put a quote in.
    """
    found = []
    for kind in KINDS:
        text = details.get(kind)
        try:
            listed = json_value(text) if isinstance(text, str) else []
        except Unreadable:
            listed = text
        for quoted in listed if isinstance(listed, list) else [listed]:
            entry = quoted if isinstance(quoted, Mapping) else {"": str(quoted)}
            words = [v for k, v in entry.items() if isinstance(v, str) and k not in (*_NO_WORDS, *given)]
            label = next((entry[k] for k in given if isinstance(entry.get(k), str)), None)
            severity = None if entry.get("severity") is None else str(entry["severity"])
            found.append(Quoted(kind, " | ".join(words), severity, label))
    return [quote for quote in found if quote.text.strip()]


class QuotesDataset:
    """Every quote in the judgments of a run, with the class that the rules put it in as its label.

    Args:
        path: The run's folder, or its judgments.jsonl.
        rules: A YAML file of rules (`QuoteClasses`); None: the shipped.
    """

    name = "quotes"

    def __init__(self, path: str, rules: str | None = None) -> None:
        folder = Path(path).expanduser()
        self.path = existing_file(str(folder / JOURNAL) if folder.is_dir() else path, "dataset.path", (".jsonl",))
        self.rules = QuoteClasses(rules, "dataset.rules")
        self.about = str(self.path)

    def load(self) -> list[Item]:
        """The quotes in the order of the journal. Raises DataError naming file and line."""
        return unique(self._items(), f"{self.path}: no judgment in it quotes errors or omissions, so it")

    def _items(self) -> Iterable[tuple[str, Item]]:
        seen: dict[tuple[str, str], set[str]] = {}
        for number, row in json_lines(self.path):
            place, outcome = f"{self.path}:{number}", row.get("outcome")
            if not isinstance(outcome, dict) or not isinstance(row.get("item_id"), str):
                raise DataError(f"{place}: not a judgment. Name the folder of a run, or its {JOURNAL}.")
            if row.get("repeat"):
                continue
            details = outcome.get("details") or {}
            if any(is_redacted(details.get(kind)) for kind in KINDS):
                raise DataError(
                    f"{place}: the run was judged with `tracking.redact` true, so its quotes were not kept, only their "
                    "hashes. Name a run that was judged with tracking.redact=false."
                )
            about, judge = row["item_id"], str(row.get("judge"))
            case, _, system = about.rpartition("/")
            earlier = seen.setdefault((about, judge), set())  # a judge keeps its quotes beside each of its criteria
            for quote in (each for each in quotes(details) if each.text not in earlier):
                earlier.add(quote.text)
                fields = {"id": f"{about}/{judge}/{len(earlier)}", "text": quote.text, "pair": case or about}
                fields["labels"] = {OVERALL: {"rules": self.rules.classify(quote.kind, quote.text)}}
                fields["metadata"] = {"kind": quote.kind, "judge": judge, "system": system or about, "quoted": about}
                yield place, make_item(place, fields)


FEWEST_GROUPS = 10  # fewest independent groups for a verdict on agreement
SUBSTANTIAL = 0.6  # Landis and Koch (1977), doi:10.2307/2529310: kappa above it is substantial agreement
HEDGING = "hedging"  # the class of the rules, and the detail by which a judge says of a whole summary whether it hedges
_DETAILS = tuple(f"details.{kind}" for kind in KINDS)
_KAPPA = "who kappa=kappa.value n level interval=kappa.interval bound"
TAXONOMY = Rules("taxonomy.verdict_", (
    Rule("none", "undecided", lambda e: e.kappa is None, "who"),
    Rule("few", "undecided", lambda e: e.groups < FEWEST_GROUPS, f"{_KAPPA} groups needed"),
    Rule("agree", "supported", lambda e: e.kappa.low > SUBSTANTIAL, _KAPPA),
    Rule("differ", "refuted", lambda e: e.kappa.high < SUBSTANTIAL, f"{_KAPPA} share=share.value"),
    Rule("open", "undecided", always, _KAPPA),
))  # fmt: skip


def agreed(
    a: pd.Series, b: pd.Series, groups: pd.Series, rng: np.random.Generator, level: float, who: str
) -> SimpleNamespace:
    """How two classifiers of the same quotes agree, for TAXONOMY: the share of equal classes, and kappa (unweighted),
    None where all quotes are in one class; both with intervals over groups."""
    codes = {name: float(n) for n, name in enumerate(sorted({*a, *b}))}
    kappa = None
    if len(codes) > 1:
        x, y = (each.map(codes).to_numpy(dtype=np.float64) for each in (a, b))
        kappa = agreement.kappa_interval(x, y, [*codes.values()], rng, "none", level, groups=groups.tolist())
    share = limits.share((a == b).to_numpy(dtype=np.float64), groups.tolist(), level)
    counts = {"n": len(a), "groups": int(groups.nunique()), "needed": FEWEST_GROUPS, "bound": SUBSTANTIAL}
    return SimpleNamespace(share=share, kappa=kappa, level=level, who=who, **counts)


@dataclass(frozen=True)
class TaxonomyAnalysis(Limited):
    """Quotes by class, judge and system, by ordered rules. Where the quotes bear a class already (`given`), or the run
    is of a model that was asked for the class of each quote (dataset=quotes), its agreement with the rules is stated.

    Args:
        rules: A YAML file of ordered patterns (`quotes.QuoteClasses`); None: the shipped.
        given: Fields of a quote that may hold a class that somebody put it in.
        same: Their names -> ours.
        level: Confidence level.
    """

    name: ClassVar[str] = "taxonomy"
    long: ClassVar[bool] = True
    reads_words: ClassVar[bool] = True
    rules: str | None = None
    given: Sequence[str] = ("primary_category", "category")
    same: Mapping[str, str] = field(default_factory=dict)
    level: Share = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        QuoteClasses(self.rules, "analysis.rules")

    def check(self, judged: LongTable) -> None:
        """Raises Unsuited where no judge quotes anything, or what judges quote was hidden."""
        if any(judged.frame[column].map(is_redacted).any() for column in _DETAILS if column in judged.frame):
            raise Unsuited(
                "analysis=taxonomy reads what judges quote, and `tracking.redact` is true, so that only hashes of it "
                "are kept. Leave the analysis out, or judge with tracking.redact=false."
            )
        asked = "metadata.quoted" in judged.frame
        if not asked and judged.frame["score"].notna().any() and not any(c in judged.frame for c in _DETAILS):
            raise Unsuited(
                "analysis=taxonomy reads what judges quote as errors and omissions, and none here does. Use "
                "judge=bucket, give the table columns with quotes (dataset.columns.details), or classify those of "
                "another run: dataset=quotes dataset.path=RUN."
            )

    def __call__(self, judged: LongTable, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `taxonomy.kappa` where there are two classifiers, else `taxonomy.quotes`."""
        self.check(judged)
        tell = Telling(self.name)
        table = self._asked(judged) if "metadata.quoted" in judged.frame else self._quoted(judged)
        tell.say("found", n=len(table), errors=int((table["kind"] == "errors").sum()))
        tell.number(float(len(table)), "quotes")
        for kind in KINDS:
            tell.number(float((table["kind"] == kind).sum()), kind)
        if len(modes := _modes(judged, table)):
            tell.tables["modes"] = modes
            tell.number(float(modes[HEDGING].sum()), HEDGING)
        if "system" in modes:
            _count(tell, modes.groupby("system")[HEDGING].sum(), "hedging_by_system")
        if table.empty:
            return [tell.result()]
        tell.tables["classes"] = classes = _counts(table, "class")
        for name, column in (("judge", "voice"), ("system", "system")):
            wide = table.groupby(["kind", "class", column]).size().unstack(column, fill_value=0)
            tell.tables[f"by_{name}"] = wide.rename_axis(columns=None).reset_index()
            tell.tables[f"by_{name}"].attrs["names"] = list(wide.columns)
        _count(tell, table.groupby(["kind", "class"]).size(), "class")
        for (kind, judge), n in table.groupby(["kind", "voice"]).size().items():
            tell.number(int(n), str(kind), "by_judge", str(judge))
        if len(severity := table["severity"].value_counts()):
            tell.tables["severity"] = severity.reset_index(name="n")
            _count(tell, severity, "severity")
        decided: tuple[Finding | None, Standing | None] = (None, None)
        headline = "taxonomy.quotes"
        if len(known := table[table["given"].notna()]):
            _count(tell, known.groupby(["kind", "given"]).size(), "given")
            _count(tell, known.groupby(["kind", "given", "system"]).size(), "given_by_system")
            tell.tables["given"] = _counts(known, "given")
            ours = known["given"].map(lambda label: self.same.get(str(label), str(label)))
            evidence = agreed(known["class"], ours, known["group"], rng, self.level, str(known["by"].iloc[0]))
            tell.say("agreement", evidence.share.values("share"), n=evidence.n, level=self.level)
            tell.number(evidence.share.value, "agreement")
            tell.number(evidence.kappa, "kappa")
            decided = verdict(TAXONOMY, evidence).decided
            headline = headline if evidence.kappa is None else "taxonomy.kappa"
            tell.tables["crossed"] = known.assign(given=ours)[["given", "class"]].value_counts().reset_index(name="n")
        labels = classes["class"].where(classes["class"] != OTHER, classes["kind"] + f"_{OTHER}").tolist()
        tell.draw("classes", "bars", labels=labels, values=classes["n"].astype(float).tolist(), y_label="quotes")
        return [tell.result(*decided, headline=headline)]

    def _quoted(self, judged: LongTable) -> pd.DataFrame:
        """A row per quote of a judge; what it keeps beside several criteria counts once."""
        rules, rows, frame = QuoteClasses(self.rules, "analysis.rules"), [], judged.first()
        columns = [c for c in _DETAILS if c in frame]
        system = "metadata.system" if "metadata.system" in frame else "item_id"
        for (item, judge), own in frame.groupby(["item_id", "judge"], sort=False):
            details = {c.removeprefix("details."): next(iter(own[c].dropna()), None) for c in columns}
            about = {"item": item, "voice": judge, "system": own[system].iloc[0], "group": own["group"].iloc[0]}
            for quote in quotes(details, self.given):
                row = quote._asdict() | {"class": rules.classify(quote.kind, quote.text), "by": "given"}
                rows.append(about | row)
        return pd.DataFrame(rows, columns="item kind class voice system group severity given by".split())

    def _asked(self, judged: LongTable) -> pd.DataFrame:
        """A row per quote that a model was asked for the class of; one that it did not answer is left out."""
        rules, frame = QuoteClasses(self.rules, "analysis.rules"), judged.scored()
        frame = frame[frame["criterion"] == OVERALL]
        texts = zip(frame["metadata.kind"].astype(str), frame["text"].astype(str), strict=True)
        found = pd.DataFrame({"kind": frame["metadata.kind"], "class": [rules.classify(*each) for each in texts]})
        found = found.assign(voice=frame["metadata.judge"], system=frame["metadata.system"], group=frame["group"])
        return found.assign(severity=None, given=frame["category"], by=frame["judge"]).reset_index(drop=True)


def _modes(judged: LongTable, table: pd.DataFrame) -> pd.DataFrame:
    """Count how summaries fail: a row per judge (and system, where there are any) says how many summaries it read and
    in how many it found errors, omissions and hedging (by a quote of that class, or because it says so of the whole).
    """
    frame = judged.scored()
    columns = [column for column in _DETAILS if column in frame]
    if "item" not in table or not columns:
        return pd.DataFrame()
    by = ["judge", "system"] if "metadata.system" in frame else ["judge"]
    said = frame.get(f"details.{HEDGING}", pd.Series(0.0, frame.index)).replace({"true": 1.0})  # as tables write a yes
    own = frame.rename(columns={"metadata.system": "system"}).assign(
        reads=frame[columns].notna().any(axis=1), says=pd.to_numeric(said, errors="coerce").fillna(0) > 0.5
    )
    read = own.groupby([*by, "item_id"], sort=False)[["reads", "says"]].max().reset_index()
    read = read[read["reads"]]
    keys = pd.MultiIndex.from_frame(read[["item_id", "judge"]])
    for name, quoted in [*((kind, table["kind"] == kind) for kind in KINDS), (HEDGING, table["class"] == HEDGING)]:
        read[name] = keys.isin(pd.MultiIndex.from_frame(table.loc[quoted, ["item", "voice"]]))
    read[HEDGING] |= read["says"]
    counts = {name: (name, "sum") for name in (*KINDS, HEDGING)}
    return read.groupby(by, sort=False).agg(summaries=("item_id", "size"), **counts).reset_index()


def _counts(table: pd.DataFrame, column: str) -> pd.DataFrame:
    counted = table.groupby(["kind", column]).size().reset_index(name="n")
    return counted.sort_values(["kind", "n"], ascending=[True, False], kind="stable", ignore_index=True)


def _count(tell: Telling, counts: pd.Series, name: str) -> None:
    """Add a metric per count, by what it is of."""
    for parts, n in counts.items():
        tell.number(int(n), name, *map(str, parts if isinstance(parts, tuple) else (parts,)))
