"""The shipped cases say what they claim to: each flawed summary differs from the faithful one in
what was planted, and the faithful one agrees with reference and opinion in every date, vote and
number."""

import re
import runpy
from collections import Counter
from functools import cache
from typing import Any

import pytest

from tests.conftest import rows_in
from undogmatic.safety.paths import data_folder

FAITH = data_folder() / "faith"
CASES: list[dict[str, Any]] = rows_in(FAITH / "cases.jsonl")
ROWS: list[dict[str, Any]] = rows_in(FAITH / "summaries.jsonl")
PLANTED = (
    "reversed_outcome wrong_vote wrong_date omitted_dissent omitted_concurrence fabricated_citation"
    " wrong_holding invented_detail omitted_facts hedging"
).split()
FLAWED = [row for row in ROWS if row["variant"] in PLANTED]
REPLACED = ("reversed_outcome", "wrong_vote", "wrong_date", "wrong_holding", "hedging")

MONTHS = {
    name: n
    for names in (
        "January February March April May June July August September October November December",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    )
    for n, name in enumerate(names.split(), 1)
}
MONTH = "|".join(MONTHS)
DATE = re.compile(
    rf"(?P<m1>{MONTH}) (?P<d1>\d+), (?P<y1>\d{{4}})|(?P<d2>\d+)º? (?:de )?(?P<m2>{MONTH}) (?:de"
    r" )?(?P<y2>\d{4})|"
    r"(?P<d3>\d\d)/(?P<m3>\d\d)/(?P<y3>\d{4})"
)
COUNTS = {
    word: n
    for words in (
        "zero one two three four five six seven eight",
        "zero um dois três quatro cinco seis sete oito",
    )
    for n, word in enumerate(words.split())
}
COUNT = rf"(\d\d?|{'|'.join(COUNTS)})"
VOTE = re.compile(
    rf"\b{COUNT}(?:-| to | a | votos? a | votes to ){COUNT}\b", re.IGNORECASE
)


@cache
def text(case: str, name: str) -> str:
    return (FAITH / case / name).read_text("utf-8")


def by_variant(case: dict[str, Any], variant: str) -> dict[str, Any]:
    return next(
        row for row in ROWS if row["case"] == case["case"] and row["variant"] == variant
    )


def perfect(case: str) -> str:
    return next(
        row["text"]
        for row in ROWS
        if row["case"] == case and row["variant"] == "perfect"
    )


def dates(written: str) -> set[str]:
    found = set()
    for match in DATE.finditer(written):
        day, month, year = next(
            (match[f"d{n}"], match[f"m{n}"], match[f"y{n}"])
            for n in (1, 2, 3)
            if match[f"y{n}"] is not None
        )
        found.add(f"{year}-{MONTHS.get(month) or int(month):02}-{int(day):02}")
    return found


def numbers(written: str) -> set[str]:
    return set(re.findall(r"\d+(?:[.,/h:-]\d+)*", DATE.sub(" ", written)))


def votes(written: str) -> set[str]:
    return {
        "-".join(str(COUNTS.get(part.lower(), part)) for part in match.groups())
        for match in VOTE.finditer(DATE.sub(" ", written))
    }


def squeezed(written: str) -> str:
    return " ".join(written.split())


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("on March 5, 2021 by 5-2", ({"2021-03-05"}, {"5-2"})),
        ("15 March 2022, four to three", ({"2022-03-15"}, {"4-3"})),
        ("de 1º de maio de 2020, por 3 votos a 2", ({"2020-05-01"}, {"3-2"})),
        ("em 18/11/2021, dois votos a um", ({"2021-11-18"}, {"2-1"})),
        ("Lei nº 8.245/1991, § 31-207", (set(), set())),
    ],
)
def test_dates_and_votes_are_read_in_every_form_that_occurs(
    written: str, said: tuple[set[str], set[str]]
) -> None:
    assert (dates(written), votes(written)) == said


def test_filler_of_test_cases_is_not_that_of_development() -> None:
    added = {
        part: {
            each
            for case in CASES
            if case["split"] == part
            for each in by_variant(case, "verbose_filler")["added"]
        }
        for part in ("dev", "test")
    }
    assert added["dev"]
    assert added["test"]
    assert not added["dev"] & added["test"]


def test_both_splits_have_cases_of_both_languages_and_each_case_every_kind_of_summary_once() -> (
    None
):
    split = Counter((case["language"], case["split"]) for case in CASES)
    assert split == {
        ("en", "dev"): 4,
        ("pt", "dev"): 4,
        ("en", "test"): 1,
        ("pt", "test"): 2,
    }
    kinds = ["perfect", *PLANTED, "verbose_filler"]
    for case in CASES:
        own = [row for row in ROWS if row["case"] == case["case"]]
        assert sorted(row["variant"] for row in own) == sorted(kinds)
        assert all(
            row["planted"] == ([] if row["variant"] == "perfect" else [row["variant"]])
            for row in own
        )
        assert all(row["system"] == row["variant"] for row in own)


