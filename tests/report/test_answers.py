"""The answer at the head of a report: its word and shape, what follows it, and commands that are
accepted."""

import dataclasses
import shlex

import pytest

from tests.report.conftest import Build, trial_result
from undogmatic.config.door import compose_config
from undogmatic.examinations import of_run
from undogmatic.records.records import LabelScale
from undogmatic.records.results import GRAVITY, Answer, Finding, Subject, Told
from undogmatic.report.answers import answers, commands, following
from undogmatic.report.contents import write
from undogmatic.report.document import MARKS, Answered
from undogmatic.report.words import words_for


def ruled(answer: Answer, name: str = "trial") -> object:
    result = trial_result()
    assert result.verdict is not None
    return dataclasses.replace(
        result,
        name=name,
        verdict=Finding(result.verdict.key, result.verdict.values, answer),
    )


def test_every_answer_has_word_shape_sentence_and_a_next_step_in_both_languages(
    finished: Build,
) -> None:
    for language, words in (
        ("en", ("No", "Not yet", "Undecided", "Yes")),
        ("pt", ("Não", "Ainda não", "Em aberto", "Sim")),
    ):
        for answer, word in zip(GRAVITY, words, strict=True):
            run = finished(results=[ruled(answer)], language=language)
            (said,) = answers(run, words_for(run))
            assert isinstance(said, Answered) and (said.word, said.mark) == (
                word,
                MARKS[answer],
            )
            assert said.text and "undogmatic" in " ".join(said.below)
            write(run)
            page = (run.folder / "report.html").read_text(encoding="utf-8")
            assert f'class="answer {answer}"' in page and f"</span> {word}</p>" in page
            markdown = (run.folder / "report.md").read_text(encoding="utf-8")
            assert f"> **{MARKS[answer]} {word}.** " in markdown


def test_of_several_checks_the_gravest_counts_and_says_what_is_next(
    finished: Build,
) -> None:
    run = finished(
        results=[
            ruled("yes"),
            ruled("not_yet", "labelled"),
            ruled("undecided", "controls"),
        ]
    )
    together, *others = answers(run, words_for(run))
    assert (
        isinstance(together, Answered)
        and together.answer == "not_yet"
        and together.below
    )
    assert (
        "Of 3 checks, 1 says yes, 0 no, 1 not yet and 1 undecided. The answer comes from the gravest: labelled."
        in together.text
    )
    assert [each.below for each in others if isinstance(each, Answered)] == [(), (), ()]


def test_what_follows_from_several_checks_names_the_check_and_is_said_once(
    finished: Build,
) -> None:
    run = finished(
        results=[
            ruled("no"),
            ruled("no", "labelled"),
            ruled("not_yet", "controls"),
            ruled("undecided", "costs"),
        ]
    )
    together, *others = answers(run, words_for(run))
    assert isinstance(together, Answered) and together.answer == "no"
    told = [each.about for each in others if isinstance(each, Answered)]
    begins = [line for line in together.below if line.startswith(tuple(told))]
    first, second, third = told[:3]
    # the second No has no step of its own that the first has not
    assert [line.partition(". ")[0] for line in begins] == [first, third]
    assert second in together.text and "costs" not in " ".join(together.below)
    steps = [line.removeprefix(f"{first}. ") for line in together.below]
    assert len(set(steps)) == len(steps)


def test_labels_that_may_be_read_the_wrong_way_round_come_before_another_model(
    finished: Build,
) -> None:
    values = {"spearman": -0.9, "interval": (-1.0, -0.8), "level": 0.95, "n": 30}
    reversed_ = Finding("labelled.verdict_reversed", values, "no")
    kept = Finding("labelled.verdict_promise", values | {"verdict": reversed_}, "no")
    values_of_scale = {"high": "10", "back": "dataset.label_scale=[10,1]"}
    told = Finding("labels.reversed", values_of_scale, subject=Subject.TURNED)
    for verdict in (reversed_, kept):
        run = finished(
            results=[
                dataclasses.replace(trial_result(), name="labelled", verdict=verdict)
            ],
            assumed=[told],
        )
        first, second = following(run, verdict, words_for(run))
        assert (
            "if 10 is your good end: " in first
            and "'dataset.label_scale=[10,1]'" in first
            and "model=" in second
        )


