"""What a check found, as it is shown: the same sentences on the terminal, in the report, as JSON
and in a notebook."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import Capture
from tests.report import checks
from undogmatic.examinations.check_figures import figures_of
from undogmatic.records.results import Finding
from undogmatic.records.words import Words
from undogmatic.report import check
from undogmatic.stats.estimate import Estimate, Unit

ANSWER, RIVAL = (
    "You may trust judge on data like these.",
    "A word counter reaches 70% of these labels.",
)


def test_the_terminal_says_the_answer_first_and_then_the_gravest(
    capsys: Capture,
) -> None:
    check.show(
        checks.result(),
        checks.words(),
        {"report": [Path.cwd() / "out" / "report.html"]},
    )
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert (
        lines[1].startswith("verdicts.csv: 60 items. Were columns taken wrongly?")
        and "--explain" in lines[1]
    )
    assert lines[0] == (
        "“judge” judged 60 items; it is held against the labels that “anna”, “ben” gave to 60 of"
        " them."
    )
    assert lines[2:] == [
        ANSWER,
        RIVAL,
        "- Limit 1. It is worse on <b>long</b>.",
        "- It says pass in 25%.",
        "1 more finding is in the report.",
        "Not examined:",
        "- the ceiling: only 1 person.",
        "label 40 more items.",
        "Report  out/report.html",
    ]


def test_what_the_terminal_leaves_out_is_counted(capsys: Capture) -> None:
    one = checks.judge_check()
    for n in range(20):
        one.say("trial.qualifies", value=n / 100)
    problems = [Finding("trial.problem", {"place": f"v.csv:{n}"}) for n in range(5)]
    check.show(
        checks.result(one, verdicts=checks.table(problems=problems)), checks.words()
    )
    said = capsys.readouterr().out
    assert (
        said.count("\n- ") == check.MOST_FINDINGS + 1 and len(said.splitlines()) <= 40
    )
    # one of them is a detail
    assert f"{20 + 3 - check.MOST_FINDINGS} more findings are in the report" in said
    assert (
        "v.csv:2: no verdict" in said
        and "v.csv:3" not in said
        and "2 further problems are listed" in said
    )


def test_several_judges_are_a_table_the_believed_first(capsys: Capture) -> None:
    standings = ("undecided", "refuted", "supported", *["undecided"] * 20)
    many = [
        checks.judge_check(f"j{n}", standing) for n, standing in enumerate(standings)
    ]  # type: ignore[arg-type]
    low = checks.judge_check("low", "supported", checks.KAPPA.replace(low=0.5))
    check.show(checks.result(*many, low), checks.words())
    said = capsys.readouterr().out
    assert (
        "Of 24 judges, 2 may be trusted on data like these, 1 should not be trusted, and for 21"
        " these data cannot tell. A yes needs an interval that lies above 0.40 as a whole (because"
        " 24 were checked at once, at a level" in said
    )
    rows = [line.split()[0] for line in said.splitlines() if "0.78" in line]
    assert rows[:3] == ["j2", "low", "j0"] and len(rows) == check.MOST_JUDGES
    assert (
        "Agreement (kappa)" in said
        and re.search("j2 +yes +0.78", said)
        and re.search("j0 +not known", said)
    )
    assert (
        "9 further lines of this table are in the report" in said
        and "What would change it? label 40 more items." in said
    )


@pytest.mark.parametrize("language", ["en", "pt"])
def test_the_report_holds_every_finding_table_and_number(
    language: str, tmp_path: Path
) -> None:
    words = checks.words(language)
    check.write(checks.result(), words, tmp_path, "undogmatic check 'a b.csv'")
    page, text = (
        Path(tmp_path / f"report.{kind}").read_text("utf-8") for kind in ("html", "md")
    )
    assert "&lt;b&gt;long" in page and "data:image/png;base64" in page
    said = check.sentences(checks.judge_check(), words)
    for sentence in (*said.details, *said.not_examined, *said.settle):
        assert sentence in text
    places = [
        page.index(mark)
        for mark in ("<h1", 'class="verdict', "<figure", 'class="toc', "<h2")
    ]
    assert places == sorted(places)
    assert (
        "agreement.kappa" in text
        and "| short |" in text
        and "undogmatic check 'a b.csv'" in text
    )
    assert (tmp_path / "figures" / "checked_confusion.png").is_file()


def test_the_report_of_several_judges_tells_of_each(tmp_path: Path) -> None:
    check.write(
        checks.result(checks.judge_check(), checks.judge_check("judge1", "refuted")),
        checks.words(),
        tmp_path,
    )
    text = (tmp_path / "report.md").read_text("utf-8")
    assert (
        text.index("## judge\n")
        < text.index("## judge1")
        < text.index("Do not trust judge1.", 400)
    )
    assert len(list((tmp_path / "figures").iterdir())) == 2


@pytest.mark.parametrize(
    ("name", "measure", "ending"),
    [
        ("surface.agreement", "kappa", " (kappa)"),
        ("surface.increment", "spearman", " (rank correlation (Spearman))"),
        ("people.judge", "concordance", " (concordance correlation)"),
        ("people.agreement", "weighted_kappa", " (quadratic weighted kappa)"),
        ("people.difference", "kappa", " (Cohen's kappa)"),
        ("agreement.kappa", "", "Agreement beyond chance (kappa)"),
    ],
)
def test_agreement_is_named_by_what_it_is_measured_by(
    name: str, measure: str, ending: str
) -> None:
    figure = checks.KAPPA.replace(measure=measure)
    assert check.figure_name(name, figure, check.words_of("en")).endswith(ending)


def test_numbers_stand_as_sentences_say_them() -> None:
    words, found = checks.words(), Estimate(0.6804, 0.6, 0.7504)
    units: dict[Unit, str] = {
        "share": "68%",
        "": "0.68",
        "amount": "0.68",
        "score": "0.680",
    }
    for unit, written in units.items():
        assert check.numbers_of(found.replace(unit=unit), words)[0] == written


def test_a_report_without_labels_draws_nothing(tmp_path: Path) -> None:
    made = checks.table()
    check.write(
        checks.result(verdicts=replace(made, labels=made.labels.iloc[:0])),
        checks.words(),
        tmp_path,
    )
    assert not (tmp_path / "figures").exists()


def test_json_holds_what_is_said_and_no_number_that_json_lacks() -> None:
    told = json.loads(
        json.dumps(check.as_json(checks.result(), checks.words()), allow_nan=False)
    )
    (judge,) = told["judges"]
    assert (told["answer"], judge["rival"], judge["standing"]) == (
        ANSWER,
        RIVAL,
        "supported",
    )
    assert [each["weight"] for each in judge["findings"]] == [
        "limits",
        "qualifies",
        "detail",
    ]
    assert judge["findings"][0]["settle"] == "label 40 more items."
    assert judge["figures"]["bias.mean"]["interval"] == [None, 0.2]
    assert judge["figures"]["agreement.kappa"]["groups"] == 58


def test_a_notebook_shows_it_without_markup_of_the_data() -> None:
    shown = check.shown_in_notebook(checks.result(), checks.words())
    assert f"<b>{ANSWER}</b>" in shown and "<b>long" not in shown and RIVAL in shown


def test_the_words_are_those_of_all_that_tell() -> None:
    """What its parts tell would else be shown by its keys."""
    words = check.words_of("pt")
    for key in (
        "check.verdict_believed",
        "table.read_verdict",
        "gate.verdict_pass",
        "checked.several",
        "card.title",
    ):
        assert words.find(key) is not None


def test_the_figures_count_what_each_said() -> None:
    own = checks.table().of("judge", "quality")
    (drawn,) = figures_of(own)
    # two labels each are half an item each
    assert drawn.data["matrix"].sum() == pytest.approx(60)
    agreed = drawn.data["matrix"].trace() / 60
    pairs = own.pairs()
    assert agreed == pytest.approx((pairs["verdict"] == pairs["label"]).mean())


def test_numbers_are_drawn_against_each_other_with_their_limits() -> None:
    scatter, difference = figures_of(checks.table("numeric").of("judge", "quality"))
    assert len(scatter.data["x"]) == 120 and scatter.data["identity"]
    told = difference.data
    assert told["lower"] < told["bias"] < told["upper"]
    gaps = scatter.data["y"] - scatter.data["x"]
    assert told["bias"] == pytest.approx(gaps.mean()) and list(
        told["difference"]
    ) == list(gaps)


def test_words_of_both_languages_name_the_standings() -> None:
    for language in ("en", "pt"):
        words = Words(language, [check.OWN_TEXTS], strict=True)
        assert (
            len(
                {
                    words.text(f"checked.standing_{each}")
                    for each in ("supported", "refuted", "undecided")
                }
            )
            == 3
        )
