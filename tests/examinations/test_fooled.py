"""Files of judges without merit that a check once believed, as a user would bring them, and honest
ones beside."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from tests.examinations.builders import analysed, evidence_of, labelled_run
from undogmatic.datasets.faults import counts_rows
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.examinations import surface_rival
from undogmatic.examinations.check import check
from undogmatic.examinations.unread import numbers
from undogmatic.records.checked import LEAST_AGREEMENT, LEAST_ORDER, CheckOptions
from undogmatic.records.marks import text_marks, texts_of_marks, was_seen
from undogmatic.records.records import text_mark
from undogmatic.records.results import Told
from undogmatic.report.check import words_of

N = 100
RNG = np.random.default_rng(11)
WORDS = [
    f"{a}{b}"
    for a in ("ba", "co", "di", "fu", "ga", "he", "li")
    for b in ("ron", "sel", "tam", "vor", "mix", "nop")
]
TEXTS = [" ".join(RNG.choice(WORDS, 24)) for _ in range(N)]
OTHERS = [" ".join(RNG.choice(WORDS, 24)) for _ in range(N)]
GRADE = RNG.uniform(0, 100, N).round(1)
NEAR = np.clip(GRADE + RNG.normal(0, 9, N), 0, 100).round(1)
CLASS = RNG.integers(2, size=N)
AS_PEOPLE = np.where(RNG.random(N) < 0.06, 1 - CLASS, CLASS)
PASS = np.array(["fail", "pass"])
WRONG = int(np.flatnonzero(AS_PEOPLE != CLASS)[0])
SIDE = np.array(["A", "B"])
IDS = [f"i{k}" for k in RNG.permutation(N)]
SIGNS = list(
    "天地人大小中上下来去水火山石田土木金日月年时分秒东西南北春夏秋冬红黄蓝白黑高低长短新旧"
)
SCRIPT = ["".join(RNG.choice(SIGNS, 40)) for _ in range(N)]
RATERS = np.clip(np.round(GRADE[:, None] / 10 + RNG.normal(0, 1.2, (N, 3))), 0, 10)
COUNTED = np.arange(N) + RNG.normal(0, 8, N)


def graded(**columns: object) -> pd.DataFrame:
    return pd.DataFrame(
        {"id": IDS, "text": TEXTS, "judge": NEAR, "human": GRADE} | columns
    )


def passed(**columns: object) -> pd.DataFrame:
    return pd.DataFrame(
        {"id": IDS, "text": TEXTS, "judge": PASS[AS_PEOPLE], "human": PASS[CLASS]}
        | columns
    )


def choices(tail: Callable[[int], tuple[str, str]], chosen: np.ndarray) -> pd.DataFrame:
    both = [
        [f"{text} {tail(k)[side]}" for k, text in enumerate(own)]
        for side, own in enumerate((TEXTS, OTHERS))
    ]
    rows = pd.DataFrame(
        {"id": IDS, "output_a": both[0], "output_b": both[1], "judge": SIDE[chosen]}
    )
    rows["human"] = SIDE[np.where(np.arange(N) % 17 == 0, 1 - chosen, chosen)]
    return pd.concat(
        [rows.assign(order=order) for order in ("as_given", "swapped")],
        ignore_index=True,
    )


def answers(*files: pd.DataFrame, humans: tuple[str, ...] = ("human",)) -> Told:
    texts = (
        ("output_a", "output_b")
        if "output_a" in files[0]
        else ("text",)
        if "text" in files[0]
        else ()
    )
    choice = "given" if len(texts) > 1 else None
    options = TableOptions(judge=("judge",), human=humans, text=texts, choices=choice)
    (only,) = check(read_table([*files], options), CheckOptions()).judges
    for language in ("en", "pt"):
        words = words_of(language)
        words.strict = True
        assert "{" not in words.say(only.verdict) + words.say(only.rival)
    return only


OLD, NEW = RNG.integers(10, 99, (2, N))
AMONG = [
    f"{text} In {2000 + k % 23} it came to {GRADE[k]} of {100 + 7 * (k % 31)} points."
    for k, text in enumerate(TEXTS)
]
FOOLING: dict[str, tuple[Callable[[], Told], str]] = {
    "a grade among other numbers": (
        lambda: answers(graded(text=AMONG, judge=GRADE, human=NEAR)),
        "surface",
    ),
    "passed from a number on": (
        lambda: answers(
            passed(
                text=[f"{t} Score {OLD[k]}." for k, t in enumerate(TEXTS)],
                judge=PASS[(OLD > 54).astype(int)],
            ).assign(
                human=PASS[
                    np.where(
                        CLASS & (np.arange(N) % 8 == 0), OLD <= 54, OLD > 54
                    ).astype(int)
                ]
            )
        ),
        "surface",
    ),
    "the larger number": (
        lambda: answers(
            choices(
                lambda k: (f"Score {OLD[k]}.", f"Score {NEW[k]}."),
                (OLD < NEW).astype(int),
            )
        ),
        "surface",
    ),
    "grades that are the labels": (lambda: answers(graded(judge=GRADE)), "identical"),
    "labels in other units": (
        lambda: answers(graded(judge=(GRADE / 10) ** 2)),
        "in_step",
    ),
    "ranks of the labels": (
        lambda: answers(graded(judge=pd.Series(GRADE).rank())),
        "in_step",
    ),
    "the mean of all raters": (
        lambda: answers(
            graded(
                judge=RATERS.mean(axis=1).round(2),
                ana=RATERS[:, 0],
                ben=RATERS[:, 1],
                eva=RATERS[:, 2],
            ),
            humans=("ana", "ben", "eva"),
        ),
        "consensus",
    ),
    "numbers in shuffled ids": (
        lambda: answers(
            graded(
                judge=[float(one[1:]) for one in IDS],
                human=COUNTED[[int(one[1:]) for one in IDS]],
            )
        ),
        "reason",
    ),
    "numbers of rows, of which some are left out": (
        lambda: answers(
            graded(
                id=[f"x{k * k}" for k in range(N)],
                judge=np.arange(N) * 1.0,
                human=COUNTED,
            ).drop([5, 40, 41, 77])
        ),
        "reason",
    ),
    "silent where it would be wrong": (
        lambda: answers(
            passed()[["id", "text", "judge"]][
                (np.arange(N) % 4 > 0) | (np.arange(N) == WRONG)
            ],
            passed()[["id", "human"]],
        ),
        "missing",
    ),
    "a word in a script without spaces": (
        lambda: answers(
            passed(
                text=[
                    s[:9] + ("好坏", "坏好")[AS_PEOPLE[k]] + s[9:]
                    for k, s in enumerate(SCRIPT)
                ]
            )
        ),
        "surface",
    ),
    "names of files for texts": (
        lambda: answers(passed(text=[f"scan_{k:03}.pdf" for k in range(N)])),
        "texts_lack",
    ),
    "the question in the place of its answers": (
        lambda: answers(passed(text=[TEXTS[k // 4] for k in range(N)])),
        "texts_same",
    ),
    "hardly a text": (
        lambda: answers(passed(text=[*TEXTS[:9], *[None] * (N - 9)])),
        "texts_lack",
    ),
}


@pytest.mark.parametrize("fooling", FOOLING)
def test_a_judge_without_merit_is_not_believed(fooling: str) -> None:
    found, key = FOOLING[fooling][0](), FOOLING[fooling][1]
    assert (found.verdict.key.removeprefix("check.verdict_"), found.standing) == (
        key,
        "undecided",
    ), found.verdict


@pytest.mark.parametrize(
    "honest",
    [
        lambda: answers(graded()),
        lambda: answers(passed()),
        lambda: answers(choices(lambda k: ("", ""), CLASS)),
        lambda: answers(
            graded(text=[f"{t} In {1900 + k % 97}." for k, t in enumerate(TEXTS)])
        ),
        lambda: answers(passed(text=SCRIPT)),
    ],
)
def test_an_honest_judge_is(honest: Callable[[], Told]) -> None:
    assert (found := honest()).standing == "supported", found.verdict


HONEST = graded(maker=["one", "two"] * (N // 2))


@pytest.mark.parametrize(
    "changed",
    [
        lambda rows: rows.sample(frac=1, random_state=3),
        lambda rows: rows[rows.columns[::-1]],
        lambda rows: rows.assign(judge=rows["judge"] * 3 + 20),
        lambda rows: rows.assign(human=rows["human"] / 4, judge=rows["judge"] / 4),
        lambda rows: rows.assign(note=[f"seen {k}" for k in range(N)]),
        lambda rows: rows.assign(
            another=rows["human"].sample(frac=1, random_state=1).to_numpy()
        ),
    ],
)
def test_what_says_nothing_of_the_judge_changes_no_figure(
    changed: Callable[[pd.DataFrame], pd.DataFrame],
) -> None:
    """The order of rows and columns, the units of grades, a column of remarks, another judge."""
    table = changed(HONEST).reset_index(drop=True)
    judges = ("judge", "another") if "another" in table else ("judge",)
    ends = (
        {"scale": "0-400", "human_scale": "0-100"} if table["judge"].max() > 100 else {}
    )
    options = TableOptions(judge=judges, human=("human",), text=("text",), **ends)
    found = check(read_table(table, options), CheckOptions()).judges[0]
    before = answers(HONEST)
    assert (
        (found.standing, found.groups)
        == (before.standing, before.groups)
        == ("supported", N)
    )
    for name in (
        "agreement.spearman",
        "surface.increment",
        "surface.at_equal",
        "surface.foretold",
    ):
        one, other = found.numbers[name], before.numbers[name]
        assert (one.value, *one.interval) == pytest.approx(
            (other.value, *other.interval), abs=1e-6
        ), name


def test_the_names_of_items_and_judges_and_the_codes_of_labels_change_no_answer() -> (
    None
):
    rows = passed()
    codes = {
        name: rows[old].map({"pass": 1, "fail": 0})
        for name, old in (("other", "human"), ("score", "judge"))
    }
    again = rows.assign(id=[f"{each[::-1]}-{each}" for each in rows["id"]], **codes)
    options = TableOptions(judge=("score",), human=("other",), text=("text",))
    (found,) = check(
        read_table(again.drop(columns=["judge", "human"]), options), CheckOptions()
    ).judges
    before = answers(rows)
    assert found.standing == before.standing == "supported"
    one, other = (each.numbers["agreement.kappa"] for each in (found, before))
    assert (one.value, *one.interval) == pytest.approx((other.value, *other.interval))


RUNS: dict[str, Callable[[], pd.DataFrame]] = {
    "honest": graded,
    "a grade among other numbers": lambda: graded(text=AMONG, judge=GRADE, human=NEAR),
    "ranks of the labels": lambda: graded(judge=pd.Series(GRADE).rank() - 1),
    "the labels": lambda: graded(judge=GRADE),
    "equal in two grades": lambda: graded(
        judge=20.0 + 60 * CLASS, human=20.0 + 60 * CLASS
    ),
    "numbers of rows": lambda: graded(
        judge=np.arange(N) * 1.0, human=np.clip(COUNTED, 0, 100)
    ),
    "names of files": lambda: graded(text=[f"scan_{k:03}.pdf" for k in range(N)]),
    "few groups": lambda: graded(group=[f"g{k % 15}" for k in range(N)]),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_says_what_a_check_says(name: str) -> None:
    """The same sentence, whoever read the file."""
    rows = RUNS[name]()
    judged = labelled_run(
        (
            row["human"],
            float(row["judge"]),
            {"metadata": {"group": row["group"]}} if "group" in row else {},
        )
        for row in rows.to_dict("records")
    )
    judged.frame[["item_id", "text"]] = rows[["id", "text"]].to_numpy()
    ruled = analysed("labelled", judged, prefix=None)
    checked = answers(rows)
    assert ruled.result.verdict is not None
    assert ruled.result.verdict.key == checked.verdict.key
    assert ruled.standing == checked.standing
    assert (ruled.standing == "supported") is (
        name in ("honest", "equal in two grades")
    )
    told = {finding.key for finding in (*ruled.result.findings, ruled.result.verdict)}
    known = {
        finding.key for finding in (*checked.findings, checked.verdict, checked.rival)
    }
    assert known <= told


@pytest.mark.parametrize("tie", ["own group", "own question", "a pair turned round"])
def test_copies_count_once_whatever_a_column_says(tie: str) -> None:
    if tie == "a pair turned round":
        once = pd.DataFrame(
            {
                "id": IDS[:30],
                "output_a": [*"abcdefghij"] * 3,
                "output_b": [f"{k}{k}" for k in range(30)],
            }
        )
        once["judge"], once["human"] = SIDE[AS_PEOPLE[:30]], SIDE[CLASS[:30]]
        turned = {
            "output_a": once["output_b"],
            "output_b": once["output_a"],
            "id": [f"again {each}" for each in IDS[:30]],
        }
        turned |= {
            name: once[name].map({"A": "B", "B": "A"}) for name in ("judge", "human")
        }
        files = once, pd.concat([once, pd.DataFrame(turned)], ignore_index=True)
    else:
        once = passed()[:30]
        several = [
            once.assign(id=once["id"] + f"/{n}", text=once["text"] + f" Copy {n}.")
            for n in range(4)
        ]
        column = "group" if tie == "own group" else "question"
        files = once, pd.concat(several, ignore_index=True)
        files[1][column] = [f"the {column} of row {k}" for k in range(120)]
    one, many = (answers(file.reset_index(drop=True)) for file in files)
    assert (one.groups, many.groups, many.n > one.n) == (30, 30, True)
    widths = [next(iter(each.numbers.values())) for each in (one, many)]
    assert widths[1].high - widths[1].low >= 0.9 * (widths[0].high - widths[0].low)


def test_what_a_rank_correlation_must_reach_is_more_than_a_kappa_must() -> None:
    asked = [
        answers(file).verdict.values["enough"].values["least"]
        for file in (graded(), passed())
    ]
    assert asked == [LEAST_ORDER, LEAST_AGREEMENT] == [0.5, 0.4]


def test_numbers_are_found_in_their_places_and_beside_words() -> None:
    found = numbers(
        [f"In {2000 + k} grade {k},5 and {'9 ' * (k % 3)}end" for k in range(10)]
    )
    halves = (np.arange(10) + 0.5).tolist()
    assert found["first_number 0"].tolist() == [2000 + k for k in range(10)]
    assert (
        found["number_in_place 1"].tolist()
        == found["number_beside before grade"].tolist()
        == halves
    )
    assert "number_in_place 3" not in found and not numbers(["none", "here"])


@pytest.mark.parametrize(
    ("verdicts", "ids", "columns", "counts"),
    [
        (np.arange(40.0), ["a"] * 40, [], True),
        (100 - np.arange(40.0) / 2, ["a"] * 40, [], True),
        (np.delete(np.arange(40.0), [3, 9, 30]), ["a"] * 37, [], True),
        (
            np.round(np.arange(40) * 2.5)[::-1],
            [f"r{k}" for k in range(40)][::-1],
            [],
            True,
        ),
        (np.roll(np.arange(40.0), 9), ["a"] * 40, [np.roll(np.arange(40.0), 9)], True),
        (
            np.sort(np.random.default_rng(0).uniform(0, 100, 40)),
            [f"r{k}" for k in range(40)],
            [],
            False,
        ),
        (
            np.sort(np.random.default_rng(0).integers(0, 100, 40)) * 1.0,
            [f"r{k}" for k in range(40)],
            [],
            False,
        ),
        (np.repeat(np.arange(1.0, 6), 8), [f"r{k}" for k in range(40)], [], False),
        (
            np.random.default_rng(0).permutation(40) * 1.0,
            [f"r{k}" for k in range(40)],
            [],
            False,
        ),
        (np.arange(9.0), ["a"] * 9, [], False),
    ],
)
def test_verdicts_that_count_rows_are_known(
    verdicts: np.ndarray, ids: list[str], columns: list[np.ndarray], counts: bool
) -> None:
    assert counts_rows(verdicts, ids, columns) is counts


def test_few_of_the_labelled_items_are_a_limit() -> None:
    many = evidence_of("pass_fail", AS_PEOPLE, CLASS, {"text": TEXTS})
    (found,) = check(
        type(many)(
            many.kind,
            many.verdicts[:45],
            many.labels,
            many.items,
            categories=many.categories,
        ),
        CheckOptions(),
    ).judges
    assert "kinds.part_judged" in {noted.key for noted in found.findings}


def test_a_text_that_was_typed_anew_is_not_new_to_what_was_fitted_on_it() -> None:
    text = "Tema 69: o ICMS não compõe a base de cálculo."
    marks = text_marks([text, "Another text."])
    for again in (
        text,
        f" {text.upper()}\r\n",
        "Tema 69 – o ICMS nao compoe a base de calculo",
    ):
        assert was_seen(again, marks)
    assert not was_seen("Tema 70: o ICMS não compõe a base de cálculo.", marks)
    # files of before note the text as it was
    assert was_seen(text, {text_mark(text)}) and texts_of_marks(marks) == 2


def test_of_many_judges_one_that_agrees_by_chance_is_not_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # so few items by one person hardly tell a reader
    monkeypatch.setattr(surface_rival, "OF_FEW", 0.0)
    rng = np.random.default_rng(3)
    # alone it is shown to agree enough, with little to spare
    wrong = np.arange(N) % 5 == 0
    file = passed(judge_0=PASS[np.where(wrong, 1 - CLASS, CLASS)])
    many = file.assign(
        **{f"judge_{k}": PASS[rng.integers(2, size=N)] for k in range(1, 20)}
    )
    for last, expected in ((1, "limited"), (19, "several")):
        names = tuple(f"judge_{k}" for k in range(last + 1))
        options = TableOptions(judge=names, human=("human",), text=("text",))
        first, *others = check(read_table([many], options), CheckOptions()).judges
        assert first.verdict.key == f"check.verdict_{expected}"
        assert {each.standing for each in others} == {"refuted"}
        assert first.numbers["agreement.kappa"].level == 0.95
    said = words_of("en").say(first.verdict)
    assert "20 answers" in said and "99.5%" in said and first.settle is not None
