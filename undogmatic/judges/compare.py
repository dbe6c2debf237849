"""`compare`: which of two outputs is better, asked in both orders, so that a preference for a place
decides nothing."""

from collections.abc import Mapping

from undogmatic.errors import ConfigError, ModelError, UndecidedAnswer
from undogmatic.judges.base import Judge
from undogmatic.readouts.base import Readout
from undogmatic.records.evidence import AS_GIVEN, SWAPPED
from undogmatic.records.records import OVERALL, Item, ScoreDistribution, Verdict
from undogmatic.records.rubric import Rubric, UnorderedScale

OUTPUTS = ("output_1", "output_2")
CHOICES = ("first", "second")
"""The categories of a choice, in the given numbering of the outputs; `tie` may stand before them.
"""


class CompareJudge(Judge):
    """Ask which output is better with the outputs as given, and once more with them swapped.

    The verdict is the choice on which both answers agree; its probabilities are the means of both.
    Where they disagree the judge is undecided, which is a failure of its own kind and no tie. What
    was said in each order stands beside it, as the criteria `as_given` and `swapped`, in the given
    numbering. With `both_orders` false the first answer is the verdict, and nobody knows what the
    place did.
    """

    name = "compare"

    def __init__(self, readout: Readout, both_orders: bool = True) -> None:
        super().__init__()
        self.readout = readout
        self.rubric = readout.rubric
        self.both_orders = both_orders
        self.criteria = (OVERALL, AS_GIVEN, *((SWAPPED,) if both_orders else ()))

    def judge_by(self, rubric: Rubric) -> None:
        """Take the rubric. Raises ConfigError where it is not about a choice of two outputs."""
        super().judge_by(rubric)
        scale = rubric.scale
        names = scale.categories if isinstance(scale, UnorderedScale) else ()
        if names not in (CHOICES, ("tie", *CHOICES)) or not set(OUTPUTS) <= set(
            rubric.inputs
        ):
            form = (
                "inputs output_1 and output_2 and the categories [first, second] or [tie, first,"
                " second]"
            )
            raise ConfigError(
                f"judge=compare needs a rubric with the {form}; rubric={rubric.name} has not. Use"
                " rubric=preference."
            )

    async def judge(self, item: Item) -> Mapping[str, Verdict | ModelError]:
        given: Verdict = (await self.readout.acall(item=item)).verdict
        if not self.both_orders:
            return {OVERALL: given, AS_GIVEN: given}
        turned = item.model_copy(
            update={
                "inputs": item.inputs
                | {OUTPUTS[n]: item.inputs[OUTPUTS[1 - n]] for n in (0, 1)}
            }
        )
        swapped = _turned(await self._second(turned))
        if isinstance(swapped, ModelError):
            return {OVERALL: swapped, AS_GIVEN: given, SWAPPED: swapped}
        return {OVERALL: _agreed(given, swapped), AS_GIVEN: given, SWAPPED: swapped}

    async def _second(self, item: Item) -> Verdict | ModelError:
        try:
            verdict: Verdict = (await self.readout.acall(item=item)).verdict
        except ModelError as error:  # what was said in the other order stays
            return error
        return verdict


def _turned(verdict: Verdict | ModelError) -> Verdict | ModelError:
    """What was said of swapped outputs, in the given numbering."""
    if isinstance(verdict, ModelError):
        return verdict
    spread = verdict.distribution
    if spread is not None:  # the last two places are the outputs
        *tie, first, second = spread.probabilities
        spread = spread.model_copy(update={"probabilities": (*tie, second, first)})
    other = dict(zip(CHOICES, reversed(CHOICES), strict=True))
    return verdict.replace(
        category=other.get(str(verdict.category), verdict.category), distribution=spread
    )


def _agreed(given: Verdict, swapped: Verdict) -> Verdict | ModelError:
    """The verdict on which both orders agree, or that they do not."""
    if given.category != swapped.category:
        said = f"as given {given.category}, swapped {swapped.category}"
        return UndecidedAnswer(
            f"the two orders disagree ({said}, both in the given numbering)", said
        )
    one, other = given.distribution, swapped.distribution
    if one is None or other is None:
        return given
    means = tuple(
        (a + b) / 2 for a, b in zip(one.probabilities, other.probabilities, strict=True)
    )
    spread = ScoreDistribution(values=one.values, probabilities=means)
    return given.replace(distribution=spread, confidence=spread.confidence)
