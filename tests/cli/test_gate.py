"""`undogmatic gate`, run as a command: what passes, fails, stays open, is void or broken."""

import datetime
import functools
import json
import math
import re
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.conftest import put, typed
from tests.report import checks
from undogmatic.cli import main
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations import gate
from undogmatic.examinations.gate import GateConfig, Gated, hold
from undogmatic.records.card import TrustCard, read_card, sealed
from undogmatic.records.records import digest
from undogmatic.records.results import Told
from undogmatic.report import card
from undogmatic.report import gate as shown
from undogmatic.report.check import words_of
from undogmatic.runs.folder import COMPOSED
from undogmatic.stats.estimate import Estimate

KAPPA = "figures: {agreement.kappa: {at_least: %s}}"


@functools.cache
def a_card(days: int = 180, **known: str) -> TrustCard:
    """A supported judge with a kappa of .61 to .9, made today."""
    verdicts = checks.table(settings={"judge": known} if known else {})
    (made,) = card.cards_of(
        checks.result(verdicts=verdicts), checks.words(), {}, days=days
    ).values()
    return made


def run(
    folder: Path, *words: str, demanded: str | None = KAPPA % 0.6, **known: str
) -> tuple[int, str]:
    """The exit status and the output of the command, for a card and a gate in the folder."""
    put(folder / "card.json", a_card(**known).text())
    if demanded is not None:
        put(folder / "undogmatic-gate.yaml", demanded)
    done: subprocess.CompletedProcess[str] = typed(
        "undogmatic.cli", "gate", *words, folder=folder
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("bound", "status", "first"),
    [
        (0.6, 0, "Passed: judge meets its only requirement."),
        (0.95, 1, "Failed:"),
        (0.7, 2, "Undecided:"),
    ],
)
def test_a_threshold_is_held_against_the_limit(
    bound: float, status: int, first: str, tmp_path: Path
) -> None:
    found, said = run(
        tmp_path,
        "card.json",
        "--junit",
        "j.xml",
        "--markdown",
        "c.md",
        demanded=KAPPA % bound,
    )
    assert found == status and said.startswith(first)
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert suite.attrib == {
        "tests": "1",
        "failures": str(int(status > 0)),
        "errors": "0",
        "skipped": "0",
    }
    comment = (tmp_path / "c.md").read_text("utf-8")
    assert (
        first in comment and "agreement beyond chance" in (said + comment).lower()
    ) or "agreement.kappa" in comment


def test_a_file_in_the_place_of_a_setting_is_named_as_one(tmp_path: Path) -> None:
    demanded = "agreement.kappa: {at_least: 0.6}"
    status, said = run(tmp_path, "card.json", "undogmatic-gate.yaml", demanded=demanded)
    assert status == 3 and "is not of the form KEY=VALUE" in said
    assert "It is a file: --help says which option takes it. So it does not" in said
    status, said = run(tmp_path, "card.json", demanded=demanded)
    assert status == 3 and "{at_least: 0.6}}. So it does not pass" in said


def test_another_model_or_prompt_makes_the_card_void(tmp_path: Path) -> None:
    known = {"model": "gpt-5", "prompt": "Judge this text.\n" * 20}
    put(tmp_path / "same.txt", "Judge this text.\n" * 20)
    put(tmp_path / "other.txt", "Judge this text kindly.\n")
    status, said = run(
        tmp_path, "card.json", "model=gpt-5", "prompt=@same.txt", **known
    )
    assert (
        status == 0
        and "as it was when it was checked" in said
        and "Not compared" not in said
    )
    for change in ("model=gpt-6", "prompt=@other.txt", "temperature=1"):
        status, said = run(tmp_path, "card.json", change, "--junit", "j.xml", **known)
        assert (
            status == 3
            and said.startswith("Void:")
            and change.partition("=")[0] in said
        )
        assert ElementTree.parse(tmp_path / "j.xml").getroot().attrib["errors"] == "1"
    status, said = run(
        tmp_path,
        "card.json",
        demanded=f"{KAPPA % 0.6}\njudge: {{model: gpt-6}}",
        **known,
    )
    assert status == 3 and "gpt-6" in said


def edited() -> str:
    told = json.loads(a_card().text())
    told["figures"]["agreement.kappa"]["interval"] = [0.7, 0.9]
    return json.dumps(told)


