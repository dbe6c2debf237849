"""How often does `undogmatic check` believe a judge that reads nothing, and how often not a good one?

    python -m benchmarks.check believed --seeds 400 --write      # all; writes benchmarks/results/check_believed.csv
    python -m benchmarks.check believed --seeds 50 --judges regex_8 good --items 100

Texts are invented anew for each seed, in English or Portuguese. What a text means hangs on the order of two clauses,
which no count of words gives away. A judge without merit is shown where it looks best: people's labels are its own
verdicts, one in ten of them turned round, unless it is fitted to labels that words give away. A good judge and two
people each mistake the meaning of one text in twenty; in "worded" worlds its labels go with citations and length so
far that a word counter reaches two thirds of them.

    python -m benchmarks.check believed --texts held traits rules --seeds 100 --items 100

Real texts in place of invented ones. The limits of the surface check (`examinations/surface_rival.py`) were chosen on invented
texts and on "legal"; nothing is chosen on the others, which only say how well that does. "good" has labels that go with
nothing in the texts, "good_worded" the labels of the texts themselves.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from undogmatic.examinations.check import check
from undogmatic.examinations.surface_rival import surface_rival
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import AS_GIVEN, SWAPPED, Evidence

Rng = np.random.Generator
Array = np.ndarray
ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "check_believed.csv"
ITEMS = (100, 164)
WRONG = 0.1
"""The share of a worthless judge's verdicts that people turn round."""

_ENGLISH = {
    "for": (
        "the claimant proved the debt|the contract was signed freely|the notice arrived in time|the"
        " damage is documented|the witness was credible|the payment was made|the clause is"
        " valid|the defect existed before delivery|the fee was agreed upon|the expert confirmed the"
        " loss"
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
        "The hearing took place in {month}|Both sides filed written statements|The file holds {n}"
        " pages|Counsel spoke for {n} minutes|The chamber met on a Tuesday in {month}|An"
        " interpreter was present|No further evidence was requested|The clerk read the minutes"
        " aloud|The matter had been adjourned before|Costs were estimated at {n} dollars|The"
        " parties live in different towns|A copy was sent to the registry|The panel asked several"
        " questions about delivery|The transcript is attached|The case was assigned to another"
        " judge|Mediation failed in {month}|Several letters were exchanged|Nobody objected to the"
        " schedule|The building was inspected|The bank answered after {n} days"
    ),
    "month": (
        "January|February|March|April|May|June|July|August|September|October|November|December"
    ),
}
_PORTUGUESE = {
    "for": (
        "o autor provou a dívida|o contrato foi assinado livremente|a notificação chegou a tempo|o"
        " dano está documentado|a testemunha foi convincente|o pagamento foi feito|a cláusula é"
        " válida|o defeito existia antes da entrega|os honorários foram combinados|o perito"
        " confirmou o prejuízo"
    ),
    "against": (
        "a pretensão estava prescrita|a assinatura era falsa|o valor nunca foi especificado|o réu"
        " já havia pago|falta o recibo|as partes tinham feito acordo|o juízo é incompetente|a"
        " mercadoria foi aceita sem protesto|os juros foram mal calculados|o recurso veio tarde"
        " demais"
    ),
    "turn": (
        "Embora {0}, {1}|{1}, ainda que {0}|{0}; pesa mais, contudo, que {1}|"
        "Admitido que {0}, o que decide é que {1}|Enquanto {0}, resta que {1}"
    ),
    "filler": (
        "A audiência ocorreu em {month}|Ambos apresentaram memoriais|Os autos têm {n} páginas|O"
        " advogado falou por {n} minutos|A turma reuniu-se numa terça-feira de {month}|Havia um"
        " intérprete|Não se pediram outras provas|O escrivão leu a ata|O feito já fora adiado|As"
        " custas foram estimadas em {n} reais|As partes moram em cidades diferentes|Uma cópia"
        " seguiu ao cartório|O colegiado fez várias perguntas sobre a entrega|A transcrição está"
        " anexada|O processo foi redistribuído|A mediação fracassou em {month}|Trocaram-se várias"
        " cartas|Ninguém se opôs ao calendário|O prédio foi vistoriado|O banco respondeu após {n}"
        " dias"
    ),
    "month": (
        "janeiro|fevereiro|março|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro"
    ),
}
LANGUAGES = [
    {name: part.split("|") for name, part in own.items()}
    for own in (_ENGLISH, _PORTUGUESE)
]
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
CITED = (
    "súmula",
    "article",
    "precedent",
    "supreme",
    "doctrine",
    "tema",
    "ibidem",
    "statute",
)
CITED_BY_REAL = (
    "súmula",
    "art",
    "precedente",
    "supremo",
    "doutrina",
    "tema",
    "stj",
    "lei",
)


