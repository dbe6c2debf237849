"""Rates texts without a model: by counted patterns (`patterns`), or by a regression on character
n-grams (`tfidf`).

It is here to be beaten: whoever knows the patterns can fool it, and the adversarial suite shows
how.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import Field

from undogmatic.constructs.shame.curated import development_texts
from undogmatic.models.base import Model
from undogmatic.models.trace_rules import RUBRICS, TraceRules
from undogmatic.records.folding import plain
from undogmatic.records.marks import text_marks
from undogmatic.records.records import digest
from undogmatic.records.wordings import of_this_project

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

_PATTERNS = {
    "citations": [
        r"\btemas?\s+(?:n[.ºo°]*\s*)?\d[\d.]*",
        r"\bsumulas?(?:\s+vinculantes?)?\s+(?:n[.ºo°]*\s*)?\d+",
        r"\bsv\s*\d+",
        r"\b(?:re|are|resp|earesp|aresp|rr|adi|adpf|adc|hc|rms)\s*(?:n[.ºo°]*\s*)?\d[\d.]{2,}",
        r"\boj\s*\d+",
        r"\b(?:stf|stj|tst|supremo|excelso\s+pretorio|pretorio\s+excelso"
        r"|tribunais\s+superiores|corte\s+superior)\b",
        r"\brepercussao\s+geral\b|\brecursos?\s+repetitivos?\b|\bjurisprudencia\b|\bprecedentes?\b",
        r"\b(?:entendimento|orientacao)\s+(?:consolidad[oa]|pacific[oa]|dominante"
        r"|firmad[oa]|assente)",
        r"\bdoutrina\b|\befeito\s+vinculante\b|\bart\.?\s*927\b",
    ],
    "boosters": [
        r"\bresta\s+(?:pacificad|cristalin|indubit)",
        r"\be\s+(?:cedico|sabido|assente|notorio|indiscutivel)",
        r"\bsalta\s+aos\s+olhos\b|\bindubitavelmente\b|\binequivoc[oa]|\bincontestavel",
        r"\bnao\s+ha\s+(?:mais\s+)?(?:o\s+que\s+discutir|duvida|que\s+se\s+falar)",
        r"\bimpoe-se\b|\bde\s+observancia\s+obrigatoria\b|\bponto\s+final\b",
    ],
    "hedges": [
        r"\btalvez\b|\bem\s+tese\b|\ba\s+principio\b|\bao\s+que\s+parece\b|\bpossivelmente\b",
        r"\bsalvo\s+melhor\s+juizo\b|\bs\.?m\.?j\.?\b|\bdata\s+venia\b|\bpode-se\s+sustentar\b",
    ],
    "explanations": [
        r"\bporque\b|\bpois\b|\bja\s+que\b|\buma\s+vez\s+que\b|\bvisto\s+que\b|\bpor\s+isso\b",
        r"\bdesde\s+que\b|\bse\s+(?:o|a|os|as|nao|houver|for)\b|\bquando\b|\bcaso\s+(?:o|a|nao)\b",
        r"\bsalvo\s+(?!melhor)|\bexceto\b|\bressalvad|\ba\s+menos\s+que\b|\bmas\s+nao\b",
        r"\bno\s+caso\b|\baqui\b|\bos?\s+autos?\b|\blaudo\b|\bcontrato\b|\bdocumentos?\b",
        r"\bexige(?:-se)?\b|\brequisitos?\b|\balcanca\b|\blimit[ea]|\bsomente\b|\bapenas\b",
    ],
}
"""What is looked for in plain text (`records.folding`): small letters without accents."""


class Counts(NamedTuple):
    """How often each family of patterns occurs in a text."""

    citations: int
    boosters: int
    hedges: int
    explanations: int


def count(text: str) -> Counts:
    """Occurrences per family, of the words however they were typed (`plain`)."""
    text, families = plain(text), _PATTERNS.items()
    return Counts(
        **{
            name: sum(len(re.findall(p, text)) for p in family)
            for name, family in families
        }
    )


def share(counts: Counts) -> float:
    """Authority's share of all that was found, in [0, 1]: citations and boosters against
    explanation markers.

    Add-one smoothing puts a text without any marker at 0.5. Hedges count for neither side: they
    earn nothing.
    """
    authority = 2.0 * counts.citations + counts.boosters
    return (authority + 1.0) / (authority + 2.0 * counts.explanations + 2.0)


class PatternsModel(Model):
    """Rates a text by its patterns; no model, no key, no call.

    Args:
        rubric: By which rubric. Runs of agents are rated by the rules that there are for them.
    """

    readouts = ("rules",)
    licence = of_this_project("patterns")

    def __init__(self, rubric: str = "shame") -> None:
        self.of_runs = TraceRules(rubric) if rubric in RUBRICS else None
        self.name = "patterns-2" if self.of_runs is None else self.of_runs.name
        self.rubric = "shame" if self.of_runs is None else rubric

    async def rate(self, text: str) -> tuple[float, str]:
        """Share of authority in [0, 1], and the counts it comes from; of a run of an agent how good
        it is."""
        if self.of_runs is not None:
            return await self.of_runs.rate(text)
        counts = count(text)
        found = ", ".join(f"{name} {value}" for name, value in counts._asdict().items())
        return share(counts), found


class TfidfModel(Model):
    """Fitted when it is first asked, on the same texts as the shipped probe, so that the two can be
    compared; the ridge penalty is `alpha`."""

    readouts = ("rules",)
    rubric = "shame"
    licence = of_this_project("tfidf")

    def __init__(
        self, alpha: Annotated[float, Field(gt=0, le=1_000_000)] = 1.0
    ) -> None:
        self.alpha = alpha
        texts, labels = development_texts()
        self.name = f"tfidf-2-{digest([texts, labels, alpha])[:12]}"
        self.fitted_on = frozenset(text_marks(texts))

    async def rate(self, text: str) -> tuple[float, str]:
        """Predicted share of authority, clipped to [0, 1]."""
        value = float(fitted(self.alpha).predict([text])[0])
        return min(1.0, max(0.0, value)), f"ridge on character n-grams: {value:.3f}"


@functools.lru_cache(
    maxsize=2
)  # seconds of work, and several instances of one run ask for the same
def fitted(alpha: float) -> Pipeline:
    """The pipeline of `tfidf_ridge` fitted on the development texts, text -> share in [0, 1]; it
    reads them plainly."""
    texts, labels = development_texts()
    return tfidf_ridge(alpha, plain).fit(texts, [label / 100 for label in labels])


def tfidf_ridge(alpha: float, reading: Callable[[str], str] | None = None) -> Pipeline:
    """Character 2-5-grams within word boundaries, sublinear TF-IDF, ridge; on what `reading` makes
    of a text, or on its small letters."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    grams = TfidfVectorizer(
        preprocessor=reading,
        analyzer="char_wb",
        ngram_range=(2, 5),
        sublinear_tf=True,
        min_df=2,
    )
    return make_pipeline(grams, Ridge(alpha=alpha))
