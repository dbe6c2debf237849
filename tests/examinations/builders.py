"""Small runs made by hand: what was judged, with which score, and which judgments failed."""

import functools
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
import yaml

from tests.examinations.conftest import in_words, words_of
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import tabulate
from undogmatic.records.evidence import (
    AS_GIVEN,
    FIRST,
    LABEL_COLUMNS,
    SECOND,
    SWAPPED,
    TIE,
    Evidence,
    Kind,
)
from undogmatic.records.records import (
    Cost,
    Failure,
    FailureKind,
    Item,
    Judgment,
    Provenance,
    Verdict,
)
from undogmatic.records.results import Finding, Told
from undogmatic.records.rubric import Anchors, NumericScale, Rubric, Wording

ORIGIN = Provenance(
    model="m",
    readout="r",
    prompt="p",
    prompt_hash="h",
    program_hash="h",
    config_hash="h",
)
WORDING = Wording(definition="d", question="q", anchors=("a", "b", "c", "d", "e"))

PLACE = ("id", "text", "condition", "pair", "metadata")

Score = float | FailureKind
"""A score, or the reason why there is none."""


Said = Callable[[Told], dict[str, Finding]]
"""The fixture `said`: findings and verdict of a result by key."""


class Reading:
    """What an analysis told, every sentence put into words; names and keys are without the
    analysis' own in front.

    `told["mae"]` is a number and `told.says["bounds"]` the values of a sentence; `told.ruled` is
    the key of the verdict, and how it leaves the claim. `worded`: not where sentences share one set
    of values, or conditions have no name.
    """

    def __init__(self, result: Told, worded: bool = True) -> None:
        self.result, self.tables, self.drawings, self.headline = (
            result,
            result.tables,
            result.drawings,
            result.headline,
        )
        self.numbers = {
            key.removeprefix(f"{result.name}."): value
            for key, value in result.metrics.items()
        }
        found = in_words(result).items() if worded else ()
        self.says = {
            key.removeprefix(f"{result.name}."): finding.values
            for key, finding in found
        }
        key = result.verdict.key if result.verdict else ""
        self.ruled, self.standing = (
            (
                key.rpartition(".verdict_")[2],
                result.standing,
            ),
            result.standing,
        )

    def __getitem__(self, name: str) -> float:
        return self.numbers[name]

    def of(self, names: str) -> list[float]:
        """Several numbers."""
        return [self.numbers[name] for name in names.split()]

    def sentences(self) -> list[str]:
        """The verdict in both languages; it begins with its answer, which is as the claim is
        left."""
        begins = {"supported": [["Yes", "Sim"]], "refuted": [["No", "Não"]]}
        begins |= {"undecided": [["Undecided", "Em aberto"], ["Not yet", "Ainda não"]]}
        said = [
            words_of(language).answered(self.result.verdict)
            for language in ("en", "pt")
        ]
        assert [sentence.partition(". ")[0] for sentence in said] in begins[
            self.standing or ""
        ]
        return said


def analysed(name: str, judged: RunEvidence, **changes: Any) -> Reading:
    """The one result of an analysis as `conf/analysis/` sets it up, with these keys changed."""
    (result,) = configured(name, **changes)(judged, np.random.default_rng(0))
    return Reading(result)


def configured(name: str, **changes: Any) -> Any:
    """An analysis as `conf/analysis/` sets it up, with these keys changed."""
    return build(_node(name) | changes, "analysis")


def refuses(
    error: type[Exception],
    named: str,
    analysis: str,
    judged: RunEvidence | None = None,
    **changes: Any,
) -> None:
    """An analysis with these keys says what it cannot read; without judgments, what it cannot be
    set to."""
    with pytest.raises(error, match=named):
        made = configured(analysis, **changes)
        if judged is not None:
            made.check(judged)


@functools.cache
def _node(name: str) -> dict[str, Any]:
    return compose_config([f"analysis={name}"])["analysis"]  # type: ignore[no-any-return]


def rubric(
    direction: Literal["higher_is_worse", "higher_is_better"] = "higher_is_worse",
    margin: float | None = None,
) -> Rubric:
    """A 0-100 rubric of five levels."""
    scale, guide = (
        NumericScale(minimum=0, maximum=100),
        Anchors(at=(0, 25, 50, 75, 100)),
    )
    return Rubric(
        name="shame",
        direction=direction,
        margin=margin,
        wordings={"en": WORDING},
        scale=scale,
        guide=guide,
    )


def composed(folder: Path) -> None:
    """The composed config of a run by this rubric, where a run's folder has it."""
    (folder / ".hydra").mkdir()
    node = {
        "rubric": {
            "_target_": "undogmatic.records.rubric.Rubric",
            **rubric().model_dump(mode="json"),
        }
    }
    (folder / ".hydra" / "config.yaml").write_text(
        yaml.safe_dump(node), encoding="utf-8"
    )


