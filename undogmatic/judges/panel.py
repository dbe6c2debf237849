"""`panel`: several judges, or one several times, and what they say together."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from undogmatic.errors import ConfigError, DataError, ModelError, UnparseableAnswer
from undogmatic.judges.base import Judge
from undogmatic.models.fitted import rubric_digest
from undogmatic.readouts.base import agreement_confidence, mixture, spread_over, voted
from undogmatic.readouts.chat import voices
from undogmatic.records.records import (
    Item,
    Judgment,
    ScoreDistribution,
    Verdict,
    entropy_verdict,
)
from undogmatic.records.rubric import Rubric
from undogmatic.runs.folder import RunFolder
from undogmatic.safety.outside import brief
from undogmatic.stats.panel import FEWEST_GROUPS, worth
from undogmatic.stats.uncertainty import (
    aggregate_uncertainty,
    critique_uncertainty,
    entropy_level,
    quantile_interval,
)

LEAST = 20
"""Judged labelled texts. With normal errors the mean squared error of n texts is uncertain by
sqrt(2 / n): a third."""


class PanelJudge(Judge):
    """One score from several. Members that fail are left out and named; fewer than half left are a
    Failure.

    Members that judge by distributions (`distributional`, or any over categories without an order
    whose model gives odds) yield the mixture of those: its entropy is the doubt and gives the
    level, its central 90 % are the interval. Else level and interval come from the members'
    uncertainty levels. Where none gives a level, their spread takes its place, with the bands of a
    range (a spread above 4 of 10 is high, above 2 medium).

    Args:
        aggregate: How the scores become one. "weighted" needs `weights`, one per member, or
            `history`.
        history: Folder of an earlier run per member, over the same labelled texts: its weight is 1
            / mean squared error there, drawn towards equal weights (see `stats.panel.worth`).
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
        # The same answers twice would look like agreement, and cost twice as much.
        if repeats > 1 and all(
            source.deterministic for member in members for source in member.readouts()
        ):
            raise ConfigError(
                f"`judge.repeats` is {repeats}, but every member answers the same each time. Ask at"
                " a temperature above 0 (readout=structured readout.temperature=0.7), or leave"
                " judge.repeats at 1."
            )
        if [weights is not None, history is not None].count(True) != (
            aggregate == "weighted"
        ):
            raise ConfigError(
                f"`judge.aggregate` is {aggregate!r}, `judge.weights` is {brief(weights)} and"
                f" `judge.history` is {brief(history)}; weights go with aggregate=weighted, which"
                " needs exactly one of the two: judge.weights=[NUMBER,...], or"
                " judge.history=[RUN,...] with the folder of a run over labelled texts per member."
            )
        if weights is not None and (
            len(weights) != len(members)
            or min(weights) < 0
            or not np.isfinite(weights).all()
            or sum(weights) == 0
        ):
            raise ConfigError(
                f"`judge.weights` is {brief(weights)}; it must hold one number >= 0 per member"
                f" ({len(members)}), not all 0."
            )
        self.members, self.rubric = list(members), rubric
        if history is not None:
            # The texts that gave the weights have been seen by the panel, like texts
            # that a model was fitted on.
            weights, self.weighed_on = read_history(history, members, rubric)
            self.contents = {"weights": weights, "history": None}
        self.aggregate = aggregate
        self.weights = weights
        self.trim = trim
        self.repeats = repeats

    async def judge(self, item: Item) -> Verdict:
        seats = [
            (n, repeat)
            for n in range(len(self.members))
            for repeat in range(self.repeats)
        ]
        # All members are asked at once; they do not hear each other.
        answers = await voices(
            item, [(self.members[n], repeat) for n, repeat in seats], self.repeats
        )
        failed = [answer for answer in answers if isinstance(answer, ModelError)]
        decided = [
            (n, answer)
            for (n, _), answer in zip(seats, answers, strict=True)
            if isinstance(answer, Verdict)
        ]
        # Of a minority the verdict would be that of whoever could read the item.
        if 2 * len(decided) < len(seats):
            # an item that none can read has not been answered badly
            kinds = {type(error) for error in failed}
            kind = kinds.pop() if len(kinds) == 1 else UnparseableAnswer
            raise kind(
                f"{len(failed)} of {len(seats)} failed, the first: {failed[0]}",
                failed[0].raw,
            )
        verdicts = [verdict for _, verdict in decided]
        values = [
            str(v.category) if v.score is None else f"{v.score:.4g}" for v in verdicts
        ]
        weights = (
            [""] * len(self.members)
            if self.weights is None
            else [f" x{weight:.4g}" for weight in self.weights]
        )
        members = [
            f"{self.members[n].name} {value}{weights[n]}"
            for (n, _), value in zip(decided, values, strict=True)
        ]
        details: dict[str, float | str] = {
            "members": ", ".join(members),
            "members_failed": float(len(failed)),
        }
        # Named beside the verdict: a panel of five that is one of three is another
        # panel.
        failures = [f"{error.kind}: {error}" for error in failed]
        verdict = self._together(verdicts, self._shares([n for n, _ in decided]))
        return verdict.replace(
            issues=(*verdict.issues, *failures), details=verdict.details | details
        )

    def _shares(self, seats: Sequence[int]) -> list[float]:
        """What each answer counts, summing to 1; `seats` are the places of its members."""
        given = [1.0 if self.weights is None else self.weights[n] for n in seats]
        # Members without weight were asked to be watched, and not to decide.
        if sum(given) == 0:
            raise UnparseableAnswer("every member with a weight above 0 failed")
        return [weight / sum(given) for weight in given]

    def _together(
        self, verdicts: Sequence[Verdict], shares: Sequence[float]
    ) -> Verdict:
        """The verdict of members that decided, each of which counts its share: the mixture of their
        distributions where they judge by distributions, else their scores or votes."""
        ordered = self.rubric.scale.ordered
        spread = mixture(verdicts, shares)
        levels = [verdict.uncertainty for verdict in verdicts]
        # Members that only bring odds (`score`) take no level from them: their spread gives it.
        by_entropy = all(verdict.confidence_source == "entropy" for verdict in verdicts)
        if spread is not None and by_entropy and (any(levels) or not ordered):
            return self._mixed(verdicts, shares, spread)
        if ordered:
            return self._scored(verdicts, shares)
        return voted(
            [verdict.category for verdict in verdicts],
            self.rubric,
            weights=None if self.weights is None else shares,
            issues=tuple(issue for verdict in verdicts for issue in verdict.issues),
            review=any(verdict.review for verdict in verdicts),
        )

    def _mixed(
        self,
        verdicts: Sequence[Verdict],
        shares: Sequence[float],
        spread: ScoreDistribution,
    ) -> Verdict:
        """The verdict of members that judge by distributions, whose mixture is `spread`.

        Its entropy is never below the members' own on average; what it has more is their
        disagreement (the Jensen-Shannon divergence).
        """
        # Of the mixture, and not the mean of the members' own: two sure members who
        # contradict each other are not sure together.
        entropy = spread.normalised_entropy
        own = [
            verdict.distribution.normalised_entropy
            for verdict in verdicts
            if verdict.distribution is not None
        ]
        between = max(0.0, entropy - float(np.average(own, weights=shares)))
        level = (
            entropy_level(entropy)
            if any(verdict.uncertainty for verdict in verdicts)
            else None
        )
        fields: dict[str, Any] = {}
        details: dict[str, float | str] = {
            "entropy": entropy,
            "entropy_between": between,
        }
        if self.rubric.scale.ordered:
            scores = np.array([verdict.score for verdict in verdicts], dtype=np.float64)
            score = self._score(scores, shares)
            low, high = quantile_interval(spread.probabilities, spread.values)
            # a score other than the mixture's middle can lie outside of its middle part
            fields = {"score": score, "interval": (min(low, score), max(high, score))}
            details |= self._disagreement(scores)
            speaker = verdicts[_nearest_to_median(scores)]
        else:
            speaker = min(verdicts, key=lambda verdict: _mode(verdict) != spread.mode)
        return entropy_verdict(
            spread,
            rationale=speaker.rationale,
            issues=tuple(issue for verdict in verdicts for issue in verdict.issues),
            uncertainty=level,
            doubt=entropy,
            review=level == "high" or any(verdict.review for verdict in verdicts),
            details=details,
            **fields,
        )

    def _scored(self, verdicts: Sequence[Verdict], weights: Sequence[float]) -> Verdict:
        """The verdict of members with scores."""
        scores = np.array([verdict.score for verdict in verdicts], dtype=np.float64)
        shares = np.array([self.rubric.share(score) for score in scores])
        levels = [verdict.uncertainty for verdict in verdicts]
        joined = aggregate_uncertainty(
            shares,
            # a member without a level does not widen the interval
            [level or "low" for level in levels],
            [verdict.review for verdict in verdicts],
            [verdict.issues for verdict in verdicts],
        )
        level = joined.uncertainty_level
        if not any(levels):
            level = critique_uncertainty(
                0.0, 0.0, (10 * shares.min(), 10 * shares.max()), 0
            ).level
        score = self._score(scores, weights)
        # the interval is that of the score given, not of the mean
        moved = self.rubric.share(score) - joined.score
        low, high = (
            min(1.0, max(0.0, end + moved)) for end in joined.confidence_interval
        )
        # How far the members agree, but no more than they are sure of themselves: agreement is not
        # knowledge.
        confidence = agreement_confidence(shares.tolist())
        stated = [
            verdict.confidence for verdict in verdicts if verdict.confidence is not None
        ]
        # The members' distributions averaged where all have one over the same levels, else their
        # scores over them.
        equal = [1 / len(verdicts)] * len(verdicts)
        distribution = mixture(verdicts, equal) or spread_over(
            scores.tolist(), self.rubric
        )
        return Verdict(
            score=score,
            distribution=distribution,
            interval=self.rubric.interval((low, high)),
            confidence=(
                min(confidence, float(np.mean(stated)))
                if len(stated) == len(verdicts)
                else confidence
            ),
            confidence_source="procedure",
            rationale=verdicts[_nearest_to_median(scores)].rationale,
            issues=(*joined.issues, *joined.notes),
            uncertainty=level,
            doubt=float(scores.std()),
            review=joined.recommend_expert_review or level == "high",
            details=self._disagreement(scores),
        )

    def _disagreement(self, scores: np.ndarray) -> dict[str, float | str]:
        """How far the members' scores lie apart; the variance is on 0-1."""
        shares = np.array([self.rubric.share(score) for score in scores])
        return {
            "disagreement": float(scores.std()),
            "spread": float(np.ptp(scores)),
            "bootstrap_variance": float(shares.var()),
        }

    def _score(self, scores: np.ndarray, shares: Sequence[float]) -> float:
        from scipy.stats import trim_mean

        if self.aggregate == "median":
            return float(np.median(scores))
        if self.aggregate == "trimmed_mean":
            return float(trim_mean(scores, self.trim))
        return float(np.average(scores, weights=shares))


