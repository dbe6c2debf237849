"""Which trivial reading could explain a judge's agreement: judges without merit are named, good
ones are not."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import undogmatic
from benchmarks.check import CITED, GOOD, made_table, world
from tests.examinations.builders import evidence_of
from tests.examinations.conftest import words_of
from undogmatic.examinations import surface as examined
from undogmatic.examinations import surface_rival as rivals
from undogmatic.examinations.structure import Aspect
from undogmatic.examinations.surface import rival_sentence
from undogmatic.examinations.surface_rival import SurfaceRival, surface_rival
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import Evidence
from undogmatic.records.results import Told
from undogmatic.records.words import Words
from undogmatic.stats.estimate import Estimate

LANGUAGES = [
    Words(code, [Path(examined.__file__).with_suffix(".texts.yaml")], strict=True)
    for code in ("en", "pt")
]


def look(table: Evidence, **options: Any) -> tuple[SurfaceRival, Told]:
    """The rival and what is told, every sentence of which has words in both languages."""
    own = table.of(table.judges[0], "quality")
    found, told = surface_rival(own, CheckOptions(**options)), Told()
    examined.tell(own, told, CheckOptions(**options), found)
    notes = [*told.findings] + [noted.settle for noted in told.findings if noted.settle]
    for words in LANGUAGES:
        for finding in [rival_sentence(found), *notes, *told.not_examined.values()]:
            wording = words.find(finding.key)
            assert wording and words.say(finding)
            assert [key for key in finding.values if f"{{{key}" not in wording] == [], (
                finding.key
            )
    return found, told


@pytest.mark.parametrize("name", GOOD)
def test_a_good_judge_is_beyond_the_surface(name: str) -> None:
    found, told = look(made_table(name, 100, 0.0, 2))
    assert found.outcome == "beyond" and found.n == found.groups == 100
    assert (
        found.at_equal
        and found.at_equal.low > 0.35
        and found.increment
        and found.increment.low > 0.15
    )
    assert {
        "surface.agreement",
        "surface.increment",
        "surface.at_equal",
        "surface.foretold",
    } <= told.numbers.keys()


@pytest.mark.parametrize(
    ("name", "outcomes", "what"),
    [
        ("length", {"as_good", "follows"}, "words"),
        ("regex_1", {"as_good", "follows"}, "“applies”"),
        ("regex_8", {"as_good", "follows"}, ""),
        ("upper_case", {"as_good", "follows"}, "capitals"),
        ("first_word", {"as_good", "follows"}, ""),
        ("tfidf", {"as_good"}, ""),
        ("coin", {"as_good"}, ""),
        ("constant", {"as_good"}, ""),
        ("system", {"column"}, "system"),
        ("pair_longer", {"as_good", "follows"}, "characters"),
        ("pair_system", {"column"}, "system"),
        ("pair_always_first", {"as_good"}, ""),
    ],
)
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_judge_without_merit_is_not(
    name: str, outcomes: set[str], what: str, noise: float
) -> None:
    found, _ = look(made_table(name, 164, noise, 5))
    assert found.outcome in outcomes
    by_column = () if found.column is None else found.column.aspect.columns
    assert not what or noise or what in (*found.what, *by_column)
    if found.outcome == "column":
        assert (
            look(made_table(name, 164, noise, 5), ignore=("system",))[0].outcome
            != "column"
        )


def test_a_pattern_that_labels_teach_badly_is_known_by_its_own_verdicts() -> None:
    """Eight words, some in three texts: fitted to the labels the surface reaches far less than the
    judge."""
    found, _ = look(made_table("regex_8", 100, 0.0, 0))
    assert found.outcome == "follows" and found.increment and found.increment.low > 0
    assert found.at_equal and found.at_equal.low < 0.2
    assert found.foretold and found.foretold.value > 0.7


RNG = np.random.default_rng(8)
MADE, OTHER = world(150, RNG, source=0), world(150, RNG, source=0)
LENGTH = np.array([len(text) for text in MADE.texts])
WORTH = 3 * MADE.meaning + RNG.normal(size=150)
STEPS = np.clip(np.round(WORTH), 0, 4)
CLASS = MADE.meaning + 2 * RNG.integers(2, size=150)
NOISE = RNG.normal(size=(2, 150))


@pytest.mark.parametrize(
    ("kind", "judge", "label", "beyond"),
    [
        ("numeric", WORTH + NOISE[0], WORTH + NOISE[1], True),
        ("numeric", LENGTH + 40 * NOISE[0], LENGTH + 40 * NOISE[1], False),
        ("ordered", np.clip(STEPS + np.round(NOISE[0] / 2), 0, 4), STEPS, True),
        (
            "ordered",
            np.round(LENGTH / LENGTH.max() * 4),
            np.round(LENGTH / LENGTH.max() * 4),
            False,
        ),
        ("unordered", np.where(NOISE[0] > 1.5, 0, CLASS), CLASS, True),
        (
            "unordered",
            np.searchsorted([250, 300, 350], LENGTH),
            np.searchsorted([250, 300, 350], LENGTH),
            False,
        ),
    ],
)
def test_every_kind_of_verdict(kind: Any, judge: Any, label: Any, beyond: bool) -> None:
    found, _ = look(evidence_of(kind, judge, label, {"text": MADE.texts}))
    assert (found.outcome == "beyond") is beyond
    assert (found.accuracy is None) is (kind in ("numeric", "ordered"))


def grouped(
    kind: Any,
    judge: np.ndarray,
    label: np.ndarray,
    texts: list[str],
    groups: np.ndarray,
) -> Evidence:
    return evidence_of(
        kind, judge, label, {"text": texts, "group": [f"g{k}" for k in groups]}
    )


@pytest.mark.parametrize("kind", ["ordered", "pass_fail", "numeric"])
def test_words_that_name_a_group_explain_nothing(kind: Any) -> None:
    """Every topic has its own words, its texts are of like worth, and no word says of what
    worth."""
    rng, groups = np.random.default_rng(4), np.repeat(np.arange(30), 12)
    worth = 0.7 * rng.normal(size=30)[groups] + 0.7 * rng.normal(size=360)
    sides = [worth + 0.4 * rng.normal(size=360) for _ in range(2)]
    if kind != "numeric":
        sides = [
            np.clip(np.floor(own + 2), 0, 3) if kind == "ordered" else (own > 0) * 1.0
            for own in sides
        ]
    texts = [" ".join(rng.choice([f"t{k}x{n}" for n in range(20)], 40)) for k in groups]
    found, _ = look(grouped(kind, sides[0], sides[1], texts, groups))
    assert found.outcome == "beyond" and not found.predicts
    assert (
        found.at_equal
        and found.judge
        and found.at_equal.value > found.judge.value - 0.12
    )


@pytest.mark.parametrize(
    "rule", ["a pattern within topics", "a word of topics", "length"]
)
@pytest.mark.parametrize(("topics", "size"), [(20, 6), (25, 12)])
def test_a_word_counter_is_known_in_groups_too(
    rule: str, topics: int, size: int
) -> None:
    rng, groups = np.random.default_rng(7), np.repeat(np.arange(topics), size)
    texts = world(groups.size, rng, source=0).texts
    if rule == "length":
        sizes = np.array([len(text) for text in texts])
        verdict = (sizes > np.median(sizes)).astype(float)
    elif rule == "a word of topics":
        asked = rng.permutation(topics) < topics // 2
        texts = [
            f"{'Refund' if asked[k] else 'Delivery'} asked. {text}"
            for k, text in zip(groups, texts, strict=True)
        ]
        verdict = asked[groups].astype(float)
    else:
        verdict = np.array(
            [float(any(word in text.lower() for word in CITED)) for text in texts]
        )
    texts = [
        f"Topic{k} about{k}. {text}" for k, text in zip(groups, texts, strict=True)
    ]
    label = np.where(rng.random(groups.size) < 0.1, 1 - verdict, verdict)
    found, _ = look(grouped("pass_fail", verdict, label, texts, groups))
    assert found.outcome in ("as_good", "follows") and found.predicts


@pytest.mark.parametrize("rewritten", [0, 14])
@pytest.mark.parametrize("grouping", ["typed", "none"])
def test_no_rival_learns_from_a_copy_of_what_it_is_tried_on(
    grouping: Any, rewritten: int
) -> None:
    """Each text stands four times with a word added or a part rewritten, in groups that somebody
    named apart, and its id names it: what a rival remembered of the other three would be neither
    words nor a column."""
    rng = np.random.default_rng(3)
    worth = np.repeat(rng.random(40) < 0.5, 4).astype(float)
    said, label = (np.where(rng.random(160) < 0.1, 1 - worth, worth) for _ in range(2))

    def words(n: int) -> list[str]:
        return [f"w{word}" for word in rng.integers(900, size=n)]

    invented = [words(30 - rewritten) for _ in range(40)]
    texts = [
        " ".join([*invented[n // 4], *words(rewritten), f"edited{n}"])
        for n in range(160)
    ]
    items = {"text": texts, "group": [f"g{n}" for n in range(160)]}
    items["slice.original"] = [f"o{n // 4}" for n in range(160)]
    apart = evidence_of("pass_fail", said, label, items)
    found, _ = look(replace(apart, grouping=grouping))
    assert found.outcome == "beyond" and found.groups == 160
    assert found.foretold and found.foretold.low <= 0
    # Were the texts no copies of each other, what stands in the column would explain them.
    other = [" ".join(words(30)) for _ in range(160)]
    named, _ = look(
        replace(
            evidence_of("pass_fail", said, label, items | {"text": other}),
            grouping=grouping,
        )
    )
    assert named.outcome == "column"


def test_no_sentence_says_that_words_predict_what_they_do_not() -> None:
    """The clause about what words foretell follows the interval of what is foretold, whatever the
    outcome."""
    found, seen = look(made_table("good", 100, 0.0, 2))[0], set()
    assert found.foretold and found.at_equal
    told, not_told = (
        found.foretold.replace(value=0.4, low=0.1),
        found.foretold.replace(value=-0.04, low=-0.2, high=0.1),
    )
    outcomes: tuple[Any, ...] = ("as_good", "follows", "open")
    for outcome in outcomes:
        for foretold in (told, not_told):
            if outcome == "follows" and foretold is not_told:
                continue  # `surface_rival` says "open" then
            finding = rival_sentence(
                replace(
                    found,
                    outcome=outcome,
                    foretold=foretold,
                    what=("“word”",),
                    shared=None,
                )
            )
            for words in LANGUAGES:
                said = words.say(finding)
                assert (
                    "not shown (agreement" in said or "se mostrou que só" in said
                ) is (foretold is not_told), said
                assert f"{foretold.value:.2f}".replace("-", "−") in said.replace(
                    ",", "."
                )
                seen.add(said)
    assert len(seen) == 10


def test_the_interval_that_is_told_lies_within_the_margin() -> None:
    """Two one-sided tests decide with the 90 % interval; the 95 % interval may reach beyond the
    margin."""
    judge = WORTH + NOISE[0] / 4
    slope = look(evidence_of("numeric", judge, WORTH, {"text": MADE.texts}))[1].numbers[
        "surface.length_bias"
    ]
    usual = float(np.ptp(np.quantile(np.log2(LENGTH), (0.25, 0.75))))
    reach = usual * max(abs(slope.low), abs(slope.high))
    _, told = look(
        evidence_of("numeric", judge, WORTH, {"text": MADE.texts}), margin=0.98 * reach
    )
    (noted,) = (own for own in told.findings if own.key == "surface.no_length_bias")
    ends = noted.values["ends"]
    if (
        ends.key == "surface.ends_grade_either"
    ):  # zero lies between: each way in its word
        low, high = -ends.values["less"], ends.values["more"]
        assert low < 0 < high
    else:
        low, high = ends.values["interval"]
    assert (
        noted.values["level"] == pytest.approx(0.9)
        and -0.98 * reach < low < high < 0.98 * reach
    )


def test_what_a_handful_of_verdicts_hang_on_is_not_told() -> None:
    """Of two outputs always the first, but for fifteen: the fifteen say too little of what moved
    the judge."""
    n, hidden = 150, np.random.default_rng(3).permutation(150)
    for others, outcome in ((15, "rare"), (60, "beyond")):
        label = (hidden < others).astype(float)
        found, _ = look(
            evidence_of(
                "pairwise", label, label, {"text_1": MADE.texts, "text_2": OTHER.texts}
            )
        )
        assert len(label) == n and found.outcome == outcome, others
        assert rival_sentence(found).key == f"surface.{outcome}"


def test_what_cannot_be_examined_says_so() -> None:
    label = RNG.permutation(np.arange(60.0) % 2)
    found, told = look(evidence_of("pass_fail", label, label))
    assert (found.outcome, list(told.not_examined)) == ("no_texts", ["surface"])
    holes = np.where(np.arange(60) % 3 == 0, np.nan, np.arange(60))
    made = {
        "slice.size": holes,
        "slice.maker": label,
        "slice.page": [f"p{k}" for k in range(60)],
    }
    found, told = look(evidence_of("pass_fail", label, label, made))
    assert (found.outcome, list(told.not_examined)) == ("column", ["surface"])
    assert found.column is not None and found.column.aspect.columns == ("maker",)
    assert (
        look(evidence_of("pass_fail", label, label, made), ignore=("maker",))[0].outcome
        == "no_texts"
    )
    few = evidence_of(
        "pass_fail",
        label,
        label,
        {"text": MADE.texts[:60], "group": [f"g{k % 19}" for k in range(60)]},
    )
    found, told = look(few)
    assert (found.outcome, found.groups, list(told.not_examined)) == (
        "few",
        19,
        ["surface"],
    )


def test_verdicts_without_a_label_teach_the_surface_too() -> None:
    """A pattern over rare words is learned from all that the judge said, of which a third has
    labels."""
    whole = made_table("regex_8", 300, 0.0, 3)
    part = replace(whole, labels=whole.labels[:100])
    alone = replace(part, verdicts=whole.verdicts[:100], items=whole.items[:100])
    found = [
        surface_rival(own.of("judge", "quality"), CheckOptions())
        for own in (part, alone)
    ]
    assert found[0].n == found[1].n == 100
    assert (
        found[0].foretold
        and found[1].foretold
        and found[0].foretold.value > found[1].foretold.value
    )


def test_of_many_labelled_items_every_group_gives_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Groups are what is independent: a draw that takes some of them whole loses the others, and all
    of them where the first one drawn is larger than the draw."""
    monkeypatch.setattr(rivals, "MOST_ITEMS", 100)
    table = made_table("good", 164, 0.0, 1)
    table.items["group"] = [f"g{k // 3}" for k in range(164)]
    found, told = look(table)
    assert (found.n, found.groups, found.drawn) == (100, 55, 164)
    assert "surface.drawn" in [noted.key for noted in told.findings]
    table.items["group"] = ["all", *["all"] * 119, *(f"g{k}" for k in range(44))]
    found, _ = look(table)
    assert (found.n, found.groups) == (100, 45)


