"""A finished run: what report and tracking read, and the tables it leaves in its folder. Nothing
here computes a statistic."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from undogmatic.records.own_scale import OwnScale
from undogmatic.records.records import Item, Judgment, LabelScale, text_mark
from undogmatic.records.results import Finding, Told, part_names
from undogmatic.records.rubric import Rubric
from undogmatic.records.stored import in_parts, voices
from undogmatic.records.wordings import Licence
from undogmatic.safety import files

_SCORES = (
    "pair_id group condition score confidence uncertainty is_uncertain revised_score calls seconds"
    " error".split()
)


@dataclass(frozen=True)
class Repeatability:
    """How this run compares with the latest earlier run of the same identity."""

    earlier: Path | None  # that run's folder
    identical: bool | None
    max_difference: float | None  # in score units
    # the share of calls that the cache answered, without which "identical" would mean little
    cached: float
    deterministic: bool


@dataclass(frozen=True)
class Asked:
    """One way in which a judge asks a model, by the names of its parts."""

    readout: str
    model: str
    prompt: str
    uses_prompt: bool  # whether the prompt variant reaches the model this way
    # what the model is shown besides the judged text, demonstrations included
    text: str
    judge: str = ""  # where the run has several
    # the parts of the prompt variant that `text` lacks: "instructions", "demonstrations"
    without: tuple[str, ...] = ()


SETTINGS = ("seed", "run", "dataset", "readout", "tracking", "plan")
"""The parts of a config that `FinishedRun.settings` reads."""


class RunSettings(NamedTuple):
    """What was asked of a run besides its choices."""

    seed: int | None
    limit: int | None  # items at most
    repeats: int | None
    named: bool  # by the user
    split: str | None  # of the dataset, where it has several
    automatic: bool  # the readout was chosen by `readout=auto`
    planned: bool  # a plan was locked before it
    redacted: bool  # its folder is to hold no judged text (`tracking.redact`)


@dataclass(frozen=True)
class FinishedRun:
    """Everything a run yielded."""

    name: str  # e.g. "gpt-anchored_pt-score-pairs"
    folder: Path  # judgments.jsonl is there already
    language: str
    config: Mapping[str, Any]  # as composed, without secrets (none enter it)
    # the option chosen per config group, e.g. {"model": "local"}; `readout` is resolved
    choices: Mapping[str, str]
    identity: str  # hash of all that determines the scores
    rubric: Rubric
    items: Sequence[Item]  # what was judged, as loaded or made by steps
    judgments: Sequence[Judgment]  # of the items in their order, repeat by repeat
    frame: pd.DataFrame  # `examinations.run_rows.tabulate` of both
    results: Sequence[Told]  # one per analysis
    # flat numbers of the whole run, as in metrics.json and MLflow
    metrics: Mapping[str, float]
    prompt_id: str
    prompt_hash: str
    asked: Sequence[Asked]
    fitted: int  # how many of the items something in a judge was fitted on
    model_name: str
    dataset_digest: str  # SHA-256 over the items
    versions: Mapping[str, str]  # see `runs.manifest.versions`
    started: float
    seconds: float
    repeatability: Repeatability
    # of the dataset's file: what was recognised and assumed
    assumed: Sequence[Finding] = ()
    fitted_on: int = 0  # how many texts something in a judge was fitted on
    label_scale: LabelScale | None = (
        None  # on which people gave the labels, where it is not the rubric's
    )
    texts: Sequence[Path] = ()  # files with the words of its dataset and analyses
    # of its models, each once; None for one that says nothing
    model_licences: Sequence[Licence | None] = (None,)
    data_licence: Licence | None = None
    # rows of its dataset that are not judged, as the prompt shows them, or kin of these, as
    # examples
    examples: int = 0
    elsewhere: bool = False  # the judgments were made elsewhere, and nobody was asked
    # groups of the config that nothing in the run reads, e.g. "nli"
    unread: Sequence[str] = ()
    programs: Sequence[
        Mapping[str, Any]
    ] = ()  # of an optimisation: what it began with, and what it came to

    @cached_property
    def parts(self) -> dict[tuple[str, str], str]:
        """What each judge and criterion is called in the report; "" if there is no other."""
        return part_names(voices(self.frame))

    @cached_property
    def repeats(self) -> list[int]:
        """The repeats of which the table has judgments."""
        return sorted(
            {
                int(n)
                for rows in in_parts(self.frame, ["repeat"])
                for n in rows["repeat"].unique()
            }
        )

    @cached_property
    def settings(self) -> RunSettings:
        """What the report and the tracker say of the config, so that neither has to know its
        keys."""
        run = self.config.get("run") or {}

        def group(name: str) -> Mapping[str, Any]:
            return self.config.get(name) or {}

        return RunSettings(
            seed=self.config.get("seed"),
            limit=run.get("limit"),
            repeats=run.get("repeats"),
            named=run.get("name") is not None,
            split=group("dataset").get("split"),
            automatic=group("readout").get("_target_") == "auto",
            planned=self.config.get("plan") is not None,
            redacted=bool(group("tracking").get("redact")),
        )

    @property
    def uses_prompt(self) -> bool:
        """Whether the prompt variant reaches a model in any way."""
        return any(way.uses_prompt for way in self.asked)

    @property
    def prompt_text(self) -> str:
        """What models were shown besides the judged text, in all ways in which a prompt reaches
        them."""
        return "\n\n".join(way.text for way in self.asked if way.uses_prompt)


def keep_scores(folder: Path, frame: Any, graded: OwnScale | None = None) -> None:
    """Write scores.csv: one row per item, judge and criterion (the first repeat), in input order;
    labels.csv beside it where there are labels, with the `text_mark` that tells of which texts they
    are, for what is later fitted on them. Judge and criterion are named where there are several.
    `score` and `label` are on the rubric's scale; where people gave labels on another one
    (`graded`), `score_on_label_scale` and `label_as_given` stand beside them."""
    parts = ["judge", "criterion"]
    keys = ["item_id", *(parts if len(voices(frame)) > 1 else [])]
    digits = {"score": 6, "revised_score": 6, "confidence": 4, "seconds": 4}
    graded = graded if graded is not None and graded.counts else None

    def kept(
        names: list[str], change: Callable[[pd.DataFrame], pd.DataFrame]
    ) -> Iterator[str]:
        for n, rows in enumerate(in_parts(frame, [*names, "repeat"])):
            yield files.csv(change(rows.loc[rows["repeat"] == 0, names]), header=n == 0)

    def scored(rows: pd.DataFrame) -> pd.DataFrame:
        rounded = rows.round(digits)
        if graded is not None:
            grades = graded.score(rows["score"]).round(digits["score"])
            rounded.insert(
                rounded.columns.get_loc("score") + 1, "score_on_label_scale", grades
            )
        return rounded

    def marked(rows: pd.DataFrame) -> pd.DataFrame:
        marks = [text_mark(text) for text in rows["text"]]
        if graded is not None:
            rows = rows.assign(
                label_as_given=rows["label"].map(graded.label, na_action="ignore")
            )
        return rows.drop(columns="text").assign(text_mark=marks)

    columns = [*keys, *_SCORES]
    if any(rows["category"].notna().any() for rows in in_parts(frame, ["category"])):
        # Where the scale has categories, the category is the verdict; a score may stand for it, or
        # none.
        columns.insert(columns.index("score"), "category")
    files.write(folder / "scores.csv", kept(columns, scored))
    if any(rows["label"].notna().any() for rows in in_parts(frame, ["label"])):
        files.write(folder / "labels.csv", kept([*keys, "label", "text"], marked))