def _nearest_to_median(scores: np.ndarray) -> int:
    return int(np.argmin(np.abs(scores - np.median(scores))))


def _mode(verdict: Verdict) -> float | None:
    return None if verdict.distribution is None else verdict.distribution.mode


def read_history(
    folders: Sequence[str], members: Sequence[Judge], rubric: Rubric
) -> tuple[list[float], frozenset[str]]:
    """Weights from the finished runs in `folders` (as typed) over the same labelled texts, one per
    member in their order, first repeats only; and the marks of these texts. Compared are the texts
    that every member judged, so that one that fails on hard texts gains nothing by it. Raises
    ConfigError for a folder without such a run; DataError for no, too few or differing labelled
    texts, texts of too few groups, texts that a member was fitted on, or a member without error.
    """
    if len(folders) != len(members):
        raise ConfigError(
            f"`judge.history` names {len(folders)} run(s), and the panel has {len(members)}"
            " members. Give the folder of one run per member, in the order of judge.members."
        )
    tables: list[pd.DataFrame] = []
    for n, (typed, member) in enumerate(zip(folders, members, strict=True)):
        folder, voice = run_of(
            typed,
            f"judge.history[{n}]",
            member,
            f"judge.members[{n}]",
            rubric,
            "this panel",
        )
        tables.append(_labelled_texts(folder, voice, member))
    first = tables[0]
    known = set(first["text_mark"].items())
    for typed, table in zip(folders[1:], tables[1:], strict=True):
        texts = set(table["text_mark"].items())
        runs = f"`judge.history`: {folders[0]!r}"
        if texts != known:
            raise DataError(
                f"{runs} holds {len(known)} labelled texts and {typed!r} {len(texts)}, of which"
                f" {len(known & texts)} are the same (by id and text). Weights would compare"
                " members on different texts: judge the same dataset with all of them."
            )
        if changed := int(
            (table["label"] != first["label"].reindex(table.index)).sum()
        ):
            raise DataError(
                f"{runs} and {typed!r} have other labels for {changed} of {len(table)} texts. Judge"
                " the same version of the dataset with all members."
            )
    judged = sorted(
        set.intersection(
            *(set(table.index[table["score"].notna()]) for table in tables)
        )
    )
    if len(judged) < LEAST:
        raise DataError(
            f"`judge.history`: every member judged the same {len(judged)} labelled texts only (each"
            f" failed on others); weights need {LEAST}. Judge more texts, or type the weights:"
            " judge.weights=[...]."
        )
    both = [table.loc[judged] for table in tables]
    squared = np.array(
        [(table["score"] - table["label"]) ** 2 for table in both], dtype=float
    ).T
    errors = squared.sum(axis=0).tolist()
    if 0 in errors:
        # A floor would be a number of ours that decides the weights: no error in n texts only says
        # it is small.
        raise DataError(
            f"`judge.history`: the scores of {folders[errors.index(0)]!r} equal the labels of all"
            f" {len(judged)} texts, so its weight would be infinite. Are the labels its own scores?"
            " Else judge more or harder texts, or type the weights: judge.weights=[...]."
        )
    marks = frozenset(both[0]["text_mark"])
    if len(members) < 2:
        return [1.0], marks
    groups = np.unique(both[0]["group"].astype(str), return_inverse=True)[1]
    if groups.max() + 1 < FEWEST_GROUPS:
        raise DataError(
            f"`judge.history`: the {len(judged)} labelled texts that every member judged belong"
            f" together in {groups.max() + 1} group(s), and weights need {FEWEST_GROUPS}. Judge"
            " texts of more groups, or type the weights: judge.weights=[...]."
        )
    # A bias counts as error here, though weights cannot remove it; what members get wrong together
    # is ignored, though it makes the best weights others than these.
    return worth(squared, groups).weights.tolist(), marks


