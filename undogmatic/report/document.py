"""A report as a list of blocks, and its two renderings. Every text in a block is plain text and is
escaped here.

Judged texts, raw answers and error messages are hostile data: nothing in them may become markup, a
link, a picture or a script, in Markdown or in HTML.
"""

import base64
import functools
import hashlib
import html as standard
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

from undogmatic.records.records import Item
from undogmatic.records.results import Answer
from undogmatic.records.words import glossary
from undogmatic.safety import files
from undogmatic.safety.outside import read_text, visible
from undogmatic.safety.spool import many

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
    """A verdict: its answer and that in a word, its sentence, what stands below it, and which of
    several it is."""

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
        return (
            f"{self.about}: {self.word}. {self.text}"
            if self.about
            else f"{self.word}. {self.text}"
        )


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
    named: Sequence[
        bool
    ] = ()  # per column, whether its cells name items or pairs, and lead to their rows


class Picture(NamedTuple):
    """A PNG; `path` is where it lies, `link` how the Markdown file names it."""

    path: Path
    link: str
    caption: str
    size: tuple[int, int] = (0, 0)  # pixels
    marks: Sequence[
        tuple[int, int, str]
    ] = ()  # where marks lie, in pixels, and of which item each is

    @property
    def data(self) -> str:
        return (
            "data:image/png;base64," + base64.b64encode(self.path.read_bytes()).decode()
        )


class Quote(NamedTuple):
    """Somebody else's text, with a line above it that says whose, and a line below."""

    about: str
    text: str
    below: str | None = None
    id: str = ""  # of the item that `about` begins with


class Code(NamedTuple):
    """Text shown letter by letter: a command, a prompt."""

    text: str


class Bench(NamedTuple):
    """A table of items that the page's script makes workable (`report.workbench`); without script
    it is a plain one."""

    plain: Table
    ids: Sequence[str]  # of the item in each row, to which the page's links lead
    notes: Sequence[str]  # what is left out
    packed: str  # all that the script reads, in base64
    elsewhere: str  # a sentence in its place where there is no such table
    begins: str = ""  # a sentence about the item with which it begins


class Contents(NamedTuple):
    """Where the table of contents stands, folded under its title."""

    title: str


Block = (
    Heading
    | Answered
    | Fold
    | Paragraph
    | Bullets
    | Table
    | Picture
    | Quote
    | Code
    | Bench
    | Contents
)


class Document(NamedTuple):
    """A report: title, the line below it and the blocks in reading order."""

    language: str
    title: str
    lead: str
    blocks: Sequence[Block] = ()
    foot: str = ""
    items: Mapping[str, str] = MappingProxyType({})
    """Names (an item's, a pair's) that lead to a row of its table of items, and the item whose row
    it is."""
    beside: str = ""
    """Where it lies beside the same report in another language, what marks its files: ".pt"."""

    @property
    def headings(self) -> list[tuple[str, str]]:
        """The headings of level 2 and the places of the page at which they stand, for a table of
        contents."""
        texts = [
            block.text
            for block in self.blocks
            if isinstance(block, Heading) and block.level == 2
        ]
        return [(f"part-{n}", text) for n, text in enumerate(texts, 1)]

    @property
    def working(self) -> bool:
        """Whether there is something on the page for its script to do."""
        return any(isinstance(block, Bench) for block in self.blocks)


def names_of(items: Sequence[Item]) -> dict[str, str]:
    """The names that lead to an item's row, and the item: its own id, and that of a pair to the
    first item of it. None of items that are read when they are asked for: few of them have a row.
    """
    if many(items):
        return {}
    pairs = {item.pair: item.id for item in reversed(items) if item.pair is not None}
    return pairs | {item.id: item.id for item in items}


def save(document: Document, folder: Path) -> None:
    """Write `report.md` and `report.html` into `folder`, or `report.pt.md` and `report.pt.html`
    beside them; the pictures must be there already."""
    for name in WRITTEN:
        place = (folder / name).with_stem(f"report{document.beside}")
        files.write(place, rendered(document, name))


def rendered(document: Document, name: str) -> str:
    """The text of the file `name`: "report.md" or "report.html"."""
    environment = _environment(WRITTEN[name], TEMPLATES)
    own: dict[str, Any] = {key: _Escaped(read_text(path)) for key, path in _OWN.items()}
    own["terms"] = glossary(document.language)
    return str(
        environment.get_template(f"{name}.jinja").render(document=document, **own)
    )


def markdown(text: str) -> str:
    """Plain text as inline Markdown on one line: no character of it is markup, no address in it
    becomes a link."""
    line = " ".join(visible(text).split())
    # The ampersand first, or the others' own ampersands would be written out as well.
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = re.sub(r"([\\`*_\[\]{}|~$^])", r"\\\1", line)
    line = re.sub(
        r"(?i)(https?|ftp|mailto|www)([:.])", lambda m: f"{m[1]}&#{ord(m[2])};", line
    )
    # Many readers of Markdown make a link of a bare address, and of a name behind an at
    # sign somebody's page.
    line = line.replace("@", "&#64;")
    return re.sub(
        r"^(\d+)([.)])(?=\s|$)|^([-+#=!:])",
        lambda m: f"{m[1]}\\{m[2]}" if m[1] else f"\\{m[3]}",
        line,
    )


def html(text: str) -> str:
    """Plain text as HTML, fit for attributes too."""
    return standard.escape(visible(text), quote=True)


