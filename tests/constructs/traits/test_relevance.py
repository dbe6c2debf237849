"""The pairs of the probe of relevance, what it goes by, and that it belongs to one model."""

import asyncio
from collections import Counter, defaultdict

import numpy as np
import pytest

from undogmatic.config.build import build, settings
from undogmatic.config.door import compose_config
from undogmatic.constructs.traits.relevance import (
    Readings,
    RelevanceProbe,
    features,
    fitted_on,
    pairs,
    read,
    shipped_file,
    shipped_probe,
)
from undogmatic.models.base import Model
from undogmatic.models.calls import Gateway
from undogmatic.records.marks import was_seen


class Foresees(Model):
    """Foresees a text by the letters that it shares with what stands before it."""

    name, readouts, sha256 = "foresees", ("logprobs",), "cd" * 32

    async def foretold(self, before: str, text: str) -> np.ndarray:
        return np.array([-1.0 if word in before else -9.0 for word in text.split()])


@pytest.mark.parametrize("split", ["dev", "test"])
def test_half_of_the_pairs_engage_and_a_response_by_itself_gives_nothing_away(
    split: str,
) -> None:
    made = pairs(split)  # type: ignore[arg-type]
    assert len(made) >= 400 and len(set(made)) == len(made)
    assert sum(pair.engages for pair in made) * 2 == len(made)
    halves = defaultdict(set)
    for pair in made:
        halves[pair.response].add(pair.engages)
    alone = [pair for pair in made if len(halves[pair.response]) == 1]
    # what has no counterpart: copies, empty answers, refusals of anything, two answers in one
    assert len(alone) / len(made) < 0.35
    assert {"empty", "copy", "bare_refusal"} <= {pair.kind for pair in alone}
    kinds = Counter((pair.kind, pair.engages) for pair in made)
    assert len(kinds) == 15
    assert kinds["full", True] == kinds["full_of_neighbour", False]


def test_no_text_is_in_two_splits_or_held_out_with_itself_inside() -> None:
    texts = {
        split: {text for pair in pairs(split) for text in pair[:2]}  # type: ignore[arg-type]
        for split in ("dev", "test")
    }
    assert not texts["dev"] & texts["test"]
    folds = defaultdict(set)
    for pair in pairs("dev"):
        folds[pair.response].add(pair.fold)
    assert {len(found) for found in folds.values()} == {1}
    languages = Counter(pair.language for pair in pairs("dev"))
    assert languages["en"] == languages["pt"]


def test_what_is_foreseen_from_the_question_speaks_for_the_response() -> None:
    model = Foresees()
    question = "How do bees find home"
    answers = "bees find home by the sun", "tyres leak through rubber slowly"
    near, far = (
        features(asyncio.run(read(model, question, answer)), question, answer)
        for answer in answers
    )
    for name in ("response_gain", "question_gain", "response_best", "question_share"):
        assert near[name] > far[name]
    assert far["words_of_question"] == 0 and near["words_of_response"] == 0.5


def test_features_are_finite_for_a_single_token() -> None:
    one = np.array([-2.0])
    found = features(Readings(one, one, one, one), "?", "!")
    assert all(np.isfinite(value) for value in found.values())
    assert found["response_gain"] == 0


def test_the_shipped_probe_belongs_to_the_embedded_model_and_knows_its_texts() -> None:
    assert shipped_probe(Foresees()) is None
    assert shipped_probe(Model()) is None
    told = RelevanceProbe.model_validate_json(
        shipped_file().read_text(encoding="utf-8")
    )
    first = pairs("dev")[0]
    assert told.n == len(pairs("dev"))
    assert 0 < told.engages < told.off_topic < 1
    assert was_seen(f"{first.question}\n\n{first.response}", fitted_on())
    other = pairs("test")[0]
    assert not was_seen(f"{other.question}\n\n{other.response}", fitted_on())


@pytest.mark.local_model
def test_the_embedded_model_tells_another_subject_from_an_answer() -> None:
    model = build(settings(compose_config(["model=local"])).model, "model")
    model.connect(Gateway())
    probe = shipped_probe(model)
    assert probe is not None
    question = "How long do I boil an egg so that the yolk stays soft?"
    near = "Six minutes from the moment the water boils, then straight into cold water."
    far = "The treaty was signed in 1648 and ended a war of thirty years in Germany."
    on, off, copied = (
        asyncio.run(probe.read(model, question, response))
        for response in (near, far, question)
    )
    assert on < off
    assert on < probe.off_topic <= copied
