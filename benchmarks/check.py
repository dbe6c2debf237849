"""How often does `undogmatic check` believe a judge that reads nothing, and how often not a good one?

    python -m benchmarks.check believed --seeds 400 --write      # all; writes benchmarks/results/check_believed.csv
    python -m benchmarks.check believed --seeds 50 --judges regex_8 good --items 100

Texts are invented anew for each seed, in English or Portuguese. What a text means hangs on the order of two clauses,
which no count of words gives away. A judge without merit is shown where it looks best: people's labels are its own
verdicts, one in ten of them turned round (`_labels`). A good judge and two people each mistake the meaning of one text
in twenty; its labels go with words and length so that a word counter reaches 65-70 % of them ("worded"), or not.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from undogmatic.analyses.surface import surface_rival
from undogmatic.records.checked import CheckOptions
from undogmatic.records.verdict_table import VerdictTable

Rng = np.random.Generator
Array = np.ndarray
RESULTS = Path(__file__).parent / "results" / "check_believed.csv"
ITEMS = (100, 164)
WRONG = 0.1
"""The share of a worthless judge's verdicts that people turn round."""

_ENGLISH = {
    "for": (
        "the claimant proved the debt|the contract was signed freely|the notice arrived in time|"
        "the damage is documented|the witness was credible|the payment was made|the clause is valid|"
        "the defect existed before delivery|the fee was agreed upon|the expert confirmed the loss"
    ),
    "against": (
        "the limitation period had run out|the signature was forged|the amount was never specified|"
        "the defendant had already paid|the receipt is missing|the parties had settled|"
        "the court lacks jurisdiction|the goods were accepted without protest|"
        "the interest was miscalculated|the appeal came too late"
    ),
    "turn": (
        "Although {0}, {1}|{1}, even though {0}|{0}; it weighs more, however, that {1}|"
        "Granted that {0}, what decides is that {1}|While {0}, the point remains that {1}"
    ),
    "filler": (
        "The hearing took place in {month}|Both sides filed written statements|The file holds {n} pages|"
        "Counsel spoke for {n} minutes|The chamber met on a Tuesday in {month}|"
        "An interpreter was present|No further evidence was requested|The clerk read the minutes aloud|"
        "The matter had been adjourned before|Costs were estimated at {n} dollars|"
        "The parties live in different towns|A copy was sent to the registry|"
        "The panel asked several questions about delivery|The transcript is attached|"
        "The case was assigned to another judge|Mediation failed in {month}|"
        "Several letters were exchanged|Nobody objected to the schedule|The building was inspected|"
        "The bank answered after {n} days"
    ),
    "month": ("January|February|March|April|May|June|July|August|September|October|November|December"),
}
_PORTUGUESE = {
    "for": (
        "o autor provou a dívida|o contrato foi assinado livremente|a notificação chegou a tempo|"
        "o dano está documentado|a testemunha foi convincente|o pagamento foi feito|a cláusula é válida|"
        "o defeito existia antes da entrega|os honorários foram combinados|o perito confirmou o prejuízo"
    ),
    "against": (
        "a pretensão estava prescrita|a assinatura era falsa|o valor nunca foi especificado|"
        "o réu já havia pago|falta o recibo|as partes tinham feito acordo|o juízo é incompetente|"
        "a mercadoria foi aceita sem protesto|os juros foram mal calculados|o recurso veio tarde demais"
    ),
    "turn": (
        "Embora {0}, {1}|{1}, ainda que {0}|{0}; pesa mais, contudo, que {1}|"
        "Admitido que {0}, o que decide é que {1}|Enquanto {0}, resta que {1}"
    ),
    "filler": (
        "A audiência ocorreu em {month}|Ambos apresentaram memoriais|Os autos têm {n} páginas|"
        "O advogado falou por {n} minutos|A turma reuniu-se numa terça-feira de {month}|"
        "Havia um intérprete|Não se pediram outras provas|O escrivão leu a ata|O feito já fora adiado|"
        "As custas foram estimadas em {n} reais|As partes moram em cidades diferentes|"
        "Uma cópia seguiu ao cartório|O colegiado fez várias perguntas sobre a entrega|"
        "A transcrição está anexada|O processo foi redistribuído|A mediação fracassou em {month}|"
        "Trocaram-se várias cartas|Ninguém se opôs ao calendário|O prédio foi vistoriado|"
        "O banco respondeu após {n} dias"
    ),
    "month": ("janeiro|fevereiro|março|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro"),
}
LANGUAGES = [{name: part.split("|") for name, part in own.items()} for own in (_ENGLISH, _PORTUGUESE)]
CITATIONS = {  # word, and the share of texts that cite it
    "Súmula {n} applies": 0.12,
    "See Article {n}": 0.1,
    "Precedent {n} binds": 0.08,
    "The Supreme bench held so in {n}": 0.06,
    "Doctrine agrees": 0.04,
    "Tema {n} is in point": 0.03,
    "Ibidem": 0.02,
    "Statute {n} says so": 0.02,
}
CITED = ("súmula", "article", "precedent", "supreme", "doctrine", "tema", "ibidem", "statute")


