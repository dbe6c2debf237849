"""The table of all items: what is in it, in which order, what is cut or hidden; and a person who
works with it."""

import asyncio
import base64
import dataclasses
import gzip
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.browser import CHROMIUM, Browser, browsing
from tests.conftest import Patch
from tests.examinations.builders import evidence_of
from tests.report import checks
from tests.report.conftest import Build, judge, verdict
from tests.report.test_document import HOSTILE, read
from undogmatic.examinations.run_rows import tabulate
from undogmatic.records.records import Call, Failure, Item, LabelScale
from undogmatic.records.sweep_result import SweepResult
from undogmatic.report import contents, listed, sweep, workbench
from undogmatic.report.document import Document, Table, rendered
from undogmatic.report.words import words_for
from undogmatic.runs.outcome import FinishedRun


def unpacked(run: FinishedRun) -> dict[str, Any]:
    """What the script of a run's page reads."""
    packed = workbench.bench(listed.of_run(run, words_for(run)), words_for(run)).packed
    told: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return told


def labelled(finished: Build, n: int = 6, **fields: Any) -> FinishedRun:
    """A run over texts of which the third is furthest from its label."""
    gaps = [(7 * k) % 11 if k != 2 else 40 for k in range(n)]
    outcomes = [
        (Item(id=f"i{k}", text=f"Text {k}.", label=50 - gap), verdict(50.0))
        for k, gap in enumerate(gaps)
    ]
    return finished(outcomes, [], **fields)


def test_what_is_furthest_from_its_label_comes_first(finished: Build) -> None:
    run = labelled(finished)
    told = unpacked(run)
    titles = [column["title"] for column in told["columns"]]
    rows = [dict(zip(titles, row["cells"], strict=True)) for row in told["rows"]]
    assert titles == [
        "Item",
        "Text",
        "Score",
        "Interval",
        "Human label",
        "Score minus label",
        "Confidence",
    ]
    assert rows[0] | {"Confidence": 0} == {
        "Item": "i2",
        "Text": "Text 2.",
        "Score": 50.0,
        "Interval": [38.0, 62.0],
        "Human label": 10.0,
        "Score minus label": 40.0,
        "Confidence": 0,
    }
    errors = [abs(row["Score minus label"]) for row in rows]
    assert errors == sorted(errors, reverse=True) and len(errors) == 6
    plain = workbench.bench(listed.of_run(run, words_for(run)), words_for(run)).plain
    assert list(plain.rows[0][:2]) == ["i2", "Text 2."] and plain.rows[0][5] == "+40"


def test_labels_stand_in_the_words_in_which_they_were_given(finished: Build) -> None:
    items = [
        Item(id=f"i{k}", text=f"Text {k}.", label=label)
        for k, label in enumerate((0, 50, 100))
    ]
    told = unpacked(
        finished(
            [(item, verdict(50.0)) for item in items],
            [],
            label_scale=LabelScale(words=("não", "sim")),
        )
    )
    cells = {row["id"]: row["cells"][4:6] for row in told["rows"]}
    assert cells == {"i0": ["não", 0.5], "i1": ["não / sim", 0.0], "i2": ["sim", -0.5]}
    assert told["columns"][4] | {"title": ""} == {
        "title": "",
        "kind": "mark",
        "digits": 0,
        "order": ["não", "não / sim", "sim"],
    }


def test_a_scale_on_which_a_low_number_is_a_high_score_stands_as_it_was_given(
    finished: Build,
) -> None:
    run = labelled(finished, label_scale=LabelScale(ends=(10, 0)))
    assert unpacked(run)["rows"][0]["cells"][2:6] == [5.0, [3.8, 6.2], 9.0, -4.0]
    contents.write(run)
    said = (run.folder / "report.md").read_text(encoding="utf-8")
    assert "score 5.00; interval" in said and "human label 9.00" in said
    assert "on which 10 stands for the rubric's 0 and 0 for its 100" in said


