"""Generic code does not know what is measured (`constructs/`): neither its subject nor its unit."""

import ast
import re
from pathlib import Path

import pytest

import undogmatic

PACKAGE = Path(undogmatic.__file__).parent
OWNERS = ("constructs/",)
"""What is measured, each with its data, judges and baselines."""
FORBIDDEN = re.compile(
    r"\b(shame|courts?|tribunal|explained|naked|theses|faithfulness|hallucinat\w+|hallucination_rate|dissents?|traits?"
    r"|coherence|gating|cytometr\w+|hierarch(?:y|ies)|0[-–]100|points|pontos)\b",
    re.IGNORECASE,
)
METRICS = {"datasets/readers/ragas.py": ("faithfulness", "coherence")}
"""Names that another tool gives its metrics, by which a reader knows its files."""
PROCEDURE = {
    "judges/score.py": None,
    "stats/uncertainty.py": ("PointsEntropy", "points_entropy"),
}
"""Where points are what a judge spreads over levels, not a unit of the score: a whole module, or
definitions in it."""


def generic_files() -> list[Path]:
    found = [
        *PACKAGE.rglob("*.py"),
        *PACKAGE.rglob("*.texts.yaml"),
        *PACKAGE.glob("*/texts/*.yaml"),
    ]
    return sorted(
        path
        for path in found
        if not path.relative_to(PACKAGE).as_posix().startswith(OWNERS)
    )


def without_procedure(path: Path) -> str:
    """The file's text less what may speak of points; other forbidden words in it still count."""
    text = path.read_text(encoding="utf-8")
    key = path.relative_to(PACKAGE).as_posix()
    # the table of plurals and their singulars is of the language
    if key.startswith("report/texts/"):
        return re.sub(r"\bpoints=point\b|\bpontos=ponto\b", "", text)
    if key.startswith("judges/texts/"):
        return re.sub(r"(?ms)^points:\n.*?(?=^\w|\Z)", lambda m: _no_points(m[0]), text)
    for name in METRICS.get(key, ()):
        text = re.sub(rf"\b{name}\b", "", text)
    if key not in PROCEDURE:
        return text
    names = PROCEDURE[key]
    if names is None:
        return _no_points(text)
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if getattr(node, "name", None) in names:
            assert node.end_lineno is not None
            lines[node.lineno - 1 : node.end_lineno] = [
                _no_points(x) for x in lines[node.lineno - 1 : node.end_lineno]
            ]
    return "\n".join(lines)


def _no_points(text: str) -> str:
    return re.sub(r"(?i)\b(points|pontos)\b", "", text)


def test_the_files_are_found() -> None:
    names = {path.name for path in generic_files()}
    assert {
        "words.py",
        "ab.texts.yaml",
        "compare.texts.yaml",
        "en.yaml",
        "pt.yaml",
    } <= names
    assert "curated.texts.yaml" not in names


def knowing(path: Path) -> list[str]:
    """The words of a construct in a file, with their lines."""
    # Python's word for what an installed package adds, and Matplotlib's for a unit
    text = (
        without_procedure(path)
        .replace("entry-points", "")
        .replace("entry points", "")
        .replace("offset points", "")
    )
    lines = text.splitlines()
    return [
        f"line {n}: {match[0]!r}"
        for n, line in enumerate(lines, 1)
        for match in FORBIDDEN.finditer(line)
    ]


@pytest.mark.parametrize(
    "path", generic_files(), ids=lambda path: path.relative_to(PACKAGE).as_posix()
)
def test_generic_code_names_neither_subject_nor_unit(path: Path) -> None:
    assert not knowing(path)
