"""Words and numbers in the language of the report: findings, labels, decimal signs, intervals and
p-values."""

from __future__ import annotations

import copy
import math
import numbers
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from undogmatic.records.own_scale import OwnScale
from undogmatic.records.results import Finding, Told
from undogmatic.records.rubric import Rubric
from undogmatic.records.wordings import FALLBACK, REPORT_TEXTS, read, texts_beside
from undogmatic.safety.outside import visible
from undogmatic.stats.estimate import Unit

NOTHING = "—"
MOST_KNOWN = 4096  # wordings whose places are kept
MOST_NAMED = 8  # names in a sentence; of more, the first and how many there are besides
WIDE = 20  # a scale on which one decimal of a score is enough
_A_JUDGE = re.compile(r"(?i)(?:judge|juiz|juíza|juiza)( \(.*\))?")  # with a criterion
_ONLY_WORDS = re.compile(r"([^\W\d_]+(?: [^\W\d_]+)*)( \(.*\))?")


class MissingWording(LookupError):
    """A finding has no wording in this language, or its wording uses a value that the finding
    lacks."""


def missing(value: Any) -> bool:
    """Whether a cell or value is empty: None, NaN or NaT."""
    return (
        value is None
        or (isinstance(value, numbers.Real) and math.isnan(value))
        or str(value) in ("NaT", "<NA>")
    )


EXAMINED = (
    "least",
    "margin",
    "prevalence",
    "epsilon",
    "alpha",
    "delta",
    "ignore",
    "tried",
)
"""Options of an examination, which sentences name."""
READ = ("judge", "criterion", "text", "group")
"""Options that say which column is what."""


def spelled(option: str, name: str, ends: str) -> dict[str, str]:
    """How sentences name an option, and how they set it (`{set_margin}0.05`)."""
    return {f"option_{option}": name, f"set_{option}": f"{name}{ends}"}


def _of_check() -> dict[str, str]:
    options: dict[str, str] = {}
    for option in (*EXAMINED, *READ, "labels"):
        options |= spelled(option, f"--{option}", " ")
    return options


OF_CHECK = _of_check()
"""How `undogmatic check` spells the options that sentences name."""


TURNED = {"higher": "lower", "lower": "higher"}


