"""The six styles for gating hierarchies, as hosted models answer and in levels; inside selective
and panel; malformed predictions."""

import asyncio
import functools
import json
from pathlib import Path
from typing import Any

import dspy
import pytest
import yaml

from tests.constructs.gating.test_dataset import folder as written
from tests.judges.conftest import Bench, FixedJudge
from tests.stub_server import Fault, StubServer
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.constructs.gating import judges as gating
from undogmatic.constructs.gating.dataset import GatingDataset
from undogmatic.constructs.gating.hierarchy import parse
from undogmatic.constructs.gating.judges import UncertaintyJudge
from undogmatic.engine.recipe import Recipe
from undogmatic.engine.step import JudgeStep
from undogmatic.errors import ConfigError
from undogmatic.experiment import run_experiment
from undogmatic.judges.base import Judge
from undogmatic.judges.panel import PanelJudge
from undogmatic.judges.questions import numbers
from undogmatic.judges.selective import Rules, SelectiveJudge
from undogmatic.models.language_model import LanguageModel
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import (
    OVERALL,
    Failure,
    Item,
    Judgment,
    Provenance,
    Verdict,
)
from undogmatic.records.rubric import Rubric
from undogmatic.runs.index import read_records
from undogmatic.safety.paths import conf_folder

CHOICES = {
    "model": "m",
    "prompt": "gating_en",
    "judge": "gating",
    "dataset": "gating",
    "analysis": "gating",
}
WORDS: dict[str, dict[str, Any]] = {
    "default": {"issues": ["no NK cells"], "summary": "Misses a lineage."},
    "validation": {"reasoning": "Most names agree."},
    "qualitative": {
        "strengths": ["clean"],
        "errors": ["B cells below T"],
        "missing": ["NK cells"],
        "advice": "Move.",
    },
    "orthogonal": {"issues": [], "summary": "Fine."},
    "binary": {"reasons": ["no NK cells"]},
}
NUMBERS: dict[
    str, list[tuple[str, Any, float]]
] = {  # each criterion as it is answered, and as a share
    "default": [
        ("completeness", 1, 0.1),
        ("accuracy", 8, 0.8),
        ("scientific", 7.5, 0.75),
        ("overall", 6, 0.6),
    ],
    "validation": [
        ("f1", 0.7, 0.7),
        ("structure", 1, 1),
        ("critical_recall", 0.5, 0.5),
        ("overall", 6, 0.6),
    ],
    "qualitative": [
        ("coverage", "fair", 0.5),
        ("logic", "poor", 0.25),
        ("overall", "good", 0.75),
    ],
    "orthogonal": [
        *(
            ("plausibility", 10, 1),
            ("marker_use", 9, 0.9),
            ("gate_order", 10, 1),
            ("usefulness", 5, 0.5),
        ),
        ("overall", 8, 0.8),
    ],
    "binary": [
        *(
            (name, "yes", 1)
            for name in ("cleaning_gates", "parents_right", "panel_respected")
        ),
        *((name, "no", 0) for name in ("main_lineages", "overall")),
    ],
}
ANSWERS = {
    style: WORDS[style] | {name: answer for name, answer, _ in each}
    for style, each in NUMBERS.items()
}
SHARES = {
    style: {name: share for name, _, share in each} for style, each in NUMBERS.items()
}
CLASSES: dict[str, type[gating.GatingJudge]] = {
    style: getattr(gating, f"{style.title()}Judge") for style in WORDS
}
STYLES = (*CLASSES, "uncertainty")
DOUBTS: dict[str, Any] = {
    "hallucination_risk": 4,
    "revised_overall": 3,
    "confidence": 60,
    "expert_review": "yes",
}
DOUBTS |= {
    "biological_issues": [{"severity": "major", "text": "T cells above live cells"}]
}
DOUBTS |= {
    "missing_critical_gates": ["Singlets"],
    "invented_gates": ["T cells"],
    "marker_concerns": ["No CD25."],
}
INPUTS = {
    "sample": "species: human",
    "panel": "CD3, CD4, CD19",
    "truth": "All Events\n  Singlets\n    T cells\n    B cells",
    "prediction": "All Events\n  Singlets\n    T cells",
}


def wordings(style: str) -> Any:
    return yaml.safe_load(
        (conf_folder() / f"judge/gating/{style}.yaml").read_text("utf-8")
    )["wordings"]


@functools.cache
def parts(language: str) -> tuple[Prompt, Rubric]:
    config = compose_config(["rubric=gating", f"prompt=gating_{language}"])
    return build(config["prompt"], "prompt"), build(config["rubric"], "rubric")


