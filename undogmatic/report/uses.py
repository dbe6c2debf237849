"""Says in three sentences what a judge may be used for, what not, and what is not known of it; and
in one line each how far it agrees with people, and what is left of that beside words.

A finding that speaks of a use has a phrase for it beside its sentence (`<section>.not_for.<key>`,
`<section>.not_known.<key>`); what has neither changes no use. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from undogmatic.examinations import injected
from undogmatic.examinations.surface_rival import LEAST_SHARE
from undogmatic.records.checked import CheckResult
from undogmatic.records.results import Finding, Subject, Told, Weight
from undogmatic.records.words import Words
from undogmatic.stats.estimate import Estimate

Part = Literal["not_for", "not_known"]
MOST = 4
"""Phrases that say what is not known; of more, how many there are. What a judge is not for is said
whole."""


class Uses(NamedTuple):
    """What a judge may be used for, what not, and what is not known of it: a sentence each."""

    use_for: str = ""
    not_for: str = ""
    not_known: str = ""


def uses(told: Told, words: Words) -> Uses | None:
    """What the judge that `told` speaks of may be used for on items like these; None where its
    answer is not about that."""
    verdict = told.answer.inner
    section, _, rule = verdict.key.partition(".verdict_")
    own = Finding(f"{section}.{rule}", verdict.values)
    found = [*told.ordered(), *told.not_examined.values()]
    # What is refuted is for nothing, whatever else was found of it; the reason is said,
    # and no list of further limits that would sound as if the rest were allowed.
    if told.standing == "refuted":
        against = _phrases([own], "not_for", words)
        if not against:
            return None
        return Uses(
            words.text("uses.for_nothing"),
            _sentence(against, "not_for", words),
            words.text("uses.not_known_other_judge"),
        )
    unknown = [own, *found] if told.standing == "undecided" else found
    if rule == "planted":  # nobody labelled
        unknown = [each for each in unknown if each.key not in OF_RATERS]
    not_known = _sentence(_phrases(unknown, "not_known", words), "not_known", words)
    not_known = not_known or words.text("uses.not_known_others")
    if told.standing == "undecided":
        nothing = words.text("uses.for_nothing_yet")
        speaks = words.find(f"{section}.not_known.{rule}") is not None
        return (
            Uses(nothing, words.text("uses.not_for_yet"), not_known) if speaks else None
        )
    use_for = _use_for(told, verdict, words)
    not_for = _sentence(_phrases(found, "not_for", words), "not_for", words)
    not_for = not_for or words.text("uses.not_for_others")
    return None if use_for is None else Uses(use_for, not_for, not_known)


def titled(found: Uses, words: Words) -> list[str]:
    """The sentences that there are, each behind its title."""
    return [
        f"{words.text(f'uses.title_{name}')}: {said}"
        for name, said in found._asdict().items()
        if said
    ]


def _phrases(found: Iterable[Finding], part: Part, words: Words) -> list[str]:
    """The phrases of the findings that have one; a limit without any is called by its short name,
    or said whole."""
    said = []
    for each in found:
        section, _, key = each.key.partition(".")
        other = "not_known" if part == "not_for" else "not_for"
        if words.find(f"{section}.{part}.{key}") is not None:
            said.append(words.text(f"{section}.{part}.{key}", **each.values))
        elif (
            part == "not_for"
            and each.weight == Weight.LIMITS
            and words.find(f"{section}.{other}.{key}") is None
        ):
            said.append(
                words.find(f"{section}.short.{key}") or words.say(each).rstrip(".")
            )
    return list(dict.fromkeys(said))


def _sentence(phrases: list[str], part: Part, words: Words) -> str:
    """The phrases in one sentence; "" without any."""
    if not phrases:
        return ""
    most = MOST if part == "not_known" else len(phrases)
    # to say that there is one more takes as long as to say it
    if len(phrases) == most + 1:
        most += 1
    more = len(phrases) - most
    shown = phrases[:most] + ([words.text("uses.more", more=more)] if more > 0 else [])
    return words.text(f"uses.{part}", what="; ".join(shown))


OF_RATERS = ("people.one_rater", "surface.one_person")
"""Findings that speak of the one person who labelled."""
RATES: Mapping[str, tuple[str, ...]] = {
    "rates": ("specificity", "sensitivity"),
    "grades": ("raw", "adjacent"),
    "order": ("error",),
    "categories": ("raw",),
}
"""Wordings that say how often the judge is right, and the figures of each; the first whose figures
are there is said."""


def _use_for(told: Told, verdict: Finding, words: Words) -> str | None:
    """What a judge may be used for that may be believed: in rates, as far as there are some. None
    where the answer is about something else."""
    section, _, rule = verdict.key.partition(".verdict_")
    if words.find(f"{section}.use_for.{rule}") is not None:
        return words.text(f"{section}.use_for.{rule}", **verdict.values)
    before = f"{told.name}." if told.name else ""
    for wording, names in RATES.items():
        rates = [told.numbers.get(f"{before}agreement.{name}") for name in names]
        known = [rate for rate in rates if isinstance(rate, Estimate)]
        if len(known) < len(names):
            continue
        values = dict[str, Any]()
        for name, rate in zip(names, known, strict=True):
            values |= {name: rate.value, f"{name}_interval": rate.interval}
        said_as = wording
        if f"{before}agreement.pairwise_kappa" in told.numbers:
            said_as = "choices"
        said = words.text(f"uses.for_{said_as}", **values)
        alone = told.numbers.get(f"{before}alone.share")
        # Labels that may be its own verdicts let it decide everything.
        same = told.about(Subject.SAME_LABELS) is not None
        if same or not isinstance(alone, Estimate) or not alone.value:
            return said
        return words.text("uses.for_alone", what=said, share=alone.value)
    return words.text("uses.for_plain") if section == "check" else None


def key_figures(result: CheckResult, told: Told, words: Words) -> list[str]:
    """How far a judge agrees with people, beside people themselves, and what is left of that beside
    words: a line each."""
    questions = _questions(told)
    lines = _agreement(result, told, words)
    lead = questions.get("question_leads")
    counter = told.number_about(Subject.RIVAL)
    if lead is None or counter is None or told.answer.key == "check.verdict_column":
        return [*lines, words.say(told.rival)]
    values: dict[str, Any] = {
        "counter": counter[1].value,
        "judge": counter[1].value + lead["estimate"],
        "lead": lead["estimate"],
        "lead_interval": (lead["low"], lead["high"]),
    }
    # Not shown to be ahead of those who do not read: then what is left beside words is
    # not told, as nobody knows whether there is any.
    if lead["low"] <= 0:
        return [*lines, words.text("uses.rival_less", **values)]
    left = _left(questions, words, _planted(result, told))
    return [*lines, words.text("uses.rival", **values, left=left)]


def _planted(result: CheckResult, told: Told) -> bool:
    """Whether the labels say what was planted, and nobody who looked at the items."""
    return injected.are_labels(result.table.of(told.judge, told.criterion))


def _questions(told: Told) -> Mapping[str, Mapping[str, float]]:
    """The numbers on which the answer hangs (`check_figures.three_questions`), by question."""
    drawn = next(
        (each.data for each in told.drawings if each.name == "questions"), None
    )
    if drawn is None:
        return {}
    names = ("estimate", "low", "high", "least")
    return {
        label: {name: drawn[name][n] for name in names}
        for n, label in enumerate(drawn["labels"])
    }


def _agreement(result: CheckResult, told: Told, words: Words) -> list[str]:
    found = told.number_about(Subject.HEADLINE)
    if found is None:
        return []
    values = {
        "coefficient": words.value(found[0].rpartition(".")[2], "check"),
        "value": found[1].value,
        "interval": found[1].interval,
        "level": found[1].level,
        "n": told.n,
        "groups": told.groups,
        "least": result.options.least_of(result.table.kind),
        "met": _met(result, told, found[1], words),
    }
    if _planted(result, told):
        return [words.text("uses.agreement_planted", **values)]
    people = told.numbers.get("people.agreement")
    if not isinstance(people, Estimate):
        return [words.text("uses.agreement", **values)]
    values |= {"people": people.value, "people_interval": people.interval}
    return [words.text("uses.agreement_people", **values)]


def _met(result: CheckResult, told: Told, agreement: Estimate, words: Words) -> str:
    """Whether so much agreement is shown; "" of so few items that it would show nothing."""
    if told.answer.key == "check.verdict_few":
        return ""
    if told.rival.key == "check.rival_identical":  # labels that may be its own verdicts
        return words.text("uses.met_unknown")
    least = result.options.least_of(result.table.kind)
    if min(agreement.low, agreement.worst_low) > least:
        return words.text("uses.met")
    of_people = [
        told.numbers.get(f"people.{name}")
        for name in ("agreement", "judge", "difference")
    ]
    known = [found for found in of_people if isinstance(found, Estimate)]
    if len(known) < len(of_people):
        return words.text("uses.unmet")
    among, own, difference = known
    margin = result.options.margin or 0.0
    as_people = among.low > 0 and own.low > 0 and difference.low > -margin
    return words.text("uses.met_people" if as_people else "uses.unmet_people")


def _left(
    questions: Mapping[str, Mapping[str, float]], words: Words, planted: bool
) -> str:
    """What is left where counting words cannot help; "" where that is not known."""
    for key, question, name in (
        ("left_shared", "question_shares", "share"),
        ("left", "question_left", "left"),
    ):
        if question in questions:
            own = questions[question]
            values = {
                name: own["estimate"],
                f"{name}_interval": (own["low"], own["high"]),
                "least": own["least"],
            }
            if name == "share" and own["least"] > LEAST_SHARE:
                return words.text(f"uses.{key}_leaning", **values, usual=LEAST_SHARE)
            planted_key = f"{key}_planted" if planted and key == "left" else key
            return words.text(f"uses.{planted_key}", **values)
    return ""
