"""Examines which trivial reading of the texts, or which column of the file, could explain a judge's
agreement: tells what the best rival reaches (`surface_rival`), and how the judge's errors go with
length."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.examinations import kinds
from undogmatic.examinations.surface_rival import (
    FEWEST_GROUPS,
    LEAST_LEFT,
    LEAST_SHARE,
    LEAST_WITHIN,
    SurfaceRival,
    fewest_others,
    surface_rival,
)
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import JudgeView
from undogmatic.records.examination import Examination
from undogmatic.records.results import Finding, Subject, Told, Weight
from undogmatic.stats import lost, rival
from undogmatic.stats.checks import Array
from undogmatic.stats.estimate import Estimate

LENGTH = {
    "beyond": ("surface.longer_higher", "surface.longer_higher_pair"),
    "against": ("surface.longer_lower", "surface.longer_lower_pair"),
    "within": ("surface.no_length_bias", "surface.no_length_bias_pair"),
}
LENGTH_OPEN = ("surface.length_open", "surface.length_open_pair")
LENGTH_LITTLE = ("surface.length_little", "surface.length_little_pair")
LENGTH_BESIDE = ("surface.length_beside", "surface.length_beside_pair")
"""What is said of length: of one text, and of two outputs."""
LEAST_APART = 0.9
"""Where fewer of the groups than this share hold no versions of each other's texts, it is said."""
LEAST_SHOWN = 0.005
"""What is less rounds to no item in a hundred."""
SAID = {
    "no_texts": "surface.no_texts",
    "texts_lack": "surface.texts_lack",
    "texts_same": "surface.texts_same",
    "no_labels": "surface.no_labels",
    "few": "surface.few",
    "rare": "surface.rare",
    "follows_shared": "surface.follows_shared",
    "open_shared": "surface.open_shared",
    "constant": "surface.constant",
    "nothing": "surface.nothing",
    "follows": "surface.follows",
    "open": "surface.open",
    "column": "surface.column",
    "as_good": "surface.as_good",
    "as_good_numbers": "surface.as_good_numbers",
    "beyond": "surface.beyond",
    "beyond_numbers": "surface.beyond_numbers",
    "on_edge": "surface.on_edge",
    "edge_of_lead": "surface.edge_of_lead",
    "as_good_number": "surface.as_good_number",
}


def rival_sentence(found: SurfaceRival) -> Finding:
    """The second sentence of the answer: what else could explain the agreement."""
    outcome, values = _sentence(found)
    return Finding(SAID[outcome], values)


def _sentence(found: SurfaceRival) -> tuple[str, dict[str, Any]]:
    about: dict[str, Any] = {"n": found.n, "groups": found.groups}
    if found.past_edge is not None:
        leads = found.increment is None or found.increment.low > 0
        at_edge = _on_edge(found) if leads else _edge_of_lead(found)
        return "on_edge" if leads else "edge_of_lead", about | at_edge
    if found.outcome == "no_texts" or not found.n or found.outcome in ("few", "rare"):
        return _not_examined(found)
    accounted_for = found.outcome in ("follows", "open", "column")
    compared = (found.agreement, found.increment, found.at_equal)
    if found.judge is None or found.foretold is None:
        return "constant", about
    if not accounted_for and None in compared:
        return "constant", about
    if accounted_for and found.shared is not None and not found.by_column:
        return f"{found.outcome}_shared", about | {
            "what": found.what,
            "shared": _shared(found, found.shared),
        }
    key, values = _accounted_for(found) if accounted_for else _compared(found)
    return key, about | values


def _on_edge(found: SurfaceRival) -> dict[str, Any]:
    """In how many deals enough is left, and how far the one that is told lies from the edge."""
    assert found.judge is not None and found.past_edge is not None
    if found.shared is not None and found.shared.share is not None:
        left = _shared(found, found.shared)
    elif found.at_equal is not None:
        values = found.at_equal.values("left") | _must_be_left(found)
        left = Finding("surface.left_alone", values)
    else:
        left = Finding("surface.left_nothing", {"judge": found.judge.value})
    return _deals(found) | {"left": left}


def _edge_of_lead(found: SurfaceRival) -> dict[str, Any]:
    """In how many deals the judge leads the word counter, and by how much in the one told."""
    judge, reached, more = found.judge, found.agreement, found.increment
    assert judge is not None and reached is not None and more is not None
    values = {"judge": judge.value, "agreement": reached.value, "more": more.value}
    return _deals(found) | values | {"interval": more.interval, "level": more.level}