def prose(
    text: str,
    escape: Callable[[str], str],
    items: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """A sentence of ours as `escape` writes it (`markdown` or `html`), what stands between
    backticks as code. Such a name may be hostile, too: in code nothing is markup, and no HTML is
    left unescaped. Names of `items` lead there.
    """
    parts = _CODE.split(" ".join(visible(text).split()))
    for n, part in enumerate(parts):
        if n % 2:
            parts[n] = (
                f"`{part}`"
                if escape is markdown
                else linked(part, items, f"<code>{escape(part)}</code>")
            )
        else:  # the space between words and code, which Markdown strips
            before = part[: len(part) - len(part.lstrip())]
            after = part[len(part.rstrip()) :]
            parts[n] = before + escape(part.strip()) + after * bool(part.strip())
    return "".join(parts)


def linked(text: str, items: Mapping[str, str], inside: str | None = None) -> str:
    """A cell as HTML, `inside` where that is written already; a name of `items` leads to the row of
    its item."""
    written = html(text) if inside is None else inside
    return (
        f'<a href="#{place(items[text])}">{written}</a>' if text in items else written
    )


def defined(written: str, terms: Mapping[str, str]) -> str:
    """HTML in which the first of each of the `terms` shows its meaning under the mouse or the
    finger, without script; what is a link, code or markup stays as it is."""
    # a number, as most cells of tables are
    if not terms or written.lower() == written.upper():
        return written
    pattern, meanings = _sought(tuple(terms.items()))
    seen = set[str]()

    def mark(found: re.Match[str]) -> str:
        term = found[2]
        if term is None or term.casefold() in seen:
            return found[0]
        seen.add(term.casefold())
        return f'<abbr tabindex="0" title="{meanings[term.casefold()]}">{term}</abbr>'

    return pattern.sub(mark, written)


@functools.lru_cache(16)
def _sought(
    terms: tuple[tuple[str, str], ...],
) -> tuple[re.Pattern[str], dict[str, str]]:
    """What finds terms in HTML, and their meanings; made once for the thousands of cells of a
    report."""
    longest = "|".join(
        # The longest first: of "kappa" and "weighted kappa" a pattern takes the first
        # that fits.
        re.escape(html(term))
        for term in sorted(dict(terms), key=len, reverse=True)
    )
    pattern = rf"(?i)(<a .*?</a>|<code>.*?</code>|<[^>]*>|&\w+;)|(?<![\w=])({longest})(?![\w=])"
    return re.compile(pattern), {
        html(term).casefold(): html(meaning) for term, meaning in terms
    }


def about(text: str, name: str, items: Mapping[str, str]) -> str:
    """A line as HTML that may begin with the `name` of an item, which then leads to its row."""
    return (
        linked(name, items) + html(text.removeprefix(name))
        if name and text.startswith(name)
        else html(text)
    )


def place(item: str) -> str:
    """Where on the page an item's row stands, fit for an address."""
    return quote(f"item-{visible(item)}", safe="")


def by_hash(text: str) -> str:
    """How a content policy names a script or style that stands on the page itself."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


# written into the page as they are
_OWN = {
    "style": TEMPLATES / "report.css",
    "script": TEMPLATES / "report.js",
}
_CODE = re.compile(r"`([^`\s](?:[^`]*[^`\s])?)`")
WRITTEN: dict[str, Callable[[str], str]] = {"report.md": markdown, "report.html": html}


def xml(text: str) -> str:
    """Plain text as XML 1.0, fit for attributes too."""
    return html(
        re.sub("[\ud800-\udfff\ufffe\uffff]", "\N{REPLACEMENT CHARACTER}", text)
    )


def fence(text: str) -> str:
    """A Markdown fence longer than any run of backticks in `text`."""
    return "`" * (1 + max(2, *map(len, re.findall(r"`+", text)), 0))


@functools.cache
def _environment(escape: Callable[[str], str], folder: Path) -> Any:
    import jinja2

    options: dict[str, Any] = dict.fromkeys(
        ("trim_blocks", "lstrip_blocks", "keep_trailing_newline"), True
    )
    # Neither may go wrong silently: a name that a template spells wrongly would leave a
    # gap in a report, and a text without a filter would let hostile markup through.
    options |= {"undefined": jinja2.StrictUndefined, "finalize": _only_escaped}
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(folder), **options)
    writers: dict[str, Callable[..., str]] = {
        "e": escape,
        "prose": lambda text, items=MappingProxyType({}): prose(text, escape, items),
        "fence": fence,
        "raw": visible,
        "linked": linked,
        "about": about,
        "defined": defined,
        "place": place,
        "anchor": lambda item: html(f"item-{item}"),
        "hash": by_hash,
        # It stands inside a script, where no escaping helps: only the letters of base64
        # pass.
        "packed": lambda text: re.sub(r"[^\w+/=]", "", text),
    }
    writers["url"] = lambda text: (
        text if text.startswith("data:image/png;base64,") else quote(text)
    )
    for name, write in writers.items():
        environment.filters[name] = functools.partial(
            lambda write, *given: _Escaped(write(*given)), write
        )
    environment.filters["kind"] = lambda block: type(block).__name__
    return environment


class _Escaped(str):
    """Text that may be written as it is."""


def _only_escaped(value: object) -> object:
    """A text that a template would write without an escaping filter is our mistake, and it must not
    pass."""
    if isinstance(value, str) and not isinstance(value, _Escaped):
        raise TypeError(f"a template writes {value[:60]!r} without a filter")
    return value
