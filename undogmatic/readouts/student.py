"""`student`: the score of a distilled model with its interval; nothing is asked of a language
model."""

from undogmatic.errors import ConfigError
from undogmatic.models.base import Model
from undogmatic.models.distilled import DistilledModel
from undogmatic.models.language_model import served_model
from undogmatic.readouts.base import Readout, normal_verdict, written_text
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item, Verdict
from undogmatic.records.rubric import Rubric


class StudentReadout(Readout):
    """Score and interval as the student gives them; the distribution is a normal of the held-out
    spread, cut into the rubric's levels."""

    name = "student"
    needs = "student"
    uses_prompt = False

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        super().bind(model, prompt, rubric)
        _student(model).student.check(rubric, f"{_student(model).path}, the student,")

    def fitted_on(self) -> frozenset[str]:
        return self.model.fitted_on

    async def read(self, item: Item) -> Verdict:
        score, low, high, sd = await _student(served_model()).estimate(
            written_text(item, self.rubric)
        )
        return normal_verdict(self.rubric, score, sd, interval=(low, high))


def _student(model: Model) -> DistilledModel:
    if not isinstance(model, DistilledModel):
        raise ConfigError(
            f"{model.name} is no student; readout=student needs model=distilled model.path=FILE."
        )
    return model
