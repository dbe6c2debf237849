"""Runs classifiers that say whether one sentence entails or contradicts another, from a folder or
the hub."""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from undogmatic.constructs.faithfulness.compared import Means, Sides
from undogmatic.constructs.faithfulness.nli import Entailment, SentenceFinding
from undogmatic.errors import ConfigError, DataError
from undogmatic.judges.base import Source
from undogmatic.models.base import Model
from undogmatic.models.embeddings import (
    Embeddings,
    graph_session,
    loading,
    publishers_licence,
    run,
)
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item
from undogmatic.safety.outside import read_json

# the order of the probabilities, whatever the model's own
LABELS = (
    "entailment",
    "neutral",
    "contradiction",
)
OBVIOUS = (
    ("The judge signed the order.", "The judge signed the order.", "entailment"),
    (
        "Two men are playing football in a park.",
        "People are playing football.",
        "entailment",
    ),
    (
        "The plaintiff won the case and received damages of $500.",
        "The plaintiff won the case.",
        "entailment",
    ),
    ("The door is open.", "The door is closed.", "contradiction"),
    ("The man is asleep in his bed.", "The man is wide awake.", "contradiction"),
    (
        "Nobody was hurt in the accident.",
        "Several people were badly hurt in the accident.",
        "contradiction",
    ),
)
"""Pairs that no model of entailment gets wrong; one that takes either kind for the other has its
labels mixed up."""
CONTRADICTION = LABELS.index("contradiction")
AT_ONCE = 32
LONGEST = 256
Logits = Callable[[Sequence[tuple[str, str]]], NDArray[np.float64]]
"""Premises and hypotheses to what a model gives of each, shape (n_pairs, n_labels), in its own
order."""