def run_of(
    typed: str, where: str, judge: Judge, key: str, rubric: Rubric, who: str
) -> tuple[RunFolder, tuple[str, str]]:
    """The finished run of a judge, and as which judge and criterion it is known there. Compared are
    scale, judge, readout, settings, model, and a prompt that is used. Raises ConfigError where
    there is no such run.

    `typed` is the run's folder as it stands under the config key `where`, `key` that of the judge,
    and `who` judges by this rubric ("this panel")."""
    folder = RunFolder.open(typed, f"`{where}`")
    folder.check_finished()
    if rubric_digest(folder.rubric) != rubric_digest(rubric):
        there, here = (
            f"rubric={each.name} (levels {', '.join(f'{level:g}' for level in each.levels)},"
            f" {each.direction})"
            for each in (folder.rubric, rubric)
        )
        raise ConfigError(
            f"{folder.named}, a run on {there}; {who} judges on {here}. Judge the labelled texts on"
            f" this one: rubric={rubric.name}."
        )
    differences = {
        voice: _differences(judgment, judge, rubric)
        for voice, judgment in folder.voices().items()
    }
    if same := [voice for voice, several in differences.items() if not several]:
        return folder, same[0]
    raise ConfigError(
        f"{folder.named}, a run by another judge than {key}:"
        f" {', nor '.join(map('; '.join, differences.values()))}. Name a run of that judge (for a"
        " panel, in the order of judge.members), or judge the labelled texts with it."
    )


