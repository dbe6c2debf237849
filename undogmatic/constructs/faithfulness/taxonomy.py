"""Counts what judges quote as wrong or missing by class: by rules, and beside them the classes that
others gave."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.constructs.faithfulness.facts.accusations import citations
from undogmatic.constructs.precedents.grammar import Grammar
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.base import Limited, Share, Unsuited
from undogmatic.examinations.ruling import Rule, Rules, Values, always, known, verdict
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.records.items import make_item, unique
from undogmatic.records.records import OVERALL, Item
from undogmatic.records.results import Finding, Standing, Told
from undogmatic.safety.existing import existing_file
from undogmatic.safety.outside import (
    Unreadable,
    brief,
    json_lines,
    json_value,
    read_yaml,
)
from undogmatic.safety.paths import data_folder
from undogmatic.safety.secrets import is_redacted
from undogmatic.stats import agreement, limits
from undogmatic.stats.estimate import Estimate

OTHER = "other"
KINDS = ("errors", "omissions")
BETWEEN = " | "  # stands between what was quoted, what is wrong with it, and what would be right
JOURNAL = "judgments.jsonl"
# of a quote, but nothing that it says
_NO_WORDS = (
    "severity",
    "category",
    "categories",
    "primary_category",
)


class Quoted(NamedTuple):
    """One thing that a judge found, in its words. `given` is the class that somebody put it in, if
    anybody did."""

    kind: str
    text: str
    severity: str | None
    given: str | None


class QuoteClasses:
    """Classes by ordered patterns, the first that is found counts.

    Args:
        path: A YAML file with the lists `errors` and `omissions`, each of {class, any: [patterns]};
            None: the shipped. A rule with `cites` wants a citation in the quote besides. `parts`
            has patterns that others take by their names in braces.
    """

    def __init__(self, path: str | None = None, key: str = "rules") -> None:
        file = (
            data_folder() / "faith" / "error_rules.yaml"
            if path is None
            else existing_file(path, key, (".yaml",))
        )
        try:
            loaded = read_yaml(file)
            parts = loaded.get("parts", {})
            self.by_kind = {
                kind: [_rule(rule, parts) for rule in loaded[kind]] for kind in KINDS
            }
        except (AttributeError, KeyError, TypeError, re.error) as error:
            raise ConfigError(
                f"{file}: no rules ({type(error).__name__}: {brief(str(error))}). It holds the"
                " lists `errors` and `omissions`, each of {class: NAME, any: [regular"
                " expressions]}."
            ) from None

    def classify(self, kind: str, text: str) -> str:
        """The class of a quote; OTHER where no pattern is found."""
        rules = self.by_kind.get(kind, ())
        return next((rule.name for rule in rules if rule.fits(text)), OTHER)


class QuoteRule(NamedTuple):
    """A class, the patterns of which one must be found, and whether a citation must be, too."""

    name: str
    patterns: list[re.Pattern[str]]
    cites: bool

    def fits(self, text: str) -> bool:
        """Whether a quote is of this class."""
        found = any(each.search(text) for each in self.patterns)
        # what would be right may cite, too
        return found and (
            not self.cites or cites(BETWEEN.join(text.split(BETWEEN)[:2]))
        )


def _rule(rule: Mapping[str, Any], parts: Mapping[str, str]) -> QuoteRule:
    def whole(source: str) -> str:
        for name, part in parts.items():
            source = source.replace(f"{{{name}}}", str(part))
        return source

    patterns = [re.compile(whole(source), re.I) for source in rule["any"]]
    return QuoteRule(str(rule["class"]), patterns, bool(rule.get("cites", False)))


def cites(text: str) -> bool:
    """Whether a text cites a case, a reporter, a docket, a law, or a precedent by its number."""
    return bool(citations(text) or _precedents().citations(text))


@cache
def _precedents() -> Grammar:
    return Grammar(data_folder() / "precedents" / "brazil.yaml")


def quotes(
    details: Mapping[str, Any], class_fields: Sequence[str] = ()
) -> list[Quoted]:
    """The quotes in the details of a verdict: `errors` and `omissions`, JSON text of a list of
    texts or objects, of which the fields `class_fields` may hold the class that somebody put a
    quote in."""
    read = []
    for kind in KINDS:
        text = details.get(kind)
        try:
            listed = json_value(text) if isinstance(text, str) else []
        except Unreadable:
            listed = text
        for quoted in listed if isinstance(listed, list) else [listed]:
            entry = quoted if isinstance(quoted, Mapping) else {"": str(quoted)}
            words = [
                v
                for k, v in entry.items()
                if isinstance(v, str) and k not in (*_NO_WORDS, *class_fields)
            ]
            label = next(
                (entry[k] for k in class_fields if isinstance(entry.get(k), str)), None
            )
            severity = None if entry.get("severity") is None else str(entry["severity"])
            read.append(Quoted(kind, BETWEEN.join(words), severity, label))
    return [quote for quote in read if quote.text.strip()]


class QuotesDataset:
    """Every quote in the judgments of a run (`path`: its folder, or its judgments.jsonl), with the
    class that the rules put it in as its label (`rules`: as of `QuoteClasses`)."""

    name = "quotes"

    def __init__(self, path: str, rules: str | None = None) -> None:
        folder = Path(path).expanduser()
        self.path = existing_file(
            str(folder / JOURNAL) if folder.is_dir() else path,
            "dataset.path",
            (".jsonl",),
        )
        self.rules = QuoteClasses(rules, "dataset.rules")
        self.about = str(self.path)

    def load(self) -> Sequence[Item]:
        """The quotes in the order of the journal. Raises DataError naming file and line."""
        return unique(
            self._items(),
            f"{self.path}: no judgment in it quotes errors or omissions, so it",
        )

    def _items(self) -> Iterable[tuple[str, Item]]:
        seen: dict[tuple[str, str], set[str]] = {}
        for number, row in json_lines(self.path):
            place, outcome = f"{self.path}:{number}", row.get("outcome")
            if not isinstance(outcome, dict) or not isinstance(row.get("item_id"), str):
                raise DataError(
                    f"{place}: not a judgment. Name the folder of a run, or its {JOURNAL}."
                )
            if row.get("repeat"):
                continue
            details = outcome.get("details") or {}
            if any(is_redacted(details.get(kind)) for kind in KINDS):
                raise DataError(
                    f"{place}: the run was judged with `tracking.redact` true, so its quotes were"
                    " not kept, only their hashes. Name a run that was judged with"
                    " tracking.redact=false."
                )
            about, judge = row["item_id"], str(row.get("judge"))
            case, _, system = about.rpartition("/")
            # a judge keeps its quotes beside each of its criteria
            earlier = seen.setdefault((about, judge), set())
            for quote in (each for each in quotes(details) if each.text not in earlier):
                earlier.add(quote.text)
                fields = {
                    "id": f"{about}/{judge}/{len(earlier)}",
                    "text": quote.text,
                    "pair": case or about,
                }
                fields["labels"] = {
                    OVERALL: {"rules": self.rules.classify(quote.kind, quote.text)}
                }
                fields["metadata"] = {
                    "kind": quote.kind,
                    "judge": judge,
                    "system": system or about,
                    "quoted": about,
                }
                yield place, make_item(place, fields)


FEWEST_GROUPS = 10  # fewest independent groups for a verdict on agreement
SUBSTANTIAL = (
    # Landis and Koch (1977), doi:10.2307/2529310: kappa above it is substantial agreement
    0.6
)
# the class of the rules, and the detail by which a judge says of a whole summary whether it hedges
HEDGING = "hedging"
_DETAILS = tuple(f"details.{kind}" for kind in KINDS)


@dataclass(frozen=True)
class TaxonomyFacts:
    """Holds how the rules agree with the classes that somebody else gave (`who`) to `n` quotes from
    `groups`: the `share` of equal classes and unweighted `kappa`, None where all quotes are in one
    class."""

    who: str
    n: int
    groups: int
    level: float
    share: Estimate
    kappa: Estimate | None


def _kappa(facts: TaxonomyFacts) -> Values:
    kappa = known(facts.kappa)
    return {
        "who": facts.who,
        "kappa": kappa.value,
        "n": facts.n,
        "level": facts.level,
        "interval": kappa.interval,
        "bound": SUBSTANTIAL,
    }


TAXONOMY = Rules[TaxonomyFacts](
    "taxonomy.verdict_",
    (
        Rule("none", "undecided", lambda f: f.kappa is None, lambda f: {"who": f.who}),
        Rule(
            "few",
            "undecided",
            lambda f: f.groups < FEWEST_GROUPS,
            lambda f: _kappa(f) | {"groups": f.groups, "needed": FEWEST_GROUPS},
        ),
        Rule("agree", "supported", lambda f: known(f.kappa).low > SUBSTANTIAL, _kappa),
        Rule(
            "differ",
            "refuted",
            lambda f: known(f.kappa).high < SUBSTANTIAL,
            lambda f: _kappa(f) | {"share": f.share.value},
        ),
        Rule("open", "undecided", always, _kappa),
    ),
)


@dataclass(frozen=True)
class TaxonomyAnalysis(Limited):
    """Quotes by class, judge and system, by ordered rules. Where the quotes bear a class already
    (`given`), or the run is of a model that was asked for the class of each quote (dataset=quotes),
    its agreement with the rules is stated.

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

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited where no judge quotes anything, or what judges quote was hidden."""
        if any(
            judged.frame[column].map(is_redacted).any()
            for column in _DETAILS
            if column in judged.frame
        ):
            raise Unsuited(
                "analysis=taxonomy reads what judges quote, and `tracking.redact` is true, so that"
                " only hashes of it are kept. Leave the analysis out, or judge with"
                " tracking.redact=false."
            )
        asked = "metadata.quoted" in judged.frame
        if (
            not asked
            and judged.frame["score"].notna().any()
            and not any(c in judged.frame for c in _DETAILS)
        ):
            raise Unsuited(
                "analysis=taxonomy reads what judges quote as errors and omissions, and none here"
                " does. Use judge=bucket, give the table columns with quotes (dataset.details), or"
                " classify those of another run: dataset=quotes dataset.path=RUN."
            )

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result; headline `taxonomy.kappa` where there are two classifiers, else
        `taxonomy.quotes`."""
        self.check(judged)
        tell = Told(self.name)
        table = self._quotes(judged)
        tell.say("found", n=len(table), errors=int((table["kind"] == "errors").sum()))
        tell.number(float(len(table)), "quotes", unit="count")
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
            wide = (
                table.groupby(["kind", "class", column])
                .size()
                .unstack(column, fill_value=0)
            )
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
        if len(classed := table[table["given"].notna()]):
            facts = self._agreement(tell, classed)
            decided = verdict(TAXONOMY, facts).decided
            headline = headline if facts.kappa is None else "taxonomy.kappa"
        labels = (
            classes["class"]
            .where(classes["class"] != OTHER, classes["kind"] + f"_{OTHER}")
            .tolist()
        )
        tell.draw(
            "classes",
            "bars",
            labels=labels,
            values=classes["n"].astype(float).tolist(),
            y_label="quotes",
        )
        return [tell.result(*decided, headline=headline)]

    def _quotes(self, judged: RunEvidence) -> pd.DataFrame:
        """A row per quote: of a judge, where what it keeps beside several criteria counts once; or
        of those that a model was asked for the class of, where one that it did not answer is left
        out."""
        rules, rows, frame = (
            QuoteClasses(self.rules, "analysis.rules"),
            [],
            judged.first(),
        )
        if "metadata.quoted" in frame:
            frame = judged.scored()
            names = {f"metadata.{name}": name for name in ("kind", "system")} | {
                "metadata.judge": "voice"
            }
            asked = frame[frame["criterion"] == OVERALL].rename(
                columns=names | {"category": "given", "judge": "by"}
            )
            texts = zip(
                asked["kind"].astype(str), asked["text"].astype(str), strict=True
            )
            return asked.assign(
                **{
                    "class": [rules.classify(*quote) for quote in texts],
                    "severity": None,
                }
            )
        columns = [c for c in _DETAILS if c in frame]
        system = "metadata.system" if "metadata.system" in frame else "item_id"
        for (item, judge), judgments in frame.groupby(["item_id", "judge"], sort=False):
            details = {
                c.removeprefix("details."): next(iter(judgments[c].dropna()), None)
                for c in columns
            }
            about = {"item": item, "voice": judge, "by": "given"}
            about |= {
                "system": judgments[system].iloc[0],
                "group": judgments["group"].iloc[0],
            }
            for quote in quotes(details, self.given):
                rows.append(
                    about
                    | quote._asdict()
                    | {"class": rules.classify(quote.kind, quote.text)}
                )
        return pd.DataFrame(
            rows, columns="item kind class voice system group severity given by".split()
        )

    def _agreement(self, tell: Told, classed: pd.DataFrame) -> TaxonomyFacts:
        """Tell of the classes that somebody else gave, and how the rules agree with them: the share
        of equal classes and unweighted kappa (None where all quotes are in one class), both with
        intervals over groups.
        """
        _count(tell, classed.groupby(["kind", "given"]).size(), "given")
        _count(
            tell, classed.groupby(["kind", "given", "system"]).size(), "given_by_system"
        )
        tell.tables["given"] = _counts(classed, "given")
        theirs = classed["given"].map(
            lambda label: self.same.get(str(label), str(label))
        )
        codes = {
            name: float(n)
            for n, name in enumerate(sorted({*classed["class"], *theirs}))
        }
        x, y = (
            labels.map(codes).to_numpy(dtype=np.float64)
            for labels in (classed["class"], theirs)
        )
        groups, kappa = classed["group"].tolist(), None
        if len(codes) > 1:
            kappa = agreement.kappa_interval(
                x, y, [*codes.values()], "none", self.level, groups=groups
            )
        share = limits.share((x == y).astype(np.float64), groups, self.level)
        tell.say("agreement", share.values("share"), n=len(classed), level=self.level)
        tell.number(share.value, "agreement", unit="share")
        tell.number(kappa, "kappa")
        tell.tables["crossed"] = (
            classed.assign(given=theirs)[["given", "class"]]
            .value_counts()
            .reset_index(name="n")
        )
        return TaxonomyFacts(
            who=str(classed["by"].iloc[0]),
            n=len(classed),
            groups=len(set(groups)),
            level=self.level,
            share=share,
            kappa=kappa,
        )