@pytest.mark.parametrize(
    ("words", "demanded", "named"),
    [
        (["gone.json"], KAPPA % 0.6, "gone.json: cannot be read"),
        (["edited.json"], KAPPA % 0.6, "edited or damaged"),
        (["half.json"], KAPPA % 0.6, "half.json"),
        (["card.json"], None, "undogmatic-gate.yaml is not here"),
        (["card.json"], "{}", "could not fail"),
        (["card.json"], "max_age_days: 30", "could not fail"),
        (
            ["card.json"],
            KAPPA % "x",
            (
                "`figures.agreement.kappa.at_least` is 'x': it must be a number, without quotes."
                " Keys of a figure: "
            ),
        ),
        (
            ["card.json"],
            "figures: {agreement.kappa: {at_lest: 1}}",
            "is no known key. Did you mean `at_least`? Keys of a",
        ),
        (
            ["card.json"],
            "figure: {}",
            "`figure` is no known key. Did you mean `figures`? Keys: figures, standing, drift",
        ),
        (
            ["card.json"],
            "{standing: yes}",
            "`standing` is True: it must be 'supported'. Keys: figures",
        ),
        (
            ["card.json"],
            "{standing: supported, max_age_days: 0}",
            "`max_age_days` is 0: it must be at least 1. Keys",
        ),
        (
            ["card.json"],
            "{standing: supported, labels: xyz}",
            "it must fit the pattern ^[0-9a-f]{8,64}$",
        ),
        (
            ["card.json"],
            "figures: {agreement.kappa: {}}",
            "neither at_least nor at_most",
        ),
        (
            ["card.json"],
            "figures: {agreement.kapa: {at_least: 0.1}}",
            "There is no figure “agreement.kapa”",
        ),
        (["card.json"], "[", "not YAML"),
        (["card.json", "--config", "gone.yaml"], None, "gone.yaml"),
        (["card.json", "model"], KAPPA % 0.6, "KEY=VALUE"),
        (["card.json", "--bogus"], KAPPA % 0.6, "unrecognized arguments: --bogus"),
        ([], KAPPA % 0.6, "required"),
    ],
)
def test_what_is_broken_is_never_a_pass(
    words: list[str], demanded: str | None, named: str, tmp_path: Path
) -> None:
    put(tmp_path / "edited.json", edited())
    put(tmp_path / "half.json", a_card().text()[:200])
    status, said = run(tmp_path, *words, demanded=demanded)
    assert status == 3 and named in said


@pytest.mark.parametrize(
    ("right", "status", "said"),
    [
        (
            0.98,
            0,
            "It is not shown that judge agrees with people less now than on the card",
        ),
        (0.6, 1, "judge agrees with people less now than on the card"),
    ],
)
def test_newer_verdicts_show_whether_the_judge_agrees_less_than_on_the_card(
    right: float, status: int, said: str, tmp_path: Path
) -> None:
    put(tmp_path / "new.csv", newer(right))
    found, printed = beside_newer(tmp_path, "new.csv")
    assert found == status and said in printed
    again, worded = beside_newer(tmp_path, "new.csv", "--language", "pt")
    assert again == status and "com as pessoas menos agora do que no cartão" in worded


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("gone.csv", "cannot be held against the card"),
        ("other.csv", "it is about the judge 'judge', and here is"),
        ("unlabelled.csv", "How far judge agrees with people in"),
    ],
)
def test_newer_verdicts_that_tell_nothing_make_the_card_void(
    file: str, said: str, tmp_path: Path
) -> None:
    put(tmp_path / "other.csv", newer(0.9).replace("judge", "gpt_judge"))
    put(tmp_path / "unlabelled.csv", newer(0.9, labelled=4))
    found, printed = beside_newer(tmp_path, file)
    assert found == 3 and said in printed


def test_newer_verdicts_are_named_on_the_command_line_in_place_of_the_gates(
    tmp_path: Path,
) -> None:
    put(tmp_path / "same.csv", newer(0.97))
    put(tmp_path / "worse.csv", newer(0.7))
    found, printed = beside_newer(tmp_path, "same.csv", "--drift", "worse.csv")
    assert found == 1 and "worse.csv" in printed and "same.csv" not in printed


