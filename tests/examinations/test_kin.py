"""A judge's taste for its own family: families by name, what people share is no taste, margins,
choices."""

from typing import Any

import numpy as np
import pytest

from tests.examinations.builders import evidence_of
from tests.examinations.test_systems import tell
from undogmatic.examinations import kin

SYSTEMS = np.array(["gpt-4o", "claude-3", "llama-2-7b"])


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("ChatGPT-0301/CoT", "GPT"),
        ("openai/o3-mini", "GPT"),
        ("anthropic.claude-sonnet", "Claude"),
        ("Llama2_7b", "Llama"),
        ("meta-llama/Llama-3", "Llama"),
        ("gemma3:270m", "Gemini"),
        ("philosophy", None),
        ("base", None),
    ],
)
def test_families_are_read_from_names(name: str, family: str | None) -> None:
    assert kin.family_of(name) == family


def rated(rng: np.random.Generator, taste: float, merit: float, **options: Any) -> Any:
    systems = SYSTEMS[np.arange(300) % 3]
    own = systems == "gpt-4o"
    labels = rng.normal(50, 10, 300) + merit * own
    verdicts = labels + rng.normal(5, 4, 300) + taste * own
    table = evidence_of(
        "numeric",
        {"gpt-4-turbo": verdicts},
        labels,
        {"system": systems},
        selection="all",
    )
    return tell(table, [kin.OWN_FAMILY], **options)


def test_a_taste_is_what_goes_beyond_peoples_labels(rng: np.random.Generator) -> None:
    told, said = rated(rng, taste=6, merit=0)
    assert said["kin.prefers_rated"].values["family"] == "GPT"
    assert told.numbers["kin.preference"].low < 6 < told.numbers["kin.preference"].high
    assert "kin.slights_rated" in rated(rng, taste=-6, merit=0)[1]
    assert "kin.open" in rated(rng, taste=0, merit=20)[1]
    assert "kin.within" in rated(rng, taste=0, merit=20, margin=3)[1]


@pytest.mark.parametrize(
    ("taste", "key"), [(0.4, "kin.prefers_chosen"), (0.0, "kin.open")]
)
def test_choices_of_its_kin_are_counted_beyond_peoples(
    taste: float, key: str, rng: np.random.Generator
) -> None:
    n = 200
    first, kin_first = rng.integers(0, 2, n).astype(float), np.arange(n) % 2 == 0
    other = np.where(kin_first, 0.0, 1.0)
    said_of = np.stack(
        [
            np.where(
                rng.random(n) < taste,
                other,
                np.where(rng.random(n) < 0.8, first, 1 - first),
            )
        ]
        * 2
    )
    names = {
        "system_1": np.where(kin_first, "gpt-4o", "llama"),
        "system_2": np.where(kin_first, "llama", "gpt-4o"),
    }
    told, said = tell(
        evidence_of("pairwise", {"GPT-4": said_of}, first, names), [kin.OWN_FAMILY]
    )
    assert key in said
    assert told.numbers["kin.preference"].n == n


def test_nothing_is_told_of_unknown_makers_and_too_few_are_named(
    rng: np.random.Generator,
) -> None:
    labels = rng.normal(50, 10, 40)
    verdicts = labels + rng.normal(0, 10, 40)
    for judge, systems, lacking in (
        ("judge", SYSTEMS[np.arange(40) % 3], False),
        ("gpt-4", np.array(["base", "clone"])[np.arange(40) % 2], False),
        ("gpt-4", np.where(np.arange(40) < 3, "gpt-4o", "claude"), True),
    ):
        told, said = tell(
            evidence_of("numeric", {judge: verdicts}, labels, {"system": systems}),
            [kin.OWN_FAMILY],
        )
        assert not told.numbers
        assert ("kin.too_few" in said) == lacking
