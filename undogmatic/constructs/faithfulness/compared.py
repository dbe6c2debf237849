"""Holds a text against a reference: what several judges share, ROUGE, and the judges of coverage
and BERTScore."""

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from undogmatic.constructs.faithfulness.facts.words import sentences
from undogmatic.errors import ConfigError, UnfitInput, UnparseableAnswer
from undogmatic.judges.base import Judge, Source
from undogmatic.models.base import Model
from undogmatic.models.embeddings import Embeddings
from undogmatic.models.language_model import LanguageModel
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item, Verdict

SUMMARY, REFERENCE = "summary", "reference"
PAIR = {SUMMARY, REFERENCE}
ROUGE = ("rouge1", "rouge2", "rougeL")


class Means(NamedTuple):
    """A judge's source (`judges.base.Source`) that is no language model: rules, embeddings, a
    classifier. Nothing in it is fitted on texts that it could be asked about, and nothing is put to
    a model."""

    name: str
    model: Model
    prompt: Prompt
    uses_prompt: bool = False
    deterministic: bool = True
    lm: LanguageModel | None = None

    def fitted_on(self) -> frozenset[str]:
        return frozenset()

    def shown(self) -> str:
        return ""


class Sides(NamedTuple):
    """The sentences of the reference and of the text that is held against it."""

    reference: list[str]
    summary: list[str]

    @property
    def lengths(self) -> dict[str, float | str]:
        """How many there are, as a verdict's details keep it."""
        return {
            "reference_sentences": float(len(self.reference)),
            "summary_sentences": float(len(self.summary)),
        }


def sides(item: Item, least: int) -> Sides:
    """Both texts as sentences of at least `least` characters; shorter ones are skipped. Raises
    UnfitInput where an input is missing, or has no sentence that long."""
    both = Sides(
        *(sentences(needed(item, name), least) for name in (REFERENCE, SUMMARY))
    )
    if short := next((name for name, own in both._asdict().items() if not own), None):
        text = item.inputs[short][:80]
        raise UnfitInput(
            f"the {short} has no sentence of at least {least} characters: {text!r}"
        )
    return both


def needed(item: Item, name: str) -> str:
    """An input of the item. Raises UnfitInput where it is not there."""
    if name not in item.inputs:
        raise UnfitInput(
            f"there is no {name} to compare with (the item has: {', '.join(item.inputs)})"
        )
    return item.inputs[name]


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a verdict's details keep them: JSON text, numbers to six places."""
    plain = [
        {k: round(v, 6) if isinstance(v, float) else v for k, v in row.items()}
        for row in rows
    ]
    return json.dumps(plain, ensure_ascii=False)


def uncontradicted(contradicted: Sequence[bool]) -> float:
    """The share of the reference's sentences that no sentence of the text contradicts, in [0, 1].
    So sentences that the text has besides move nothing. Raises ValueError where there is no
    sentence."""
    if not len(contradicted):
        raise ValueError("a reference of no sentences has no share")
    return 1 - sum(map(bool, contradicted)) / len(contradicted)


class Covered(NamedTuple):
    """Per sentence of the reference its best match, and the share that has one. Arrays of shape
    (n_reference,)."""

    score: float  # covered / total, in [0, 1]
    # places of the best matches among the text's sentences, the first of equals
    best: NDArray[np.int64]
    similarity: NDArray[np.float64]  # theirs
    covered: NDArray[np.bool_]  # whether each reaches the threshold


def coverage(
    similarities: NDArray[np.float64], threshold: float, inclusive: bool
) -> Covered:
    """How much of the reference the text says, by the best match of each of the reference's
    sentences.

    Args:
        similarities: Cosine of every sentence of the reference with every one of the text, shape
            (n_reference, n_text).
        threshold: From where a sentence counts as said.
        inclusive: Whether a similarity of exactly the threshold counts.
    Raises:
        ValueError: One of the two has no sentence, or a similarity is NaN.
    """
    if similarities.ndim != 2 or not similarities.size or np.isnan(similarities).any():
        raise ValueError(
            f"similarities need both sides and no NaN, got shape {similarities.shape}"
        )
    best = similarities.argmax(axis=1)
    similarity = similarities[np.arange(len(best)), best]
    covered = similarity >= threshold if inclusive else similarity > threshold
    return Covered(float(covered.mean()), best, similarity, covered)