def beside_newer(folder: Path, file: str, *words: str) -> tuple[int, str]:
    """The exit status and the output, for a card of verdicts that meet 97 % of the labels."""
    old = put(folder / "old.csv", newer(0.97))
    with suppress(SystemExit):
        main(["check", str(old), "--card", str(folder / "old.json")])
    put(folder / "gates" / "gate.yaml", f"drift: ../{file}")
    words = ("old.json", "--config", "gates/gate.yaml", *words)
    done: subprocess.CompletedProcess[str] = typed(
        "undogmatic.cli", "gate", *words, folder=folder
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def newer(right: float, n: int = 120, labelled: int = 120) -> str:
    """A file of verdicts that meet so many of the labels."""
    lines = ["id,text,judge,human"]
    for k in range(n):
        label = k % 2
        verdict = label if k % 100 < 100 * right else 1 - label
        names = ["fail", "pass"]
        human = names[label] if k < labelled else ""
        lines.append(
            f"n{k},reply number {k} of {k * 7919 % 1000},{names[verdict]},{human}"
        )
    return "\n".join(lines) + "\n"


def test_what_is_broken_is_written_too(tmp_path: Path) -> None:
    status, _ = run(
        tmp_path,
        "gone.json",
        "--junit",
        "j.xml",
        "--markdown",
        "c.md",
        "--language",
        "pt",
    )
    assert (
        status == 3
        and ElementTree.parse(tmp_path / "j.xml").getroot().attrib["errors"] == "1"
    )
    assert "sem validade" in (tmp_path / "c.md").read_text("utf-8")


def test_labels_and_items_are_those_of_the_card(tmp_path: Path) -> None:
    own = a_card()
    now = own.digests
    asked = GateConfig(standing="supported", labels=now.labels[:12])
    assert hold(gate.of_card(own), asked, digests=now).outcome == "pass"
    for what in ("verdicts", "labels", "items"):
        assert (
            hold(
                gate.of_card(own),
                asked,
                digests=now.model_copy(update={what: "0" * 64}),
            ).outcome
            == "void"
        )
    assert (
        hold(
            gate.of_card(own), GateConfig(standing="supported", labels="0" * 8)
        ).outcome
        == "void"
    )


def gated(low: float, high: float, **fields: Any) -> Gated:
    bare = Gated(
        "j",
        {"a.b": Estimate(0.5, low, high), "a.c": None},
        {"j": "supported"},
        {},
        "",
        "",
        "",
        datetime.date(2026, 1, 1),
    )
    return replace(bare, **fields)


@pytest.mark.parametrize(
    ("low", "high", "demanded", "outcome"),
    [
        (0.6, 0.9, {"at_least": 0.6}, "pass"),
        (0.5, 0.6, {"at_least": 0.6}, "undecided"),
        (0.5, 0.59, {"at_least": 0.6}, "fail"),
        (-math.inf, 0.59, {"at_least": 0.6}, "fail"),
        (-math.inf, math.inf, {"at_least": -100}, "undecided"),
        (0.0, 0.2, {"at_most": 0.2}, "pass"),
        (0.21, 0.4, {"at_most": 0.2}, "fail"),
        (0.1, math.inf, {"at_most": 0.2}, "undecided"),
        (-0.1, 0.1, {"at_least": -0.2, "at_most": 0.2}, "pass"),
        (-0.3, 0.1, {"at_least": -0.2, "at_most": 0.2}, "undecided"),
        (0.3, 0.5, {"at_least": -0.2, "at_most": 0.2}, "fail"),
    ],
)
def test_a_threshold_between_the_limits_is_undecided(
    low: float, high: float, demanded: dict[str, float], outcome: str
) -> None:
    assert (
        hold(gated(low, high), GateConfig(figures={"a.b": demanded})).outcome == outcome
    )


@pytest.mark.parametrize(
    ("figure", "demanded", "said"),
    [
        (
            Estimate(0.8, 0.6, 0.9, n=90, n_groups=90),
            {"at_least": 0.7},
            (
                "About 650 more independent labelled items would probably settle it, and it would"
                " pass if the figure stays as it is: `undogmatic label FILE`."
            ),
        ),
        (
            Estimate(0.8, 0.6, 0.9, n=90, n_groups=90),
            {"at_most": 0.7},
            "and it would fail if the figure stays as it",
        ),
        (
            Estimate(0.8, 0.6, 0.9, n=90, n_groups=90),
            {"at_least": 0.8},
            "hardly settle it: the figure is 0.8 itself",
        ),
        (
            Estimate(0.8, 0.6, 0.9, n=90, n_groups=90),
            {"at_least": 0.79},
            "about 74,000 independent labelled items, and there are 90",
        ),
        (
            Estimate(0.8, 0.75, 0.9, n=90, n_groups=90, worst=0.5, best=0.9),
            {"at_least": 0.7},
            "have the judge give",
        ),
        (
            Estimate(0.8, 0.6, math.inf, n=90, n_groups=90),
            {"at_least": 0.7},
            "cannot be told from this figure",
        ),
    ],
)
def test_an_undecided_figure_says_what_would_settle_it(
    figure: Estimate, demanded: dict[str, float], said: str
) -> None:
    own = gated(0.6, 0.9, figures={"a.b": figure}, expires=datetime.date(2999, 1, 1))
    result = hold(own, GateConfig(figures={"a.b": demanded}))
    words = words_of("en")
    told = shown.as_json(result, words)["requirements"][0]
    assert (
        said in told["said"]
        and told["figure"]["n"] == 90
        and told["outcome"] == "undecided"
    )
    assert "0.8 [0." in told["said"] and "from 90 items or labels" in told["said"]
    assert told["said"] in shown.junit(result, words)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ((), "The check answered yes: the order of j may be trusted. "),
        (("Not its grades.",), "the order of j may be trusted within 1 limit. "),
        (("One.", "Two."), "The limits: (1) One. (2) Two."),
    ],
)
def test_a_standing_names_the_limits_and_what_is_counted(
    limits: tuple[str, ...], said: str
) -> None:
    figures = {"agreement.spearman": Estimate(0.8, 0.6, 0.9, n=90, n_groups=30)}
    day, known = datetime.date(2999, 1, 1), {"j": "agreement.spearman"}
    own = gated(
        0.6,
        0.9,
        figures=figures,
        expires=day,
        headline=known,
        items_labelled=30,
        limits=limits,
        in_order=True,
    )
    sentence = words_of("en").say(
        hold(own, GateConfig(standing="supported")).held[0].finding
    )
    assert said in sentence and "from 90 labels of 30 items)" in sentence


@pytest.mark.parametrize(
    ("bounds", "first"),
    [
        ([0.95, 0.96], "Failed: j fails both requirements."),
        ([0.95, 0.5], "Failed: j fails 1 of 2 requirements."),
        ([0.5, 0.4, 0.3], "Passed: j meets all 3 requirements."),
        (
            [0.7],
            "Undecided: the data cannot tell whether j meets its only requirement.",
        ),
    ],
)
def test_the_first_line_counts_in_words(bounds: list[float], first: str) -> None:
    names = [f"a.{n}" for n, _ in enumerate(bounds)]
    own = gated(0, 1, figures=dict.fromkeys(names, Estimate(0.8, 0.6, 0.9)))
    asked = {
        name: {"at_least": bound} for name, bound in zip(names, bounds, strict=True)
    }
    assert (
        shown.first_line(hold(own, GateConfig(figures=asked)), words_of("en")) == first
    )