def test_neither_seed_nor_order_of_rows_changes_what_is_found() -> None:
    table = made_table("good_worded", 100, 0.1, 3)
    shuffled = replace(
        table,
        verdicts=table.verdicts.sample(frac=1, random_state=1),
        labels=table.labels.sample(frac=1, random_state=2),
        items=table.items.sample(frac=1, random_state=3),
    )
    first, _ = look(table)
    for other in (look(table, seed=7)[0], look(shuffled)[0]):
        assert (other.outcome, other.n) == (first.outcome, first.n)
        assert other.at_equal is not None and first.at_equal is not None
        assert other.at_equal.interval == pytest.approx(
            first.at_equal.interval, abs=1e-6
        )


@pytest.mark.parametrize("turned", [False, True])
def test_labels_that_a_program_drew_with_the_usual_seed_are_not_foretold(
    turned: bool,
) -> None:
    n = 200
    labels = (np.random.default_rng(0).random(n) < 0.5) ^ turned
    words = "onde quem como quando quanto porque qual isto isso aquilo".split()
    texts = [
        " ".join(np.random.default_rng(row).permutation(words)) for row in range(n)
    ]
    wrong = np.random.default_rng(2).random(n) < 0.1
    table = pd.DataFrame(
        {
            "id": [f"i{row:03}" for row in range(n)],
            "text": texts,
            "judge": np.where(labels ^ wrong, "pass", "fail"),
            "human": np.where(labels, "pass", "fail"),
        }
    )
    of_words = undogmatic.check(table).judges[0].numbers["surface.agreement"]
    assert isinstance(of_words, Estimate)
    assert abs(of_words.value) < 0.25