class World(NamedTuple):
    """Texts, what they mean (1 or 0), and who wrote them."""

    texts: list[str]
    meaning: Array
    system: Array


def world(n: int, rng: Rng, worded: float = 0.0) -> World:
    """Invent `n` texts; with `worded` above 0, citations and length go with the meaning so far."""
    own = LANGUAGES[int(rng.integers(2))]
    meaning = rng.integers(2, size=n)
    texts = [_text(own, int(good), rng, worded) for good in meaning]
    return World(texts, meaning, rng.integers(5, size=n))


def _text(own: dict[str, list[str]], good: int, rng: Rng, worded: float) -> str:
    def one(name: str) -> str:
        return str(rng.choice(own[name]))

    sides = [one("against"), one("for")] if good else [one("for"), one("against")]
    core = one("turn").format(*sides)
    lean = worded * (1 if good else -1)
    number = max(1, int(rng.poisson(5 * (1 + 0.5 * lean))) + 1)
    parts = [one("filler").format(month=one("month"), n=rng.integers(2, 900)) for _ in range(number)]
    for cited, share in CITATIONS.items():
        if rng.random() < share * (1 + 1.6 * lean):
            parts.insert(int(rng.integers(len(parts) + 1)), cited.format(n=rng.integers(2, 900)))
    parts.insert(int(rng.integers(len(parts) + 1)), core)
    return " ".join(part[0].upper() + part[1:] + "." for part in parts)


def _top(values: Sequence[float]) -> Array:
    """1 for the larger half."""
    own = np.asarray(values, dtype=np.float64)
    return (own > np.median(own)).astype(np.intp)


def _regex(k: int, first: int = 0) -> Callable[[World, Rng], Array]:
    pattern = re.compile("|".join(rf"\b{word}" for word in CITED[first : first + k]), re.IGNORECASE)
    return lambda made, rng: np.array([int(bool(pattern.search(text))) for text in made.texts])


def _tfidf(n: int) -> Callable[[World, Rng], Array]:
    """Fitted to the labels of so many other texts (0: as many), which words give away a little."""

    def judge(made: World, rng: Rng) -> Array:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import RidgeClassifier

        state = rng.bit_generator.state
        other = world(n or len(made.texts), rng, WORDED)
        rng.bit_generator.state = state
        vectors = TfidfVectorizer()
        fitted = RidgeClassifier(1.0).fit(vectors.fit_transform(other.texts), other.meaning)
        return np.asarray(fitted.predict(vectors.transform(made.texts)))

    return judge


WORDED = 0.3
FAKES: dict[str, Callable[[World, Rng], Array]] = {
    "coin": lambda made, rng: rng.integers(2, size=len(made.texts)),
    "constant": lambda made, rng: np.ones(len(made.texts), dtype=np.intp),
    "length": lambda made, rng: _top([len(text.split()) for text in made.texts]),
    "length_band": lambda made, rng: 1 - _top([abs(len(t) - np.median([*map(len, made.texts)])) for t in made.texts]),
    "regex_1": _regex(1),
    "regex_3": _regex(3),
    "regex_8": _regex(8),
    "regex_rare_5": _regex(5, 3),
    "upper_case": lambda made, rng: _top([sum(c.isupper() for c in text) for text in made.texts]),
    "digits": lambda made, rng: _top([sum(c.isdigit() for c in text) for text in made.texts]),
    "first_word": lambda made, rng: np.array([int(text[0].lower() < "m") for text in made.texts]),
    "tfidf": _tfidf(0),
    "tfidf_1000": _tfidf(1000),
    "system": lambda made, rng: (made.system < 2).astype(np.intp),
}
MEANING = {"tfidf", "tfidf_1000", "coin", "constant"}
"""Judges whose labels say what the text means: these are fitted to such labels, or to nothing."""


