"""Contradictions by rules, on planted errors and faithful paraphrases in both languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from undogmatic.constructs.faithfulness.embeddings import load
from undogmatic.constructs.faithfulness.facts.accusations import Accusation, contradictions
from undogmatic.constructs.faithfulness.facts.words import sentences

PAIRS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("pairs.yaml").read_text(encoding="utf-8"))
FAITHFUL = [(n, k) for n, pair in enumerate(PAIRS) for k in range(len(pair["faithful"]))]
WRONG = [(n, kind) for n, pair in enumerate(PAIRS) for kind in pair["wrong"]]
FILLER = (
    "The matter drew wide attention. Courts across the country deal with cases of many kinds every year. Lawyers "
    "debated it at length, and scholars will go on to do so. As is well known, the law is a living thing, and 7,000 "
    "new cases were filed in 1999."
)


def found(reference: str, summary: str) -> list[Accusation | None]:
    first, second = sentences(reference, 10), sentences(summary, 10)
    vectors = load("fp32").vectors([*first, *second])
    return contradictions(first, second, vectors[: len(first)] @ vectors[len(first) :].T, 0.45)


@pytest.mark.parametrize(("n", "k"), FAITHFUL)
def test_a_faithful_paraphrase_raises_no_alarm(n: int, k: int) -> None:
    assert not any(found(PAIRS[n]["reference"], PAIRS[n]["faithful"][k]))


@pytest.mark.parametrize("n", range(len(PAIRS)))
def test_a_reference_does_not_contradict_itself(n: int) -> None:
    assert not any(found(PAIRS[n]["reference"], PAIRS[n]["reference"]))


@pytest.mark.parametrize(("n", "kind"), WRONG)
def test_a_planted_error_is_found_and_named(n: int, kind: str) -> None:
    kinds = [each.kind for each in found(PAIRS[n]["reference"], PAIRS[n]["wrong"][kind]) if each is not None]
    assert kind in kinds


@pytest.mark.parametrize(("n", "kind"), WRONG)
def test_filler_moves_nothing(n: int, kind: str) -> None:
    reference, summary = PAIRS[n]["reference"], PAIRS[n]["wrong"][kind]
    assert found(reference, f"{summary} {FILLER}") == found(reference, summary)


@pytest.mark.parametrize(
    ("reference", "summary"),
    [
        (
            "The Supreme Court affirmed the injunction against the league in 2021.",
            "The league went to the Supreme Court, seeking reversal of the injunction.",
        ),
        (
            "A locatária substituiu o telhado ao custo de R$ 41.200,00.",
            "A locatária substituiu o telhado, que custou pouco mais de quarenta e um mil reais.",
        ),
    ],
)
def test_what_is_asked_for_and_a_rounded_number_are_no_contradiction(reference: str, summary: str) -> None:
    assert not any(found(reference, summary))
