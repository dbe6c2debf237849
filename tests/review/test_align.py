"""The session in which a prompt is edited beside people's labels, what it says of edits, and its
page in a real browser."""

import asyncio
import contextlib
import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.align import EDITS, RESULTS
from benchmarks.browser import CHROMIUM, browsing
from tests.conftest import Capture, Patch, environment, put, typed
from tests.review.test_page import AXE
from tests.review.test_page import ask as asked
from tests.stub_server import KEY, Fault
from undogmatic.cli import main
from undogmatic.cli.align import _Run
from undogmatic.errors import ConfigError, DataError, RunStopped, StorageError
from undogmatic.records.records import Item
from undogmatic.records.rubric import OrderedScale, Rubric
from undogmatic.records.wordings import languages
from undogmatic.records.words import Words
from undogmatic.review.align import TEXTS, Desk, Server, sentences
from undogmatic.review.session import (
    FEW,
    Labelled,
    Said,
    Session,
    answer,
    check_edit,
    fit,
    share,
    turned,
)
from undogmatic.runs.folder import RunFolder

N = 80
FIRST = "Judge the answer."


def rubric(own: Rubric) -> Rubric:
    """A rubric of two categories."""
    wordings = {"en": own.wordings["en"].model_copy(update={"meanings": ()})}
    scale = OrderedScale(categories=("fail", "pass"))
    return own.model_copy(update={"scale": scale, "guide": None, "wordings": wordings})


def labelled(tmp_path: Path, own: Rubric, n: int = N) -> Labelled:
    """Items of which people pass every second; the first prompt passes them all."""
    items = [
        Item(id=f"i{k}", text=f"Secret {k}. {'ab cd ef gh'[: k % 11]} {k * 7}")
        for k in range(n)
    ]
    people = {item.id: float(k % 2) for k, item in enumerate(items)}
    first = dict.fromkeys(people, Said(score=1.0, why="it is fine"))
    run = tmp_path / "outputs" / "run"
    run.mkdir(parents=True, exist_ok=True)
    return Labelled(run, rubric(own), "overall", items, people, first, FIRST)