class Words:
    """The wordings of one language and how it writes numbers.

    A wording is looked for in the files given and among the report's own (`texts/<language>.yaml`),
    in the language and then in English. `{units}` in it is what the rubric calls a unit of the
    score. Tests are `strict`: a finding without wording raises; a report shows its key and values,
    because it is written after hours of judging.
    """

    def __init__(
        self,
        language: str,  # one of those that `report/texts` has
        # of what the report speaks of: analyses, dataset, sweep
        texts: Iterable[Path] = (),
        units: str | None = None,  # None: the general word
        strict: bool = False,
        # of a score; None where the scale is not known: as many as the size of the number asks for
        decimals: int | None = None,
        own: OwnScale | None = None,
    ) -> None:
        self.language, self.strict, self.reader = language, strict, own
        self.knows_scale = decimals is not None
        self.decimals = 1 if decimals is None else decimals
        self.options = OF_CHECK
        self.only_judge: str | None = None  # of a run by one judge, called by its style
        # marks the files of a report that lies beside the same in another language
        self.beside = ""
        self.own = own if own is not None and own.counts else None
        ends = None if self.own is None else self.own.bottom - self.own.top
        self._quoting = f".{self.decimals if ends is None else decimals_of(abs(ends))}f"
        self._known: dict[
            str, str | None
        ] = {}  # what was looked up: reports ask for the same thousands of times
        files = [*texts, *texts_beside(Finding)]
        self._sources = [
            source
            for code in dict.fromkeys((language, FALLBACK))
            for source in (
                read(REPORT_TEXTS / f"{code}.yaml"),
                *(read(path).get(code, {}) for path in files),
            )
        ]
        # Braces would make it a value that nobody gives.
        self.units = (
            re.sub("[{}]", "", units)
            if units is not None
            else self.text("common.units")
        )
        self._marks = {
            ord(","): self.text("common.thousands_mark"),
            ord("."): self.text("common.decimal_mark"),
        }

    @property
    def turned(self) -> bool:
        """Whether what is on the rubric's scale is written on one that runs the other way."""
        return self.own is not None and self.own.turned

    def of_result(self, told: Told) -> Words:
        """Those for what an analysis told: where that is in grades already, they stay as they
        are."""
        if self.own is None or not told.graded:
            return self
        made = copy.copy(self)
        made.own = None
        return made

    @classmethod
    def about(cls, rubric: Rubric, language: str, texts: Iterable[Path]) -> Words:
        """Those that speak of scores by this rubric."""
        wording = rubric.wordings.get(language)
        unit = None if wording is None else wording.unit
        return cls(
            language, texts, unit, decimals=decimals_of(rubric.maximum - rubric.minimum)
        )

    def find(self, key: str) -> str | None:
        """The wording under a dotted key (`ab.verdict_supported` is `verdict_supported` of section
        `ab`), or None."""
        found = self._found(key)
        if found is not None and ("{option_" in found or "{set_" in found):
            for name, spelled in self.options.items():
                found = found.replace(f"{{{name}}}", spelled)
        if found is None or "{units}" not in found:
            return found
        bare = found if self.units else found.replace(" {units}", "")
        return bare.replace("{units}", self.units)

    def _found(self, key: str) -> str | None:
        if key not in self._known:
            # Names of judges and systems are looked up as well, and there may be any
            # number of them.
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            said = (_lookup(source, key) for source in self._sources)
            self._known[key] = next((text for text in said if text is not None), None)
        return self._known[key]

    def text(self, key: str, **values: Any) -> str:
        """One of the report's own wordings. Raises MissingWording."""
        wording = self.find(key)
        if wording is None:
            raise MissingWording(
                f"there is no wording `{key}` in language {self.language!r}"
            )
        try:
            return _Formatter(self, key.partition(".")[0], values).vformat(
                wording, (), values
            )
        except KeyError as error:
            what = f"the wording `{key}` in language {self.language!r} uses {error}"
            raise MissingWording(
                f"{what}, which is not given (given: {', '.join(values)})"
            ) from None

    def say(self, finding: Finding) -> str:
        """A finding as a sentence; without wording it is shown by its key and values (`strict`:
        MissingWording)."""
        try:
            said = self.text(finding.key, **finding.values)
            return f"{finding.criterion}: {said}" if finding.criterion else said
        except MissingWording:
            # In a report an odd line is better than none; in a test it is a sentence
            # that was forgotten.
            if self.strict:
                raise
            values = ", ".join(
                f"{k} = {self.number(v)}" for k, v in finding.values.items()
            )
            return f"[{finding.key}] {values}".rstrip()

    def answered(self, finding: Finding) -> str:
        """A verdict with its answer in one word before it: "Not yet. The judge ranks ..."."""
        word = (
            ""
            if finding.answer is None
            else f"{self.text(f'common.answer.{finding.answer}')}. "
        )
        return word + self.say(finding)

    def name(self, word: str, section: str | None = None) -> str:
        """A condition, metric or column inside a sentence; what has no translation stays as it is,
        visibly."""
        word = str(word)
        if self.turned:  # a higher score is a lower grade
            word = TURNED.get(word, word)
        known = (
            self._value(word, section)
            or self.metric(word)
            or self.find(f"columns.{word}")
        )
        return known or self.find(f"{word}.title") or visible(word)

    def heading(self, word: str, section: str | None = None) -> str:
        """A table's column or an axis: like `name`, with the columns' own words first."""
        word = str(word)
        worded = self.find(f"{section}.names.{word}") if section is not None else None
        head, _, end = word.rpartition("_")
        if (
            end in ("low", "high", "interval")
            and self.metric(word) is None
            and self.metric(head) is not None
        ):
            worded = worded or self.text(f"columns.{end}")
        return worded or self.find(f"columns.{word}") or self.name(word, section)

    def value(self, word: str, section: str | None = None) -> str:
        """A cell or group in words: `<section>.names`, then the dataset's `names` and
        `common.names`; what none of them has, such as a model's name, stays as it is.
        "attack:hedges" is its parts joined by a colon.
        """
        return self._value(str(word), section) or visible(str(word))

    def metric(self, word: str) -> str | None:
        """A metric's label (`metrics.<word>` or `<analysis>.metrics.<rest>`), or None.
        "ab.mean.authority_only" is the label of its longest known beginning and the name of the
        rest."""
        analysis, _, rest = word.partition(".")
        label = self.find(f"metrics.{word}")
        if label is None and rest:
            label = self.find(f"{analysis}.metrics.{rest}")
            head, _, tail = word.rpartition(".")
            if label is None and (known := self.metric(head)) is not None:
                label = f"{known}, {self.name(tail, analysis)}"
            if label is None:  # a number of a check within an analysis that asked it
                label = self.metric(rest)
        return label

    def spec(self, unit: Unit, *values: float | None) -> str:
        """How a number in this unit and the ends of its interval are written, all alike: scores as
        the scale asks for, shares as per cent; what has no unit with two decimals, or with as many
        as its size asks for."""
        if unit in SPECS:
            return SPECS[unit]
        largest, whole = _size(values)
        # All scores of a report with as many decimals: 3 beside 3.25 looks like another
        # kind of number.
        if unit in ON_SCALE and self.knows_scale:
            return f"{ON_SCALE[unit]}g" if whole else ON_SCALE[unit]
        # Of a mean the third digit counts; of an error or a correlation it says nothing.
        if unit != "score" and 0.05 <= largest < 10 and not whole:
            return ".2f"
        return spec_for(largest)

    def column_spec(self, unit: Unit, *values: float | None) -> str:
        """How the numbers of a column in this unit are written, all alike."""
        if unit in SPECS:
            return SPECS[unit]
        largest, whole = _size(values)
        if largest >= 10 and not whole:
            return ".1f"
        if whole:
            return ".1f" if unit in ("score", "seconds") else "d"
        return _significant(largest)

    def figure(
        self, metric: str, value: float, interval: Sequence[float], unit: Unit
    ) -> str:
        """A metric's value and interval as part of a sentence: "right on 84% of the pairs (interval
        [75%, 90%])"; the words are `<analysis>.said.<rest>`, else the metric's label stands before
        its value."""
        analysis, _, rest = metric.partition(".")
        spec = self.spec(unit, value, *interval)
        said = self.find(f"{analysis}.said.{rest}") or f"{self.name(metric)} {{value}}"
        said = said.replace("{value}", self.number(value, spec))
        return (
            said
            if all(map(missing, interval))
            else self.text("common.said", said=said, ends=self.number(interval, spec))
        )

    def listed(self, names: Sequence[str]) -> str:
        """Names in a sentence; of many the first, and how many there are besides."""
        if len(names) <= MOST_NAMED:
            return ", ".join(names)
        said = ", ".join(names[: MOST_NAMED - 1])
        return self.text("common.and_more", said=said, more=len(names) - MOST_NAMED + 1)

    def _value(self, word: str, section: str | None) -> str | None:
        for key in (f"{section}.names", "names", "common.names"):
            if (found := self.find(f"{key}.{word}")) is not None:
                return found
        head, colon, tail = word.partition(":")
        known = self.find(f"names.{head}") if colon else None
        return None if known is None else f"{known}: {self.value(tail, section)}"

    def singular(self, following: str) -> str:
        """What follows a count of one, its first words in the singular as far as `common.one` has
        them."""
        pieces = re.split(r"(\s+)", following)
        # The text begins with a blank, so words stand at the even places from 2 on.
        for place in range(2, len(pieces), 2):
            word = re.match(r"\w*", pieces[place])[0]  # type: ignore[index]
            one = self._singulars.get(word) if not pieces[0] else None
            if one is None:
                break
            pieces[place] = one + pieces[place].removeprefix(word)
            if pieces[place] != one:  # a sign ends the phrase
                break
        return "".join(pieces)

    @cached_property
    def _singulars(self) -> dict[str, str]:
        pairs = (pair.partition("=") for pair in self.text("common.one").split())
        return {plural: singular for plural, _, singular in pairs}

    def judge(self, name: str, spec: str = "judge") -> str:
        """A judge's name that reads as a name inside a sentence: in quotes where it is but words
        ("score"). One that is called nothing but judge is "this judge" (`spec`: "judge") where only
        one is spoken of, else in quotes too.
        """
        only, _, criterion = name.partition(" (")
        if spec == "judge" and only == self.only_judge:
            return self.text("common.this_judge") + visible(
                f" ({criterion}" if criterion else ""
            )
        if spec == "judge" and (called := _A_JUDGE.fullmatch(name)):
            return self.text("common.this_judge") + visible(called[1] or "")
        plain = _ONLY_WORDS.fullmatch(name)
        return (
            visible(name)
            if plain is None
            else f"“{visible(plain[1])}”{visible(plain[2] or '')}"
        )

    def number(self, value: Any, spec: str = "") -> str:
        """A value in the language's way of writing; see `texts/en.yaml` for the specs. None and NaN
        are "—"."""
        if missing(value):
            written = NOTHING
        elif isinstance(value, bool):
            written = self.text("common.yes" if value else "common.no")
        elif isinstance(value, numbers.Real):
            written = self._real(
                float(value), spec, whole=isinstance(value, numbers.Integral)
            )
        elif isinstance(value, Mapping):
            written = ", ".join(f"{k} {self.number(v, spec)}" for k, v in value.items())
        elif isinstance(value, Iterable) and not isinstance(value, str):
            parts = list(value)
            # An interval from the higher to the lower grade would be read as a mistake.
            if self.turned and len(parts) == 2 and spec in ("s", "sg", "du", "dug"):
                parts.reverse()  # the lower end is the other one
            shown = [self.number(v, spec) for v in parts]
            written = ", ".join(shown)
            if len(parts) == 2 and all(
                missing(v) or isinstance(v, numbers.Real) for v in parts
            ):
                ends = self.text("common.interval_separator").join(shown)
                written = NOTHING if all(map(missing, parts)) else f"[{ends}]"
        else:
            written = str(value)
        return visible(written)

    def cell(self, column: str, value: Any, section: str | None = None) -> str:
        """A table's cell that is no number, or one by itself. `<section>.names` may have a word for
        it in this column alone (`band_good`), so that a user's "good" elsewhere stays as it is."""
        if isinstance(value, str):
            of = re.sub("_(low|high)$", "", column)
            if (own := self.find(f"{section}.names.{of}_{value}")) is not None:
                return own
            return (
                self.name(value, section)
                if column == "metric"
                else self.value(value, section)
            )
        return self.number(value)

    def placed(self, score: float) -> float:
        """A score on the scale on which people gave the labels, where that is not the rubric's and
        has numbers."""
        return score if self.reader is None else self.reader.score(score)

    def label(self, value: float) -> float | str:
        """A human label as it was given: on its own scale, or as its word."""
        return value if self.reader is None else self.reader.label(value)

    def quoted(self, *scores: float) -> str:
        """A score, or the ends of an interval of scores, on the scale of the labels, for beside its
        text."""
        placed = sorted(map(self.placed, scores))
        return self.number(placed if len(placed) > 1 else placed[0], self._quoting)

    def said(self, label: float) -> str:
        """A human label as it was given, for beside its text."""
        return self.number(self.label(label), self._quoting)

    def in_grades(self, value: Any, unit: Unit) -> Any:
        """A cell of a table on the scale of the labels; as it is where that is the rubric's, or it
        is no number on a scale."""
        if self.own is None or unit not in ON_SCALE or missing(value):
            return value
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            return value
        return self._on_own_scale(float(value), ON_SCALE[unit][0])

    def duration(self, seconds: float) -> str:
        """Seconds, or minutes and hours when there are many."""
        if missing(seconds):
            return NOTHING
        length, unit = (
            (1, "s") if seconds < 90 else (60, "min") if seconds < 5400 else (3600, "h")
        )
        return f"{self.number(seconds / length, '.1f')} {unit}"

    def _real(self, value: float, spec: str, whole: bool) -> str:
        # A p-value of 0.0000 is not 0.
        if spec in ("p", "bare_p"):
            shown = "p < 0.001" if value < 0.001 else f"p = {value:.3f}"
            return self.localise(
                shown if spec == "p" else shown.removeprefix("p ").removeprefix("= ")
            )
        if spec in ("u", "ug", "s", "sg", "du", "dug"):
            value, spec = self._on_own_scale(value, spec[0]), spec.removeprefix("d")
            spec, whole = "g" if spec.endswith("g") else f".{self.decimals}f", False
        if math.isinf(value):
            return "−∞" if value < 0 else "∞"
        if spec == "":
            spec = (
                "d"
                if whole or (value.is_integer() and abs(value) >= 10)
                else _significant(value)
            )
        if spec.endswith("d"):
            spec = spec[:-1] + (",.0f" if abs(value) >= 10000 else ".0f")
        return self.localise(format(value, spec))

    def _on_own_scale(self, value: float, what: str) -> float:
        """A score ("s"), the size of a difference ("u") or a difference of two scores ("d") on the
        scale of the labels."""
        if self.own is None:
            return value
        if what == "s":
            return self.own.score(value)
        return self.own.change(value) if what == "d" else self.own.amount(value)

    def localise(self, written: str) -> str:
        """A number written by Python in the language's signs: a true minus, its marks of thousands
        and decimals."""
        # "-0.0" makes a reader look for a direction that is not there.
        if written.startswith("-") and not re.search(r"[1-9]", written):
            written = written[1:]  # a rounded -0.0 is 0.0
        return written.replace("-", "−").translate(self._marks)