def verdict(
    item: str, score: Score, repeat: int = 0, cost: Cost | None = None, **fields: Any
) -> Judgment:
    """A judgment of one item: a Verdict with this score, or a Failure with this reason."""
    outcome = (
        Failure(reason=score, message="no")
        if isinstance(score, str)
        else Verdict(score=score, **fields)
    )
    made = cost or Cost(calls=1)
    return Judgment(
        item_id=item,
        repeat=repeat,
        judge="score",
        outcome=outcome,
        cost=made,
        provenance=ORIGIN,
    )


def run_folder(folder: Path, judgments: Iterable[Judgment], **facts: Any) -> str:
    """The path of a run's folder with its journal, its config and, where there are facts, its
    manifest."""
    folder.mkdir(exist_ok=True)
    journal = "".join(f"{judgment.model_dump_json()}\n" for judgment in judgments)
    (folder / "judgments.jsonl").write_text(journal, encoding="utf-8")
    if facts:
        (folder / "run.json").write_text(json.dumps(facts), encoding="utf-8")
    composed(folder)
    return str(folder)


def scored_folder(folder: Path, scores: Sequence[Score], **facts: Any) -> str:
    """That of texts t0, t1, ... with these scores."""
    return run_folder(
        folder, [verdict(f"t{n}", score) for n, score in enumerate(scores)], **facts
    )


def rated(said: Mapping[str, Mapping[str, Mapping[str, float]]]) -> dict[str, Item]:
    """Items by id with what people said of them: criterion -> rater -> label."""
    return {
        item: Item(id=item, text="x", labels=labels) for item, labels in said.items()
    }


def labelled_run(
    rows: Iterable[tuple[float | None, Score, Mapping[str, Any]]], **fields: Any
) -> RunEvidence:
    """Texts i0, i1, ..., each with label, score and other fields of its item and verdict; `fields`
    are those of all items, of the rubric and of the table."""
    scale = rubric(
        fields.pop("direction", "higher_is_worse"), fields.pop("margin", None)
    )
    of_all = {key: fields.pop(key) for key in PLACE if key in fields}
    items, judgments = [], []
    for n, (label, score, more) in enumerate(rows):
        own = (
            {"id": f"i{n}", "text": made_up(9, str(n))}
            | of_all
            | {key: more[key] for key in PLACE if key in more}
        )
        items.append(Item(label=label, **own))
        judgments.append(
            verdict(own["id"], score, **{key: more[key] for key in more.keys() - own})
        )
    return RunEvidence(tabulate(items, judgments, 1), scale, **fields)


def repeated_run(
    repeats: Sequence[Sequence[Score]],
    costs: Sequence[Cost | None] = (),
    margin: float | None = None,
    said: Sequence[Mapping[str, float]] = (),
    **fields: Any,
) -> RunEvidence:
    """Texts t0, t1, ..., with a column of scores per repeat, what a judgment of that repeat took,
    and what each rater `said` of each."""
    items = [Item(id=f"t{n}", text=made_up(9, str(n))) for n in range(len(repeats[0]))]
    for n, people in enumerate(said):
        items[n] = items[n].model_copy(update={"labels": {"overall": dict(people)}})
    judgments = [
        verdict(
            f"t{n}",
            score,
            repeat=repeat,
            cost=costs[repeat] if repeat < len(costs) else None,
        )
        for repeat, scores in enumerate(repeats)
        for n, score in enumerate(scores)
    ]
    fields["known"] = {item.id: item for item in items}
    return RunEvidence(
        tabulate(items, judgments, len(repeats)), rubric(margin=margin), **fields
    )


