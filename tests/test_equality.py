"""The harness that compares what commands answer finds each kind of change, and nothing else."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.equality import __main__ as harness
from benchmarks.equality import answers, sessions, typing_in
from benchmarks.equality.compare import (
    Accepted,
    Difference,
    differences,
    judged,
    read_accepted,
)
from tests.conftest import Capture, typed

pytestmark = pytest.mark.slow

Answer = dict[str, Any]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """What two real commands answer: one that is refused, and one that prints JSON and a card."""
    folder = tmp_path_factory.mktemp("session")
    table = folder / "t.csv"
    rows = [
        f"{n},text number {n} of some words,{n % 3 + 1},{n % 3 + 1}" for n in range(30)
    ]
    table.write_text(
        "\n".join(["item,text,human,judge", *rows]) + "\n", encoding="utf-8"
    )
    lines = ("check nothing.csv", "check t.csv --scale 1-3 --card card.json --json")
    printed = []
    for line in lines:
        done = typed("undogmatic.cli", *line.split(), folder=folder)
        printed.append(
            typing_in.Printed(line, done.returncode, done.stdout, done.stderr)
        )
    return answers.answer(printed, folder, {"t.csv"}, answers.Quoted.none())


def changed(stored: Answer, change: Callable[[Answer], object]) -> list[Difference]:
    """What is found where a change was made to an answer."""
    now = copy.deepcopy(stored)
    change(now)
    return differences("refused", stored, now)


def test_an_answer_has_status_messages_json_and_what_was_written(
    stored: Answer,
) -> None:
    refused, said = stored["commands"]
    assert refused["status"] == 2 and "nothing.csv" in refused["stderr"][0]
    assert refused["stdout"] == []
    assert said["status"] == 0 and said["json"]["judges"][0]["judge"] == "judge"
    assert stored["files"]["card.json"]["judge"] == "judge"
    assert "t.csv" not in stored["files"]


def test_an_answer_equals_itself_also_when_stored(
    stored: Answer, tmp_path: Path
) -> None:
    harness.store("refused", stored, tmp_path)
    session = sessions.Session("refused", ("undogmatic check nothing.csv",), True)
    assert list(harness.compare([(session, stored)], tmp_path)) == []
    assert harness.left_over([session], tmp_path) == []


def test_a_changed_digit_is_found_and_named(stored: Answer) -> None:
    figures = stored["commands"][1]["json"]["judges"][0]["figures"]
    name, figure = next(
        (name, figure) for name, figure in figures.items() if figure["interval"]
    )
    low = figure["interval"][0]

    def change(now: Answer) -> None:
        now["commands"][1]["json"]["judges"][0]["figures"][name]["interval"][0] = (
            low + 1e-6
        )

    (found,) = changed(stored, change)
    assert found.field == f"commands/1/json/judges/0/figures/{name}/interval/0"
    assert (found.before, found.after) == (low, low + 1e-6)


def test_a_lost_sentence_is_found_and_those_beside_it_are_not(stored: Answer) -> None:
    sentences = ["The first.", "The second.", "The third."]
    before = {"commands": [{"stdout": sentences}]}
    found = differences(
        "x", before, {"commands": [{"stdout": ["The first.", "The third."]}]}
    )
    assert found == [Difference("x", "commands/0/stdout", "The second.", None)]
    assert "The second." in str(found[0]) and "(nothing)" in str(found[0])


def test_a_changed_message_is_found(stored: Answer) -> None:
    message = stored["commands"][0]["stderr"][0]

    def change(now: Answer) -> None:
        now["commands"][0]["stderr"][0] = message.replace(
            "does not exist", "is not there"
        )

    (found,) = changed(stored, change)
    assert found.field == "commands/0/stderr"
    assert found.before == message and "is not there" in found.after


def test_a_changed_exit_status_is_found(stored: Answer) -> None:
    found = changed(stored, lambda now: now["commands"][0].update(status=1))
    assert found == [Difference("refused", "commands/0/status", 2, 1)]


def test_a_file_that_is_not_written_any_more_is_found(stored: Answer) -> None:
    (found,) = changed(stored, lambda now: now["files"].pop("card.json"))
    assert found.field == "files/card.json" and found.after is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": None}, {"a": 0}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": [1, 2]}, {"a": [1, 2, 3]}),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}),
        ({"a": "1"}, {"a": 1}),
        ({"a": []}, {"a": {}}),
    ],
)
def test_no_change_of_kind_or_length_is_lost(before: Any, after: Any) -> None:
    assert len(differences("x", before, after)) == 1


def test_a_list_that_is_longer_by_one_differs_by_one(stored: Answer) -> None:
    before = [{"n": n, "rest": "same"} for n in range(5)]
    found = differences("x", {"a": before}, {"a": [*before[:2], {"n": 9}, *before[2:]]})
    assert found == [Difference("x", "a", None, {"n": 9})]


GONE = Difference("check_demo", "commands/0/stdout", "old line", "new line")
OTHER = Difference("check_demo", "commands/0/stdout", "another line", None)


def test_an_accepted_difference_is_no_error(capsys: Capture) -> None:
    entry = Accepted(
        "check_demo", "commands/0/stdout", "it is right now", before="old line"
    )
    assert harness.report([GONE], [entry], ["check_demo"], ["check_demo"]) == 0
    assert "1 differences are accepted" in capsys.readouterr().out


def test_what_is_accepted_of_one_line_is_not_of_another(capsys: Capture) -> None:
    entry = Accepted(
        "check_demo", "commands/0/stdout", "it is right now", before="old line"
    )
    assert harness.report([GONE, OTHER], [entry], ["check_demo"], ["check_demo"]) == 1
    printed = capsys.readouterr().out
    assert "another line" in printed and "old line" not in printed
    every = Accepted("check_*", "*", "all")
    outcome = judged([GONE, OTHER], [every], ["check_demo"], ["check_demo"])
    assert outcome.unexpected == []


@pytest.mark.parametrize(
    ("before", "after", "covered"),
    [
        ("kappa 0.36 [0.17, 0.53]*", "*", True),
        ("kappa 0.36 *, 150 items", "kappa 0.37 [0.17, 0.53], 150 items", True),
        ("kappa 0.36 [0.17, 0.54]*", "*", False),
        ("kappa 0.36", "*", False),
        (None, "*", False),
    ],
)
def test_a_star_stands_for_anything(
    before: str | None, after: str, covered: bool
) -> None:
    lines = [f"kappa {kappa} [0.17, 0.53], 150 items" for kappa in ("0.36", "0.37")]
    difference = Difference("x", "y", *lines)
    assert Accepted("*", "y", "why", before, after).covers(difference) == covered


def test_a_stale_acceptance_is_said(capsys: Capture) -> None:
    entry = Accepted("check_*", "commands/0/status", "a reason of old")
    assert harness.report([], [entry], ["check_demo"], ["check_demo"]) == 0
    said = "differs no longer: check_*  commands/0/status  (a reason of old)"
    assert said in capsys.readouterr().out


def test_an_acceptance_is_not_stale_where_what_it_names_was_not_compared(
    capsys: Capture,
) -> None:
    entry = Accepted("check_*", "commands/0/status", "a reason")
    assert (
        harness.report([], [entry], ["check_demo"], ["check_demo", "check_other"]) == 0
    )
    assert "differs no longer" not in capsys.readouterr().out


def test_an_acceptance_without_a_reason_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "accepted.yaml"
    path.write_text("- {command: a, field: b}\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"entry 1 lacks \['reason'\]"):
        read_accepted(path)
    path.write_text("- {command: a, field: b, reason: c, befor: d}\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"entry 1 has the unknown \['befor'\]"):
        read_accepted(path)
    assert all(entry.reason for entry in read_accepted(harness.ACCEPTED))


def test_sessions_that_are_new_and_gone_are_said(
    stored: Answer, tmp_path: Path
) -> None:
    harness.store("gone", stored, tmp_path)
    session = sessions.Session("new", ("undogmatic",), False)
    (new,) = harness.compare([(session, stored)], tmp_path)
    (gone,) = harness.left_over([session], tmp_path)
    assert (new.command, new.field) == ("new", "answer")
    assert (gone.command, gone.field) == ("gone", "session")


def test_what_differs_from_session_to_session_is_taken_out(tmp_path: Path) -> None:
    def read(folder: Path, day: str, seconds: str) -> Any:
        clean = answers.Cleaner(folder, answers.Quoted.none())
        said = [
            f"{folder}/run/report.html of {day}T10:11:12Z",
            f"  136 judged in {seconds} s",
        ]
        kappa = 0.1 + float(seconds) * 1e-17
        figures = {"costs.seconds": float(seconds), "kappa": kappa, "day": day}
        return clean.lines(said), clean.value(figures)

    first = read(tmp_path / "one" / "folder", "2026-01-02", "0.3")
    second = read(tmp_path / "two" / "folder", "2027-11-12", "14.1")
    assert first == second
    assert first[1] == {"kappa": 0.1, "day": "DATE"}


def test_a_number_keeps_the_digits_that_count() -> None:
    assert answers.rounded(0.12345678901234) == 0.123456789
    assert answers.rounded(1e-17) == 0.0
    assert answers.rounded(123456789.123456) == 123456789.1
    assert answers.rounded(0.1234567891) != answers.rounded(0.1234567892)
    assert answers.rounded(True) is True


def test_of_a_table_each_column_has_a_digest() -> None:
    clean = answers.Cleaner(Path("/nowhere/folder"), answers.Quoted.none())
    before = clean.table("item,score,seconds\na,0.5,1\nb,0.25,2\n")
    after = clean.table("item,score,seconds\na,0.5,3\nb,0.26,4\n")
    assert before["rows"] == 2 and set(before["columns"]) == {"item", "score"}
    (found,) = differences("x", before, after)
    assert found.field == "columns/score"


def test_a_page_is_read_as_people_see_it() -> None:
    page = (
        "<html><head><title>A title</title><style>p {}</style></head><body><p>One <b>bold</b> "
        "word.</p><script>var hidden = 1;</script><table><tr><th>Item</th><th>n</th></tr>"
        "<tr><td><p>a</p></td><td>3</td></tr></table></body></html>"
    )
    assert answers.Page.lines(page) == [
        "A title",
        "One bold word.",
        "| Item | n",
        "| a | 3",
    ]


def test_a_line_that_quotes_unpublished_data_is_stored_as_a_digest() -> None:
    text = "Nobody but the gardener knew where the yellow ladder had been"
    clean = answers.Cleaner(
        Path("/nowhere/folder"), answers.Quoted([f'1,"{text}",pass'])
    )
    line = f"The judge and people differ most on: {text} (1)."
    (kept,) = clean.lines([line])
    assert "gardener" not in kept and "digest" in kept
    assert clean.lines([line.replace("yellow", "green")]) != [kept]
    short = answers.Quoted(["One small text", "Part-Of-Whole", "Tiny text"])
    assert short.by("“One small text” and others") and not short.by(
        "One small but whole text"
    )
    assert not short.by("3 categories: Part-Of-Whole, Tiny text")
    assert short.by("| 7 | Tiny text | 3.0")
    assert clean.lines(["The judge agrees with people in 68% of the items."]) == [
        "The judge agrees with people in 68% of the items."
    ]


def test_of_a_long_table_the_first_rows_are_kept_and_a_digest_of_the_rest() -> None:
    rows = [f"| {n} | {n}" for n in range(100)]
    kept = answers._without_long_tables(["Before", *rows, "After"])
    assert (
        kept[0] == "Before"
        and kept[-1] == "After"
        and len(kept) == answers.MOST_ROWS + 3
    )
    rows[90] = "| other | row"
    assert answers._without_long_tables(["Before", *rows, "After"]) != kept


def test_cells_that_hold_seconds_are_taken_out() -> None:
    def rows(seconds: str, n: int) -> list[str]:
        heads = "| Name | Calls | Seconds | interval | multiple | USD |"
        line = "| --- | --- | --- | --- | --- | --- |"
        return [heads, line, f"| a | {n} | {seconds} | [0, 1] | 2 | 0 |"]

    first, second = (
        answers._without_long_tables(rows(seconds, 3)) for seconds in ("0.1", "0.2")
    )
    assert first == second and first[2] == "| a | 3 | N | N | N | 0"
    assert answers._without_long_tables(rows("0.1", 4)) != first


def test_stored_answers_read_back_as_they_were() -> None:
    value = {
        "a": [1.5, None, True],
        "b": ["x" * 90, "y"],
        "c": {"d": [{"e": "ç" * 90}]},
        "f": [],
    }
    text = harness.as_text(value)
    assert json.loads(text) == value
    assert len(text.splitlines()) > 5


def test_the_list_of_commands_has_many_messages_of_both_doors() -> None:
    listed = sessions.Listed()
    lines = [line for session in listed.sessions for line in session.lines]
    assert all(line.split()[0] == "undogmatic" for line in lines)
    refused = [
        session for session in listed.sessions if session.name.startswith("bad_")
    ]
    runs = [s for s in refused if s.lines[0].startswith("undogmatic run")]
    assert len(runs) >= 60 and len(refused) - len(runs) >= 60
    assert not any(session.needs_shared for session in refused)
    quick = {session.name for session in listed.chosen([], quick=True)}
    assert quick < {session.name for session in listed.sessions}
    with pytest.raises(SystemExit, match="no session is called nobody"):
        listed.chosen(["nobody"], quick=False)


def test_the_names_of_quick_sessions_are_those_of_sessions() -> None:
    for section in sessions.Listed()._read["sections"]:
        quick = section.get("quick", False)
        assert quick in (True, False) or set(quick) <= set(section["sessions"])


def test_every_session_has_a_stored_answer_and_no_other_is_stored() -> None:
    listed = sessions.Listed().sessions
    assert [s.name for s in listed if not harness.path_of(s.name).is_file()] == []
    assert harness.left_over(listed) == []
