"""How good a student of the shipped probe is, on which embeddings, and how fast.

    python -m benchmarks.distill            development texts, a quarter of the authors left out at a time
    python -m benchmarks.distill --test     students of all development texts on the test texts, and speeds

The teacher of the first is a probe that was fitted without the author in question, as are the student and the probes
on other embeddings, which are fitted to people's labels without copies. The teacher of the second is the shipped probe.
Vectors are read once and kept in the cache; states take as long as the probe. `--write` keeps the table in
benchmarks/results/distill.csv.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.config.build import build, settings
from undogmatic.config.door import compose_config
from undogmatic.constructs.shame.curated import CuratedDataset, DevelopmentDataset
from undogmatic.datasets.belonging import groups_of
from undogmatic.engine.recipe import judged
from undogmatic.fit.probe import fit_regression, fold_codes
from undogmatic.fit.student import Lesson, Method, alike, fit_student, learn
from undogmatic.models.calls import Gateway, ReplyCache
from undogmatic.models.distilled import Student, embeddings_of
from undogmatic.models.embeddings import Embeddings, MixedEmbeddings, StatesEmbeddings
from undogmatic.readouts.probe import fitting_probe, shipped_probe, text_features
from undogmatic.records.folding import Folding
from undogmatic.records.records import Item
from undogmatic.safety.paths import cache_folder
from undogmatic.stats.jackknife import LeftOut, difference
from undogmatic.stats.paired import share_in_direction
from undogmatic.stats.ranking import (
    mean_absolute_error,
    spearman_interval,
    weighted_rank_correlation,
)

RESULTS = Path(__file__).parent / "results" / "distill.csv"
NAMES = {
    name: [f"embeddings={name}"]
    for name in ("letters", "e5", "shallow", "states", "mixed")
}
NAMES["shallow, 2 blocks"] = ["embeddings=shallow", "embeddings.parts.0.blocks=[1,2]"]
COLD_RATE = "texts per second, from cold"
METHODS: tuple[Method, ...] = ("kernel ridge",)
"""The kind that cross-validation on the development texts prefers to ridge and elastic net on all
of these embeddings: rank correlation with the teacher .79 against .76 on letters, .78 against .72
on E5, .88 against .83 on the states and on both."""
COLD = 24
Row = dict[str, Any]


def lesson_of(items: Sequence[Item]) -> Lesson:
    """What the shipped probe says of items."""
    chosen = settings(compose_config(["model=local", "model.threads=1"]))
    scores = np.array(
        [judgment.outcome.score for judgment in judged(items, chosen)], dtype=np.float64
    )  # type: ignore[union-attr]
    labels = np.array([np.nan if item.label is None else item.label for item in items])
    return Lesson(
        items,
        [item.text for item in items],
        scores,
        labels,
        build(chosen.rubric, "rubric"),
        "the probe",
    )


def opened(name: str, cache: bool = True) -> tuple[Embeddings, dict[str, Any]]:
    """Embeddings by their name in conf/embeddings, on the disk's cache or without it."""
    node = settings(compose_config(NAMES[name])).embeddings
    made = one_thread(embeddings_of(node, "embeddings"))
    made.connect(Gateway(ReplyCache(cache_folder() / "replies") if cache else None))
    return made, node


def figures(who: str, split: str, scores: np.ndarray, lesson: Lesson) -> list[Row]:
    """Order and size against the teacher and against people, of texts with labels of their own; and
    the hard pairs."""
    groups = groups_of(lesson.items)
    names = np.array([groups[item.id] for item in lesson.items], dtype=object)
    own = np.array(
        [item.metadata["part"] not in ("pairs", "theses") for item in lesson.items]
    )
    rows: list[Row] = []

    def add(figure: str, n: int, estimate: Any) -> None:
        ends = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
        rows.append({"who": who, "split": split, "figure": figure, "n": n} | ends)

    for name, truth, among in (
        ("the teacher, all texts", lesson.scores, np.ones(len(own), dtype=bool)),
        ("the teacher, labelled texts", lesson.scores, own),
        ("people, labelled texts", lesson.labels, own),
    ):
        if who == "teacher" and "teacher" in name:
            continue
        rng, group = np.random.default_rng(0), names[among].tolist()
        n = int(among.sum())
        add(
            f"Spearman with {name}",
            n,
            spearman_interval(scores[among], truth[among], rng, groups=group),
        )
        error = mean_absolute_error(truth[among], scores[among], groups=group, span=100)
        add(f"mean absolute error against {name}", n, error)
    frame = pd.DataFrame(
        {
            "pair": [i.pair for i in lesson.items],
            "condition": [i.condition for i in lesson.items],
        }
    )
    by_pair = frame.assign(score=scores, group=names)[
        frame["condition"].isin(["imitation", "explanation"])
    ]
    wide = by_pair.pivot(index="pair", columns="condition", values="score")
    units = by_pair.groupby("pair")["group"].first().reindex(wide.index).tolist()
    right = share_in_direction(
        (wide["imitation"] - wide["explanation"]).to_numpy(), groups=units
    )
    add("hard pairs in the right order", len(wide), right.estimate)
    rows.append(
        _row(who, "hard pairs with one score for both texts", right.n_ties)
        | {
            "split": split,
            "n": len(wide),
        }
    )
    return rows


