"""Makes docs/llms.txt, which tells a language model what stands where in the documentation, from the
navigation of mkdocs.yml and the first sentence of each page.

python -m benchmarks.llms            # writes docs/llms.txt, which the site serves at its root
"""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from undogmatic.safety.paths import conf_folder

ROOT = conf_folder().parent
DOCS = ROOT / "docs"
PAGE = DOCS / "llms.txt"
HEAD = """# undogmatic

> {description}

Addresses are relative to this file. `undogmatic check FILE` asks no model and needs no key. The answers are Yes, Not
yet, No and Undecided; report them with their interval, and do not turn Undecided into a yes or a no. Below `pt/` the
same pages are in Portuguese, where they are translated.
"""


def first_sentence(text: str) -> str:
    """The first sentence of the first paragraph that is neither code nor a table, as plain words."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    paragraphs = re.split(r"\n\s*\n", text)
    plain = (each.strip("\n") for each in paragraphs)
    paragraph = next((each for each in plain if re.match(r"[A-Za-z*`\[\"]", each)), "")
    paragraph = re.sub(
        r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"\s+", " ", paragraph)
    )
    found = re.match(r".*?(?:[.?](?= [A-Z`\"])|[.?:]$)", paragraph.replace("**", ""))
    return re.sub(r":$", ".", found[0]) if found else paragraph


def text_of(name: str) -> str:
    """The text of a page: of a notebook's that of the notebook, which the site shows there."""
    notebook = (DOCS / name).with_suffix(".ipynb")
    if not notebook.is_file():
        return (DOCS / name).read_text(encoding="utf-8")
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(
        "".join(c["source"]) for c in cells if c["cell_type"] == "markdown"
    )


def address(name: str) -> str:
    """Where the site serves a page."""
    return re.sub(r"(^|/)index$", r"\1", name.removesuffix(".md")).rstrip("/") + "/"


def line(name: str) -> str:
    """What is said of one page."""
    title, _, text = text_of(name).partition("\n")
    said = first_sentence(text)
    return f"- [{title.removeprefix('# ')}]({address(name).removeprefix('/') or './'}): {said}"


def llms() -> str:
    """The text of docs/llms.txt."""
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    alone: list[str] = []
    sections: list[tuple[str, list[str]]] = [("Start", alone)]
    for entry in site["nav"]:
        (title, pages) = next(iter(entry.items()))
        if isinstance(pages, str):
            alone.append(pages)
        else:
            sections.append((title, [_page(each) for each in pages]))
    parts = [HEAD.format(description=site["site_description"])]
    for title, names in sections:
        parts.append(f"## {title}\n\n" + "\n".join(map(line, names)) + "\n")
    return "\n".join(parts)


def _page(entry: Any) -> str:
    """The file of an entry of the navigation, with or without a title of its own."""
    return str(entry if isinstance(entry, str) else next(iter(entry.values())))


if __name__ == "__main__":
    PAGE.write_text(llms(), encoding="utf-8")
