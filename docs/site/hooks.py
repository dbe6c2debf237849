"""What the site adds to the pages: the reference of conf/, notebooks, links out of docs/ to the repository, the address
of a notebook on Colab, and an index of search for each language.

No file names the repository. Where GITHUB_REPOSITORY does (owner/name, as GitHub sets it), links lead there."""

import json
import os
import re
from pathlib import Path
from typing import Any

from mkdocs import plugins
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
COLAB = "https://colab.research.google.com/github/"
NOTICE = {"pt": "Esta página existe por enquanto só em inglês."}
IN_ENGLISH = {"pt": " (em inglês)"}
untranslated: set[str] = set()
"""The addresses of pages that show English in another language's part of the site."""
OUTWARD = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?!\.\.)([^)#\s]*)(#[^)\s]*)?\)")


def first_comment(file: Path) -> str:
    """The comment that a file of conf/ begins with, in one line."""
    lines = file.read_text(encoding="utf-8").splitlines()
    end = next(
        (n for n, line in enumerate(lines) if not line.startswith("#")), len(lines)
    )
    return " ".join(
        line.lstrip("# ").rstrip()
        for line in lines[:end]
        if not line.startswith("# yaml-language-server")
    )


def conf_reference() -> str:
    """Every group of conf/, its options, what each is for, and its keys with their values."""
    parts = []
    for folder in sorted(
        path
        for path in (ROOT / "conf").rglob("*")
        if path.is_dir() and any(path.glob("*.yaml"))
    ):
        group = folder.relative_to(ROOT / "conf").as_posix()
        parts.append(f"\n## {group}\n")
        for file in sorted(folder.glob("*.yaml")):
            body = "\n".join(
                line
                for line in file.read_text(encoding="utf-8").splitlines()
                if not line.startswith("#")
            )
            parts.append(
                f"\n### `{group}={file.stem}`\n\n{first_comment(file)}\n\n```yaml\n{body.strip()}\n```\n"
            )
    return "\n".join(parts)


def notebook(file: Path) -> str:
    """The cells of a notebook with what they gave, as Markdown."""
    parts = []
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(
            source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"
        )
        for given in cell.get("outputs", ()):
            data = given.get("data", {"text/plain": given.get("text", "")})
            # without the class and the border of pandas a table looks and scrolls as others do
            shown = re.sub(
                r"<table[^>]*>", "<table>", "".join(data.get("text/html", ()))
            )
            parts.append(
                shown or f"```text\n{''.join(data['text/plain']).rstrip()}\n```"
            )
    return "\n\n".join(parts)


def on_page_markdown(
    markdown: str, *, page: Page, config: MkDocsConfig, files: Files
) -> str:
    """List conf/ and notebooks on their pages, and lead links that leave docs/ to the repository, or nowhere."""
    # the tabs above lead on, and what a command prints needs the width
    if page.is_homepage:
        page.meta["hide"] = ["navigation", "toc"]
    if page.file.src_uri.startswith("reference/conf."):
        markdown += conf_reference()
    if page.file.src_uri.startswith("notebooks/"):
        name = page.file.src_uri.replace(".pt.md", ".md").replace(".md", ".ipynb")
        markdown += "\n\n" + notebook(ROOT / "docs" / name)
    repository = os.environ.get("GITHUB_REPOSITORY", "")
    if repository:
        markdown = markdown.replace(
            f"({COLAB})", f"({COLAB}{repository}/blob/main/docs/notebooks/check.ipynb)"
        )
    home = config.repo_url or (f"https://github.com/{repository}" if repository else "")
    depth = page.file.src_uri.count("/")

    def outward(found: re.Match[str]) -> str:
        if found[0].count("../") <= depth:
            return found[0]
        if not home:
            return found[1]
        return f"[{found[1]}]({home.rstrip('/')}/blob/main/{found[2]}{found[3] or ''})"

    return OUTWARD.sub(outward, markdown)


def on_page_content(
    html: str, *, page: Page, config: MkDocsConfig, files: Files
) -> str:
    """Say of a page that is not translated that it is English, and call no empty cell a heading."""
    html = re.sub(r"<th([^>]*)></th>", r"<td\1></td>", html)
    language = str(config.theme["language"])
    # the locale is set by the plugin i18n
    if page.file.locale != language and language in NOTICE:
        untranslated.add(page.url)
        html = f'<p class="untranslated">{NOTICE[language]}</p>\n<div lang="en">\n{html}\n</div>'
    return html


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Let the search of another language's pages read that language's own index.

    The theme takes the index from the folder `base` of the site."""
    language = str(config.theme["language"])
    if not page.url.startswith(f"{language}/"):
        return output
    depth = page.url.count("/") - 1
    base = "/".join([".."] * depth) or "."
    return re.sub(r'("base": )"[^"]*"', rf'\1"{base}"', output, count=1)


def kept(index: Path, entries: list[dict[str, Any]], language: str, to: Path) -> None:
    """Write an index of search with these entries, in words of one language."""
    whole = json.loads(index.read_text(encoding="utf-8"))
    whole["config"]["lang"] = [language]
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(
        json.dumps(whole | {"docs": entries}, ensure_ascii=False), encoding="utf-8"
    )


# after the plugin i18n (-100), which builds each language in turn
@plugins.event_priority(-200)
def on_post_build(config: MkDocsConfig) -> None:
    """Give each language an index of search of its own.

    While another language is built, the index holds that language alone: it is kept in the
    language's folder, and pages that it has not translated come last and say that they are English.
    At the end the plugin writes one index for all; what begins with a language's folder is taken
    out of it."""
    i18n = config.plugins["i18n"]
    site = Path(config.site_dir)
    index = site / "search" / "search_index.json"
    entries = json.loads(index.read_text(encoding="utf-8"))["docs"]
    language = str(config.theme["language"])
    others = [each for each in IN_ENGLISH if (site / each).is_dir()]
    if not i18n.building:
        own = [e for e in entries if e["location"].partition("/")[0] not in others]
        kept(index, own, "en", index)
    elif language in IN_ENGLISH:
        for entry in entries:
            if entry["location"].partition("#")[0] in untranslated:
                entry["title"] += IN_ENGLISH[language]
                entry["boost"] = 0.0001  # a title counts a thousand times
            entry["location"] = entry["location"].removeprefix(f"{language}/")
        kept(index, entries, language, site / language / "search" / "search_index.json")