def near(at: SurfaceRival, low: float) -> SurfaceRival:
    """The same with a lower limit of what is left, and nothing else that decides."""
    assert at.at_equal is not None
    left = at.at_equal.replace(value=low + 0.1, low=low, high=low + 0.2)
    return replace(at, at_equal=left, leaning=None, shared=None)


@pytest.mark.parametrize(
    ("outcomes", "past"),
    [
        (["beyond"] * 5, None),
        (["beyond", "beyond", "follows"], 2),
        (["beyond", "open"], 1),
        (["follows"], None),
    ],
)
def test_at_the_edge_a_judge_is_past_it_only_in_every_deal(
    monkeypatch: pytest.MonkeyPatch, outcomes: list[str], past: int | None
) -> None:
    table = made_table("good", 100, 0.0, 2)
    found, _ = look(table)
    at_edge = near(found, found.least_left + 0.01)
    deals: list[int] = []

    def one_deal(own: object, options: object, deal: int) -> SurfaceRival:
        deals.append(deal)
        return replace(at_edge, outcome=outcomes[deal])  # type: ignore[arg-type]

    monkeypatch.setattr(rivals, "_one_deal", one_deal)
    found, _ = look(table)
    assert deals == list(range(len(outcomes))) and found.past_edge == past
    assert found.outcome == (outcomes[0] if past is None else "open")
    if past is not None:
        sentence = rival_sentence(found)
        assert sentence.key == "surface.on_edge" and sentence.values["past"] == past


