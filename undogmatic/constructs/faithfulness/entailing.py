"""Runs classifiers that say whether one sentence entails or contradicts another, from a folder or the hub."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from undogmatic.constructs.faithfulness.compared import Means, Sides
from undogmatic.constructs.faithfulness.embeddings import Embeddings, loading, publishers_licence, run
from undogmatic.constructs.faithfulness.nli import Entailment, SentenceFinding
from undogmatic.errors import ConfigError, DataError
from undogmatic.judges.base import Source
from undogmatic.models.base import Model
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item
from undogmatic.safety.outside import read_json

LABELS = ("entailment", "neutral", "contradiction")  # the order of the probabilities, whatever the model's own
OBVIOUS = (
    ("The judge signed the order.", "The judge signed the order.", "entailment"),
    ("Two men are playing football in a park.", "People are playing football.", "entailment"),
    ("The plaintiff won the case and received damages of $500.", "The plaintiff won the case.", "entailment"),
    ("The door is open.", "The door is closed.", "contradiction"),
    ("The man is asleep in his bed.", "The man is wide awake.", "contradiction"),
    ("Nobody was hurt in the accident.", "Several people were badly hurt in the accident.", "contradiction"),
)
"""Pairs that no model of entailment gets wrong; one that takes either kind for the other has its labels mixed up."""
CONTRADICTION = LABELS.index("contradiction")
AT_ONCE = 32
LONGEST = 256
Logits = Callable[[Sequence[tuple[str, str]]], NDArray[np.float64]]
"""Premises and hypotheses to what a model gives of each, shape (n_pairs, n_labels), in its own order."""


class Entailing(Model):
    """A classifier over LABELS, whose order is read from the model's own `id2label`.

    A folder with `model.onnx` and `tokenizer.json` runs on ONNX Runtime; anything else through transformers, from
    safetensors only.

    Args:
        path: Hub id or local folder.
    """

    readouts = ()

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = Path(path).name or path
        self.licence = publishers_licence("nli.path", path)
        self._logits: Logits | None = None
        self._lock = threading.Lock()

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Of premise and hypothesis: the probability of each of LABELS. Shape (n_pairs, 3). Raises ConfigError where
        the model cannot be loaded, lacks the labels, or gets an obvious pair wrong."""
        with self._lock:  # two at once would only slow one another
            if self._logits is None:
                self._logits = self._tested()
            return _probabilities(self._logits, pairs)

    def _tested(self) -> Logits:
        """What gives the logits of LABELS; a model that fails on pairs which cannot be got wrong is refused."""
        folder = Path(self.path).expanduser()
        own, names = _from_onnx(folder) if (folder / "model.onnx").is_file() else _from_transformers(self.path)
        order = order_of(names, self.path)

        def logits(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
            return np.asarray(own(pairs), dtype=np.float64)[:, order]

        answers = [LABELS[k] for k in _probabilities(logits, [pair[:2] for pair in OBVIOUS]).argmax(axis=1)]
        if wrong := [(*pair, answer) for pair, answer in zip(OBVIOUS, answers, strict=True) if answer != pair[2]]:
            first, second, right, answer = wrong[0]
            raise ConfigError(
                f"`nli.path` is {self.path!r}, which fails {len(wrong)} of {len(OBVIOUS)} obvious pairs: of {first!r} "
                f"and {second!r} it says {answer}, and it is {right}. Its `id2label` may be in the wrong order, or it "
                "was not trained for entailment. Name another model, or nli=rules."
            )
        return logits


def _probabilities(logits: Logits, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    found = np.empty((len(pairs), len(LABELS)))
    order = sorted(range(len(pairs)), key=lambda n: sum(map(len, pairs[n])))  # little is padded among equals
    for start in range(0, len(pairs), AT_ONCE):
        batch = order[start : start + AT_ONCE]
        own = logits([pairs[n] for n in batch])
        odds = np.exp(own - own.max(axis=1, keepdims=True))
        found[batch] = odds / odds.sum(axis=1, keepdims=True)
    return found


def order_of(names: Mapping[Any, str], path: str) -> list[int]:
    """Places of LABELS among a model's outputs, by its `id2label`. Raises ConfigError where one is not there."""
    by_name = {str(name).strip().lower(): int(place) for place, name in names.items()}
    starts = ("entail", "neutral", "contradict")
    places = [[n for name, n in by_name.items() if name.startswith(start)] for start in starts]
    if any(len(each) != 1 for each in places):
        raise ConfigError(
            f"`nli.path` is {path!r}, whose labels are {', '.join(map(str, names.values())) or 'none'}; it needs "
            "entailment, neutral and contradiction, by these names, in the `id2label` of its config.json."
        )
    return [each[0] for each in places]


def _from_transformers(path: str) -> tuple[Logits, Mapping[Any, str]]:
    instead = "a folder with model.onnx, tokenizer.json and config.json, or nli=rules"
    with loading("nli.path", path, "transformers and torch", instead):
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(path)
        model = AutoModelForSequenceClassification.from_pretrained(path, use_safetensors=True).eval()

    def logits(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        options = {"padding": True, "truncation": True, "max_length": LONGEST, "return_tensors": "pt"}
        tokens = tokenizer([first for first, _ in pairs], [second for _, second in pairs], **options)
        with torch.inference_mode():
            return np.asarray(model(**tokens).logits.double().numpy())

    return logits, model.config.id2label


def _from_onnx(folder: Path) -> tuple[Logits, Mapping[Any, str]]:
    import onnxruntime
    from tokenizers import Tokenizer

    try:
        names = read_json(folder / "config.json").get("id2label") or {}
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    except (DataError, AttributeError) as error:
        raise ConfigError(f"`nli.path` is {str(folder)!r}: {error}") from None
    except Exception as error:  # both libraries raise what they like for a file that is not what it should be
        raise ConfigError(
            f"`nli.path` is {str(folder)!r}, which cannot be loaded: {str(error).partition(chr(10))[0]}"
        ) from None
    tokenizer.enable_truncation(LONGEST)
    tokenizer.enable_padding()

    def logits(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        encoded = tokenizer.encode_batch(list(pairs))
        tokens = ("ids", "attention_mask", "type_ids")
        return run(session, *(np.array([getattr(each, name) for each in encoded]) for name in tokens))

    return logits, names


class DebertaEntailment(Entailment):
    """Every sentence of the reference as premise, every one of the summary as hypothesis; the likeliest label counts.

    Args:
        embeddings: What says which sentences are nearest, where `nearest` is set.
        prompt: The run's; it reaches nobody here.
        path: Hub id or local folder.
        nearest: Ask only about so many of the summary's sentences, the most similar ones; None: about all.
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
            places = [[int(k) for k in np.argsort(-row, kind="stable")[: self.nearest]] for row in similarity]
        pairs = [(sides.reference[n], sides.summary[k]) for n, own in enumerate(places) for k in own]
        found = await asyncio.to_thread(self.model.probabilities, pairs)
        findings = []
        for own, rows in zip(places, np.split(found, np.cumsum([len(own) for own in places])[:-1]), strict=True):
            against = rows.argmax(axis=1) == CONTRADICTION
            k = int(np.where(against, rows[:, CONTRADICTION], rows[:, CONTRADICTION] - 1).argmax())
            numbers, contradicted = dict(zip(LABELS, rows[k].tolist(), strict=True)), bool(against[k])
            why = f"contradiction with probability {numbers['contradiction']:.2f}" if contradicted else ""
            findings.append(SentenceFinding(contradicted, own[k], why, numbers=numbers))
        return findings

    def readouts(self) -> Sequence[Source]:
        return (Means("entailment", self.model, self.prompt),)
