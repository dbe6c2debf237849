"""Judges composed from configs, as a user types them: names within names, options, errors, runs
without a key."""

import json
from typing import Any

import pytest

from tests.engine.parts import CHOICES, OUT, metrics, table
from tests.rubrics import COLOURS
from tests.stub_server import StubServer, score_of
from undogmatic.api import judge_items
from undogmatic.config.door import compose_config
from undogmatic.engine.recipe import Parts, Recipe
from undogmatic.errors import ConfigError
from undogmatic.experiment import run_experiment
from undogmatic.judges.base import Judge
from undogmatic.judges.debate import DebateJudge
from undogmatic.judges.devils_advocate import DevilsAdvocateJudge
from undogmatic.judges.panel import PanelJudge
from undogmatic.judges.score import ScoreJudge
from undogmatic.judges.selective import SelectiveJudge
from undogmatic.models.calls import Gateway
from undogmatic.records.records import Item, Judgment, Verdict
from undogmatic.runs.index import read_records

ONCE = ("score", "distributional", "debate", "red_blue", "single_pass")
STYLES = dict.fromkeys(ONCE, 1) | {
    "devils_advocate": 2,
    "calibration_probe": 2,
    "panel": 3,
}
ITEMS = [Item(id=f"i{n}", text=f"text number {n}.") for n in range(8)]


def hosted(stub: StubServer, *overrides: str) -> list[str]:
    return [
        "model=openai_compatible",
        f"model.api_base={stub.url}/v1",
        "model.name=stub",
        *overrides,
    ]


def parts(*overrides: str) -> Parts:
    server = [
        "model=openai_compatible",
        "model.api_base=http://127.0.0.1:1/v1",
        "model.name=m",
    ]
    named = any(word.startswith("model=") for word in overrides)
    return Recipe(compose_config([*(() if named else server), *overrides])).build()


@pytest.mark.parametrize(("style", "calls"), STYLES.items())
def test_every_style_runs_on_a_hosted_model_with_the_calls_it_needs(
    stub: StubServer, style: str, calls: int
) -> None:
    judgments = judge_items(ITEMS, hosted(stub, f"judge={style}"))
    assert all(isinstance(j.outcome, Verdict) for j in judgments), judgments[0].outcome
    assert [j.cost.calls for j in judgments] == [calls] * len(ITEMS)
    assert len(stub.requests) == calls * len(ITEMS)
    assert {j.judge for j in judgments} == {style}


@pytest.mark.parametrize("style", ["score", "bucket", "distributional", "red_blue"])
def test_a_text_whose_language_is_known_is_judged_in_it(
    stub: StubServer, style: str
) -> None:
    texts = {
        "en": "A first text.",
        "pt": "Um segundo texto.",
        "fr": "Un texte.",
        None: "No language is named.",
    }
    rubric = ["rubric=faithfulness", "prompt=anchored_pt"]
    languages = {code: {} if code is None else {"language": code} for code in texts}
    inputs = {
        code: dict.fromkeys(("summary", "reference", "opinion"), text)
        for code, text in texts.items()
    }
    items = [
        Item(id=str(code), inputs=inputs[code], metadata=languages[code])
        for code in texts
    ]
    judgments = {
        j.item_id: j
        for j in judge_items(items, hosted(stub, f"judge={style}", *rubric))
    }
    sent = [
        (json.dumps(r.body, ensure_ascii=False), r.body["messages"][0]["content"])
        for r in stub.requests
    ]
    asked = {
        code: {system for body, system in sent if text in body}
        for code, text in texts.items()
    }
    assert all(asked.values())
    assert asked["pt"] == asked["fr"] == asked[None]
    assert not asked["en"] & asked["pt"]
    prompts = {name: judgment.provenance.prompt for name, judgment in judgments.items()}
    assert prompts == {
        "en": "anchored_pt (in en)",
        "pt": "anchored_pt",
        "fr": "anchored_pt",
        "None": "anchored_pt",
    }
    assert (
        judgments["en"].provenance.prompt_hash != judgments["pt"].provenance.prompt_hash
    )


def test_a_prompt_with_words_of_its_own_stays_in_its_language() -> None:
    item = Item(id="a", text="A text.", metadata={"language": "en"})
    for own in (
        "prompt=demos_pt",
        "+prompt.instructions=Julgue.",
        "+prompt.follows_item=false",
    ):
        (step,) = parts(*(["prompt=anchored_pt"] if own[0] == "+" else []), own).judges
        assert step.for_item(item) is step