class World(NamedTuple):
    """Texts (in a language, or of a pool of real ones), what they mean (1 or 0), and who wrote
    them."""

    source: int | str
    texts: list[str]
    meaning: Array
    system: Array


POOLS = {
    "legal": "legal texts of this project by three of its seven authors",
    "held": "those by the other four authors",
    "traits": "answers of assistants in English and Portuguese, labelled for a trait",
    "rules": (
        "what real precedents decided and why (needs ../shared/data); no labels, so never"
        " good_worded nor tfidf"
    ),
}
UNLABELLED = {"rules"}


@lru_cache
def pool(name: str) -> tuple[list[str], Array]:
    """The texts of a pool, and 1 for the labels above the middle."""
    if name == "rules":
        facts = pd.read_json(
            ROOT.parent / "shared" / "data" / "temas_facts.jsonl", lines=True
        )
        return [
            f"{one.rule_pt} {one.reasons_pt}" for one in facts.itertuples()
        ], np.zeros(len(facts), dtype=np.intp)
    own = pd.read_json(
        ROOT
        / "data"
        / ("trait/items.jsonl" if name == "traits" else "curated/labelled.jsonl"),
        lines=True,
    )
    if name == "traits":
        return list(own["response"]), _top(own["label"])
    first = own["id"].str.match("dev[123]-")
    own = own[first if name == "legal" else ~first]
    return list(own["text"]), _top(own["label"])


def world(
    n: int, rng: Rng, worded: float = 0.0, source: int | str | None = None
) -> World:
    """Invent `n` texts, or draw them from a pool; with `worded` above 0, citations and length go
    with the meaning so far, or the meaning is the label of the pool."""
    if isinstance(source, str):
        texts, labels = pool(source)
        rows = rng.choice(len(texts), n, replace=False)
        meaning = labels[rows] if worded else rng.integers(2, size=n)
        return World(
            source, [texts[row] for row in rows], meaning, rng.integers(5, size=n)
        )
    chosen = int(rng.integers(2)) if source is None else source
    meaning = rng.integers(2, size=n)
    texts = [_text(LANGUAGES[chosen], int(good), rng, worded) for good in meaning]
    return World(chosen, texts, meaning, rng.integers(5, size=n))


def _text(own: dict[str, list[str]], good: int, rng: Rng, worded: float) -> str:
    def one(name: str) -> str:
        return str(rng.choice(own[name]))

    sides = [one("against"), one("for")] if good else [one("for"), one("against")]
    core = one("turn").format(*sides)
    lean = worded * (1 if good else -1)
    number = max(1, int(rng.poisson(5 * (1 + 0.5 * lean))) + 1)
    parts = [
        one("filler").format(month=one("month"), n=rng.integers(2, 900))
        for _ in range(number)
    ]
    for cited, share in CITATIONS.items():
        if rng.random() < share * (1 + 1.6 * lean):
            parts.insert(
                int(rng.integers(len(parts) + 1)), cited.format(n=rng.integers(2, 900))
            )
    parts.insert(int(rng.integers(len(parts) + 1)), core)
    return " ".join(part[0].upper() + part[1:] + "." for part in parts)


def _top(values: Sequence[float]) -> Array:
    """1 for the larger half."""
    own = np.asarray(values, dtype=np.float64)
    return (own > np.median(own)).astype(np.intp)


