"""`nli=llm`: a capable model names the contradicted sentences, one call per summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from undogmatic.constructs.faithfulness.compared import REFERENCE, SUMMARY, Sides
from undogmatic.constructs.faithfulness.entailment import Entailment, Finding
from undogmatic.errors import ConfigError, UnparseableAnswer
from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Source
from undogmatic.judges.questions import Answer, as_json
from undogmatic.records.records import Item, Record


class Named(Record):
    """One contradiction: the numbers of the two sentences, and why both cannot be true."""

    reference: int
    summary: int
    kind: Literal["outcome", "holding", "vote", "date", "number", "party", "fact"]
    why: str


class Contradicted(Answer):
    """All contradictions between the two lists of sentences; often none."""

    room: ClassVar[int] = 2500

    contradictions: tuple[Named, ...] = ()


class LlmEntailment(Entailment):
    """The model sees both texts by numbered sentences and lists the contradictions. A number that is on neither list is
    an unreadable answer.

    Args:
        asker: How it is asked; it needs words.
    """

    name = "llm"

    def __init__(self, asker: Asker) -> None:
        super().__init__()
        if not asker.in_words:
            raise ConfigError(
                f"nli=llm wants a list of contradictions, and {asker.model.name} answers with numbers only here. Use a "
                "model that chats (model=gpt, model=ollama, ...), or without one: nli=rules."
            )
        self.asker = asker
        self.ask = asker.question("nli", Contradicted)

    async def compare(self, item: Item, sides: Sides) -> Sequence[Finding]:
        """What the model says of every sentence of the reference."""
        numbered = {REFERENCE: _numbered(sides.reference), SUMMARY: _numbered(sides.summary)}
        shown = item.model_copy(update={"inputs": item.inputs | numbered})  # as judged texts, within their fence
        answer: Contradicted = (await self.ask.acall(item=shown)).answer
        found: dict[int, Finding] = {}
        for each in answer.contradictions:
            for name, number, own in (
                ("reference", each.reference, sides.reference),
                ("summary", each.summary, sides.summary),
            ):
                if not 1 <= number <= len(own):
                    said = as_json({"contradictions": [one.model_dump() for one in answer.contradictions]})
                    raise UnparseableAnswer(f"`{name}` is {number}, and there are sentences 1 to {len(own)}", said)
            found.setdefault(each.reference - 1, Finding(True, each.summary - 1, f"{each.kind}: {each.why}", each.kind))
        return [found.get(n, Finding(False)) for n in range(len(sides.reference))]

    def sources(self) -> Sequence[Source]:
        return (self.asker,)


def _numbered(sentences: Sequence[str]) -> str:
    return "\n".join(f"{n}. {sentence}" for n, sentence in enumerate(sentences, 1))