def test_far_from_the_edge_texts_are_dealt_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = made_table("good", 100, 0.0, 2)
    found, _ = look(table)
    far = near(found, found.least_left + 0.09)
    deals: list[int] = []
    monkeypatch.setattr(
        rivals, "_one_deal", lambda own, options, deal: deals.append(deal) or far
    )
    assert look(table)[0].past_edge is None and deals == [0]


def test_the_same_texts_are_read_once_for_all_judges(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[int] = []
    plain = rivals.words.marks
    monkeypatch.setattr(
        rivals.words, "marks", lambda *texts: read.append(1) or plain(*texts)
    )
    rivals._surface.cache_clear()
    rivals._marks.cache_clear()
    table = evidence_of(
        "pass_fail",
        {"a": MADE.meaning, "b": 1 - MADE.meaning},
        MADE.meaning,
        {"text": MADE.texts},
    )
    outcomes = [
        surface_rival(table.of(judge, "quality"), CheckOptions()).outcome
        for judge in table.judges
    ]
    assert outcomes[0] == "beyond" and outcomes[1] == "as_good" and read == [1]


@pytest.mark.parametrize(
    ("lean", "margin", "key"),
    [
        (1.0, None, "longer_higher"),
        (-1.0, None, "longer_lower"),
        (1.0, 0.1, "longer_higher"),
        (0.0, 2.0, "no_length_bias"),
        (0.0, None, "length_open"),
    ],
)
def test_errors_that_rise_with_length(
    lean: float, margin: float | None, key: str
) -> None:
    judge = WORTH + lean * np.log2(LENGTH) + NOISE[0] / 4
    _, told = look(
        evidence_of("numeric", judge, WORTH, {"text": MADE.texts}), margin=margin
    )
    noted = next(
        own for own in told.findings if "length" in own.key or "longer" in own.key
    )
    assert noted.key == f"surface.{key}"
    assert (
        told.numbers["surface.length_bias"].low
        < lean
        < told.numbers["surface.length_bias"].high
    )
    assert (noted.settle is None) is (margin is not None)


def test_of_texts_of_one_length_nothing_is_left_open() -> None:
    """One text that is a thousand times as long bends the slope alone; that no item in a hundred
    passes more is no open question."""
    rng = np.random.default_rng(11)
    n = 60
    texts = [
        " ".join(rng.choice(["able", "bold", "calm", "dear"], 8)) + "x" * (k % 4)
        for k in range(n)
    ]
    texts[7] = "word " * 6_000
    label = rng.integers(0, 2, n).astype(float)
    judge = np.where(rng.random(n) < 0.2, 1 - label, label)
    _, told = look(evidence_of("pass_fail", judge, label, {"text": texts}))
    said = {own.key for own in told.findings}
    assert "surface.length_little" in said and "surface.length_open" not in said


def test_a_judge_that_likes_the_longer_output_more_than_people_do() -> None:
    longer = np.array(
        [len(a) < len(b) for a, b in zip(MADE.texts, OTHER.texts, strict=True)],
        dtype=float,
    )
    label = np.where(
        MADE.meaning == OTHER.meaning,
        (NOISE[0] > 0) * 1.0,
        MADE.meaning < OTHER.meaning,
    )
    judge = np.where(NOISE[1] > 0.8, longer, label)
    table = evidence_of(
        "pairwise", judge, label, {"text_1": MADE.texts, "text_2": OTHER.texts}
    )
    assert "surface.longer_higher_pair" in [
        noted.key for noted in look(table)[1].findings
    ]
    same = evidence_of(
        "pairwise",
        judge,
        label,
        {f"text_{k}": [f"text {k}{n:03}" for n in range(150)] for k in (1, 2)},
    )
    assert "length_bias" in look(same)[1].not_examined


def test_of_length_nothing_is_said_where_judge_and_people_never_differ() -> None:
    """Of a judge that differs nowhere the interval of its leaning to long texts would be without
    ends."""
    passed = (np.median(WORTH) < WORTH).astype(float)
    _, told = look(evidence_of("pass_fail", passed, passed, {"text": MADE.texts}))
    assert told.not_examined["length_bias"].key == "surface.length_unknown"
    assert not [
        noted
        for noted in told.findings
        if "longer" in noted.key or "length" in noted.key
    ]


def test_a_yes_says_whether_the_word_counter_still_learns() -> None:
    """Labels that follow many words are learned little by little; labels without any, never."""
    rng = np.random.default_rng(9)
    said = [f"w{k}" for k in range(150)]
    weights = rng.normal(0, 1, len(said))
    uses = rng.random((400, len(said))) < 0.2
    texts = [
        " ".join(itertools.compress(said, row)) + f" item {k}"
        for k, row in enumerate(uses)
    ]
    worded = uses @ weights
    worded = (worded - worded.mean()) / worded.std()
    beside = rng.normal(0, 1, 400)
    keys = {}
    for share in (0.0, 0.45):
        truth = np.sqrt(share) * worded + np.sqrt(1 - share) * beside
        people = {name: truth + rng.normal(0, 0.3, 400) for name in ("ana", "ben")}
        table = evidence_of(
            "numeric",
            truth + rng.normal(0, 0.3, 400),
            people,
            {"text": texts},
            scale=(-9, 9),
        )
        found, told = look(table)
        assert found.outcome == "beyond" and found.gained is not None
        keys[share] = [noted.key for noted in told.findings]
    assert (
        "surface.still_learns" in keys[0.45] and "surface.still_learns" not in keys[0.0]
    )


def test_what_is_at_the_edge_is_what_the_sentence_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the deal that fails enough is left, and the judge is not shown to lead the counter."""
    found, _ = look(made_table("good", 100, 0.0, 2))
    more = found.increment
    assert more is not None
    narrow = more.replace(value=0.1, low=0.001, high=0.2)
    lost = more.replace(value=0.09, low=-0.01, high=0.19)
    deals = [
        replace(found, increment=narrow),
        replace(found, increment=lost, outcome="as_good"),
    ]
    monkeypatch.setattr(rivals, "_one_deal", lambda own, options, deal: deals[deal])
    told, _ = look(made_table("good", 100, 0.0, 2))
    sentence = rival_sentence(told)
    assert sentence.key == "surface.edge_of_lead"
    assert (sentence.values["more"], sentence.values["past"]) == (0.09, 1)


def test_what_people_share_is_measured_without_who_agrees_with_nobody() -> None:
    """The rows of a third person are shifted by one: the yardstick of what goes beyond words stays
    that of the other two."""
    rng = np.random.default_rng(4)
    n, words = 160, "alpha beta gamma delta epsilon zeta eta theta".split()
    truth = rng.random(n) < 0.5

    def side(wrong: float) -> Any:
        return truth ^ (rng.random(n) < wrong)

    table = pd.DataFrame(
        {
            "id": [f"i{row:03}" for row in range(n)],
            "text": [" ".join(rng.permutation(words)) for _ in range(n)],
            **{f"human_{name}": side(0.05) for name in "ab"},
            "judge": side(0.05),
        }
    )
    people = table[["human_a"]].to_numpy()[:, 0]
    three = table.assign(human_c=np.roll(people, 1)).replace({True: 1, False: 0})
    shown = undogmatic.check(three, human=["human_a", "human_b", "human_c"])
    numbers = shown.judges[0].numbers
    share, level = numbers["surface.shared"], numbers["surface.people_at_equal"]
    assert isinstance(share, Estimate) and isinstance(level, Estimate)
    assert level.value > 0.6 and 0.8 < share.value < 1.2


@pytest.mark.parametrize("column", ["cue", "n", "score", "low"])
def test_a_column_keeps_the_name_that_its_owner_gave_it(column: str) -> None:
    """`cue` is a word of another table of ours, and was told as `given`."""
    aspect = Aspect("whole", (column,), "", np.array([0, 1]))
    for code in ("en", "pt"):
        assert f"`{column}`" in words_of(code).say(rivals.named(aspect))