@pytest.fixture(params=["en", "pt"])
def own(request: pytest.FixtureRequest, provenance: Provenance) -> Bench:
    """A bench with the rubric and the prompt of gating hierarchies, in both languages."""
    return Bench(*parts(request.param), provenance)


def asker(bench: Bench, style: str, *answers: Any) -> Any:
    made = bench.words(*answers)
    made.wordings = wordings(style)
    return made


def of_style(
    bench: Bench, style: str = "default", **changes: Any
) -> gating.GatingJudge:
    return CLASSES[style](asker(bench, style, ANSWERS[style] | changes))


def judged(
    bench: Bench, judge: Judge, inputs: dict[str, str] = INPUTS, **metadata: Any
) -> dict[str, Judgment]:
    judge.judge_by(bench.rubric)
    item = Item(id="a", inputs=inputs, metadata=metadata)
    with dspy.context(lm=LanguageModel(bench.chat) if hasattr(bench, "chat") else None):
        return {
            j.criterion: j
            for j in asyncio.run(JudgeStep(judge, bench.provenance).process(item))
        }


def verdict(*run: Any, **metadata: Any) -> Verdict:
    """The overall verdict of `judged`."""
    outcome = judged(*run, **metadata)[OVERALL].outcome
    assert isinstance(outcome, Verdict), outcome
    return outcome


@pytest.mark.parametrize("style", list(CLASSES))
def test_each_style_gives_a_judgment_per_criterion_from_one_answer(
    own: Bench, style: str
) -> None:
    found = judged(own, of_style(own, style))
    assert {name: j.score for name, j in found.items()} == pytest.approx(
        {name: 10 * share for name, share in SHARES[style].items()}
    ), "each on its own scale: a 1 on 0-10 is 0.1"
    assert len(own.chat.requests) == 1
    others = {name: share for name, share in SHARES[style].items() if name != OVERALL}
    assert found[OVERALL].outcome.details == pytest.approx(others)  # type: ignore[union-attr]
    said = own.chat.requests[0]["messages"][-1]["content"]
    assert all(text in said for text in INPUTS.values())


def test_issues_and_summary_are_kept(own: Bench) -> None:
    whole = verdict(own, of_style(own))
    assert (whole.issues, whole.rationale) == (("no NK cells",), "Misses a lineage.")
    assert verdict(own, of_style(own, "qualitative")).issues == (
        "B cells below T",
        "missing: NK cells",
    )


@pytest.mark.parametrize(
    ("style", "change", "reason"),
    [
        ("default", {"overall": 11}, "off_scale"),
        ("default", {"overall": "good"}, "unparseable"),
        ("default", {"completeness": None}, "unparseable"),
        ("validation", {"f1": 70}, "off_scale"),
        ("qualitative", {"overall": "mediocre"}, "off_scale"),
        ("binary", {"overall": "perhaps"}, "off_scale"),
    ],
)
def test_one_answer_off_its_scale_fails_them_all(
    bench: Bench, style: str, change: dict[str, Any], reason: str
) -> None:
    bench.prompt, bench.rubric = parts("en")
    outcomes = [
        j.outcome for j in judged(bench, of_style(bench, style, **change)).values()
    ]
    assert all(
        isinstance(outcome, Failure) and outcome.reason == reason
        for outcome in outcomes
    ), outcomes[0]
    assert len(bench.chat.requests) == 2, "it is told once what is wrong"


def test_uncertainty_argues_against_each_initial_score_revises_it_and_names_gates_perhaps_invented(
    own: Bench,
) -> None:
    start = Verdict(score=7.0, issues=("shallow",), details={"accuracy": 0.8})
    judge = UncertaintyJudge(FixedJudge(start), asker(own, "uncertainty", DOUBTS))
    whole = verdict(own, judge)
    assert (whole.score, whole.interval, whole.confidence) == (
        3,
        (pytest.approx(3), pytest.approx(7)),
        60,
    )
    assert whole.uncertainty == "medium" and whole.review, (
        "strength 0.4, width 4, one major issue; a person is wanted"
    )
    assert whole.doubt == pytest.approx(0.4)
    assert whole.revised_score == 3 and whole.is_uncertain is True
    assert whole.details["initial_score"] == 7 and whole.details[
        "hallucination_risk"
    ] == pytest.approx(0.4)
    assert whole.details["major_issues"] == 1 and whole.details["accuracy"] == 0.8
    assert (
        whole.issues[0] == "shallow"
        and whole.issues[2] == "missing critical gate: Singlets"
    )
    assert "7" in own.chat.requests[0]["messages"][-1]["content"]
    made, start = asker(own, "uncertainty", DOUBTS), of_style(own)
    own.chat.answer = _in_turn(ANSWERS["default"], DOUBTS)
    whole = verdict(own, UncertaintyJudge(start, made))
    asked = own.chat.requests[-1]["messages"][-1]["content"]
    assert "completeness 1, accuracy 8, scientific 7.5, overall 6" in asked
    assert (
        whole.details["invented_gates"] == "T cells"
        and "may be invented: T cells" in whole.issues
    )