@pytest.mark.parametrize("kind", ["pass_fail", "numeric"])
def test_a_check_begins_with_the_item_on_which_judge_and_people_differ_most(
    kind: str,
) -> None:
    table = (
        checks.table(judges=2)
        if kind == "pass_fail"
        else evidence_of("numeric", [1.0, 5, 3], [2.0, 1, 3])
    )
    made = checks.result(*map(checks.judge_check, table.judges), verdicts=table)
    block = workbench.bench(listed.of_check(made, checks.words()), checks.words())
    told = json.loads(gzip.decompress(base64.b64decode(block.packed)))
    titles = [column["title"] for column in told["columns"]]
    if kind == "numeric":
        assert (
            titles == ["Item", "Text", "Score", "Human label", "Score minus label"]
            and block.begins
        )
        assert [row["cells"][2:] for row in told["rows"]] == [
            [5.0, 1.0, 4.0],
            [1.0, 2.0, -1.0],
            [3.0, 3.0, 0.0],
        ]
    else:
        assert titles == [
            "Item",
            "Text",
            "Judge",
            "Verdict",
            "Human label",
            "Judge and label",
        ]
        assert len(told["rows"]) == 120 and told["rows"][0]["cells"][5] == "differ"
        assert any(
            part[0] == "Human labels by rater" for part in told["rows"][0]["parts"]
        )


def test_scores_stand_on_the_scale_of_the_labels(finished: Build) -> None:
    told = unpacked(labelled(finished, label_scale=LabelScale(ends=(0, 10))))
    assert told["rows"][0]["cells"][2:6] == [5.0, [3.8, 6.2], 1.0, 4.0]
    assert ["Human labels by rater", "unnamed: 1", "said"] in told["rows"][0]["parts"]


def test_failures_levels_issues_and_exchanges_are_in_it(finished: Build) -> None:
    doubtful = verdict(
        40.0,
        uncertainty="high",
        review=True,
        issues=("begs the question",),
        details={"strength": 0.7},
    )
    sure, failed = (
        verdict(90.0, uncertainty="low"),
        Failure(reason="timeout", message="too late", raw="half an ans"),
    )
    run = finished(
        [
            (Item(id=k, text="x"), o)
            for k, o in (("a", sure), ("b", doubtful), ("c", failed))
        ],
        [],
    )
    call = Call(
        model="m",
        request={"messages": [{"role": "user", "content": "Rate x."}]},
        reply={"said": ["It is", "40."], "odds": [[1, 0.5]]},
    )
    judgments = [
        run.judgments[0],
        run.judgments[1].model_copy(update={"calls": (call,)}),
        run.judgments[2],
    ]
    told = unpacked(
        finished(None, [], items=run.items, judgments=judgments, frame=run.frame)
    )
    # most doubt first, what has none last
    assert [row["id"] for row in told["rows"]] == [
        "b",
        "a",
        "c",
    ]
    columns = {column["title"]: n for n, column in enumerate(told["columns"])}
    assert [row["cells"][columns["Failed"]] for row in told["rows"]] == [
        None,
        None,
        "no answer in time",
    ]
    opened = {title: text for title, text, _ in told["rows"][0]["parts"]}
    assert (
        opened["Issues"] == "begs the question"
        and opened["What the judge answered besides"] == "strength: 0.7"
    )
    assert (
        opened["What was sent to m"] == "[user]\nRate x."
        and opened["What the model answered"] == "said: It is\n40.\nodds: [[1, 0.5]]"
    )
    assert {"too late", "half an ans"} <= {
        text for _, text, _ in told["rows"][2]["parts"]
    }


def test_repeats_and_several_judges_are_told_apart(finished: Build) -> None:
    item = Item(id="a", text="x", labels={"overall": {"ana": 3, "bia": 4}})
    own = [
        judge(item, verdict(score)).model_copy(update={"repeat": n})
        for n, score in enumerate((10.0, 30.0))
    ]
    other = [each.model_copy(update={"judge": "second"}) for each in own]
    judgments = [*own, *other]
    told = unpacked(
        finished(
            [],
            [],
            items=[item],
            judgments=judgments,
            frame=tabulate([item], judgments, 2),
        )
    )
    assert [row["cells"][2] for row in told["rows"]] == ["score", "second"]
    opened = {title: text for title, text, _ in told["rows"][0]["parts"]}
    assert (
        "30" in opened["Repeat 2"]
        and opened["Human labels by rater"] == "ana: 3\nbia: 4"
    )


def test_a_redacted_report_holds_no_text(finished: Build) -> None:
    config = dict(finished().config) | {"tracking": {"redact": True}}
    run = finished(
        [(Item(id="a", text="A secret text."), verdict(50.0))], [], config=config
    )
    contents.write(run)
    packed = json.dumps(unpacked(run)) + (run.folder / "report.html").read_text(
        encoding="utf-8"
    )
    assert "secret text" not in packed and "sha256:" in packed


