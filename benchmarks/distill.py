"""How good a student of the shipped probe is, on which embeddings, and how fast.

    python -m benchmarks.distill            development texts, one author left out at a time; nothing of the test texts
    python -m benchmarks.distill --test     students of all development texts on the test texts, and speeds

The teacher is the probe's run on the same texts. On development texts it is in sample, on test texts it is not. The
last rows of the first compare a probe on mixed embeddings with one on the states alone, both fitted to people's labels
without copies. Vectors are read once and kept in the cache; states take as long as the probe. `--write` keeps the table
in benchmarks/results/distill.csv.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.analyses.independence import groups_of
from undogmatic.config.build import build, settings
from undogmatic.config.door import compose_config
from undogmatic.constructs.shame.curated import CuratedDataset, DevelopmentDataset
from undogmatic.engine.recipe import judged
from undogmatic.fit.probe import fold_codes, held_out_raw
from undogmatic.fit.student import Fit, Lesson, Method, fit_student
from undogmatic.models.calls import Gateway, ReplyCache
from undogmatic.models.distilled import Student, embeddings_of
from undogmatic.models.embeddings import Embeddings
from undogmatic.readouts.probe import fitting_probe, shipped_probe, text_features
from undogmatic.records.records import Item
from undogmatic.safety.paths import cache_folder
from undogmatic.stats.paired import share_in_direction
from undogmatic.stats.ranking import mean_absolute_error, spearman_interval

RESULTS = Path(__file__).parent / "results" / "distill.csv"
NAMES = ("letters", "e5", "states", "mixed")
METHODS: tuple[Method, ...] = ("kernel ridge",)
"""The kind that cross-validation on the development texts prefers to ridge and elastic net on all of these embeddings:
rank correlation with the teacher .79 against .76 on letters, .78 against .72 on E5, .88 against .83 on
the states and on both."""
COLD = 12
Row = dict[str, Any]


def lesson_of(items: Sequence[Item]) -> Lesson:
    """What the shipped probe says of items."""
    chosen = settings(compose_config(["model=local", "model.threads=1"]))
    scores = np.array([judgment.outcome.score for judgment in judged(items, chosen)], dtype=np.float64)  # type: ignore[union-attr]
    labels = np.array([np.nan if item.label is None else item.label for item in items])
    return Lesson(items, [item.text for item in items], scores, labels, build(chosen.rubric, "rubric"), "the probe")


def opened(name: str, cache: bool = True) -> tuple[Embeddings, dict[str, Any]]:
    """Embeddings by their name in conf/embeddings, on the disk's cache or without it."""
    threads = ["embeddings.threads=1"] if name == "states" else []
    node = settings(compose_config([f"embeddings={name}", *threads])).embeddings
    made = embeddings_of(node, "embeddings")
    made.connect(Gateway(ReplyCache(cache_folder() / "replies") if cache else None))
    return made, node


def figures(who: str, split: str, scores: np.ndarray, lesson: Lesson) -> list[Row]:
    """Order and size against the teacher and against people, of texts with labels of their own; and the hard pairs."""
    groups = groups_of(lesson.items)
    names = np.array([groups[item.id] for item in lesson.items], dtype=object)
    own = np.array([item.metadata["part"] not in ("pairs", "theses") for item in lesson.items])
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
        add(f"Spearman with {name}", n, spearman_interval(scores[among], truth[among], rng, groups=group))
        error = mean_absolute_error(truth[among], scores[among], groups=group, span=100)
        add(f"mean absolute error against {name}", n, error)
    frame = pd.DataFrame({"pair": [i.pair for i in lesson.items], "condition": [i.condition for i in lesson.items]})
    by_pair = frame.assign(score=scores, group=names)[frame["condition"].isin(["imitation", "explanation"])]
    wide = by_pair.pivot(index="pair", columns="condition", values="score")
    units = by_pair.groupby("pair")["group"].first().reindex(wide.index).tolist()
    right = share_in_direction((wide["imitation"] - wide["explanation"]).to_numpy(), groups=units).estimate
    add("hard pairs in the right order", len(wide), right)
    return rows


