"""Distils a judge: reads what it said from runs or tables, fits a student to it, and reports how
far the two agree.

All figures are of texts that the student did not see when it was fitted (`fit.student`), with
intervals over groups.
"""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field

from undogmatic.config.build import Settings, build
from undogmatic.datasets.belonging import groups_of
from undogmatic.datasets.doors import CHECK
from undogmatic.datasets.labels import scale_for
from undogmatic.datasets.roles import TEXT
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.errors import ConfigError, DataError
from undogmatic.fit.student import LEAST, MOST, Fit, Lesson, fit_student
from undogmatic.models.calls import Gateway
from undogmatic.models.distilled import embeddings_of
from undogmatic.models.fitted import rubric_digest
from undogmatic.readouts.base import shown_text
from undogmatic.records.records import OVERALL, Item
from undogmatic.records.results import Finding, Told
from undogmatic.records.rubric import Rubric
from undogmatic.records.stored import drawn, in_parts, some
from undogmatic.records.wordings import texts_beside
from undogmatic.stats import means, surface
from undogmatic.stats.checks import Index
from undogmatic.stats.conformal import WIDE
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.proportion import proportion
from undogmatic.stats.ranking import mean_absolute_error, spearman_interval

FEWEST = 10
"""Fewest texts of a condition for a row of its own."""
FEWEST_LABELS = 20
"""Fewest labels by people with which a student is compared."""
MOST_COMPARED = 1500
"""Most texts that the surface judge is fitted to; of more, whole groups are drawn at random."""
BETTER = {"people": "student.people_better", "teacher": "student.teacher_better"}
NO_BETTER = {
    "people": "student.people_no_better",
    "teacher": "student.teacher_no_better",
}
"""What is said first: whether the student follows people's labels, and its teacher, more closely
than counting words does."""
TFIDF = 5
"""The kernel of `surface.kernels` that is TF-IDF of character n-grams."""


def taught(lesson: Lesson, chosen: Settings) -> tuple[Fit, Told]:
    """A student of the lesson on the config's embeddings, with what is to be reported of it."""
    lesson.check()
    embeddings, engine = (
        embeddings_of(chosen.embeddings, "embeddings"),
        build(chosen.engine, "engine"),
    )
    cache = engine.replies()
    embeddings.connect(Gateway(cache))
    try:
        fit = fit_student(lesson, embeddings, chosen.embeddings)
    finally:
        if cache is not None:
            cache.close()
            embeddings.cache = None
    return fit, report(fit, np.random.default_rng(chosen.seed))


class StudentFit:
    """Fits a student when a run's items are judged, as `undogmatic distill` does afterwards.

    Args:
        out: Its file, in the run's folder.
        judge: Whose scores, where the run has several judges.
        criterion: On which criterion.
        most: Of more texts so many are drawn, whole groups of them.
    """

    def __init__(
        self,
        out: str = "student.safetensors",
        judge: str | None = None,
        criterion: str = OVERALL,
        most: Annotated[int, Field(ge=LEAST)] = MOST,
    ) -> None:
        if Path(out).name != out or not out.endswith(".safetensors"):
            raise ConfigError(
                f"`fit.out` is {out!r}; it is the name of a .safetensors file in the run's folder."
            )
        self.out, self.judge, self.criterion, self.most = out, judge, criterion, most

    def __call__(
        self, items: Sequence[Item], frame: Any, chosen: Settings, folder: Path
    ) -> Told:
        """The report on a student of what the rows of a run say of its items. Raises
        DataError."""
        rubric: Rubric = build(chosen.rubric, "rubric")
        kept, found = list[np.ndarray](), dict[str, None]()
        for part in in_parts(frame, ["repeat", "criterion", "error", "judge"]):
            own = (
                (part["repeat"] == 0)
                & (part["criterion"] == self.criterion)
                & part["error"].isna()
            )
            own &= (part["judge"] == self.judge) | (self.judge is None)
            kept.append(own.to_numpy())
            found |= dict.fromkeys(part["judge"][own])
        if len(judges := [*found]) > 1:
            raise ConfigError(
                f"the run has several judges ({', '.join(judges)}). Name one: fit.judge=NAME."
            )
        mask = np.concatenate(kept)
        scores = some(frame[mask], self.most).set_index("item_id")["score"]
        teacher = (
            f"{judges[0] if judges else self.judge}"
            f" ({chosen.model.get('_target_', '').rpartition('.')[2]})"
        )
        lesson = lesson_of(items, scores, rubric, teacher, self.criterion, self.most)
        lesson = replace(
            lesson, left_out=lesson.left_out + int(mask.sum()) - len(scores)
        )
        fit, result = taught(together([lesson], None), chosen)
        fit.student.save(folder / self.out)
        return result


