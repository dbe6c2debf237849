"""PDFs as a registry prints them, made for tests."""

from collections.abc import Sequence
from pathlib import Path

from fpdf import FPDF
from fpdf.enums import AccessPermission

WORDS = (
    "the board of the harbour heard the parties and found that the licence had been granted without"
    " notice".split()
)


class Printed(FPDF):
    """Pages with a running header and a page number, set line by line.

    Args:
        header: The running header; None for none.
    """

    def __init__(self, header: str | None = None) -> None:
        super().__init__(format=(420, 595), unit="pt")
        self.running = header
        self.set_auto_page_break(False)

    def header(self) -> None:
        if self.running is not None:
            self.set_font("Times", size=9)
            self.text(60, 30, f"{self.running}   Page {self.page_no()} of 9")

    def footer(self) -> None:
        if self.running is not None:
            self.set_font("Times", size=9)
            self.text(200, 570, f"- {self.page_no()} -")

    def lines(
        self, *lines: str, x: float = 50, y: float = 60, size: float = 11
    ) -> float:
        """Set lines one below the other, a leading tab as an indent; where the next would stand."""
        self.set_font("Times", size=size)
        for line in lines:
            self.text(x + (14 if line.startswith("\t") else 0), y, line.lstrip("\t"))
            y += 1.25 * size
        return y

    def saved(self, path: Path) -> Path:
        path.parent.mkdir(exist_ok=True)
        self.output(str(path))
        return path


def printed(path: Path | str, *pages: Sequence[str], header: str | None = None) -> Path:
    """A PDF whose pages have these lines."""
    made = Printed(header)
    for lines in pages:
        made.add_page()
        made.lines(*lines)
    return made.saved(Path(path))


def body(page: int, count: int = 20) -> list[str]:
    """Lines of text that differ from page to page."""
    return [
        f"On day {page * count + n} {' '.join(WORDS[(n + page) % 7 : (n + page) % 7 + 8])}."
        for n in range(count)
    ]


def locked(path: Path, user: str) -> Path:
    """A page that only who knows `user` may open, and nobody may print."""
    pdf = Printed()
    pdf.add_page()
    pdf.lines("The appeal is dismissed.")
    pdf.set_encryption("owner", user, permissions=AccessPermission.none())
    return pdf.saved(path)
