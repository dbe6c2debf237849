"""Reads a document (PDF, plain text, Markdown) as text, page by page, without what only the page needs."""

from __future__ import annotations

import asyncio
import hashlib
import io
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from undogmatic.constructs.faithfulness.layout import PageLine, furniture, paragraphs
from undogmatic.engine.step import Step
from undogmatic.errors import ConfigError, DataError, UnparseableAnswer
from undogmatic.records.records import Item
from undogmatic.safety.outside import Unreadable, brief, decoded, read_bytes, without_halves

SUFFIXES = (".pdf", ".txt", ".md")
LARGEST = 100_000_000  # bytes of a file; a scan of a long record has as many
NOTES = "----"  # the line that stands between the body and its footnotes
WRAPPED = 120  # characters: a text file with longer lines does not break its paragraphs into lines
FEW_WORDS = 5  # a page with fewer words than that is most likely a picture


class Removed(NamedTuple):
    """A line that was left out: a running header, a footer or a page number. Pages count from 1."""

    page: int
    text: str


class DocumentText(NamedTuple):
    """What was read of a file."""

    text: str  # the paragraphs, an empty line between them; footnotes at the end, behind a line NOTES
    pages: int  # how many; 1 for a text file without page breaks
    removed: tuple[Removed, ...]  # headers, footers and page numbers that are not in the text
    notes: tuple[str, ...]  # the footnotes, each as one text
    warnings: tuple[str, ...]  # what a reader of the text should know, in sentences
    sha256: str  # of the file, in hex

    @property
    def words(self) -> int:
        """Words of the text, divided by white space."""
        return len(self.text.split())


def read_document(path: str | Path) -> DocumentText:
    """Read a .pdf, .txt or .md file.

    Markdown stays as it is. In plain text, form feeds divide pages, and lines are joined to paragraphs where none is
    longer than a page is wide.

    Raises:
        DataError: The file cannot be read, or there is no text in it; the message says which it is (a scan, protected,
            broken, empty, too large, of another kind) and what to do next.
        ConfigError: A library that it takes is not installed.
    """
    path = Path(path)
    if (kind := path.suffix.lower()) not in SUFFIXES:
        raise DataError(f"{brief(str(path))}: not a document of a kind that is read ({', '.join(SUFFIXES)}).")
    raw = read_bytes(path, LARGEST)
    sha256 = hashlib.sha256(raw).hexdigest()
    if kind == ".pdf" and raw.strip():
        return _from_pages(path, pdf_pages(raw, path), sha256)
    try:
        text = decoded(raw).replace("\r\n", "\n").replace("\r", "\n")
    except Unreadable as error:
        raise DataError(error.at(str(path))) from None
    if not text.strip():
        raise DataError(f"{path}: empty. Fetch it again, or name another file.")
    pages = [[PageLine(line.strip()) for line in page.split("\n")] for page in text.split("\f") if page.strip()]
    longest = max(len(line.text) for page in pages for line in page)
    if kind == ".md" or (len(pages) == 1 and longest > WRAPPED):
        return DocumentText(text.strip(), 1, (), (), (), sha256)
    return _from_pages(path, pages, sha256)


def _from_pages(path: Path, pages: list[list[PageLine]], sha256: str) -> DocumentText:
    gone = furniture(pages)
    removed = tuple(Removed(n + 1, pages[n][k].text) for n, out in enumerate(gone) for k in sorted(out))
    kept = [[line for k, line in enumerate(page) if k not in out] for page, out in zip(pages, gone, strict=True)]
    body, notes = paragraphs(kept)
    text = "\n\n".join([*body, *([NOTES, *notes] if notes else [])])
    if not any(character.isalpha() for character in text):
        raise DataError(
            f"{path}: {len(pages)} page(s) and no text in them: most likely a scan. Have its letters recognised "
            "(ocrmypdf FILE NEW.pdf) and name the new file."
        )
    warnings = []
    bare = [str(n) for n, page in enumerate(kept, 1) if sum(len(line.text.split()) for line in page) < FEW_WORDS]
    if bare:
        listed = ", ".join(bare[:10]) + (", ..." if len(bare) > 10 else "")
        warnings.append(f"{len(bare)} of {len(pages)} pages have no text, or hardly any ({listed}): perhaps pictures.")
    if unknown := text.count("\ufffd"):
        warnings.append(f"{unknown} characters could not be read; they stand as \ufffd.")
    return DocumentText(text, len(pages), removed, tuple(notes), tuple(warnings), sha256)


PAGES = 3_000
LETTERS = 10_000_000
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_PLAIN = str.maketrans(_LIGATURES | {chr(code): "\ufffd" for code in (*range(9), *range(11, 32), 127)})

logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it mends on the way is no news to whoever named the file


