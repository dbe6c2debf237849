"""Says what a run answers: each verdict in one word and one sentence, what would change it, and
what to do next.

`examinations/ruling/` decides the answers. The step that follows is a wording: `next_<rule>` of the
analysis, else `next.<rule>` of the report, else `next.<answer>`. Its commands are those of this run
with one thing changed.
"""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from undogmatic.records.limits import INSTRUMENT_TEXTS
from undogmatic.records.results import GRAVITY, Finding, Subject, Told
from undogmatic.records.words import MissingWording, Words
from undogmatic.report.document import Answered
from undogmatic.report.uses import titled, uses
from undogmatic.runs.folder import HYDRA, OVERRIDES, RunFolder
from undogmatic.runs.outcome import FinishedRun
from undogmatic.safety.command import GIVEN, as_typed

OTHERS = {"local": "qwen"}
"""Which model to try after which; after any other, the embedded one, which needs no key."""

LEFT_OUT = ("hydra.run.dir", "run.limit")  # of the command that comes next


def answers(run: FinishedRun, words: Words) -> list[Answered | str]:
    """The verdict of every analysis that gives one, as a sentence where it answers nothing; none if
    none does."""
    ruled = [result for result in run.results if result.verdict is not None]
    said: list[Answered | str] = []
    for result in ruled:
        finding = result.verdict
        assert finding is not None
        own = words.of_result(result)
        sentence = own.say(finding)
        worse = assumed_about(run, Subject.WORSE)
        if result.directed and worse is not None:
            sentence += f" {words.text('common.direction', **worse.values)}"
        if exploratory(result, run):
            sentence += f" {words.text('common.exploratory')}"
        about = (
            words.find(f"{result.name}.title") or result.name
            if len({r.name for r in ruled}) > 1
            else ""
        )
        about = ": ".join(filter(None, (about, result.part)))
        if finding.answer is None:
            said.append(f"{about}: {sentence}" if about else sentence)
        else:
            word = words.text(f"common.answer.{finding.answer}")
            of_uses = uses(result, own)
            below = [] if of_uses is None else titled(of_uses, words)
            below += following(run, finding, own)
            said.append(Answered(finding.answer, word, sentence, below, about))
    counted = [each for each in said if isinstance(each, Answered)]
    if len(counted) < 2 or any(result.part or result.relative for result in ruled):
        return said
    return [
        _together(counted, words),
        *(
            each._replace(below=()) if isinstance(each, Answered) else each
            for each in said
        ),
    ]


def assumed_about(run: FinishedRun, subject: Subject) -> Finding | None:
    """What was assumed of a run's dataset about a subject."""
    return next((each for each in run.assumed if each.subject == subject), None)


def _together(said: Sequence[Answered], words: Words) -> Answered:
    """The answer of several analyses of one judge together: the gravest, with what follows it. Each
    No is a reason of its own, beside which a Not yet still has its next step; else the first of the
    gravest speaks for all."""
    worst = min(said, key=lambda each: GRAVITY.index(each.answer))
    counts = {answer: sum(each.answer == answer for each in said) for answer in GRAVITY}
    gravest = [worst]
    if worst.answer == "no":
        gravest = [each for each in said if each.answer == worst.answer]
    sentence = words.text(
        "common.together",
        n=len(said),
        about=[each.about for each in gravest],
        **counts,
    )
    open_ = [each for each in said if worst.answer == "no" and each.answer == "not_yet"]
    told: dict[str, str] = {}  # what several checks say alike is told once
    for each in gravest + open_:
        new = [line for line in each.below if line not in told]
        told |= dict.fromkeys(new, "") | ({new[0]: f"{each.about}. "} if new else {})
    alone = len(gravest + open_) == 1
    below = [line if alone else f"{about}{line}" for line, about in told.items()]
    return Answered(worst.answer, worst.word, sentence, below)


def verdicts(run: FinishedRun, words: Words) -> list[str]:
    """The answer and the sentence of every verdict; one sentence if there is none."""
    return list(map(str, answers(run, words))) or [words.text("common.no_verdict")]


def following(run: FinishedRun, finding: Finding, words: Words) -> list[str]:
    """What would change a verdict and what to do next, in words: one line each."""
    finding, turned = finding.inner, assumed_about(run, Subject.TURNED)
    section, _, key = finding.key.partition(".verdict_")
    # A section within a section says what is next in the words of that, unless it has its own.
    around = section.rpartition(".")[0]
    nearest = [f"{each}.next_{key}" for each in (section, around) if each]
    wanted = [*nearest, f"next.{key}", f"next.{finding.answer}"]
    # labels that run the other way are the first thing to look at
    if turned is not None:
        wanted = [f"{section}.next_{key}_turned", f"next.{key}_turned", *wanted]
    settle: dict[str, str] = {}
    if run.settings.limit is not None and finding.answer in ("undecided", "not_yet"):
        wanted = ["next.limited"]  # all of the texts come before more of them
    elif finding.settle is not None and turned is None:
        # What the rule that decided says of itself is nearer than what is usual for its answer.
        vain = finding.settle.subject == Subject.VAIN  # it takes another judge
        wanted = ["next.settle_other" if vain else "next.settle"]
        settle = {"how": words.say(finding.settle)}
    found = next((each for each in wanted if words.find(each) is not None), None)
    if found is None:
        return []
    try:
        settings = {
            "prompted": 1 if run.uses_prompt else 0,
            "limit": run.settings.limit,
        }
        known = {
            **finding.values,
            **settings,
            **commands(run),
            **(turned.values if turned else {}),
        }
        known["more"] = with_more(run, finding.values.get("needed"))
        known |= settle
        if turned is not None:
            option, _, ends = turned.values["back"].partition("=")
            known["turned"] = again(run, **{option: ends})
        return words.text(found, **known).split("\n")
    except MissingWording:
        return []