def lesson_of(
    items: Sequence[Item],
    scores: pd.Series,
    rubric: Rubric,
    teacher: str,
    criterion: str,
    most: int,
    named: str = "the run",
) -> Lesson:
    """What a teacher said of the items, of at most so many texts, by its scores by item id. Raises
    DataError where there is none."""
    scores = scores.dropna()
    if scores.empty:
        raise DataError(
            f"{named}, a run without a single score, so that there is nothing to learn from it."
        )
    total, scores = len(scores), scores[_few(items, scores.index, most)]
    kept = [item for item in items if item.id in scores.index]
    labels = [
        np.nan if (label := item.labelled(criterion)) is None else label
        for item in kept
    ]
    texts = [shown_text(item, rubric) for item in kept]
    told = scores.reindex([item.id for item in kept]).to_numpy(dtype=np.float64)
    return Lesson(
        kept,
        texts,
        told,
        np.array(labels, dtype=np.float64),
        rubric,
        teacher,
        total - len(scores),
    )


def _few(items: Sequence[Item], ids: Sequence[str], most: int) -> np.ndarray:
    """Which of these ids of items are chosen, at most so many: whole groups of them. Shape
    (n_ids,)."""
    if len(ids) <= most:
        return np.ones(len(ids), dtype=bool)
    groups = groups_of(items)
    return drawn((groups[name] for name in ids), most)


def of_table(
    source: str,
    rubric: Rubric,
    judge: str | None,
    criterion: str,
    reading: TableOptions,
    most: int = MOST,
) -> tuple[Lesson, Sequence[Finding]]:
    """What a judge said in a table of verdicts of at most so many texts, and how that was read. Its
    numbers are on the rubric's scale, or mapped to it from the one that `--scale` declares or they
    show. Raises ConfigError or DataError."""
    table = read_table(source, reading)
    if unclear := next(
        (note for note in table.read if note.key == "table.read_text"), None
    ):
        ways = " or ".join(
            CHECK.typed(TEXT, name.strip("`"))
            for name in (unclear.values["text"], *unclear.values["others"])
        )
        raise ConfigError(
            f"{source}: it is not clear which column holds the texts that were judged. Type {ways}."
        )
    judges = [name for name in table.judges if judge in (None, name)]
    if len(judges) != 1:
        raise ConfigError(
            f"{source} holds the judges {', '.join(table.judges)}. Name one of them: --judge NAME."
        )
    if table.kind != "numeric" or not table.has_texts:
        lacks = (
            "its verdicts are no numbers"
            if table.kind != "numeric"
            else "no column of judged texts (--text COLUMN)"
        )
        raise DataError(f"{source}: {lacks}, and a student learns numbers from texts.")
    criterion = criterion if criterion in table.criteria else table.criteria[0]
    own = table.of(judges[0], criterion)
    verdicts, people = own.first().dropna(subset=["verdict"]), own.consensus()
    low, high = scale_for(
        table, criterion, rubric, source, "--scale {}-{}", reading.scale is not None
    )
    if (low, high) != (rubric.minimum, rubric.maximum):
        span = rubric.maximum - rubric.minimum
        verdicts = verdicts.assign(
            verdict=rubric.minimum + span * (verdicts["verdict"] - low) / (high - low)
        )
        people = rubric.minimum + span * (people - low) / (high - low)
    for what, values in (("verdict", verdicts["verdict"]), ("label", people)):
        if len(wrong := values[(values < rubric.minimum) | (values > rubric.maximum)]):
            scale = f"rubric={rubric.name} runs from {rubric.minimum:g} to {rubric.maximum:g}"
            raise DataError(
                f"{source}: the {what} {wrong.iloc[0]:g} is of another rubric; {scale}. Name it:"
                " rubric=..."
            )
    about = table.items.reindex(verdicts["item"])
    rows = zip(
        verdicts["item"],
        about["text"].fillna(""),
        about["group"],
        verdicts["verdict"],
        strict=True,
    )
    known = [
        (
            Item(id=i, inputs={"text": t}, metadata={"group": g}),
            s,
            people.get(i, np.nan),
        )
        for i, t, g, s in rows
        if t.strip()
    ]
    if not known:
        raise DataError(
            f"{source}: no text in it has a verdict, so that there is nothing to learn from it."
        )
    every = [item for item, _, _ in known]
    chosen = _few(every, [item.id for item in every], most)
    items, scores, labels = zip(*itertools.compress(known, chosen), strict=True)
    texts = [item.text for item in items]
    told = np.array(scores, dtype=float), np.array(labels, dtype=float)
    lesson = Lesson(items, texts, *told, rubric, judges[0], len(known) - len(items))
    return lesson, (*table.read, *table.problems)


