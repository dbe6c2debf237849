"""A document as text: PDF, plain text or Markdown, read page by page, without what only the page needs."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from undogmatic.constructs.faithfulness.documents.furniture import furniture
from undogmatic.constructs.faithfulness.documents.lines import Line
from undogmatic.constructs.faithfulness.documents.paragraphs import paragraphs, wrapped
from undogmatic.constructs.faithfulness.documents.pdf import pdf_pages
from undogmatic.errors import DataError
from undogmatic.safety.outside import Unreadable, brief, decoded, read_bytes

SUFFIXES = (".pdf", ".txt", ".md")
LARGEST = 100_000_000
"""Bytes of a file; a scan of a long record has as many."""
NOTES = "----"
"""The line that stands between the body and its footnotes."""
FEW_WORDS = 5
"""A page with fewer words than that is most likely a picture."""


class Removed(NamedTuple):
    """A line that was left out: a running header, a footer or a page number. Pages count from 1."""

    page: int
    text: str


class Document(NamedTuple):
    """What was read of a file.

    Attributes:
        text: The paragraphs, an empty line between them; footnotes at the end, behind a line NOTES.
        pages: How many; 1 for a text file without page breaks.
        removed: Headers, footers and page numbers that are not in the text.
        notes: The footnotes, each as one text.
        warnings: What a reader of the text should know, in sentences.
        sha256: Of the file, in hex.
    """

    text: str
    pages: int
    removed: tuple[Removed, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    sha256: str

    @property
    def words(self) -> int:
        """Words of the text, divided by white space."""
        return len(self.text.split())


def read_document(path: str | Path) -> Document:
    """Read a .pdf, .txt or .md file.

    Markdown stays as it is. In plain text, form feeds divide pages, and lines are joined to paragraphs where none is
    longer than a page is wide.

    Raises:
        DataError: The file cannot be read, or there is no text in it; the message says which it is (a scan, protected,
            broken, empty, too large, of another kind) and what to do next.
        ConfigError: A library that it takes is not installed.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise DataError(f"{brief(str(path))}: not a document of a kind that is read ({', '.join(SUFFIXES)}).")
    raw = read_bytes(path, LARGEST)
    if not raw.strip():
        raise DataError(f"{path}: empty. Fetch it again, or name another file.")
    sha256 = hashlib.sha256(raw).hexdigest()
    if kind == ".pdf":
        return _from_pages(path, pdf_pages(raw, path), sha256)
    try:
        text = decoded(raw).replace("\r\n", "\n").replace("\r", "\n")
    except Unreadable as error:
        raise DataError(error.at(str(path))) from None
    if not text.strip():
        raise DataError(f"{path}: empty. Fetch it again, or name another file.")
    pages = [[Line(line.strip()) for line in page.split("\n")] for page in text.split("\f") if page.strip()]
    if kind == ".md" or (len(pages) == 1 and not wrapped(pages)):
        return Document(text.strip(), 1, (), (), (), sha256)
    return _from_pages(path, pages, sha256)


def _from_pages(path: Path, pages: list[list[Line]], sha256: str) -> Document:
    gone = furniture(pages)
    removed = tuple(
        Removed(n, page[k].text) for n, (page, out) in enumerate(zip(pages, gone, strict=True), 1) for k in sorted(out)
    )
    kept = [[line for k, line in enumerate(page) if k not in out] for page, out in zip(pages, gone, strict=True)]
    body, notes = paragraphs(kept)
    text = "\n\n".join([*body, *([NOTES, *notes] if notes else [])])
    if not any(character.isalpha() for character in text):
        raise DataError(
            f"{path}: {len(pages)} page(s) and no text in them: most likely a scan. Have its letters recognised "
            "(ocrmypdf FILE NEW.pdf) and name the new file."
        )
    return Document(text, len(pages), removed, tuple(notes), tuple(_warnings(kept, text)), sha256)


def _warnings(pages: list[list[Line]], text: str) -> list[str]:
    found = []
    bare = [str(n) for n, page in enumerate(pages, 1) if sum(len(line.text.split()) for line in page) < FEW_WORDS]
    if bare:
        listed = ", ".join(bare[:10]) + (", ..." if len(bare) > 10 else "")
        found.append(f"{len(bare)} of {len(pages)} pages have no text, or hardly any ({listed}): perhaps pictures.")
    if unknown := text.count("\ufffd"):
        found.append(f"{unknown} characters could not be read; they stand as \ufffd.")
    return found
