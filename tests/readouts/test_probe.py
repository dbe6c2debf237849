import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save as as_bytes

from benchmarks.movement import TYPED
from tests.conftest import PROMPT, RUBRIC, reading_of
from undogmatic.errors import ConfigError, UnfitInput
from undogmatic.fit.probe import fit_probe, origin
from undogmatic.models.base import Model, Pieces, View, cut
from undogmatic.readouts import probe as probe_module
from undogmatic.readouts.probe import KEPT, KIND, Probe, ProbeReadout, Sieve, load, save
from undogmatic.records.folding import Folding
from undogmatic.records.records import Item

WIDTH, KEY = 6, KIND.what


class FakeStates(Model):
    """States are a fixed random projection of two counts, so that the label is in them but not on
    one axis."""

    name = "fake-states"
    readouts = ("probe",)
    sha256 = "ab" * 32

    async def pooled(self, text: str, view: View) -> np.ndarray:
        counts = np.array([text.count("a"), text.count("b")], dtype=np.float64)
        mixing = np.random.default_rng(0).normal(size=(2, WIDTH * len(view.blocks)))
        return (counts @ mixing).astype(np.float32)


class FakePieces(FakeStates):
    """Reads pieces as well, in the states that `FakeStates` has for them as texts of their own."""

    async def pieces(self, text: str, view: View) -> Pieces:
        parts = cut(text)
        states = np.stack([await self.pooled(part, view) for part in parts])
        return Pieces(np.array([len(part) for part in parts]), states)


def items(n: int = 60) -> list[Item]:
    """Label 0, 10, ... 100 is ten times the number of `a`; the number of `b` says nothing."""
    rng = np.random.default_rng(1)
    return [
        Item(
            id=str(k),
            text="a" * (k % 11) + "b" * int(rng.integers(0, 9)) + ".",
            label=float(10 * (k % 11)),
            metadata={"author": f"w{k % 3}"},
        )
        for k in range(n)
    ]


