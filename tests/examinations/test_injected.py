"""What a check tells of planted defects: recall by kind, false alarms, and what cannot be told."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.planted_defects import told_of, truths
from undogmatic.cli.checked import check
from undogmatic.datasets.vocabulary import planted
from undogmatic.errors import ConfigError
from undogmatic.records.evidence import CLEAN, DEFECT, EQUIVALENT
from undogmatic.records.results import Finding, Subject, Told, Weight
from undogmatic.report.check import as_json, asked_first, words_of

LANGUAGES = [words_of(code) for code in ("en", "pt")]
for words in LANGUAGES:
    words.strict = True


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def file_of(
    rng: np.random.Generator,
    rates: Mapping[str, float],
    runs: int = 60,
    together: float = 0.0,
) -> pd.DataFrame:
    """Runs with a copy of each kind, of which a judge fails so many; `together`: how often it says
    of a copy what it says of the others of its run."""
    rows = []
    for run in range(runs):
        lot = rng.random()
        for kind, rate in rates.items():
            parent = None if kind == CLEAN else f"r{run}"
            draw = lot if rng.random() < together else rng.random()
            said = "fail" if draw < rate else "pass"
            item = f"r{run}" if parent is None else f"r{run} {kind}"
            rows.append({"id": item, "kind": kind, "parent": parent, "judge": said})
    return pd.DataFrame(rows)


def tell(frame: pd.DataFrame, **options: Any) -> Told:
    """What is told of the only judge; every sentence has words in both languages."""
    result = check(frame, **options)
    for language in LANGUAGES:
        assert all(asked_first(result, language)) and as_json(result, language)["asked"]
        for found in (
            *result.judges[0].findings,
            *result.judges[0].not_examined.values(),
        ):
            assert "[injected" not in language.say(found)
    return result.judges[0]


def keys(told: Told) -> set[str]:
    return {
        found.key.partition(".")[2]
        for found in told.findings
        if "injected." in found.key
    }


def found(told: Told, key: str) -> Finding:
    return next(each for each in told.findings if each.key == f"injected.{key}")


RATES = {CLEAN: 0.05, EQUIVALENT: 0.06, "defect:loop": 0.9, "defect:leak": 0.15}


def test_recall_is_told_by_kind_and_what_is_missed_is_a_limit(rng) -> None:
    told = tell(file_of(rng, RATES))
    for name, rate in (("recall.loop", 0.9), ("recall.leak", 0.15), ("clean", 0.05)):
        share = told.numbers[f"injected.{name}"]
        assert share.low <= rate <= share.high and share.n == share.n_groups == 60
    assert found(told, "missed").values["kinds"] == ["leak"]
    assert found(told, "missed").weight == Weight.LIMITS
    table = told.tables["injected.kinds"]
    assert dict(zip(table["planted"], table["outcome"], strict=True)) == {
        "leak": "missed",
        "loop": "seen",
    }
    # of the paired differences to the parents
    assert told.numbers["injected.difference.loop"].low > 0.6
    assert {"flags", "by_kind"} <= keys(told) and "not_apart" not in keys(told)


def test_a_judge_that_fails_everything_sees_nothing(rng) -> None:
    told = tell(file_of(rng, dict.fromkeys(RATES, 1.0)))
    assert told.numbers["injected.recall"].value == 1
    assert "not_apart" in keys(told) and "missed" not in keys(told)
    assert set(told.tables["injected.kinds"]["outcome"]) == {"open"}


def test_edits_that_must_not_matter_limit_a_judge_that_fails_them(rng) -> None:
    told = tell(file_of(rng, RATES | {EQUIVALENT: 0.6}))
    assert found(told, "moved").weight == Weight.LIMITS
    assert found(told, "moved").values["worse"] == 1
    assert told.numbers["injected.difference_equivalent"].low > 0.2
    assert "moved" not in keys(tell(file_of(rng, RATES)))


def scores_of(
    rng: np.random.Generator, falls: Mapping[str, float], sign: int = 1
) -> pd.DataFrame:
    frame = file_of(rng, dict.fromkeys(falls, 0.5))
    runs = frame["id"].str.partition(" ")[0]
    base = runs.map({run: rng.normal(0, 1) for run in runs.unique()})
    fall = frame["kind"].map(falls)
    scores = 5 + sign * (base - fall) + rng.normal(0, 0.4, len(frame))
    return frame.assign(judge=np.clip(scores, 0, 10).round(2))


FALLS = {CLEAN: 0.0, EQUIVALENT: 0.0, "defect:loop": 2.0, "defect:leak": 0.0}


def test_scores_are_held_against_their_parents(rng) -> None:
    frame = scores_of(rng, FALLS)
    told = tell(frame, scale="0-10")
    assert told.numbers["injected.recall.loop"].low > 0.9
    assert 0.3 < told.numbers["injected.recall.leak"].value < 0.7
    fall = told.numbers["injected.difference.loop"]
    assert fall.low <= 2 <= fall.high and fall.unit == "amount"
    # Without a margin nothing is shown to make no difference.
    assert "missed_scores" not in keys(told) and "moved_scores" not in keys(told)
    with_margin = tell(frame, scale="0-10", margin=0.5)
    assert found(with_margin, "missed_scores").values["kinds"] == ["leak"]


def test_the_end_that_is_worse_is_asked_for_where_scores_go_the_other_way(rng) -> None:
    frame = scores_of(rng, FALLS | {"defect:leak": 1.0}, sign=-1)
    told = tell(frame, scale="0-10")
    assert found(told, "reversed").settle == Finding("injected.settle_reversed", {})
    turned = tell(frame, scale="0-10", worse="high")
    assert (
        "reversed" not in keys(turned)
        and turned.numbers["injected.recall.loop"].low > 0.9
    )


def test_scores_without_parents_are_held_against_clean_ones(rng) -> None:
    frame = scores_of(rng, FALLS).drop(columns="parent")
    told = tell(frame, scale="0-10")
    assert "injected.recall" not in told.numbers
    assert found(told, "order").values["share"] == pytest.approx(
        told.numbers["injected.difference"].value + 0.5
    )
    assert told.numbers["injected.difference.loop"].low > 0.2
    defects = frame[frame["kind"].str.startswith("defect")]
    result = check(defects, scale="0-10")
    assert (
        result.judges[0].not_examined["injected"].key == "injected.nothing_to_compare"
    )


def test_the_only_clean_item_of_a_group_is_the_parent(rng) -> None:
    frame = file_of(rng, RATES)
    whole = tell(frame)
    frame["run"] = frame["id"].str.partition(" ")[0]
    told = tell(frame.drop(columns="parent"), group="run")
    assert found(told, "only_clean").values["n"] == 180
    assert told.numbers["injected.difference"] == whole.numbers["injected.difference"]


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda f: f[f["kind"] != CLEAN], "no_clean"),
        (lambda f: f[f["kind"] != "defect:leak"], "one_kind"),
        (lambda f: f[f["kind"].isin([CLEAN, EQUIVALENT])], "alarms"),
        (
            lambda f: f.assign(parent=f["parent"].mask(f["parent"] == "r3", "r99")),
            "lost_parents",
        ),
        (lambda f: f.assign(judge=f["judge"].mask(f["id"] == "r3", "")), "silent"),
    ],
)
def test_what_is_lacking_is_said(rng, change: Callable[[Any], Any], key: str) -> None:
    told = tell(change(file_of(rng, RATES)), injected="kind")
    assert key in keys(told)
    if key == "lost_parents":
        assert found(told, key).values == {"n": 3, "first": "r99"}
    if key == "silent":
        assert found(told, key).values == {"n": 1, "of": 240}
        share = told.numbers["injected.clean"]
        assert share.worst_low <= share.low and share.best_high > share.high


def test_a_cell_that_is_no_kind_is_told_with_its_place(rng, tmp_path: Path) -> None:
    frame = file_of(rng, RATES)
    frame.loc[5, "kind"] = "bug: loop"
    frame.loc[6, "kind"] = None
    file = tmp_path / "planted.csv"
    frame.to_csv(file, index=False)
    result = check(file)
    (problem,) = (
        each for each in result.table.problems if each.key == "table.odd_kinds"
    )
    assert problem.values["n"] == 1 and problem.values["place"].endswith(
        "planted.csv:7"
    )
    assert result.table.items["injected"].isna().sum() == 2
    with pytest.raises(ConfigError, match="says in no row what was planted in it"):
        check(file, injected="id")
    with pytest.raises(ConfigError, match="Did you mean kind"):
        check(file, injected="kid")
    with pytest.raises(ConfigError, match="Name that: --injected COLUMN"):
        check(frame, injected="none", parent="parent")


def test_one_id_for_an_item_and_its_copies_is_asked_about(rng) -> None:
    frame = file_of(rng, RATES)
    frame["id"] = frame["id"].str.partition(" ")[0]
    frame = frame.drop(columns="parent")
    with pytest.raises(ConfigError, match="--item id,kind --group id"):
        check(frame)
    assert "flags" in keys(tell(frame, item="id,kind", group="id"))


def test_a_column_of_kinds_is_known_by_what_it_holds(rng) -> None:
    frame = file_of(rng, RATES)
    for name, is_kind in (("tipo", True), ("genre", False)):
        result = check(frame.rename(columns={"kind": name}))
        assert ("injected" in result.table.items) == is_kind
    other = frame.assign(kind=np.where(frame["kind"] == CLEAN, "news", "fiction"))
    assert "injected" not in check(other.drop(columns="parent")).table.items


def test_labels_are_asked_as_ever_and_the_kind_is_no_rival(rng) -> None:
    frame = file_of(rng, RATES, runs=80)
    right = np.where(frame["kind"].str.startswith(DEFECT), "fail", "pass")
    frame["text"] = [
        f"{rng.integers(10**9)} words {rng.integers(10**9)}" for _ in right
    ]
    (told,) = check(frame.assign(human=right)).judges
    assert found(told, "flags").subject == Subject.ASKED
    # The kinds say all that these people say: were they a rival, no judge would do better.
    kappa, (_, rival) = (
        told.numbers["agreement.kappa"],
        told.number_about(Subject.RIVAL),
    )
    assert kappa.value > rival.value + 0.2


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("Clean", CLEAN),
        ("limpo", CLEAN),
        ("Equivalente", EQUIVALENT),
        ("defect: wrong argument", "defect:wrong argument"),
        ("Defeito:laço", "defect:laço"),
        ("defect", "defect:defect"),
        ("bug:loop", None),
        ("clean: really", None),
        ("", None),
    ],
)
def test_kinds_are_read_in_both_languages(cell: str, kind: str | None) -> None:
    assert planted(cell) == kind


def test_a_judge_of_known_recall_is_measured_within_its_intervals(rng) -> None:
    held = []
    for _ in range(60):
        found = told_of(rng, runs=40, together=0.8).estimates
        each = {
            name: (found[f"injected.{name}"], truth) for name, truth in truths().items()
        }
        held.append(
            {name: own.low <= truth <= own.high for name, (own, truth) in each.items()}
        )
    shares = pd.DataFrame(held).mean()
    # 95 % less three standard errors of 60 files; of all numbers together more is known
    assert shares.min() >= 0.86 and shares.mean() >= 0.94


def of_two(rng: np.random.Generator, label: Callable[[str], str]) -> Told:
    """A judge that is right in nine of ten, on texts of their own, with labels by one rater."""
    rows = []
    for n in range(160):
        planted = bool(rng.random() < 0.5)
        kind, truth = ("defect:loop", "fail") if planted else (CLEAN, "pass")
        said = truth if rng.random() < 0.9 else ("pass" if truth == "fail" else "fail")
        words = [f"w{k}" for k in rng.integers(0, 4000, 30)]
        row = {"id": f"i{n}", "kind": kind, "judge": said, "human": label(truth)}
        rows.append(row | {"text": " ".join(words)})
    return tell(pd.DataFrame(rows), human=["human"])


def test_labels_that_say_what_was_planted_are_no_people(rng) -> None:
    planted_only = of_two(rng, lambda truth: truth)
    assert planted_only.verdict is not None
    assert planted_only.verdict.key == "check.verdict_planted"
    assert planted_only.verdict.answer == "not_yet"
    for words in LANGUAGES:
        assert words.say(planted_only.verdict)

    def person(truth: str) -> str:
        """Somebody who looked, and here and there saw it otherwise."""
        return truth if rng.random() < 0.93 else ("pass" if truth == "fail" else "fail")

    looked = of_two(rng, person)
    assert looked.verdict is not None and looked.standing == "supported"


def of_grades(rng: np.random.Generator, label: Callable[[int], int]) -> Told:
    """A judge that is mostly right about how grave each kind of defect is."""
    grades = {CLEAN: 5, "defect:loop": 2, "defect:leak": 4}
    rows = []
    for n in range(150):
        kind = list(grades)[rng.integers(3)]
        truth = grades[kind]
        said = int(np.clip(truth + rng.integers(-1, 2), 1, 5))
        words = [f"w{k}" for k in rng.integers(0, 4000, 30)]
        row = {"id": f"i{n}", "kind": kind, "judge": said, "human": label(truth)}
        rows.append(row | {"text": " ".join(words)})
    return tell(pd.DataFrame(rows), human=["human"])


def test_labels_that_hang_on_the_kind_of_defect_alone_are_no_people(rng) -> None:
    given = of_grades(rng, lambda truth: truth)
    assert given.verdict is not None
    assert given.verdict.key == "check.verdict_planted"
    looked = of_grades(
        rng, lambda truth: int(np.clip(truth + (rng.random() < 0.1), 1, 5))
    )
    assert looked.verdict is not None and looked.standing == "supported"
