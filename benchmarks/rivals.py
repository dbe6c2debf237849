"""How often is a judge of the surface believed beyond it, and a judge of something else not?

Run with `python -m benchmarks.rivals`. Texts are the shipped ones, dealt into pairs at random. For
a judge of the surface, the text of a pair that it scores higher is the treatment in a share `apart`
of the pairs, and its scores are stretched to a mean difference of twice the margin; only trials
whose raw difference is beyond the margin count (the others are "raw"). A good judge's scores have
that difference and noise (SD 10 per text) whatever the text says. Results are in
results/rivals.csv.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.constructs.shame import patterns
from undogmatic.constructs.shame.curated import CuratedDataset
from undogmatic.examinations import rivals
from undogmatic.examinations.truth import Margin
from undogmatic.readouts.decision import Rivals
from undogmatic.stats import confound, surface

Array = NDArray[np.float64]
MARGIN, DIFFERENCE, NOISE = 10.0, 20.0, 10.0
MOST_TEXTS = 1200
RIVALS = ("undogmatic.constructs.shame.patterns.TfidfModel",)
"""What conf/rubric/shame.yaml names as fitted to its labels elsewhere."""


def _count(name: str) -> Callable[[str], float]:
    place = surface.COUNTS.index(name)
    return lambda text: float(surface.counts([text])[0, place])


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text) or [""]


FAKES: dict[str, Callable[[str], float]] = {
    **{
        name: _count(name)
        for name in (
            "capitals",
            "characters",
            "word_length",
            "commas",
            "digits",
            "different_words",
        )
    },
    "length_vee": lambda t: abs(len(t) - 340) / 2,
    "length_step": lambda t: 50.0 * (len(t) > 300),
    "log_length": lambda t: float(np.log(max(1, len(t)))),
    "word_length_vee": lambda t: abs(_count("word_length")(t) - 5.2),
    "citations": lambda t: float(patterns.count(t).citations),
    "patterns": lambda t: patterns.share(patterns.count(t)),
    "commas_x_word_length": lambda t: _count("commas")(t) * _count("word_length")(t),
    "capitals_x_sentence": lambda t: (
        _count("capitals_share")(t) * _count("sentence_length")(t)
    ),
    "count_of_e": lambda t: float(t.lower().count("e")),
    "share_of_a": lambda t: t.lower().count("a") / max(1, len(t)),
    "words_in_ao": lambda t: float(sum(w.endswith("ão") for w in _words(t))),
    "share_of_short_words": lambda t: float(np.mean([len(w) < 4 for w in _words(t)])),
    "first_comma": lambda t: float(t.find(",")),
    "vowels": lambda t: sum(c in "aeiouáéíóúâêôãõ" for c in t.lower()) / max(1, len(t)),
}


class Pool:
    """Shipped texts, with kernels made once."""

    def __init__(self) -> None:
        items = CuratedDataset(
            parts=["pairs", "controls", "adversarial", "labelled"], split="all"
        ).load()
        fitted_elsewhere = Rivals(RIVALS)
        # The model speaks of no texts that it was fitted to.
        texts = [
            text
            for text in dict.fromkeys(item.text for item in items)
            if fitted_elsewhere([text]) is not None
        ]
        self.texts = [
            texts[n]
            for n in np.random.default_rng(0).permutation(len(texts))[:MOST_TEXTS]
        ]
        models = fitted_elsewhere(self.texts)
        assert models is not None
        said = models(self.texts)
        self._place = {text: n for n, text in enumerate(self.texts)}
        counted = np.array(
            [patterns.count(text) for text in self.texts], dtype=np.float64
        )
        self._kernels = surface.kernels(self.texts, counted)
        self.counts = surface.counts(self.texts, counted)
        seen = rivals.Seen(
            known=lambda texts: said[[self._place[text] for text in texts]]
        )
        self.settings = rivals.PairSettings(
            1, Margin(MARGIN, "analysis", np.inf), seen=seen
        )

    def kernels(self, texts: Sequence[str], extra: Array | None = None) -> list[Array]:
        rows = np.array([self._place[text] for text in texts])
        return [kernel[np.ix_(rows, rows)] for kernel in self._kernels]

    def fakes(self) -> dict[str, Array]:
        """Scores of all texts by each judge of the surface; two of them are fitted to other texts'
        labels."""
        from sklearn.ensemble import RandomForestRegressor

        from undogmatic.constructs.shame.curated import development_texts
        from undogmatic.constructs.shame.patterns import tfidf_ridge

        texts, labels = development_texts()
        counted = surface.counts(
            texts, np.array([patterns.count(text) for text in texts], dtype=np.float64)
        )
        forest = RandomForestRegressor(200, random_state=0, min_samples_leaf=2).fit(
            counted, labels
        )
        found = {
            name: np.array([judge(text) for text in self.texts])
            for name, judge in FAKES.items()
        }
        found["tfidf"] = tfidf_ridge(1.0).fit(texts, labels).predict(self.texts)
        found["forest"] = forest.predict(self.counts)
        return found

    def trial(
        self, scores: Array | None, n: int, apart: float, seed: int
    ) -> tuple[str, float]:
        """Outcome ("raw" where the raw difference is not beyond the margin) and the surface judge's
        share of pairs."""
        rng = np.random.default_rng(seed)
        first, second = rng.permutation(len(self.texts))[: 2 * n].reshape(2, n)
        if scores is None:
            topic = rng.normal(40, 10, n)
            a, b = (
                topic + DIFFERENCE + rng.normal(0, NOISE, n),
                topic + rng.normal(0, NOISE, n),
            )
        else:
            turn = (scores[first] > scores[second]) == (rng.random(n) > apart)
            first, second = np.where(turn, second, first), np.where(turn, first, second)
            a, b = scores[first], scores[second]
            scale = DIFFERENCE / np.mean(a - b) if abs(np.mean(a - b)) > 1e-9 else 1.0
            a, b = a * scale, b * scale
        if confound.at_equal(a - b, np.zeros(n), MARGIN).difference.outcome != "beyond":
            return "raw", float("nan")
        sides = (
            pd.DataFrame(
                {"text": [self.texts[k] for k in rows], "score": s, "group": range(n)}
            )
            for rows, s in ((first, a), (second, b))
        )
        with mock.patch.object(surface, "kernels", self.kernels):
            found = rivals.paired_rival(*sides, self.settings, rng)
        return found.outcome, float("nan") if found.share is None else found.share.value


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--pairs", type=int, nargs="+", default=[6, 12, 46, 200])
    parser.add_argument("--apart", type=float, nargs="+", default=[1.0, 0.85])
    parser.add_argument(
        "--to", type=Path, default=Path(__file__).parent / "results" / "rivals.csv"
    )
    parser.add_argument(
        "--judges",
        nargs="+",
        help="only these (good, or a name of FAKES, tfidf, forest)",
    )
    options = parser.parse_args()
    pool = Pool()
    rows = []
    judges: dict[str, Array | None] = {"good": None, **pool.fakes()}
    for n in options.pairs:
        for name in options.judges or judges:
            scores = judges[name]
            for apart in options.apart if scores is not None else [float("nan")]:
                found = [
                    pool.trial(scores, n, apart, seed) for seed in range(options.seeds)
                ]
                outcomes = Counter(outcome for outcome, _ in found)
                shares = [share for _, share in found if not np.isnan(share)]
                row = {
                    "judge": name,
                    "pairs": n,
                    "apart": apart,
                    "seeds": options.seeds,
                }
                row |= {
                    key: outcomes[key]
                    for key in ("raw", "open", "surface_as_good", "surface_explains")
                }
                row |= {"beyond_surface": outcomes["beyond_surface"]}
                rows.append(
                    row
                    | {
                        "surface_share": (
                            round(float(np.mean(shares)), 3) if shares else float("nan")
                        )
                    }
                )
                pd.DataFrame(rows).to_csv(options.to, index=False)
                print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