class CoverageJudge(Judge):
    """A sentence of the reference is covered if the summary has one similar enough; the score is
    the share covered.

    It reads what is said, not whether it is true: a reversed outcome is as similar as the right
    one.

    Args:
        embeddings, prompt: What makes the vectors; the run's prompt, which reaches nobody here.
        threshold: Cosine similarity from which a sentence counts as covered.
        inclusive: Whether exactly the threshold counts (>= instead of >).
        least: Shorter sentences are skipped, in characters.
    """

    name = "coverage"
    criteria = ("coverage",)
    asks = False

    def __init__(
        self,
        embeddings: Embeddings,
        prompt: Prompt,
        threshold: Annotated[float, Field(ge=-1, le=1)] = 0.5,
        inclusive: bool = False,
        least: Annotated[int, Field(ge=1, le=1000)] = 11,
    ) -> None:
        super().__init__()
        self.embeddings, self.prompt = embeddings, prompt
        self.threshold, self.inclusive, self.least = threshold, inclusive, least

    async def judge(self, item: Item) -> Mapping[str, Verdict]:
        """The share covered, and the best match of every sentence."""
        texts = sides(item, self.least)
        covered = coverage(
            await self.embeddings.similarities(*texts), self.threshold, self.inclusive
        )
        columns = {
            "sentence": texts.reference,
            "best_match": [texts.summary[n] for n in covered.best],
        }
        columns |= {
            "similarity": covered.similarity.tolist(),
            "covered": covered.covered.tolist(),
        }
        rows = [
            dict(zip(columns, row, strict=True))
            for row in zip(*columns.values(), strict=True)
        ]
        details = (
            {"covered": float(covered.covered.sum())}
            | texts.lengths
            | {"sentences": table(rows)}
        )
        missed = tuple(row["sentence"] for row in rows if not row["covered"])
        return {
            "coverage": Verdict(
                score=self.rubric.units(covered.score), issues=missed, details=details
            )
        }

    def readouts(self) -> Sequence[Source]:
        return (Means("embeddings", self.embeddings, self.prompt),)


def rouge(texts: Sequence[Mapping[str, str]]) -> list[dict[str, float]]:
    """F of each of ROUGE (stemmed) of every summary against its reference; {} where one of the two
    is not there.

    References:
        Lin (2004), ROUGE: A package for automatic evaluation of summaries.
        https://aclanthology.org/W04-1013/
    """
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ModuleNotFoundError:
        raise ConfigError(
            "analysis=baselines computes ROUGE with the package rouge-score, which is not"
            " installed: pip install 'undogmatic[faithfulness]'. To use stored columns only:"
            " analysis.of={bertscore: [...]}."
        ) from None
    scorer = RougeScorer(list(ROUGE), use_stemmer=True)
    made = [
        scorer.score(own[REFERENCE], own[SUMMARY]) if own.keys() >= PAIR else {}
        for own in texts
    ]
    return [
        {name: float(score.fmeasure) for name, score in each.items()} for each in made
    ]


class BertScoreJudge(Judge):
    """F1 of BERTScore, on the scale of the rubric; precision and recall are kept beside it.

    Needs `pip install 'undogmatic[bertscore]'` and the weights of the encoder, from the hub or a
    local folder.

    Args:
        encoder: Hub id or local folder; None: the library's own choice for the language.
        language: Of the texts, where no encoder is named.
        layers: Layer whose states are compared; needed for an encoder that the library does not
            know.
        rescale: Whether scores are rescaled by the library's baseline for the encoder.
        text, reference: The inputs that are compared.
    References:
        Zhang et al. (2020), BERTScore: Evaluating text generation with BERT. arXiv:1904.09675
    """

    name = "bertscore"
    criteria = ("bertscore",)

    def __init__(
        self,
        encoder: str | None = None,
        language: str = "en",
        layers: int | None = None,
        rescale: bool = False,
        text: str = "summary",
        reference: str = "reference",
    ) -> None:
        super().__init__()
        self.encoder, self.language, self.layers, self.rescale = (
            encoder,
            language,
            layers,
            rescale,
        )
        self.text, self.reference = text, reference

    async def judge(self, item: Item) -> dict[str, Verdict]:  # type: ignore[override]
        """One score. Raises UnparseableAnswer for an item that lacks an input."""
        if lacking := [
            name for name in (self.text, self.reference) if name not in item.inputs
        ]:
            raise UnparseableAnswer(
                f"there is nothing to compare: the item has no input {lacking[0]!r}"
            )
        scorer = _scorer(self.encoder, self.language, self.layers, self.rescale)
        found = scorer.score([item.inputs[self.text]], [item.inputs[self.reference]])
        precision, recall, score = (float(each[0]) for each in found)
        beside: dict[str, float | str] = {"precision": precision, "recall": recall}
        share = min(1.0, max(0.0, score))  # rescaled, it may lie a little outside
        return {
            "bertscore": Verdict(
                score=self.rubric.units(share), raw_score=score, details=beside
            )
        }


@functools.cache
def _scorer(
    encoder: str | None, language: str, layers: int | None, rescale: bool
) -> Any:
    try:
        from bert_score import BERTScorer
    except ModuleNotFoundError:
        raise ConfigError(
            "judge=bertscore needs the package bert-score, which is not installed: pip install"
            " 'undogmatic[bertscore]'."
        ) from None
    options = {"lang": language} if encoder is None else {"model_type": encoder}
    return BERTScorer(num_layers=layers, rescale_with_baseline=rescale, **options)
