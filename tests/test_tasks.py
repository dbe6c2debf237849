"""Five things that whoever only reads the screen must be able to do, on what a command has just
printed or written.

What stands on the first screen of a report is read from its HTML, and where there is a Chromium
from the window itself.
"""

import asyncio
import csv
import functools
import hashlib
import html.parser
import io
import json
import random
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks.browser import CHROMIUM, browsing
from tests.conftest import put, typed
from tests.stub_server import Fault, StubServer, score_of
from undogmatic.safety.paths import conf_folder, data_folder

shared = pytest.mark.xdist_group("tasks")  # the report of a sheet, which is made once
WIDTHS = (1280, 390)
VERDICT = re.compile(r"(✓ Yes|◐ Not yet|✗ No|\? Undecided)\. (.+)")
SEEN = """
(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = [], range = document.createRange();
  while (walker.nextNode()) {
    range.selectNodeContents(walker.currentNode);
    const { top, bottom, height } = range.getBoundingClientRect();
    if (height && top >= 0 && bottom <= innerHeight && walker.currentNode.parentElement.checkVisibility())
      seen.push(walker.currentNode.data);
  }
  return seen.join(" ");
})()
"""


class Screen(html.parser.HTMLParser):
    """What a report shows first, before its first picture, table or heading of a part; and the rows
    of the table of all items as they are without a script."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.first, self.rows, self.links = "", list[str](), dict[str, str]()
        self._open, self._ended, self._place = list[str](), False, ""
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self._ended |= tag in ("h2", "figure", "table", "noscript")
        self._open += [] if tag in ("meta", "img", "br", "circle") else [tag]
        if tag == "a" and "nav" in self._open:
            self._place = str(known["href"])
        if tag == "tr" and "noscript" in self._open:
            self.rows.append("")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "nav" in self._open:
            self.links |= {data: self._place} if "a" in self._open else {}
        elif "noscript" in self._open and self.rows:
            self.rows[-1] += f"{data} "
        elif (
            "body" in self._open
            and not self._ended
            and not {"details", "script", "style"} & set(self._open)
        ):
            self.first += data


def said(sentence: str, screen: str) -> bool:
    """Whether the screen has the sentence: white space says nothing, as words that are explained
    stand apart."""
    return re.sub(r"\s", "", sentence) in re.sub(r"\s", "", screen)


class Report(NamedTuple):
    """A report, and what the command that wrote it printed."""

    page: Path
    printed: str

    @property
    def verdict(self) -> tuple[str, str]:
        """The word with which the answer begins, and the first of its sentences."""
        found = [*VERDICT.finditer(self.printed)][-1]
        return found[1], found[2].split(". ")[0]

    def first_screens(self) -> list[str]:
        """What is seen without a click: as the page says, and in a window as wide as that of a desk
        and of a phone."""
        screens = [Screen(self.page).first]
        assert len(screens[0]) < 2500, "more than a screen can hold"

        async def look() -> None:
            async with browsing() as browser:
                for width in WIDTHS:
                    await browser.size(width)
                    await browser.call(
                        "Page.navigate", url=self.page.resolve().as_uri()
                    )
                    await browser.until(
                        "document.querySelectorAll('.window .row').length > 5"
                    )
                    screens.append(await browser.js(SEEN))

        if CHROMIUM is not None:
            asyncio.run(look())
        return screens


# A table as a spreadsheet for readers of Portuguese saves it, judged in one command.


@functools.cache
def grades() -> list[tuple[str, float]]:
    """Texts with grades from 1 to 10, one of which is at the wrong end: the one on which a judge
    must differ most."""
    rng, rows = random.Random(0), []
    vocabulary = sorted(
        set(
            re.findall(
                r"[a-zà-ú]{4,}",
                (data_folder() / "curated" / "ab_pairs.jsonl").read_text(),
            )
        )
    )
    for n in range(40):
        words = " ".join(rng.sample(vocabulary, 12))
        text = (
            f"Aplica-se o Tema {100 + n} do STF: {words}."
            if n % 2
            else f"{words.capitalize()}, porque não; ou sim."
        )
        rows.append(
            (text, 1.0 if n == 21 else 9.0 + n % 3 / 2 if n % 2 else 1.0 + n % 5 / 2)
        )
    return rows


@pytest.fixture(scope="module")
def sheet(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder, out = tmp_path_factory.mktemp("sheet"), io.StringIO()
    lines = csv.writer(out, delimiter=";")
    lines.writerows(
        [
            ("texto", "nota"),
            *((text, str(grade).replace(".", ",")) for text, grade in grades()),
        ]
    )
    (folder / "notas.csv").write_bytes(out.getvalue().encode("cp1252"))
    words = "run dataset=my dataset.path=notas.csv model=patterns tracking=none hydra.run.dir=out"
    done = typed("undogmatic.cli", *words.split(), folder=folder)
    assert done.returncode == 0, done.stderr
    return Report(folder / "out" / "report.html", done.stdout)


@shared
def test_a_table_of_ones_own_is_judged_in_one_command_and_answered_in_its_own_grades(
    sheet: Report,
) -> None:
    assumed, answer = sheet.printed.split("Can you trust", 1)
    assert len(assumed.strip().splitlines()) <= 4
    for said in (
        "Windows-1252",
        "text = `texto`, label = `nota`",
        "1 was read as 0 and 10 as 100",
    ):
        assert said in assumed
    assert VERDICT.search(answer) and "are on yours" in answer
    (distance,) = re.findall(r"Mean absolute error +([\d.]+)", answer)
    assert float(distance) < 9  # of the rubric's scale it would be eleven times as much


def differs_most(sheet: Report) -> tuple[str, str]:
    """The id and the text of the item whose score is furthest from its grade, from the files
    alone."""
    with sheet.page.with_name("scores.csv").open(encoding="utf-8", newline="") as file:
        scores = [(row["item_id"], float(row["score"])) for row in csv.DictReader(file)]
    gaps = [
        abs(score - 100 * (grade - 1) / 9)
        for (_, score), (_, grade) in zip(scores, grades(), strict=True)
    ]
    order = sorted(range(len(gaps)), key=gaps.__getitem__)
    assert gaps[order[-1]] > gaps[order[-2]] + 10, "one item is clearly the furthest"
    return scores[order[-1]][0], grades()[order[-1]][0]


@shared
def test_the_item_on_which_judge_and_people_differ_most_is_one_click_away(
    sheet: Report,
) -> None:
    name, text = differs_most(sheet)
    screen = Screen(sheet.page)
    # the first row below the head
    assert screen.rows[1].split()[0] == name and text in screen.rows[1]
    assert "All items" in screen.links

    async def click() -> str:
        async with browsing(sheet.page.resolve().as_uri()) as browser:
            await browser.size(WIDTHS[0])
            await browser.until("document.querySelectorAll('.window .row').length > 5")
            link = f".toc a[href='{screen.links['All items']}']"
            assert await browser.js(
                f'document.querySelector("{link}").checkVisibility()'
            )
            await browser.js(f'document.querySelector("{link}").click()')
            await browser.until(
                "document.querySelector('.window').getBoundingClientRect().top < innerHeight / 2"
            )
            return str(await browser.js(SEEN))

    if CHROMIUM is not None:
        seen = asyncio.run(click())
        places = {seen.index(each): each for each, _ in grades() if each in seen}
        assert places[min(places)] == text  # the first of those that are seen


@shared
def test_whether_to_believe_the_judge_is_one_sentence_on_the_first_screen(
    sheet: Report,
) -> None:
    for screen in sheet.first_screens():
        assert said("Can you trust the scores of patterns", screen)
        assert said(" ".join(sheet.verdict), screen)


# Two prompts, of which one is better, or neither.


class TwoPrompts(StubServer):
    """Answers by the human label where the levels are spelt out to it, and else by chance or nearly
    as well."""

    far = True

    def _answer(
        self, path: str, body: dict[str, Any], text: str, fault: Fault | None
    ) -> dict[str, Any]:
        spelt_out = "75 = strong dependence" in json.dumps(body, ensure_ascii=False)
        noise = (
            int(hashlib.sha256(f"{text}{spelt_out}".encode()).hexdigest(), 16) % 21 - 10
        )
        score = (
            score_of(text) + noise
            if spelt_out or not self.far
            else score_of(f"{text} guessed")
        )
        answer = {
            "shame_score": min(100, max(0, score)),
            "confidence": 80,
            "rationale": "Stub.",
        }
        reply = super()._answer(path, body, text, fault)
        reply["choices"][0]["message"]["content"] = json.dumps(answer)
        return reply


@pytest.mark.parametrize("far", [True, False], ids=["real", "chance"])
def test_the_better_of_two_prompts_and_whether_that_is_real_stand_on_the_first_screen(
    far: bool, tmp_path: Path
) -> None:
    texts = [f"Answer {n} of the shop to a customer." for n in range(40)]
    put(
        tmp_path / "t.jsonl",
        (
            {"id": f"t{n}", "text": text, "label": score_of(text)}
            for n, text in enumerate(texts)
        ),
    )
    with TwoPrompts() as stub:
        stub.far = far
        words = (
            f"run -m prompt=minimal_en,anchored_en model=gpt model.api_base={stub.url}/v1"
            " dataset=my"
        )
        words += " dataset.path=t.jsonl dataset.label_scale=[0,100] tracking=none hydra.sweep.dir=out"
        done = typed(
            "undogmatic.cli", *words.split(), folder=tmp_path, OPENAI_API_KEY="none"
        )
    assert done.returncode == 0, done.stderr
    report = Report(tmp_path / "out" / "report.html", done.stdout)
    # Of forty texts with one person's labels no judge is believed yet, and the better one is named.
    ranks = re.search(
        r"\w+ ranks (first of 2|the texts better than every other)", report.printed
    )
    assert ranks is not None
    assert ranks[0].startswith("anchored_en") or not far
    for screen in report.first_screens():
        assert said(" ".join(report.verdict), screen) and said(ranks[0], screen)
        assert [
            said(words, screen) for words in ("by more than chance", "may be chance")
        ] == [
            far,
            not far,
        ]


@pytest.mark.local_model
def test_two_commands_lead_from_nothing_to_a_verdict_of_a_rubric_of_two_inputs_as_the_tutorial_says(
    tmp_path: Path,
) -> None:
    page = (conf_folder().parent / "docs" / "tutorial.md").read_text(encoding="utf-8")
    commands = "".join(
        re.findall(r"^```sh\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    ).splitlines()
    assert (
        commands[1]
        == 'undogmatic init --rubric "how polite is the answer" --scale 1-5 --inputs'
        " question,answer"
    )
    assert commands[2] == "undogmatic run experiment=polite"
    printed = []
    for line in commands:
        program, *words = shlex.split(line)
        assert program == "undogmatic"
        done = typed(
            "undogmatic.cli",
            *words,
            *["tracking=none"][: words[0] == "run"],
            folder=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert "0.356" in printed[0] or "0.36" in printed[0]
    pages = sorted((tmp_path / "outputs").glob("*/*/report.html"))
    assert len(pages) == 2 and "16 judged" in printed[2]
    report = Report(pages[0], printed[2])
    assert all(
        said(" ".join(report.verdict), screen) for screen in report.first_screens()
    )