def development(names: Sequence[str]) -> list[Row]:
    """Held-out figures of students on each embeddings, and of probes on mixed states."""
    lesson = lesson_of(DevelopmentDataset().load())
    rows = figures("teacher", "development", lesson.scores, lesson)
    vectors = {}
    for name in names:
        embeddings, node = opened(name)
        fit = fit_student(lesson, embeddings, node, METHODS)
        about = fit.student.about
        print(f"{name}: {about.method}, penalty {about.penalty:g}, held out by {about.held_out}", flush=True)
        rows += figures(f"student on {name}", "development", fit.scores, lesson)
        vectors[name] = embeddings.vectors(lesson.texts).astype(np.float64)
    folds = fold_codes(lesson.items)[0]
    for name in {"states", "mixed"} & vectors.keys():
        raw = held_out_raw(vectors[name], lesson.labels, folds)
        orders = [
            row for row in figures(f"probe on {name}", "development", raw, lesson) if "error" not in row["figure"]
        ]
        rows += [row for row in orders if "teacher" not in row["figure"]]
    return rows


def test(names: Sequence[str]) -> list[Row]:
    """Students of all development texts on the test texts, and their speeds."""
    taught = lesson_of(DevelopmentDataset().load())
    parts: Any = ["labelled", "adversarial", "controls", "theses", "pairs"]
    asked = lesson_of(CuratedDataset(parts=parts, split="test").load())
    rows = figures("teacher", "test", asked.scores, asked)
    for name in names:
        embeddings, node = opened(name)
        fit = fit_student(taught, embeddings, node, METHODS)
        placed = fit.student.placed(asked.texts)
        rows += figures(f"student on {name}", "test", placed.scores, asked)
        known = np.isfinite(asked.labels)
        inside = ((placed.low <= asked.labels) & (asked.labels <= placed.high))[known].mean()
        rows.append(_row(f"student on {name}", "coverage of people's labels by the 90 % interval", float(inside)))
        rows += speeds(name, fit, asked.texts)
    return [*rows, *speed_of_probe(asked.texts)]


def speeds(name: str, fit: Fit, texts: Sequence[str]) -> list[Row]:
    """Texts per second of the processor (one thread): from the cache on disk, and from cold."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "student.safetensors"
        fit.student.save(path)
        student = Student.load(path)
        cached = _rate(student.score, texts)
        cold = Student.load(path, cache=False)
        cold.score(texts[:1])  # loads the model
        found = {"cached on disk": cached, "from cold": _rate(cold.score, texts[1 : COLD + 1])}
        found["in memory"] = _rate(student.score, texts)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows = [_row(f"student on {name}", f"texts per second, {what}", value) for what, value in found.items()]
    return [*rows, _row(f"student on {name}", "peak memory of the process so far, MB", peak)]


def speed_of_probe(texts: Sequence[str]) -> list[Row]:
    """The same of the probe, from cold."""
    chosen = settings(compose_config(["model=local", "model.threads=1"]))
    model = build(chosen.model, "model")
    rubric = build(chosen.rubric, "rubric")
    probe = fitting_probe(shipped_probe(rubric), model, rubric)
    model.connect(Gateway())

    def score(some: Sequence[str]) -> None:
        async def read() -> None:
            for text in some:
                probe.estimate(await text_features(probe, model, text), rubric.minimum, rubric.maximum)

        asyncio.run(read())

    score(texts[:1])
    return [_row("probe", "texts per second, from cold", _rate(score, texts[1 : COLD + 1]))]


def _rate(work: Any, texts: Sequence[str]) -> float:
    begun = time.process_time()
    work(texts)
    return len(texts) / (time.process_time() - begun)


def _row(who: str, figure: str, value: float) -> Row:
    return {"who": who, "split": "test", "figure": figure, "value": value}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test", action="store_true", help="the test texts and the speeds")
    parser.add_argument("--on", nargs="+", choices=NAMES, default=NAMES, help="embeddings (default: all)")
    parser.add_argument("--write", action="store_true", help=f"keep them in {RESULTS.name}")
    typed = parser.parse_args()
    table = pd.DataFrame((test if typed.test else development)(typed.on))
    print(table.round(4).to_string(index=False))
    if typed.write:
        whole = pd.concat([table, pd.read_csv(RESULTS)] if RESULTS.exists() else [table])
        whole.drop_duplicates(["who", "split", "figure"]).round(4).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