def turned(values: Array, share: float, rng: Rng) -> Array:
    """The values, so many of them turned round."""
    return np.where(rng.random(values.size) < share, 1 - values, values)


def table(made: World, verdicts: Array, labels: Sequence[Array]) -> VerdictTable:
    """A verdict table of one judge and some raters."""
    items = [f"t{k}" for k in range(len(made.texts))]
    said = pd.DataFrame({"item": items, "judge": "judge", "criterion": "quality", "repeat": 0, "order": None})
    said = said.assign(verdict=verdicts.astype(float), confidence=np.nan, reason=None, place="file:1")
    parts = [
        pd.DataFrame({"item": items, "criterion": "quality", "rater": f"r{k}", "label": own.astype(float)})
        for k, own in enumerate(labels)
    ]
    known = pd.DataFrame({"group": items, "text": made.texts, "slice.system": made.system.astype(str)}, index=items)
    return VerdictTable("pass_fail", said, pd.concat(parts, ignore_index=True), known, categories=("fail", "pass"))


def made_table(name: str, n: int, noise: float, seed: int) -> VerdictTable:
    """The file of one judge: texts, its verdicts, and labels that are as kind to it as can be."""
    rng = np.random.default_rng([seed, n, sum(map(ord, name))])
    if name in ("good", "good_worded"):
        made = world(n, rng, WORDED if name == "good_worded" else 0.0)
        mistakes = (1 - np.sqrt(0.8)) / 2  # two who mistake so many agree in 0.9
        said = [turned(made.meaning, mistakes, rng) for _ in range(3)]
        return table(made, said[0], said[1:])
    made = world(n, rng, WORDED if name in MEANING else 0.0)
    verdicts = FAKES[name](made, rng)
    labels = made.meaning if name in MEANING else turned(verdicts, WRONG, rng)
    return table(made, turned(verdicts, noise, rng), [labels])


def one(case: tuple[str, int, float], seed: int) -> tuple[str, float]:
    """What is said of one judge of one seed, and in how many seconds."""
    own = made_table(*case, seed).of("judge", "quality")
    start = time.perf_counter()
    with threadpool_limits(1):
        found = surface_rival(own, CheckOptions())
    outcome = found.outcome
    if os.environ.get("SHOW"):
        print(
            case,
            seed,
            outcome,
            *(
                f"{name} {e.value:.2f} [{e.low:.2f}]"
                for name in "agreement accuracy increment at_equal foretold".split()
                if (e := getattr(found, name))
            ),
            found.what[:3],
        )
    return outcome, time.perf_counter() - start


def believed(seeds: int, judges: Sequence[str], items: Sequence[int], write: bool) -> pd.DataFrame:
    """A row per judge, number of items and noise."""
    cases = [
        (name, n, noise)
        for name in judges
        for n in items
        for noise in ((0.0,) if name in ("coin", "constant", "good", "good_worded") else (0.0, 0.05, 0.1))
    ]
    rows = []
    with ProcessPoolExecutor(2) as pool:
        for case in cases:
            found = list(pool.map(partial(one, case), range(seeds), chunksize=5))
            said = pd.Series([outcome for outcome, _ in found]).value_counts()
            rows.append(
                {
                    "judge": case[0],
                    "items": case[1],
                    "noise": case[2],
                    "seeds": seeds,
                    "believed": said.get("beyond", 0) / seeds,
                    **said.to_dict(),
                    "seconds": np.median([s for _, s in found]),
                }
            )
            print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["believed"])
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--judges", nargs="+", default=[*FAKES, "good", "good_worded"])
    parser.add_argument("--items", nargs="+", type=int, default=list(ITEMS))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    believed(given.seeds, given.judges, given.items, given.write)


if __name__ == "__main__":
    main()