class Entailing(Model):
    """A classifier over LABELS by its hub id or its folder; their order is read from the model's
    own `id2label`.

    A folder with `model.onnx` and `tokenizer.json` runs on ONNX Runtime; anything else through
    transformers, from safetensors only.
    """

    readouts = ()

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = Path(path).name or path
        self.licence = publishers_licence("nli.path", path)
        self._loaded: tuple[Logits, list[int]] | None = None
        self._lock = threading.Lock()

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Of premise and hypothesis: the probability of each of LABELS. Shape (n_pairs, 3). Raises
        ConfigError where the model cannot be loaded, lacks the labels, or gets an obvious pair
        wrong."""
        with self._lock:  # two at once would only slow one another
            if self._loaded is None:
                self._loaded = self._tested()
            return _probabilities(*self._loaded, pairs)

    def _tested(self) -> tuple[Logits, list[int]]:
        """What gives the logits, and where LABELS are among them. A model that fails on pairs which
        cannot be got wrong is refused."""
        folder = Path(self.path).expanduser()
        logits, names = (
            _from_onnx(folder)
            if (folder / "model.onnx").is_file()
            else _from_transformers(self.path)
        )
        order = order_of(names, self.path)
        answers = [
            LABELS[k]
            for k in _probabilities(
                logits, order, [pair[:2] for pair in OBVIOUS]
            ).argmax(axis=1)
        ]
        if wrong := [
            (*pair, answer)
            for pair, answer in zip(OBVIOUS, answers, strict=True)
            if answer != pair[2]
        ]:
            first, second, right, answer = wrong[0]
            raise ConfigError(
                f"`nli.path` is {self.path!r}, which fails {len(wrong)} of {len(OBVIOUS)} obvious"
                f" pairs: of {first!r} and {second!r} it says {answer}, and it is {right}. Its"
                " `id2label` may be in the wrong order, or it was not trained for entailment. Name"
                " another model, or nli=rules."
            )
        return logits, order


def _probabilities(
    logits: Logits, places: list[int], pairs: Sequence[tuple[str, str]]
) -> NDArray[np.float64]:
    odds = np.empty((len(pairs), len(LABELS)))
    # little is padded among equals
    order = sorted(range(len(pairs)), key=lambda n: sum(map(len, pairs[n])))
    for start in range(0, len(pairs), AT_ONCE):
        batch = order[start : start + AT_ONCE]
        odds[batch] = np.asarray(logits([pairs[n] for n in batch]), dtype=np.float64)[
            :, places
        ]
    odds = np.exp(odds - odds.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def order_of(names: Mapping[Any, str], path: str) -> list[int]:
    """Places of LABELS among a model's outputs, by its `id2label`. Raises ConfigError where one is
    not there."""
    by_name = {str(name).strip().lower(): int(place) for place, name in names.items()}
    starts = ("entail", "neutral", "contradict")
    places = [
        [n for name, n in by_name.items() if name.startswith(start)] for start in starts
    ]
    if any(len(several) != 1 for several in places):
        raise ConfigError(
            f"`nli.path` is {path!r}, whose labels are"
            f" {', '.join(map(str, names.values())) or 'none'}; it needs entailment, neutral and"
            " contradiction, by these names, in the `id2label` of its config.json."
        )
    return [place for (place,) in places]


def _from_transformers(path: str) -> tuple[Logits, Mapping[Any, str]]:
    instead = "a folder with model.onnx, tokenizer.json and config.json, or nli=rules"
    with loading("nli.path", path, "transformers and torch", instead):
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(path)
        model = AutoModelForSequenceClassification.from_pretrained(
            path, use_safetensors=True
        ).eval()

    def logits(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        options = {
            "padding": True,
            "truncation": True,
            "max_length": LONGEST,
            "return_tensors": "pt",
        }
        tokens = tokenizer(
            [first for first, _ in pairs], [second for _, second in pairs], **options
        )
        with torch.inference_mode():
            return np.asarray(model(**tokens).logits.double().numpy())

    return logits, model.config.id2label


def _from_onnx(folder: Path) -> tuple[Logits, Mapping[Any, str]]:
    from tokenizers import Tokenizer

    try:
        names = read_json(folder / "config.json").get("id2label") or {}
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        session = graph_session(str(folder / "model.onnx"))
    except (DataError, AttributeError) as error:
        raise ConfigError(f"`nli.path` is {str(folder)!r}: {error}") from None
    except (
        Exception
        # both libraries raise what they like for a file that is not what it should be
    ) as error:
        raise ConfigError(
            f"`nli.path` is {str(folder)!r}, which cannot be loaded:"
            f" {str(error).partition(chr(10))[0]}"
        ) from None
    tokenizer.enable_truncation(LONGEST)
    tokenizer.enable_padding()

    def logits(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        encoded = tokenizer.encode_batch(list(pairs))
        tokens = ("ids", "attention_mask", "type_ids")
        return run(
            session,
            *(np.array([getattr(each, name) for each in encoded]) for name in tokens),
        )

    return logits, names


class DebertaEntailment(Entailment):
    """Every sentence of the reference as premise, every one of the summary as hypothesis; the
    likeliest label counts.

    Args:
        embeddings, prompt: What says which sentences are nearest; the run's prompt, which reaches
            nobody here.
        path: Hub id or local folder.
        nearest: Ask only about so many of the summary's sentences, the most similar ones; None:
            about all.
    """

    name = "deberta"

    def __init__(
        self,
        embeddings: Embeddings,
        prompt: Prompt,
        path: str,
        nearest: Annotated[int, Field(ge=1, le=10_000)] | None = None,
    ) -> None:
        super().__init__()
        self.embeddings, self.prompt, self.nearest = embeddings, prompt, nearest
        self.model = Entailing(path)

    async def compare(self, item: Item, sides: Sides) -> Sequence[SentenceFinding]:
        """The label of the sentence that most probably contradicts each one of the reference."""
        places = [list(range(len(sides.summary)))] * len(sides.reference)
        if self.nearest is not None and self.nearest < len(sides.summary):
            similarity = await self.embeddings.similarities(*sides)
            places = [
                [int(k) for k in np.argsort(-row, kind="stable")[: self.nearest]]
                for row in similarity
            ]
        pairs = [
            (sides.reference[n], sides.summary[k])
            for n, near in enumerate(places)
            for k in near
        ]
        found = await asyncio.to_thread(self.model.probabilities, pairs)
        findings = []
        for near, rows in zip(
            places, np.split(found, np.cumsum([*map(len, places)])[:-1]), strict=True
        ):
            against = rows.argmax(axis=1) == CONTRADICTION
            k = int(
                np.where(
                    against, rows[:, CONTRADICTION], rows[:, CONTRADICTION] - 1
                ).argmax()
            )
            numbers, contradicted = (
                dict(zip(LABELS, rows[k].tolist(), strict=True)),
                bool(against[k]),
            )
            why = (
                f"contradiction with probability {numbers['contradiction']:.2f}"
                if contradicted
                else ""
            )
            findings.append(
                SentenceFinding(contradicted, near[k], why, numbers=numbers)
            )
        return findings

    def readouts(self) -> Sequence[Source]:
        return (Means("entailment", self.model, self.prompt),)