def _deals(found: SurfaceRival) -> dict[str, Any]:
    assert found.past_edge is not None
    return {"past": found.past_edge, "deals": found.past_edge + 1}


def _must_be_left(found: SurfaceRival) -> dict[str, Any]:
    """How much must be shown to be left, and why so much where it is more than usual."""
    why = [Finding(f"surface.least_{found.least_why}", {"usual": LEAST_LEFT})]
    return {"least": found.least_left, "why": why if found.least_why else []}


def _not_examined(found: SurfaceRival) -> tuple[str, dict[str, Any]]:
    """Why the rival was not asked: there are no texts, no labels, or too few of either."""
    if found.outcome == "few":
        return "few", {"n": found.n, "groups": found.groups, "needed": FEWEST_GROUPS}
    if found.outcome == "rare":
        needed = fewest_others(found.n)
        return "rare", {"n": found.n, "others": found.others, "needed": needed}
    lacking: dict[str, Any] = {"lacking": found.lacking, "n": found.n}
    if found.told_apart is not None:
        return "texts_same", lacking | found.told_apart.values("apart")
    if found.lacking:
        return "texts_lack", lacking
    return "no_texts" if found.outcome == "no_texts" else "no_labels", {}


def _accounted_for(found: SurfaceRival) -> tuple[str, dict[str, Any]]:
    """What the surface, or a column, leaves of the agreement with people, by itself."""
    judge, left, foretold = found.judge, found.at_equal, found.foretold
    assert judge is not None and foretold is not None
    rest: dict[str, Any] = {"judge": judge.value}
    nothing = left is None or left.low == left.high
    if left is not None and not nothing:
        rest |= left.values("left")
    values: dict[str, Any] = {"what": found.what, "foretold": foretold.value}
    if found.outcome == "open":
        values = {"predicts": _predicts(found, foretold), **_must_be_left(found)}
    if found.outcome == "column":
        some = left is not None and not nothing and left.low > 0
        key = "surface.column_little" if some else "surface.column_nothing"
        values["beyond"] = Finding(key, {"least": LEAST_WITHIN})
        values["what"] = found.named
        columns = () if found.column is None else found.column.aspect.columns
        values["ignore"] = [
            Finding("surface.column_ignore", {"columns": columns})
        ] * bool(columns)
    values["rest"] = Finding(
        "surface.left_nothing" if nothing else "surface.left", rest
    )
    return found.outcome, values


def _compared(found: SurfaceRival) -> tuple[str, dict[str, Any]]:
    """How far judge and rival agree with people, and what is left of the judge's agreement."""
    judge = found.judge
    reached = found.agreement
    more = found.increment
    left = found.at_equal
    foretold = found.foretold
    assert judge is not None and reached is not None and more is not None
    assert left is not None and foretold is not None
    values: dict[str, Any] = {"judge": judge.value, "agreement": reached.value}
    if found.outcome == "as_good" and judge.low <= 0:
        return "nothing", values
    values |= {"more": more.value, "interval": more.interval, "level": judge.level}
    if found.accuracy is not None:
        values["accuracy"] = found.accuracy.value
    ending = "_numbers" if found.accuracy is None else ""
    if found.outcome == "as_good":
        values |= left.values("left", "left_")
        values |= {"what": found.what, "predicts": _predicts(found, foretold)}
        values["better"] = int(found.better)
        ending = "_number" if found.by_number else ending
    else:
        alone = Finding(
            "surface.left_alone", left.values("left") | _must_be_left(found)
        )
        measured = found.shared is not None and (found.shared.share or found.unmeasured)
        values["left"] = (
            _shared(found, found.shared) if found.shared and measured else alone
        )
        robust = found.robustness
        values["robust"] = (
            [] if robust is None else [Finding("surface.robust", {"share": robust})]
        )
    return f"{found.outcome}{ending}", values


def _shared(found: SurfaceRival, shared: rival.Shared) -> Finding:
    """The clause that says what judge and people share beyond the surface."""
    people = {"people": shared.people.value, "people_interval": shared.people.interval}
    if shared.share is None:
        return Finding("surface.shared_none", people)
    judge = {"judge": shared.judge.value, "judge_interval": shared.judge.interval}
    share = {"share": shared.share.value, "share_interval": shared.share.interval}
    leans = found.least_share > LEAST_SHARE
    why = [Finding("surface.shared_leaning", {"usual": LEAST_SHARE})] if leans else []
    least = {"least": found.least_share, "why": why}
    return Finding("surface.shared", {**people, **judge, **share, **least})