def test_a_void_card_neither_passes_nor_fails() -> None:
    day, asked = (
        datetime.date(2026, 3, 1),
        GateConfig(figures={"a.b": {"at_least": 0.95}}, max_age_days=59),
    )
    assert hold(gated(0.6, 0.9), asked, today=day).outcome == "fail"
    assert (
        hold(gated(0.6, 0.9), asked, today=day + datetime.timedelta(1)).outcome
        == "void"
    )
    old = gated(0.6, 0.9, expires=day)
    bare = GateConfig(figures={"a.b": {"at_least": 0.6}})
    assert [
        hold(old, bare, today=day + datetime.timedelta(n)).outcome for n in (0, 1)
    ] == [
        "pass",
        "void",
    ]
    assert hold(gated(0.6, 0.9, status="stopped"), bare).outcome == "void"
    assert (
        hold(gated(0.6, 0.9), GateConfig(figures={"a.c": {"at_least": 0.0}})).outcome
        == "void"
    )


@pytest.mark.parametrize(
    ("standing", "outcome"),
    [("supported", "pass"), ("refuted", "fail"), ("undecided", "undecided")],
)
def test_the_standing_is_held_too(standing: Any, outcome: str) -> None:
    asked = GateConfig(standing="supported")
    assert hold(gated(0.6, 0.9, standings={"j": standing}), asked).outcome == outcome
    assert hold(gated(0.6, 0.9, standings={}), asked).outcome == "undecided"


def test_the_gate_counts_missing_verdicts_against_the_judge() -> None:
    kappa = Estimate(0.78, 0.61, 0.9, worst=0.3, best=0.95)
    (made,) = card.cards_of(
        checks.result(checks.judge_check(kappa=kappa)), checks.words(), {}
    ).values()
    assert made.figures["agreement.kappa"].interval == (0.61, 0.9)
    assert (
        hold(
            gate.of_card(made),
            GateConfig(figures={"agreement.kappa": {"at_least": 0.6}}),
        ).outcome
        == "undecided"
    )


def a_run(folder: Path, **facts: Any) -> Path:
    told = {
        "name": "run",
        "status": "finished",
        "standing": {"ab": "supported"},
        "dataset_digest": "ab" * 32,
    }
    told |= {
        "choices": {"model": "local", "prompt": "anchored_pt"},
        "model": "gemma",
        "ended": 1_790_000_000.0,
    } | facts
    put(folder / "run.json", json.dumps(told))
    put(
        folder / "metrics.json",
        json.dumps(
            {"ab.share": 0.8, "ab.share_low": 0.7, "ab.share_high": 0.9, "judged": 3}
        ),
    )
    return folder


@pytest.mark.parametrize(
    ("facts", "demanded", "status", "named"),
    [
        (
            {},
            (
                "gate: {figures: {ab.share: {at_least: 0.7}}, standing: supported, judge: {model:"
                " local}}"
            ),
            0,
            "Passed",
        ),
        ({}, "figures: {ab.share: {at_least: 0.75}}", 2, "Undecided"),
        (
            {"standing": {"ab": "supported", "x": "refuted"}},
            "standing: supported",
            1,
            "answer to “x” is no",
        ),
        ({}, "{standing: supported, judge: {prompt: other}}", 3, "other now"),
        (
            {},
            "{standing: supported, items: abababab, labels: '00000000'}",
            3,
            "labels are not those",
        ),
        ({"status": "stopped"}, "standing: supported", 3, "did not finish"),
        ({}, "figures: {judged: {at_least: 1}}", 3, "no interval"),
        ({}, "{standing: supported, max_age_days: 1}", 3, "days old"),
    ],
)
def test_a_run_is_held_to_the_same_gate(
    facts: dict[str, Any], demanded: str, status: int, named: str, tmp_path: Path
) -> None:
    a_run(tmp_path / "out", **facts)
    found, said = run(tmp_path, "out", demanded=demanded)
    assert (found, named in said) == (status, True), said


def test_a_gate_holds_a_run_that_was_made(tmp_path: Path) -> None:
    words = ["model=patterns", "dataset=pairs", "tracking=none", "hydra.run.dir=made"]
    assert typed("undogmatic.run", *words, folder=tmp_path).returncode == 0
    block = "gate: {figures: {ab.mean_difference: {at_least: -10}, ab.share_expected: {at_most: 0.5}}}"
    status, said = run(tmp_path, "made", demanded=block)
    assert (
        status == 0
        and "`ab.mean_difference`) is −0.942 [−2.75, 0.9]" in said
        and "136 judged texts" in said
    ), said
    status, said = run(tmp_path, "made", demanded="gate: {standing: supported}")
    assert status == 1 and "answer to “Paired experiment” is no" in said, said


def test_a_run_has_no_data_beside_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--data"):
        gate.examine(
            a_run(tmp_path),
            put(tmp_path / "g.yaml", "standing: supported"),
            {},
            [tmp_path / "x.csv"],
        )