def _cited(k: int, first: int = 0) -> Callable[[World, Rng], Array]:
    """How often a text cites, by a regular expression over so many words."""

    def judge(made: World, rng: Rng) -> Array:
        words = CITED_BY_REAL if isinstance(made.source, str) else CITED
        return _found(made.texts, words[first : first + k])

    return judge


def _found(texts: Sequence[str], words: Sequence[str]) -> Array:
    pattern = re.compile("|".join(rf"\b{word}" for word in words), re.IGNORECASE)
    return np.array([len(pattern.findall(text)) for text in texts])


def _any_words(k: int) -> Callable[[World, Rng], Array]:
    """A regular expression over words drawn at random among those that 3 to 20 % of the texts have,
    as many of them, up to `k`, as find half of the texts."""

    def judge(made: World, rng: Rng) -> Array:
        often = Counter(
            word
            for text in made.texts
            for word in set(re.findall(r"[^\W\d]{4,}", text.lower()))
        )
        n = len(made.texts)
        words = [
            word
            for word, times in sorted(often.items())
            if 0.03 * n <= times <= 0.2 * n
        ]
        chosen = list(rng.permutation(words)[:k])
        while len(chosen) > 1 and np.mean(_found(made.texts, chosen) > 0) > 0.6:
            chosen.pop()
        return np.minimum(_found(made.texts, chosen), 1)

    return judge


def _share(pattern: str) -> Callable[[World, Rng], Array]:
    """The larger half by the share of the characters, or words, that a pattern finds."""
    own = re.compile(pattern)
    return lambda made, rng: _top(
        [len(own.findall(text.lower())) / max(1, len(text)) for text in made.texts]
    )


def _regex(k: int, first: int = 0) -> Callable[[World, Rng], Array]:
    return lambda made, rng: np.minimum(_cited(k, first)(made, rng), 1)


def _tfidf(n: int) -> Callable[[World, Rng], Array]:
    """Fitted to the labels of so many other texts (0: as many), which words give away."""

    def judge(made: World, rng: Rng) -> Array:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import RidgeClassifier

        known = len(pool(made.source)[0]) if isinstance(made.source, str) else n
        other = world(min(n, known) or len(made.texts), rng, GIVEN_AWAY, made.source)
        vectors = TfidfVectorizer()
        fitted = RidgeClassifier(1.0).fit(
            vectors.fit_transform(other.texts), other.meaning
        )
        return np.asarray(fitted.predict(vectors.transform(made.texts)))

    return judge


def _characters(made: World, rng: Rng) -> Array:
    return np.array([len(text) for text in made.texts])


WORDED, GIVEN_AWAY = 0.3, 0.6
"""How far words go with the meaning: so far that a word counter reaches two thirds of the labels,
or four fifths."""
FAKES: dict[str, Callable[[World, Rng], Array]] = {
    "coin": lambda made, rng: rng.integers(2, size=len(made.texts)),
    "constant": lambda made, rng: np.ones(len(made.texts), dtype=np.intp),
    "length": lambda made, rng: _top([len(text.split()) for text in made.texts]),
    "length_band": (
        lambda made, rng: (
            1
            - _top(
                [abs(len(t) - np.median([*map(len, made.texts)])) for t in made.texts]
            )
        )
    ),
    "regex_1": _regex(1),
    "regex_3": _regex(3),
    "regex_8": _regex(8),
    "regex_rare_5": _regex(5, 3),
    "upper_case": lambda made, rng: _top(
        [sum(c.isupper() for c in text) for text in made.texts]
    ),
    "digits": lambda made, rng: _top(
        [sum(c.isdigit() for c in text) for text in made.texts]
    ),
    "first_word": lambda made, rng: np.array(
        [int(text[0].lower() < "m") for text in made.texts]
    ),
    "any_words_3": _any_words(3),
    "any_words_8": _any_words(8),
    "vowels": _share("[aeiouáéíóúâêôãõ]"),
    "letters_a_to_m": _share("[a-m]"),
    "endings": _share(r"[os]\b"),
    "short_words": _share(r"\b\w{1,3}\b"),
    "first_hashed": lambda made, rng: np.array(
        [zlib.crc32(text.split()[0].lower().encode()) % 2 for text in made.texts]
    ),
    "tfidf": _tfidf(0),
    "tfidf_1000": _tfidf(1000),
    "system": lambda made, rng: (made.system < 2).astype(np.intp),
}
PAIRED: dict[str, Callable[[World, Rng], Array]] = {
    "pair_longer": _characters,
    "pair_cited_8": _cited(8),
    "pair_system": lambda made, rng: made.system,
    "pair_always_first": lambda made, rng: np.zeros(len(made.texts)),
    "pair_coin": lambda made, rng: rng.random(len(made.texts)),
}
"""What a judge of two texts goes by: it chooses the text with more of it, the first of equal
ones."""
GOOD = {
    "good": 0.0,
    "good_worded": WORDED,
    "pair_good": 0.0,
    "pair_good_worded": WORDED,
}
MEANING = {
    "tfidf": GIVEN_AWAY,
    "tfidf_1000": GIVEN_AWAY,
    "coin": 0.0,
    "constant": 0.0,
} | {
    "pair_always_first": 0.0,
    "pair_coin": 0.0,
}
"""Judges whose labels say what the text means, and how far words go with it: they are fitted to
such labels, or to nothing."""
INVENTED = "invented"
UNTURNED = {*GOOD, "coin", "constant", "pair_coin", "pair_always_first"}


