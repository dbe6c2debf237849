"""The roles of columns, the options that name them at each door, and the doubts about them."""

import re
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import put
from tests.datasets.test_verdicts import dataset
from undogmatic.cli import main
from undogmatic.config.door import compose_config
from undogmatic.datasets import roles
from undogmatic.datasets.columns import find_columns
from undogmatic.datasets.doors import (
    CHECK,
    IMPORT,
    OF_TEXTS,
    RUN,
    Door,
    Doubt,
    Question,
    Way,
    spelled,
)
from undogmatic.datasets.items import FIELDS, find_labels, find_roles, find_texts
from undogmatic.datasets.roles import (
    EVERY,
    ITEM,
    JUDGE,
    LABEL,
    MODEL,
    RATER,
    SETTING,
    TEXT,
    VERDICT,
    Option,
    Role,
)
from undogmatic.datasets.scales import TableOptions
from undogmatic.errors import ConfigError, DataError

UNNAMED = {roles.CONTEXT, roles.REMARK, SETTING, MODEL}
"""Roles that no option of a check names."""
OF_RUNS = {roles.CONDITION, roles.PAIR, roles.MAKER}
"""Roles of items that only a run knows."""
OF_COPIES = {roles.INJECTED, roles.PARENT}
"""Roles of copies with planted defects, which a check alone knows."""
SETTINGS = (roles.KIND, roles.SCALE, roles.LABEL_SCALE, roles.PASSING, roles.SHEET)
OF_CHECKS = (*SETTINGS, roles.NUMBERING, roles.CHOSEN)


def helped(capsys: pytest.CaptureFixture[str], *words: str) -> set[str]:
    """The options of a command, as its help shows them."""
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    return {
        word.strip(",[]") for word in capsys.readouterr().out.split() if "--" in word
    }


