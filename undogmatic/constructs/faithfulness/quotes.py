"""What judges quote as wrong or missing: read from their judgments, put into classes by rules, and made items of, so
that a model can be asked for the class as well."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from undogmatic.datasets.base import existing_file, make_item, unique
from undogmatic.datasets.rows import json_lines
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import OVERALL, Item, Record
from undogmatic.safety.outside import Unreadable, brief, json_value, read_yaml
from undogmatic.safety.paths import data_folder
from undogmatic.safety.secrets import is_redacted

OTHER = "other"
KINDS = ("errors", "omissions")
JOURNAL = "judgments.jsonl"
_NO_WORDS = ("severity", "category", "categories", "primary_category")
"""Fields of a quote that are not what it says, but what somebody said of it."""


class QuoteClass(Record):
    """A class, and the patterns of which one must be found."""

    name: str
    patterns: tuple[re.Pattern[str], ...]

    model_config = Record.model_config | {"arbitrary_types_allowed": True}


class Quote(NamedTuple):
    """One thing that a judge found. `given` is the class that somebody put it in, if anybody did."""

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
        self.by_kind = _read(file)

    def classify(self, kind: str, text: str) -> str:
        """The class of a quote; OTHER where no pattern is found."""
        rules = self.by_kind.get(kind, ())
        return next((rule.name for rule in rules if any(each.search(text) for each in rule.patterns)), OTHER)

    def classes(self) -> list[str]:
        """All classes in their order, and OTHER."""
        return list(dict.fromkeys([*(rule.name for rules in self.by_kind.values() for rule in rules), OTHER]))


def _read(file: Path) -> dict[str, tuple[QuoteClass, ...]]:
    try:
        loaded = read_yaml(file)
        return {
            kind: tuple(
                QuoteClass(name=rule["class"], patterns=tuple(re.compile(x, re.IGNORECASE) for x in rule["any"]))
                for rule in loaded[kind]
            )
            for kind in KINDS
        }
    except (KeyError, TypeError, ValidationError, re.error) as error:
        raise ConfigError(
            f"{file}: no rules ({type(error).__name__}: {brief(str(error))}). It holds the lists `errors` and "
            "`omissions`, each of {class: NAME, any: [regular expressions]}."
        ) from None


def quotes(details: Mapping[str, Any], given: Sequence[str] = ()) -> list[Quote]:
    """The quotes in the details of a judgment: `errors` and `omissions`, JSON text of a list of texts or objects.

    Args:
        details: Of a verdict.
        given: Fields that may hold the class that somebody put a quote in.
    """
    found = []
    for kind in KINDS:
        for entry in _listed(details.get(kind)):
            if isinstance(entry, Mapping):
                words = [str(v) for k, v in entry.items() if isinstance(v, str) and k not in (*_NO_WORDS, *given)]
                label = next((str(entry[k]) for k in given if isinstance(entry.get(k), str)), None)
                severity = entry.get("severity")
                found.append(Quote(kind, " | ".join(words), None if severity is None else str(severity), label))
            elif str(entry).strip():
                found.append(Quote(kind, str(entry), None, None))
    return [quote for quote in found if quote.text.strip()]


def _listed(given: Any) -> list[Any]:
    if not isinstance(given, str):
        return []
    try:
        value = json_value(given)
    except Unreadable:
        return [given]
    return value if isinstance(value, list) else [value]


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
            place = f"{self.path}:{number}"
            outcome = row.get("outcome")
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
            earlier = seen.setdefault((about, judge), set())
            for quote in quotes(details):
                if quote.text in earlier:  # a judge keeps its quotes beside each of its criteria
                    continue
                earlier.add(quote.text)
                case, _, system = about.rpartition("/")
                fields = {"id": f"{about}/{judge}/{len(earlier)}", "text": quote.text, "pair": case or about}
                fields["labels"] = {OVERALL: {"rules": self.rules.classify(quote.kind, quote.text)}}
                fields["metadata"] = {"kind": quote.kind, "judge": judge, "system": system or about, "quoted": about}
                yield place, make_item(place, fields)