def follows(
    text: str, items: Sequence[Item], step: Callable[[], None]
) -> Mapping[str, Said]:
    """A judge that is right about the share of failing items that its prompt names, and about all
    that pass: "40p"; it fails where it is told to, and is gone where it is told to."""
    if "gone" in text:
        raise RunStopped("the server is gone; start it again")
    share_of = int((re.findall(r"(\d+)p", text) or ["0"])[0]) / 100
    said = {}
    for item in items:
        k = int(item.id[1:])
        step()
        right = k % 2 == 1 or (k // 2 * 37 % 100) / 100 < share_of
        said[item.id] = Said(score=float(k % 2 if right else 1 - k % 2))
        if "refuse" in text:
            said[item.id] = Said(why="refusal: no")
    return said


@pytest.fixture
def session(tmp_path: Path, rubric: Rubric) -> Session:
    return Session(labelled(tmp_path, rubric), follows)


def test_the_parts_are_dealt_once_and_by_the_texts_alone(
    session: Session, tmp_path: Path, rubric: Rubric
) -> None:
    parts = {part: [item.id for item in items] for part, items in session.parts.items()}
    assert sorted([*parts["tuning"], *parts["held_out"]]) == sorted(
        session.labelled.people
    )
    assert abs(len(parts["tuning"]) - N / 2) <= 1
    for part in parts.values():  # alike in what people say
        assert abs(sum(session.labelled.people[item] for item in part) - N / 4) <= 1
    again = Session(labelled(tmp_path, rubric), follows)
    assert {p: [item.id for item in own] for p, own in again.parts.items()} == parts
    session.path.unlink()  # who deletes it, and turns the rows round, is dealt the same
    turned_round = labelled(tmp_path, rubric)
    turned_round = replace(turned_round, items=turned_round.items[::-1])
    anew = Session(turned_round, follows)
    assert {p: {item.id for item in own} for p, own in anew.parts.items()} == {
        p: set(own) for p, own in parts.items()
    }
    later = Session(labelled(tmp_path, rubric, N + 5), follows)
    assert later.later == 5 and {p: len(own) for p, own in later.parts.items()} == {
        p: len(own) for p, own in parts.items()
    }


def test_copies_of_a_text_lie_on_one_side(tmp_path: Path, rubric: Rubric) -> None:
    own = labelled(tmp_path, rubric)
    items = [
        item.model_copy(update={"inputs": own.items[k // 4].inputs, "id": item.id})
        for k, item in enumerate(own.items)
    ]
    found = Session(replace(own, items=items), follows)
    texts = [{item.text for item in part} for part in found.parts.values()]
    assert not texts[0] & texts[1] and all(texts)
    found.judge(found.edit("Fail 60p"), "tuning")
    assert found.is_run(found.edits()[1]), "of copies each is judged"


def test_too_few_labels_are_said_with_the_way_to_more(
    tmp_path: Path, rubric: Rubric
) -> None:
    with pytest.raises(
        DataError, match=r"5 independent groups.*undogmatic review export"
    ):
        Session(labelled(tmp_path, rubric, 10), follows)


@pytest.mark.parametrize(
    ("text", "first", "said"),
    [
        ("", "a", "is empty"),
        (" \n", "a", "is empty"),
        ("x" * 20_001, "a", "20,001 characters"),
        ("Judge {text}", "Judge", r"placeholder \{text\}, which nothing fills"),
        ("Judge", "Judge {{ style }}", r"lacks the placeholder \{style\}"),
        ("Judge ${oc.env:HOME}", "Judge", "reference"),
    ],
)
def test_what_breaks_the_prompt_is_said(text: str, first: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_edit(text, first, ("text",))
    assert check_edit(' "JSON" {"a": 1} ', "x", ("text",)) == '"JSON" {"a": 1}'


def test_an_edit_is_judged_on_the_tuning_part_and_what_it_turned_is_told(
    session: Session,
) -> None:
    number = session.edit("Fail 60p")
    session.judge(number, "tuning")
    first, edit = session.edits()
    assert {*edit.said} == {item.id for item in session.parts["tuning"]}
    before, after = (session.agreement(each, "tuning") for each in (first, edit))
    right, wrong = turned(before, after, {item: item for item in before})
    assert (
        share(before)[0] + right - wrong == share(after)[0] and right > 5 and wrong == 0
    )
    assert session.edit(" Fail 60p ") == number, "the same prompt is the same edit"


def test_a_failed_judgment_does_not_agree_and_is_counted(session: Session) -> None:
    desk = Desk(session, "en", {"model": "m"}, True, "")
    session.judge(session.edit("refuse"), "tuning")
    told = desk.state()["edits"][1]
    assert told["agrees"] == 0 and told["failed"] == len(session.parts["tuning"])
    look = session.look(1)
    assert look.answer == "not_yet" and look.failed == len(session.parts["held_out"])
    assert "left out" in sentences(look, desk.words)[-1]


def test_a_look_is_counted_kept_and_paid_for(
    session: Session, tmp_path: Path, rubric: Rubric
) -> None:
    for text in ("Fail 90p", "Fail 95p", "Fail 5p"):
        session.judge(session.edit(text), "tuning")
    first, second, third = session.look(1), session.look(2), session.look(3)
    assert [each.look for each in (first, second, third)] == [1, 2, 3]
    assert [each.level for each in (first, second, third)] == pytest.approx(
        [0.05, 0.025, 0.05 / 6]
    )
    assert [each.answer for each in (first, second, third)] == ["yes", "yes", "not_yet"]
    assert session.look(1).look == 1, "the same look again is no further one"
    noted = (tmp_path / "outputs" / "looks.jsonl").read_text().splitlines()
    assert len(noted) == 3
    again = Session(labelled(tmp_path, rubric), follows)
    assert again.looks() == [first, second, third]
    assert (again.chosen() or first).number == 2
    # What may be reported: the first time what was found, then what is shown, or the first prompt's.
    assert first.reported == first.edited.value > second.reported > second.first
    assert third.reported == third.first


def test_the_answer_is_no_where_an_edit_agrees_less() -> None:
    worse = [(1.0, 0.0)] * 20 + [(1.0, 1.0)] * 20
    found = answer(worse, [str(k) for k in range(40)], 1)
    assert found.answer == "no" and found.edited.value == 0.5
    same = answer([(1.0, 1.0)] * 40, [str(k) for k in range(40)], 1)
    assert same.answer == "not_yet" and same.rule == "identical"


def test_edits_without_effect_are_called_noise_and_a_clear_gain_is_not() -> None:
    draw = np.random.default_rng(1)
    places = [str(k) for k in range(60)]
    groups = dict(zip(places, places, strict=True))

    def prompt(worth: float) -> dict[str, float]:
        return dict(zip(places, (draw.random(60) < worth).astype(float), strict=True))

    first = prompt(0.6)
    idle = [prompt(0.6) for _ in range(5)]
    found = fit([first, *idle], groups)
    assert found.is_noise and found.edits == 5 and found.luck > 0.05
    assert not fit([first, *idle[: FEW - 1]], groups).is_noise, (
        "of few edits nobody knows"
    )
    assert fit([first, prompt(1.0)], groups).edits == 0, (
        "further edits start from one that gained"
    )
    assert fit([first], groups).edits == 0


def test_what_is_typed_is_kept_by_window_and_read_by_the_next_sitting(
    session: Session, tmp_path: Path, rubric: Rubric
) -> None:
    # another command on the same run
    other = Session(labelled(tmp_path, rubric), follows)
    session.draft("a-1", "Fail what is")
    other.draft("b-1", "Another thought")
    session.draft("a-1", "Fail what is rude, ç\u2028")
    texts = ["Another thought", "Fail what is rude, ç\u2028"]
    assert [line["text"] for line in session.drafts()] == texts
    assert [session.edit("one"), other.edit("two"), session.edit("three")] == [1, 2, 3]
    with session.path.open("ab") as file:
        file.write(b'{"kind": "edit", "numb')  # a crash in the middle of a line
    again = Session(labelled(tmp_path, rubric), follows)
    assert [edit.text for edit in again.edits()] == [FIRST, "one", "two", "three"]
    assert again.edit("four") == 4
    assert [edit.text for edit in session.edits()][1:] == [
        "one",
        "two",
        "three",
        "four",
    ]
    assert [line["text"] for line in again.drafts()] == texts


def test_windows_that_edit_at_once_lose_nothing(
    session: Session, tmp_path: Path, rubric: Rubric
) -> None:
    sessions = [session, Session(labelled(tmp_path, rubric), follows)]

    def type_on(who: int) -> None:
        for k in range(10):
            sessions[who % 2].draft(f"{who}", f"draft {who} {k}")
            sessions[who % 2].edit(f"edit {who} {k}")

    threads = [threading.Thread(target=type_on, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    edits = session.edits()
    assert [edit.number for edit in edits] == list(range(41))
    assert {edit.text for edit in edits[1:]} == {
        f"edit {w} {k}" for w in range(4) for k in range(10)
    }
    assert {line["text"] for line in session.drafts()} == {
        f"draft {w} 9" for w in range(4)
    }


def waited(desk: Desk) -> dict[str, Any]:
    for _ in range(500):
        if not (state := desk.state())["jobs"]:
            return state
        time.sleep(0.01)
    raise AssertionError("it is still being judged")


def test_a_model_that_is_gone_is_said_and_the_edit_is_kept(session: Session) -> None:
    desk = Desk(session, "en", {"model": "m"}, True, "")
    number = desk.run("The server is gone")
    state = waited(desk)
    assert state["error"]["text"].startswith("the server is gone")
    assert (
        state["edits"][number]["text"] == "The server is gone"
        and not state["edits"][number]["run"]
    )
    with pytest.raises(ValueError, match="Run it first"):
        desk.look(number)
    session.ask = lambda text, *more: follows("Fail 90p", *more)  # it is there again
    desk.run("The server is gone")
    state = waited(desk)
    assert state["error"] is None and state["edits"][number]["run"]


def test_what_cannot_be_written_is_said(session: Session) -> None:
    session.path.unlink()
    session.path.mkdir()
    with pytest.raises((StorageError, OSError)):
        session.edit("Another")


@contextlib.contextmanager
def serving(session: Session, language: str = "en") -> Iterator[Any]:
    with Server(
        Desk(
            session,
            language,
            {"judge": "score", "model": "fake", "run": "r"},
            True,
            "all",
        )
    ) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


def test_the_page_is_told_nothing_of_the_held_out_texts(session: Session) -> None:
    with serving(session) as server:
        session.judge(session.edit("Fail 90p"), "tuning")
        session.look(1)
        told = json.dumps(
            [asked(server, path)[1] for path in ("/about", "/state", "/said?number=1")]
        )
        shown = {item.text for item in session.parts["tuning"]}
        assert all(json.dumps(text)[1:-1] in told for text in shown)
        ids = {f'"{item.id}"' for item in session.parts["held_out"]}
        assert not [item for item in session.parts["held_out"] if item.text in told]
        assert not [name for name in ids if name in told]
        assert asked(server, "/about", X_Token="wrong")[0] == 403
        assert (
            asked(server, "/run", {"text": "x"}, Origin="http://evil.example")[0] == 403
        )
        assert asked(server, "/said?number=9")[0] == 404
        status, error = asked(server, "/run", {"text": " "})
        assert status == 400 and "The prompt was not run: it is empty" in error["error"]
        assert asked(server, "/look", {"number": 0})[0] == 400
        assert [edit.text for edit in session.edits()] == [FIRST, "Fail 90p"]


async def _person(url: str) -> None:
    async with browsing(url) as browser:
        await browser.until("document.querySelectorAll('#list article').length > 0")
        assert await browser.js("document.getElementById('prompt').value") == FIRST
        assert "First prompt: agrees on" in await browser.js("document.body.innerText")
        await browser.key("e")
        for letter in " r1h90p":  # in the field keys are letters
            await browser.key(letter)
        await browser.until(
            "document.getElementById('prompt').value.includes('r1h90p')"
        )
        await browser.key("Escape")
        await browser.key("r")
        await browser.until(
            "document.getElementById('versions').innerText.includes('Edit 1')"
        )
        await browser.until(
            "/[1-9]/.test(document.getElementById('tab_right').textContent.slice(1))"
        )
        await browser.key("2")
        await browser.until("document.querySelectorAll('#list article').length > 5")
        assert "tuned on" in await browser.js(
            "document.getElementById('versions').innerText"
        )
        await browser.key("ArrowDown")
        assert (
            await browser.js(
                "[...document.querySelectorAll('article')].findIndex(a => a.className === 'here')"
            )
            == 1
        )
        await browser.key("h")
        await browser.until(
            "document.getElementById('message').innerText.includes('look number 1')"
        )
        assert "Yes" not in await browser.js(
            "document.getElementById('answer').innerText"
        )
        await browser.key("h")
        await browser.until(
            "document.getElementById('answer').innerText.startsWith('Yes, the edited')"
        )
        await browser.key("e")
        for letter in "zz":
            await browser.key(letter)
        await browser.until("document.getElementById('prompt').value.includes('zz')")
        await asyncio.sleep(0.6)  # it is kept a moment after the last key
    async with browsing(url) as browser:  # another window, and another sitting
        await browser.until("document.querySelectorAll('#versions li').length === 3")
        await browser.until("document.getElementById('prompt').value.includes('zz')")
        await browser.key("h")
        await browser.until("document.getElementById('message').className === 'wrong'")
        assert "Run this prompt" in await browser.js(
            "document.getElementById('message').innerText"
        )
        await browser.key("[")
        await browser.until(f"document.getElementById('prompt').value === {FIRST!r}")
        assert "zz" in await browser.js("document.getElementById('versions').innerText")


@pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium (Debian's package chromium)"
)
def test_a_person_edits_runs_and_looks_by_keyboard_in_chromium(
    session: Session,
) -> None:
    with serving(session) as server:
        asyncio.run(_person(server.url))
    assert len(session.edits()) == 2 and [look.answer for look in session.looks()] == [
        "yes"
    ]
    assert any("zz" in line["text"] for line in session.drafts())


@pytest.mark.skipif(
    AXE is None, reason="AXE_CORE names no axe.min.js (npm package axe-core)"
)
@pytest.mark.parametrize("language", ["en", "pt"])
def test_axe_finds_nothing(language: str, tmp_path: Path, rubric: Rubric) -> None:
    own = labelled(tmp_path, rubric)
    items = [
        item.model_copy(
            update={"inputs": {"text": f"{item.text} {'A long text. ' * 900}"}}
        )
        for item in own.items
    ]
    session = Session(replace(own, items=items), follows)
    for text in ("Fail 20p", "Fail 90p"):
        session.judge(session.edit(text), "tuning")
    session.look(2)
    session.draft("page-1", "Fail 95p, and more")

    async def look(url: str) -> None:
        async with browsing(url) as browser:
            await browser.until("document.querySelectorAll('#list article').length > 0")
            await browser.js(f"{Path(str(AXE)).read_text(encoding='utf-8')}; 0")
            await browser.js("document.querySelector('details').open = true")
            shown = []
            # earlier and later prompts, each list, and what is refused
            for key in "[]2[3h":
                await browser.key(key)
                await asyncio.sleep(0.2)
                shown.append(await browser.js("document.body.innerText"))
                for width, dark in ((1280, False), (1280, True), (390, False)):
                    await browser.size(width, dark=dark)
                    found = (
                        "axe.run().then(told => told.violations.map(each => [each.id,"
                        " each.nodes[0].html]))"
                    )
                    assert await browser.js(found) == []
                    assert await browser.js(
                        "document.documentElement.scrollWidth <= innerWidth"
                    )
            assert len({*shown}) > 3
            told = ("Log.entryAdded", "Runtime.exceptionThrown")
            assert [each for each in browser.events if each.get("method") in told] == []

    with serving(session, language) as server:
        asyncio.run(look(server.url))


def start(folder: Path, *words: str) -> tuple[subprocess.Popen[str], Any]:
    """The command as it is typed, and how its page asks."""
    line = [sys.executable, "-m", "undogmatic.cli", "align", *words, "--no-browser"]
    process = subprocess.Popen(
        line,
        cwd=folder,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    url = next(
        found[0]
        for text in process.stdout
        if (found := re.findall(r"http://\S+", text))
    )
    address, _, token = url.partition("/?token=")

    class Address:
        server_port = int(address.rpartition(":")[2])

    Address.token = token  # type: ignore[attr-defined]
    return process, Address


def test_from_the_command_to_a_prompt_of_ones_own(tmp_path: Path) -> None:
    rows = [
        {"id": f"t{k}", "text": f"Text {k} {'x' * (k * 13 % 90)}", "label": k % 101}
        for k in range(30)
    ]
    put(tmp_path / "t.jsonl", rows)
    words = ["model=fake", "model.kind=length", "dataset=texts", "dataset.path=t.jsonl"]
    words += ["analysis=none", "tracking=none"]
    first = typed("undogmatic.run", *words, "hydra.run.dir=first", folder=tmp_path)
    assert first.returncode == 0, first.stderr
    process, server = start(tmp_path, "first")
    about = asked(server, "/about")[1]
    assert "reads no prompt" in about["notes"][0] and server.token not in " ".join(
        process.args
    )
    number = asked(server, "/run", {"text": "Judge: strictly, 100% 'so'."})[1]["number"]
    for _ in range(200):
        if not asked(server, "/state")[1]["jobs"]:
            break
        time.sleep(0.05)
    assert asked(server, "/state")[1]["edits"][number]["run"]
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    (command,) = re.findall(r"^  (undogmatic run .*)$", printed, re.MULTILINE)
    assert "Edit 1 is kept as a prompt of yours" in printed
    again = subprocess.run(
        f"{sys.executable} -m undogmatic.cli {command.removeprefix('undogmatic ')}",
        shell=True,
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 0, again.stderr
    (config,) = tmp_path.glob("outputs/*/*/.hydra/config.yaml")
    assert "strictly, 100%" in config.read_text()
    overrides = tmp_path / "first" / ".hydra" / "overrides.yaml"
    overrides.write_text(overrides.read_text().replace("kind=length", "kind=capitals"))
    with pytest.raises(ConfigError, match="has changed since"):
        _Run(RunFolder.open("first", "RUN"), None).session()


@pytest.mark.parametrize(
    ("run", "said"),
    [("nowhere", "is not a folder"), ("unlabelled", "nobody has labelled")],
)
def test_a_run_that_cannot_be_aligned_is_said(
    run: str, said: str, tmp_path: Path, capsys: Capture
) -> None:
    if run == "unlabelled":
        put(
            tmp_path / "t.jsonl",
            [{"id": f"t{k}", "text": f"Text {k}."} for k in range(4)],
        )
        words = [
            "model=fake",
            "model.kind=length",
            "dataset=texts",
            "dataset.path=t.jsonl",
        ]
        words += ["analysis=none", "tracking=none", "hydra.run.dir=unlabelled"]
        assert typed("undogmatic.run", *words, folder=tmp_path).returncode == 0
    with pytest.raises(SystemExit):
        main(["align", run, "--no-browser"])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("language", languages())
def test_every_answer_has_its_sentences(language: str) -> None:
    words = Words(language, [TEXTS])
    groups = [str(k) for k in range(40)]
    cases = {
        "yes": [(0.0, 1.0)] * 30 + [(1.0, 1.0)] * 10,
        "no": [(1.0, 0.0)] * 30 + [(1.0, 1.0)] * 10,
        "not_yet": [(0.0, 1.0)] * 3 + [(1.0, 0.0)] * 3 + [(1.0, 1.0)] * 34,
        "identical": [(1.0, 1.0)] * 40,
        "too_few": [(1.0, float("nan"))] * 38 + [(1.0, 1.0)] * 2,
        "missing": [(0.0, 1.0)] * 9 + [(1.0, float("nan"))] * 31,
    }
    starts = {"en": ("Yes,", "No,"), "pt": ("Sim,", "Não,")}[language]
    for name, pairs in cases.items():
        for look in (1, 3):
            found = answer(pairs, groups, look)
            told = sentences(found, words)
            assert len(told) == 2 + bool(found.failed) and not [
                text for text in told if "nan" in text
            ]
            place = ("yes", "no").index(name) if name in ("yes", "no") else None
            assert place is None or told[0].startswith(starts[place])
            assert place is not None or not told[0].startswith(starts)


def test_a_hosted_model_is_asked_with_the_edit_and_may_be_gone(
    tmp_path: Path, stub: Any, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    rows = [{"id": f"t{k}", "text": f"Text {k}.", "label": k % 101} for k in range(30)]
    put(tmp_path / "t.jsonl", rows)
    words = [
        "model=gpt",
        f"model.api_base={stub.url}/v1",
        "dataset=texts",
        "dataset.path=t.jsonl",
    ]
    words += [
        "analysis=none",
        "tracking=none",
        "hydra.run.dir=first",
        "engine.backoff=0.01",
    ]
    first = typed("undogmatic.run", *words, folder=tmp_path, OPENAI_API_KEY=KEY)
    assert first.returncode == 0, first.stderr
    run = _Run(RunFolder.open("first", "RUN"), None)
    session = run.session()
    desk = Desk(session, "en", run.about(), run.parts.prompted, run.sent())
    assert not [note for note in desk.about()["notes"] if "reads no prompt" in note]
    assert "argumentar" in desk.about()["sent"], "the rubric's own words"
    asked_before = len(stub.requests)
    desk.run("Judge like a baker.")
    state = waited(desk)
    assert state["error"] is None and state["edits"][1]["run"]
    sent = [json.dumps(each.body) for each in stub.requests[asked_before:]]
    assert len(sent) == len(session.parts["tuning"])
    assert all("Judge like a baker." in body for body in sent)
    held = {item.text for item in session.parts["held_out"]}
    assert not [each for each in stub.requests[asked_before:] if each.text in held]
    stub.faults = {"Text": Fault("status", times=None, status=503)}
    desk.run("Judge like a butcher.")
    state = waited(desk)
    assert (
        "got no answer from" in state["error"]["text"] and not state["edits"][2]["run"]
    )
    assert state["edits"][2]["text"] == "Judge like a butcher."
    stub.faults = {}
    desk.run("Judge like a butcher.")
    state = waited(desk)
    assert state["error"] is None and state["edits"][2]["run"]
    file = run.keep(session.edits()[2])
    assert "butcher" in file.read_text() and file.stem in run.command(file)[-1]


@pytest.mark.parametrize("language", languages())
def test_the_page_tells_what_was_measured(language: str) -> None:
    stored = pd.read_csv(RESULTS / "align.csv")
    (row,) = stored[(stored["labels"] == 200) & (stored["worth"] == 0)].to_dict(
        "records"
    )
    sentence = Words(language, [TEXTS]).text("align.measured")
    found = [round(abs(row[name])) for name in ("all", "tuning", "one_look")]
    numbers = [int(word) for word in re.findall(r"\d+", sentence)]
    assert numbers == [EDITS, 200, found[0], 100, *found[1:]]
    assert (stored[["one_look", "every_look"]] <= 1).all(axis=None), (
        "at most one in a hundred"
    )
    assert (stored["tuning"] > stored["all"]).all() and (
        stored["all"] > stored["one_look"]
    ).all()


@pytest.mark.local_model
def test_the_embedded_model_is_asked_with_the_edit(tmp_path: Path) -> None:
    rows = [
        {"id": f"t{k}", "text": f"Caso {k}: cabe a multa.", "label": k}
        for k in range(24)
    ]
    put(tmp_path / "t.jsonl", rows)
    words = ["model=local", "readout=logprobs", "prompt=demos_pt", "dataset=texts"]
    words += [
        "dataset.path=t.jsonl",
        "analysis=none",
        "tracking=none",
        "hydra.run.dir=first",
    ]
    words += [f"engine.cache_dir={tmp_path / 'replies'}"]
    first = typed("undogmatic.run", *words, folder=tmp_path)
    assert first.returncode == 0, first.stderr
    session = _Run(RunFolder.open("first", "RUN"), None).session()
    session.judge(session.edit("Dê nota alta a tudo o que fala de multa."), "tuning")
    before, after = session.edits()
    assert session.is_run(after)
    changed = [
        item for item, one in after.said.items() if one.score != before.said[item].score
    ]
    assert changed, "the edit reaches the model"
