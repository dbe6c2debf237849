"""Keeps a session in which somebody edits a judge's prompt beside what people said: which texts
edits are tuned on and which are held out, and every draft, edit, verdict and look.

The parts are dealt once, by a digest of the texts and in whole groups, before the first edit. All
that is typed or judged is one line more in a file, which only ever grows, whichever windows and
processes write to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from filelock import FileLock, Timeout
from scipy import special

from undogmatic.datasets.belonging import groups_of
from undogmatic.errors import DataError, StorageError
from undogmatic.examinations.improvement import AFTER, BEFORE, Measured, improvement
from undogmatic.examinations.truth import Margin, margin_of
from undogmatic.records.records import Item, Record, digest, text_mark
from undogmatic.records.rubric import NumericScale, Rubric
from undogmatic.safety import files
from undogmatic.safety.outside import Unreadable, json_value, opened
from undogmatic.stats.claims import fewest_pairs
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.proportion import proportion

FOLDER, FILE = "align", "session.jsonl"
SHARES = {"tuning": 0.5, "held_out": 0.5}
"""Of the labelled texts. What is held out decides the answer, and half of all is what finds a
difference of two prompts; what is tuned on needs as many, or there is nothing to learn from."""
ALPHA = 0.05
LONGEST = 20_000  # characters of a prompt
# to wait for another process, which holds the lock for as long as it writes a line
SECONDS = 20
FEW = 3  # edits of which nobody can say yet that further ones would fit noise
Part = Literal["tuning", "held_out"]
Answer = Literal["yes", "no", "not_yet"]


class Said(Record):
    """What a judge said of a text: a score, a category, or neither where it failed; and why."""

    score: float | None = None
    category: str | None = None
    why: str = ""


class Edit(NamedTuple):
    """A prompt that was to be run, and what the judge said with it; number 0 is the first one."""

    number: int
    text: str
    at: str
    said: Mapping[str, Said]  # by id of the texts that were judged so far


class Look(NamedTuple):
    """What the held-out part said of an edit: the shares of texts on which the first and this
    prompt agree with people, the gain with its interval at the level of this look (None where
    nothing can be said), and the answer. `failed` texts are left out."""

    number: int  # of the edit
    look: int
    answer: Answer
    rule: str  # that decided
    first: float
    edited: Estimate
    gain: tuple[float, float] | None
    level: float
    failed: int

    @property
    def reported(self) -> float:
        """The agreement that may be told to others. At the first look it is the one that was
        found. At a later one whoever chose the luckiest of several edits would tell its luck, so it
        is what is shown to be reached: the first prompt's, and of the gain its lower limit at this
        look's level."""
        if self.look == 1:
            return self.edited.value
        shown = self.gain[0] if self.answer == "yes" and self.gain is not None else 0.0
        return self.first + shown


class Fit(NamedTuple):
    """Whether the last edits gained more on the texts that they were tuned on than luck gives:
    how many there were, what the best of them turned right and wrong (in groups of texts), and how
    often the best of as many edits without any effect does as well."""

    edits: int
    right: int
    wrong: int
    luck: float

    @property
    def is_noise(self) -> bool:
        return self.edits >= FEW and self.luck > ALPHA


Ask = Callable[[str, Sequence[Item], Callable[[], None]], Mapping[str, Said]]
"""Asks the judge with another prompt about items; calls back for each that is judged."""


@dataclass(frozen=True)
class Labelled:
    """What a session begins with: the items that people labelled, their labels, and what the run's
    judge said of them.

    Attributes:
        run: The run's folder.
        items: Those with one label; `undecided` more have labels that contradict each other.
        people: Their labels by id, in score units.
        first: What the run's judge said, by id.
        prompt: The text that is edited, as it stands in the run.
        inputs: Names of the rubric's inputs.
    """

    run: Path
    rubric: Rubric
    criterion: str
    items: Sequence[Item]
    people: Mapping[str, float]
    first: Mapping[str, Said]
    prompt: str
    undecided: int = 0

    def agrees(self, item: str, said: Said) -> float:
        """1 where the judge says what people say, 0 where it does not, NaN where it failed. On a
        scale of numbers a difference up to the margin does not matter, nor one of half a step."""
        scale, label = self.rubric.scale, self.people[item]
        if said.score is None and said.category is None:
            return float("nan")
        if not isinstance(scale, NumericScale):
            named = said.category if said.score is None else scale.write(said.score)
            return float(named == scale.write(label))
        assert said.score is not None, "a scale of numbers has scores"
        return float(abs(said.score - label) <= self.margin + 1e-9)

    @property
    def margin(self) -> float:
        """The largest difference of numbers that counts as agreement."""
        scale = self.rubric.scale
        step = scale.step or 0.0 if isinstance(scale, NumericScale) else 0.0
        return max(margin_of(self.rubric).value, step / 2)

    def shown(self, said: Said) -> str:
        """What the judge said, in a word."""
        if said.score is None:
            return said.category or ""
        return self.rubric.scale.write(said.score)