def decimals_of(span: float) -> int:
    """With how many decimals scores are written on a scale that is so wide."""
    return 1 if span >= WIDE else 2 if span >= 1 else 3


def glossary(language: str) -> Mapping[str, str]:
    """What the terms of reports mean, by term. `docs/glossary.md` says the same."""
    told: Mapping[str, str] = read(REPORT_TEXTS / f"{language}.yaml").get(
        "glossary", {}
    )
    return dict(
        (term, meaning)
        for term, _, meaning in (each.partition(": ") for each in told.values())
    )


def _lookup(node: Any, key: str) -> str | None:
    """The text under a dotted key; a key of the mapping may hold dots itself
    (`repeat.exact_match`)."""
    if not isinstance(node, Mapping):
        return None
    if key in node:
        return node[key] if isinstance(node[key], str) else None
    head, _, rest = key.partition(".")
    return _lookup(node.get(head), rest)


ON_SCALE: Mapping[Unit, str] = {"score": "s", "amount": "u", "change": "du"}
"""How numbers are written that are on the scale of scores."""
SPECS: Mapping[Unit, str] = {"share": ".0%", "p": "bare_p", "usd": ".4f", "count": "d"}
"""How numbers are written whose unit alone says it."""


def _size(values: Iterable[float | None]) -> tuple[float, bool]:
    """The largest of these numbers without its sign, and whether all of them are whole."""
    present = [
        float(value) for value in values if value is not None and not missing(value)
    ]
    return max(map(abs, present), default=0.0), all(
        value.is_integer() for value in present
    )