def _predicts(found: SurfaceRival, foretold: Estimate) -> Finding:
    """The clause that says how well words foretell the judge's verdicts, and only that if it is
    shown that they do."""
    if found.predicts:
        return Finding("surface.predicts", {"foretold": foretold.value})
    return Finding("surface.predicts_not", foretold.values("foretold"))


def tell(
    own: JudgeView, told: Told, options: CheckOptions, found: SurfaceRival
) -> None:
    """Tell what the rival reaches, or why it could not be examined, and how the judge's errors go
    with length."""
    measure = kinds.HEADLINES[own.table.kind]
    agreement = found.agreement
    told.number(agreement, "surface.agreement", measure=measure, subject=Subject.RIVAL)
    told.number(found.accuracy, "surface.accuracy", unit="share")
    for name in ("increment", "at_equal", "foretold"):
        told.number(getattr(found, name), f"surface.{name}", measure=measure)
    told.number(found.robustness, "surface.robustness", unit="share")
    if found.shared is not None:
        told.number(found.shared.people, "surface.people_at_equal", measure=measure)
        told.number(found.shared.share, "surface.shared", unit="share")
        if found.unmeasured and found.outcome == "beyond":
            people = found.shared.people.values("people")
            told.say("surface.unmeasured", weight=Weight.LIMITS, **people)
        if found.unlearned and found.outcome == "beyond" and found.at_equal:
            left = found.at_equal.values("left") | {"least": found.least_left}
            told.say("surface.unlearned", weight=Weight.LIMITS, n=found.n, **left)
    if found.outcome in ("no_texts", "few") or found.lacking or not own.table.has_texts:
        sentence = rival_sentence(
            replace(found, outcome="few" if found.outcome == "few" else "no_texts")
        )
        told.lacks("surface", sentence.key, **sentence.values)
        return
    if found.outcome == "beyond" and found.apart < LEAST_APART * found.groups:
        told.say(
            "surface.versions",
            weight=Weight.LIMITS,
            groups=found.groups,
            apart=found.apart,
        )
    part = found.column
    if part is not None and part.foretold is not None and part.within is not None:
        left = part.within.values("left") | {
            "what": found.named,
            "foretold": part.foretold.value,
        }
        told.say(
            "surface.column_part", weight=Weight.DETAIL, **left, level=options.level
        )
    if found.drawn:
        told.say("surface.drawn", weight=Weight.DETAIL, n=found.n, of=found.drawn)
    if found.gained is not None and found.gained.low > 0 and agreement is not None:
        told.say(
            "surface.still_learns",
            half=agreement.value - found.gained.value,
            whole=agreement.value,
            **found.gained.values("gained"),
            n=found.n,
            twice=2 * found.n,
        )
    if found.shared is None and found.outcome == "beyond":
        settle = Finding(
            "surface.settle_one_person", {"label": kinds.label_of(own.table)}
        )
        people = own.labels.dropna(subset=["label"])
        shared = int((people.groupby("item")["rater"].nunique() > 1).sum())
        one = people["rater"].nunique() < 2
        key = "surface.one_person" if one else "surface.none_shared"
        told.say(
            "surface.few_shared" if shared else key,
            {"n": shared} if shared else {},
            weight=Weight.LIMITS,
            settle=settle,
        )
    if own.table.kind != "unordered":
        _tell_length(own, told, options, found)