@pytest.mark.parametrize("language", ["en", "pt"])
def test_hostile_names_stay_text(language: str) -> None:
    words = words_of(language)
    result = gate.broken('<b>"&\x1b[31m.json', "a | b <script>\ufffe")
    suite = ElementTree.fromstring(shown.junit(result, words))
    assert "<script>" in (suite[0][0][0].text or "") and suite[0][0].attrib[
        "classname"
    ].startswith("undogmatic.gate.<b>")
    assert "<script>" not in shown.markdown(
        result, words
    ) and r"a \| b" in shown.markdown(result, words)


def test_the_gate_says_what_it_did_not_compare(tmp_path: Path) -> None:
    assert "does not notice" in run(tmp_path, "card.json")[1]
    assert (
        "Not compared with the judge as it is now: model"
        in run(tmp_path, "card.json", model="a")[1]
    )


def test_the_documented_gates_are_valid() -> None:
    page = (Path(__file__).parents[2] / "docs" / "gate.md").read_text("utf-8")
    (block,) = re.findall(r"```yaml\n(# undogmatic-gate.yaml.*?)```", page, re.DOTALL)
    assert GateConfig(**yaml.safe_load(block)).standing == "supported"
    assert (
        GateConfig(**yaml.safe_load(gate.EXAMPLE)).figures["agreement.kappa"].at_least
        == 0.6
    )


@pytest.mark.parametrize(
    ("standing", "outcome"),
    [("supported", "pass"), ("undecided", "undecided"), ("refuted", "fail")],
)
def test_what_a_judge_may_decide_alone_waits_until_it_may_be_believed(
    standing: Any, outcome: str
) -> None:
    share = Estimate(0.98, 0.95, 1.0, n_groups=200, n=200)
    made = replace(
        gate.of_card(a_card()),
        standings={"judge": standing},
        figures={"alone.share": share},
        promises=("alone.share",),
    )
    found = hold(made, GateConfig(figures={"alone.share": {"at_least": 0.5}}))
    assert (found.outcome, found.status) == (outcome, gate.STATUS[outcome])
    assert ElementTree.fromstring(shown.junit(found, words_of("en"))).attrib[
        "failures"
    ] == str(int(outcome != "pass"))
    assert shown.lines(found, words_of("pt"))


def test_the_figures_that_wait_for_belief_are_those_that_say_so() -> None:
    """Whatever they are called, such as a figure of an examination in another package; of a card
    that was made before cards said so, the figures of before."""
    made = a_card().model_dump(exclude={"seal", "promises"})
    assert gate.of_card(sealed(**made)).promises == gate.PROMISED_BEFORE
    share = Estimate(0.98, 0.95, 1.0, n_groups=200, n=200)
    made |= {
        "standing": "refuted",
        "figures": {"mine.automated": share, "alone.like": share},
    }
    own = gate.of_card(sealed(**made, promises=("mine.automated",)))
    limits = {name: {"at_least": 0.5} for name in made["figures"]}
    found = hold(own, GateConfig(figures=limits))
    assert {each.name: each.outcome for each in found.held} == {
        "mine.automated": "fail",
        "alone.like": "pass",
    }


def test_what_an_examination_says_of_its_figures_is_on_the_card() -> None:
    told = Told()
    told.number(Estimate(0.9, 0.8, 1.0, n=60), "mine.automated", promises=True)
    told.number(Estimate(0.9, 0.8, 1.0, n=60), "mine.other")
    one = checks.result().judges[0].beside(told)
    (made,) = card.cards_of(checks.result(one), checks.words(), {}).values()
    assert made.promises == ("mine.automated",)
    assert read_back(made).promises == made.promises


def read_back(made: TrustCard) -> TrustCard:
    """The card as it is read from its file."""
    return TrustCard.model_validate_json(made.text())


@pytest.mark.parametrize("standing", ["undecided", "refuted"])
def test_a_gate_that_asks_for_figures_alone_says_what_the_check_said(
    standing: Any,
) -> None:
    """Labels that copy the verdicts reach any figure."""
    made = replace(gate.of_card(a_card()), standings={"judge": standing})
    limits = {"agreement.kappa": {"at_least": 0.5}}
    found = hold(made, GateConfig(figures=limits))
    assert (
        found.outcome == "pass" and found.notes[0].key == f"gate.note_check_{standing}"
    )
    for each in (found, hold(replace(made, expires=None), GateConfig(figures=limits))):
        for language in ("en", "pt"):
            assert (
                "standing: supported"
                in shown.as_json(each, words_of(language))["notes"][0]
            )
    assert not [
        n
        for n in hold(gate.of_card(a_card()), GateConfig(figures=limits)).notes
        if "standing" in n.key
    ]
    assert (
        not hold(made, GateConfig(standing="supported"))
        .notes[0]
        .key.startswith("gate.note_check")
    )


@pytest.mark.parametrize(
    ("demanded", "outcome"),
    [
        ({"name": "judge"}, "pass"),
        ({"name": "other"}, "void"),
        ({"criterion": "x"}, "void"),
    ],
)
def test_a_card_of_another_judge_or_criterion_is_void(
    demanded: dict[str, Any], outcome: str
) -> None:
    config = GateConfig(figures={"agreement.kappa": {"at_least": 0.5}}, judge=demanded)
    assert hold(gate.of_card(a_card()), config).outcome == outcome


