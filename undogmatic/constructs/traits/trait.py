"""`trait`: how far a response shows one trait, by a scoring guide."""

from __future__ import annotations

from undogmatic.errors import ConfigError
from undogmatic.judges.score import ScoreJudge
from undogmatic.records.rubric import Bands, NumericScale, Rubric

NEEDED = ("HIGH", "LOW")


class TraitJudge(ScoreJudge):
    """Ask once, for a rubric that says what a high and what a low score mean.

    A response may stand alone, after a question, or in a scenario: what the rubric lets an item lack is left out.

    Args:
        readout: How the score comes out of the model.
    """

    name = "trait"

    def judge_by(self, rubric: Rubric) -> None:
        """Take the rubric. Raises ConfigError where it is no scoring guide."""
        super().judge_by(rubric)
        check_guide(rubric)


def check_guide(rubric: Rubric) -> None:
    """Raise ConfigError unless the rubric is a scoring guide: named bands of a numeric scale, a HIGH and a LOW one with
    their meanings in every language."""
    said = f"judge=trait scores by a guide of bands, and rubric={rubric.name}"
    form = "`guide: {kind: bands, bands: [{name: LOW, low: 0, high: 30}, {name: MID, ...}, {name: HIGH, ...}]}`"
    if not isinstance(rubric.scale, NumericScale) or not isinstance(rubric.guide, Bands):
        what = "has none" if rubric.guide is None else f"has a guide of {rubric.guide.kind}"
        raise ConfigError(f"{said} {what}. Write {form} and its meanings, or use judge=score.")
    names = [band.name.upper() for band in rubric.guide.bands]
    lacking = [name for name in NEEDED if name not in names]
    if lacking:
        raise ConfigError(
            f"{said} has no {' and no '.join(lacking)} (it has: {', '.join(names)}): nobody could say what such a "
            f"score means. Write {form}, with a meaning for each."
        )
    for language, wording in rubric.wordings.items():
        empty = [name for name, meaning in zip(names, wording.meanings, strict=True) if not meaning.strip()]
        if empty:
            raise ConfigError(f"{said} says nothing of {empty[0]} in `wordings.{language}.meanings`. Write it there.")