def _tell_length(
    own: JudgeView, told: Told, options: CheckOptions, found: SurfaceRival
) -> None:
    """Tell how the judge's errors go with length."""
    rows = own.pairs()
    errors = [_worth(own, rows[column]) for column in ("verdict", "label")]
    texts = own.table.items.reindex(rows["item"])
    parts = ("text_1", "text_2") if own.table.kind == "pairwise" else ("text",)
    sizes = [
        np.log2(
            texts[part]
            .fillna("")
            .astype(str)
            .str.len()
            .clip(lower=1)
            .to_numpy(dtype=float)
        )
        for part in parts
    ]
    length = sizes[0] - sizes[1] if len(sizes) > 1 else sizes[0]
    groups = rows["code"].to_numpy()
    tests, both = (
        rival.slope(length, errors[0] - errors[1], level, groups)
        for level in (2 * options.level - 1, options.level)
    )
    pair = own.table.kind == "pairwise"
    short, long = np.quantile(length, (0.25, 0.75))
    usual = float(np.abs(length).mean()) if pair else float(long - short)
    if tests is None or both is None or not usual:
        told.lacks("length_bias", "surface.same_length")
        return
    # such as where judge and people never differ
    if not np.isfinite(both.interval).all():
        told.lacks("length_bias", "surface.length_unknown")
        return
    told.number(
        _bounded_slope(own, rows, length, errors[0] - errors[1], both),
        "surface.length_bias",
    )
    # Told of a difference in length, in doublings, that is usual among these texts.
    tests, both = (
        each.replace(
            value=usual * each.value, low=usual * each.low, high=usual * each.high
        )
        for each in (tests, both)
    )
    outcome = (
        both.against(0)
        if options.margin is None
        else both.against(options.margin, inner=tests)
    )
    if outcome in ("beyond", "against") or options.margin is None:
        outcome = both.against(0)
    keys = LENGTH.get(outcome, LENGTH_OPEN)
    if found.outcome not in ("beyond", "open") and outcome in ("beyond", "against"):
        keys = LENGTH_BESIDE  # of which length may be a mere companion
    times, unit = (
        (1, "grade") if own.table.kind in ("numeric", "ordered") else (100, "percent")
    )
    settle = (
        Finding("surface.settle_margin", {"grades": times})
        if options.margin is None
        else None
    )
    # the one that lies within the margin, where that is said
    interval = tests if outcome == "within" else both
    values: dict[str, Any] = {
        "n": rows["item"].nunique(),
        "groups": both.n_groups,
        "level": interval.level,
    }
    values |= (
        {"ratio": 2**usual}
        if pair
        else {"short": int(2**short + 0.5), "long": int(2**long + 0.5)}
    )
    if (
        keys == LENGTH_OPEN
        and unit == "percent"
        and max(map(abs, both.interval)) < LEAST_SHOWN
    ):
        # Most lengths are so alike that nothing could show, as where one text is a thousand times
        # as long as all others and bends the slope alone.
        values = {name: value for name, value in values.items() if name != "level"}
        told.say(LENGTH_LITTLE[pair], weight=Weight.QUALIFIES, **values)
        return
    falls = both.value < 0
    shown = -interval if falls else interval
    way = f"{'less' if falls else 'more'}_{unit}{'_pair' * pair}"
    values["by"] = Finding(f"surface.by_{way}", {"change": times * shown.value})
    if interval.low < 0 < interval.high:  # both directions, each in its word
        ends: dict[str, Any] = {
            "less": -times * interval.low,
            "more": times * interval.high,
        }
        values["ends"] = Finding(f"surface.ends_{unit}_either", ends)
    else:
        ends = {"interval": (times * shown.low, times * shown.high)}
        values["ends"] = Finding(f"surface.ends_{unit}", ends)
    told.say(keys[pair], weight=Weight.QUALIFIES, settle=settle, **values)


def _bounded_slope(
    own: JudgeView, rows: pd.DataFrame, length: Array, apart: Array, found: Estimate
) -> Estimate:
    """A slope of differences on lengths, bounded by rows that could not be read: texts as short or
    as long as any, and differences as large as can be, which rise with length or fall."""
    n = min(own.table.unaccounted, lost.MOST * length.size)
    if not n:
        return found
    most = float(np.abs(apart).max())
    if own.table.kind == "numeric" and own.table.scale is not None:
        most = max(most, own.table.scale[1] - own.table.scale[0])
    elif own.table.kind != "numeric":
        most = max(
            most,
            1.0 if own.table.kind == "pairwise" else len(own.table.categories) - 1.0,
        )
    end = np.resize([0, 1], n)
    lengths = np.concatenate([length, np.array([length.min(), length.max()])[end]])
    codes = lost.units(rows["code"].to_numpy(), n)
    thought = (
        rival.slope(
            lengths, np.concatenate([apart, np.array(ends)[end]]), found.level, codes
        )
        for ends in ((-most, most), (most, -most))
    )
    return lost.widened(found, thought)


def _worth(own: JudgeView, values: pd.Series) -> Array:
    """Verdicts as numbers: a choice of the first of two outputs is 1, of the second 0, a tie
    half."""
    numbers = values.to_numpy(dtype=np.float64)
    return (
        np.array([1.0, 0.0, 0.5])[numbers.astype(np.intp)]
        if own.table.kind == "pairwise"
        else numbers
    )


def _examine(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell of the rival that the answer reads, too."""
    tell(own, told, options, own.once(surface_rival, options))


SURFACE = Examination("surface", _examine, needs=("labels",), fewest_groups=0)