def test_what_would_settle_a_verdict_is_said_and_comes_before_what_is_usual(
    finished: Build,
) -> None:
    settle = Finding(
        "check.settle_few",
        {
            "more": 8,
            "n": 12,
            "groups": 12,
            "who": [],
            "alone": [],
            "label": "undogmatic label runs/a",
        },
    )
    values = {"judge": "j", "n": 12, "groups": 12, "few": 20}
    verdict = Finding("check.verdict_few", values, "undecided", settle=settle)
    result = dataclasses.replace(
        trial_result(), name="labelled", verdict=verdict, texts=of_run.words("labelled")
    )
    for language, sentence in (
        (
            "en",
            "Label at least 8 more of the file's items for an answer: `undogmatic label runs/a`.",
        ),
        ("pt", "Rotule pelo menos mais 8 dos itens do arquivo para uma resposta"),
    ):
        run = finished(results=[result], language=language, texts=[*result.texts])
        first, second = following(run, verdict, words_for(run))
        assert sentence in first and "python -m undogmatic.run" in second
        # A verdict that leaves nothing open keeps what is usual for its answer.
        plain = dataclasses.replace(verdict, settle=None)
        assert sentence not in " ".join(following(run, plain, words_for(run)))
        write(run)
        assert sentence in (run.folder / "report.md").read_text(encoding="utf-8")
    # All of the texts come before more of them.
    limited = dataclasses.replace(
        run, config={**run.config, "run": {**run.config.get("run", {}), "limit": 12}}
    )
    assert sentence not in " ".join(following(limited, verdict, words_for(limited)))


def test_the_next_commands_are_accepted_as_they_stand(finished: Build) -> None:
    typed = [shlex.split(command) for command in commands(finished()).values()]
    assert len(typed) > 6
    for words in typed:
        if words[0] == "python":
            assert compose_config(words[3:])


def test_a_model_on_this_machine_is_not_asked_for_batches(finished: Build) -> None:
    run = finished()
    run = dataclasses.replace(
        run, choices=dict(run.choices) | {"model": "gpt", "engine": "batch"}
    )
    asked = commands(run)
    assert "model=local" in asked["other"] and "engine=batch" not in asked["other"]
    assert "engine=batch" in asked["again"]


def test_scores_and_amounts_are_on_the_scale_of_the_labels(finished: Build) -> None:
    words = words_for(finished(label_scale=LabelScale(ends=(1.0, 10.0))))
    shown = [
        words.number(value, spec)
        for value, spec in ((50.0, "s"), (10.0, "u"), (10.0, "ug"), (0.0, "sg"))
    ]
    assert (
        shown == ["5.50", "0.90", "0.9", "1"]
        and words.text("common.own_units") == words.units
    )
    assert words.text("figures.score_axis", score="Score") == "Score (grades)"


def test_on_a_scale_that_runs_the_other_way_higher_is_lower(finished: Build) -> None:
    """A size stays a size, a difference changes its sign, and an interval begins at its lower
    end."""
    words = words_for(finished(label_scale=LabelScale(ends=(10.0, 1.0))))
    shown = [
        words.number(value, spec)
        for value, spec in ((20.0, "s"), (10.0, "u"), (10.0, "du"), ((0.0, 50.0), "s"))
    ]
    assert shown == ["8.20", "0.90", "−0.90", "[5.50, 10.00]"]
    assert words.name("higher", "ab") != words_for(finished()).name("higher", "ab")
    assert (
        words.in_grades(10.0, "change") == pytest.approx(-0.9)
        and words.in_grades(10.0, "share") == 10.0
    )
    graded = words.of_result(Told("labelled", graded=True))
    assert graded.number(8.2, "s") == "8.20" and words.of_result(Told("ab")) is words