def _differences(first: Judgment, member: Judge, rubric: Rubric) -> list[str]:
    there, sources, program = first.provenance, member.readouts(), member.program_hash()
    models = {source.model.name for source in sources}
    inner = {place["prompt"] for place in member.places}
    prompts = {
        source.prompt.hash(rubric): source.prompt.id
        for source in sources
        if source.uses_prompt
    }
    own_prompts = {mark: name for mark, name in prompts.items() if mark not in inner}
    differ = []
    if not models <= set(there.model.split(" + ")):
        differ.append(
            f"the model ({there.model} there, {' + '.join(sorted(models))} here)"
        )
    if own_prompts and there.prompt_hash not in own_prompts:
        here = ", ".join(f"{name} {mark[:12]}" for mark, name in own_prompts.items())
        differ.append(
            f"the prompt ({there.prompt} {there.prompt_hash[:12]} there, {here} here)"
        )
    if program != there.program_hash:
        readouts = ", ".join(dict.fromkeys(source.name for source in sources))
        differ.append(
            f"the judge, its readout or their settings (judge={first.judge}"
            f" readout={there.readout}, {there.program_hash[:12]} there; judge={member.name}"
            f" readout={readouts}, {program[:12]} here)"
        )
    return differ


def _labelled_texts(
    folder: RunFolder, voice: tuple[str, str], member: Judge
) -> pd.DataFrame:
    """Columns label, text_mark and score (NaN where its judge failed) of the labelled texts, by
    item id."""
    labels = folder.labels(*voice)
    if labels is None:
        raise DataError(
            f"{folder.named}, a run over texts without labels. Judge labelled ones with this"
            " member: dataset=labelled, or a file of your own with a field `label`."
        )
    if "text_mark" not in labels:
        raise DataError(
            f"{folder.named}, whose labels.csv has no column `text_mark`: it is of an earlier"
            " version, so it is not known which texts these are. Repeat that run's command with"
            f" run.resume={folder.path}; nothing is asked again."
        )
    scores = folder.scores(*voice)
    table = labels.dropna(subset="label").join(scores["score"])
    # a run of an earlier version names no groups: each text stands alone
    table["group"] = scores.get("group", pd.Series(dtype=str)).reindex(table.index)
    table["group"] = table["group"].fillna(pd.Series(table.index, table.index))
    judged = int(table["score"].notna().sum())
    if judged < LEAST:
        raise DataError(
            f"{folder.named}, a run with {judged} judged labelled texts (of {len(table)} labelled);"
            f" weights need {LEAST}. Judge more labelled texts with it, or type the weights:"
            " judge.weights=[...]."
        )
    if known := int(table["text_mark"].isin(member.fitted_on()).sum()):
        raise DataError(
            f"{folder.named}, a run over texts of which {known} of {len(table)} were used to fit"
            " this member (its probe, baseline or calibration), so its error there says nothing"
            " about new texts. Give runs over texts that no member was fitted on, e.g."
            " dataset.split=test."
        )
    return table