def test_a_selective_judge_costs_about_one_call_and_the_trigger_rate(
    stub: StubServer,
) -> None:
    judgments = judge_items(ITEMS, hosted(stub, "judge=selective"))
    fired = [score_of(item.text) > 70 for item in ITEMS]
    assert 0 < sum(fired) < len(ITEMS)
    assert [j.cost.calls for j in judgments] == [1 + f for f in fired]
    details = [j.outcome.details for j in judgments if isinstance(j.outcome, Verdict)]
    assert [each["escalated"] for each in details] == fired


def test_a_run_of_the_devils_advocate_ends_with_its_report(stub: StubServer) -> None:
    overrides = hosted(
        stub, "judge=devils_advocate", "tracking=none", "run.limit=9", "analysis=none"
    )
    run_experiment(compose_config(overrides), CHOICES, OUT)
    rows = table(OUT / "scores.csv")
    assert len(rows) == 9 and {row["uncertainty"] for row in rows} <= {
        "low",
        "medium",
        "high",
    }
    kept = [j.outcome for j in read_records(OUT / "judgments.jsonl", Judgment)]
    assert all(
        isinstance(o, Verdict) and "critique_strength" in o.details for o in kept
    )
    assert metrics(OUT)["calls"] == 18 and (OUT / "report.html").is_file()


def test_categories_without_an_order_are_counted_and_drawn_by_nobody(
    stub: StubServer,
) -> None:
    words = [
        "prompt=anchored_en",
        "tracking=none",
        "run.limit=6",
        "analysis=suite",
        "report.language=pt",
    ]
    rubric = {
        "_target_": "undogmatic.records.rubric.Rubric",
        **COLOURS.model_dump(mode="json"),
    }
    run_experiment(
        compose_config(hosted(stub, *words)) | {"rubric": rubric}, CHOICES, OUT
    )
    report = (OUT / "report.md").read_text(encoding="utf-8")
    assert any(f"| {colour} |" in report for colour in ("red", "green", "blue"))
    assert not list((OUT / "figures").glob("common_*"))
    rows = table(OUT / "scores.csv")
    assert [(row["score"], row["error"]) for row in rows] == [("", "")] * 6
    kept = {
        j.item_id: j.outcome for j in read_records(OUT / "judgments.jsonl", Judgment)
    }
    said = {
        name: outcome.category
        for name, outcome in kept.items()
        if isinstance(outcome, Verdict)
    }
    assert {row["item_id"]: row["category"] for row in rows} == said and len(said) == 6


def inside(*overrides: str) -> tuple[Judge, Judge]:
    """The cheap and the expensive judge of a selective one."""
    judge = parts("judge=selective", *overrides).judge
    assert isinstance(judge, SelectiveJudge) and judge.hands_over == (not overrides)
    return judge.cheap, judge.expensive


def test_names_within_names() -> None:
    assert list(map(type, inside("judge.expensive=debate"))) == [
        ScoreJudge,
        DebateJudge,
    ]
    assert isinstance(inside()[1], DevilsAdvocateJudge)
    debates = (
        "[{judge: debate, prompt: anchored_en}, {judge: debate, separate_calls: true}]"
    )
    panel = inside(f"judge.expensive={{judge: panel, members: {debates}}}")[1]
    assert isinstance(panel, PanelJudge)
    one, two = panel.members
    assert isinstance(one, DebateJudge) and isinstance(two, DebateJudge)
    assert (one.asker.prompt.id, two.asker.prompt.id) == ("anchored_en", "anchored_pt")
    assert (len(one.steps), len(two.steps)) == (1, 3)


def test_the_default_panel_follows_the_prompts_language() -> None:
    judge = parts("judge=panel", "prompt=anchored_en").judge
    assert isinstance(judge, PanelJudge)
    prompts = [member.readout.prompt for member in judge.members]  # type: ignore[attr-defined]
    assert [(p.id, p.demo_order) for p in prompts] == [
        ("anchored_en", None),
        ("demos_en", None),
        ("demos_en", 1),
    ]


def test_a_panel_over_models_connects_and_names_both(stub: StubServer) -> None:
    other = f"{{model: openai_compatible, api_base: '{stub.url}/v1', name: other}}"
    overrides = hosted(
        stub, "judge=panel", f"judge.members=[score, {{judge: score, model: {other}}}]"
    )
    judgments = judge_items(ITEMS[:2], overrides)
    assert [j.score for j in judgments] == [score_of(item.text) for item in ITEMS[:2]]
    assert sorted(r.body["model"] for r in stub.requests) == [
        "other",
        "other",
        "stub",
        "stub",
    ]
    assert "stub" in judgments[0].provenance.model
    assert "other" in judgments[0].provenance.model


