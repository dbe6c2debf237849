"""Do the judges behind a ranking tell a better text from a worse one? Asked of texts of one case
whose labels say which is the better one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.constructs.faithfulness.composite import (
    HERE,
    SAME,
    SYSTEM,
    Scores,
    labelled_folder,
    labelled_texts,
)
from undogmatic.constructs.faithfulness.correlations import Found, OfComposite
from undogmatic.examinations.base import Share
from undogmatic.examinations.ruling import Rule, Rules, Values, always, known, verdict
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.truth import margin_of
from undogmatic.records.results import Told
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.proportion import proportion

KEY = "labelled"
"""Typed as `analysis.labelled`, or among others as `analysis.pairwise_accuracy.labelled`."""
RIGHT, EQUAL, WRONG, UNJUDGED = "right", "equal", "wrong", "unjudged"
"""How the scores of two texts stand to their labels."""


@dataclass(frozen=True)
class PairwiseFacts:
    """Counts the `n` pairs of texts of one case with different labels, those with `equal` scores,
    those in which the worse text scores higher (`wrong`), and the `unjudged`. `accuracy` is the
    share in which the better text has the higher composite, the unjudged left out; `lowest` and
    `highest` count these as wrong and as right. None where there is no pair, or none was judged.
    `labelled` texts have a label. The scores of the judges `same` are all the same as the labels;
    `here`: the labels are those of this run."""

    n: int
    equal: int
    wrong: int
    unjudged: int
    least: float
    accuracy: Estimate | None
    lowest: Estimate | None
    highest: Estimate | None
    same: Sequence[str] = ()
    labelled: int = 0
    here: bool = True


def _accuracy(facts: PairwiseFacts) -> Values:
    accuracy = known(facts.accuracy)
    return accuracy.values("accuracy") | {
        "n": facts.n - facts.unjudged,
        "groups": accuracy.n_groups,
        "level": accuracy.level,
        "least": facts.least,
        "here": int(facts.here),
    }


def _order(facts: PairwiseFacts) -> Values:
    judged = facts.n - facts.unjudged
    shares = {"equal": facts.equal / judged, "wrong": facts.wrong / judged}
    return _accuracy(facts) | shares


def _unjudged(facts: PairwiseFacts) -> Values:
    return {
        "unjudged": facts.unjudged,
        "n": facts.n,
        "least": facts.least,
        "here": int(facts.here),
    }


PAIRWISE = Rules[PairwiseFacts](
    "pairwise_accuracy.verdict_",
    (
        Rule("unlabelled", "not_yet", lambda f: not f.labelled),
        Rule("none", "not_yet", lambda f: not f.n),
        Rule(
            "told_apart_same",
            "supported",
            lambda f: known(f.lowest).low > f.least and f.same,
            lambda f: _accuracy(f) | {"judges": f.same},
        ),
        Rule(
            "told_apart",
            "supported",
            lambda f: known(f.lowest).low > f.least,
            _accuracy,
        ),
        Rule(
            "alike",
            "refuted",
            lambda f: f.here and known(f.highest).high < f.least,
            _order,
        ),
        Rule(
            "alike_elsewhere",
            "refuted",
            lambda f: known(f.highest).high < f.least,
            _order,
        ),
        Rule(
            "unjudged",
            "undecided",
            lambda f: (
                f.accuracy is None
                or f.accuracy.low > f.least
                or f.accuracy.high < f.least
            ),
            _unjudged,
        ),
        Rule("open", "undecided", always, _accuracy),
    ),
)


@dataclass(frozen=True)
class PairwiseAccuracyAnalysis(OfComposite):
    """Of every two texts of one case whose labels differ beyond the rubric's margin: has the better
    one the higher composite? Equal scores count against the judges, as they do not tell the texts
    apart. Cases are the units. Headline `pairwise_accuracy.composite`.

    The label of a text is the mean of its labelled criteria. The judges of a pillar weigh the same.

    Args:
        labelled: HERE for the labels of this run, or the folder of a run by the same judges over
            labelled texts.
        least: The share that the interval must exceed.

    References:
        Kocmi et al. (2021), doi:10.18653/v1/2021.wmt-1.57, for pairwise accuracy.
    """

    name, headline = "pairwise_accuracy", "composite"
    labelled: str = HERE
    least: Share = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labelled != HERE:  # before anything is asked
            labelled_folder(self.labelled, KEY)

    def find(
        self, tell: Told, judged: RunEvidence, scores: Scores, rng: np.random.Generator
    ) -> Found:
        here = self.labelled == HERE
        if here and "label" not in judged.frame:
            return Found(verdict(PAIRWISE, self._facts(pd.DataFrame(), pd.Series())))
        rows, labels = labelled_texts(judged, self.labelled, KEY)
        composite, voices = self.composite.of_rows(
            rows, scores.voices, KEY, self.labelled
        )
        texts = rows.drop_duplicates("item_id").set_index("item_id")
        case = scores.about["case"] if here else texts["pair_id"]
        texts["case"] = case.where(case.notna(), texts.index.to_series())
        truth = labels.mean(axis=1).dropna()
        pairs = pairs_of(texts, truth, margin_of(judged.rubric).value)
        if not here:
            tell.say("elsewhere", run=self.labelled)
        told: dict[str, pd.Series] = {"composite": composite}
        for pillar, own in voices.items():
            told |= {f"{pillar} ({judge})": own[judge] for judge in own}
        order = {name: ordered(pairs, each) for name, each in told.items()}
        if len(pairs):
            self._tell_judges(tell, pairs, order)
            if SYSTEM in texts:
                _tell_kinds(tell, pairs, order["composite"])
        more = {
            "same": _same_as_labels(rows, labels),
            "labelled": len(truth),
            "here": here,
        }
        facts = self._facts(pairs, order["composite"], **more)
        return Found(verdict(PAIRWISE, facts))

    def _facts(
        self, pairs: pd.DataFrame, order: pd.Series, **more: Any
    ) -> PairwiseFacts:
        judged = order != UNJUDGED
        return PairwiseFacts(
            n=len(pairs),
            equal=int((order == EQUAL).sum()),
            wrong=int((order == WRONG).sum()),
            unjudged=int((~judged).sum()),
            least=self.least,
            accuracy=self._share(pairs[judged], order[judged] == RIGHT),
            lowest=self._share(pairs, order == RIGHT),
            highest=self._share(pairs, (order == RIGHT) | ~judged),
            **more,
        )

    def _share(self, pairs: pd.DataFrame, right: pd.Series) -> Estimate | None:
        if right.empty:
            return None
        groups = pairs["group"].astype(str).tolist()
        return proportion(right.to_numpy(), self.level, groups=groups)

    def _tell_judges(
        self, tell: Told, pairs: pd.DataFrame, order: Mapping[str, pd.Series]
    ) -> None:
        """Tell how often each judge, and the composite of all, has the better text higher."""
        rows: list[dict[str, Any]] = []
        for name, own in order.items():
            judged = own != UNJUDGED
            share = self._share(pairs[judged], own[judged] == RIGHT)
            tell.number(
                share, *(["composite"] if name == "composite" else ["voice", name])
            )
            if share is not None:
                counts = own.value_counts()
                rows.append(
                    {"voice": name, "n": int(judged.sum()), **share.row("accuracy")}
                    | {each: int(counts.get(each, 0)) for each in (RIGHT, EQUAL, WRONG)}
                )
        if rows:
            tell.table("judges", pd.DataFrame(rows), accuracy="share")


def _same_as_labels(rows: pd.DataFrame, labels: pd.DataFrame) -> list[str]:
    """The judges whose scores are all the same as the labels of a criterion."""
    long = labels.reset_index().melt("item_id", value_name="truth").dropna()
    both = rows.merge(long, on=["item_id", "criterion"])
    equal = (both["score"] - both["truth"]).abs() < SAME
    all_equal = equal.groupby(both["judge"]).all()
    return [str(judge) for judge, same in all_equal.items() if same]


def pairs_of(texts: pd.DataFrame, labels: pd.Series, margin: float) -> pd.DataFrame:
    """Every two texts of one case whose labels differ by more than `margin`: columns better, worse,
    group and, where the systems are known, worse_system."""
    columns = ["case", "group"] + [SYSTEM] * (SYSTEM in texts)
    own = texts[columns].assign(label=labels.reindex(texts.index), text=texts.index)
    own = own.dropna(subset=["label"]).reset_index(drop=True)
    each = own.merge(own, on="case", suffixes=("", "_worse"))
    pairs = each[each["label"] - each["label_worse"] > margin + SAME]
    named = {
        "better": "text",
        "worse": "text_worse",
        "group": "group",
        "worse_system": f"{SYSTEM}_worse",
    }
    return pd.DataFrame(
        {to: pairs[name] for to, name in named.items() if name in pairs}
    ).reset_index(drop=True)


def ordered(pairs: pd.DataFrame, scores: pd.Series) -> pd.Series:
    """How the scores of each pair stand: RIGHT, EQUAL, WRONG or UNJUDGED."""
    if pairs.empty:
        return pd.Series(dtype=object)
    better, worse = (
        scores.reindex(pairs[side]).to_numpy(dtype=np.float64)
        for side in ("better", "worse")
    )
    gap = better - worse
    said = np.select(
        [np.isnan(gap), gap > SAME, gap < -SAME], [UNJUDGED, RIGHT, WRONG], EQUAL
    )
    return pd.Series(said, index=pairs.index)


def _tell_kinds(tell: Told, pairs: pd.DataFrame, order: pd.Series) -> None:
    """Tell of each system whose text was the worse one how often the composite had it lower."""
    for system, own in pairs.groupby("worse_system", sort=False):
        counts = order[own.index].value_counts()
        tell.say(
            "kind",
            system=str(system),
            n=len(own) - int(counts.get(UNJUDGED, 0)),
            right=int(counts.get(RIGHT, 0)),
            equal=int(counts.get(EQUAL, 0)),
            wrong=int(counts.get(WRONG, 0)),
        )