def together(lessons: Sequence[Lesson], rubric: Rubric | None) -> Lesson:
    """Several lessons as one, each text once: with the mean of what was said of it. Raises
    ConfigError where they are of different rubrics, or not of this one."""
    wanted = rubric or lessons[0].rubric
    for each in lessons:
        if rubric_digest(each.rubric) != rubric_digest(wanted):
            what = (
                f"{each.teacher} judged by the rubric {each.rubric.name!r}, and a student is wanted"
                f" for {wanted.name!r}"
            )
            raise ConfigError(
                f"{what} (or for another scale of it). Distil runs of one rubric."
            )
    numbers = {"score": np.concatenate([each.scores for each in lessons])}
    numbers["label"] = np.concatenate([each.labels for each in lessons])
    texts = [text for each in lessons for text in each.texts]
    mean = (
        pd.DataFrame(numbers).groupby(np.array(texts, dtype=object), sort=False).mean()
    )
    first = {
        text: item
        for each in lessons
        for item, text in zip(each.items, each.texts, strict=True)
    }
    ids = [first[text].id for text in mean.index]
    # of two runs; an author may be named in the id
    twice = {each for each, n in Counter(ids).items() if n > 1}
    items = [
        first[text].model_copy(update={"id": f"{own}-{n}"})
        if own in twice
        else first[text]
        for n, (own, text) in enumerate(zip(ids, mean.index, strict=True))
    ]
    teacher = " + ".join(dict.fromkeys(each.teacher for each in lessons))
    scores, labels, left_out = (
        mean["score"].to_numpy(),
        mean["label"].to_numpy(),
        sum(each.left_out for each in lessons),
    )
    return Lesson(items, list(mean.index), scores, labels, wanted, teacher, left_out)


def report(fit: Fit, rng: np.random.Generator) -> Told:
    """How far a student agrees with its teacher and with people, beside the surface judge and
    TF-IDF; and where it departs from its teacher."""
    tell, lesson, about = Told("student"), fit.lesson, fit.student.about
    codes, span = (
        pd.factorize(np.array(fit.groups, dtype=object))[0],
        lesson.rubric.maximum - lesson.rubric.minimum,
    )
    tell.say(
        "fitted",
        teacher=lesson.teacher,
        n=about.n,
        groups=int(codes.max()) + 1,
        embeddings=about.embeddings_name,
        method=about.method.replace(" ", "_"),
        penalty=about.penalty,
        held_out=about.held_out,
    )
    if lesson.left_out:
        tell.say("left_out", n=len(lesson.texts), left=lesson.left_out)
    compared = _compared(codes, rng)
    kernels = surface.kernels([lesson.texts[n] for n in compared])
    rows = []
    first: dict[str, Finding] = {}
    imitates = np.full(len(codes), np.nan)
    for truth, values in (("teacher", lesson.scores), ("people", lesson.labels)):
        known = np.isfinite(values)
        if known.sum() < FEWEST_LABELS or np.ptp(values[known]) == 0:
            first[truth] = Finding(
                "student.no_people", {"n": int(known.sum()), "needed": FEWEST_LABELS}
            )
            continue
        judges = {"student": fit.scores} | (
            {"teacher": lesson.scores} if truth == "people" else {}
        )
        inside = known[compared]
        for name, own in (("surface", kernels), ("tfidf", kernels[TFIDF : TFIDF + 1])):
            said = np.full(len(values), np.nan)
            cut = [kernel[np.ix_(inside, inside)] for kernel in own]
            said[compared[inside]] = surface.predict(
                cut, values[compared[inside]], codes[compared[inside]], rng
            )
            judges[name] = said
        if truth == "teacher":
            imitates = judges["surface"]
        else:  # a counter that imitates the teacher knows as much as the student does
            judges["imitates"] = imitates
        for name, said in judges.items():
            both = known & np.isfinite(said)
            if both.sum() < FEWEST_LABELS or np.ptp(said[both]) == 0:
                continue
            order = spearman_interval(said[both], values[both], rng, groups=codes[both])
            # a regression may go beyond
            within = np.clip(said[both], lesson.rubric.minimum, lesson.rubric.maximum)
            error = mean_absolute_error(
                values[both], within, groups=codes[both], span=span
            )
            rows.append(
                {"judge": name, "against": truth, "n": int(both.sum())}
                | _ends(order, "spearman")
            )
            rows[-1] |= _ends(error, "mae")
            if name == "student":
                tell.number(order, f"{truth}_spearman")
                tell.number(error, f"{truth}_error", unit="amount")
        first |= _against(truth, [row for row in rows if row["against"] == truth])
    values = lesson.labels if about.intervals_of == "people" else lesson.scores
    known = np.isfinite(values)
    covered = proportion(
        ((fit.limits[0] <= values) & (values <= fit.limits[1]))[known],
        groups=codes[known],
    )
    tell.number(covered, "coverage", unit="share")
    width = float(np.diff(fit.limits, axis=0).mean())
    tell.say(
        f"covered_{about.intervals_of}",
        nominal=about.coverage,
        coverage=covered.value,
        interval=(covered.low, covered.high),
        n=int(known.sum()),
        width=width,
        span=span,
        useless=int(width > WIDE * span),
    )
    tell.findings[:0] = [first[truth] for truth in BETTER if truth in first]
    tell.tables["agreement"] = pd.DataFrame(rows)
    if (departs := _departures(fit, codes, span)) is not None:
        tell.tables["departs"] = departs
    if len(compared) < len(codes):
        tell.say("drawn", n=len(compared), total=len(codes))
    told = tell.result(
        headline="student.teacher_spearman", texts=texts_beside(StudentFit)
    )
    return replace(told, relative=True)


