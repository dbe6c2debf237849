"""Tells whether a judge prefers outputs of its own family of models, beyond what people think of
them.

Families are read from names: the judge's (or its `model` setting) and the systems'. A judge that
rates its kin higher has no taste for it if people do so too: what counts is verdict minus label.
"""

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import JudgeView
from undogmatic.records.examination import Examination
from undogmatic.records.results import Told, Weight
from undogmatic.stats import corrected, means
from undogmatic.stats.corrected import Judged
from undogmatic.stats.estimate import Estimate

FAMILIES = {
    "GPT": "gpt|chatgpt|openai|davinci|o1|o3|o4",
    "Claude": "claude|anthropic",
    "Gemini": "gemini|gemma|palm|bard",
    "Llama": "llama|vicuna|alpaca",
    "Mistral": "mistral|mixtral|ministral|magistral",
    "Qwen": "qwen|qwq",
    "DeepSeek": "deepseek",
    "Command": "command|cohere",
    "Phi": "phi",
    "Grok": "grok",
    "GLM": "glm|chatglm",
    "Kimi": "kimi|moonshot",
    "Yi": "yi",
    "Nova": "nova",
}
_NAMED = {
    family: re.compile(rf"(?<![a-z])({names})(?![a-z])")
    for family, names in FAMILIES.items()
}


def family_of(name: str) -> str | None:
    """The family of models that a name speaks of, the first that it names; None where it names
    none."""
    found = {
        family: match.start()
        for family, own in _NAMED.items()
        if (match := own.search(name.lower()))
    }
    # "llama-3-distilled-from-gpt-4" is a Llama: who made it stands first.
    return min(found, key=lambda family: found[family]) if found else None


def _examine(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell the judge's taste for its own family with its interval."""
    settings = own.table.settings.get(own.judge, {})
    # A judge may be called "strict"; its setting then says what it is.
    family = family_of(str(settings.get("model", ""))) or family_of(own.judge)
    columns = ["system_1", "system_2"] if own.table.kind == "pairwise" else ["system"]
    if family is None:
        return
    measure = _chosen if own.table.kind == "pairwise" else _rated
    found = measure(own, family, columns, options.level)
    if found is None:
        return
    # Both kinds of outputs are there, and too few of one have labels.
    if not np.isfinite([found.low, found.high]).all():
        told.lacks(OWN_FAMILY.name, "kin.too_few", family=family)
        return
    told.number(found, "kin.preference", unit="amount")
    said: dict[str, Any] = {
        "family": family,
        "level": found.level,
        "n": found.n,
        "groups": found.n_groups,
    }
    said |= found.values("preference")
    what = "chosen" if own.table.kind == "pairwise" else "rated"
    # Two one-sided tests: the interval of level 1 - 2 (1 - level) within the margin.
    inner = (
        None
        if options.margin is None
        else measure(own, family, columns, 2 * options.level - 1)
    )
    if (
        options.margin is not None
        and inner is not None
        and -options.margin < inner.low <= inner.high < options.margin
    ):
        told.say("kin.within", weight=Weight.DETAIL, margin=options.margin, **said)
    elif found.low > 0:
        told.say(f"kin.prefers_{what}", weight=Weight.LIMITS, **said)
    elif found.high < 0:
        told.say(f"kin.slights_{what}", weight=Weight.LIMITS, **said)
    else:
        told.say("kin.open", weight=Weight.QUALIFIES, **said)


def _families(
    own: JudgeView, items: pd.Series, columns: list[str]
) -> NDArray[np.object_]:
    """Family of the maker of every item's output, or of both, shape (n, 1 or 2)."""
    makers = own.table.items[columns]
    known = {
        name: family_of(str(name))
        for name in pd.unique(makers.to_numpy(dtype=object).ravel())
        if pd.notna(name)
    }
    made = makers.apply(lambda names: names.map(known).astype(object))
    return made.where(made.notna(), None).reindex(items).to_numpy(dtype=object)


def _rated(
    own: JudgeView, family: str, columns: list[str], level: float
) -> Estimate | None:
    """Mean of verdict minus label on outputs of its own family, less that on those of other known
    families; infinite where either has too few labels, None where either is not there."""
    pairs = own.pairs()
    pairs = pairs.assign(off=pairs["verdict"] - pairs["label"])
    by_item = pairs.groupby("item", sort=False).agg(
        off=("off", "mean"), code=("code", "first")
    )
    made = _families(own, by_item.index.to_series(), columns)[:, 0]
    # Makers whose family is not known are on neither side.
    sides = [made == family, (made != family) & pd.notna(made)]
    if not all(side.any() for side in sides):
        return None
    off, nothing = by_item["off"].to_numpy(np.float64), np.full(len(by_item), np.nan)
    judged = Judged(
        nothing,
        off,
        nothing,
        by_item["code"].to_numpy(),
        int(by_item["code"].max()) + 1,
    )
    found = corrected.difference(
        *(corrected.mean(judged.of(side), "all", level=level) for side in sides)
    )
    return _unlimited(level, len(by_item)) if found is None else found


def _chosen(
    own: JudgeView, family: str, columns: list[str], level: float
) -> Estimate | None:
    """How much more often than people the judge chooses the output of its own family, where one of
    the two is; ties of either are left out."""
    pairs = own.pairs()
    made = _families(own, pairs["item"], columns) == family
    kept = (
        # Of two of its kin, or of none, a choice says nothing of a taste for them.
        (made.sum(axis=1) == 1)
        & pairs["verdict"].isin((0, 1)).to_numpy()
        & pairs["label"].isin((0, 1)).to_numpy()
    )
    if not kept.any():
        return None
    pairs, kin = pairs[kept], np.where(made[kept][:, 0], 0.0, 1.0)
    more = (pairs["verdict"] == kin).astype(float) - (pairs["label"] == kin).astype(
        float
    )
    by_item = (
        pd.DataFrame({"more": more, "code": pairs["code"], "item": pairs["item"]})
        .groupby("item")
        .mean()
    )
    if by_item["code"].nunique() < corrected.FEWEST:
        return _unlimited(level, len(by_item))
    return means.interval(
        by_item["more"], level, groups=by_item["code"], bounds=(-1, 1)
    )


def _unlimited(level: float, n: int) -> Estimate:
    """What too few labels say: nothing."""
    return Estimate(np.nan, -np.inf, np.inf, level, 0, n)


OWN_FAMILY = Examination(
    "own_family",
    _examine,
    needs=("labels", "systems"),
    kinds=("numeric", "ordered", "pass_fail", "pairwise"),
    fewest_groups=0,
    lacks={"kinds": "", "systems": ""},
)
