"""`undogmatic distill` and `fit=student`, on runs of the models that need no model file; the
embeddings are fakes."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.conftest import Capture
from tests.models.test_distilled import RUBRIC, fake_e5, lesson  # noqa: F401 (a fixture)
from undogmatic.cli import main
from undogmatic.cli.distill import distil, of_run, show
from undogmatic.config.door import composed
from undogmatic.datasets.belonging import groups_of
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.run_items import items_of
from undogmatic.experiment import run_experiment
from undogmatic.fit.distill import _against, report, together
from undogmatic.fit.student import fit_student, spread
from undogmatic.models.distilled import Student
from undogmatic.models.embeddings import E5Embeddings
from undogmatic.records.marks import text_marks
from undogmatic.records.words import Words
from undogmatic.runs.folder import RunFolder

COMMON = (
    "model=patterns",
    "tracking=none",
    "dataset=curated_development",
    "run.limit=60",
    "analysis=labelled",
)


def made(folder: Path, *words: str) -> Path:
    config, choices = composed([*COMMON, *words], ())
    run_experiment(config, choices, folder)
    (folder / ".hydra").mkdir()
    (folder / ".hydra" / "config.yaml").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("runs") / "patterns")


def test_a_run_is_distilled_into_a_student_that_judges_the_next_run(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "student.safetensors"
    main(["distill", str(run), "embeddings=e5", "tracking=none", "--out", str(out)])
    said = capsys.readouterr().out
    assert (
        "A student was fitted to 60 texts" in said
        and "patterns-2 (judge score)" in said
    )
    assert (
        "a word counter" in said
        and "not shown to follow" in said
        and "TF-IDF" in said
        and f"model=distilled model.path={out}" in said
    )
    about = Student.load(out, cache=False).about
    assert about.intervals_of == "people" and about.n == 60 and about.rubric == "shame"
    judged = RunFolder.open(
        str(made(tmp_path / "again", "model=distilled", f"model.path={out}")), "RUN"
    )
    verdicts = [judgment.outcome for judgment in judged.judgments]
    assert all(
        verdict.interval[0] <= verdict.score <= verdict.interval[1]
        for verdict in verdicts
    )
    assert np.ptp([verdict.score for verdict in verdicts]) > 0
    with pytest.raises(
        ConfigError, match=r"was fitted for the rubric 'shame'.* uses 'verbosity'"
    ):
        made(
            tmp_path / "other",
            "model=distilled",
            f"model.path={out}",
            "rubric=trait/verbosity",
        )


def test_a_run_with_a_fit_holds_its_student_and_reports_it(tmp_path: Path) -> None:
    folder = made(
        tmp_path / "run", "fit=student", "embeddings=e5", "report.language=pt"
    )
    assert Student.load(folder / "student.safetensors", cache=False).about.n == 60
    figures = json.loads((folder / "metrics.json").read_text())
    assert {
        "student.teacher_spearman",
        "student.teacher_spearman_low",
        "student.coverage",
    } <= figures.keys()
    page = (folder / "report.html").read_text()
    assert "Um aluno foi ajustado a 60 textos" in page and "Onde o aluno difere" in page


def test_equal_scores_are_spread_without_changing_their_order_or_middle() -> None:
    scores = np.array([84.0, 0, 90, 84, 0, 84, 100, 100])
    apart = spread(scores)
    assert (
        len(np.unique(apart)) == len(apart) and apart.min() >= 0 and apart.max() <= 100
    )
    for one, other in zip(*np.nonzero(scores[:, None] < scores), strict=True):
        assert apart[one] < apart[other]
    assert apart[scores == 84].mean() == 84 and apart[2] == 90
    # half the way to 90, and no farther to the other side
    assert np.ptp(apart[scores == 84]) < 6
    assert spread(np.full(3, 5.0)).tolist() == [5, 5, 5]


def test_a_student_of_a_teacher_with_five_grades_tells_apart_what_its_regression_does() -> (
    None
):
    grades = lesson(120)
    student = fit_student(
        replace(grades, scores=np.round(grades.scores / 25) * 25), E5Embeddings(), {}
    ).student
    assert student.about.folding is not None
    read = list(map(student.about.folding.read, grades.texts))
    raw = student.regression.raw(student.embeddings.vectors(read).astype(np.float64))
    inside = (raw > student.calibration.raw_knots[0]) & (
        raw < student.calibration.raw_knots[-1]
    )
    scores = student.placed(grades.texts).scores[inside]
    assert (np.argsort(scores) == np.argsort(raw[inside])).all() and len(
        np.unique(scores)
    ) == len(np.unique(raw[inside]))


def test_what_is_told_has_words_in_both_languages_and_figures_are_of_unseen_texts(
    capsys: Capture,
) -> None:
    fit = fit_student(lesson(labelled=80), E5Embeddings(), {})
    result = report(fit, np.random.default_rng(0))
    for language in ("en", "pt"):
        words = Words(language, result.texts, "amount", strict=True)
        assert all(words.say(finding) for finding in result.findings)
        assert all(
            words.metric(name)
            for name in result.metrics
            if not name.endswith(("_low", "_high"))
        )
    assert result.metrics["student.teacher_spearman"] == pytest.approx(
        fit.student.about.figures["teacher.spearman"]
    )
    assert set(result.tables["agreement"]["judge"]) == {
        "student",
        "teacher",
        "surface",
        "imitates",
        "tfidf",
    }
    first, second = (finding.key for finding in result.findings[:2])
    assert first in ("student.people_better", "student.people_no_better")
    assert second in ("student.teacher_better", "student.teacher_no_better")
    show(result, RUBRIC, "en", Path("mine.safetensors"))
    told = capsys.readouterr().out.splitlines()
    assert (
        "counting words" in told[0]
        and "model=distilled model.path=mine.safetensors" in told[-1]
    )
    blind = fit._replace(scores=np.random.default_rng(1).permutation(fit.scores))
    assert (
        abs(report(blind, np.random.default_rng(0)).metrics["student.teacher_spearman"])
        < 0.4
    )


@pytest.mark.parametrize(
    ("labels", "teacher", "key"),
    [
        (0.47, 0.6, "better"),
        (0.47, 0.72, "no_better"),
        (0.72, 0.47, "no_better"),
        (np.nan, np.nan, "better"),
    ],
)
def test_a_student_is_compared_with_the_better_of_two_word_counters(
    labels: float, teacher: float, key: str
) -> None:
    rows = [
        {
            "judge": "student",
            "n": 150,
            "spearman": 0.74,
            "spearman_interval": (0.65, 0.82),
            "mae": 20.0,
            "mae_interval": (18.0, 22.0),
        },
        {"judge": "teacher", "spearman": 0.8, "mae": 19.0},
        {"judge": "surface", "spearman": labels},
        {"judge": "imitates", "spearman": teacher},
    ]
    assert _against("people", rows)["people"].key == f"student.people_{key}"


def test_a_table_of_verdicts_is_a_teacher_and_its_text_counts_once(
    tmp_path: Path,
) -> None:
    taught = lesson()
    table = pd.DataFrame(
        {
            "id": range(90),
            "text": taught.texts,
            "judge_score": taught.scores,
            "human": taught.scores,
        }
    )
    table.to_csv(tmp_path / "verdicts.csv", index=False)
    distil(
        [str(tmp_path / "verdicts.csv")],
        tmp_path / "s.safetensors",
        ["embeddings=e5", "tracking=none"],
        None,
        "overall",
    )
    assert (
        Student.load(tmp_path / "s.safetensors", cache=False).about.figures[
            "teacher.spearman"
        ]
        > 0.9
    )
    table.assign(judge_score=table["judge_score"] * 3).drop(columns="human").to_csv(
        tmp_path / "wide.csv", index=False
    )
    with pytest.raises(
        DataError,
        match=r"wide.csv: the verdict \d+ is of another rubric; rubric=shame runs from 0",
    ):
        distil(
            [str(tmp_path / "wide.csv")],
            tmp_path / "w.safetensors",
            ["tracking=none"],
            None,
            "overall",
        )
    twice = together([taught, lesson()], None)
    assert len(twice.texts) == 90 and twice.scores.tolist() == taught.scores.tolist()


def test_what_cannot_be_distilled_is_said_in_one_message(
    run: Path, tmp_path: Path
) -> None:
    out = tmp_path / "student.safetensors"
    few = made(tmp_path / "few", "run.limit=10")
    silent = made(tmp_path / "silent")
    scores = pd.read_csv(silent / "judgments.jsonl", sep="\x00", header=None)[0].map(
        json.loads
    )
    for record in scores:
        record["outcome"] = {"kind": "failure", "reason": "refusal", "message": "no"}
    (silent / "judgments.jsonl").write_text("\n".join(map(json.dumps, scores)) + "\n")
    for source, words, message in (
        (few, [], r"scored 10 different texts; a student needs at least 50"),
        (silent, [], r"a run without a single score"),
        (tmp_path / "nothing", [], r"RUN is .*nothing', which is not a folder"),
        (
            run,
            ["rubric=trait/verbosity"],
            r"judged by the rubric 'shame', and a student is wanted for 'verbosity'",
        ),
        (
            run,
            ["embeddings=hub", "embeddings.path=x"],
            r"sentence-transformers|cannot be loaded",
        ),
    ):
        with pytest.raises((ConfigError, DataError), match=message):
            distil([str(source)], out, ["tracking=none", *words], None, "overall")
    with pytest.raises(
        ConfigError, match=r"nobody judged tone; it holds score on overall"
    ):
        distil([str(run)], out, ["tracking=none"], None, "tone")
    with pytest.raises(ConfigError, match=r"a student is a .safetensors file"):
        distil([str(run)], tmp_path / "student.pkl", ["tracking=none"], None, "overall")
    assert not out.exists()


@pytest.mark.parametrize("held", [10_000, 50], ids=["in memory", "on disk"])
def test_of_more_texts_than_it_is_fitted_to_whole_groups_are_drawn_and_the_report_says_so(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    monkeypatch.setattr("undogmatic.safety.spool.HELD", held)
    folder = made(tmp_path / "run", "fit=student", "embeddings=e5", "fit.most=52")
    fitted = Student.load(folder / "student.safetensors", cache=False).about
    page = (folder / "report.md").read_text()
    assert (
        50 <= fitted.n <= 52
        and f"The teacher scored {60 - fitted.n} texts more" in page
    )
    lesson = of_run(RunFolder.open(str(run), "RUN"), None, "overall", 52)
    groups = groups_of(items_of(RunFolder.open(str(run), "RUN")))
    inside = {item.id for item in lesson.items}
    assert not {groups[name] for name in inside} & {
        groups[name] for name in groups.keys() - inside
    }
    assert (
        set(text_marks(lesson.texts)) == set(fitted.texts)
        and lesson.left_out == 60 - fitted.n
    )