@pytest.mark.parametrize(
    ("demanded", "named"),
    [
        (
            "figures: {a.b: {at_least: true}}",
            "`figures.a.b.at_least` is True: it must be a number",
        ),
        ("figures: {a.b: {at_least: yes}}", "`figures.a.b.at_least` is True"),
        ("figures: {a.b: {at_most: on}}", "`figures.a.b.at_most` is True"),
        (
            "figures: {a.b: {at_least: '0.6'}}",
            "`figures.a.b.at_least` is '0.6': it must be a number, without quotes",
        ),
        (
            "figures: {a.b: {at_least: 1e400}}",
            "`figures.a.b.at_least` is inf: it must be a finite number",
        ),
        (
            "figures: {a.b: {at_least: .nan}}",
            "`figures.a.b.at_least` is nan: it must be a finite number",
        ),
        (
            "figures: {a.b: {at_least: [0.6]}}",
            "`figures.a.b.at_least` is [0.6]: it must be a number",
        ),
        ("figures: {a.b: 0.6}", "`figures.a.b` is 0.6"),
        (
            "{standing: supported, max_age_days: true}",
            "`max_age_days` is True: it must be a number",
        ),
        (
            "{standing: supported, max_age_days: '30'}",
            "`max_age_days` is '30': it must be a number",
        ),
        (
            "{standing: supported, max_age_days: 30.5}",
            "`max_age_days` is 30.5: it must be a whole number",
        ),
        (
            "{standing: supported, max_age_days: 1000000}",
            "`max_age_days` is 1000000: it must be at most 3650",
        ),
        (
            "{standing: supported, labels: 12345678}",
            "`labels` is 12345678: it must be a text",
        ),
    ],
)
def test_a_limit_that_is_no_number_is_refused(
    demanded: str, named: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as refused:
        gate.read_gate(put(tmp_path / "g.yaml", demanded))
    assert named in str(refused.value) and "E.g. " in str(refused.value)


FIGURES = {
    "agreement.kappa": (0.5, 0.4, 0.6),
    "agreement.raw": (0.8, 0.7, 0.9),
    "alone.share": (0.8, 0.7, 0.9),
    "agreement.error": (3.0, 2.0, 4.0),
    "agreement.bias": (3.0, 2.0, 4.0),
    "surface.increment": (0.2, 0.1, 0.3),
    "ab.share_expected": (0.8, 0.7, 0.9),
    "something.else": (0.8, 0.7, 0.9),
}


def numbers(**fields: Any) -> Gated:
    figures = {
        name: Estimate(*values, n=90, n_groups=30) for name, values in FIGURES.items()
    }
    day = datetime.date(2999, 1, 1)
    return gated(
        0, 1, figures=figures, expires=day, span=10.0, items_labelled=90, **fields
    )


@pytest.mark.parametrize(
    ("name", "limit", "fails"),
    [
        ("agreement.kappa", {"at_least": -5}, False),
        ("agreement.kappa", {"at_least": -1}, False),
        ("agreement.kappa", {"at_most": 1}, False),
        ("agreement.kappa", {"at_least": 0.3, "at_most": 1.5}, False),
        ("agreement.raw", {"at_least": 0}, False),
        ("agreement.raw", {"at_most": 1}, False),
        ("alone.share", {"at_least": -0.1}, False),
        ("ab.share_expected", {"at_most": 1.0}, False),
        ("agreement.error", {"at_most": 10}, False),
        ("agreement.error", {"at_most": 1e9}, False),
        ("agreement.error", {"at_least": 0}, False),
        ("agreement.bias", {"at_least": -10}, False),
        ("surface.increment", {"at_least": -2}, False),
        ("agreement.kappa", {"at_least": -0.9}, True),
        ("agreement.kappa", {"at_least": 0}, True),
        ("agreement.raw", {"at_least": 0.01}, True),
        ("agreement.raw", {"at_most": 0.99}, True),
        ("agreement.error", {"at_most": 9}, True),
        ("agreement.bias", {"at_least": -9.9, "at_most": 9.9}, True),
        ("surface.increment", {"at_least": 0}, True),
        ("something.else", {"at_least": -1000}, True),
    ],
)
def test_a_limit_that_could_not_fail_is_void(
    name: str, limit: dict[str, float], fails: bool
) -> None:
    """Of a figure whose range is not known nothing is said; those of these pass as ever."""
    found = hold(
        numbers(), GateConfig(figures={name: limit}), today=datetime.date(2026, 1, 2)
    )
    assert found.outcome == ("pass" if fails else "void")
    for language in ("en", "pt") if not fails else ():
        sentence = words_of(language).say(found.held[0].finding)
        assert (
            f"`figures.{name}.at_" in sentence
            and {"en": "e.g. ", "pt": "por exemplo "}[language] in sentence
        )


def test_where_the_scale_is_not_known_a_limit_on_it_counts() -> None:
    asked = GateConfig(figures={"agreement.error": {"at_most": 10}})
    assert (
        hold(
            replace(numbers(), span=None), asked, today=datetime.date(2026, 1, 2)
        ).outcome
        == "pass"
    )


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        (Estimate(0.8, 0.9, 0.7), "which is no interval"),
        (Estimate(0.8, math.nan, 0.9), "which is no interval"),
        (Estimate(0.8, 0.7, math.nan), "which is no interval"),
        (Estimate(0.8, math.inf, math.inf), "which is no interval"),
        (Estimate(0.8, 0.7, 0.9, worst=0.95, best=0.2), "which is no interval"),
        (Estimate(0.8, 0.7, 1.5), "always lies between -1 and 1"),
        (Estimate(0.8, 0.7, 0.9, worst=-3.0, best=0.9), "always lies between -1 and 1"),
        (Estimate(0.8, 0.7, 0.9, level=5.0), "has the level 5"),
        (Estimate(0.8, 0.7, 0.9, level=0.0), "has the level 0"),
        (Estimate(0.8, 0.7, 0.9, level=1.0), "has the level 1"),
        (Estimate(0.8, 0.79, 0.81, level=0.1), "has the level 0.1"),
        (Estimate(0.8, 0.79, 0.81, level=math.nan), "has the level"),
    ],
)
def test_an_interval_that_is_none_is_void(figure: Estimate, said: str) -> None:
    day = datetime.date(2026, 1, 2)
    for expires in (datetime.date(2999, 1, 1), None):  # a card, and a run
        own = gated(
            0,
            1,
            figures={"agreement.kappa": figure, "a.b": Estimate(0.5, 0.4, 0.6)},
            expires=expires,
        )
        found = hold(
            own, GateConfig(figures={"agreement.kappa": {"at_least": 0.1}}), today=day
        )
        sentence = words_of("en").say(found.held[0].finding)
        assert found.outcome == "void" and said in sentence.replace("−", "-")
        assert ("Repeat the run" if expires is None else "undogmatic check") in sentence
        assert words_of("pt").say(found.held[0].finding)
        # What is not asked for is no matter of the gate.
        assert (
            hold(own, GateConfig(figures={"a.b": {"at_least": 0.1}}), today=day).outcome
            == "pass"
        )