def _against(truth: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Finding]:
    """What is said of the student against people's labels, or its teacher's scores, beside a word
    counter."""
    known = {str(row["judge"]): row for row in rows}
    if (own := known.get("student")) is None:
        return {}
    # none where it says the same of every text
    counter = known.get("surface", {}).get("spearman", np.nan)
    values = {
        "n": own["n"],
        "own": own["spearman"],
        "interval": own["spearman_interval"],
        "counter": counter,
    }
    values |= {"error": own["mae"], "size": own["mae_interval"]}
    if truth == "people" and "teacher" in known:
        values |= {
            "teacher": known["teacher"]["spearman"],
            "teacher_error": known["teacher"]["mae"],
        }
    elif truth == "people":
        values |= {"teacher": np.nan, "teacher_error": np.nan}
    if truth == "people":
        values["imitates"] = known.get("imitates", {}).get("spearman", np.nan)
    beaten = (
        own["spearman_interval"][0]
        > np.nan_to_num([counter, values.get("imitates", np.nan)], nan=-1.0).max()
    )
    return {truth: Finding((BETTER if beaten else NO_BETTER)[truth], values)}


def _compared(codes: Index, rng: np.random.Generator) -> Index:
    """The places of at most MOST_COMPARED texts, whole groups of them."""
    order = rng.permutation(int(codes.max()) + 1)
    sizes = np.bincount(codes)[order].cumsum()
    kept = np.isin(codes, order[sizes <= max(MOST_COMPARED, sizes[0])])
    return np.flatnonzero(kept)


def _departures(fit: Fit, codes: Index, span: float) -> pd.DataFrame | None:
    """Student less teacher, by condition and by thirds of the teacher's score and of the text's
    length."""
    lesson, rows = fit.lesson, []
    lengths = np.array([len(text) for text in lesson.texts])
    kinds = {
        "condition": np.array(
            [item.condition or "" for item in lesson.items], dtype=object
        )
    }
    for name, numbers in (("score", lesson.scores), ("characters", lengths)):
        ends = np.unique(np.quantile(numbers, [0, 1 / 3, 2 / 3, 1]))
        places = np.clip(
            np.searchsorted(ends, numbers, side="right") - 1, 0, max(0, len(ends) - 2)
        )
        kinds[name] = np.array(
            [f"{ends[k]:.3g} – {ends[min(k + 1, len(ends) - 1)]:.3g}" for k in places],
            dtype=object,
        )
    for kind, values in kinds.items():
        by = {"score": lesson.scores, "characters": lengths}.get(kind)
        there = (
            sorted(set(values) - {""})
            if by is None
            else dict.fromkeys(values[np.argsort(by, kind="stable")])
        )
        # "gold:half_empty": half empty
        plain = {value: value.rpartition(":")[2].replace("_", " ") for value in there}
        if len({*plain.values()}) < len(plain) or by is not None:
            plain = {value: value for value in there}
        for value in there:
            own = values == value
            if own.sum() < FEWEST:
                continue
            off = (fit.scores - lesson.scores)[own]
            mean = means.interval(off, groups=codes[own], bounds=(-span, span))
            rows.append(
                {"by": kind, "value": plain[value], "n": int(own.sum())}
                | _ends(mean, "difference")
            )
            rows[-1] |= {"mae": float(np.abs(off).mean())}
    return pd.DataFrame(rows) if rows else None


def _ends(estimate: Estimate, name: str) -> dict[str, Any]:
    return {name: estimate.value, f"{name}_interval": (estimate.low, estimate.high)}