def check_edit(text: str, first: str, inputs: Collection[str]) -> str:
    """The edited prompt without blanks around it. Raises ValueError, with what is wrong, for one
    that no judge can be asked with."""
    text = text.strip()
    if not text:
        raise ValueError(
            "is empty. Write what the judge shall do, or take an earlier prompt"
        )
    if len(text) > LONGEST:
        raise ValueError(f"has {len(text):,} characters, and {LONGEST:,} are the most")
    if "${" in text:
        raise ValueError(
            "holds `${`, which a prompt's file takes for a reference. Write it apart"
        )
    named, had = _placeholders(text), _placeholders(first)
    if lost := [name for name in had if name not in named]:
        raise ValueError(
            f"lacks the placeholder {{{lost[0]}}} of the first prompt. Put it back"
        )
    if added := [name for name in named if name in inputs and name not in had]:
        way = "the judge is shown the text below the prompt by itself. Take it out"
        raise ValueError(
            f"has the placeholder {{{added[0]}}}, which nothing fills: {way}"
        )
    return text


def _placeholders(text: str) -> list[str]:
    return re.findall(r"\{\{?\s*(\w+)\s*\}?\}", text)


def answer(
    agrees: Sequence[tuple[float, float]],
    groups: Sequence[str],
    look: int,
    number: int = 1,
) -> Look:
    """Say whether an edited prompt agrees better with people than the first, on texts that it was
    not tuned on.

    Args:
        agrees: Of each text, whether first and edited prompt agree (`Labelled.agrees`).
        groups: The group of each text.
        look: The number of this look at these texts; the level falls with it.
        number: Of the edit.
    """
    values = pd.DataFrame(agrees, columns=[BEFORE, AFTER]).assign(group=list(groups))
    none = Margin(0.0, "default", 1.0)
    costs = pd.DataFrame(columns=["cost", BEFORE, AFTER])
    measured = Measured("agreement", values, False, False, (0.0, 1.0), none, costs)
    told = improvement(measured, np.random.default_rng(0), ALPHA, looks=look)
    assert told.verdict is not None
    rule = told.verdict.key.removeprefix("improvement.verdict_")
    answers: dict[str, Answer] = {"better": "yes", "worse": "no", "within": "no"}
    level = float(told.verdict.values["alpha"])
    known = values.dropna()
    found = told.metrics
    gain = None
    if "improvement.gain_low" in found:
        gain = found["improvement.gain_low"], found["improvement.gain_high"]
    edited = Estimate(float("nan"), 0.0, 1.0, 1 - level)
    if len(known):
        edited = proportion(known[AFTER], 1 - level, groups=known["group"].tolist())
    first, failed = float(known[BEFORE].mean()), len(values) - len(known)
    decided = answers.get(rule, "not_yet")
    return Look(number, look, decided, rule, first, edited, gain, level, failed)


def turned(
    before: Mapping[str, float], after: Mapping[str, float], groups: Mapping[str, str]
) -> tuple[int, int]:
    """Count the groups of texts that an edit turned right, and those that it turned wrong; a
    failed judgment does not agree."""
    net: dict[str, float] = {}
    for item, group in groups.items():
        change = float(after[item] == 1) - float(before[item] == 1)
        # Groups are counted and not texts: five texts of one conversation that turn
        # together are one piece of luck.
        net[group] = net.get(group, 0.0) + change
    return sum(value > 0 for value in net.values()), sum(
        value < 0 for value in net.values()
    )


def fit(tried: Sequence[Mapping[str, float]], groups: Mapping[str, str]) -> Fit:
    """Say what the last edits gained on the texts that they were tuned on, beside luck.

    Each edit is held against the one that they started from: the first prompt, or the last edit
    that gained more than luck gives. An edit without effect turns a group right as often as wrong,
    so that what it turned is a fair coin (the sign test), and the best of k is lucky k times as
    easily.

    Args:
        tried: Whether each prompt agrees, by item: the first prompt, then the edits in order.
        groups: Item -> its group.
    """
    start, since = tried[0], list[tuple[float, int, int]]()
    for edit in tried[1:]:
        right, wrong = turned(start, edit, groups)
        p = float(special.bdtr(wrong, right + wrong, 0.5)) if right + wrong else 1.0
        since.append((p, right, wrong))
        # An edit that gained more than luck gives is where the next ones start from:
        # what they gain is counted from there, and so is their number.
        if _luck(since) <= ALPHA and p == min(since)[0]:
            start, since = edit, []
    if not since:
        return Fit(0, 0, 0, 0.0)
    _, right, wrong = min(since)
    return Fit(len(since), right, wrong, _luck(since))