def test_a_run_is_held_by_the_scale_of_its_rubric(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "out")
    told = {
        "ab.mean_difference": 5.0,
        "ab.mean_difference_low": 2.0,
        "ab.mean_difference_high": 8.0,
    }
    put(folder / "metrics.json", json.dumps(told))
    put(
        folder / COMPOSED,
        yaml.safe_dump({"rubric": {"scale": {"minimum": 0, "maximum": 10}}}),
    )
    held = gate.of_run(str(folder))
    for bound, outcome in ((-10, "void"), (-9, "pass"), (1, "pass")):
        asked = GateConfig(figures={"ab.mean_difference": {"at_least": bound}})
        assert hold(held, asked).outcome == outcome


def test_a_card_of_the_future_is_void() -> None:
    own, asked = a_card(), GateConfig(figures={"agreement.kappa": {"at_least": 0.6}})
    day = own.made
    assert hold(gate.of_card(own), asked, today=day).outcome == "pass"
    found = hold(gate.of_card(own), asked, today=day - datetime.timedelta(1))
    assert found.outcome == "void" and str(day) in words_of("en").say(
        found.held[0].finding
    )
    backwards = replace(gate.of_card(own), expires=day - datetime.timedelta(1))
    keys = {each.finding.key for each in hold(backwards, asked, today=day).held}
    assert "gate.expires_before" in keys


def test_a_run_of_the_future_is_void_where_its_age_counts(tmp_path: Path) -> None:
    run_folder = a_run(tmp_path / "out", ended=4_000_000_000.0)
    held = hold(
        gate.of_run(str(run_folder)), GateConfig(standing="supported", max_age_days=30)
    )
    assert held.outcome == "void" and held.held[0].finding.key == "gate.of_the_future"
    with pytest.raises(DataError, match="which is no moment"):
        gate.of_run(str(a_run(tmp_path / "odd", ended=1e300)))


