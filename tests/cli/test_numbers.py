"""A number that an option cannot take is named with what the option takes and what to do."""

import re

import pytest

from undogmatic import cli

CHECK = ("level", "least", "margin", "prevalence", "epsilon", "alpha", "delta", "seed")
WORD = [
    *(("check", "a.csv", f"--{name}", "x") for name in CHECK),
    ("check", "a.csv", "--expires", "soon"),
    ("check", "a.csv", "--expires", "0"),
    ("check", "a.csv", "--epsilon", "0,1"),
    ("check", "a.csv", "--seed", "1.5"),
    ("check", "a.csv", "--margin", ""),
    ("rejudge", "RUN", "--margin", "x"),
    ("label", "a.csv", "--random", "some"),
    ("label", "a.csv", "--random", "0"),
    ("label", "a.csv", "--seed", "-1"),
    ("label", "a.csv", "--port", "99999"),
    ("distill", "RUN", "--most", "all"),
    ("review", "export", "RUN", "--budget", "ten"),
    ("review", "export", "RUN", "--random", "-2"),
    ("review", "export", "RUN", "--seed", "x"),
    ("ui", "--port", "http"),
]


@pytest.mark.parametrize("words", WORD, ids=" ".join)
def test_a_value_that_is_no_such_number(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    option, value = words[-2:]
    with pytest.raises(SystemExit) as ended:
        cli.main(list(words))
    said = capsys.readouterr().err
    assert ended.value.code == 2 and said.startswith(
        (f"error: {option} is {value!r}", f"error: {option} is {value};")
    )
    assert re.search(
        r"must be a (whole |finite )?number (of at least|above|from) ", said
    )
    assert f"Type e.g. {option} " in said or f"undogmatic {words[0]} --help" in said
    assert "usage:" not in said and "argument" not in said


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("--epsilon", "1", "of at least 0 and below 1"),
        ("--margin", "0", "above 0"),
        ("--margin", "inf", "a finite number above 0"),
        ("--level", "nan", "above 0.5 and below 1"),
        ("--seed", "-1", "of at least 0"),
    ],
)
def test_a_number_beyond_what_is_allowed(
    option: str, value: str, allowed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["check", "a.csv", option, value])
    said = capsys.readouterr().err
    assert (
        ended.value.code == 2
        and said.startswith(f"error: {option} is ")
        and allowed in said
    )


def test_numbers_that_are_allowed_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """The command goes on to the file, which is not there."""
    given = [
        "--epsilon",
        "0",
        "--margin",
        "1e-3",
        "--seed",
        "0",
        "--expires",
        "3650",
        "--alpha",
        ".2",
        "--card",
        "c.json",
    ]
    with pytest.raises(SystemExit):
        cli.main(["check", "nowhere.csv", *given])
    assert "nowhere.csv" in capsys.readouterr().err