OUTCOMES = ("beyond", "as_good", "open", "follows", "column")
"""What may be found of the rival: the judge goes beyond it, it is as good, that is open, or it
tells the verdicts."""


def turned(values: Array, share: float, rng: Rng) -> Array:
    """The values, so many of them turned round."""
    return np.where(rng.random(values.size) < share, 1 - values, values)


def table(
    worlds: Sequence[World], verdicts: dict[str | None, Array], labels: Sequence[Array]
) -> Evidence:
    """A verdict table of one judge (its verdicts by the order shown) and some raters, of texts or
    of pairs of them."""
    n = len(worlds[0].texts)
    items = [f"t{k}" for k in range(n)]
    said = pd.concat(
        [
            pd.DataFrame({"item": items, "order": order, "verdict": v})
            for order, v in verdicts.items()
        ]
    )
    said = said.assign(
        judge="judge",
        criterion="quality",
        repeat=0,
        confidence=np.nan,
        reason=None,
        place="file:1",
    )
    said["verdict"] = said["verdict"].astype(float)
    parts = [
        pd.DataFrame(
            {
                "item": items,
                "criterion": "quality",
                "rater": f"r{k}",
                "label": own.astype(float),
            }
        )
        for k, own in enumerate(labels)
    ]
    about: dict[str, object] = {"group": items}
    for k, made in enumerate(worlds, 1):
        end = "" if len(worlds) == 1 else f"_{k}"
        about |= {f"text{end}": made.texts, f"system{end}": made.system.astype(str)}
    paired = len(worlds) > 1
    return Evidence(
        "pairwise" if paired else "pass_fail",
        said.reset_index(drop=True),
        pd.concat(parts, ignore_index=True),
        pd.DataFrame(about, index=items),
        categories=("1", "2") if paired else ("fail", "pass"),
        selection="random",
    )


def made_table(
    name: str, n: int, noise: float, seed: int, source: str = INVENTED
) -> Evidence:
    """The file of one judge: texts, its verdicts, and labels that are as kind to it as can be."""
    rng = np.random.default_rng([seed, n, sum(map(ord, name))])
    worded = GOOD.get(name, MEANING.get(name, 0.0))
    worlds = [world(n, rng, worded, None if source == INVENTED else source)]
    orders: tuple[str | None, ...] = (None,)
    truth = worlds[0].meaning
    if name.startswith("pair_"):
        worlds.append(world(n, rng, worded, worlds[0].source))
        orders = AS_GIVEN, SWAPPED
        # Where both mean the same, something else that no word says makes one better.
        better = worlds[1].meaning - worlds[0].meaning
        truth = np.where(better == 0, rng.integers(2, size=n), better > 0).astype(
            np.intp
        )
    if name in GOOD:
        mistakes = (1 - np.sqrt(0.8)) / 2  # two who mistake so many agree in 0.9
        people = [turned(truth, mistakes, rng) for _ in range(2)]
        return table(
            worlds, {order: turned(truth, mistakes, rng) for order in orders}, people
        )
    if name == "pair_always_first":
        return table(worlds, {AS_GIVEN: truth * 0, SWAPPED: truth * 0 + 1}, [truth])
    if name in PAIRED:
        first, second = (PAIRED[name](made, rng) for made in worlds)
        verdicts = (second > first).astype(np.intp)
    else:
        verdicts = FAKES[name](worlds[0], rng)
    labels = truth if name in MEANING else turned(verdicts, WRONG, rng)
    return table(
        worlds, {order: turned(verdicts, noise, rng) for order in orders}, [labels]
    )


