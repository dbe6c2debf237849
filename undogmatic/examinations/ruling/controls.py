"""Holds the rules of `examinations.controls`: texts of known classes land in their bands, and
attacks do not pass for good texts."""

from collections.abc import Sequence
from dataclasses import dataclass

from undogmatic.examinations.rivals import Outcome
from undogmatic.examinations.ruling import Rule, Rules, Values, always, known


@dataclass(frozen=True)
class SurfaceFacts:
    """Says what the surface judge came to (None where it was not asked), and how many things it
    counts."""

    surface: Outcome | None = None
    counts: int = 0


_SURFACE: tuple[Rule[SurfaceFacts], ...] = (
    Rule("surface_explains", "refuted", lambda f: f.surface == "surface_explains"),
    Rule("surface_as_good", "not_yet", lambda f: f.surface == "surface_as_good"),
    Rule("surface_open", "not_yet", lambda f: f.surface == "open"),
    Rule("no_texts", "not_yet", lambda f: f.surface == "no_texts"),
)


@dataclass(frozen=True)
class OpenClasses:
    """Names the classes of which it is open whether they are told `apart` from the worst one, and
    whether they land `inside` their bands; "no_class" where there is none."""

    apart: Sequence[str]
    inside: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class ControlsFacts(SurfaceFacts):
    """Holds by name what is shown of the classes.

    `compared`: there are classes to compare with the worst one. `reversed` score beyond it,
    `outside` miss their bands, `missing` could be turned by failed judgments. `needed` has for each
    open question how many texts would decide it, None where no number would. `weakest` is the
    lowest lower limit of a share in its band.
    """

    compared: bool
    absent: Sequence[str]
    share: float
    reversed: Sequence[str]
    outside: Sequence[str]
    missing: Sequence[str]
    open: OpenClasses
    needed: Sequence[int | None]
    weakest: float | None


def _open_classes(facts: ControlsFacts) -> Values:
    return {
        "apart": facts.open.apart,
        "inside": facts.open.inside,
        "share": facts.share,
    }


def _most_needed(facts: ControlsFacts) -> int:
    return max(known(needed) for needed in facts.needed)


CONTROLS = Rules[ControlsFacts](
    "controls.verdict_",
    (
        Rule(
            "incomplete",
            "undecided",
            lambda f: not f.compared,
            lambda f: {"conditions": f.absent},
        ),
        Rule(
            "reversed",
            "refuted",
            lambda f: f.reversed,
            lambda f: {"conditions": f.reversed},
        ),
        Rule(
            "outside",
            "refuted",
            lambda f: f.outside,
            lambda f: {"conditions": f.outside, "share": f.share},
        ),
        # One question that no number of texts would decide keeps the whole open, so
        # that a number for the others would send people to label in vain.
        Rule("open_endless", "undecided", lambda f: None in f.needed, _open_classes),
        Rule(
            "open",
            "undecided",
            lambda f: f.needed,
            lambda f: _open_classes(f) | {"needed": _most_needed(f)},
        ),
        Rule(
            "missing",
            "undecided",
            lambda f: f.missing,
            lambda f: {"conditions": f.missing},
        ),
        # Last before the support, and only then asked: that a program which does not
        # read does as well matters where the claim would stand.
        *_SURFACE,
        Rule(
            "hold",
            "supported",
            always,
            lambda f: {"share": f.share, "weakest": f.weakest, "counts": f.counts},
        ),
    ),
)


@dataclass(frozen=True, kw_only=True)
class AdversarialFacts(SurfaceFacts):
    """Holds by name what is shown of the `total` attacks: those that succeed, that are open, and
    that failed judgments could turn. `needed` texts would decide the open ones, None where no
    number would; `baseline` are the conditions without the fault."""

    baseline: Sequence[str]
    total: int = 0
    succeeds: Sequence[str] = ()
    open: Sequence[str] = ()
    missing: Sequence[str] = ()
    needed: int | None = None


def _attacks(facts: AdversarialFacts, attacks: Sequence[str]) -> Values:
    return {"attacks": attacks, "n": len(attacks), "total": facts.total}


ADVERSARIAL = Rules[AdversarialFacts](
    "adversarial.verdict_",
    (
        Rule(
            "nothing_judged",
            "undecided",
            lambda f: not f.total,
            lambda f: {"conditions": f.baseline},
        ),
        Rule(
            "succeeds",
            "refuted",
            lambda f: f.succeeds,
            lambda f: _attacks(f, f.succeeds),
        ),
        Rule(
            "open_endless",
            "undecided",
            lambda f: f.open and f.needed is None,
            lambda f: _attacks(f, f.open),
        ),
        Rule(
            "open",
            "undecided",
            lambda f: f.open,
            lambda f: _attacks(f, f.open) | {"needed": f.needed},
        ),
        Rule(
            "missing",
            "undecided",
            lambda f: f.missing,
            lambda f: _attacks(f, f.missing),
        ),
        *_SURFACE,
        Rule(
            "withstood",
            "supported",
            always,
            lambda f: {"total": f.total, "counts": f.counts},
        ),
    ),
)