def _luck(since: Sequence[tuple[float, int, int]]) -> float:
    """How often the best of as many edits without effect is as good as the best of these."""
    return float(1 - (1 - min(since)[0]) ** len(since))


class Session:
    """A session over the labelled items of a run; `ask` asks its judge with another prompt.

    Raises:
        DataError: Too few labelled texts to hold some out.
        StorageError: Its file cannot be written.
    """

    def __init__(self, labelled: Labelled, ask: Ask) -> None:
        self.labelled, self.ask = labelled, ask
        self.folder = labelled.run.resolve() / FOLDER
        self.path = self.folder / FILE
        self.lock = threading.RLock()
        self._read_to, self._lines = 0, list[dict[str, Any]]()
        self._marks = {
            item.id: text_mark(digest(item.inputs)) for item in labelled.items
        }
        with self._locked():
            if not self._of("begun"):
                self._begin()
        begun = self._of("begun")[0]
        side = {mark: part for part in SHARES for mark in begun[part]}
        self.parts: dict[str, list[Item]] = {part: [] for part in SHARES}
        for item in labelled.items:
            if (part := side.get(self._marks[item.id])) is not None:
                self.parts[part].append(item)
        self.later = len(labelled.items) - sum(map(len, self.parts.values()))
        self.groups = groups_of(labelled.items)
        self._check_sizes()

    def _begin(self) -> None:
        """Deal the texts to the two parts, and keep how."""
        from undogmatic.datasets.sides import deal

        # Drawn by the texts alone, so that who deletes the session is dealt the same again.
        seed = hashlib.sha256("".join(sorted(self._marks.values())).encode()).digest()
        people = self.labelled.people
        items = [item.with_label(people[item.id]) for item in self.labelled.items]
        rng = np.random.default_rng(list(seed))
        dealt = deal(sorted(items, key=lambda item: self._marks[item.id]), SHARES, rng)
        marks = {
            part: [self._marks[item.id] for item in own] for part, own in dealt.items()
        }
        self._add({"kind": "begun", "prompt": self.labelled.prompt, **marks})

    def _check_sizes(self) -> None:
        least = fewest_pairs(ALPHA)
        for part, items in self.parts.items():
            n = len({self.groups[item.id] for item in items})
            if n < least:
                name = part.replace("_", "-")
                raise DataError(
                    f"{self.labelled.run}: the {name} part has {n} independent groups of labelled"
                    f" texts, and with fewer than {least} no answer is possible"
                    f" ({len(self.labelled.items)} texts of the run have labels). Label more of"
                    f" them: undogmatic review export {self.labelled.run} --all"
                )

    # What is kept

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Let nobody else write meanwhile, having read what they wrote. Raises StorageError."""
        place = self.folder / f".{FILE}.lock"
        with self.lock:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                lock = FileLock(place, thread_local=False)
                lock.acquire(timeout=SECONDS)
            except Timeout:
                raise StorageError(
                    f"{self.path} cannot be written (another process has held {place} for"
                    f" {SECONDS} seconds). Try again; if that does not help, end the other command."
                ) from None
            except (OSError, NotImplementedError) as error:
                raise files.refused(place, error) from None
            try:
                self._read()
                yield
            finally:
                lock.release()

    def _read(self) -> None:
        """Read the whole lines that were added since. One that a crash cut off says nothing."""
        if not self.path.is_file():
            return
        with opened(self.path) as file:
            file.seek(self._read_to)
            content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        self._read_to += len(whole)
        for line in whole.splitlines():
            with contextlib.suppress(Unreadable):
                self._lines.append(json_value(line))

    def _add(self, line: dict[str, Any]) -> None:
        """Keep a line; to be called with the lock held."""
        line |= {"at": time.strftime("%Y-%m-%dT%H:%M:%S")}
        whole = files.ends_whole(self.path)
        with files.Log(self.path) as log:
            log.add(("" if whole else "\n") + json.dumps(line, ensure_ascii=False))
        self._read()

    def _of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self._lines if line["kind"] == kind]

    # What a person does

    def draft(self, key: str, text: str) -> None:
        """Keep what is being typed; `key` is the window's for this text."""
        with self._locked():
            self._add({"kind": "draft", "key": key[:100], "text": text})

    def edit(self, text: str) -> int:
        """Keep a prompt that shall be run; its number, which it has already where it was run
        before. Raises ValueError for one that breaks the prompt."""
        rubric = self.labelled.rubric
        text = check_edit(text, self.labelled.prompt, rubric.inputs)
        with self._locked():
            for edit in self.edits():
                if edit.text == text:
                    return edit.number
            number = len(self._of("edit")) + 1
            self._add({"kind": "edit", "number": number, "text": text})
            return number

    def judge(
        self, number: int, part: Part, step: Callable[[], None] = lambda: None
    ) -> None:
        """Have the judge judge the texts of a part with an edit, unless it has done so."""
        edit = self.edits()[number]
        due = [item for item in self.parts[part] if item.id not in edit.said]
        if due:
            said = self.ask(edit.text, due, step)
            plain = {
                item.id: said[item.id].model_dump(mode="json", exclude_defaults=True)
                for item in due
            }
            with self._locked():
                self._add(
                    {"kind": "judged", "number": number, "part": part, "said": plain}
                )

    def look(self, number: int, step: Callable[[], None] = lambda: None) -> Look:
        """Look at the held-out part with an edit, and count the look: beside the run's, in
        looks.jsonl, with all others at any of these texts."""
        from undogmatic.runs.looks import looked

        self.judge(number, "held_out", step)
        edit, held = self.edits()[number], self.parts["held_out"]
        labelled = self.labelled
        with self._locked():
            construct = f"{labelled.rubric.name}.{labelled.criterion}"
            claim = ["align", labelled.prompt, edit.text]
            look = looked(labelled.run.resolve(), held, construct, claim)
            found = self._answer(edit, look)
            if number not in {each.number for each in self.looks()}:
                self._add({"kind": "look", "number": number, "look": look})
        return found

    # What there is to see

    def edits(self) -> list[Edit]:
        """The first prompt and the edits in their order."""
        with self.lock:
            self._read()
            edits = [Edit(0, self.labelled.prompt, "", self.labelled.first)]
            for line in self._of("edit"):
                own = [
                    each
                    for each in self._of("judged")
                    if each["number"] == line["number"]
                ]
                said = {
                    item: Said.model_validate(one)
                    for each in own
                    for item, one in each["said"].items()
                }
                edits.append(Edit(line["number"], line["text"], line["at"], said))
            return edits

    def drafts(self) -> list[dict[str, str]]:
        """What was typed and not run, the last of each window's texts, the newest last."""
        with self.lock:
            self._read()
            known = {edit.text for edit in self.edits()}
            last: dict[str, dict[str, str]] = {}
            for line in self._of("draft"):
                last.pop(line["key"], None)
                last[line["key"]] = {name: line[name] for name in ("key", "text", "at")}
            texts = {line["text"].strip(): line for line in last.values()}
            return [line for text, line in texts.items() if text and text not in known]

    def looks(self) -> list[Look]:
        """The looks of this session at the held-out part, in their order."""
        edits = self.edits()
        with self.lock:
            return [
                self._answer(edits[line["number"]], line["look"])
                for line in self._of("look")
            ]

    def agreement(self, edit: Edit, part: Part) -> dict[str, float]:
        """Whether the judge agrees with people, by id (`Labelled.agrees`)."""
        return {
            item.id: self.labelled.agrees(item.id, edit.said.get(item.id, Said()))
            for item in self.parts[part]
        }

    def is_run(self, edit: Edit, part: Part = "tuning") -> bool:
        """Whether all texts of a part were judged with it."""
        return all(item.id in edit.said for item in self.parts[part])

    def fit(self) -> Fit:
        """What the last edits gained on the tuning part, beside luck."""
        tried = [
            self.agreement(edit, "tuning") for edit in self.edits() if self.is_run(edit)
        ]
        return fit(
            tried, {item.id: self.groups[item.id] for item in self.parts["tuning"]}
        )

    def chosen(self) -> Edit | None:
        """The edit to be used: the last that was shown to agree better, else the last that was
        run."""
        edits = self.edits()
        shown = [look.number for look in self.looks() if look.answer == "yes"]
        run = [edit.number for edit in edits[1:] if self.is_run(edit)]
        return edits[(shown or run)[-1]] if shown or run else None

    def _answer(self, edit: Edit, look: int) -> Look:
        first = self.agreement(self.edits()[0], "held_out")
        edited = self.agreement(edit, "held_out")
        groups = [self.groups[item] for item in first]
        return answer(
            [(first[item], edited[item]) for item in first], groups, look, edit.number
        )


def share(agrees: Mapping[str, float]) -> tuple[int, int]:
    """Of how many texts the judge says what people say, and of how many it gave a verdict."""
    known = [value for value in agrees.values() if not math.isnan(value)]
    return int(sum(known)), len(known)