def commands(run: FinishedRun) -> dict[str, str]:
    """The commands that may come next, by name."""
    folder = str(as_typed(run.folder))
    other = OTHERS.get(run.choices.get("model", ""), "local")
    return {
        "again": again(run),
        "without_judges": again(run, judges=None, judge=None),
        "folder": shlex.quote(folder),
        # The other one answers on this machine, and has no batches.
        "other": again(
            run,
            model=other,
            readout=None,
            **({"engine": None} if run.choices.get("engine") == "batch" else {}),
        ),
        "doubt": again(run, analysis="calibration"),
        "labelled": again(run, analysis="labelled"),
        "alone": again(run, analysis="escalation"),
        "fresh": again(run, **{"engine.cache": "false"}),
        "margined": again(
            run,
            **{
                "++rubric.margin": f"{(run.rubric.maximum - run.rubric.minimum) / 20:g}"
            },
        ),
        "handed": again(
            run,
            judge="selective",
            analysis="none",
            **{"judge.rules.guaranteed.run": folder},
        ),
        "label": f"undogmatic review export {shlex.quote(folder)} --all",
    }


def with_more(run: FinishedRun, needed: Any) -> str:
    """The command of an instrument test with as many texts as it needs: what said how many, or
    which, is left out of it."""
    n = str(needed) if isinstance(needed, int) and needed > INSTRUMENT_TEXTS else None
    return again(
        run, **{"dataset.n": n, "dataset.items": None, "analysis.against": None}
    )


def again(run: FinishedRun, **changes: str | None) -> str:
    """The command of this run with some choices changed; None leaves a choice out. What was set
    below a choice goes with it: another analysis need not have it."""
    overrides, _ = typed(run)
    gone = (*changes, *LEFT_OUT)
    keys = {each: each.partition("=")[0].lstrip("+~") for each in overrides}
    kept = [
        each
        for each, key in keys.items()
        if key not in gone and not key.startswith(tuple(f"{c}." for c in gone))
    ]
    return command(
        [
            *kept,
            *(f"{key}={value}" for key, value in changes.items() if value is not None),
        ]
    )


def typed(run: FinishedRun) -> tuple[list[str], bool]:
    """The overrides of the run's command, without `run.resume`, and whether they are as Hydra noted
    them; else they are made from the choices."""
    noted = RunFolder(run.folder)
    if noted.has(OVERRIDES):
        return [*folders_of(noted, HYDRA), *noted.overrides], True
    asked: dict[str, Any] = {k: v for k, v in run.choices.items() if k != "experiment"}
    asked |= {"readout": "auto"} if run.settings.automatic else {}
    asked |= {
        "seed": run.settings.seed,
        "report.language": run.language,
        "run.repeats": run.settings.repeats,
    }
    asked |= {} if run.settings.limit is None else {"run.limit": run.settings.limit}
    return [f"{k}={v}" for k, v in asked.items()], False


def folders_of(folder: RunFolder, name: str) -> list[str]:
    """The words that named further folders of config on the command line, from what Hydra noted of
    itself."""
    if not folder.mentions(name, "command-line", "hydra.searchpath"):
        # as nearly always, and to understand all that Hydra notes takes longer
        return []
    noted = folder.noted(name, "hydra")
    typed: list[str] = []
    for source in _listed(noted, "runtime", "config_sources"):
        if isinstance(source, dict) and source.get("provider") == "command-line":
            path = as_typed(Path(str(source.get("path"))))
            typed += ["--config-dir", str(path)]
    for word in map(str, _listed(noted, "overrides", "hydra")):
        if word.lstrip("+").startswith("hydra.searchpath="):
            typed.append(word)
    return typed


def _listed(noted: Any, *keys: str) -> list[Any]:
    """The list at the end of these keys; an empty one where something else stands there."""
    for key in keys:
        noted = noted.get(key) if isinstance(noted, dict) else None
    return noted if isinstance(noted, list) else []


def command(overrides: Sequence[str]) -> str:
    """The shell command with these overrides, by the door through which this one came; a file of a
    rubric is an option at the door of the instrument test alone."""
    if given := next((GIVEN[o] for o in overrides if o in GIVEN), None):
        kept = [o for o in overrides if o not in GIVEN and o != "experiment=instrument"]
        return " ".join(["undogmatic instrument", *map(shlex.quote, [given, *kept])])
    door = (
        "undogmatic run"
        if Path(sys.argv[0]).stem == "undogmatic"
        else "python -m undogmatic.run"
    )
    return " ".join([door, *(shlex.quote(o) for o in overrides)])


def exploratory(result: Told, run: FinishedRun) -> bool:
    """Whether a plan was locked before the run and this is no part of it."""
    return run.settings.planned and not result.planned
