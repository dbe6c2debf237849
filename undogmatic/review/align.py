"""Opens a session of a run (`session`) to the browser: the disagreements of judge and people beside
the prompt, which is edited and run again there, and the held-out part where it is asked for."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from undogmatic.errors import ConfigError, DataError, UndogmaticError
from undogmatic.examinations.run_items import items_of
from undogmatic.records.records import OVERALL, Failure, Item, Judgment
from undogmatic.records.rubric import NumericScale, Rubric
from undogmatic.records.words import Words
from undogmatic.review import labels
from undogmatic.review.server import LocalServer, PageHandler
from undogmatic.review.session import Edit, Labelled, Look, Said, Session, share
from undogmatic.runs.folder import RunFolder

TEXTS = Path(__file__).with_name("align.texts.yaml")


def voice_of(folder: RunFolder) -> tuple[str, str]:
    """The judge and the criterion that a session is about. Raises ConfigError for a run of several
    judges."""
    voices = list(folder.voices())
    overall = [voice for voice in voices if voice[1] == OVERALL]
    chosen = overall if len(overall) == 1 else voices
    if len(chosen) > 1:
        listed = ", ".join(f"{judge} on {criterion}" for judge, criterion in chosen)
        raise ConfigError(
            f"{folder.named}, a run of several judges or criteria ({listed}), and a prompt is"
            " edited for one. Name a run of one judge."
        )
    return chosen[0]


def labelled_of(folder: RunFolder, task: str) -> Labelled:
    """The labelled items of a run and what its judge said of them. Raises ConfigError and
    DataError."""
    judge, criterion = voice_of(folder)
    rubric, items = folder.rubric, items_of(folder)
    people, undecided = _people(folder, items, rubric, criterion)
    first = {
        judgment.item_id: said(judgment)
        for judgment in folder.judgments
        if (judgment.judge, judgment.criterion, judgment.repeat)
        == (judge, criterion, 0)
    }
    known = [item for item in items if item.id in people and item.id in first]
    if not known:
        raise DataError(
            f"{folder.named}, a run whose texts nobody has labelled, so that nothing says where its"
            f" judge is wrong. Label them: undogmatic review export {folder.path} --all"
        )
    return Labelled(
        folder.path,
        rubric,
        criterion,
        known,
        people,
        first,
        task,
        undecided,
    )


def _people(
    folder: RunFolder, items: list[Item] | Any, rubric: Rubric, criterion: str
) -> tuple[dict[str, float], int]:
    """What people said of each item, in score units: of several labels the mean, or of categories
    the one that most gave; and how many items have labels of which none was given by most."""
    given: dict[str, list[float]] = {}
    reviewed = labels.read(folder.path)
    for label in reviewed:
        given.setdefault(label.item_id, []).append(label.label)
    if not reviewed:
        for item in items:
            values = item.labels.get(criterion, {}).values()
            given[item.id] = [value for value in values if not isinstance(value, str)]
    people, undecided = dict[str, float](), 0
    for item, values in given.items():
        if not values:
            continue
        if isinstance(rubric.scale, NumericScale):
            people[item] = sum(values) / len(values)
            continue
        (most, n), *others = Counter(values).most_common()
        # With as many for one category as for another, people have not said which it
        # is; a coin here would be agreement or none by chance.
        if (others and others[0][1] == n) or not rubric.scale.contains(most):
            undecided += 1
        else:
            people[item] = most
    return people, undecided


def said(judgment: Judgment) -> Said:
    """What a judgment says, as a session keeps it."""
    outcome = judgment.outcome
    if isinstance(outcome, Failure):
        return Said(why=f"{outcome.reason}: {outcome.message}")
    return Said(
        score=outcome.score, category=outcome.category, why=outcome.rationale or ""
    )


class Desk:
    """A session as the page sees it. One thing is judged at a time, in a thread of its own, and
    what is asked for meanwhile waits its turn.

    `about` says what is judged (judge, model), `reads` whether the judge reads the prompt at all,
    `sent` all that it is sent beside the text.
    """

    def __init__(
        self,
        session: Session,
        language: str,
        about: Mapping[str, str],
        reads: bool,
        sent: str,
    ) -> None:
        self.session, self.words = session, Words(language, [TEXTS])
        self._about = {**about, "language": language, "reads": reads, "sent": sent}
        self._turn, self._jobs = threading.Lock(), list[dict[str, Any]]()
        self._error: dict[str, Any] | None = None

    def about(self) -> dict[str, Any]:
        """What stays as it is: the texts of the tuning part, and how many are held out."""
        session, labelled = self.session, self.session.labelled
        tuning = session.parts["tuning"]
        texts = {
            item.id: {
                "texts": dict(item.inputs),
                "people": labelled.rubric.scale.write(labelled.people[item.id]),
            }
            for item in tuning
        }
        numeric = isinstance(labelled.rubric.scale, NumericScale)
        counts = {"tuning": len(tuning), "held_out": len(session.parts["held_out"])}
        notes = (
            []
            if self._about["reads"]
            else [self.words.text("align.reads_none", **self._about)]
        )
        if numeric:
            notes.append(
                self.words.text("align.agreement_means", margin=labelled.margin)
            )
        if labelled.undecided:
            notes.append(self.words.text("align.undecided", n=labelled.undecided))
        if session.later:
            notes.append(self.words.text("align.later", n=session.later))
        notes.append(self.words.text("align.measured"))
        return {**self._about, **counts, "items": texts, "notes": notes}

    def state(self) -> dict[str, Any]:
        """What changes: the edits and what they turned, what was typed, the looks, and what is
        being judged."""
        session = self.session
        # Taken first: what has ended by now is in the edits that are read afterwards.
        jobs, error = [dict(job) for job in self._jobs], self._error
        edits, looks, drafts = session.edits(), session.looks(), session.drafts()
        first = session.agreement(edits[0], "tuning")
        told = [self._edit(edit, first, looks) for edit in edits]
        return {
            "edits": told,
            "drafts": drafts,
            "fit": self._fit(),
            "looks": [
                {"number": each.number, "sentences": self._look(each)} for each in looks
            ],
            "next_look": self._next_look(),
            "jobs": jobs,
            "error": error,
        }

    def said(self, number: int) -> dict[str, Any]:
        """What the judge said of each text of the tuning part with an edit."""
        labelled, edit = self.session.labelled, self.session.edits()[number]
        return {
            item.id: {
                "said": labelled.shown(one),
                "why": one.why,
                "agrees": labelled.agrees(item.id, one) == 1,
            }
            for item in self.session.parts["tuning"]
            if (one := edit.said.get(item.id)) is not None
        }

    def run(self, text: str) -> int:
        """Keep an edit at once, and have it judged on the tuning part. Raises ValueError where it
        breaks the prompt."""
        number = self.session.edit(text)
        due = len(self.session.parts["tuning"])
        self._begin(
            number, due, lambda step: self.session.judge(number, "tuning", step)
        )
        return number

    def look(self, number: int) -> None:
        """Have an edit judged on the held-out part, and count the look."""
        edits = self.session.edits()
        if not 0 < number < len(edits) or not self.session.is_run(edits[number]):
            raise ValueError("is not run on the tuning part yet. Run it first")
        due = len(self.session.parts["held_out"])
        self._begin(number, due, lambda step: self.session.look(number, step))

    def _begin(
        self, number: int, total: int, work: Callable[[Callable[[], None]], Any]
    ) -> None:
        job = {"number": number, "done": 0, "total": total}
        self._jobs.append(job)

        def step() -> None:
            job["done"] += 1

        def done() -> None:
            # unless it ends in a way that is known
            error = self.words.text("align.broken")
            try:
                with self._turn:
                    work(step)
                error = ""
            except UndogmaticError as problem:
                error = str(problem)
            finally:
                self._error = {"number": number, "text": error} if error else None
                self._jobs.remove(job)

        # A daemon, so that whoever closes the program need not wait for it; an edit
        # that was cut short is run again.
        threading.Thread(target=done, daemon=True).start()

    def _edit(
        self, edit: Edit, first: Mapping[str, float], looks: list[Look]
    ) -> dict[str, Any]:
        told: dict[str, Any] = {"number": edit.number, "text": edit.text, "at": edit.at}
        if not self.session.is_run(edit):
            return told | {"run": False}
        own = self.session.agreement(edit, "tuning")
        agrees, known = share(own)
        right = [item for item in own if own[item] == 1 and first[item] != 1]
        wrong = [item for item in own if own[item] != 1 and first[item] == 1]
        told |= {
            "run": True,
            "agrees": agrees,
            "failed": len(own) - known,
            "right": right,
        }
        answers = {look.number: look.answer for look in looks}
        return told | {"wrong": wrong, "answer": answers.get(edit.number)}

    def _fit(self) -> dict[str, Any]:
        """What is to be said of the last edits: whether they fit noise."""
        found = self.session.fit()
        if not found.edits:
            return {"noise": False, "text": ""}
        key = "noise" if found.is_noise else "luck"
        return {
            "noise": found.is_noise,
            "text": self.words.text(f"align.{key}", **found._asdict()),
        }

    def _next_look(self) -> str:
        from undogmatic.examinations.improvement import level_of
        from undogmatic.review.session import ALPHA
        from undogmatic.runs.looks import looked

        session = self.session
        construct = f"{session.labelled.rubric.name}.{session.labelled.criterion}"
        held = session.parts["held_out"]
        look = looked(session.labelled.run.resolve(), held, construct, None) + 1
        level = level_of(ALPHA, look)
        return self.words.text("align.next_look", look=look, level=level, n=len(held))

    def _look(self, look: Look) -> list[str]:
        """The answer of a look, what of it may be told to others, and what was left out."""
        return sentences(look, self.words)


def sentences(look: Look, words: Words) -> list[str]:
    """What is said of a look: the answer, and what agreement may be reported."""
    values: dict[str, Any] = {
        "look": look.look,
        "first": look.first,
        "edited": look.edited.value,
        "n": look.edited.n,
        "level": 1 - look.level,
        "reported": look.reported,
        "failed": look.failed,
        "low_share": look.edited.low,
        "high_share": look.edited.high,
    }
    key = (
        look.answer if look.gain is not None and look.rule != "identical" else look.rule
    )
    if look.gain is not None:
        values |= dict(zip(("low", "high"), look.gain, strict=True))
        values["gain"] = look.edited.value - look.first
    told = [words.text(f"align.answer_{key}", **values)]
    way = (
        "first"
        if look.look == 1
        else "again"
        if look.answer == "yes"
        else "again_first"
    )
    told.append(words.text(f"align.report_{way}", **values))
    if look.failed:
        told.append(words.text("align.failed", **values))
    return told


class Server(LocalServer):
    """The server of one session."""

    name = "align"

    def __init__(self, desk: Desk, port: int = 0) -> None:
        self.desk = desk
        super().__init__(desk.session.folder, port, _Handler)


class _Handler(PageHandler):
    server: Server
    page = Path(__file__).with_name("align.html")
    refused = "The prompt was not run: {}"

    def get(self, path: str, asked: Mapping[str, str]) -> Mapping[str, Any] | None:
        """What stays, what changes, or what the judge said with an edit."""
        desk, number = self.server.desk, asked.get("number", "")
        if path == "/about":
            return desk.about() | {"state": desk.state()}
        if path == "/state":
            return desk.state()
        is_number = number.isascii() and number.isdigit()
        if path == "/said" and is_number and int(number) < len(desk.session.edits()):
            return desk.said(int(number))
        return None

    def post(self, path: str, sent: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Keep what is typed, run it, or look at the held-out part."""
        desk, text, number = self.server.desk, sent.get("text"), sent.get("number")
        if (
            path == "/draft"
            and isinstance(text, str)
            and isinstance(sent.get("key"), str)
        ):
            desk.session.draft(sent["key"], text)
            return {}
        if path == "/run" and isinstance(text, str):
            try:
                return {"number": desk.run(text), "state": desk.state()}
            except ValueError as error:
                raise ValueError(f"{error}") from None
        if path == "/look" and type(number) is int:
            desk.look(number)
            return {"state": desk.state()}
        return None
