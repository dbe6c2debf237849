"""`undogmatic plan` as it is typed."""

import pytest

from tests.conftest import Capture
from undogmatic.cli import main


def said(capsys: Capture, *words: str) -> str:
    main(["plan", *words])
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("language", ["en", "pt"])
@pytest.mark.parametrize(
    "words",
    [
        ["--kind", "pass_fail", "--prevalence", ".1", "--agreement", ".9"],
        ["--agreement", ".85"],
        ["--kind", "pairwise", "--agreement", ".85"],
        ["--kind", "numeric", "--agreement", ".8", "--least", ".6"],
    ],
)
def test_each_kind_has_a_number_and_a_next_command(
    words: list[str], language: str, capsys: Capture
) -> None:
    told = said(capsys, *words, "--language", language)
    assert "undogmatic label FILE" in told
    assert "{" not in told


def test_a_rare_label_is_drawn_by_verdict_and_an_even_one_at_random(
    capsys: Capture,
) -> None:
    assert "--by COLUMN" in said(capsys, "--prevalence", ".9", "--agreement", ".9")
    assert "--by COLUMN" not in said(capsys, "--agreement", ".9")


def test_a_judge_that_is_not_good_enough_is_told_so(capsys: Capture) -> None:
    told = said(capsys, "--agreement", ".6")
    assert "however many labels" in told
    assert "undogmatic label" not in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--agreement", "90"],
            "--agreement is '90'; it must be a number between 0 and 1",
        ),
        (["--agreement", "x"], "--agreement is 'x'"),
        (["--agreement", ".9", "--prevalence", "0"], "--prevalence is '0'"),
        (
            ["--agreement", ".9", "--kind", "numeric", "--prevalence", ".1"],
            "--kind numeric does not use",
        ),
        (["--agreement", ".9", "--least", "2"], "least"),
        (["--agreement", ".9", "--level", "0"], "level"),
    ],
)
def test_what_was_typed_wrongly_is_said(
    words: list[str], message: str, capsys: Capture
) -> None:
    with pytest.raises(SystemExit):
        main(["plan", *words])
    assert message in capsys.readouterr().err
