"""BERTScore of a text against its reference, as a judge that asks no chat: a baseline for judges that do."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from undogmatic.errors import ConfigError, UnparseableAnswer
from undogmatic.judges.base import Judge, Source
from undogmatic.records.records import Item, Verdict


class BertScoreJudge(Judge):
    """F1 of BERTScore, on the scale of the rubric; precision and recall are kept beside it.

    Needs `pip install 'undogmatic[bertscore]'` and the weights of the encoder, from the hub or a local folder.

    Args:
        encoder: Hub id or local folder; None: the library's own choice for the language.
        language: Of the texts, where no encoder is named.
        layers: Layer whose states are compared; needed for an encoder that the library does not know.
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
        self.encoder, self.language, self.layers, self.rescale = encoder, language, layers, rescale
        self.text, self.reference = text, reference

    async def judge(self, item: Item) -> dict[str, Verdict]:  # type: ignore[override]
        """One score. Raises UnparseableAnswer for an item that lacks an input."""
        lacking = [name for name in (self.text, self.reference) if name not in item.inputs]
        if lacking:
            raise UnparseableAnswer(f"there is nothing to compare: the item has no input {lacking[0]!r}")
        scorer = _scorer(self.encoder, self.language, self.layers, self.rescale)
        found = scorer.score([item.inputs[self.text]], [item.inputs[self.reference]])
        precision, recall, score = (float(each[0]) for each in found)
        beside: dict[str, float | str] = {"precision": precision, "recall": recall}
        share = min(1.0, max(0.0, score))  # rescaled, it may lie a little outside
        return {"bertscore": Verdict(score=self.rubric.units(share), raw_score=score, details=beside)}

    def readouts(self) -> Sequence[Source]:
        """None: nothing is asked."""
        return ()

    def settings(self) -> dict[str, Any]:
        """What determines its scores."""
        own = "encoder language layers rescale text reference".split()
        return super().settings() | {name: getattr(self, name) for name in own}


@functools.cache
def _scorer(encoder: str | None, language: str, layers: int | None, rescale: bool) -> Any:
    try:
        from bert_score import BERTScorer
    except ModuleNotFoundError:
        raise ConfigError(
            "judge=bertscore needs the package bert-score, which is not installed: pip install 'undogmatic[bertscore]'."
        ) from None
    options = {"lang": language} if encoder is None else {"model_type": encoder}
    return BERTScorer(num_layers=layers, rescale_with_baseline=rescale, **options)