def test_what_is_inside_a_judge_is_part_of_its_identity() -> None:
    changes = {
        "panel": (
            "aggregate=median",
            "members=[score,debate]",
            "members=[score,{judge: score, prompt: reasoned_pt}]",
        ),
        "selective": ("rules.high_score.overall_above=0.6", "rules.high_score=null"),
        "debate": ("separate_calls=true",),
    }
    hashes = [parts("judge=debate", "prompt=anchored_en").provenance.config_hash]
    for style, options in changes.items():
        for words in ((), *((f"judge.{option}",) for option in options)):
            hashes.append(parts(f"judge={style}", *words).provenance.config_hash)
    assert len(set(hashes)) == len(hashes)
    assert parts("judge=panel").provenance.config_hash == hashes[1]


@pytest.mark.parametrize(
    ("style", "option", "said"),
    [
        (
            "selective",
            "expensive=devil",
            "`judge.expensive.judge` is 'devil', which is not in conf/judge/",
        ),
        (
            "selective",
            "expensive=3",
            "`judge.expensive` is 3; it must be the name of a judge",
        ),
        ("panel", "members=score", "it must be a list of judges"),
        ("panel", "members=[]", "it must be a list of judges"),
        (
            "panel",
            "members=[{judge: score, prompt: nope}]",
            "`judge.members[0].prompt` is 'nope'",
        ),
        (
            "panel",
            "members=[{judge: debate, separate: true}]",
            "`judge.members[0].separate` is not a known",
        ),
        ("panel", "aggregate=mode", "`judge.aggregate` is 'mode'"),
        ("selective", "+rules.magic={x: 1}", "`judge.rules.magic` is not a known key"),
        (
            "selective",
            "rules.high_score.overall_above=7",
            "`judge.rules.high_score.overall_above` is 7",
        ),
        ("debate", "model=patterns", "Use a model that serves structured or logprobs"),
        ("devils_advocate", "model=patterns", "judge=score"),
        ("panel", "model=patterns", "reads no prompt (it serves: rules)"),
    ],
)
def test_bad_input_gets_one_clear_message(style: str, option: str, said: str) -> None:
    plus, key = option[: option[0] == "+"], option.lstrip("+")
    with pytest.raises(ConfigError) as caught:
        parts(
            f"judge={style}",
            option if key.startswith("model=") else f"{plus}judge.{key}",
        )
    assert said in str(caught.value)


def test_styles_that_only_combine_run_on_rules() -> None:
    overrides = [
        "model=patterns",
        "judge=selective",
        "judge.expensive={judge: panel, members: [score, score]}",
    ]
    text = "Aplica-se o Tema 69 do STF. Súmula 7. Jurisprudência pacífica."
    outcome = judge_items([Item(id="a", text=text)], overrides)[0].outcome
    assert isinstance(outcome, Verdict)
    assert (outcome.details["escalated"], outcome.details["disagreement"]) == (1, 0)


@pytest.mark.local_model
def test_every_style_runs_on_the_embedded_model_without_a_key() -> None:
    items = [
        Item(
            id="cites",
            text="Aplica-se o Tema 69 do STF, conforme jurisprudência pacífica.",
        ),
        Item(
            id="explains",
            text="Não integra a base de cálculo, porque só transita pelo caixa da empresa.",
        ),
    ]
    found: dict[str, list[Any]] = {}
    for style in (*STYLES, "selective"):
        judgments = judge_items(
            items if style == "selective" else items[:1], [f"judge={style}"]
        )
        assert all(isinstance(j.outcome, Verdict) for j in judgments), (
            style,
            judgments[0].outcome,
        )
        found[style] = [j.outcome for j in judgments]
    for style in ("devils_advocate", "calibration_probe", "single_pass"):
        assert [o.score for o in found[style]] == [o.score for o in found["score"]]
        assert all(o.uncertainty is not None for o in found[style])
    assert [o.details["escalated"] for o in found["selective"]] == [1, 0]


OTHERS = "[{judge: score, prompt: demos_pt}, {judge: score, prompt: anchored_pt}]"


@pytest.mark.parametrize("members", [OTHERS, "[score]"])
def test_the_model_that_members_ask_is_connected_though_none_asks_as_the_run_would(
    stub: Any, members: str
) -> None:
    found = parts(*hosted(stub), "judge=panel", f"judge.members={members}")
    found.model.connect(Gateway())
    assert found.uses_own
    assert all(source.model.gateway is not None for source in found.judge.readouts())