def pdf_pages(raw: bytes, path: Path) -> list[list[PageLine]]:
    """The lines of every page, in the order in which the file sets them.

    A file that asks for no password to be opened is read, whatever else it forbids. pypdf was chosen by measurement on
    two printed opinions with a stored extraction: of the stored words it gives back 99.6 and 100 %, pypdfium2 98.3 and
    100 %, in 0.4 s and 0.1 s per file. It is pure Python: a hostile file can at worst be refused.

    Raises:
        DataError: It is protected by a password, broken, without pages or too large; the message names the next step.
        ConfigError: pypdf is not installed.
    """
    try:
        from pypdf import PasswordType, PdfReader
        from pypdf.errors import DependencyError
    except ImportError:
        raise ConfigError(
            "reading a PDF needs pypdf, which is not installed: pip install 'undogmatic[faithfulness]'."
        ) from None
    pages: list[list[PageLine]] = []
    letters = 0
    try:
        reader = PdfReader(io.BytesIO(raw))
        locked = reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED
        number = 0 if locked else len(reader.pages)
        for n in range(min(number, PAGES)):
            pages.append(_lines(reader.pages[n]))
            letters += sum(len(line.text) for line in pages[-1])
            if letters > LETTERS:
                break
    except DependencyError:
        raise ConfigError(
            f"{path}: encrypted, and to open it the library cryptography is needed: pip install cryptography."
        ) from None
    except Exception as error:  # a broken file may be anything, and so may what goes wrong over it
        said = " ".join(str(error).split())[:200]
        raise DataError(
            f"{path}: not a PDF that can be read ({type(error).__name__}{': ' if said else ''}{said}). Fetch it again, "
            "or have it rewritten: qpdf FILE NEW.pdf."
        ) from None
    fault = "" if number else "a PDF without pages. Fetch it again, or name another file."
    if locked:
        fault = "protected by a password. Take it off (qpdf --decrypt --password=PASSWORD FILE NEW.pdf) and name "
        fault += "the new file."
    elif number > PAGES or letters > LETTERS:
        fault = f"{number:,} pages; at most {PAGES:,} pages and {LETTERS:,} letters are read. Cut it to the part "
        fault += "that is wanted: qpdf FILE --pages . 1-100 -- NEW.pdf."
    if fault:
        raise DataError(f"{path}: {fault}")
    return pages


def _lines(page: Any) -> list[PageLine]:
    """The lines of one page. What pypdf hands to its visitor is, in a row, the page's text."""
    lines: list[list[PageLine]] = [[]]  # of the parts of each line

    def visit(text: str, cm: Any, tm: Any, font: Any, size: float) -> None:
        x = float(tm[4] * cm[0] + tm[5] * cm[2] + cm[4])
        y = float(tm[4] * cm[1] + tm[5] * cm[3] + cm[5])
        for n, part in enumerate(text.split("\n")):
            if n:
                lines.append([])
            lines[-1].append(PageLine(part, x, y, abs(float(size * tm[3] * cm[3]))))

    page.extract_text(visitor_text=visit)
    joined = []
    for parts in lines:
        text = without_halves("".join(part.text for part in parts)).translate(_PLAIN)
        if placed := [part for part in parts if part.text.strip()]:
            widest = max(placed, key=lambda part: len(part.text))
            joined.append(PageLine(text.strip(), placed[0].x, placed[0].y, widest.size))
    return joined


class ExtractStep(Step):
    """One item of each, under its own id, with the document's text in the place of its path.

    The other inputs and all metadata stay; `pages`, `words` and `document_sha256` come to the metadata, and `warnings`
    where there are any. A document that cannot be read is a failure with its reason, and so is one that is another file
    than `document_sha256` in the metadata says. An item without a document, but with its text, stays as it is.

    Args:
        document: The input that holds the path of a .pdf, .txt or .md file.
        text: The input that the text becomes.
    """

    name = "extract"

    def __init__(self, document: str = "document", text: str = "opinion") -> None:
        self.document, self.text = document, text

    async def make(self, item: Item) -> Sequence[Item]:
        """The item with its text. Raises UnparseableAnswer, DataError where it has neither document nor text."""
        if self.document not in item.inputs:
            if self.text in item.inputs:
                return [item]
            raise DataError(
                f"{item.place + ': ' if item.place else ''}item {item.id!r} has neither an input `{self.document}` nor "
                f"`{self.text}` (it has: {', '.join(item.inputs)}). Name it: steps=[{{step: extract, document: NAME}}]."
            )
        try:
            # In a thread: a long PDF takes seconds, in which other items' answers wait to be read.
            found = await asyncio.to_thread(read_document, item.inputs[self.document])
        except DataError as error:
            raise UnparseableAnswer(str(error)) from None
        if (told := item.metadata.get("document_sha256")) not in (None, found.sha256):
            raise UnparseableAnswer(
                f"{item.inputs[self.document]}: another file than expected (SHA-256 {found.sha256[:12]}..., expected "
                f"{str(told)[:12]}...). Fetch the right one, or correct `document_sha256`."
            )
        added = {"pages": found.pages, "words": found.words, "document_sha256": found.sha256}
        added |= {"warnings": list(found.warnings)} if found.warnings else {}
        inputs = {self.text: found.text} | {k: v for k, v in item.inputs.items() if k not in (self.document, self.text)}
        return [item.model_copy(update={"inputs": inputs, "metadata": item.metadata | added})]