@pytest.mark.parametrize(
    ("door", "words", "known"),
    [
        (CHECK, ("check",), [*({*EVERY} - UNNAMED - OF_RUNS), *OF_CHECKS]),
        (OF_TEXTS, ("label",), [ITEM, TEXT, roles.SHEET]),
        (OF_TEXTS, ("precedents",), [ITEM, TEXT, roles.SHEET]),
        (IMPORT, ("review", "import"), [ITEM, LABEL, RATER, roles.SHEET]),
    ],
    ids=lambda each: each[-1] if isinstance(each, tuple) else "",
)
def test_a_command_has_every_option_that_its_door_spells(
    door: Door,
    words: tuple[str, ...],
    known: list[Option],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert {door.option(what) for what in known} <= helped(capsys, *words)


def test_the_config_has_every_setting_that_a_run_spells() -> None:
    config = compose_config(["dataset=verdicts", "dataset.path=t.csv"])["dataset"]
    assert {RUN.option(what).removeprefix("dataset.") for what in SETTINGS} <= set(
        map(str, config)
    )
    put(Path("t.csv"), "id,judge\n1,2\n")
    others = {roles.ORDER, *OF_COPIES}
    columns = {
        RUN.called(role): ("x",) for role in {*EVERY} - UNNAMED - OF_RUNS - others
    }
    assert dataset(Path("t.csv"), columns=columns).columns == columns
    with pytest.raises(
        ConfigError, match="It may name: text, id, label, judge, verdict"
    ):
        dataset(Path("t.csv"), columns={"order": "x"})
    assert [RUN.called(role) for role in FIELDS][:2] == ["id", "label"]


def test_options_are_spelled_as_they_are_typed() -> None:
    assert CHECK.typed(LABEL, "nota humana") == "--human 'nota humana'"
    assert RUN.typed(LABEL, "nota humana") == "dataset.columns.label=nota_humana"
    assert IMPORT.typed(ITEM, "caso") == "--item-id caso"
    assert CHECK.typed(roles.LABEL_SCALE, "-1:1") == "--human-scale=-1:1"
    assert RUN.typed(roles.LABEL_SCALE, "bad<ok") == "dataset.label_scale='bad<ok'"
    assert spelled(RUN, JUDGE, roles.SCALE) == {
        "judge_option": "dataset.columns.judge",
        "scale_option": "dataset.scale",
    }


def test_a_doubt_is_worded_by_the_door() -> None:
    doubt = Doubt(LABEL, "whose they are", {"a b": "1", "c": "2"}, none=True)
    asked = (
        "it is not clear whose they are. It may be `a b` (e.g. 1); `c` (e.g. 2). Type "
    )
    assert str(doubt.at(CHECK)) == (
        f"{asked}--human 'a b' or --human c, or --human none. For several of them, repeat --human."
    )
    assert str(doubt.at(RUN)) == (
        f"{asked}dataset.columns.label=a_b or dataset.columns.label=c, or dataset.columns.label=[]."
        " For several of them, type 'dataset.columns.label=[a_b,c]'."
    )
    # it has one column
    assert str(doubt.at(IMPORT)).endswith("Type --label 'a b' or --label c.")
    lacking = Doubt(ITEM, "there is no id")
    assert str(lacking.at(IMPORT)) == "there is no id. Name it: --item-id COLUMN."
    assert str(lacking.at(RUN)) == "there is no id. Name it: dataset.columns.id=COLUMN."


def test_a_question_is_worded_by_the_door() -> None:
    scale, labels = (roles.SCALE, "0-5"), (roles.LABEL_SCALE, "1<2")
    question = Question(
        "Two scales.", [Way("Declare:", [scale, labels]), Way("or", [scale])]
    )
    assert str(question.at(CHECK)) == (
        "Two scales. Declare: --scale 0-5 --human-scale '1<2', or --scale 0-5."
    )
    assert str(question.at(RUN)) == (
        "Two scales. Declare: dataset.scale=0-5 dataset.label_scale='1<2', or dataset.scale=0-5."
    )


GRADES = [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2]
TEXTS = [f"this is the text number {n} of them" for n in range(12)]


@pytest.mark.parametrize(
    ("names", "alike"),
    [
        (("human_ana", "human_ben"), True),
        # a run asked about these, and a check did not
        (("human_ana", "human_maria_jose"), True),
        (("label_1", "label_2", "label_3"), True),
        (("human_ana", "gold"), False),
        (("human", "human_2"), False),
        (("gold_human_first_round", "human_ben"), False),
    ],
)
def test_labels_of_several_people_are_known_by_one_rule_at_every_door(
    names: tuple[str, ...], alike: bool
) -> None:
    held = {name: GRADES for name in names}
    table = pd.DataFrame({"id": range(12), "text": TEXTS, **held}, dtype=object)
    judged = table.assign(judge_score=GRADES)
    if alike:
        assert find_columns(judged, TableOptions()).labels == names
        found = find_roles(table, "t", ["text"], [], {}, False)
        assert found.columns["label"] == names
        return
    asked = "which column holds the labels of people. It may be " + "; ".join(
        f"`{name}` (e.g. 1, 2)" for name in names
    )
    with pytest.raises(
        ConfigError, match=re.escape(f"{asked}. Type --human {names[0]} or")
    ):
        find_columns(judged, TableOptions())
    shown = f"{asked}. Type dataset.columns.label={names[0]} or"
    with pytest.raises(ConfigError, match=re.escape(shown)) as raised:
        find_roles(table, "t", ["text"], [], {}, False)
    assert "or dataset.columns.label=[]." in str(raised.value)
    assert f"'dataset.columns.label=[{','.join(names)}]'" in str(raised.value)


def test_words_are_labels_of_an_item_only_where_a_person_is_named() -> None:
    """Beside a judge a column of words may be what it is held against; alone it may be a fact."""
    words = ["tall", "small", "round"] * 4
    for name, is_label in (("human_class", True), ("class", False)):
        cells = pd.DataFrame(
            {"id": range(12), "text": TEXTS, name: words}, dtype=object
        )
        found = find_roles(cells, "t", ["text"], [], {}, False)
        assert found.columns["label"] == ((name,) if is_label else ())
        assert ("items.no_label" in [each.key for each in found.notes]) is not is_label
        judged = cells.assign(judge_class=words[::-1])
        assert find_columns(judged, TableOptions()).labels == (name,)


def test_columns_that_may_be_a_judges_are_peoples_only_where_nobody_judges() -> None:
    cells = {
        "id": range(12),
        "text": TEXTS,
        "nota_ana": GRADES,
        "nota_bia": GRADES[::-1],
    }
    table = pd.DataFrame(cells, dtype=object)
    found = find_roles(table, "t", ["text"], [], {}, False)
    assert found.columns["label"] == ("nota_ana", "nota_bia")
    with pytest.raises(
        ConfigError, match="Type --human nota_ana,nota_bia for all of them"
    ):
        find_columns(table.assign(judge_score=GRADES), TableOptions())


def test_a_file_of_labels_is_asked_about_in_its_own_options() -> None:
    """No option of another door is shown, and one that can leave the labels out is none of an
    import."""
    cells = pd.DataFrame(
        {"id": ["a", "b"], "human_ana": [1, 2], "gold": [2, 1]}, dtype=object
    )
    with pytest.raises(ConfigError, match=r"Type --label human_ana or --label gold\.$"):
        find_labels(cells, "l.csv", {})
    with pytest.raises(
        ConfigError, match=r"l\.csv: --item-id is 'x', which is no column\."
    ):
        find_labels(cells, "l.csv", {"item_id": "x"})
    formulas = pd.DataFrame({"id": ["a", "b"], "gold": ["=A1", "=A2"]}, dtype=object)
    with pytest.raises(ConfigError, match=r"or name another column: --label COLUMN\.$"):
        find_labels(formulas, "l.csv", {})


ENGLISH_AND_PORTUGUESE = [
    (ITEM, "item id", "caso"),
    (TEXT, "response", "resposta"),
    (roles.GROUP, "group", "grupo"),
    (roles.SYSTEM, "policy", "gerador"),
    (roles.CRITERION, "dimension", "dimensão"),
    (roles.REPEAT, "repeat", "rodada"),
    (roles.CONFIDENCE, "certainty", "certeza"),
    (RATER, "annotator", "anotadora"),
    (JUDGE, "judge name", "nome_juiz"),
]


@pytest.mark.parametrize(("role", "english", "portuguese"), ENGLISH_AND_PORTUGUESE)
def test_a_role_is_known_in_both_languages(
    role: Role, english: str, portuguese: str
) -> None:
    """In a table with a column of that name and what the role needs, it has the role."""
    held = {
        ITEM: [f"i{n}" for n in range(12)],
        TEXT: [f"this is the text number {n} of them" for n in range(12)],
        roles.REPEAT: [n % 2 for n in range(12)],
        roles.CONFIDENCE: [n / 12 for n in range(12)],
    }.get(role, [("uno", "duo")[n % 2] for n in range(12)])
    for name in (english, portuguese):
        cells = pd.DataFrame(
            {name: held, "verdict": [n % 5 for n in range(12)]}, dtype=object
        )
        found = find_columns(cells, TableOptions())
        kept = {TEXT: found.texts, roles.SYSTEM: found.systems, JUDGE: (found.judges,)}
        assert (kept[role] if role in kept else (getattr(found, role.name),)) == (name,)


def test_every_door_finds_ids_and_texts_by_the_same_records() -> None:
    cells = pd.DataFrame(
        {
            "caso": [f"i{n}" for n in range(12)],
            "resposta": [f"this is the text number {n} of them" for n in range(12)],
            "veredito": [n % 5 for n in range(12)],
            "rótulo": [n % 4 for n in range(12)],
        },
        dtype=object,
    )
    checked = find_columns(cells, TableOptions())
    assert (checked.item, checked.texts, checked.labels) == (
        "caso",
        ("resposta",),
        ("rótulo",),
    )
    assert find_texts(cells, "t", (), None).columns == {
        "text": ("resposta",),
        "item": ("caso",),
    }
    filled = find_labels(cells, "t", {}).columns
    assert (filled["item_id"], filled["label"]) == (("caso",), ("rótulo",))


def test_choices_are_refused_by_a_run_before_it_asks_how_they_are_numbered() -> None:
    """No setting says how they are numbered, so that the question would be a dead end."""
    rows = [
        {
            "id": n // 2,
            "order": ("ab", "ba")[n % 2],
            "choice": "AB"[n % 2],
            "human": "A",
        }
        for n in range(200)
    ]
    rows += [
        {
            "id": 100 + n // 2,
            "order": ("ab", "ba")[n % 2],
            "choice": "BA"[n % 2],
            "human": "B",
        }
        for n in range(200)
    ]
    with pytest.raises(DataError, match="pairwise, which are no scores of a rubric"):
        dataset(put(Path("t.jsonl"), rows)).load()


def test_no_role_is_called_as_another_at_the_same_door() -> None:
    for door in (CHECK, RUN, OF_TEXTS, IMPORT):
        called = [door.called(role) for role in EVERY]
        assert len(called) == len(set(called)) == len({*EVERY}), door
    assert {VERDICT, LABEL, JUDGE} <= {*EVERY}
