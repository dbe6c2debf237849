"""The page on which people label: what it tells, whom it answers, what it keeps; and a real browser
on it."""

import asyncio
import contextlib
import http.client
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks.browser import CHROMIUM, browsing
from tests.conftest import Capture, Patch
from undogmatic.cli import main
from undogmatic.errors import ConfigError, DataError, StorageError
from undogmatic.records.rubric import NumericScale
from undogmatic.review.kept import COLUMNS
from undogmatic.review.page import (
    Entry,
    Server,
    Sheet,
    keys_of,
    read_entries,
    read_rubric,
    scale_of,
)
from undogmatic.safety.paths import conf_folder

AXE = os.environ.get("AXE_CORE")  # axe.min.js of the npm package axe-core


def sheet(
    tmp_path: Path, scale: str = "pass,fail", rater: str = "ana", n: int = 3
) -> Sheet:
    entries = [
        Entry(f"i{k}", {"text": f"Text <b>{k}</b> & more"}, {"judge": "pass"})
        for k in range(n)
    ]
    return Sheet(entries, scale_of(scale), tmp_path / "labels.csv", rater)


@contextlib.contextmanager
def serving(own: Sheet) -> Iterator[Server]:
    with Server(own) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(sheet(tmp_path)) as running:
        yield running


def ask(
    server: Server, path: str, body: Any = None, **headers: str | None
) -> tuple[int, Any]:
    own: dict[str, str | None] = {
        "X-Token": server.token,
        "Host": f"127.0.0.1:{server.server_port}",
    }
    if body is not None:
        own["Origin"] = f"http://127.0.0.1:{server.server_port}"
    own |= {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {name: value for name, value in own.items() if value is not None}
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    raw = (
        body
        if isinstance(body, bytes)
        else None
        if body is None
        else json.dumps(body).encode()
    )
    connection.request("GET" if body is None else "POST", path, raw, sent)
    answer = connection.getresponse()
    told, kind = answer.read().decode(), answer.headers["Content-Type"]
    connection.close()
    return answer.status, json.loads(told) if "json" in kind else told


def test_what_the_judge_said_is_told_only_after_the_label(server: Server) -> None:
    before = ask(server, "/item?place=1")[1]
    assert before["said"] == {} and "pass" not in json.dumps(before)
    assert "said" not in ask(server, "/about")[1]
    status, after = ask(
        server, "/label", {"item": "i1", "label": "fail", "comment": "unsure"}
    )
    assert (
        status == 200
        and after["item"]["said"] == {"judge": "pass"}
        and after["done"] == 1
    )
    assert after["next"] == 2 and after["replaced"] is None
    kept = pd.read_csv(server.sheet.out)
    assert kept[["item", "rater", "label", "comment"]].to_numpy().tolist() == [
        ["i1", "ana", "fail", "unsure"]
    ]
    taken_back = ask(server, "/label", {"item": "i1", "label": None})[1]
    assert taken_back["done"] == 0 and taken_back["item"]["label"] is None
    # the row stays, without a label
    assert pd.read_csv(server.sheet.out)["label"].isna().all()
    assert sheet(server.sheet.out.parent).done == []


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("/about", None, {"X_Token": "wrong"}),
        ("/about", None, {"X_Token": None}),
        ("/item?place=0", None, {"Host": "evil.example"}),
        ("/?token=wrong", None, {}),
        ("/label", {"item": "i0", "label": "pass"}, {"Origin": "http://evil.example"}),
        ("/label", {"item": "i0", "label": "pass"}, {"Origin": None}),
        ("/label", {"item": "i0", "label": "pass"}, {"Origin": "null"}),
        ("/label", {"item": "i0", "label": "pass"}, {"X_Token": None}),
    ],
)
def test_it_answers_to_its_own_page_alone(
    server: Server, path: str, body: Any, headers: dict[str, Any]
) -> None:
    status, told = ask(server, path, body, **headers)
    assert status == 403 and "Text" not in json.dumps(told)
    assert not server.sheet.out.exists()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"item": "i0", "label": "perhaps"}, "not one of"),
        ({"item": "nobody", "label": "pass"}, "there is no item"),
        ({"item": 3, "label": "pass"}, "no label"),
        (b"{", "not kept"),
        (b"\xff", "not kept"),
        ({"item": "i0", "label": "pass", "comment": [1]}, "comment"),
    ],
)
def test_what_is_no_label_is_refused_and_said(
    server: Server, body: Any, said: str
) -> None:
    status, told = ask(server, "/label", body)
    assert status == 400 and said in told["error"]
    assert not server.sheet.out.exists()