def mirrored(sides: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """The same scores where the other end of the scale is the good one."""
    return {
        condition: [100 - score for score in scores]
        for condition, scores in sides.items()
    }


def made_up(words: int, seed: str) -> str:
    """A text of so many words of one letter and a space each, another for every seed."""
    draw = random.Random(seed)
    return "".join(f"{draw.choice(ascii_lowercase)} " for _ in range(words))


def paired_run(
    sides: Mapping[str, Sequence[Score | None]],
    lengths: Mapping[str, Sequence[int]] | None = None,
    metadata: Mapping[str, Sequence[Any]] | None = None,
    texts: Mapping[str, Sequence[str]] | None = None,
    **fields: Any,
) -> RunEvidence:
    """Pairs p0, p1, ... with one score per side; None leaves the text out of the dataset.

    `lengths` gives words per text (two characters each); without it, lengths vary alike on all
    sides. `texts` are the texts themselves.
    """
    rows = []
    for condition, side in sides.items():
        for n, score in enumerate(side):
            words = (
                lengths[condition][n]
                if lengths is not None
                else 5 + (3 * n + len(condition)) % 7
            )
            text = (
                made_up(words, f"{condition} {n}")
                if texts is None
                else texts[condition][n]
            )
            place = {
                "id": f"p{n}:{condition}",
                "text": text,
                "pair": f"p{n}",
                "condition": condition,
            }
            extra = {key: values[n] for key, values in (metadata or {}).items()}
            rows.append((score, place | {"metadata": extra}))
    return labelled_run(
        [(None, score, more) for score, more in rows if score is not None], **fields
    )


def grouped_run(groups: Mapping[str, Sequence[Score]], **fields: Any) -> RunEvidence:
    """Unpaired texts: condition -> scores."""
    rows: list[Any] = []
    for condition, scores in groups.items():
        for n, score in enumerate(scores):
            place = {
                "id": f"{condition}-{n}",
                "text": made_up(9, f"{condition} {n}"),
                "condition": condition,
            }
            rows.append((None, score, place))
    return labelled_run(rows, **fields)


def evidence_of(
    kind: Kind,
    judges: Mapping[str, Any] | Any,
    labels: Mapping[str, Any] | Any = (),
    items: Mapping[str, Sequence[Any]] | None = None,
    *,
    confidence: Sequence[float] | None = None,
    criterion: str = "quality",
    **fields: Any,
) -> Evidence:
    """What judges said of items i0, i1, ... and people's labels, without a file.

    Args:
        judges: Name -> verdicts, shape (n,), NaN for none; shape (k, n) are k repeats, of a
            pairwise choice the two orders. Verdicts alone are those of judge "judge".
        labels: Rater -> labels, shape (n,), NaN for none; labels alone are those of rater "human".
        items: Columns of the items: "group" (else each is its own), "text", "system",
            "slice.length", ...
        confidence: Of every verdict of every judge, by item.
        fields: Of the table; the scale is else that of the values, the categories "a", "b", ... or
            those of the kind.
    """
    said = {
        name: np.atleast_2d(v)
        for name, v in (
            judges if isinstance(judges, Mapping) else {"judge": judges}
        ).items()
    }
    given = (
        labels
        if isinstance(labels, Mapping)
        else {"human": labels}
        if len(labels)
        else {}
    )
    n = next(iter(said.values())).shape[1]
    names = [f"i{k}" for k in range(n)]
    orders = (AS_GIVEN, SWAPPED) if kind == "pairwise" else (None,)
    rows = []
    for name, verdicts in said.items():
        shown = (None,) if len(verdicts) == 1 else orders
        for k, own in enumerate(verdicts):
            frame = pd.DataFrame(
                {
                    "item": names,
                    "judge": name,
                    "criterion": criterion,
                    "repeat": k // len(shown),
                }
            )
            frame["order"] = pd.Series([shown[k % len(shown)]] * n, dtype=object)
            frame["verdict"] = np.asarray(own, dtype=np.float64)
            frame["confidence"] = (
                np.nan
                if confidence is None
                else np.asarray(confidence, dtype=np.float64)
            )
            frame["reason"] = np.where(frame["verdict"].isna(), "unreadable", None)
            frame["place"] = [f"verdicts.csv:{line + 2}" for line in range(n)]
            rows.append(frame)
    rated = [
        pd.DataFrame(
            {
                "item": names,
                "criterion": criterion,
                "rater": rater,
                "label": np.asarray(own, np.float64),
            }
        )
        for rater, own in given.items()
    ]
    people = (
        pd.concat(rated, ignore_index=True)
        if rated
        else pd.DataFrame(columns=list(LABEL_COLUMNS))
    )
    about = pd.DataFrame(
        {"group": names, **(items or {})}, index=pd.Index(names, name="item")
    )
    every = np.concatenate(
        [
            *(v.ravel() for v in said.values()),
            people["label"].to_numpy(dtype=np.float64),
        ]
    )
    if kind == "numeric":
        fields.setdefault("scale", (float(np.nanmin(every)), float(np.nanmax(every))))
    else:
        n_categories = int(np.nanmax(every, initial=1)) + 1
        own_names = {
            "pass_fail": ("fail", "pass"),
            "pairwise": (FIRST, SECOND, TIE)[:n_categories],
        }
        fields.setdefault(
            "categories", own_names.get(kind, tuple(ascii_lowercase[:n_categories]))
        )
    return Evidence(
        kind,
        pd.concat(rows, ignore_index=True),
        people.dropna(subset=["label"]),
        about,
        **fields,
    )