def resealed(**change: Any) -> str:
    """The card with something else in it, and a seal that fits: as if its own check had written
    it."""
    told = json.loads(a_card().text())
    figure = told["figures"]["agreement.kappa"]
    for name, value in change.items():
        where, _, key = name.partition("__")
        part = {"figure": figure, "data": told["data"], "card": told}[where]
        part[key] = value
    del told["seal"]
    contents = json.loads(json.dumps(told))
    if contents["data"]["span"] is None:
        del contents["data"]["span"]
    return json.dumps(told | {"seal": digest(contents)})


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"figure__value": True}, "its value is True, which is no number"),
        ({"figure__value": "0.8"}, "its value is '0.8', which is no number"),
        ({"figure__interval": [0.7, "0.9"]}, "its interval[1] is '0.9'"),
        ({"figure__interval": [False, 0.9]}, "its interval[0] is False"),
        ({"figure__interval": 0.7}, "it is no figure with its interval"),
        ({"figure__bounds": ["a", None]}, "its bounds[0] is 'a'"),
        ({"figure__level": None}, "its level is None"),
        ({"figure__level": "0.95"}, "its level is '0.95'"),
        ({"figure__n": -60}, "its n is -60; it must be a whole number of 0 or more"),
        ({"figure__n": "60"}, "its n is '60'"),
        ({"figure__n": True}, "its n is True"),
        ({"figure__groups": 61}, "61 independent groups of 60 items"),
        ({"data__groups": 61}, "61 independent groups of 60 items"),
        ({"data__n": -1}, "`data.n` is -1"),
        ({"data__n": "60"}, "`data.n` is '60'"),
        ({"data__raters": True}, "`data.raters` is True"),
        ({"data__span": "10"}, "`data.span` is '10'"),
        ({"card__expires": "2020-01-01"}, "before it was made"),
        ({"card__made": 5}, "`made` is 5: it must be a day such as 2026-03-01"),
        ({"card__made": "2026-01-01T00:00:00"}, "it must be a day such as"),
        ({"card__made": "2026-01-01T00:00:00+14:00"}, "it must be a day such as"),
        ({"card__expires": "2999-02-30"}, "`expires` is '2999-02-30'"),
        ({"card__expires": True}, "`expires` is True"),
    ],
)
def test_a_card_whose_numbers_or_days_are_none_is_not_read(
    change: dict[str, Any], named: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as refused:
        read_card(put(tmp_path / "c.json", resealed(**change)))
    assert named in str(refused.value) and "Make it again" in str(refused.value)


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ({}, "pass"),
        ({"figure__interval": [0.9, 0.61]}, "void"),
        ({"figure__interval": [0.8, 0.9]}, "void"),
        ({"figure__value": 0.2}, "void"),
        ({"figure__interval": [0.61, 3.0]}, "void"),
        ({"figure__level": 5.0}, "void"),
        ({"figure__level": 0.0}, "void"),
        ({"figure__interval": [None, 0.9]}, "undecided"),
        ({"card__made": "2998-01-01", "card__expires": "2999-01-01"}, "void"),
    ],
)
def test_a_card_is_held_by_what_it_says(
    change: dict[str, Any], outcome: str, tmp_path: Path
) -> None:
    """An end that nothing limits is none of these faults."""
    made, gates = (
        put(tmp_path / "c.json", resealed(**change)),
        put(tmp_path / "g.yaml", KAPPA % 0.6),
    )
    assert gate.examine(made, gates, {})[0].outcome == outcome


def test_a_card_that_was_made_before_cards_held_the_span_is_as_good_as_ever(
    tmp_path: Path,
) -> None:
    told = json.loads(a_card().text())
    del told["data"]["span"], told["seal"]
    old = put(tmp_path / "c.json", json.dumps(told | {"seal": digest(told)}))
    assert (
        gate.examine(old, put(tmp_path / "g.yaml", KAPPA % 0.6), {})[0].outcome
        == "pass"
    )


@pytest.mark.parametrize("language", ["en", "pt"])
def test_a_card_of_a_part_of_a_check_is_void(language: str, tmp_path: Path) -> None:
    """Its figures are as good as ever, and its answer is none; nobody can take the mark away."""
    asked = checks.result(replace(checks.judge_check(), unasked=("surface", "slices")))
    (made,) = card.cards_of(asked, checks.words(), {}).values()
    file = put(tmp_path / "c.json", made.text())
    result = gate.examine(file, put(tmp_path / "g.yaml", KAPPA % 0.6), {})[0]
    assert (result.outcome, result.status) == ("void", 3)
    (void,) = [each.finding for each in result.held if each.outcome == "void"]
    assert "surface, slices" in words_of(language).say(void)
    told = json.loads(file.read_text("utf-8"))
    put(file, json.dumps({name: told[name] for name in told if name != "unasked"}))
    with pytest.raises(DataError, match="was edited"):
        gate.examine(file, tmp_path / "g.yaml", {})
    assert "unasked" not in json.loads(a_card().text())


def test_a_gate_begun_from_a_card_lets_that_card_pass_and_no_weaker_one(
    tmp_path: Path,
) -> None:
    status, said = run(tmp_path, "card.json", "--init", demanded=None, model="gpt-5")
    assert status == 0 and "Next: undogmatic gate card.json" in said
    written = yaml.safe_load((tmp_path / "undogmatic-gate.yaml").read_text("utf-8"))
    assert written["figures"]["agreement.kappa"] == {"at_least": 0.4}
    assert (written["standing"], written["judge"]) == ("supported", {"model": "gpt-5"})
    gate.read_gate(tmp_path / "undogmatic-gate.yaml")
    assert run(tmp_path, "card.json", demanded=None, model="gpt-5")[0] == 0
    assert run(tmp_path, "card.json", demanded=None, model="other")[0] == 3
    # What is there is not written over, and a card that is none begins no gate.
    before = (tmp_path / "undogmatic-gate.yaml").read_text("utf-8")
    status, said = run(tmp_path, "card.json", "--init", demanded=None)
    assert status == 3 and "is there already" in said
    status, said = run(
        tmp_path, "nothing.json", "--init", "--config", "new.yaml", demanded=None
    )
    assert status == 3 and not (tmp_path / "new.yaml").exists()
    assert (tmp_path / "undogmatic-gate.yaml").read_text("utf-8") == before


def test_the_outcome_is_not_written_over_the_newer_verdicts(tmp_path: Path) -> None:
    newer = put(tmp_path / "new.csv", "item,judge,human\na,1,1\n")
    before = newer.read_text("utf-8")
    status, said = run(
        tmp_path, "card.json", "--junit", "new.csv", demanded="drift: new.csv"
    )
    assert status == 3 and "--junit" in said and newer.read_text("utf-8") == before
