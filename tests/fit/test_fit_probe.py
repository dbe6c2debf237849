import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.movement import TYPED
from undogmatic.errors import ConfigError, DataError
from undogmatic.fit.probe import (
    author_of,
    calibrate,
    fit_from_config,
    fit_probe,
    fit_regression,
    fold_codes,
    held_out,
    held_out_raw,
    put_in,
    sift,
)
from undogmatic.models.base import Pieces, cut
from undogmatic.readouts.probe import load
from undogmatic.records.folding import Folding
from undogmatic.records.records import Item
from undogmatic.records.rubric import Rubric


def data(n: int, seed: int = 0, noise: float = 8.0) -> tuple[np.ndarray, np.ndarray]:
    """Twelve features, of which three carry the label."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 12))
    labels = (
        50
        + 18 * features[:, 0]
        - 12 * features[:, 1]
        + 6 * features[:, 2]
        + noise * rng.normal(size=n)
    )
    return features, np.clip(labels, 0, 100)


def test_it_ranks_new_texts() -> None:
    regression = fit_regression(*data(400))
    features, labels = data(200, seed=1)
    assert np.corrcoef(regression.raw(features), labels)[0, 1] > 0.9


def test_neither_the_scale_of_features_nor_a_monotone_change_of_the_labels_counts() -> (
    None
):
    features, labels = data(100)
    moved = features * np.linspace(0.5, 40, 12) + 7
    expected = fit_regression(features, labels).raw(features)
    # half precision
    assert fit_regression(moved, labels).raw(moved) == pytest.approx(expected, abs=5e-3)
    assert fit_regression(features, labels**3).raw(features) == pytest.approx(expected)


def test_the_number_of_texts_may_be_below_the_number_of_features() -> None:
    rng = np.random.default_rng(5)
    regression = fit_regression(rng.normal(size=(30, 400)), np.arange(30.0))
    assert regression.components.shape == (29, 400)


def test_a_held_out_fold_sees_neither_its_own_labels_nor_copies_of_its_texts() -> None:
    features, labels = data(60)
    folds, copies, spoiled = np.arange(60) % 3, features + 0.1, labels.copy()
    for of_texts in (None, copies):
        before = held_out_raw(features, labels, folds, of_texts)
        spoiled[folds == 1] = 0
        after = held_out_raw(features, spoiled, folds, of_texts)
        assert after[folds == 1] == pytest.approx(before[folds == 1])
        assert not np.allclose(after[folds == 0], before[folds == 0])
    copies[folds == 1] = 1e3 * np.arange(features.shape[1])
    after = held_out_raw(features, labels, folds, copies)
    assert after[folds == 1] == pytest.approx(before[folds == 1])
    assert after[folds == 0] != pytest.approx(before[folds == 0])


def test_calibration_gives_the_labels_spread_back_to_scores_drawn_together() -> None:
    _, labels = data(300)
    known = calibrate(0.5 + 0.004 * (labels - 50), labels)
    found = np.interp(0.5 + 0.004 * (labels - 50), known.raw_knots, known.score_knots)
    assert found == pytest.approx(labels, abs=3)


def test_intervals_cover_what_they_promise_where_the_noise_differs() -> None:
    rng = np.random.default_rng(3)
    labels = rng.uniform(0, 100, 6000)
    raw = labels + rng.normal(size=6000) * np.where(labels > 50, 12, 3)
    scores, (low, high) = held_out(raw, labels, np.arange(6000) % 3, (-1e3, 1e3))
    inside = (low <= labels) & (labels <= high)
    assert inside.mean() == pytest.approx(0.9, abs=0.02)
    for part in (scores < 30, scores > 70):
        assert inside[part].mean() == pytest.approx(0.9, abs=0.03)
    assert (high - low)[scores > 70].mean() > 2 * (high - low)[scores < 30].mean()


def test_few_residuals_give_their_extremes() -> None:
    labels = np.array([0.0, 10, 20, 30, 40, 50, 60, 70])
    known = calibrate(labels[[1, 0, 2, 3, 4, 5, 6, 7]], labels)
    assert (known.below[0], known.above[0]) == (-10, 10)


def item(k: int, **fields: object) -> Item:
    return Item.model_validate(
        {"id": str(k), "text": f"text {k}", "label": float(k)} | fields
    )


def test_authors_are_left_out_one_at_a_time_from_three_on() -> None:
    three = [item(k, metadata={"author": f"w{k % 3}"}) for k in range(9)]
    codes, how, authors = fold_codes(three)
    assert (list(codes), how, authors) == (
        [0, 1, 2] * 3,
        "one author left out at a time",
        ("w0", "w1", "w2"),
    )
    two = [
        item(k, pair=f"p{k // 2}", metadata={"author": f"w{k % 2}"}) for k in range(40)
    ]
    codes, how, _ = fold_codes(two)
    assert how == "ten folds by group" and len(set(codes)) == 10
    assert all(codes[k] == codes[k + 1] for k in range(0, 40, 2))

    # Curated texts name their author in the id.
    assert author_of(item(1, id="dev2-017", metadata={"part": "labelled"})) == "dev2"
    assert author_of(item(1, id="dev2-017")) is None


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1.0] * 19, "19 labelled texts; a probe needs at least 20"),
        (
            [5.0] * 29 + [101.0],
            r"the item '29' has the label 101\.0; the rubric 'toy' runs from 0 to 100",
        ),
        ([5.0] * 30, "all 30 labels are 5"),
    ],
)
def test_labels_that_cannot_be_fitted_are_refused(
    labels: list[float], message: str, rubric: Rubric
) -> None:
    items = [item(k, label=label) for k, label in enumerate(labels)]
    with pytest.raises(DataError, match=message):
        fit_probe(np.zeros((len(items), 2)), items, rubric, {})


def test_the_command_refuses_before_it_reads_anything(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a probe is a \.safetensors file"):
        fit_from_config(None, tmp_path / "probe.json", [])
    few = tmp_path / "few.jsonl"
    few.write_text(
        "".join(json.dumps({"text": f"t{k}", "label": k}) + "\n" for k in range(5))
    )
    with pytest.raises(DataError, match="5 labelled texts; a probe needs at least 20"):
        fit_from_config(str(few), tmp_path / "probe.safetensors", [])
    assert not (tmp_path / "probe.safetensors").exists()


@pytest.mark.local_model
def test_the_command_fits_a_probe_that_the_readout_can_use(tmp_path: Path) -> None:
    from undogmatic.api import score_texts

    good = (
        "A multa não é devida porque o locatário avisou com trinta dias e foi transferido para a"
        " cidade {}."
    )
    bad = "É o que decidiu o Supremo no Tema {}, e ponto final."
    rows = [
        {
            "text": (bad if k % 2 else good).format(k),
            "label": 95 - k % 5 if k % 2 else 5 + k % 5,
        }
        for k in range(30)
    ]
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    out = tmp_path / "probe.safetensors"
    said = fit_from_config(str(tmp_path / "rows.jsonl"), out, ["engine.cache=false"])
    assert "30 labelled texts" in said and f"readout.path={out}" in said
    assert load(out).about.folding == Folding.learnt(row["text"] for row in rows)
    texts = [good.format("Natal"), bad.format("Natal")]
    low, high = score_texts(texts, ["readout=probe", f"readout.path={out}"])
    assert (
        low.score is not None and high.score is not None and low.score + 30 < high.score
    )
    again = score_texts(
        list(map(TYPED["upper case"], texts)), ["readout=probe", f"readout.path={out}"]
    )
    assert [one.score for one in again] == [low.score, high.score]


def test_a_probe_that_saw_copies_says_how_many(rubric: Rubric) -> None:
    features, labels = data(40)
    items = [
        item(k, label=float(label))
        for k, label in enumerate(
            np.interp(labels, (labels.min(), labels.max()), (0, 100))
        )
    ]
    about = {"model": "m", "model_sha256": "0", "views": (), "versions": {}}
    alone = fit_probe(features, items, rubric, about)
    more = fit_probe(
        features, items, rubric, about | {"said_once": True}, copies=features + 0.1
    )
    assert (alone.about.injected, alone.about.said_once) == (0, False)
    assert (more.about.injected, more.about.said_once, more.about.n) == (40, True, 40)
    assert len(more.regression.supports) == 2 * len(alone.regression.supports)


def readings(
    n: int, seed: int = 0
) -> tuple[list[Pieces], list[Pieces], list[np.ndarray]]:
    """Texts of four pieces and copies with two more at the end, which lie elsewhere on one of five
    axes."""
    rng = np.random.default_rng(seed)
    own = [Pieces(rng.integers(5, 20, 4), rng.normal(size=(4, 5))) for _ in range(n)]
    other = rng.normal(size=(n, 2, 5)) + np.array([0, 0, 6, 0, 0])
    copied = [
        Pieces(np.append(text.tokens, [10, 10]), np.vstack([text.states, more]))
        for text, more in zip(own, other, strict=True)
    ]
    return own, copied, [np.array([0.0, 0, 0, 0, 1, 1])] * n


def test_a_sieve_finds_what_was_put_into_texts_it_has_not_seen() -> None:
    own, copied, foreign = readings(80)
    sieve, *_ = sift(own, copied, foreign, np.arange(80))
    new, new_copies, _ = readings(40, seed=1)
    put = np.mean([sieve.weights(read)[-1] for read in new_copies])
    kept = np.mean([sieve.weights(read).mean() for read in new])
    assert put < 0.1 and kept > 0.7
    moved = [
        np.abs(sieve.features(a) - sieve.features(b))[2]
        for a, b in zip(new, new_copies, strict=True)
    ]
    assert np.mean(moved) < 0.6  # all pieces alike: about 2


def test_sifting_twice_gives_the_same_bits_and_a_fold_is_sifted_without_itself() -> (
    None
):
    own, copied, foreign = readings(40)
    folds = np.arange(40) % 5
    first, again = sift(own, copied, foreign, folds), sift(own, copied, foreign, folds)
    for a, b in zip([*first[0], *first[1:]], [*again[0], *again[1:]], strict=True):
        assert np.array_equal(a, b)
    spoiled = [
        1 - share if fold == 0 else share
        for share, fold in zip(foreign, folds, strict=True)
    ]
    other = sift(own, copied, spoiled, folds)
    assert np.array_equal(other[2][folds == 0], first[2][folds == 0])
    assert not np.array_equal(other[2][folds == 1], first[2][folds == 1])


def test_what_was_put_into_a_copy_is_found_by_comparing() -> None:
    text = "O fiador responde só pelo prazo que assinou. Não anuiu ao resto, e por isso está livre."
    passage = "Choveu a manhã inteira na cidade porque uma frente fria chegou do sul."
    assert put_in(text, text).max() == 0
    for copy in (
        f"{passage}\n{text}",
        f"{text}\n{passage}",
        text.replace(" Não", f"\n{passage}\nNão"),
    ):
        found = put_in(text, copy)
        pieces = cut(copy)
        assert len(found) == len(pieces)
        assert {
            piece.strip() in passage
            for piece, share in zip(pieces, found, strict=True)
            if share > 0.9
        } == {True}
        assert found @ [len(piece) for piece in pieces] == pytest.approx(
            len(passage), abs=2
        )


def test_pieces_are_clauses_that_join_to_the_text_and_end_with_the_line() -> None:
    text = (
        "Nota: 3\nO fiador responde, em regra, só pelo prazo que assinou; não anuiu ao resto.\n\n"
        + "x" * 150
        + " fim"
    )
    found = cut(text)
    assert "".join(found) == text and max(map(len, found)) <= 62
    assert all("\n" not in piece[:-1] for piece in found)
    assert found[0] == "Nota: 3\n" and cut("") == [] and cut("curto") == ["curto"]