def test_a_large_run_is_sampled_and_cut_and_says_so(
    finished: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(0)
    noise = {
        f"i{k}": "".join(rng.choices("abcdefghij klmnop", k=2000)) for k in range(60)
    }
    outcomes = [(Item(id=k, text=text), verdict(0.0)) for k, text in noise.items()]
    for name, value in {"MOST": 20, "PACKED": (1000, 900), "PLAIN": (0, 100)}.items():
        monkeypatch.setattr(workbench, name, value)
    monkeypatch.setattr(listed, "MOST", 20)
    run = finished(outcomes, [])
    bench = workbench.bench(listed.of_run(run, words_for(run)), words_for(run))
    assert bench.notes[0].startswith(
        "20 of 60 rows are here: the first 10 in the order"
    )
    assert "are cut in this table; judgments.jsonl has them whole" in bench.notes[1]
    assert len(bench.packed) <= 1000 + 900 * 20
    rows = json.loads(gzip.decompress(base64.b64decode(bench.packed)))["rows"]
    assert (
        len(rows) == 20
        and [row["n"] for row in rows[:10]] == list(range(10))
        and rows[-1]["n"] > 50
    )
    assert max(len(row[1]) for row in bench.plain.rows) <= 101


def test_of_a_large_sweep_the_rows_furthest_apart_are_shown(
    swept: SweepResult, monkeypatch: Patch
) -> None:
    for module in (listed, workbench):
        monkeypatch.setattr(module, "MOST", 4)
    items = [Item(id=f"i{k}", text=f"Text {k}.") for k in range(40)]
    matrix = pd.DataFrame(
        {"a": 0.0, "b": [float(k) for k in range(40)]},
        index=[item.id for item in items],
    )
    sweep = dataclasses.replace(
        swept,
        scores=matrix,
        items=items,
        numbers={"a": 0, "b": 1},
        margin=None,
        language="en",
    )
    bench = workbench.bench(listed.of_sweep(sweep, words_for(sweep)), words_for(sweep))
    assert bench.notes[0].startswith("4 of 40 rows are here: the first 2 in the order")
    assert [row[0] for row in bench.plain.rows] == ["i39", "i38", "i37", "i18"]


def test_a_sweep_is_a_matrix_of_items_and_jobs(swept: SweepResult) -> None:
    items = [Item(id=f"i{k}", text=f"Text {k}.", pair="p", label=k) for k in range(3)]
    matrix = pd.DataFrame(
        {"local-a": [10.0, 20.0, np.nan], "tfidf-a": [15.0, 90.0, 5.0]},
        index=[i.id for i in items],
    )
    own = {
        "scores": matrix,
        "items": items,
        "numbers": {"local-a": 1, "tfidf-a": 0},
        "margin": 10.0,
        "language": "en",
    }
    whole = dataclasses.replace(swept, **own)
    bench = workbench.bench(listed.of_sweep(whole, words_for(whole)), words_for(whole))
    told = json.loads(gzip.decompress(base64.b64decode(bench.packed)))
    assert [column["title"] for column in told["columns"]][2:] == [
        "Human label",
        "Highest minus lowest",
        "local-a",
        "tfidf-a",
    ]
    assert [(row["id"], row["cells"][3]) for row in told["rows"]] == [
        ("i1", 70.0),
        ("i0", 5.0),
        ("i2", None),
    ]
    assert (
        told["heat"] == {"bottom": 0.0, "top": 100.0, "margin": 10.0}
        and "more than 10 points" in bench.notes[0]
    )
    assert ["local-a", "1/report.html#item-i1", "link"] in told["rows"][0]["parts"]
    hidden = dataclasses.replace(whole, redacted=True)
    assert (
        "Text 1."
        not in workbench.bench(
            listed.of_sweep(hidden, words_for(hidden)), words_for(hidden)
        ).plain.rows[0][1]
    )
    sweep.write(
        dataclasses.replace(whole, items=(), unread="the file is gone"), swept.folder
    )
    assert "could not be read again: the file is gone" in (
        swept.folder / "report.html"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("lengths", "budget", "longest"),
    [
        ([], 5, 0),
        ([3, 9], 12, 9),
        ([3, 9], 11, 8),
        ([3, 9, 9], 11, 4),
        ([10, 10], 6, 3),
        ([5], 0, 1),
    ],
)
def test_texts_share_a_budget_fairly(
    lengths: list[int], budget: int, longest: int
) -> None:
    assert workbench.fair_length(lengths, budget) == longest
    if longest > 1:
        assert sum(min(length, longest) for length in lengths) <= budget


def test_names_lead_to_rows_that_are_there(finished: Build) -> None:
    outcomes = [
        (
            Item(id=f"a {n}:é<", text="x", pair="p"),
            Failure(reason="timeout", message="m"),
        )
        for n in range(2)
    ]
    run = finished([*outcomes, (Item(id="good", text="x"), verdict(50))], [])
    contents.write(run)
    page = read((run.folder / "report.html").read_text(encoding="utf-8"))
    links = {str(value) for name, value in page.attributes if name == "href"}
    assert {
        "#item-a%200%3A%C3%A9%3C",
        "#item-good",
    } <= links  # of the failures, and of the texts to read
    places = [value for name, value in page.attributes if name == "id"]
    assert "item-a 0:é<" in places and len(places) == len(set(places))


def test_only_cells_that_name_items_lead_to_them() -> None:
    table = Table(("Item", "n"), [("12", "12")], named=(True, False))
    page = read(
        rendered(Document("en", "t", "l", [table], items={"12": "12"}), "report.html")
    )
    assert [value for name, value in page.attributes if name == "href"] == ["#item-12"]


AXE = os.environ.get("AXE_CORE")  # axe.min.js of the npm package axe-core


async def _work(page: str, run: FinishedRun, tmp_path: Path) -> None:
    async with browsing(page) as browser:
        await browser.until("document.querySelectorAll('.window .row').length > 5")
        await _at_a_desk(browser)
        await browser.size(390)
        assert await browser.js("document.documentElement.scrollWidth <= innerWidth")
        if AXE is not None:
            await browser.js(f"{Path(AXE).read_text(encoding='utf-8')}; 0")
            for width, dark in ((1280, False), (1280, True), (390, False)):
                await browser.size(width, dark=dark)
                faults = (
                    "axe.run().then(told => told.violations.map(each => [each.id,"
                    " each.nodes[0].html]))"
                )
                assert await browser.js(faults) == []
        told = [
            each
            for each in browser.events
            if each.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")
        ]
        assert told == []  # no policy was broken, nothing was thrown


async def _at_a_desk(browser: Browser) -> None:
    cell = "document.querySelector('.window .row .id').textContent"
    # without any click: the one furthest from its label
    assert await browser.js(cell) == "i2"
    await browser.js("document.querySelector('.window .row button').click()")
    assert "Text 2." in await browser.js(
        "document.querySelector('.opened').textContent"
    )
    await browser.js("document.querySelector('.window .row button').focus()")
    focused = []
    for key in ("ArrowDown", "End", "Home"):
        await browser.key(key)
        focused.append(await browser.js("document.activeElement.textContent"))
    assert focused[::2] == ["i8", "i2"] and focused[1] not in focused[::2]
    await browser.js(
        "[...document.querySelectorAll('.window thead button')][0].click()"
    )
    assert (
        await browser.js(
            "document.querySelector('.window thead th').getAttribute('aria-sort')"
        )
        == "ascending"
    )
    assert await browser.js(cell) == "hostile0"
    await browser.js(
        "{const s = document.getElementById('bench-search'); s.value = 'TEXT 13.';"
        " s.dispatchEvent(new Event('input'))}"
    )
    assert (
        await browser.js("document.querySelector('.tools output').textContent")
        == "1 of 613 rows"
    )
    await browser.js("location.hash = '#item-i599'")
    await browser.until("document.querySelector('.chosen .id')?.textContent === 'i599'")
    await browser.js("location.hash = '#item-hostile3'")
    await browser.until(
        "document.querySelector('.chosen .id')?.textContent === 'hostile3'"
    )
    assert HOSTILE[3] in await browser.js(
        "document.querySelector('.chosen + .opened').textContent"
    )
    assert await browser.js("document.querySelectorAll('.window .row').length") < 60
    assert (
        await browser.js(
            "document.querySelectorAll('#bench script, #bench img, #bench iframe').length"
        )
        == 0
    )


@pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium (Debian's package chromium)"
)
def test_a_person_finds_the_item_on_which_judge_and_people_differ_most(
    finished: Build, tmp_path: Path
) -> None:
    gaps = [(7 * k) % 11 if k not in (2, 8) else 40 - k for k in range(600)]
    outcomes = [
        (Item(id=f"i{k}", text=f"Text {k}.", label=50 - gap), verdict(50.0))
        for k, gap in enumerate(gaps)
    ]
    outcomes += [
        (Item(id=f"hostile{k}", text=text), verdict(50.0, rationale=text))
        for k, text in enumerate(HOSTILE)
    ]
    run = finished(outcomes, [])
    contents.write(run)
    asyncio.run(_work((run.folder / "report.html").resolve().as_uri(), run, tmp_path))
