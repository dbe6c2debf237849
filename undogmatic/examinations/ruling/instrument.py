"""Holds the rules of `examinations.instrument`: what can be said of a judge without any label."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from undogmatic.examinations.ruling import Rule, Rules, Values, always, known
from undogmatic.examinations.truth import Margin
from undogmatic.stats.claims import Claim
from undogmatic.stats.estimate import Estimate

Word = Literal["effect", "no_effect", "open", "not_examined"]
"""What is shown of a cue, or of another way of asking: it moves scores by more than the margin, it
does not, neither, or no copy with it was judged together with its text."""


@dataclass(frozen=True)
class Moved:
    """Holds how far a cue moves scores in the mean (`estimate`, with the interval that decided) and
    what that shows; `needed` groups would settle it, None where no number would. `asked`: it is no
    cue in the text, but another way of asking."""

    cue: str
    word: Word
    estimate: Estimate | None
    needed: int | None = None
    asked: bool = False


@dataclass(frozen=True)
class Unsteady:
    """Holds the share of scores that stay within the margin where the judge is asked in another
    way."""

    way: str
    share: Estimate


@dataclass(frozen=True)
class Steps:
    """Holds what planted defects do to scores: `furthest` is the mean fall towards the worse end
    with the most of them, against the margin; `smallest` the fewest that are seen, None where none
    is; `own`: they were written for the rubric, so that they are defects for it."""

    most: int
    furthest: Claim
    smallest: int | None
    right: Estimate
    own: bool


@dataclass(frozen=True)
class InstrumentFacts:
    """Holds what the examination found: `texts` in `groups`, the cues and ways of asking (the worst
    first), the ladder and the mean score of empty pages, None where there is none; `middle` is that
    of the scale. `constant`: all scores are the same. `unsteady`: of its scores less than half stay
    within the margin."""

    texts: int
    groups: int
    few: int
    margin: Margin
    constant: bool = False
    score: float | None = None
    cues: Sequence[Moved] = field(default_factory=tuple)
    ladder: Steps | None = None
    unsteady: Unsteady | None = None
    blank: float | None = None
    middle: float = 0.0

    def of(self, word: Word) -> list[Moved]:
        """The cues of which this is shown."""
        return [moved for moved in self.cues if moved.word == word]


def _effect(facts: InstrumentFacts) -> Values:
    worst = facts.of("effect")[0]
    estimate = known(worst.estimate)
    return {
        "cue": worst.cue,
        "given": 2 if worst.asked else 1,
        "up": 1 if estimate.value > 0 else 0,
        "moved": abs(estimate.value),
        "interval": estimate.interval,
        "margin": facts.margin.value,
    }


def _effects(facts: InstrumentFacts) -> Values:
    return _effect(facts) | {"others": [moved.cue for moved in facts.of("effect")[1:]]}


def _ladder(facts: InstrumentFacts) -> Values:
    steps = known(facts.ladder)
    fall = steps.furthest.estimate
    return {
        "most": steps.most,
        "fall": fall.value,
        "interval": fall.interval,
    }


def _reversed(facts: InstrumentFacts) -> Values:
    rise = -known(facts.ladder).furthest.estimate
    return {
        "most": known(facts.ladder).most,
        "rise": rise.value,
        "interval": rise.interval,
    }


def _turned(facts: InstrumentFacts) -> bool:
    """Whether planted defects are shown to move scores towards the better end."""
    return facts.ladder is not None and facts.ladder.furthest.outcome == "against"


def _open(facts: InstrumentFacts) -> Values:
    open_ = facts.of("open")
    return {
        "n": len(open_),
        "total": len(facts.cues),
        "cues": [moved.cue for moved in open_],
        "margin": facts.margin.value,
    }


def _needed(facts: InstrumentFacts) -> int | None:
    """Groups that would settle all open cues; None where no number would settle one of them."""
    needed = [moved.needed for moved in facts.of("open")]
    return None if None in needed else max(n for n in needed if n is not None)


def _clean(facts: InstrumentFacts) -> Values:
    most = max(facts.of("no_effect"), key=lambda each: abs(known(each.estimate).value))
    return {
        "n": len(facts.of("no_effect")),
        "cue": most.cue,
        "given": 2 if most.asked else 1,
        "moved": abs(known(most.estimate).value),
        "margin": facts.margin.value,
        "texts": facts.texts,
        # So many of the texts are a first draw for people to label.
        "half": max(facts.few, facts.texts // 2),
        "smallest": known(facts.ladder).smallest,
    }


INSTRUMENT = Rules[InstrumentFacts](
    "instrument.verdict_",
    (
        Rule("nothing_judged", "undecided", lambda f: f.texts == 0),
        Rule(
            "constant",
            "refuted",
            lambda f: f.constant and f.groups >= f.few,
            lambda f: {"score": f.score, "texts": f.texts},
        ),
        Rule("effects", "refuted", lambda f: len(f.of("effect")) > 1, _effects),
        Rule("effect", "refuted", lambda f: f.of("effect"), _effect),
        Rule(
            "unsteady",
            "refuted",
            lambda f: f.unsteady is not None and f.groups >= f.few,
            lambda f: {
                "cue": known(f.unsteady).way,
                "stays": known(f.unsteady).share.value,
                "interval": known(f.unsteady).share.interval,
                "margin": f.margin.value,
            },
        ),
        Rule(
            "nothing_there",
            "refuted",
            lambda f: f.blank is not None and f.blank > f.middle,
            lambda f: {"blank": f.blank, "middle": f.middle},
        ),
        Rule(
            "reversed",
            "refuted",
            lambda f: _turned(f) and known(f.ladder).own,
            _reversed,
        ),
        Rule(
            "few",
            "undecided",
            lambda f: f.groups < f.few,
            lambda f: {"texts": f.texts, "groups": f.groups, "needed": f.few},
        ),
        Rule("no_ladder", "undecided", lambda f: f.ladder is None),
        Rule("other_defects", "undecided", _turned, _reversed),
        Rule(
            "unseen", "undecided", lambda f: known(f.ladder).smallest is None, _ladder
        ),
        Rule(
            "no_margin",
            "undecided",
            lambda f: not f.margin.equivalence,
            lambda f: {"margin": f.margin.value},
        ),
        Rule("no_cues", "undecided", lambda f: not (f.of("no_effect") or f.of("open"))),
        Rule(
            "open_endless",
            "undecided",
            lambda f: f.of("open") and _needed(f) is None,
            _open,
        ),
        Rule(
            "open",
            "undecided",
            lambda f: f.of("open"),
            lambda f: _open(f) | {"needed": _needed(f)},
        ),
        Rule("clean", "not_yet", always, _clean),
    ),
)


def _unsteady_in(place: bool) -> Callable[[InstrumentFacts], bool]:
    """Whether choices do not survive that the outputs change places, or another change."""

    def holds(facts: InstrumentFacts) -> bool:
        found = facts.unsteady
        of_place = found is not None and found.way == "place"
        return found is not None and of_place == place and facts.groups >= facts.few

    return holds


_OF_SCORES = {rule.key: rule for rule in INSTRUMENT.rules}
INSTRUMENT_OF_PAIRS = Rules[InstrumentFacts](
    "instrument.pairs.verdict_",
    (
        *(_OF_SCORES[key] for key in ("nothing_judged", "effects")),
        replace(
            _OF_SCORES["effect"],
            key="place",
            when=lambda f: [moved.cue for moved in f.of("effect")] == ["place"],
        ),
        _OF_SCORES["effect"],
        _OF_SCORES["constant"],
        replace(_OF_SCORES["unsteady"], key="turned", when=_unsteady_in(place=True)),
        replace(_OF_SCORES["unsteady"], when=_unsteady_in(place=False)),
        *(
            rule
            for key, rule in _OF_SCORES.items()
            if key
            not in ("nothing_judged", "effects", "effect", "constant", "unsteady")
        ),
    ),
)
"""The same rules of a judge that chooses between two outputs. Where it prefers a place all its
choices are alike, so that the place is named first."""