@pytest.fixture
def fitted() -> Probe:
    model, view = FakeStates(), View(blocks=(1,))
    rows = [asyncio.run(model.pooled(item.text, view)) for item in items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("undogmatic.fit.probe.PENALTY", 1e-4)
        return fit_probe(np.stack(rows), items(), RUBRIC, origin(model, [view]))


@pytest.fixture
def file(fitted: Probe, tmp_path: Path) -> Path:
    save(fitted, tmp_path / "toy.safetensors")
    return tmp_path / "toy.safetensors"


def bound(path: Path | None, model: Model | None = None, **rubric: str) -> ProbeReadout:
    readout = ProbeReadout(str(path) if path is not None else None)
    readout.bind(model or FakeStates(), PROMPT, RUBRIC.model_copy(update=rubric))
    return readout


def test_a_probe_follows_the_label_its_distribution_the_score_and_it_asks_for_no_pieces(
    file: Path,
) -> None:
    readout = bound(file)
    few, many = (
        reading_of(readout, FakeStates(), Item(id="x", text="a" * n + "bb."))
        for n in (2, 8)
    )
    assert few.score < 35 and many.score > 65
    for reading in (few, many):
        assert reading.distribution.expectation == pytest.approx(reading.score)
        assert reading.distribution.values == RUBRIC.levels
        low, high = reading.interval
        assert 0 <= low <= reading.score <= high <= 100
        assert reading.confidence_source == "entropy" and 0 < reading.confidence < 100
    assert not readout.uses_prompt and readout.deterministic
    assert load(file).sieve is None
    own, other = (
        reading_of(bound(file, m), m, Item(id="x", text="aaabb."))
        for m in (FakeStates(), FakePieces())
    )
    assert own.score == other.score


@pytest.mark.parametrize("text", ["\n", "...", "— \u200b", "?!"])
def test_a_page_without_a_letter_gets_no_score(file: Path, text: str) -> None:
    """A regression finds one for anything, near the middle of the scale."""
    with pytest.raises(UnfitInput, match="nothing to judge"):
        reading_of(bound(file), FakeStates(), Item(id="x", text=text))
    assert reading_of(bound(file), FakeStates(), Item(id="x", text="7")).score >= 0


def test_scores_beyond_the_scale_are_clipped_and_far_from_every_fitted_text_is_that_of_the_bias(
    fitted: Probe,
) -> None:
    calibration = fitted.calibration
    wide = fitted._replace(
        calibration=calibration._replace(score_knots=calibration.score_knots * 3 - 100)
    )
    lowest, highest = (
        wide.estimate(
            asyncio.run(FakeStates().pooled("a" * n, View(blocks=(1,)))), 0, 100
        )
        for n in (0, 10)
    )
    assert (lowest.score, lowest.interval[0]) == (0, 0)
    assert (highest.score, highest.interval[1]) == (100, 100)
    found = fitted.estimate(np.full(WIDTH, 1e6), 0, 100)
    assert found.raw == pytest.approx(
        float((1 / (1 + np.exp(-12 * (fitted.regression.bias - 0.5)))).mean())
    )
    assert found.interval[0] < found.score < found.interval[1]


def test_a_fit_writes_the_same_bytes_and_the_shipped_one_is_found(
    fitted: Probe, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(fitted, tmp_path / "again.safetensors")
    assert file.read_bytes() == (tmp_path / "again.safetensors").read_bytes()
    probe = load(file)
    assert all(
        np.array_equal(probe.arrays()[name], value)
        for name, value in fitted.arrays().items()
    )
    assert probe.about.authors == ("w0", "w1", "w2") and probe.about.n == 60
    monkeypatch.setattr(probe_module, "data_folder", lambda: tmp_path)
    with pytest.raises(
        ConfigError,
        match=r"no probe ships for .* 'toy' \(shipped: none\).*undogmatic probe fit",
    ):
        bound(None)
    (tmp_path / "probes").mkdir()
    file.rename(tmp_path / "probes" / "toy.safetensors")
    assert bound(None).probe.about.rubric == "toy"


class OtherStates(FakeStates):
    sha256 = "cd" * 32


class Silent(Model):
    name, readouts = "silent", ("probe",)


@pytest.mark.parametrize(
    ("model", "changes", "said"),
    [
        (OtherStates, {}, r"abababababab.*cdcdcdcdcdcd.*probe fit"),
        (Silent, {}, "silent gives no hidden states"),
        (FakeStates, {"name": "other"}, r"'toy'.*'other'"),
        (
            FakeStates,
            {"direction": "higher_is_better"},
            "the scale of the rubric 'toy' is another",
        ),
    ],
)
def test_another_model_or_rubric_is_refused(
    file: Path, model: type[Model], changes: dict[str, str], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        bound(file, model(), **changes)


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        (
            "regression",
            {"bias": np.full(19, np.nan)},
            "`bias` holds a value that is not finite",
        ),
        (
            "regression",
            {"scale": np.zeros(WIDTH)},
            "`scale` and `decay` must be positive",
        ),
        (
            "regression",
            {"mean": np.ones(WIDTH + 1)},
            r"`mean` has shape \(7,\); the other arrays need \(6,\)",
        ),
        (
            "regression",
            {"dual": np.ones((4, 19))},
            r"`supports` has shape \(60, 2\); the other arrays need \(4, 2\)",
        ),
        ("calibration", {"score_knots": np.ones(3)}, r"`score_knots` has shape \(3,\)"),
        ("calibration", {"raw_knots": np.linspace(1, 0, 101)}, "must ascend"),
        (
            "calibration",
            {"below": np.ones((1, 1))},
            r"`low` has type float64 and shape \(1, 1\)",
        ),
        (
            "sieve",
            {"piece": np.zeros(WIDTH + 1)},
            r"`piece` has shape \(7,\); the other arrays need \(6,\)",
        ),
    ],
)
def test_bad_arrays_are_refused(
    fitted: Probe, tmp_path: Path, part: str, change: dict[str, Any], message: str
) -> None:
    fitted = fitted._replace(sieve=sieve() if part == "sieve" else None)
    save(
        fitted._replace(**{part: getattr(fitted, part)._replace(**change)}),
        tmp_path / "bad.safetensors",
    )
    with pytest.raises(ConfigError, match=message):
        load(tmp_path / "bad.safetensors")


def test_damaged_foreign_and_missing_files_are_refused(
    fitted: Probe, file: Path, tmp_path: Path
) -> None:
    raw, own = bytearray(file.read_bytes()), {KEY: fitted.about.model_dump_json()}
    raw[-1] ^= 1
    piece = fitted.arrays() | {"piece": np.zeros(WIDTH)}
    for content, said in (
        (bytes(raw), "do not match their digest"),
        (b"not a probe", "is not a safetensors file"),
        (as_bytes({"weights": np.ones(3)}), f"lacks `{KEY}`"),
        (
            as_bytes({"weights": np.ones(3)}, {KEY: json.dumps({"format": 1})}),
            r"`probe\.rubric` is required",
        ),
        (as_bytes(piece, own), "it holds the arrays"),  # a sieve with an array missing
    ):
        file.write_bytes(content)
        with pytest.raises(ConfigError, match=said):
            load(file)
    with pytest.raises(ConfigError, match=r"does not exist\. Fit one"):
        load(tmp_path / "none.safetensors")


def sieve(width: int = WIDTH, piece: float = 0.0, offset: float = 5.0) -> Sieve:
    return Sieve(np.full(width, piece), np.zeros(width), np.array([offset]))


def test_a_probe_with_a_sieve_comes_back_from_its_file_and_reads_pieces(
    fitted: Probe, tmp_path: Path
) -> None:
    weighed = fitted._replace(sieve=sieve())
    save(weighed, tmp_path / "weighed.safetensors")
    found = load(tmp_path / "weighed.safetensors")
    assert found.sieve is not None and np.array_equal(
        found.sieve.piece, np.zeros(WIDTH)
    )
    readout = bound(tmp_path / "weighed.safetensors", FakePieces())
    few, many = (
        reading_of(readout, FakePieces(), Item(id="x", text="a" * n + "bb."))
        for n in (2, 8)
    )
    assert few.score < 35 and many.score > 65
    with pytest.raises(
        ConfigError, match="fake-states gives no hidden states of a text's pieces"
    ):
        bound(tmp_path / "weighed.safetensors", FakeStates())


def test_what_a_sieve_takes_for_foreign_hardly_counts_but_foreign_pieces_alone_keep_their_share() -> (
    None
):
    states = np.zeros((9, 2))
    states[6:] = 100.0
    read = Pieces(np.full(9, 10), states)
    weights = sieve(2, piece=-0.2, offset=10.0).weights(read)
    assert (weights[:5] > 0.99).all() and (weights[7:] < 0.01).all()
    assert (sieve(2, piece=-0.2, offset=10.0).features(read) < 15).all()
    assert sieve(2).features(read) == pytest.approx(states.mean(axis=0), abs=0.5)
    for count in (1, 2, 7, 30):
        weights = sieve(offset=-50.0).weights(
            Pieces(np.full(count, 5), np.ones((count, WIDTH)))
        )
        assert KEPT <= (weights > 0.5).mean() <= KEPT + 1 / count


def test_a_probe_reads_a_text_by_the_folding_that_is_in_its_file_and_one_without_reads_it_as_written(
    fitted: Probe, file: Path, tmp_path: Path
) -> None:
    plainly, typed = (
        Item(id="x", text="aaaabb."),
        Item(id="x", text="A\u200bÁ\u00ad\u0430a BB."),
    )
    before = bound(file)
    assert load(file).about.folding is None
    assert (
        reading_of(before, FakeStates(), plainly).score
        > reading_of(before, FakeStates(), typed).score + 10
    )
    about = fitted.about.model_copy(update={"folding": Folding(spelling={"bb": "b"})})
    save(fitted._replace(about=about), tmp_path / "folding.safetensors")
    after = bound(tmp_path / "folding.safetensors")
    assert after.probe.about.folding == Folding(spelling={"bb": "b"})
    said = [
        reading_of(after, FakeStates(), Item(id="x", text=t)).score
        for t in ("áaaa bb.", typed.text, "AAAA b")
    ]
    # A sentence begins with a capital, which these states do not count.
    assert (
        said
        == [reading_of(before, FakeStates(), Item(id="x", text="Aaaa b.")).score] * 3
    )
    # or a run would go on with scores of the other reading
    assert before.identity() != after.identity()


def test_a_folding_of_other_rules_is_refused_by_name(
    fitted: Probe, tmp_path: Path
) -> None:
    told = json.loads(fitted.about.model_dump_json()) | {
        "folding": {"rules": 2, "spelling": {}}
    }
    (tmp_path / "later.safetensors").write_bytes(
        as_bytes(fitted.arrays(), {KEY: json.dumps(told)})
    )
    with pytest.raises(
        ConfigError, match=r"(?s)`probe\.folding\.rules` is 2.*Fit it again"
    ):
        load(tmp_path / "later.safetensors")


@pytest.mark.local_model
def test_the_shipped_probe_gives_the_same_words_the_same_score_however_they_were_typed() -> (
    None
):
    from undogmatic.api import score_texts

    text = "Não há dúvida: é o que decidiu o STF no Tema nº 72. A ação, portanto, não prospera."
    plainly, *others = score_texts(
        [
            text,
            *(
                TYPED[way](text)
                for way in ("title case", "Cyrillic letters", "missing accents")
            ),
        ]
    )
    assert plainly.score is not None and plainly.score > 60
    assert [one.score for one in others] == [plainly.score] * 3
