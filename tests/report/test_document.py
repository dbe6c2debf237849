"""Rendering: whatever a judged text or an answer contains stays text, in Markdown and in HTML."""

import html.parser
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from undogmatic.report import document
from undogmatic.report.document import (
    Bullets,
    Code,
    Document,
    Heading,
    Paragraph,
    Picture,
    Quote,
    Table,
)
from undogmatic.report.document import html as escape_html
from undogmatic.safety.outside import visible

HOSTILE = (
    "<script>alert(1)</script>",
    "a | b | c",
    "```\n# taken over\n```",
    "]]> --> </blockquote></pre></td></table>",
    "[^1] and\n\n[^1]: a footnote",
    "![x](http://evil.example/x.png) [y](javascript:alert(1)) <http://evil.example>",
    "http://evil.example/ www.evil.example me@evil.example",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}{% include 'x' %}",
    "# heading\n---\n- list\n1. one\n> quote\n| a |\n| - |\n| b |",
    "*bold* _it_ ~~no~~ `code` $x$ \\ &lt; &amp; &copy;",
    "\x1b[31mred\x07 \u202egnp.exe",
    "    indented code\n\tand a tab",
)


class Page(html.parser.HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    return page


def saved(report: Document, folder: Path) -> Page:
    document.save(report, folder)
    return read((folder / "report.html").read_text(encoding="utf-8"))


def hostile_document() -> Document:
    blocks: list[object] = [Heading("Texts", 3)]
    for text in HOSTILE:
        blocks += [
            Heading(text),
            Paragraph(text, "verdict"),
            Bullets([text, text]),
            Quote(text, text, text),
            Code(text),
        ]
        blocks.append(Table([text, "b"], [[text, "1"]], (False, True), text))
    return Document("en", HOSTILE[0], HOSTILE[1], blocks, HOSTILE[2])  # type: ignore[arg-type]


def test_html_shows_hostile_text_acts_on_none_of_it_and_forbids_scripts_and_the_network(
    tmp_path: Path,
) -> None:
    page = saved(hostile_document(), tmp_path)
    allowed = (
        "html head meta title style body header main footer h1 h2 h3 p ul li div table thead tbody"
        " tr th td"
    )
    assert set(page.tags) <= {*allowed.split(), "blockquote", "pre", "code"}
    assert {name for name, _ in page.attributes} <= set(
        "lang charset http-equiv content name class scope id tabindex role aria-label".split()
    )
    assert [text for text in HOSTILE if visible(text) not in "".join(page.words)] == []
    policies = [
        value
        for name, value in page.attributes
        if name == "content" and value and "default-src" in value
    ]
    style = document.by_hash(
        (document.TEMPLATES / "report.css").read_text(encoding="utf-8")
    )
    assert policies == [
        f"default-src 'none'; img-src data:; style-src '{style}'; base-uri 'none'; form-action"
        " 'none'"
    ]


def test_markdown_shows_hostile_text_and_acts_on_none_of_it(tmp_path: Path) -> None:
    document.save(hostile_document(), tmp_path)
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    kinds = {t.type for t in tokens} | {
        c.type for t in tokens for c in t.children or []
    }
    markup = "html_block html_inline link_open image em_open s_open code_block"
    assert not kinds & set(markup.split())
    n, opened = len(HOSTILE), Counter(t.type.removesuffix("_open") for t in tokens)
    assert (opened["table"], opened["blockquote"], opened["heading"]) == (
        n,
        2 * n,
        n + 2,
    )
    assert [t.content.rstrip("\n") for t in tokens if t.type == "fence"] == [
        visible(h).rstrip("\n") for h in HOSTILE
    ]


@given(st.text())
def test_markdown_and_html_of_any_text_read_as_that_text(text: str) -> None:
    parsed = (
        MarkdownIt("commonmark")
        .enable(["table", "strikethrough"])
        .parse(document.markdown(text))
    )
    inline = [
        child
        for token in parsed
        if token.type == "inline"
        for child in token.children or []
    ]
    assert {child.type for child in inline} <= {"text", "text_special"}
    assert "".join(child.content for child in inline).split() == visible(text).split()

    assert "".join(read(f"<p>{escape_html(text)}</p>").words) == visible(text)


@given(st.text(st.sampled_from("`` \\a*_<&@.\n1") | st.characters()))
def test_a_sentence_with_code_reads_as_its_text(text: str) -> None:
    parsed = MarkdownIt("commonmark").parse(document.prose(text, document.markdown))
    inline = [
        child
        for token in parsed
        if token.type == "inline"
        for child in token.children or []
    ]
    assert {child.type for child in inline} <= {"text", "text_special", "code_inline"}
    pages = "".join(read(f"<p>{document.prose(text, escape_html)}</p>").words)
    for shown in ("".join(child.content for child in inline), pages):
        assert shown.replace("`", "").split() == visible(text).replace("`", "").split()


@pytest.mark.parametrize(
    ("text", "page", "plain"),
    [
        (
            "Read `a_b` (`--judge`).",
            "Read <code>a_b</code> (<code>--judge</code>).",
            "Read `a_b` (`--judge`).",
        ),
        (
            "`<b>*x*`, a ` and ` `",
            "<code>&lt;b&gt;*x*</code>, a ` and ` `",
            "`<b>*x*`, a \\` and \\` \\`",
        ),
        ("`a\\` <b>", "<code>a\\</code> &lt;b&gt;", "`a\\` &lt;b&gt;"),
    ],
)
def test_what_stands_between_backticks_in_a_sentence_is_code(
    text: str, page: str, plain: str, tmp_path: Path
) -> None:
    document.save(
        Document("en", "t", "l", [Paragraph(text), Bullets([text])]), tmp_path
    )
    written = (tmp_path / "report.html").read_text("utf-8")
    assert f">{page}</p>" in written and f"<li>{page}</li>" in written
    assert f"\n- {plain}\n" in (tmp_path / "report.md").read_text("utf-8")


def test_addresses_do_not_become_links_and_a_fence_is_longer_than_any_in_the_text() -> (
    None
):
    assert [
        (text, sign)
        for text in HOSTILE
        for sign in ("://", "www.", "@")
        if sign in document.markdown(text)
    ] == []
    assert [document.fence(text) for text in ("plain", "a ````b```` c")] == [
        "```",
        "`````",
    ]


def test_a_template_that_writes_a_text_unfiltered_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "TEMPLATES", tmp_path)
    (tmp_path / "report.md.jinja").write_text("{{ document.title }}")
    with pytest.raises(TypeError, match="without a filter"):
        document.save(Document("en", "<b>", "l"), tmp_path)


def test_pictures_are_inside_the_page(tmp_path: Path) -> None:
    path = tmp_path / "a b.png"
    path.write_bytes(b"\x89PNG")
    page = saved(
        Document("en", "t", "l", [Picture(path, "figures/a b.png", 'with "quotes"')]),
        tmp_path,
    )
    found = dict(page.attributes)
    assert (found["src"], found["alt"]) == (
        "data:image/png;base64,iVBORw==",
        'with "quotes"',
    )
    assert "](figures/a%20b.png)" in (tmp_path / "report.md").read_text(
        encoding="utf-8"
    )