def test_the_page_is_one_file_that_may_load_nothing(server: Server) -> None:
    status, page = ask(server, f"/?token={server.token}", X_Token=None)
    assert (
        status == 200
        and "NONCE" not in page
        and "http://" not in page
        and "https://" not in page
    )
    assert ask(server, "/nothing")[0] == 404 and ask(server, "/item?place=3")[0] == 404


def test_a_second_rater_and_a_second_sitting_keep_what_is_there(tmp_path: Path) -> None:
    first = sheet(tmp_path)
    first.label("i0", "pass", '=1+1, "quoted"\nand a second line')
    second = sheet(tmp_path, rater="ben")
    second.label("i0", "fail")
    again = sheet(tmp_path)
    assert (
        again.done == ["i0"]
        and again.shown(0)["comment"] == '=1+1, "quoted"\nand a second line'
    )
    assert again.about()["next"] == 1
    again.label("i0", "fail")
    assert sorted(pd.read_csv(again.out)["label"]) == ["fail", "fail"]
    with pytest.raises(DataError, match=r"labels.csv:2.*not one of"):
        sheet(tmp_path, scale="good,bad")
    (tmp_path / "labels.csv").write_text("id,x\n1,2\n")
    with pytest.raises(DataError, match="no file of labels that this command wrote"):
        sheet(tmp_path)


def test_a_label_that_cannot_be_written_is_not_counted(tmp_path: Path) -> None:
    own = sheet(tmp_path)
    own.file.path = tmp_path / "gone" / "labels.csv"
    (tmp_path / "gone").write_text("a file where a folder should be")
    with pytest.raises(Exception, match="gone"):
        own.label("i0", "pass")
    assert own.done == []


@pytest.mark.parametrize(
    ("typed_scale", "span"),
    [
        ("1-5", "1-5 in steps of 1"),
        ("0..100", "0-100"),
        ("bad<ok<good", "bad"),
        ("pass,fail", "pass"),
    ],
)
def test_scales_are_typed_in_a_word(typed_scale: str, span: str) -> None:
    assert span in scale_of(typed_scale).span()


@pytest.mark.parametrize(
    ("typed_scale", "keys"),
    [
        ("1-5", "12345"),
        ("1-10", "1234567890"),
        ("0-10", "0123456789x"),
        ("1-20", ""),  # a field for the number
        ("0..1", ""),
        ("pass,fail", "12"),
        ("a<b<c<d<e<f<g<h<i<j<k<l<m", "1234567890abd"),
        ("2,1,3", "213"),
    ],
)
def test_each_label_has_a_key_that_is_shown(
    typed_scale: str, keys: str, tmp_path: Path
) -> None:
    assert keys_of(["-1", "0", "1"]) == ["a", "0", "1"]
    about = sheet(tmp_path, typed_scale).about()
    assert "".join(about["keys"]) == keys and len(about["options"]) == len(
        about["keys"]
    )
    assert len(set(about["keys"])) == len(keys) and "c" not in keys
    assert keys_of([f"name {n}" for n in range(60)])[34:] == [""] * 26


@pytest.mark.parametrize("wrong", ["5-1", "a-b", "", "pass", "a,a", "<", "1..x"])
def test_what_is_no_scale_is_said_with_the_ways_to_write_one(wrong: str) -> None:
    with pytest.raises(
        ConfigError, match=r"--scale is .* Write it like one of these: 1-5"
    ):
        scale_of(wrong)


def test_numbers_are_held_to_the_scale_and_kept_with_their_digits(
    tmp_path: Path,
) -> None:
    own = sheet(tmp_path, scale="0..1")
    own.label("i0", 0.123456)
    assert sheet(tmp_path, scale="0..1").shown(0)["label"] == "0.123456"
    with pytest.raises(ValueError, match="outside"):
        own.label("i1", 2)


def test_a_rubric_brings_scale_and_question() -> None:
    scale, questions = read_rubric(str(conf_folder() / "rubric" / "shame.yaml"))
    assert isinstance(scale, NumericScale) and set(questions) == {"en", "pt"}


