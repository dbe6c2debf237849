"""Tables as people export them are read at the first command, or asked about with the right option
first; and what a rule must not take for something else stays what it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.datasets.test_table import read, told
from undogmatic.datasets import explain
from undogmatic.datasets.frames import read_frame
from undogmatic.datasets.table import TableOptions
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.evidence import Evidence
from undogmatic.stats.surface import without_shared

N = 60
WORDS = (
    "amber brook cedar dune ember fjord grove heath islet jetty knoll lagoon".split()
)
Column = Callable[[int], Any] | Sequence[Any]


def text(i: int) -> str:
    """A text that is like no other."""
    return " ".join(f"{word}{i * 7 + n}" for n, word in enumerate(WORDS))


def grade(i: int) -> int:
    return i * 7 % 5 + 1


def near(i: int) -> int:
    return min(5, max(1, grade(i) + (i % 4 == 0) - (i % 7 == 0)))


def of(*words: Any, every: int = 0) -> Callable[[int], Any]:
    """Words in turn, with the last in every so many rows where the turn says another."""
    return lambda i: words[-1] if every and i % every == 0 else words[i % len(words)]


def quoted(cell: Any) -> str:
    written = "" if cell is None else str(cell)
    return (
        '"' + written.replace('"', '""') + '"'
        if set(written) & set(',"\n')
        else written
    )


def csv(columns: Mapping[str, Column], n: int = N) -> str:
    """A table with an id and a text, where the columns do not name these."""
    given = {"id": lambda i: i, "text": text} | dict(columns)
    rows = (
        ",".join(
            quoted(held(i) if callable(held) else held[i]) for held in given.values()
        )
        for i in range(n)
    )
    return "\n".join([",".join(map(quoted, given)), *rows]) + "\n"


def table(columns: Mapping[str, Column], **options: Any) -> Evidence:
    return read(csv(columns), **options)


def asked(columns: Mapping[str, Column], **options: Any) -> str:
    with pytest.raises((ConfigError, DataError)) as error:
        table(columns, **options)
    return str(error.value)


def people(found: Evidence) -> list[str]:
    return list(found.labels["rater"].unique())


# What says nothing, and what is a category


def test_what_one_side_abstains_from_is_counted_and_a_scale_makes_it_a_category() -> (
    None
):
    columns = {
        "judge": of("yes", "no", "yes", "inconclusive"),
        "human": of("yes", "no"),
    }
    found = table(columns)
    assert (found.kind, told(found)["abstained"]["n"]) == ("pass_fail", N // 4)
    named = table(columns, scale="no<inconclusive<yes")
    assert named.verdicts["verdict"].notna().all()


@pytest.mark.parametrize(
    "word", ["n/a", "none", "?", "declined", "unknown", "no error"]
)
def test_a_word_of_both_sides_is_a_category(word: str) -> None:
    found = table(
        {"judge": of("style", "facts", word), "human": of("facts", word, "style")}
    )
    assert word in found.categories
    assert len(found.labels) == N


def test_beside_numbers_no_word_is_a_category() -> None:
    found = table({"judge": of(1, 4, 5, "n/a"), "human": of(2, 4, "n/a", 5)})
    assert found.kind == "numeric"
    assert told(found)["not_applicable"]["n"] == N // 4


def test_what_programs_write_for_nothing_is_no_category() -> None:
    """R writes NA where a person did not label, and Python None."""
    raters = {
        f"human_{n}": (lambda i, n=n: "NA" if i % 3 != n else of("ok", "bad")(i))
        for n in (0, 1, 2)
    }
    found = table({"judge": of("bad", "ok", "NA"), **raters})
    assert found.categories == ("bad", "ok")
    found = table(
        {"judge": of("style", "facts"), "human": of("style", "facts", "None")}
    )
    assert "none" not in found.categories
    assert told(found)["nothing"]["n"] == N // 3


def test_what_people_say_of_most_items_is_a_category_where_they_leave_others_empty() -> (
    None
):
    """People who say "unknown" of most items that they label say it: what they did not label is
    empty."""
    words = of("unknown", "good", "unknown", "bad", "unknown")
    raters = {
        f"human_{n}": (lambda i, n=n: "" if i % 3 == n else words(i)) for n in (0, 1, 2)
    }
    found = table({"judge": words, **raters})
    assert found.categories == ("bad", "good", "unknown")
    # Where no cell is empty, the word may be what fills it.
    full = {
        f"human_{n}": (lambda i, n=n: "unknown" if i % 3 else words(i))
        for n in (0, 1, 2)
    }
    assert "unknown" not in table({"judge": words, **full}).categories


def test_invisible_characters_and_case_make_no_other_word() -> None:
    odd = of(
        "Pass", "fail\N{ZERO WIDTH SPACE}", "\N{ZERO WIDTH NO-BREAK SPACE}PASS", "FAIL "
    )
    found = table({"judge": odd, "human": of("pass", "fail")})
    assert (found.kind, found.verdicts["verdict"].notna().sum()) == ("pass_fail", N)


def test_percentages_and_shares_of_one_column_are_on_one_scale() -> None:
    found = table(
        {"judge": of("80%", 0.8, "25%", 0.1), "human": of(0.7, 0.9, 0.3, 0.05)}
    )
    assert (found.scale, list(found.verdicts["verdict"][:3])) == (
        (0, 1),
        [0.8, 0.8, 0.25],
    )
    whole = table({"judge": of("80%", "25%", "60%"), "human": of("70%", "20%", "50%")})
    assert whole.scale == (0, 100)


def test_words_for_numbers_are_numbers_unless_a_scale_names_them() -> None:
    columns = {"judge": of("one", "Three", "five"), "human": of(1, 3, 5)}
    assert table(columns).kind == "numeric"
    found = table(columns, scale="one<three<five", human_scale="1<3<5")
    assert (found.kind, found.categories) == ("ordered", ("one", "three", "five"))
    pt = table({"juiz": of("um", "três", "cinco"), "humano": of(1, 3, 5)})
    assert list(pt.verdicts["verdict"][:3]) == [1, 3, 5]


# Numbers that are no grades


@pytest.mark.parametrize(
    ("judge", "human", "options", "lost"),
    [
        (of(0, 1, 3, 5), of(1, 2, 4, 5), {"scale": "1-5"}, "verdicts"),
        (of(-1, 1, 3, 5), of(1, 2, 4, 5), {"scale": "1-5"}, "verdicts"),
        (of(99, 1, 3, 5), of(1, 2, 4, 5), {"scale": "1-5"}, "verdicts"),
        (of(1, 2, 3, 5), of(999, 2, 4, 5), {"scale": "1-5"}, "labels"),
        (of(-1, 0, 1, 1), of(0, 0, 1, 1), {"kind": "pass_fail"}, "verdicts"),
    ],
    ids=["zero", "minus one", "99", "999 of people", "pass and fail"],
)
def test_a_number_that_may_mean_nothing_is_asked_about(
    judge: Column, human: Column, options: dict[str, str], lost: str
) -> None:
    columns = {"judge": judge, "human": human}
    first = next(f"--{name} {value}" for name, value in options.items())
    assert f"type {first}, if it is a grade: " in asked(columns)
    found = table(columns, **options)
    held = told(found).get("off_scale") or told(found)["unreadable"]
    assert (held["what"], held["n"]) == (lost, N // 4)


@pytest.mark.parametrize(
    ("judge", "human", "scale"),
    [
        (of(-1, 0, 1), of(0, -1, 1), (-1, 1)),
        (of(0, 1, 3, 5), of(0, 2, 4, 5), (0, 5)),
        (of(1, 0, 3, 5), of(2, 3, 4, 5), (0, 5)),  # people may as well begin at 0
        (of(0.0, 0.4, 1.0), of(0.2, 0.6, 1.0), (0, 1)),
        (of(0, 40, 99), of(10, 60, 99), (0, 100)),
    ],
)
def test_a_grade_at_the_end_of_a_scale_is_a_grade(
    judge: Column, human: Column, scale: tuple[float, float]
) -> None:
    found = table({"judge": judge, "human": human})
    assert found.scale == scale
    assert found.verdicts["verdict"].notna().all()


def test_nearly_one_scale_is_one() -> None:
    found = table({"judge": of(*range(6)), "human": of(*range(7))})
    assert found.scale == (0, 6)


# Whose a column is


@pytest.mark.parametrize(
    ("columns", "judges", "raters"),
    [
        ({"nova": near, "human": grade}, ["nova"], ["human"]),
        (
            {"zephyr": of("a1", "b1"), "baseline": of("b1", "a1", "a1"), "gold": of("a1", "b1")},
            ["zephyr", "baseline"],
            ["gold"],
        ),
        ({"label": of(0, 1), "nova_label": of(0, 1, 1)}, ["nova_label"], ["label"]),
        ({"judge_score": near, "judge_seconds": grade, "human": grade}, ["judge_score"], ["human"]),
        ({"judge": near, "human": grade, "human_age": grade, "rank": grade}, ["judge"], ["human"]),
        ({"judge": near, "target_hash": of("c4", "9d"), "human": grade}, ["judge"], ["human"]),
        ({"judge_rank": near, "human_rank": grade}, ["judge_rank"], ["human_rank"]),
        ({"judge_prob": lambda i: i % 10 / 10, "human": of(0, 1)}, ["judge_prob"], ["human"]),
        ({"verdict": of("ok", "bad"), "verdict_upper": of("OK", "BAD"), "gold": of("ok", "bad", "bad")},
         ["verdict"], ["gold"]),
        ({"judge": of(0, 1), "is_long": of(1, 0, 0), "human": of(0, 1, 1)}, ["judge"], ["human"]),
        ({"judge": of("ok", "bad"), "annotator": of("bad", "ok", "ok")}, ["judge"], ["annotator"]),
        ({"nota_do_juiz": near, "nota humana": grade}, ["nota_do_juiz"], ["nota humana"]),
        ({"judge_1": near, "judge_2": near, "human_1": grade, "human_2": near},
         ["judge_1", "judge_2"], ["human_1", "human_2"]),
    ],
    ids=lambda each: ",".join(each) if isinstance(each, dict) else "",
)  # fmt: skip
def test_whose_a_column_is(
    columns: Mapping[str, Column], judges: list[str], raters: list[str]
) -> None:
    found = table(columns)
    assert (list(found.judges), people(found)) == (judges, raters)


def test_a_column_of_many_categories_is_read_where_its_name_says_whose_it_is() -> None:
    relations = [f"relation {letter}" for letter in "abcdefghijklmno"]
    found = table(
        {"gpt": of(*relations), "human": of(*relations[1:], relations[0]), "cue": text}
    )
    assert (found.kind, len(found.categories)) == ("unordered", 15)


@pytest.mark.parametrize("most", [1, 100])
def test_a_confidence_is_that_of_the_judge_in_its_name(most: int) -> None:
    sure = lambda i: round(most * (0.5 + i % 50 / 100), 2)  # noqa: E731
    found = table(
        {
            "gpt4_label": of("ok", "bad"),
            "gpt4_confidence": sure,
            "claude_label": of("ok", "bad", "bad"),
            "claude_certainty": lambda i: sure(i + 1),
            "human": of("ok", "bad"),
        }
    )
    assert list(found.judges) == ["gpt4_label", "claude_label"]
    assert found.verdicts["confidence"].notna().all()
    first = found.verdicts.groupby("judge", sort=False)["confidence"].first()
    assert list(first) == [sure(0), sure(1)]


def test_columns_that_may_be_peoples_are_asked_about_together_or_left_out() -> None:
    columns = {"judge": near, "ana": grade, "bruno": near}
    columns["bruno"] = lambda i: grade(i + 1)
    said = asked(columns)
    assert "Type --human ana,bruno for all of them" in said
    assert "or --human none." in said
    assert people(table(columns, human=("ana,bruno",))) == ["ana", "bruno"]
    assert "no_labels" in told(table(columns, human=("none",)))
    # Of 0 and 1 anything may be said: that a text is urgent is no label.
    assert "read_neither" in told(table({"judge": of(0, 1), "urgent": of(1, 1, 0)}))


def test_the_labels_are_not_offered_as_verdicts() -> None:
    said = asked({"annotator1": grade, "annotator2": near})
    assert "`annotator1`, `annotator2` are labels of people" in said
    assert "--judge annotator1" not in said


# Who labelled, and what is in a cell


def test_numbers_of_workers_are_raters_beside_a_column_that_says_what_the_judge_says() -> (
    None
):
    rows = "\n".join(
        f"{i},{text(i)},{grade(i)},{worker},{near(i + worker)}"
        for i in range(20)
        for worker in (1, 2, 3)
    )
    found = read(f"item,text,llm_rating,worker_id,quality\n{rows}\n")
    assert (people(found), len(found.labels)) == (["1", "2", "3"], 60)


def test_labels_of_several_people_in_a_cell_are_those_of_each() -> None:
    cell = lambda i: json.dumps({"ana": grade(i), "ben": near(i)})  # noqa: E731
    found = table({"judge": near, "labels": cell})
    assert people(found) == ["labels_ana", "labels_ben"]
    listed = table(
        {"judge": near, "human_scores": lambda i: str([grade(i), near(i), 3])}
    )
    assert len(people(listed)) == 3
    votes = table(
        {
            "judge": of("yes", "no"),
            "human_votes": of('{"yes": 3, "no": 2}', '{"no": 5}'),
        }
    )
    assert (len(people(votes)), len(votes.labels)) == (5, 5 * N)
    first = votes.labels[votes.labels["rater"] == people(votes)[0]]
    assert first["label"].nunique() == 2, "whose vote it was says nothing"
    said = asked(
        {"judge": of("yes", "no"), "human_votes": of('{"yes": 0.6, "no": 0.4}')}
    )
    assert "shares of people" in said


@pytest.mark.parametrize("mark", ["; ", ";", "|", ", "])
def test_labels_of_several_people_between_marks_are_those_of_each(mark: str) -> None:
    three = of("red", "blue", "green")
    cell = lambda i: mark.join([three(i), three(i), three(i + i % 2)])  # noqa: E731
    found = table({"judge": three, "human_labels": cell})
    assert (len(people(found)), len(found.labels)) == (3, 3 * N)
    # A label with such a mark in it, which the judge says too, is one label.
    whole = table({"judge": of("a; b", "c"), "human": of("a; b", "c", "c")})
    assert whole.categories == ("a; b", "c")


def test_votes_for_categories_of_the_judge_are_votes() -> None:
    votes = of('{"red": 3, "blue": 2}', '{"blue": 5}')
    found = table({"judge": of("red", "blue"), "human_votes": votes})
    assert (len(people(found)), found.categories) == (5, ("blue", "red"))


@pytest.mark.parametrize(
    "cells", [('["a1"]', '["a1", "b1"]'), ("['a1']", "['b1', 'a1']")]
)
def test_lists_in_which_no_label_comes_twice_name_what_may_be_right(
    cells: tuple[str, str],
) -> None:
    found = table(
        {"judge": of("a1", "c1", "b1", "a1"), "gold": of(cells[0], cells[1], "['c1']")}
    )
    assert (people(found), told(found)["several"]["n"]) == (["gold"], (N + 1) // 3)


def test_a_verdict_that_may_be_right_is_counted_and_no_agreement() -> None:
    """A judge that draws lots meets most sets of two among three; so chance is said beside it."""
    found = table(
        {"judge": of("a1", "b1", "c1"), "gold": of("a1|b1", "a1|b1", "a1|b1", "c1")}
    )
    known = told(found)["acceptable"]
    judged = [("a1", "b1", "c1")[i % 3] for i in range(N) if i % 4 < 3]
    assert (known["n"], known["met"]) == (
        len(judged),
        sum(word != "c1" for word in judged),
    )
    assert known["chance"] == pytest.approx(2 / 3, abs=0.02)
    assert len(found.labels) == N // 4


def test_lists_that_are_no_labels_stay_in_their_cells() -> None:
    contexts = lambda i: json.dumps([text(i), text(i + 100)])  # noqa: E731
    found = table({"retrieved_contexts": contexts, "judge": near, "human": grade})
    assert people(found) == ["human"]


def test_several_acceptable_labels_are_told() -> None:
    found = table(
        {"judge": of("a1", "b1", "c1"), "gold": of("a1", "b1", "c1", "a1|b1")}
    )
    assert found.categories == ("a1", "b1", "c1")
    assert told(found)["several"]["n"] == N // 4
    both = table({"judge": of("a1", "a1|b1", "b1"), "gold": of("a1", "b1", "a1|b1")})
    assert both.categories == ("a1", "a1|b1", "b1"), "what both sides say is a category"


def test_words_beside_shares_of_people_are_the_ends_of_the_shares() -> None:
    found = table({"judge": of("yes", "no"), "human_share": of(0.8, 0.2, 1, 0)})
    assert (found.kind, found.scale, list(found.verdicts["verdict"][:2])) == (
        "numeric",
        (0, 1),
        [1, 0],
    )


# Kinds


def pairs(**columns: Column) -> dict[str, Column]:
    return {
        "text": lambda i: "say it",
        "output_1": text,
        "output_2": lambda i: text(i + 500),
        **columns,
    }


@pytest.mark.parametrize(
    ("judge", "human", "ties"),
    [
        (of(1, 2, 0), of(2, 1, 0), True),
        (of(1, 2, "Tie"), of(0, 1, 2), True),
        (of("A>B", "B>A", "A=B", "A>>B"), of("A>B", "B>A"), True),
        (of(1.0, 2.0, 1.5, 1.2), of(1, 2), True),
        (of("A", "B"), of("B", "A", "A"), False),
        (of(1, 2, *[1, 2] * 10, "garbage"), of(0, 1, 2), True),
    ],
    ids=[
        "0, 1, 2",
        "a tie in words",
        "A>B",
        "between 1 and 2",
        "A and B",
        "a few unread",
    ],
)
def test_choices_are_known_however_they_are_written(
    judge: Column, human: Column, ties: bool
) -> None:
    found = table(pairs(judge_preference=judge, human_preference=human))
    assert found.kind == "pairwise"
    assert ("tie" in found.categories) is ties
    assert found.labels["label"].notna().all()


def test_a_tie_tells_choices_where_no_output_is_shown() -> None:
    assert (
        table({"gpt": of("A", "B", "tie"), "human": of("B", "A", "tie")}).kind
        == "pairwise"
    )
    answers = table({"gpt": of("A", "B", "C", "D"), "human": of("B", "A", "C", "D")})
    assert answers.kind == "unordered", (
        "the answers to a question are no choices of two outputs"
    )
    grades = table({"gpt": of(0, 1, 2), "human": of(2, 1, 0)})
    assert (grades.kind, grades.scale) == ("numeric", (0, 2))


def test_both_orders_in_columns_of_their_own_are_one_judge() -> None:
    found = table(
        pairs(
            judge_original=of("A", "B"),
            judge_swapped=of("A", "B", "B"),
            human=of("A", "B"),
        )
    )
    assert (list(found.judges), found.verdicts["order"].nunique()) == (["judge"], 2)


def test_criteria_in_columns_of_their_own_are_kept_apart() -> None:
    names = ("coherence", "fluency")
    columns: dict[str, Column] = {
        f"{who}_coherence": near for who in ("gpt4", "claude", "expert")
    }
    columns |= {
        f"{who}_fluency": lambda i: 10 * grade(i)
        for who in ("gpt4", "claude", "expert")
    }
    found = table(columns)
    assert sorted(found.criteria) == sorted(names)
    assert (len(found.judges), people(found)) == (2, ["expert"])
    assert len(found.labels) == 2 * N
    raters = {
        f"{name}_expert_{n}": (lambda i, n=n: near(i + n))
        for name in names
        for n in (1, 2, 3)
    }
    found = table({f"{name}_llm": near for name in names} | raters)
    assert (list(found.judges), people(found)) == (
        ["llm"],
        ["expert_1", "expert_2", "expert_3"],
    )


def test_files_of_trec_are_read_without_a_header() -> None:
    def lines(turn: int) -> str:
        return "".join(f"q{i // 5} 0 doc{i} {(i + turn) % 3}\n" for i in range(30))

    found = read(lines(0), lines(1), names=("llm.qrels", "nist.qrels"))
    assert (len(found.items), found.items["group"].nunique()) == (30, 6)
    assert (len(found.judges), len(found.labels)) == (1, 30)
    run = "".join(
        f"q{i // 5} Q0 doc{i} {i % 5 + 1} {9.5 - i % 5} bm25\n" for i in range(30)
    )
    assert len(read(run, names=("run.txt",)).verdicts) == 30


def test_ids_that_come_again_with_other_texts_are_asked_about() -> None:
    def lines(passage: Callable[[int], str], again: int) -> str:
        rows = (
            f"{i // again},{i % again},{passage(i)},{grade(i)},{near(i)}"
            for i in range(N)
        )
        return "\n".join(["id,passage_id,passage,judge,human", *rows]) + "\n"

    with pytest.raises(ConfigError, match="--item id,passage_id"):
        read(lines(text, 3))
    assert len(read(lines(text, 3), item="id,passage_id").items) == N


def test_repeats_of_one_text_stay_repeats() -> None:
    rows = "\n".join(
        f"{i // 2},{text(i // 2)},{near(i)},{grade(i // 2)}" for i in range(N)
    )
    found = read(f"id,text,judge,human\n{rows}\n")
    assert found.verdicts["repeat"].nunique() == 2


# What belongs together


PROMPT = " ".join(f"rule{n}" for n in range(60))


def test_what_most_texts_share_ties_nothing_together() -> None:
    found = table(
        {"text": lambda i: f"{PROMPT} {text(i)}", "judge": near, "human": grade}
    )
    assert found.items["group"].nunique() == N
    assert told(found)["group_shared"]["columns"] == ["`text`"]


def test_near_copies_behind_a_shared_prompt_are_still_together() -> None:
    again = lambda i: f"{PROMPT} {text(i // 2)} {'again' * (i % 2)}"  # noqa: E731
    found = table({"text": again, "judge": near, "human": grade})
    assert found.items["group"].nunique() == N // 2
    assert told(found)["group_text"]["example"] == "0 = 1"


def test_only_what_many_share_is_left_out() -> None:
    few = [text(i) for i in range(9)]
    assert without_shared([f"{PROMPT} {each}" for each in few])[0].startswith("rule0")
    texts = [f"{PROMPT} {text(i)}" if i % 3 == 0 else text(i) for i in range(30)]
    assert without_shared(texts) == texts
    assert without_shared([f"{PROMPT} end{i}" for i in range(12)])[3] == "end3"


def test_a_group_that_somebody_names_is_final() -> None:
    columns = {"text": lambda i: text(i // 2), "site": lambda i: f"s{i % 6}", "judge": near,
               "human": grade}  # fmt: skip
    found = table(columns, group="site")
    assert found.items["group"].nunique() == 6
    assert "group_typed" in told(found)
    alone = table(columns, group="none")
    assert alone.items["group"].nunique() == N
    assert "group_none" in told(alone)


# What is suggested


def test_an_order_is_suggested_only_where_something_tells_it() -> None:
    letters = of("F", "C", "A")
    said = asked({"judge": letters, "human": of(1, 3, 5)})
    assert "type --scale 'f<c<a' --human-scale '1<3<5'" in said
    assert "the other way round: --scale 'a<c<f' --human-scale '1<3<5'" in said
    found = table(
        {"judge": letters, "human": of(1, 3, 5)}, scale="f<c<a", human_scale="1<3<5"
    )
    assert found.kind == "ordered"
    odd = {
        "judge": of("weak", "soso", "strong"),
        "human": of("meia", "alta", "alta", "baixa"),
    }
    assert "--scale '" not in asked(odd) or "--kind unordered" in asked(odd)
    said = asked(
        {"judge": of("x1", "y1", "z1"), "human": of("x1", "y1", "z1")}, kind="ordered"
    )
    assert said.endswith("Without an order, type --kind unordered.")


def test_words_that_stand_beside_each_other_are_suggested_as_the_same() -> None:
    columns = {
        "judge": of("weak", "soso", "strong"),
        "human": of("fraca", "comum", "forte"),
    }
    said = asked(columns)
    assert (
        "--kind unordered --scale 'soso<strong<weak' --human-scale 'comum<forte<fraca'"
        in said
    )
    found = table(
        columns,
        kind="unordered",
        scale="soso<strong<weak",
        human_scale="comum<forte<fraca",
    )
    merged = found.verdicts.merge(found.labels, on="item")
    assert (merged["verdict"] == merged["label"]).all()


# What is explained


def test_each_column_is_explained_with_why_and_what_else_it_may_be() -> None:
    Path("a.csv").write_text(csv({"judge": near, "ana": grade, "judge_seconds": grade}))
    found, question = explain.roles_of_columns([read_frame("a.csv")], TableOptions())
    roles = {each.name: (each.role, each.why) for each in found}
    assert question is not None
    assert roles["judge_seconds"] == ("slice", "measured")
    assert (roles["text"][0], roles["judge"][0]) == ("text", "judge")
    found, question = explain.roles_of_columns(
        [read_frame("a.csv")], TableOptions(human=("ana",))
    )
    roles = {each.name: (each.role, each.why) for each in found}
    assert question is None
    assert roles["judge"] == ("judge", "by_name")
    assert roles["ana"] == ("human", "typed")
    others = {each.name: each.otherwise for each in found}
    assert others["ana"][0] == "--judge ana"
    assert others["judge_seconds"] == []


# Tables as people have them


def test_one_criterion_that_people_labelled_is_held_against_that_criterion() -> None:
    columns = {"gpt4_style": near, "gpt4_facts": grade, "gpt4_overall": near}
    found = table(columns | {"human_overall": grade})
    assert list(found.judges) == ["gpt4"]
    assert set(found.labels["criterion"]) == {"overall"}
    assert set(found.verdicts["criterion"]) == {"style", "facts", "overall"}
    # Several judges on one criterion are several judges.
    found = table(
        {"gpt_overall": near, "claude_overall": grade, "human_overall": grade}
    )
    assert list(found.judges) == ["gpt_overall", "claude_overall"]


def test_the_majority_of_people_is_no_further_person() -> None:
    people_of = {f"ann{n}": of("no", "yes", "no", "yes") for n in (1, 2, 3)}
    found = table(
        people_of | {"majority": of("no", "yes"), "gpt4": of("no", "yes", "yes")}
    )
    assert (list(found.judges), people(found)) == (["gpt4"], ["ann1", "ann2", "ann3"])
    assert told(found)["aggregates"]["columns"] == ["`majority`"]
    assert not [name for name in found.items if "majority" in str(name)]
    # Where nobody's own labels stand beside it, it is the label.
    alone = table({"gpt4": of("no", "yes", "yes"), "majority_label": of("no", "yes")})
    assert people(alone) == ["majority_label"]


def test_a_fact_that_the_judge_speaks_of_is_asked_about() -> None:
    columns = {
        "llm_says_toxic": of("TRUE", "FALSE"),
        "is_toxic": of("TRUE", "FALSE", "TRUE"),
    }
    assert "Type --human is_toxic, or --human none." in asked(columns)
    other = table(
        {"llm_says_toxic": of("TRUE", "FALSE"), "is_long": of("TRUE", "FALSE", "TRUE")}
    )
    assert people(other) == []


def test_documents_that_differ_are_texts_and_no_groups() -> None:
    lines = "\n".join(f"q{i // 6},{text(i)},{grade(i)},{near(i)}" for i in range(30))
    found = read(f"query,doc,llm_relevance,qrel\n{lines}\n")
    assert (found.items["group"].nunique(), found.items["text"].nunique()) == (5, 30)
    lines = "\n".join(f"d{i // 6},{text(i)},{grade(i)},{near(i)}" for i in range(30))
    found = read(f"doc,answer,llm_relevance,qrel\n{lines}\n")
    assert found.items["group"].nunique() == 5


@pytest.mark.parametrize("name", ["sample.text", "Texto da peça", "full_text"])
def test_a_column_that_is_called_a_text_among_others_is_the_text(name: str) -> None:
    def shown(*names: str) -> Evidence:
        rows = (
            ",".join([*(text(i) for _ in names), str(grade(i)), str(near(i))])
            for i in range(20)
        )
        head = ",".join([*names, "judge", "human"])
        return read("\n".join([head, *rows]) + "\n")

    found = shown(name, "expected.answer")
    assert "text" in found.items and told(found)["read_roles"]["roles"][0].startswith(
        "`--text "
    )
    assert "text" not in shown(name, "other_text").items, (
        "which of them it is cannot be known"
    )
    assert "slice.prompt_text" in shown("prompt_text", "response").items
    assert told(shown("inputs", "outputs"))["read_roles"]["roles"] == [
        "`--text outputs`"
    ]
    assert "text" not in shown("expected.text").items, "what is expected was not judged"
