"""A report as a list of blocks, and its two renderings. Every text in a block is plain text and is escaped here.

Judged texts, raw answers and error messages are hostile data: nothing in them may become markup, a link, a picture or a
script, in Markdown or in HTML.
"""

import base64
import functools
import html as standard
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from undogmatic.records.results import Answer
from undogmatic.safety import files
from undogmatic.safety.outside import visible

TEMPLATES = Path(__file__).resolve().parent / "templates"


class Heading(NamedTuple):
    """Level 2 or 3; the title is level 1."""

    text: str
    level: int = 2


class Paragraph(NamedTuple):
    """`tone` is "plain", "verdict", "alert" or "small"."""

    text: str
    tone: str = "plain"


MARKS: Mapping[Answer, str] = {"yes": "✓", "not_yet": "◐", "no": "✗", "undecided": "?"}
"""The shape of each answer, for readers and screens without colour."""


class Answered(NamedTuple):
    """A verdict: its answer and that in a word, its sentence, what stands below it, and which of several it is."""

    answer: Answer
    word: str
    text: str
    below: Sequence[str] = ()
    about: str = ""

    @property
    def mark(self) -> str:
        """The shape of the answer."""
        return MARKS[self.answer]

    def __str__(self) -> str:
        return f"{self.about}: {self.word}. {self.text}" if self.about else f"{self.word}. {self.text}"


class Fold(NamedTuple):
    """Where a part begins that is folded under its title; without a title, where it ends."""

    text: str = ""


class Bullets(NamedTuple):
    """A list of sentences."""

    texts: Sequence[str]


class Table(NamedTuple):
    """Cells are written already. Without `headers` the first column names the rows."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[bool] = ()  # per column, whether it is aligned to the right
    caption: str | None = None


class Picture(NamedTuple):
    """A PNG; `path` is where it lies, `link` how the Markdown file names it."""

    path: Path
    link: str
    caption: str

    @property
    def data(self) -> str:
        return "data:image/png;base64," + base64.b64encode(self.path.read_bytes()).decode()


class Quote(NamedTuple):
    """Somebody else's text, with a line above it that says whose, and a line below."""

    about: str
    text: str
    below: str | None = None


class Code(NamedTuple):
    """Text shown letter by letter: a command, a prompt."""

    text: str


Block = Heading | Answered | Fold | Paragraph | Bullets | Table | Picture | Quote | Code


class Document(NamedTuple):
    """A report: title, the line below it and the blocks in reading order."""

    language: str
    title: str
    lead: str
    blocks: Sequence[Block] = ()
    foot: str = ""


def save(document: Document, folder: Path) -> None:
    """Write `report.md` and `report.html` into `folder`; the pictures must be there already."""
    for name in WRITTEN:
        files.write(folder / name, rendered(document, name))


def rendered(document: Document, name: str) -> str:
    """The text of the file `name`: "report.md" or "report.html"."""
    template = _environment(WRITTEN[name], TEMPLATES).get_template(f"{name}.jinja")
    return str(template.render(document=document))


def markdown(text: str) -> str:
    """Plain text as inline Markdown on one line: no character of it is markup, no address in it becomes a link."""
    line = " ".join(visible(text).split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = re.sub(r"([\\`*_\[\]{}|~$^])", r"\\\1", line)
    line = re.sub(r"(?i)(https?|ftp|mailto|www)([:.])", lambda m: f"{m[1]}&#{ord(m[2])};", line)
    line = line.replace("@", "&#64;")
    return re.sub(r"^(\d+)([.)])(?=\s|$)|^([-+#=!:])", lambda m: f"{m[1]}\\{m[2]}" if m[1] else f"\\{m[3]}", line)


def html(text: str) -> str:
    """Plain text as HTML, fit for attributes too."""
    return standard.escape(visible(text), quote=True)


def prose(text: str, escape: Callable[[str], str]) -> str:
    """A sentence of ours as `escape` writes it (`markdown` or `html`), what stands between backticks as code. Such a
    name may be hostile, too: in code nothing is markup, and no HTML is left unescaped."""
    parts = _CODE.split(" ".join(visible(text).split()))
    for n, part in enumerate(parts):
        if n % 2:
            parts[n] = f"`{part}`" if escape is markdown else f"<code>{escape(part)}</code>"
        else:  # the space between words and code, which Markdown strips
            before, after = part[: len(part) - len(part.lstrip())], part[len(part.rstrip()) :]
            parts[n] = before + escape(part.strip()) + after * bool(part.strip())
    return "".join(parts)


_CODE = re.compile(r"`([^`\s](?:[^`]*[^`\s])?)`")
WRITTEN: dict[str, Callable[[str], str]] = {"report.md": markdown, "report.html": html}


def xml(text: str) -> str:
    """Plain text as XML 1.0, fit for attributes too."""
    return html(re.sub("[\ud800-\udfff\ufffe\uffff]", "\N{REPLACEMENT CHARACTER}", text))


def fence(text: str) -> str:
    """A Markdown fence longer than any run of backticks in `text`."""
    return "`" * (1 + max(2, *map(len, re.findall(r"`+", text)), 0))


@functools.cache
def _environment(escape: Callable[[str], str], folder: Path) -> Any:
    import jinja2

    options: dict[str, Any] = dict.fromkeys(("trim_blocks", "lstrip_blocks", "keep_trailing_newline"), True)
    options |= {"undefined": jinja2.StrictUndefined, "finalize": _only_escaped}
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(folder), **options)
    writers: dict[str, Callable[[str], str]] = {
        "e": escape,
        "prose": functools.partial(prose, escape=escape),
        "fence": fence,
        "raw": visible,
    }
    writers["url"] = lambda text: text if text.startswith("data:image/png;base64,") else quote(text)
    for name, write in writers.items():
        environment.filters[name] = functools.partial(lambda write, text: _Escaped(write(text)), write)
    environment.filters["kind"] = lambda block: type(block).__name__
    return environment


class _Escaped(str):
    """Text that may be written as it is."""


def _only_escaped(value: object) -> object:
    """A text that a template would write without an escaping filter is our mistake, and it must not pass."""
    if isinstance(value, str) and not isinstance(value, _Escaped):
        raise TypeError(f"a template writes {value[:60]!r} without a filter")
    return value
