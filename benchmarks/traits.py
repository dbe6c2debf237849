"""For which traits the embedded model may be believed: its states (a probe) and its answers, beside
TF-IDF.

    python -m benchmarks.traits            development responses, one prompt left out at a time
    python -m benchmarks.traits --test     what was fitted on development, on the test responses

The probe is the one that `undogmatic probe fit rubric=...` gives. Rank correlations with the labels
have the limits of the analysis `labelled` (95 %, prompts as units), and its verdict stands beside
them. `logprobs` is experiment=trait or experiment=coherence.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.probe import SEED, lexical, shown
from undogmatic.api import judge_items
from undogmatic.config.build import build, settings
from undogmatic.config.door import compose_config
from undogmatic.constructs.shame.patterns import tfidf_ridge
from undogmatic.constructs.traits.responses import LabelledResponsesDataset
from undogmatic.examinations.labelled import LabelledAnalysis
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import tabulate
from undogmatic.examinations.truth import units
from undogmatic.fit.probe import (
    VIEWS,
    calibrate,
    fit_probe,
    fold_codes,
    held_out,
    held_out_raw,
    origin,
    read_features,
)
from undogmatic.readouts.base import shown_text
from undogmatic.records.folding import Folding
from undogmatic.records.records import (
    Cost,
    Failure,
    Item,
    Judgment,
    Provenance,
    Verdict,
)
from undogmatic.records.rubric import Rubric
from undogmatic.stats import limits

COHERENCE = "coherence"
TRAITS = (
    "sycophancy refusal hedging overconfidence formality empathy deception_cues evasiveness"
    " verbosity condescension"
).split()
Scores = Mapping[str, float | Failure]
"""Item id -> score."""


class Row(NamedTuple):
    """One judge against the labels of one rubric."""

    rubric: str
    judge: str
    order: str
    verdict: str


def overrides(name: str) -> list[str]:
    """The experiment that asks the embedded model about this trait, or about coherence."""
    return (
        ["experiment=coherence"]
        if name == COHERENCE
        else ["experiment=trait", f"rubric=trait/{name}"]
    )


def responses(name: str, split: str) -> list[Item]:
    """The labelled responses of a rubric."""
    part = (COHERENCE, None) if name == COHERENCE else ("trait", name)
    return LabelledResponsesDataset(*part, split=split).load()  # type: ignore[arg-type]


def development(
    rubric: Rubric, items: Sequence[Item], features: np.ndarray
) -> dict[str, Scores]:
    """Scores of each response by fits without its prompt."""
    labels, (folds, _, _) = _labels(items), fold_codes(items)
    raws = {
        "probe": held_out_raw(features, labels, folds),
        "tfidf": lexical([shown_text(item, rubric) for item in items], labels, folds),
    }
    ends = (rubric.minimum, rubric.maximum)
    return {
        name: _by_id(items, held_out(raw, labels, folds, ends)[0])
        for name, raw in raws.items()
    }


def test(
    rubric: Rubric,
    known: Sequence[Item],
    seen: np.ndarray,
    items: Sequence[Item],
    features: np.ndarray,
    about: dict,
) -> dict[str, Scores]:
    """Scores of the test responses by what is fitted on the development responses."""
    probe = fit_probe(seen, known, rubric, about)
    labels, texts = _labels(known), [shown_text(item, rubric) for item in known]
    scale = calibrate(lexical(texts, labels, fold_codes(known)[0]), labels)
    counted = (
        tfidf_ridge(1.0)
        .fit(texts, labels)
        .predict([shown_text(item, rubric) for item in items])
    )
    return {
        "probe": _by_id(
            items,
            np.array(
                [
                    probe.estimate(row, rubric.minimum, rubric.maximum).score
                    for row in features
                ]
            ),
        ),
        "tfidf": _by_id(items, np.interp(counted, scale.raw_knots, scale.score_knots)),
    }


def judge(rubric: Rubric, items: Sequence[Item], name: str, scores: Scores) -> Row:
    """The rank correlation with the labels, and what the analysis `labelled` says of these
    scores."""
    frame = tabulate(items, [_judgment(item, scores[item.id]) for item in items], 1)
    result = LabelledAnalysis()(
        RunEvidence(frame, rubric), np.random.default_rng(SEED)
    )[0]
    values, labels = (
        frame["score"].to_numpy(dtype=np.float64),
        frame["label"].to_numpy(dtype=np.float64),
    )
    found = limits.order(
        values, labels, np.random.default_rng(SEED), groups=units(frame)
    )
    failed = int(np.isnan(values).sum())
    order = (
        "one score for all"
        if found is None
        else shown(found.value, found.low, found.high, 2)
    )
    assert result.verdict is not None
    ruled = result.verdict.inner.key.rpartition(".verdict_")[2].replace("_", " ")
    said = f"{result.standing} ({ruled})"
    return Row(
        rubric.name, name, order + (f", {failed} failed" if failed else ""), said
    )


def _judgment(item: Item, score: float | Failure) -> Judgment:
    outcome = score if isinstance(score, Failure) else Verdict(score=score)
    nowhere = dict.fromkeys(Provenance.model_fields, "-")
    return Judgment(
        item_id=item.id,
        judge="benchmark",
        outcome=outcome,
        cost=Cost(),
        provenance=Provenance(**nowhere),
    )


def _said(judgment: Judgment) -> float | Failure:
    if isinstance(judgment.outcome, Failure):
        return judgment.outcome
    assert judgment.outcome.score is not None, "the scale is numeric"
    return judgment.outcome.score


def _labels(items: Sequence[Item]) -> np.ndarray:
    return np.array([item.label for item in items], dtype=np.float64)


def _by_id(items: Sequence[Item], scores: np.ndarray) -> dict[str, float | Failure]:
    return {item.id: float(score) for item, score in zip(items, scores, strict=True)}


class Judges(NamedTuple):
    """What every judge says of the responses of one rubric."""

    rubric: Rubric
    items: list[Item]
    scores: dict[str, Scores]

    def rows(self) -> list[Row]:
        """Each judge against the labels."""
        return [
            judge(self.rubric, self.items, name, scores)
            for name, scores in self.scores.items()
        ]


def together(found: Sequence[Judges]) -> Judges:
    """All traits as one: which of them a response is labelled for is known to every judge."""
    names = found[0].scores
    rubric = found[0].rubric.model_copy(update={"name": "all traits"})
    scores = {
        name: {key: value for each in found for key, value in each.scores[name].items()}
        for name in names
    }
    return Judges(rubric, [item for each in found for item in each.items], scores)


def judged(name: str, split: str, ask: bool) -> Judges:
    """Every judge of one rubric."""
    chosen = settings(compose_config(overrides(name)))
    rubric: Rubric = build(chosen.rubric, "rubric")
    model, engine = build(chosen.model, "model"), build(chosen.engine, "engine")

    known = responses(name, "dev")
    folding = Folding.learnt(shown_text(item, rubric) for item in known)

    def features(items: Sequence[Item]) -> np.ndarray:
        texts = [folding.read(shown_text(item, rubric)) for item in items]
        return asyncio.run(read_features(model, texts, VIEWS, engine))

    items = known if split == "dev" else responses(name, "test")
    if split == "dev":
        found = development(rubric, known, features(known))
    else:
        found = test(
            rubric, known, features(known), items, features(items), origin(model, VIEWS)
        )
    if ask:
        found["logprobs"] = {
            j.item_id: _said(j) for j in judge_items(items, overrides(name))
        }
    return Judges(rubric, items, found)


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--test",
        action="store_true",
        help="the test responses instead of the development responses",
    )
    parser.add_argument(
        "--ask",
        action="store_true",
        help="ask the model, too (about two seconds per response)",
    )
    parser.add_argument(
        "--only", nargs="*", default=[*TRAITS, COHERENCE], help="some of the rubrics"
    )
    given = parser.parse_args()
    print(
        "| rubric | judge | rank correlation with the labels | verdict |\n|---|---|---|---|"
    )
    found = []
    for name in given.only:
        found.append(judged(name, "test" if given.test else "dev", given.ask))
        _print(found[-1])
    traits = [one for one in found if one.rubric.name != COHERENCE]
    if len(traits) > 1:
        _print(together(traits))


def _print(found: Judges) -> None:
    for row in found.rows():
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
