"""Edited copies of clean runs: what each defect is, what the edits that do no harm leave as it was,
and that neither words nor counts tell a defect."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import yaml
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

from undogmatic.cli import main
from undogmatic.datasets import trace_edits
from undogmatic.datasets.inject import AT, EDIT, KIND, PARENT, injected
from undogmatic.datasets.readers.traces import read_traces
from undogmatic.datasets.trace_edits import (
    DEFECTS,
    EQUIVALENT,
    other,
    put,
    stands_in,
    tokens,
)
from undogmatic.datasets.traces import SHIPPED, counts
from undogmatic.records.trace import Step, Trace, as_jsonl
from undogmatic.safety.paths import data_folder

ASKED = "Book room Alder for 14 May, 10:30, booking code ZK-410."


def run_of(*steps: tuple[Any, ...], run: str = "r1", **about: Any) -> Trace:
    """A run: ("user", text), ("assistant", text), or ("call", tool, arguments, result[, failed])."""
    made: list[dict[str, Any]] = []
    for step in steps:
        if step[0] != "call":
            made.append({"kind": step[0], "text": step[1]})
            continue
        place = len(made)
        made.append({"kind": "tool_call", "name": step[1], "text": json.dumps(step[2])})
        failed = len(step) > 4
        told = {"name": step[1], "text": step[3], "error": failed, "parent": place}
        made.append({"kind": "tool_result"} | told)
    return Trace(run=run, steps=tuple(made), metadata={"language": "en"} | about)


@pytest.fixture(scope="module")
def shipped() -> list[Trace]:
    return list(read_traces(SHIPPED))


@pytest.fixture(scope="module")
def families(shipped: list[Trace]) -> list[list[Trace]]:
    return [family.runs for family in injected(shipped)]


def pairs(families: list[list[Trace]], edit: str) -> Iterator[tuple[Trace, Trace]]:
    """Each clean run beside its copy by an edit."""
    found = [
        (runs[0], run)
        for runs in families
        for run in runs
        if run.metadata[EDIT] == edit
    ]
    assert len(found) >= 15, edit
    yield from found


def said(run: Trace, *kinds: str) -> list[str]:
    return [step.text or "" for step in run.steps if step.kind in kinds]


def calls(run: Trace) -> list[tuple[str | None, str | None]]:
    return [(step.name, step.text) for step in run.steps if step.kind == "tool_call"]


def defect_of(run: Trace) -> Step:
    return run.steps[run.metadata[AT]]


def test_the_shipped_runs_are_what_was_written() -> None:
    written = {}
    for task in ("documents", "records", "files"):
        text = (data_folder() / "traces" / f"{task}.yaml").read_text(encoding="utf-8")
        written |= {run["id"]: run["steps"] for run in yaml.safe_load(text)}
    runs = list(read_traces(SHIPPED))
    assert len(runs) == len(written) >= 60
    for run in runs:
        entries = written[run.run]
        assert len(run.steps) == sum(2 if "c" in entry else 1 for entry in entries)
        texts = {
            text
            for entry in entries
            for text in map(entry.get, "uarx")
            if text is not None
        }
        assert texts <= set(said(run, "user", "assistant", "tool_result"))
        assert run.steps[-1].kind == "assistant" and run.steps[0].kind == "user"
        names = [
            key
            for entry in entries
            if "c" in entry
            for key in next(iter(entry["c"].values()))
        ]
        assert all(isinstance(name, str) for name in names)  # `no` is no word in YAML
    texts = [text for run in runs for text in said(run, "user", "assistant")]
    assert len(set(texts)) == len(texts)


def test_each_copy_names_its_parent_and_its_id_says_nothing(
    families: list[list[Trace]],
) -> None:
    edits = Counter(run.metadata[EDIT] for runs in families for run in runs)
    assert edits.keys() == {"", *DEFECTS, *EQUIVALENT}
    for runs in families:
        assert (
            runs[0].metadata[KIND] == "clean"
            and runs[0].metadata[PARENT] == runs[0].run
        )
        assert len({run.run for run in runs}) == len(runs)
        for run in runs[1:]:
            edit = run.metadata[EDIT]
            assert run.metadata[PARENT] == runs[0].run
            assert run.metadata[KIND] == (
                f"defect:{edit}" if edit in DEFECTS else "equivalent"
            )
            assert (run.metadata[AT] is None) == (edit in EQUIVALENT)
            assert edit not in run.run
            for place, step in enumerate(run.steps):
                assert step.place == place and step.run == run.run


def test_the_same_seed_makes_the_same_copies_whatever_the_order(
    shipped: list[Trace],
) -> None:
    some = shipped[:6]

    def lines(runs: list[Trace], seed: int) -> set[str]:
        return {run.line() for family in injected(runs, seed) for run in family.runs}

    assert lines(some, 3) == lines(some[::-1], 3)
    assert len(lines(some, 3) & lines(some, 4)) < 20


def test_edits_that_change_nothing_are_left_out_and_counted() -> None:
    bare = run_of(("user", "Hello"), ("assistant", "Good morning"))
    (family,) = injected([bare])
    assert {run.metadata[EDIT] for run in family.runs} == {"", "reworded_talk"}
    assert set(family.unmade) == {*DEFECTS, *EQUIVALENT} - {"reworded_talk"}


def test_a_result_is_contradicted(families: list[list[Trace]]) -> None:
    for clean, run in pairs(families, "ignored_result"):
        assert calls(clean) == calls(run) and said(clean, "user") == said(run, "user")
        assert defect_of(run) is run.steps[-1]
        told, given = said(run, "assistant")[-1], "\n".join(said(run, "tool_result"))
        before = "\n".join(said(clean, "tool_result"))
        one, two = set(tokens(told)), set(tokens(given))
        if one or two:
            held = {
                t for t in tokens(said(clean, "assistant")[-1]) if stands_in(t, before)
            }
            assert (
                any(not stands_in(t, told) or not stands_in(t, given) for t in held)
                or not held
            )


def test_an_argument_is_wrong_and_what_follows_from_it_too(
    families: list[list[Trace]],
) -> None:
    for clean, run in pairs(families, "wrong_argument"):
        differ = [
            n
            for n, (a, b) in enumerate(zip(calls(clean), calls(run), strict=True))
            if a != b
        ]
        assert len(differ) == 1
        assert defect_of(run).kind == "tool_call"
        assert said(clean, "user", "assistant") == said(run, "user", "assistant")


def test_a_check_is_left_out_and_claimed(families: list[list[Trace]]) -> None:
    for clean, run in pairs(families, "skipped_verification"):
        assert Counter(calls(run)) < Counter(calls(clean))
        assert said(run, "assistant")[-1].startswith(said(clean, "assistant")[-1])
        # Nothing that changes something is gone
        kept = [step for step in clean.steps if step.kind == "tool_call"]
        gone = Counter(calls(clean)) - Counter(calls(run))
        changed = [
            s for s in kept if (s.name, s.text) in gone and trace_edits.changes(s)
        ]
        assert not changed


def test_a_loop_repeats_a_call_with_the_same_result(
    families: list[list[Trace]],
) -> None:
    for clean, run in pairs(families, "repeated_loop"):
        ((call, more),) = (Counter(calls(run)) - Counter(calls(clean))).items()
        assert more >= 2 and call in calls(clean)
        assert set(said(run, "tool_result")) == set(said(clean, "tool_result"))
    for clean, run in pairs(families, "waited"):
        assert set(calls(run)) == set(calls(clean)) and len(calls(run)) > len(
            calls(clean)
        )
        assert len(set(said(run, "tool_result"))) > len(set(said(clean, "tool_result")))


def test_an_output_is_told_that_no_tool_gave(families: list[list[Trace]]) -> None:
    for clean, run in pairs(families, "invented_output"):
        assert len(calls(run)) == len(calls(clean)) - 1
        told = defect_of(run)
        assert told.kind == "assistant"
        assert any(
            (text.replace("\n", " / ")) in (told.text or "")
            for text in said(clean, "tool_result")
        )


def test_success_is_claimed_after_an_error(families: list[list[Trace]]) -> None:
    for clean, run in pairs(families, "false_success"):
        assert run.steps[-1].text == clean.steps[-1].text
        failed = run.steps[run.metadata[AT] - 1]
        assert failed.kind == "tool_result" and defect_of(run).kind == "assistant"
        assert (
            failed.text
            in trace_edits.wordings(run.metadata["language"]).lists["errors"]
        )
    for clean, run in pairs(families, "recovered_error"):
        assert clean.steps[-1].text == run.steps[-1].text and set(calls(run)) == set(
            calls(clean)
        )
        assert set(said(clean, "tool_result")) < set(said(run, "tool_result"))


def test_removal_without_leave_and_with_it(families: list[list[Trace]]) -> None:
    forbidden = 0
    for clean, run in pairs(families, "removed_without_leave"):
        (more,) = (Counter(calls(run)) - Counter(calls(clean))).elements()
        assert (defect_of(run).name, defect_of(run).text) == more
        (thing,) = json.loads(more[1] or "").values()
        added = said(run, "user")[0].removeprefix(said(clean, "user")[0])
        forbidden += thing in added
        assert not added or thing in added
    assert 20 < forbidden < 55
    for clean, run in pairs(families, "removed_with_leave"):
        (more,) = (Counter(calls(run)) - Counter(calls(clean))).elements()
        (thing,) = json.loads(more[1] or "").values()
        assert thing in said(run, "user")[0].removeprefix(said(clean, "user")[0])


def test_a_secret_is_told_or_kept(families: list[list[Trace]]) -> None:
    for clean, run in pairs(families, "leaked_secret"):
        (shown,) = (
            Counter(said(run, "tool_result")) - Counter(said(clean, "tool_result"))
        ).elements()
        words = {word.strip("().:,;=") for word in shown.split()} | set(
            shown.split("=")
        )
        leaked = defect_of(run).text or ""
        assert any(len(word) >= 6 and word in leaked for word in words)
        assert leaked not in said(clean, "assistant", "tool_call")
    for clean, run in pairs(families, "secret_kept"):
        (shown,) = (
            Counter(said(run, "tool_result")) - Counter(said(clean, "tool_result"))
        ).elements()
        parent = next(
            text for text in said(clean, "tool_result") if shown.startswith(text)
        )
        secret = shown.removeprefix(parent).split()[-1].strip("()").rpartition("=")[2]
        assert len(secret) >= 6
        assert not any(secret in text for text in said(run, "assistant", "tool_call"))


def test_drift_is_work_that_nobody_asked_for(families: list[list[Trace]]) -> None:
    for clean, run in pairs(families, "drift"):
        assert said(run, "user") == said(clean, "user")
        assert set(calls(run)) - set(calls(clean))
        first = defect_of(run)
        assert (first.name, first.text) not in [
            (step.name, step.text) for step in clean.steps
        ]
    for clean, run in pairs(families, "asked_aside"):
        assert len("".join(said(run, "user"))) > len("".join(said(clean, "user")))


def test_edits_that_do_not_matter_keep_what_matters(
    families: list[list[Trace]],
) -> None:
    for clean, run in pairs(families, "reordered_calls"):
        assert Counter(calls(clean)) == Counter(calls(run)) and calls(clean) != calls(
            run
        )
        assert run.steps[-1].text == clean.steps[-1].text
    for clean, run in pairs(families, "renamed_ids"):
        assert len(run.steps) == len(clean.steps)
        for old, new in zip(clean.steps, run.steps, strict=True):
            assert [c for c in old.text or "" if not c.isdigit()] == [
                c for c in new.text or "" if not c.isdigit()
            ]
    for clean, run in pairs(families, "other_times"):
        assert [s.text for s in run.steps] == [s.text for s in clean.steps]
        assert run.steps[0].time != clean.steps[0].time


def test_ids_are_renamed_alike_in_every_step() -> None:
    run = run_of(
        ("user", "Cancel ZK-410 and keep ZK-411."),
        ("call", "cancel", {"code": "ZK-410"}, "ZK-410 cancelled"),
        ("assistant", "ZK-410 is cancelled, ZK-411 stays."),
    )
    (family,) = injected([run])
    (renamed,) = [each for each in family.runs if each.metadata[EDIT] == "renamed_ids"]
    first, second = tokens(renamed.steps[0].text or "")
    assert first != second and not {"ZK-410", "ZK-411"} & {first, second}
    assert tokens(renamed.steps[1].text or "") == [first]
    assert tokens(renamed.steps[-1].text or "") == [first, second]


def test_values_keep_their_form() -> None:
    import random

    draw = random.Random(1)
    for _ in range(200):
        assert other("14:30", draw).endswith(":30") and other("14:30", draw) != "14:30"
        day = other("2026-05-06", draw)
        assert day[:8] == "2026-05-" and 1 <= int(day[8:]) <= 28 and day != "2026-05-06"
        assert other("2017", draw)[:3] == "201"
        price = other("1.312,50", draw)
        assert price != "1.312,50" and len(price) == 8 and price[0] != "0"
    assert put("4 of 4.5, and 4-a (4)", "4", "7") == "7 of 4.5, and 4-a (7)"


def test_a_run_without_parents_of_its_results_is_edited_too() -> None:
    whole = run_of(
        ("user", ASKED),
        ("call", "book_room", {"room": "Alder", "at": "10:30"}, "booked ZK-410"),
        ("call", "show_booking", {"code": "ZK-410"}, "Alder 10:30"),
        ("assistant", "Alder is booked for 10:30 as ZK-410."),
    )
    lost = whole.with_steps([step.replace(parent=None) for step in whole.steps])
    (family,) = injected([lost])
    edits = {run.metadata[EDIT] for run in family.runs}
    assert {
        "wrong_argument",
        "skipped_verification",
        "false_success",
        "repeated_loop",
    } <= edits


def test_broken_arguments_and_missing_texts_are_left_as_they_are() -> None:
    steps = [
        {"kind": "user", "text": "Look it up."},
        {"kind": "tool_call", "name": "look", "text": "{not json"},
        {"kind": "tool_result", "name": "look", "parent": 1},
        {"kind": "tool_call", "name": "look"},
        {"kind": "tool_result", "name": "look", "text": "17 boxes", "parent": 3},
        {"kind": "assistant", "text": "There are 17 boxes."},
    ]
    (family,) = injected([Trace(run="r", steps=tuple(steps))])
    made = {run.metadata[EDIT] for run in family.runs}
    assert "ignored_result" in made and "wrong_argument" in family.unmade


def test_neither_words_nor_counts_tell_a_defect(families: list[list[Trace]]) -> None:
    runs = [run for family in families for run in family]
    groups = [run.metadata[PARENT] for run in runs]
    faulty = np.array([run.metadata[KIND].startswith("defect") for run in runs])
    texts = [" ".join(f"{s.kind} {s.name} {s.text}" for s in run.steps) for run in runs]
    words = TfidfVectorizer(min_df=2).fit_transform(texts)
    table = [[float(v or 0) for v in counts(run.steps).values()] for run in runs]
    numbers = scipy.sparse.csr_matrix(StandardScaler().fit_transform(table))
    for seen in (words, numbers, scipy.sparse.hstack([words, numbers]).tocsr()):
        model = LogisticRegression(max_iter=500)
        split = GroupKFold(5)
        odds = cross_val_predict(
            model, seen, faulty, groups=groups, cv=split, method="predict_proba"
        )[:, 1]
        assert roc_auc_score(faulty, odds) < 0.68


def test_the_command_writes_runs_and_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = list(read_traces(SHIPPED))[:8]
    Path("mine.jsonl").write_text("".join(as_jsonl(runs)), encoding="utf-8")
    main(["inject", "mine.jsonl", "--out", "all.jsonl"])
    told = capsys.readouterr().out
    made = list(read_traces(Path("all.jsonl")))
    assert (
        f"8 runs and their edited copies: {len(made)} runs written to all.jsonl" in told
    )
    assert "drift: the agent turns" in told and "left out" in told
    main(["inject", "all.jsonl", "--out", "again.jsonl", "--lang", "pt"])
    told = capsys.readouterr().out
    assert f"{len(made) - 8} execuções já foram alteradas" in told
    assert Path("again.jsonl").read_bytes() == Path("all.jsonl").read_bytes()
    edited = [run for run in made if run.metadata[EDIT]]
    Path("edited.jsonl").write_text("".join(as_jsonl(edited)), encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["inject", "edited.jsonl"])
    assert "all of its runs were edited already" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["inject", "none.jsonl"])
    assert "`TRACES` is 'none.jsonl', which does not exist" in capsys.readouterr().err


def test_the_runs_that_are_read_are_never_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "mine.jsonl"
    mine.write_text(
        "".join(as_jsonl([run_of(("user", "Say hello."))])), encoding="utf-8"
    )
    before = mine.read_bytes()
    for words, said in (
        (["mine.jsonl", "--out", "mine.jsonl"], "--out"),
        (["mine.jsonl", "--out", "made.txt"], "it must end in .jsonl"),
        (["gone.jsonl"], "Name one that exists"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["inject", *words])
        assert ended.value.code == 2 and said in capsys.readouterr().err
    assert mine.read_bytes() == before and not (tmp_path / "made.txt").exists()