def one(
    case: tuple[str, int, float, str], whole: bool, seed: int
) -> tuple[bool, str, str, float]:
    """Whether the first sentence believes one judge of one seed, the sentence's name, what else
    could explain the agreement, and the seconds that a core took for the latter. Unless `whole`,
    the other parts of the check are left out where the rival alone forbids belief
    (`ruling.check.CHECK`)."""
    name, n, noise, source = case
    own = made_table(name, n, noise, seed, source)
    start = time.process_time()
    with threadpool_limits(1):
        rival = surface_rival(own.of("judge", "quality"), CheckOptions())
    took = time.process_time() - start
    if rival.outcome != "beyond" and not whole:
        return False, rival.outcome, rival.outcome, took
    (answer,) = check(own, CheckOptions()).judges
    return (
        answer.standing == "supported",
        answer.verdict.key.removeprefix("check.verdict_"),
        rival.outcome,
        took,
    )


def believed(
    seeds: int,
    judges: Sequence[str],
    items: Sequence[int],
    texts: Sequence[str],
    whole: bool,
) -> Iterator[dict[str, object]]:
    """A row per texts, judge, number of items and noise: how often the first sentence believes it,
    and why else not."""
    with ProcessPoolExecutor(os.cpu_count()) as workers:
        for source, name, n in itertools.product(texts, judges, items):
            if name == "tfidf_1000" and source != INVENTED:
                # There are 400 and 1,317 real texts, so that it would be fitted to most
                # of those that it judges.
                continue
            if source in UNLABELLED and (
                name.endswith("good_worded") or name.startswith("tfidf")
            ):
                continue
            for noise in (0.0,) if name in UNTURNED else (0.0, 0.1):
                found = list(
                    workers.map(
                        partial(one, (name, n, noise, source), whole),
                        range(seeds),
                        chunksize=5,
                    )
                )
                sure, sentences, rivals, seconds = zip(*found, strict=True)
                row: dict[str, object] = {
                    "texts": source,
                    "judge": name,
                    "items": n,
                    "noise": noise,
                    "seeds": seeds,
                }
                row |= {"believed": float(np.mean(sure))}
                row |= {outcome: rivals.count(outcome) for outcome in OUTCOMES}
                row |= {
                    "first sentence": " ".join(
                        f"{name}:{n}" for name, n in Counter(sentences).most_common()
                    )
                }
                yield row | {"seconds": round(float(np.median(seconds)), 3)}


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["believed"])
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--judges", nargs="+", default=[*GOOD, *FAKES, *PAIRED])
    parser.add_argument("--items", nargs="+", type=int, default=list(ITEMS))
    parser.add_argument(
        "--texts", nargs="+", default=[INVENTED], choices=[INVENTED, *POOLS]
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        help="run every part of the check for every judge",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help=f"replace the rows of these judges in {RESULTS.name}",
    )
    given = parser.parse_args()
    keys = ["texts", "judge", "items", "noise"]
    for row in believed(
        given.seeds, given.judges, given.items, given.texts, given.whole
    ):
        print(*(f"{name}={value}" for name, value in row.items()), flush=True)
        if given.write:
            before = [pd.read_csv(RESULTS)] if RESULTS.exists() else []
            rows = pd.concat([*before, pd.DataFrame([row])]).drop_duplicates(
                keys, keep="last"
            )
            rows.sort_values(keys).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