def _modes(judged: RunEvidence, table: pd.DataFrame) -> pd.DataFrame:
    """Count how summaries fail: a row per judge (and system, where there are any) has how many
    summaries it read, and with errors, omissions and hedging (by a quote of that class, or because
    the judge says so of the whole).
    """
    frame = judged.scored()
    columns = [column for column in _DETAILS if column in frame]
    if "item" not in table or not columns:
        return pd.DataFrame()
    by = ["judge", "system"] if "metadata.system" in frame else ["judge"]
    # as tables write a yes
    said = frame.get(f"details.{HEDGING}", pd.Series(0.0, frame.index)).replace(
        {"true": 1.0}
    )
    own = frame.rename(columns={"metadata.system": "system"}).assign(
        reads=frame[columns].notna().any(axis=1),
        says=pd.to_numeric(said, errors="coerce").fillna(0) > 0.5,
    )
    read = (
        own.groupby([*by, "item_id"], sort=False)[["reads", "says"]].max().reset_index()
    )
    read = read[read["reads"]]
    keys = pd.MultiIndex.from_frame(read[["item_id", "judge"]])
    for name, quoted in [
        *((kind, table["kind"] == kind) for kind in KINDS),
        (HEDGING, table["class"] == HEDGING),
    ]:
        read[name] = keys.isin(
            pd.MultiIndex.from_frame(table.loc[quoted, ["item", "voice"]])
        )
    read[HEDGING] |= read["says"]
    counts = {name: (name, "sum") for name in (*KINDS, HEDGING)}
    return (
        read.groupby(by, sort=False)
        .agg(summaries=("item_id", "size"), **counts)
        .reset_index()
    )


def _counts(table: pd.DataFrame, column: str) -> pd.DataFrame:
    counted = table.groupby(["kind", column]).size().reset_index(name="n")
    return counted.sort_values(
        ["kind", "n"], ascending=[True, False], kind="stable", ignore_index=True
    )


def _count(tell: Told, counts: pd.Series, name: str) -> None:
    """Add a metric per count, by what it is of."""
    for parts, n in counts.items():
        tell.number(
            int(n), name, *map(str, parts if isinstance(parts, tuple) else (parts,))
        )