def development(names: Sequence[str]) -> list[Row]:
    """Students of probes that did not see the texts either: what a student of the shipped probe may
    reach on others."""
    lesson = lesson_of(DevelopmentDataset().load())
    vectors = {name: opened(name)[0] for name in {*names, "states"}}
    texts = list(map(Folding.learnt(lesson.texts).read, lesson.texts))
    read = {
        name: (made.vectors(texts), alike(made.widths(texts[0])))
        for name, made in vectors.items()
    }
    folds = fold_codes(lesson.items)[0] % 4
    whos = ["teacher", *(f"student on {name}" for name in names)]
    whos += [f"probe on {name}" for name in names if name in ("states", "mixed")]
    told = {who: np.empty(len(folds)) for who in whos}
    for out in (folds == fold for fold in np.unique(folds)):
        teacher = fit_regression(read["states"][0][~out], lesson.labels[~out]).raw(
            read["states"][0]
        )
        told["teacher"][out] = teacher[out]
        for who in whos[1:]:
            (of, divisors), truth = (
                read[who.partition(" on ")[2]],
                lesson.labels if who.startswith("probe") else teacher,
            )
            told[who][out] = learn(
                of[~out], truth[~out], folds[~out], "kernel ridge", divisors
            )[0].raw(of[out])
    held_out = replace(lesson, scores=told["teacher"])
    rows = [
        row
        for who, scores in told.items()
        for row in figures(who, "development", scores, held_out)
    ]
    return [row for row in rows if "error" not in row["figure"]]


def test(names: Sequence[str], speeds: bool = True) -> Iterator[list[Row]]:
    """Students of all development texts on the test texts, and their speeds beside the probe's: a
    list for each."""
    taught = lesson_of(DevelopmentDataset().load())
    parts: Any = ["labelled", "adversarial", "controls", "theses", "pairs"]
    asked = lesson_of(CuratedDataset(parts=parts, split="test").load())
    yield figures("teacher", "test", asked.scores, asked)
    before = measured("probe") if speeds else {}
    for name in names:
        embeddings, node = opened(name)
        fit = fit_student(taught, embeddings, node, METHODS)
        placed, who = fit.student.placed(asked.texts), f"student on {name}"
        rows = figures(who, "test", placed.scores, asked)
        rows.append(beside_the_probe(who, placed.scores, asked))
        known = np.isfinite(asked.labels)
        inside = (
            (placed.limits[0] <= asked.labels) & (asked.labels <= placed.limits[1])
        )[known].mean()
        rows.append(
            _row(who, "coverage of people's labels by the 90 % interval", float(inside))
        )
        if not speeds:
            yield rows
            continue
        with tempfile.TemporaryDirectory() as folder:
            fit.student.save(path := Path(folder) / "student.safetensors")
            found, after = measured(str(path)), measured("probe")
        probes = (before[COLD_RATE] + after[COLD_RATE]) / 2
        found |= {
            "times the probe's texts per second in the same minutes, from cold": (
                found[COLD_RATE] / probes
            )
        }
        rows += [_row(who, figure, value) for figure, value in found.items()]
        yield rows + [_row("probe", figure, value) for figure, value in after.items()]
        before = after


