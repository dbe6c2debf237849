"""`panel`: several judges, or one several times, and what they say together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from undogmatic.errors import ConfigError, ModelError, UnparseableAnswer
from undogmatic.judges.base import Judge
from undogmatic.judges.history import read_history
from undogmatic.models.calls import current_rollout, rollout
from undogmatic.readouts.base import agreement_confidence, spread_over, voted
from undogmatic.readouts.chat import together
from undogmatic.records.records import Item, ScoreDistribution, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.stats.uncertainty import aggregate_uncertainty, critique_uncertainty


class PanelJudge(Judge):
    """One score from several. Members that fail are left out and named; fewer than half left are a Failure.

    Level and interval come from the members' uncertainty levels. Where none gives a level, their spread takes its
    place, with the bands of a range (a spread above 4 of 10 is high, above 2 medium).

    Args:
        members: The judges.
        rubric: The scale.
        aggregate: How the scores become one. "weighted" needs `weights` or `history`.
        weights: One per member.
        history: Folder of an earlier run per member, over the same labelled texts: its weight is 1 / mean squared error
            there (see `history.inverse_weights`).
        trim: Share cut off at each end by "trimmed_mean".
        repeats: Each member is asked so often, each a real call.
    """

    name = "panel"

    def __init__(
        self,
        members: Sequence[Judge],
        rubric: Rubric,
        aggregate: Literal["mean", "median", "trimmed_mean", "weighted"] = "mean",
        weights: list[float] | None = None,
        history: list[str] | None = None,
        trim: Annotated[float, Field(ge=0, lt=0.5)] = 0.2,
        repeats: Annotated[int, Field(ge=1, le=1000)] = 1,
    ) -> None:
        super().__init__()
        if repeats > 1 and all(source.deterministic for member in members for source in member.readouts()):
            raise ConfigError(
                f"`judge.repeats` is {repeats}, but every member answers the same each time. Ask at a temperature "
                "above 0 (readout=structured readout.temperature=0.7), or leave judge.repeats at 1."
            )
        if [weights is not None, history is not None].count(True) != (aggregate == "weighted"):
            raise ConfigError(
                f"`judge.aggregate` is {aggregate!r}, `judge.weights` is {weights} and `judge.history` is {history}; "
                "weights go with aggregate=weighted, which needs exactly one of the two: judge.weights=[NUMBER,...], "
                "or judge.history=[RUN,...] with the folder of a run over labelled texts per member."
            )
        if weights is not None and (
            len(weights) != len(members) or min(weights) < 0 or not np.isfinite(weights).all() or sum(weights) == 0
        ):
            raise ConfigError(
                f"`judge.weights` is {weights}; it must hold one number >= 0 per member ({len(members)}), not all 0."
            )
        self.members, self.rubric = list(members), rubric
        if history is not None:
            weights, self.weighed_on = read_history(history, members, rubric)
            self.contents = {"weights": weights, "history": None}
        self.aggregate, self.weights, self.trim, self.repeats = aggregate, weights, trim, repeats

    async def judge(self, item: Item) -> Verdict:
        """`verdict` with the members' scores and their disagreement."""
        base = current_rollout() * self.repeats

        async def once(member: Judge, repeat: int) -> Verdict:
            with rollout(base + repeat):
                verdict: Verdict = (await member.acall(item=item)).verdict
                return verdict

        seats = [(n, repeat) for n in range(len(self.members)) for repeat in range(self.repeats)]
        answers = await together([once(self.members[n], repeat) for n, repeat in seats])
        failed = [answer for answer in answers if isinstance(answer, ModelError)]
        decided = [(n, answer) for (n, _), answer in zip(seats, answers, strict=True) if isinstance(answer, Verdict)]
        if 2 * len(decided) < len(seats):
            kinds = {type(error) for error in failed}  # an item that none can read has not been answered badly
            kind = kinds.pop() if len(kinds) == 1 else UnparseableAnswer
            raise kind(f"{len(failed)} of {len(seats)} failed, the first: {failed[0]}", failed[0].raw)
        members = []
        for n, verdict in decided:
            value = str(verdict.category) if verdict.score is None else f"{verdict.score:.4g}"
            weight = "" if self.weights is None else f" x{self.weights[n]:.4g}"
            members.append(f"{self.members[n].name} {value}{weight}")
        details: dict[str, float | str] = {"members": ", ".join(members), "members_failed": float(len(failed))}
        failures = [f"{error.kind}: {error}" for error in failed]
        verdicts = [verdict for _, verdict in decided]
        if not self.rubric.scale.ordered:
            return voted(
                [verdict.category for verdict in verdicts],
                self.rubric,
                issues=(*(issue for verdict in verdicts for issue in verdict.issues), *failures),
                review=any(verdict.review for verdict in verdicts),
                details=details,
            )
        verdict = self._together(verdicts, [n for n, _ in decided])
        return verdict.replace(issues=(*verdict.issues, *failures), details=verdict.details | details)

    def _together(self, verdicts: Sequence[Verdict], seats: Sequence[int]) -> Verdict:
        """The verdict of members with scores; `seats` are their places in the panel."""
        scores = np.array([verdict.score for verdict in verdicts], dtype=np.float64)
        shares = np.array([self.rubric.share(score) for score in scores])
        levels = [verdict.uncertainty for verdict in verdicts]
        joined = aggregate_uncertainty(
            shares,
            [level or "low" for level in levels],  # a member without a level does not widen the interval
            [verdict.review for verdict in verdicts],
            [verdict.issues for verdict in verdicts],
        )
        level = joined.uncertainty_level
        if not any(levels):
            level = critique_uncertainty(0.0, 0.0, (10 * shares.min(), 10 * shares.max()), 0).level
        doubt = float(scores.std())
        spread: dict[str, float | str] = {
            "disagreement": doubt,
            "spread": float(scores.max() - scores.min()),
            "bootstrap_variance": float(shares.var()),
        }
        nearest = int(np.argmin(np.abs(scores - np.median(scores))))
        score = self._score(scores, seats)
        moved = self.rubric.share(score) - joined.score  # the interval is that of the score given, not of the mean
        low, high = (min(1.0, max(0.0, end + moved)) for end in joined.confidence_interval)
        # How far the members agree, but no more than they are sure of themselves: agreement is not knowledge.
        confidence = agreement_confidence(shares.tolist())
        stated = [verdict.confidence for verdict in verdicts if verdict.confidence is not None]
        # The members' distributions averaged where all have one over the same levels, else their scores over them.
        have = [verdict.distribution for verdict in verdicts if verdict.distribution is not None]
        distribution = spread_over(scores.tolist(), self.rubric)
        if len(have) == len(verdicts) and len({d.values for d in have}) == 1:
            mean = np.mean([d.probabilities for d in have], axis=0)
            shared = tuple((mean / mean.sum()).tolist())
            distribution = ScoreDistribution(values=have[0].values, probabilities=shared)
        return Verdict(
            score=score,
            distribution=distribution,
            interval=self.rubric.interval((low, high)),
            confidence=min(confidence, float(np.mean(stated))) if len(stated) == len(verdicts) else confidence,
            confidence_source="procedure",
            rationale=verdicts[nearest].rationale,
            issues=(*joined.issues, *joined.notes),
            uncertainty=level,
            doubt=doubt,
            review=joined.recommend_expert_review or level == "high",
            details=spread,
        )

    def _score(self, scores: np.ndarray, seats: Sequence[int]) -> float:
        if self.aggregate == "median":
            return float(np.median(scores))
        if self.aggregate == "trimmed_mean":
            from scipy.stats import trim_mean

            return float(trim_mean(scores, self.trim))
        if self.weights is None:
            return float(scores.mean())
        weights = np.array([self.weights[n] for n in seats])
        if weights.sum() == 0:
            raise UnparseableAnswer("every member with a weight above 0 failed")
        return float(np.average(scores, weights=weights))
