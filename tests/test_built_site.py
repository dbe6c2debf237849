"""The documentation as it is built: what its search finds in each language, what a language model is
told, and what axe-core says of every page.

DOCS_SITE names the folder of a built site (`mkdocs build --site-dir FOLDER`); `.ci/run` builds one.
"""

import asyncio
import contextlib
import functools
import http.server
import json
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.browser import CHROMIUM, Browser, browsing
from undogmatic.safety.paths import conf_folder

SITE = Path(os.environ.get("DOCS_SITE", "none"))
AXE = os.environ.get("AXE_CORE")  # axe.min.js of the npm package axe-core
DOCS = conf_folder().parent / "docs"
pytestmark = pytest.mark.skipif(
    not SITE.is_dir(), reason="DOCS_SITE names no built site"
)
in_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium (Debian's package chromium)"
)
ENGLISH = {
    "excel": "howto/spreadsheet/",
    "xlsx": "howto/spreadsheet/",
    "spreadsheet": "howto/spreadsheet/",
    "jupyter": "howto/notebook/",
    "notebook": "howto/notebook/",
    "pandas": "howto/notebook/",
    "drift": "howto/drift/",
    "PII": "howto/personal_data/",
    "redact": "howto/personal_data/",
    "personal data": "howto/personal_data/",
}
PORTUGUESE = {
    "excel": "howto/spreadsheet/",
    "xlsx": "howto/spreadsheet/",
    "planilha": "howto/spreadsheet/",
    "jupyter": "howto/notebook/",
    "notebook": "howto/notebook/",
    "caderno": "howto/notebook/",
    "pandas": "howto/notebook/",
    "drift": "howto/drift/",
    "deriva": "howto/drift/",
    "PII": "howto/personal_data/",
    "redact": "howto/personal_data/",
    "dados pessoais": "howto/personal_data/",
}
"""What is searched for, and the page that must be among the first two found."""
WORDS = [("", ENGLISH), ("pt/", PORTUGUESE)]
ENDING = " (em inglês)"


def index(language: str) -> list[dict[str, Any]]:
    """The entries that the pages of a language search."""
    whole = json.loads(
        (SITE / language / "search" / "search_index.json").read_text("utf-8")
    )
    assert whole["config"]["lang"] == [language.rstrip("/") or "en"]
    return list(whole["docs"])


@pytest.mark.parametrize("language", ["", "pt/"])
def test_what_is_found_is_a_page_of_its_language(language: str) -> None:
    found = {entry["location"].partition("#")[0] for entry in index(language)}
    pages = {
        page.parent.relative_to(SITE / language)
        .as_posix()
        .replace(".", "", 1)
        .strip("/")
        for page in (SITE / language).rglob("index.html")
    }
    own = {page for page in pages if page.partition("/")[0] != "pt"}
    assert {each.rstrip("/") for each in found} == own and len(own) > 50


def test_no_english_page_is_found_twice_and_in_portuguese_those_that_are_not_translated_are_last() -> (
    None
):
    in_portuguese = [
        path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.pt.md")
    ]
    translated = {
        re.sub(r"(^|/)index/$", r"\1", f"{each[:-6]}/") for each in in_portuguese
    }
    seen = set()
    for entry in index("pt/"):
        page = entry["location"].partition("#")[0]
        english = page not in translated
        assert entry["title"].endswith(ENDING) == english
        assert (entry.get("boost", 1) < 0.001) == english
        seen.add(page)
    assert translated <= seen
    assert not [entry for entry in index("") if entry["location"].startswith("pt/")]


@pytest.mark.parametrize(
    "path", sorted((DOCS / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem
)
def test_a_notebook_begins_with_its_own_heading(path: Path) -> None:
    title = json.loads(path.read_text("utf-8"))["cells"][0]["source"][0].strip("# \n")
    shown = (SITE / "notebooks" / path.stem / "index.html").read_text("utf-8")
    assert re.findall(r"<h1[^>]*>([^<]*)", shown) == [title]


@contextlib.contextmanager
def served() -> Iterator[str]:
    """The address of the site, while the context is open."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *told: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


async def opened(browser: Browser, address: str) -> None:
    """Go to a page and wait until it is there."""
    await browser.call("Page.navigate", url="about:blank")
    await browser.call("Page.navigate", url=address)
    await browser.until(
        f"document.readyState === 'complete' && location.href === {address!r}"
    )


TYPED = """
{
  const field = document.querySelector('[data-md-component=search-query]');
  field.focus();
  field.value = WORD;
  field.dispatchEvent(new Event('input', { bubbles: true }));
  field.dispatchEvent(new Event('keyup', { bubbles: true }));
}
0
"""
FOUND = "[...document.querySelectorAll('.md-search-result__item')].map(each => each.querySelector('a').href)"


@in_chromium
@pytest.mark.parametrize(("language", "words"), WORDS, ids=["en", "pt"])
def test_a_word_that_is_typed_finds_its_page_first(
    language: str, words: dict[str, str]
) -> None:
    async def search(site: str) -> None:
        async with browsing() as browser:
            await browser.size(1280)
            for word, page in words.items():
                # from a page that lies deeper, the addresses are found as well
                await opened(browser, f"{site}{language}howto/ci/")
                await browser.js(TYPED.replace("WORD", json.dumps(word)))
                await browser.until(f"{FOUND}.length > 0")
                links = await browser.js(FOUND)
                first = [
                    re.sub(r"[?#].*", "", link).removeprefix(site) for link in links[:2]
                ]
                assert f"{language}{page}" in first, (word, links)
                assert all(each.startswith("pt/") == bool(language) for each in first)

    with served() as site:
        asyncio.run(search(site))


def test_the_site_serves_what_a_language_model_reads_and_its_addresses_exist() -> None:
    told = (SITE / "llms.txt").read_text("utf-8")
    assert told == (DOCS / "llms.txt").read_text("utf-8")
    addresses = re.findall(r"^- \[.+?\]\(([^)]+)\)", told, re.MULTILINE)
    assert (
        addresses
        and [a for a in addresses if not (SITE / a / "index.html").is_file()] == []
    )


PAGES = sorted(page.relative_to(SITE).as_posix() for page in SITE.rglob("*.html"))
FAULTS = """
axe.run().then(told => told.violations.map(each => `${each.id}: ${each.nodes[0].html.slice(0, 200)}`))
"""


@in_chromium
@pytest.mark.skipif(
    AXE is None, reason="AXE_CORE names no axe.min.js (npm package axe-core)"
)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_and_no_page_is_wider_than_its_window(
    width: int, dark: bool
) -> None:
    async def look(site: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        async with browsing() as browser:
            await browser.size(width, dark=dark)
            for page in PAGES:
                await opened(browser, site + page)
                scheme = "document.body.dataset.mdColorScheme"
                assert await browser.js(scheme) == ("slate" if dark else "default")
                await browser.js(f"{Path(str(AXE)).read_text(encoding='utf-8')}; 0")
                faults = await browser.js(FAULTS)
                if await browser.js(
                    "document.documentElement.scrollWidth > innerWidth"
                ):
                    faults.append("wider than its window")
                if faults:
                    found[page] = faults
        return found

    with served() as site:
        assert asyncio.run(look(site)) == {}