def beside_the_probe(who: str, scores: np.ndarray, asked: Lesson) -> Row:
    """The student's rank correlation with people less the probe's, over groups of the labelled
    texts."""
    groups = groups_of(asked.items)
    own = [
        n
        for n, item in enumerate(asked.items)
        if item.metadata["part"] not in ("pairs", "theses")
    ]
    names = [groups[asked.items[n].id] for n in own]
    sides = [
        LeftOut(
            np.column_stack([said[own], asked.labels[own]]),
            weighted_rank_correlation(None),
            rng,
            names,
        )
        for said, rng in (
            (scores, np.random.default_rng(0)),
            (asked.scores, np.random.default_rng(0)),
        )
    ]
    found = difference(sides[0], sides[1])
    row = {
        "figure": "Spearman with people, labelled texts, less the probe's",
        "n": len(own),
    }
    return (
        {"who": who, "split": "test"}
        | row
        | {"value": found.value, "low": found.low, "high": found.high}
    )


def measured(who: str) -> dict[str, float]:
    """Speed and memory of the probe, or of the student in a file, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.distill", "--speed", who]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def speed(who: str) -> dict[str, float]:
    """Texts per second of the processor from cold, with one thread and the model loaded; memory;
    and, of a student, the rate with the vectors on the disk's cache and in memory."""
    texts = [
        item.text
        for item in CuratedDataset(parts=["labelled", "pairs"], split="test").load()
    ]
    some = texts[:: len(texts) // COLD]
    score = probe_score() if who == "probe" else alone(who, cache=False)
    score(texts[1:2])  # loads the model
    found = {COLD_RATE: _rate(score, some)}
    # without its parent's
    status = dict(
        line.split(":", 1)
        for line in Path("/proc/self/status").read_text().splitlines()
    )
    found["memory of the process at most, MB"] = int(status["VmHWM"].split()[0]) / 1024
    if who != "probe":
        alone(who, cache=True)(texts)
        again = alone(who, cache=True)
        found["texts per second, vectors on disk"] = _rate(again, texts)
        found["texts per second, vectors in memory"] = _rate(again, texts)
    return found


def one_thread(made: Embeddings) -> Embeddings:
    """The embeddings, whose embedded model reads with one thread."""
    for part in made.parts if isinstance(made, MixedEmbeddings) else [made]:
        if isinstance(part, StatesEmbeddings):
            part.model.threads = 1
    return made


def alone(path: str, cache: bool) -> Any:
    """A function that scores texts by the student in a file, with one thread."""
    student = Student.load(path, cache)
    one_thread(student.embeddings)
    return student.score


def probe_score() -> Any:
    """A function that scores texts by the shipped probe, without a cache."""
    chosen = settings(compose_config(["model=local", "model.threads=1"]))
    model = build(chosen.model, "model")
    rubric = build(chosen.rubric, "rubric")
    probe = fitting_probe(shipped_probe(rubric), model, rubric)
    model.connect(Gateway())

    def score(some: Sequence[str]) -> None:
        async def read() -> None:
            for text in some:
                probe.estimate(
                    await text_features(probe, model, text),
                    rubric.minimum,
                    rubric.maximum,
                )

        asyncio.run(read())

    return score


def _rate(work: Any, texts: Sequence[str]) -> float:
    begun = time.process_time()
    work(texts)
    return len(texts) / (time.process_time() - begun)


def _row(who: str, figure: str, value: float) -> Row:
    return {"who": who, "split": "test", "figure": figure, "value": value}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--test", action="store_true", help="the test texts and the speeds"
    )
    parser.add_argument(
        "--on",
        nargs="+",
        choices=NAMES,
        default=list(NAMES),
        help="embeddings (default: all)",
    )
    parser.add_argument(
        "--no-speeds", action="store_true", help="with --test: measure no speeds"
    )
    parser.add_argument(
        "--speed", metavar="FILE", help="of one student, or of the word probe, as JSON"
    )
    parser.add_argument(
        "--write", action="store_true", help=f"keep them in {RESULTS.name}"
    )
    typed = parser.parse_args()
    if typed.speed:
        print(json.dumps(speed(typed.speed)))
        return
    for rows in (
        test(typed.on, not typed.no_speeds) if typed.test else [development(typed.on)]
    ):
        table = pd.DataFrame(rows)
        print(table.round(4).to_string(index=False), flush=True)
        if typed.write:
            whole = pd.concat(
                [table, pd.read_csv(RESULTS)] if RESULTS.exists() else [table]
            )
            whole.drop_duplicates(["who", "split", "figure"]).round(4).to_csv(
                RESULTS, index=False
            )


if __name__ == "__main__":
    main()
