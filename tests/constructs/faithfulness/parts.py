"""What the tests of the steps name in their configs."""

from undogmatic.judges.base import Judge
from undogmatic.models.base import Model
from undogmatic.records.records import Item, Verdict


class WordsJudge(Judge):
    """How many words a summary has."""

    name = "words"

    async def judge(self, item: Item) -> Verdict:
        return Verdict(score=float(min(100, len(item.inputs["summary"].split()))))


class GoesOn(Model):
    """A base model with a small context that counts words as tokens."""

    readouts = ("logprobs",)
    name = "goes-on"
    base = True
    context = 1_200

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    async def continue_text(self, text: str, most: int) -> str:
        if self.count_tokens(text) + most > self.context:
            raise AssertionError("more than the context holds")
        return "upheld the order. It gave reasons. It gave reasons. And it was about to say"