def test_the_expensive_style_is_called_where_the_judge_and_the_metric_disagree(
    own: Bench,
) -> None:
    cheap = of_style(own)
    strict = UncertaintyJudge(
        FixedJudge(Verdict(score=6.0)),
        asker(own, "uncertainty", ANSWERS["default"], DOUBTS),
    )
    cheap.asker = strict.asker
    judge = SelectiveJudge(
        cheap, strict, own.rubric, Rules(disagrees_with_f1={}, high_score={})
    )
    calm = verdict(own, judge, automatic_f1=0.6, hallucination_rate=0.0)
    assert (calm.score, calm.details["rules_fired"]) == (6, "")
    own.chat.answer = _in_turn(ANSWERS["default"], DOUBTS)
    fired = verdict(own, judge, automatic_f1=0.4, hallucination_rate=0.0)
    assert fired.details["rules_fired"] == "disagrees_with_f1" and fired.score == 3


def _in_turn(*answers: dict[str, Any]) -> Any:
    texts = [json.dumps(answer) for answer in answers]
    return lambda _: (texts.pop(0), None)


def test_styles_together_are_one_panel(own: Bench) -> None:
    cheap = of_style(own)
    members = [
        cheap,
        UncertaintyJudge(
            FixedJudge(Verdict(score=6.0)), asker(own, "uncertainty", DOUBTS)
        ),
    ]
    own.chat.answer = _in_turn(ANSWERS["default"], DOUBTS)
    whole = verdict(own, PanelJudge(members, own.rubric))
    assert whole.score == pytest.approx(4.5)
    assert whole.interval == (
        pytest.approx(3.5),
        pytest.approx(5.5),
    ), "mean 0.45 +- 0.1, no judgment of high level"
    assert whole.review, "one member asks for a person"
    unread = judged(
        own, PanelJudge(members, own.rubric), {**INPUTS, "prediction": "No idea."}
    )[OVERALL].outcome
    assert isinstance(unread, Failure) and unread.reason == "input", (
        "not an answer that could not be read"
    )


@pytest.mark.parametrize("style", list(CLASSES))
def test_in_levels_every_number_is_a_question(own: Bench, style: str) -> None:
    made = own.levels(lambda _: {4: 3.0, 3: 1.0}, base=False)
    made.wordings = wordings(style)
    found = judged(own, CLASSES[style](made))
    assert [j.score for j in found.values()] == pytest.approx(
        [10 * (0.75 * 1 + 0.25 * 0.75)] * len(found)
    )
    assert len(own.chat.requests) == len(numbers(CLASSES[style].asked))
    assert found[OVERALL].outcome.confidence is not None  # type: ignore[union-attr]


def test_uncertainty_in_levels_asks_four_questions_of_a_base_model(own: Bench) -> None:
    made = own.levels(lambda _: {4: 3.0, 3: 1.0})
    made.wordings = wordings("uncertainty")
    whole = verdict(own, UncertaintyJudge(FixedJudge(Verdict(score=2.0)), made))
    assert whole.score == pytest.approx(9.375) and whole.confidence == pytest.approx(
        93.75
    )
    assert (
        len(own.chat.requests) == 4 and whole.review and whole.uncertainty == "high"
    ), "the score moved by seven"


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("text", "defect"),
    [
        ("(empty)", "not_a_hi"),
        ('{"name": "All', "truncated"),
        ("A -> B\nB -> A", "cyclic"),
        ("No idea.", "not_a_hi"),
    ],
)
def test_what_is_no_hierarchy_fails_and_nobody_is_asked(
    bench: Bench, style: str, text: str, defect: str
) -> None:
    made, start = asker(bench, style, DOUBTS), FixedJudge(Verdict(score=5.0))
    judge = (
        UncertaintyJudge(start, made)
        if style == "uncertainty"
        else CLASSES[style](made)
    )
    inputs = {key: value for key, value in INPUTS.items() if key != "prediction"} | {
        "unparsed": text
    }
    for given in (inputs, inputs | {"prediction": text}):
        outcome = judged(bench, judge, given)[OVERALL].outcome
        assert (
            isinstance(outcome, Failure)
            and outcome.reason == "input"
            and f"; {defect}" in outcome.message
        )
    assert not bench.chat.requests and start.asked == 0