@pytest.mark.parametrize(
    "row", FLAWED, ids=lambda row: f"{row['case']}-{row['variant']}"
)
def test_a_flawed_summary_differs_in_what_was_planted_alone(
    row: dict[str, Any],
) -> None:
    good, flawed = perfect(row["case"]), row["text"]
    assert all(each in flawed and each not in good for each in row["added"])
    assert all(each in good and each not in flawed for each in row["removed"])
    shape = (len(row["added"]), bool(row["removed"]))
    expected = (
        (1, True)
        if row["variant"] in REPLACED
        else (0, True)
        if "omitted" in row["variant"]
        else (1, False)
    )
    assert shape == expected
    for each in row["removed"]:
        good = good.replace(each, " ")
    for each in row["added"]:
        flawed = flawed.replace(each, " ")
    assert squeezed(good) == squeezed(flawed)
    assert row["truth"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_what_was_planted_is_of_its_kind(case: dict[str, Any]) -> None:
    own = {row["variant"]: row for row in ROWS if row["case"] == case["case"]}
    opinion = text(case["case"], "opinion.md")

    def said(kind: str) -> tuple[str, str]:
        return own[kind]["removed"][0], own[kind]["added"][0]

    true, false = said("wrong_vote")
    assert votes(true) == {case["vote"]}
    assert len(votes(false)) == 1
    assert votes(false) != votes(true)
    assert dates(false) == dates(true)
    true, false = said("wrong_date")
    assert len(dates(false) - dates(opinion)) == 1
    assert DATE.sub("", false) == DATE.sub("", true), "only the date differs"
    true, false = said("reversed_outcome")
    assert dates(true) == dates(false) == {case["decided"]}
    true, false = said("hedging")
    assert dates(true) == dates(false)
    assert not numbers(own["fabricated_citation"]["added"][0]) <= numbers(opinion)
    assert own["invented_detail"]["added"][0] not in opinion
    dissent, concurrence = (
        own["omitted_dissent"]["removed"][0],
        own["omitted_concurrence"]["removed"][0],
    )
    assert re.search(r"dissent|vencid[oa]", dissent, re.IGNORECASE)
    assert re.search(r"concur|converg", concurrence, re.IGNORECASE)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_the_faithful_summary_agrees_with_reference_and_opinion_in_its_own_words(
    case: dict[str, Any],
) -> None:
    def ends(written: str) -> set[str]:
        return set(
            re.split(
                r"(?<=[.?])\s+",
                re.sub(r"\b(v|J|P|art|Inc|Co)\.", r"\1", written.strip()),
            )
        )

    opinion, reference = (
        text(case["case"], name) for name in ("opinion.md", "reference.txt")
    )
    good = perfect(case["case"])
    assert votes(good) == {case["vote"]}
    assert votes(reference) == {case["vote"]}
    assert case["decided"] in dates(good) & dates(reference) & dates(opinion)
    assert dates(good) <= dates(reference) <= dates(opinion)
    assert numbers(good) - {case["vote"]} <= numbers(reference)
    assert numbers(reference) - {case["vote"]} <= numbers(opinion)
    assert case["docket"] in opinion
    assert not ends(reference) & ends(good)
    assert 8 <= len(ends(reference)) <= 15


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_filler_says_nothing_of_the_case(case: dict[str, Any]) -> None:
    row = next(
        r
        for r in ROWS
        if r["case"] == case["case"] and r["variant"] == "verbose_filler"
    )
    plain = row["text"]
    for each in row["added"]:
        plain = plain.replace(each, " ")
        assert not numbers(each) | dates(each) | votes(each)
    assert squeezed(plain) == squeezed(perfect(case["case"]))
    assert len(row["text"].split()) > 1.5 * len(plain.split())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_an_opinion_and_its_pdf_are_as_long_and_have_the_parts_that_real_ones_have(
    case: dict[str, Any],
) -> None:
    opinion = text(case["case"], "opinion.md")
    assert 900 <= len(opinion.split()) <= 1800
    assert opinion.count("\n## ") >= 5
    assert opinion.count("[^1]") == 2
    assert opinion.startswith(f"# {case['title']}\n")
    assert case["court"] in opinion
    pdf = (
        FAITH / case["pdf"]
    ).read_bytes()  # not compressed, so that what is shown can be looked for
    assert 2 <= len(re.findall(rb"/Type /Page\b", pdf)) <= 4
    assert pdf.count(case["title"].upper().encode("cp1252")) >= 1
    assert len(re.findall(rb"[a-z]-\) Tj", pdf)) >= 3, "words broken at line ends"
    assert len(re.findall(rb"\(1\) Tj", pdf)) == 2, (
        "the mark of the note, in the text and at the foot"
    )
    assert len(pdf) < 30_000


def test_all_that_is_made_is_what_the_program_makes() -> None:
    for name, content in runpy.run_path(str(FAITH / "make.py"))["made"]().items():
        assert (FAITH / name).read_bytes() == content, (
            f"{name}: run `python data/faith/make.py`"
        )
