"""What the site adds to the pages: the reference of conf/, notebooks, and links out of docs/ to the repository."""

import json
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
OUTWARD = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?!\.\.)([^)#\s]*)(#[^)\s]*)?\)")


def first_comment(file: Path) -> str:
    """The comment that a file of conf/ begins with, in one line."""
    lines = file.read_text(encoding="utf-8").splitlines()
    end = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return " ".join(
        line.lstrip("# ").rstrip()
        for line in lines[:end]
        if not line.startswith("# yaml-language-server")
    )


def conf_reference() -> str:
    """Every group of conf/, its options, what each is for, and its keys with their values."""
    parts = []
    for folder in sorted(
        path for path in (ROOT / "conf").rglob("*") if path.is_dir() and any(path.glob("*.yaml"))
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
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for given in cell.get("outputs", ()):
            data = given.get("data", {"text/plain": given.get("text", "")})
            shown = "".join(data.get("text/html", ()))
            parts.append(shown or f"```text\n{''.join(data['text/plain']).rstrip()}\n```")
    return "\n\n".join(parts)


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """List conf/ and notebooks on their pages, and lead links that leave docs/ to the repository, or nowhere."""
    if page.file.src_uri.startswith("reference/conf."):
        markdown += conf_reference()
    if page.file.src_uri.startswith("notebooks/"):
        markdown += notebook(
            ROOT / "docs" / page.file.src_uri.replace(".pt.md", ".md").replace(".md", ".ipynb")
        )
    depth = page.file.src_uri.count("/")

    def outward(found: re.Match[str]) -> str:
        if found[0].count("../") <= depth:
            return found[0]
        if not config.repo_url:
            return found[1]
        return f"[{found[1]}]({config.repo_url.rstrip('/')}/blob/main/{found[2]}{found[3] or ''})"

    return OUTWARD.sub(outward, markdown)
