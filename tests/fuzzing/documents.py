"""A document: a PDF that a disk, a download or somebody has changed, or a text file."""

import functools
import zlib
from pathlib import Path

from fpdf import FPDF
from hypothesis import strategies as st

from tests.fuzzing import watched
from tests.fuzzing._values import pieces, texts
from undogmatic.constructs.faithfulness.document import read_document

Case = tuple[str, bytes]
WORDS = (
    "obj endobj stream endstream xref trailer startxref %%EOF /Root /Pages /Kids /Count /Length"
    " /Filter /FlateDecode /Contents /Encrypt /ToUnicode << >> [ ] ( ) < > 0 1 2 -1 99999999999 R"
    " null true BT ET Tj TJ Tm"
)
PIECES = (*WORDS.encode().split(), b"1 0 R", b"2 0 R", b"\n", b"\x00")


@functools.cache
def printed() -> bytes:
    """Two pages of text."""
    made = FPDF()
    made.set_compression(False)
    for page in (1, 2):
        made.add_page()
        made.set_font("Times", size=11)
        for n in range(12):
            made.text(
                20,
                20 + 5 * n,
                f"Line {n} of page {page}, which says that the appeal is dis-",
            )
    return bytes(made.output())


def strategy() -> st.SearchStrategy[Case]:
    whole = printed()
    places = st.integers(0, len(whole) - 1)
    change = st.tuples(
        places, st.integers(0, 40), st.sampled_from(PIECES) | st.binary(max_size=4)
    )

    def changed(found: list[tuple[int, int, bytes]]) -> bytes:
        raw = whole
        for place, length, piece in found:
            raw = raw[:place] + piece + raw[place + length :]
        return raw

    torn = places.map(lambda place: whole[:place])
    lines = pieces(
        ["a", "A", "-", "\n", "\n\n", "\f", "1", " ", "\u00ad", "é", "\r", "*", "____"]
    )
    pdf = st.tuples(st.just("pdf"), st.lists(change, max_size=8).map(changed) | torn)
    return pdf | st.tuples(
        st.sampled_from(["txt", "md", "pdf"]),
        st.binary(max_size=100) | texts(100) | lines,
    )


def enter(case: Case) -> None:
    """It is read to a text that can be written anywhere, or there is one message that names the
    file."""
    suffix, raw = case
    path = Path(f"fuzzed.{suffix}")
    path.write_bytes(raw)
    with watched(path.name):
        found = read_document(path)
        assert found.text.strip() and "\0" not in found.text
        "".join(
            (
                found.text,
                *found.notes,
                *found.warnings,
                *(each.text for each in found.removed),
            )
        ).encode()


def _page(content: bytes) -> bytes:
    """A PDF of one page with this content stream, packed."""
    packed = zlib.compress(content)
    return (
        b"%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0"
        b" R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0"
        b" R/Resources<</Font<</F 5 0 R>>>>>>endobj\n4 0 obj<</Filter/FlateDecode/Length"
        b" %d>>stream\n%b\nendstream endobj\n5 0"
        b" obj<</Type/Font/Subtype/Type1/BaseFont/Times-Roman>>endobj\ntrailer<</Root 1 0"
        b" R>>\n%%%%EOF\n" % (len(packed), packed)
    )


EXAMPLES: list[Case] = [
    ("pdf", b""),
    ("pdf", b"%PDF-1.7"),
    ("pdf", b"%PDF-1.7\n%%EOF"),
    ("pdf", b"\x00" * 1_000_000),
    ("pdf", _page(b"BT /F 11 Tf 10 10 Td (a\\000b\\001\\330\\000) Tj ET")),
    ("pdf", _page(b" " * 50_000_000)),
    ("pdf", _page(b"BT /F 1e999 Tf 1e38 1e38 Td (far) Tj ET")),
    ("pdf", _page(b"BT /F 0 Tf 0 0 0 0 0 0 Tm (flat) Tj ET")),
    (
        "pdf",
        (
            b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[2 0"
            b" R]/Count 9>>endobj\ntrailer<</Root 1 0 R>>"
        ),
    ),
    ("pdf", b"%PDF-1.4\n" + b"[" * 100_000),
    ("txt", b"\x0c"),
    ("txt", b"a-\n" * 100_000),
    ("txt", b"1\x0c" * 5_000),
    (
        "txt",
        b"".join(
            b"Header of %d\nAnother %d\nThird\n\x0c" % (n // 2, n // 3)
            for n in range(3_000)
        ),
    ),
    ("txt", b"a" * 1_000_000 + b"\n" + b"- " * 500_000 + b"\n" + b". " * 500_000),
    ("txt", b"- " * 60 + b"a-"),
    ("md", b"\xff\xfe#\x00"),
]
