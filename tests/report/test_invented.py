"""The results of an examination that no part of the package knows, shown as ours are: a number, an
interval, a table, a confusion matrix, a curve, a picture and a sentence."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.conftest import Capture
from tests.report import checks
from undogmatic.examinations import examination
from undogmatic.examinations.check import check
from undogmatic.records.checked import CheckOptions, CheckResult
from undogmatic.records.evidence import JudgeView
from undogmatic.records.examination import Examination
from undogmatic.records.results import Told, Weight
from undogmatic.report import card
from undogmatic.report import check as shown
from undogmatic.stats.estimate import Estimate

SORTS = ["first", "second"]


def examine(view: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell one result of each type."""
    kindness = Estimate(0.8412, 0.7034, 0.9312, n=60, n_groups=58, unit="share")
    told.number(kindness, "kindness")
    told.number(12345.0, "looked", unit="count")
    told.number(0.0004, "apart", unit="p")
    told.number(Estimate(0.41, 0.3, 0.5, n=60), "likeness", measure="kappa")
    sorts = pd.DataFrame({"sort": SORTS, "kind": [0.5, 0.75], "p": [0.0001, 0.032]})
    told.table("by_sort", sorts, kind="share", p="p")
    counts = np.array([[8.0, 1.0], [2.0, 9.0]])
    told.draw(
        "confusion", "heatmap", rows=SORTS, columns=SORTS, matrix=counts, label="count"
    )
    lines = {"kindness": {"x": [0.0, 1.0], "y": [0.2, 0.9]}}
    told.draw("lines", "curve", lines=lines, x_label="share", y_label="share", n=60)
    told.draw("sorts", "bars", labels=SORTS, values=[0.5, 0.75], y_label="share")
    told.say("kinder", kindness.values("kindness"), weight=Weight.LIMITS)


INVENTED = Examination("invented", examine)


@pytest.fixture
def result(monkeypatch: pytest.MonkeyPatch) -> CheckResult:
    """A check that asks this examination too."""
    monkeypatch.setattr(examination, "installed", lambda: (INVENTED,))
    return check(checks.table(n=200), CheckOptions())


@pytest.mark.parametrize(
    ("language", "sentence", "name"),
    [
        ("en", "It is kind to 84% of those who ask (interval [70%, 93%])", "Kindness"),
        ("pt", "É gentil com 84% de quem pergunta (intervalo [70%; 93%])", "Gentileza"),
    ],
)
def test_each_type_of_result_is_on_the_page(
    language: str, sentence: str, name: str, result: CheckResult, tmp_path: Path
) -> None:
    words = shown.words_of(language)
    shown.write(result, words, tmp_path)
    text = (tmp_path / "report.md").read_text("utf-8").replace("\\", "")
    page = (tmp_path / "report.html").read_text("utf-8")
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()
    ]
    interval = sentence.partition("alo ")[2] or sentence.partition("interval ")[2]
    assert [name, "84%", interval.rstrip(")"), "60", "58", "invented.kindness"] in rows
    assert "12,345" in text if language == "en" else "12.345" in text
    assert any(row[-1:] == ["invented.apart"] and "0" in row[1] for row in rows)
    assert any(
        row[-1:] == ["invented.likeness"] and row[0].endswith("kappa)") for row in rows
    )
    assert [row[1] for row in rows if row and row[0] in SORTS] == ["50%", "75%"]
    assert sentence in text and sentence.partition(" (")[0] in page
    for figure in ("confusion", "lines", "sorts"):
        assert (tmp_path / "figures" / f"invented_{figure}.png").is_file()
        assert words.text(f"invented.caption_{figure}") in page
    # Its three pictures, and the confusion matrix of verdicts and labels.
    assert page.count("data:image/png;base64") == 5


def test_its_sentence_stands_on_the_terminal_and_on_the_card(
    result: CheckResult, capsys: Capture
) -> None:
    words = shown.words_of("en")
    shown.show(result, words, everything=True)
    assert (
        "It is kind to 84% of those who ask (interval [70%, 93%])"
        in capsys.readouterr().out
    )
    (made,) = card.cards_of(result, words, {}).values()
    assert made.figures["invented.kindness"].unit == "share"
    assert made.headline == "agreement.kappa"
    written = card.RENDERINGS[".md"](made, "card.json").replace("\\", "")
    assert "| Kindness | 84% | [70%, 93%] |" in written
    assert "Agreement beyond chance (kappa): " in card.svg(made)


def test_json_holds_its_numbers_with_their_units(result: CheckResult) -> None:
    (told,) = shown.as_json(result, shown.words_of("en"))["judges"]
    assert told["figures"]["invented.kindness"]["unit"] == "share"
    assert told["figures"]["invented.likeness"]["measure"] == "kappa"
    assert [
        each["weight"] for each in told["findings"] if each["key"] == "invented.kinder"
    ] == ["limits"]