def cases(folder: Path, predictions: list[Any]) -> str:
    """A folder with one case per prediction."""
    tree = {
        "name": "All Events",
        "children": [{"name": "Singlets", "children": ["T cells", "B cells"]}],
    }
    case = {"panel": ["CD3", "CD19"], "gating_hierarchy": tree}
    truths = [case | {"test_case_id": f"c{n}"} for n in range(len(predictions))]
    rows = [
        {"test_case_id": f"c{n}", "id": f"p{n}", "prediction": given}
        for n, given in enumerate(predictions)
    ]
    return written(folder, truths, rows)


def test_hosted_answers_of_every_kind_end_in_a_report_of_all_six_styles(
    tmp_path: Path,
) -> None:
    kinds = (
        "right",
        "fenced",
        "truncated",
        "cut-json",
        "prose",
        "wrong-fields",
        "off-scale",
        "refusal",
    )
    given: list[Any] = [
        {"name": "All Events", "children": [{"name": f"Gate {kind}"}]} for kind in kinds
    ]
    folder = cases(tmp_path, [*given, '{"name": "All Ev'])
    judges = ", ".join(f"gating/{style}" for style in STYLES)
    with StubServer(
        faults={f"Gate {kind}": Fault(kind, times=None) for kind in kinds[1:]}
    ) as stub:
        overrides = [
            "experiment=gating",
            f"judges=[{judges}]",
            "model=openai_compatible",
            "model.name=m",
        ]
        overrides += [
            f"model.api_base={stub.url}/v1",
            f"dataset.path={folder}",
            "tracking=none",
            "readout=structured",
        ]
        overrides.append("engine.max_failures=1")
        run_experiment(compose_config(overrides), CHOICES, tmp_path / "run")
    found: dict[str, list[str]] = {}
    for j in read_records(tmp_path / "run" / "judgments.jsonl", Judgment):
        if j.criterion == OVERALL:
            found.setdefault(j.item_id, []).append(
                getattr(j.outcome, "reason", "score")
            )
    for n, wanted in enumerate(["score", "score", *["unparseable"] * 4]):
        assert found[f"p{n}"] == [wanted] * len(STYLES), kinds[n]
    assert set(found["p6"]) <= {
        "off_scale",
        "unparseable",
        "score",
    }, "what is off its scale need not be the score"
    assert found["p7"] == ["refusal"] * len(STYLES) and found["p8"] == ["input"] * len(
        STYLES
    )
    report = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert (
        "1 prediction is no hierarchy" in report
        and "Undecided" in report
        and "It is open whether you can trust the overall score of" in report
    )


def test_who_gives_neither_words_nor_levels_is_named() -> None:
    with pytest.raises(ConfigError, match="patterns"):
        Recipe(compose_config(["experiment=gating", "model=patterns"])).build()


def test_the_shipped_predictions_are_read_as_what_they_are() -> None:
    items = GatingDataset().load()
    assert len({item.pair for item in items}) >= 10
    by = {item.condition: item for item in items}
    wanted = {
        "truncated": "truncated",
        "prose": "not_a_hierarchy",
        "empty": "empty",
        "cyclic": "cyclic",
    }
    assert {name: by[name].metadata["defect"] for name in wanted} == wanted
    assert all(
        "prediction" not in item.inputs for item in items if "defect" in item.metadata
    )
    alone = parse(by["root_only"].inputs["prediction"])
    assert alone.name == "All Events" and not alone.children, (
        "what judges are shown is a hierarchy for them, too"
    )
    assert all(
        parse(item.inputs["prediction"])
        for item in items
        if "prediction" in item.inputs
    )
    faithful = [item for item in items if item.condition == "faithful"]
    assert all(item.metadata["automatic_f1"] > 0.85 for item in faithful)
    assert all(
        item.metadata["hallucination_rate"] > 0.04
        for item in items
        if item.condition == "invented"
    )


@pytest.mark.local_model
def test_the_embedded_model_is_asked_in_levels_and_ends_in_a_report(
    tmp_path: Path,
) -> None:
    overrides = [
        "experiment=gating",
        "judge=gating/uncertainty",
        "run.limit=1",
        "tracking=none",
    ]
    run_experiment(compose_config(overrides), CHOICES, tmp_path / "run")
    (judgment,) = read_records(tmp_path / "run" / "judgments.jsonl", Judgment)
    assert isinstance(found := judgment.outcome, Verdict)
    assert (
        found.score is not None
        and 0 <= found.score <= 10
        and found.confidence is not None
    )
    assert {
        "completeness",
        "accuracy",
        "scientific",
        "hallucination_risk",
        "initial_score",
    } <= found.details.keys()
    assert "Undecided." in (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
