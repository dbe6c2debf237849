"""Tells whether a response deals with what was asked, from how much the embedded model foresees of
the one when it has read the other; the model is asked nothing.

`pairs` makes the questions with responses that the shipped probe was fitted and tried on.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from undogmatic.datasets.edits import language_of
from undogmatic.models.base import Foretells, Model
from undogmatic.records.marks import text_marks
from undogmatic.records.records import Record, digest
from undogmatic.safety.outside import read_json, read_yaml
from undogmatic.safety.paths import data_folder

FOLDS = 4
SHOWN, LONGEST = 200, 600
"""Characters of a response that are to be foreseen, and of a question or response that is read."""
NOTHING = "N/A"  # a question, or a response, that says nothing
_WORD = re.compile(r"\w+")


class Readings(NamedTuple):
    """Log-probabilities of tokens in the embedded model: of the response after its question and
    after one that says nothing, and of the question after the response and after none."""

    response: np.ndarray
    response_alone: np.ndarray
    question: np.ndarray
    question_alone: np.ndarray


async def read(model: Foretells, question: str, response: str) -> Readings:
    """What the embedded model foresees of a question and a response, of which it reads the
    beginning."""
    question, start = question.strip()[:LONGEST], response.strip()[:SHOWN]
    said = response.strip()[:LONGEST]
    return Readings(
        await model.foretold(f"Q: {question}\nA:", f" {start}"),
        await model.foretold(f"Q: {NOTHING}\nA:", f" {start}"),
        await model.foretold(f"A: {said}\nQ:", f" {question}"),
        await model.foretold(f"A: {NOTHING}\nQ:", f" {question}"),
    )


def features(readings: Readings, question: str, response: str) -> dict[str, float]:
    """What the probe goes by, each a number."""
    gains = {
        "response": readings.response - readings.response_alone,
        "question": readings.question - readings.question_alone,
    }
    found: dict[str, float] = {}
    for name, gain in gains.items():
        best = np.sort(gain)[::-1]
        found |= {
            f"{name}_gain": float(gain.mean()),
            f"{name}_best": float(best[: max(1, len(best) // 4)].mean()),
            f"{name}_worst": float(best[-max(1, len(best) // 4) :].mean()),
            f"{name}_total": float(gain.sum()),
            f"{name}_start": float(gain[:8].mean()),
            f"{name}_share": float((gain > 0).mean()),
        }
    words = [set(_WORD.findall(text.lower())) for text in (question, response)]
    both = len(words[0] & words[1])
    return found | {
        "response_odds": float(readings.response_alone.mean()),
        "question_odds": float(readings.question_alone.mean()),
        "response_length": float(np.log(len(readings.response))),
        "question_length": float(np.log(len(readings.question))),
        "words_of_question": both / max(1, len(words[0])),
        "words_of_response": both / max(1, len(words[1])),
        "other_language": float(_other_language(question, response)),
    }


def _other_language(question: str, response: str) -> bool:
    """Whether the one is in English and the other in Portuguese, as far as small words tell."""
    if language_of(question) == "en":
        return language_of(response) == "pt"
    # a text without any counts as English; with one more it does not
    return language_of(f"{response} que") == "en"


def shipped_file() -> Path:
    """The probe that ships."""
    return data_folder() / "probes" / "judge" / "coherence.json"


class RelevanceProbe(Record):
    """A logistic regression on `features`, fitted on the development pairs. Between `engages` and
    `off_topic` it cannot tell."""

    model: str
    model_sha256: str
    weights: dict[str, float]  # of each feature, in its own units
    offset: float
    off_topic: float  # least probability of being off the topic that is believed
    engages: (
        float  # most probability at which a response is taken to deal with the question
    )
    n: int
    topics: int
    figures: dict[str, float]  # on topics that were held out

    @property
    def digest(self) -> str:
        return digest(self.model_dump(mode="json"))

    async def read(self, model: Any, question: str, response: str) -> float:
        """How likely the response is off the topic."""
        found = features(await read(model, question, response), question, response)
        odds = self.offset + sum(
            weight * found[name] for name, weight in self.weights.items()
        )
        return float(1 / (1 + np.exp(-odds)))


def shipped_probe(model: Model) -> RelevanceProbe | None:
    """The probe that ships, where it was fitted on this very model."""
    if model.sha256 is None or not isinstance(model, Foretells):
        return None
    probe = RelevanceProbe.model_validate(read_json(shipped_file()))
    return probe if probe.model_sha256 == model.sha256 else None


def fitted_on() -> frozenset[str]:
    """Marks of the texts that the shipped probe was fitted on."""
    texts = (f"{pair.question}\n\n{pair.response}" for pair in pairs("dev"))
    return frozenset(text_marks(texts))


class Pair(NamedTuple):
    """A question with a response, and whether the response deals with it (`engages`)."""

    question: str
    response: str
    engages: bool
    kind: str  # how the response was made
    topic: str
    language: str
    fold: int  # of the topics that are held out together


def pairs(split: Literal["dev", "test"]) -> list[Pair]:
    """The pairs of a split: of every topic seven that deal with the question, and seven that do
    not. Most responses stand in both halves, under the question that they answer and under a
    neighbouring one, so that a response by itself gives little away."""
    stock = read_yaml(data_folder() / "coherence" / "relevance.yaml")
    made: list[Pair] = []
    for language in ("en", "pt"):
        topics = [
            topic
            for topic in stock["topics"]
            if (topic["split"], topic["language"]) == (split, language)
        ]
        empty, bare = (
            stock[name][split][language] for name in ("empty", "bare_refusal")
        )
        for n, topic in enumerate(topics):
            fold, turn = n % FOLDS, n // FOLDS
            # a topic of the same fold, so that no response is in two of them
            far = topics[n - FOLDS if n >= FOLDS else max(range(n, len(topics), FOLDS))]
            own = [text for k, text in enumerate(empty) if k % FOLDS == fold]
            refusals = [text for k, text in enumerate(bare) if k % FOLDS == fold]
            said = {
                "empty": own[turn // 2 % len(own)],
                "bare_refusal": (refusals or bare)[turn % len(refusals or bare)],
                "far": far["full"][turn % 2],
            }
            made += [
                Pair(question, response, engages, kind, topic["topic"], language, fold)
                for question, response, engages, kind in _of_topic(topic, said, turn)
            ]
    return made


def _of_topic(
    topic: dict[str, Any], said: dict[str, str], turn: int
) -> Iterator[tuple[str, str, bool, str]]:
    """Question, response, whether it engages and the kind, of a topic's pairs; which of the two
    questions comes first changes from turn to turn."""
    first = turn % 2
    asked, other = topic["questions"][first], topic["questions"][1 - first]
    for kind, place in (("full", first), ("short", 1 - first), ("other", first)):
        response = topic[kind][place]
        yield topic["questions"][place], response, True, kind
        yield topic["questions"][1 - place], response, False, f"{kind}_of_neighbour"
    for place, kind in enumerate(("refusal", "weak")):
        yield topic["questions"][place], topic[kind], True, kind
        yield topic["questions"][1 - place], topic[kind], False, f"{kind}_of_neighbour"
    # both answers deal with each question, whichever comes first
    yield asked, "\n\n".join(topic["full"]), True, "more_than_asked"
    yield other, said["bare_refusal"], True, "bare_refusal"
    yield other, said["far"], False, "far"
    if turn % 2:
        yield asked, asked, False, "copy"
    else:
        yield asked, said["empty"], False, "empty"