def test_items_are_read_once_and_what_is_doubtful_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(
        "id,question,response,judge\na,Why?,Because.,pass\na,Why?,Because.,fail\nb,How?,So.,pass\n"
    )
    entries, numbered, said = read_entries(str(file), None, (), ["judge"])
    assert not numbered
    assert [finding.key for finding in said] == ["items.columns"]
    assert [entry.id for entry in entries] == ["a", "b"]
    assert list(entries[0].texts) == ["question", "response"] and entries[0].said == {
        "judge": "pass"
    }
    with pytest.raises(ConfigError, match=r"--text is 'x'.*Columns: id, question"):
        read_entries(str(file), None, ["x"], [])
    file.write_text("id,text\na,One.\na,Two.\n")
    with pytest.raises(DataError, match=r"t.csv:3.*a second time with other texts"):
        read_entries(str(file), None, (), [])
    file.write_text("x,y\n1,2\n")
    with pytest.raises(
        ConfigError,
        match=r"no column `text`, and none that seems to be it.*--text COLUMN",
    ):
        read_entries(str(file), None, (), [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "t.csv"], "--out is t.csv, and FILE is the same, which is read"),
        (["--scale", "1-5", "--rubric", "x.yaml"], "Leave one out"),
        (["--rubric", "x.yaml"], "does not exist"),
        (["--random", "7"], "--random is 7"),
        (["--by", "text"], "--by is 'text' without --random N"),
        (
            ["--random", "1", "--by", "judge"],
            "--by is 'judge', which is no column of t.csv",
        ),
        (["--port", "99999999"], "--port is 99999999"),
    ],
)
def test_what_was_typed_wrongly_is_said(
    words: list[str], said: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "t.csv").write_text("text\nOne text.\n")
    with contextlib.chdir(tmp_path), pytest.raises(SystemExit):
        main(["label", "t.csv", "--no-browser", *words])
    assert said in capsys.readouterr().err


async def _person(url: str) -> None:
    async with browsing(url) as browser:
        await browser.until("document.title === 'Item i0'")
        assert (
            await browser.js("document.querySelector('article div').textContent")
            == "Text <b>0</b> & more"
        )
        assert "pass" not in await browser.js(
            "document.getElementById('said').textContent"
        )
        await browser.key("1")
        await browser.until(
            "document.getElementById('said').textContent.includes('judge: pass')"
        )
        await browser.key("Enter")
        await browser.until("document.title === 'Item i1'")
        await browser.key("c")
        for letter in "c2":  # inside the comment keys are letters
            await browser.key(letter)
        await browser.key("Escape")
        await browser.key("2")
        await browser.until("document.getElementById('count').textContent === '2 of 3'")
        await browser.key("ArrowLeft")
        await browser.until("document.title === 'Item i0'")
        await browser.call("Page.reload")
        await browser.until("document.title === 'Item i2'")
        await browser.key("1")
        await browser.until(
            "document.getElementById('message').textContent.startsWith('All items')"
        )


@pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium (Debian's package chromium)"
)
def test_a_person_labels_by_keyboard_in_chromium(server: Server) -> None:
    asyncio.run(_person(server.url))
    kept = pd.read_csv(server.sheet.out, keep_default_na=False)
    assert list(kept.columns) == list(COLUMNS)
    assert kept[["item", "label", "comment"]].to_numpy().tolist() == [
        ["i0", "pass", ""],
        ["i1", "fail", "c2"],
        ["i2", "pass", ""],
    ]


@pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium (Debian's package chromium)"
)
class TestInChromium:
    """What a person's keys and eyes meet, on a page whose server takes its time."""

    @pytest.fixture
    def slow(self, tmp_path: Path, monkeypatch: Patch) -> Iterator[Server]:
        own = sheet(tmp_path, "0-10", n=14)
        own.entries = [entry._replace(said={}) for entry in own.entries]
        label, shown = own.label, own.shown

        def slowly(*given: Any) -> Any:
            time.sleep(0.2)
            return label(*given)

        def shown_slowly(place: int) -> Any:
            time.sleep(0.05)
            return shown(place)

        monkeypatch.setattr(own, "label", slowly)
        monkeypatch.setattr(own, "shown", shown_slowly)
        with serving(own) as running:
            yield running

    def test_no_key_that_is_pressed_while_a_label_is_saved_is_lost(
        self, slow: Server
    ) -> None:
        keys = "0123456789x0"

        async def type_fast() -> None:
            async with browsing(slow.url) as browser:
                await browser.until("document.title === 'Item i0'")
                shown = (
                    "[...document.querySelectorAll('#options kbd')].map((key) =>"
                    " key.textContent).join('')"
                )
                assert await browser.js(shown) == "0123456789x"
                for key in keys:
                    await browser.key(key)
                # a comment on the thirteenth, in letters
                for key in ("c", *"c1x", "Escape", "7"):
                    await browser.key(key)
                await browser.until(
                    "document.getElementById('count').textContent === '13 of 14'"
                )

        asyncio.run(type_fast())
        kept = pd.read_csv(slow.sheet.out, keep_default_na=False, dtype=str)
        assert kept["label"].tolist() == [*"0123456789", "10", "0", "7"]
        assert kept["item"].tolist() == [f"i{n}" for n in range(13)]
        assert kept["comment"].tolist() == [""] * 12 + ["c1x"]

    def test_numbers_are_typed_as_fast_as_one_can(self, tmp_path: Path) -> None:
        own = sheet(tmp_path, "0..100", n=6)
        own.entries = [entry._replace(said={}) for entry in own.entries]

        async def type_fast() -> None:
            async with browsing(server.url) as browser:
                await browser.until("document.title === 'Item i0'")
                for number in ("7", "12,5", "100", "0"):
                    for key in (*number, "Enter"):
                        await browser.key(key)
                for key in ("1", "0", "1", "Enter"):
                    await browser.key(key)
                await browser.until(
                    "document.getElementById('message').className === 'wrong'"
                )
                # 101 is off the scale
                assert await browser.js("document.title") == "Item i4"
                await browser.until(
                    "document.getElementById('count').textContent === '4 of 6'"
                )

        with serving(own) as server:
            asyncio.run(type_fast())
        assert pd.read_csv(own.out, dtype=str)["label"].tolist() == [
            "7",
            "12.5",
            "100",
            "0",
        ]

    def test_what_was_not_kept_is_shown_again(
        self, tmp_path: Path, monkeypatch: Patch
    ) -> None:
        own = sheet(tmp_path, n=4)
        own.entries = [entry._replace(said={}) for entry in own.entries]
        label = own.label

        def refuses(item: str, *given: Any) -> Any:
            if item == "i1" and not tried:
                tried.append(item)
                raise StorageError("the disk is full")
            return label(item, *given)

        tried = list[str]()
        monkeypatch.setattr(own, "label", refuses)

        async def label_all() -> None:
            async with browsing(server.url) as browser:
                await browser.until("document.title === 'Item i0'")
                for key in "12":
                    await browser.key(key)
                await browser.until("document.querySelector('#message.wrong') !== null")
                # meant for the items that are shown, not for the one that failed
                for key in "12":
                    await browser.key(key)
                wrong = "document.querySelector('#message.wrong')?.textContent ?? ''"
                await browser.until(
                    f"({wrong}).includes('i1: The label was not kept: the disk is full')"
                )
                # the only one without a label
                await browser.until("document.title === 'Item i1'")
                await browser.until(
                    "document.getElementById('count').textContent === '3 of 4'"
                )
                assert (
                    await browser.js(
                        "document.querySelectorAll('[aria-pressed=true]').length"
                    )
                    == 0
                )
                await browser.key("1")
                await browser.until(
                    "document.getElementById('message').textContent.startsWith('All items')"
                )

        with serving(own) as server:
            asyncio.run(label_all())
        kept = pd.read_csv(own.out).sort_values("item")
        assert kept["label"].tolist() == ["pass", "pass", "pass", "fail"], (
            "i1 again at last"
        )

    def test_an_answer_that_takes_the_place_of_another_is_said(
        self, tmp_path: Path
    ) -> None:
        own, other = sheet(tmp_path, n=2), sheet(tmp_path, n=2)

        async def label_one() -> None:
            async with browsing(server.url) as browser:
                await browser.until("document.title === 'Item i0'")
                other.label("i0", "pass")
                await browser.key("2")
                await browser.until(
                    "document.getElementById('message').textContent.startsWith('i0 was labelled"
                    " pass')"
                )

        with serving(own) as server:
            asyncio.run(label_one())
        assert pd.read_csv(own.out)["label"].tolist() == ["fail"] and own.replaced == 1

    @pytest.mark.skipif(
        AXE is None, reason="AXE_CORE names no axe.min.js (npm package axe-core)"
    )
    @pytest.mark.parametrize("scale", ["1-10", "0..100", "pass,fail"])
    @pytest.mark.parametrize("language", ["en", "pt"])
    def test_axe_finds_nothing(self, scale: str, language: str, tmp_path: Path) -> None:
        own = sheet(tmp_path, scale)
        long = "A long text. " * 2000
        own.entries = [
            entry._replace(texts={"Question": "Why?", "Answer": long})
            for entry in own.entries
        ]
        own.language = language
        own.label("i1", "pass" if scale == "pass,fail" else 5)

        async def look() -> None:
            async with browsing(server.url) as browser:
                await browser.until("document.title.endsWith('i0')")
                await browser.js(f"{Path(str(AXE)).read_text(encoding='utf-8')}; 0")
                for labelled in (False, True):
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
                    if not labelled:
                        await browser.js("document.getElementById('forward').click()")
                        await browser.until("document.title.endsWith('i1')")
                told = ("Log.entryAdded", "Runtime.exceptionThrown")
                assert [
                    each for each in browser.events if each.get("method") in told
                ] == []

        with serving(own) as server:
            asyncio.run(look())