def spec_for(value: float) -> str:
    """How a number is written of which only its size is known."""
    return "" if float(value).is_integer() and abs(value) >= 10 else _significant(value)


def _significant(value: float) -> str:
    size = abs(value)
    if size > 1:
        return ".0f" if size >= 100 else ".1f" if size >= 10 else ".2f"
    return ".3f" if size >= 0.001 or size == 0 else ".1e"


def _inside(ends: Sequence[float], bound: float) -> str:
    """A spec of two decimals, or of as many as show every end that lies within the bound as within
    it."""
    inside = [abs(end) for end in ends if abs(end) < abs(bound)]
    fit = (n for n in range(2, 10) if all(round(end, n) < abs(bound) for end in inside))
    return f".{next(fit, 9)}f"


class _Formatter(string.Formatter):
    """`str.format` with our specs. Values cannot be looked into (`{x.attr}`, `{x[0]}`): wordings
    name plain values."""

    def __init__(self, words: Words, section: str, values: Mapping[str, Any]) -> None:
        self.words, self.section, self.values = words, section, values

    def parse(
        self, format_string: Any
    ) -> Iterator[tuple[str, str | None, str | None, str | None]]:
        """Read a wording; the words after a count of one stand in the singular ("1 group is")."""
        after_one = False
        for literal, field, spec, conversion in super().parse(format_string):
            yield (
                (self.words.singular(literal) if after_one else literal),
                field,
                spec,
                conversion,
            )
            count = (
                None
                if field is None or spec not in ("", "d")
                else self.values.get(field)
            )
            after_one = (
                isinstance(count, numbers.Real)
                and not isinstance(count, bool)
                and count == 1
            )

    def get_field(
        self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, str]:
        # Plain look-up alone: a wording comes from a file, which may be a stranger's,
        # and `{x.__class__}` would look into objects.
        return kwargs[field_name], field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        said = [
            each
            for each in (value if isinstance(value, list) else [value])
            if isinstance(each, Finding)
        ]
        if said:  # sentences within a sentence
            return "; ".join(map(self.words.say, said))
        named = format_spec == "name" or format_spec.startswith("name ")
        if named or format_spec in ("own", "judge", "quoted"):
            names = [value] if isinstance(value, str) else value
            if format_spec == "own":  # a user's word, whatever it means as one of ours
                shown = [visible(str(each)) for each in names]
            elif named:
                section = format_spec.removeprefix("name").strip() or self.section
                shown = [self.words.name(each, section) for each in names]
            else:
                shown = [self.words.judge(str(each), format_spec) for each in names]
            return self.words.listed(shown)
        if format_spec == "title":
            return ", ".join(
                self.words.find(f"{v}.title") or self.words.name(v, self.section)
                for v in value
            )
        if format_spec.startswith("within "):
            format_spec = _inside(
                list(value), self.values[format_spec.removeprefix("within ")]
            )
        if format_spec == "amount" or format_spec.startswith("as "):
            unit: Unit = "" if format_spec == "amount" else self.values[format_spec[3:]]
            ends = list(value) if isinstance(value, Iterable) else [value]
            return self.words.number(value, self.words.spec(unit, *ends))
        if format_spec.startswith("said "):
            interval, unit = self.values[format_spec[5:]], self.values["unit"]
            return self.words.figure(str(self.values["metric"]), value, interval, unit)
        one, both, many = format_spec.partition("|")
        # a part of a sentence that says nothing where two counts are the same
        if one.startswith("unless "):
            one, many, value = (
                "",
                many.replace("#", self.words.number(value, "d")),
                value == self.values[one[7:]],
            )
        return (
            self.words.number(value, format_spec)
            if not both
            else one
            if value == 1
            else many
        )
