"""Finds what a judgment is held against: human labels, other runs over the same items, known
conditions, margins."""

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.base import Limited, Unsuited
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.records.results import Finding
from undogmatic.records.rubric import Rubric
from undogmatic.runs.folder import COMPOSED, JOURNAL, RunFolder
from undogmatic.stats.checks import Array
from undogmatic.stats.claims import Claim, claim
from undogmatic.stats.margin import usual
from undogmatic.stats.means import Bounds

Source = Literal["label", "reference", "condition"]


class Truth(NamedTuple):
    """`rows`: first-repeat rows of `RunEvidence.frame` with a finite column `truth` (score units),
    judged or failed, and `people_apart` (`people_apart`).

    `source` says where the truth comes from, `name` which reference run it was ("" otherwise).
    """

    rows: pd.DataFrame
    source: Source
    name: str

    @property
    def judged(self) -> pd.DataFrame:
        """The rows with a score."""
        return self.rows[self.rows["error"].isna()]

    @property
    def told(self) -> dict[str, Any]:
        """The values of the sentence that says where it comes from, `truth_<source>`."""
        return {"n": len(self.judged)} | (
            {"name": self.name} if self.source == "reference" else {}
        )


@dataclass(frozen=True, kw_only=True)
class AgainstTruth(Limited):
    """What holds scores against the right ones: the label, another run's score, or a score set per
    condition.

    Args:
        reference: Folder of a run over the same texts whose scores count as right, or None.
        condition_labels: Condition -> score its texts deserve, or None. With neither, `label`
            counts.
    """

    name: ClassVar[str]
    reference: str | None = None
    condition_labels: dict[str, float] | None = None

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited where no true score is known, ConfigError or DataError for one off the
        scale."""
        self.truth(judged)

    def truth(self, judged: RunEvidence) -> Truth:
        """The items whose truth is known.

        Raises:
            Unsuited: Scores have no order, or no item has a label, a score in the reference run, or
                one of the conditions.
            ConfigError: Both sources at once, or a label outside the scale.
            DataError: A label outside the scale, or a reference run over other items.
        """
        rubric, labels = judged.rubric, self.condition_labels
        # Two truths would have to agree, and nobody says what holds where they do not.
        if self.reference is not None and labels:
            raise ConfigError(
                "`analysis.reference` and `analysis.condition_labels` are both set; give one of"
                " them."
            )
        check_order(self.name, rubric)
        rows = judged.first()
        source: Source = "label"
        name, truth = "", rows["label"]
        if self.reference is not None:
            (other,) = read_runs(judged, [self.reference], "analysis.reference")
            source = "reference"
            name = other.name
            truth = rows["item_id"].map(other.scores)
        elif labels:
            for condition, label in labels.items():
                if not rubric.contains(label):
                    raise ConfigError(
                        f"`analysis.condition_labels.{condition}` is {label:g}, outside the scale"
                        f" of rubric={rubric.name} ({rubric.minimum:g} to {rubric.maximum:g})."
                    )
            source, truth = "condition", rows["condition"].map(dict(labels))
        known = rows.assign(truth=truth.astype(np.float64))
        known = known[known["truth"].notna()]
        if known.empty:
            present = ", ".join(judged.conditions()[:12]) or "none"
            raise Unsuited(
                f"analysis={self.name} needs to know the right score of some texts, and the dataset"
                " has none. Give texts a `label` (dataset=labelled has them), name a run over the"
                " same texts whose scores count as right (analysis.reference=RUN_FOLDER), or"
                f" labels by condition (analysis.condition_labels={{...}}; conditions: {present})."
            )
        check_scale(known, "truth", source, rubric)
        return Truth(
            known.assign(people_apart=people_apart(judged, known)), source, name
        )


def people_apart(judged: RunEvidence, rows: pd.DataFrame) -> pd.Series:
    """How far apart people were on each text: the largest label less the smallest, in score units,
    shape (n_rows,).

    Read from the labels of several raters, else from the metadata `label_spread` (where
    `label_count`, if there is one, is at least 2), else from `label` and the metadata
    `second_label`; NaN where only one person labelled.
    """

    known = rows.reindex(
        columns=[
            f"metadata.{name}"
            for name in ("label_spread", "label_count", "second_label")
        ]
    )
    spread, n_labels, second = (
        pd.to_numeric(known[name], errors="coerce") for name in known
    )
    labels = judged.labels.groupby(["item", "criterion"])["label"]
    apart = (labels.max() - labels.min())[labels.size() > 1]
    keys = pd.MultiIndex.from_frame(rows[["item_id", "criterion"]].astype(str))
    of_raters = pd.Series(apart.reindex(keys).to_numpy(dtype=np.float64), rows.index)
    of_two = (pd.to_numeric(rows["label"]) - second).abs()
    return of_raters.fillna(spread.where(n_labels.fillna(2) >= 2)).fillna(of_two)


def check_order(analysis: str, rubric: Rubric) -> None:
    """Raise Unsuited for a rubric whose categories have no order: their numbers mean nothing."""
    if not rubric.scale.ordered:
        raise Unsuited(
            f"analysis={analysis} needs scores that have an order, and those of"
            f" rubric={rubric.name} are categories without one ({rubric.scale.span()}). Choose"
            " analysis=none, which counts them; if they do go from least to most, set"
            " rubric.scale.kind=ordered and rubric.direction.",
            Finding("suite.lacks_order", {}),
        )


def check_scale(
    rows: pd.DataFrame, column: str, source: Source, rubric: Rubric
) -> None:
    """Raise DataError for the first value in `column` (NaN: none) outside the rubric's scale;
    `source` is its name."""
    outside = rows[rows[column].notna() & ~rows[column].map(rubric.contains)]
    if len(outside):
        row = outside.iloc[0]
        place = (
            f"{row['place']}, "
            if row["place"] is not None and source == "label"
            else ""
        )
        raise DataError(
            f"{place}item {row['item_id']!r}: `{source}` is {row[column]:g}, outside the scale of"
            f" rubric={rubric.name} ({rubric.minimum:g} to {rubric.maximum:g}). Correct it, or"
            " choose another rubric."
        )


def units(rows: pd.DataFrame) -> list[str]:
    """What was sampled: the group of each row; shape (n,)."""
    return rows["group"].tolist()


def drawn(names: Sequence[str], share: float, seed: int) -> NDArray[np.bool_]:
    """Which units fall into the first part of a split, by their hash: the same in every run and
    order; shape (n,).

    Args:
        names: Names of units; equal names fall together.
        share: Expected share of the first part.
        seed: Another number is another split.
    """
    # By a hash of the name, so that a text stays on its side when others are added.
    hashes = (hashlib.sha256(f"{seed}:{name}".encode()).digest()[:8] for name in names)
    return np.array(
        [int.from_bytes(hashed, "big") / 2**64 < share for hashed in hashes],
        dtype=np.bool_,
    )


class Margin(NamedTuple):
    """`value` in score units; `source` says who set it: the analysis, the rubric, or nobody
    ("default"). `span` is the width of the scale."""

    value: float
    source: Literal["analysis", "rubric", "default"]
    span: float

    @property
    def equivalence(self) -> bool:
        """Whether it allows to say that there is no difference that matters."""
        # "No difference" is a claim about what matters, and nobody has said what does
        # where the margin is the default.
        return self.source != "default" and 0 < self.value < self.span

    @property
    def stated(self) -> float | None:
        """Its value, where somebody stated one by which two things may be called the same."""
        return self.value if self.equivalence else None

    @property
    def superiority(self) -> bool:
        """Whether it allows to say that there is one."""
        return self.value < self.span

    def allows(self, outcome: str) -> bool:
        """Whether it allows to say this outcome of `stats.claims`."""
        return self.equivalence if outcome == "within" else self.superiority


class Bounded(NamedTuple):
    """A mean against a margin over judged texts (`judged`), and over all texts with failed
    judgments at whichever end is against it (`worst`) and for it (`best`); the three are one where
    none failed."""

    judged: Claim
    worst: Claim
    best: Claim

    @property
    def sure(self) -> bool:
        """Whether failed judgments cannot turn the outcome."""
        return self.judged.outcome == self.worst.outcome == self.best.outcome


def bounded(
    values: Array,
    ends: Sequence[Array | float],
    margin: float,
    level: float,
    groups: list[str],
    bounds: Bounds,
) -> Bounded:
    """Hold a mean against a margin, whatever failed judgments might have been.

    Args:
        values: NaN where a judgment failed, shape (n,).
        ends: What failed ones are at worst, and at best, shape (n,) or one value.
        margin, level, groups, bounds: As in `stats.claims.claim`; groups of shape (n,).
    """
    failed = np.isnan(values)
    how: dict[str, Any] = {"alpha": 1 - level, "bounds": bounds}
    judged = claim(
        values[~failed], margin, groups=list(itertools.compress(groups, ~failed)), **how
    )
    if not failed.any():
        return Bounded(judged, judged, judged)
    return Bounded(
        judged,
        *(
            claim(np.where(failed, end, values), margin, groups=groups, **how)
            for end in ends
        ),
    )


def margin_of(rubric: Rubric, margin: float | None = None) -> Margin:
    """The margin that counts: the analysis' own (`analysis.margin`), else the rubric's, else the
    usual one."""
    span = rubric.maximum - rubric.minimum
    if margin is not None:
        return Margin(margin, "analysis", span)
    return (
        Margin(usual(span), "default", span)
        if rubric.margin is None
        else Margin(rubric.margin, "rubric", span)
    )


@dataclass(frozen=True)
class OtherRun:
    """Another run's scores by item id (NaN where its judge failed). `differs`: the ids agree, the
    dataset does not."""

    name: str
    scores: pd.Series
    differs: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)


def read_runs(
    judged: RunEvidence, folders: Sequence[str], key: str = "analysis.against[{}]"
) -> list[OtherRun]:
    """The runs in `folders`, first repeats, each under a name of its own.

    Args:
        judged: This run.
        folders: Folders of other runs as typed.
        key: The config key that names each, by its number.
    Raises:
        ConfigError: A folder holds no journal.
        DataError: A run is over other items, or on another scale.
    """
    here, taken, runs = set(judged.frame["item_id"]), {judged.name}, []
    for n, folder in enumerate(folders):
        option = key.format(n)
        run = read_run(folder, judged, option)
        there = set(run.scores.index)
        # Runs over other items differ by their items.
        if there != here:
            raise DataError(
                f"`{option}`: {folder} shares {len(here & there)} items with this run, which has"
                f" {len(here)}; that one has {len(there)}. Agreement needs the same items: judge"
                " the same dataset with both, to the end."
            )
        names = itertools.chain(
            [run.name], (f"{run.name} ({k})" for k in itertools.count(2))
        )
        runs.append(
            replace(run, name=next(name for name in names if name not in taken))
        )
        taken.add(runs[-1].name)
    return runs


def read_run(typed: str, judged: RunEvidence, key: str) -> OtherRun:
    """The run in a folder, first repeats, whatever items it is over. Raises ConfigError, DataError,
    as `read_runs`."""
    folder = RunFolder.open(typed, f"`{key}`", [JOURNAL])
    own, other = judged.rubric.scale, folder.rubric.scale
    # Scores of another scale could be mapped, but what a 7 of 10 was to that judge's
    # rubric need not be a 70 of 100 to this one.
    if own.span() != other.span():
        raise DataError(
            f"`{key}`: {typed} was judged on the scale {other.span()}, and this run on"
            f" {own.span()}. Agreement needs one scale: compare runs of one rubric."
        )
    differs = (
        None not in (digests := {judged.digest, folder.facts.get("dataset_digest")})
        and len(digests) > 1
    )
    set_to = settings(folder.facts.get("choices") or {}, folder.mapping(COMPOSED))
    scores = folder.first_scores(
        *judged.frame.iloc[0][["judge", "criterion"]].astype(str)
    )
    return OtherRun(
        str(folder.facts.get("name", folder.path.name)), scores, differs, set_to
    )


SET = ("model", "prompt", "readout", "judge")
"""The groups of the config that make a score what it is."""


def settings(choices: Mapping[str, str], config: Mapping[str, Any]) -> dict[str, str]:
    """What a run was set to: the option of every group of SET, every plain value below it, and the
    seed.

    Args:
        choices: Option per group.
        config: The composed config; values that refer to others are left out.
    """
    was_set = {group: choices[group] for group in SET if choices.get(group) is not None}
    for key in (*SET, "seed"):
        flat = pd.json_normalize({key: config.get(key)}).to_dict("records")[0].items()
        plain = {
            name: str(value)
            for name, value in flat
            if isinstance(value, bool | int | float | str)
        }
        was_set |= {
            str(name): value for name, value in plain.items() if "${" not in value
        }
    return was_set


def differing(runs: Sequence[Mapping[str, str]]) -> list[str]:
    """The settings that all runs have and in which they differ; of a group whose option differs,
    that alone."""
    shared = [key for key in runs[0] if all(key in run for run in runs)]
    changed = [key for key in shared if len({run[key] for run in runs}) > 1]
    groups = set(changed) & set(SET)
    return [
        key for key in changed if key in groups or key.partition(".")[0] not in groups
    ]
