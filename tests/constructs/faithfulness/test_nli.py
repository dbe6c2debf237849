"""The three pillars as judges: coverage, nli, buckets; alone, together, and on items that lack what
they read."""

import asyncio
import json
from pathlib import Path
from typing import Any

import dspy
import pytest
import yaml

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.conftest import FakeChat, put
from tests.judges.conftest import Bench
from undogmatic.api import judge_items
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.constructs.faithfulness.bucket import BucketJudge, stands_in
from undogmatic.constructs.faithfulness.nli import LlmEntailment, NliJudge
from undogmatic.datasets.tabular import TextsDataset
from undogmatic.engine.recipe import Recipe
from undogmatic.engine.step import JudgeStep
from undogmatic.errors import ConfigError
from undogmatic.experiment import run_experiment
from undogmatic.models.language_model import LanguageModel
from undogmatic.records.records import Failure, Item, Judgment, Provenance, Verdict
from undogmatic.runs.index import read_records
from undogmatic.safety.paths import conf_folder

REFERENCE = (
    "The tenant stopped paying rent because the heating had failed. The trial court ruled for the"
    " landlord. By a vote of 5-4, the Supreme Court affirmed the judgment on June 3, 2019. Justice"
    " Cole dissented."
)
GOOD = (
    "A tenant withheld rent over a broken heating. The trial court ruled for the landlord. The"
    " Supreme Court affirmed, 5-4, on June 3, 2019. Justice Cole dissented."
)
TURNED = GOOD.replace("Supreme Court affirmed", "Supreme Court reversed the judgment")
CHOSEN = {
    "rubric": "faithfulness",
    "model": "local",
    "prompt": "anchored_pt",
    "judge": "score",
    "dataset": "texts",
}
CHOSEN |= {"readout": "auto", "analysis": "none", "engine": "local", "tracking": "none"}
FILLER = (
    " Many people took an interest in the case. It was widely discussed in the press, as such cases"
    " often are."
)


def item(summary: str, reference: str | None = REFERENCE, name: str = "c/s") -> Item:
    inputs = {"summary": summary} | (
        {} if reference is None else {"reference": reference}
    )
    return Item(id=name, inputs=inputs, pair=name.split("/", maxsplit=1)[0])


def judged(
    summary: str, *overrides: str, reference: str | None = REFERENCE
) -> dict[str, Judgment]:
    found = judge_items([item(summary, reference)], ["rubric=faithfulness", *overrides])
    return {judgment.criterion: judgment for judgment in found}


def details(judgment: Judgment) -> dict[str, Any]:
    assert isinstance(judgment.outcome, Verdict), judgment.outcome
    return judgment.outcome.details


def failure(judgment: Judgment) -> Failure:
    assert isinstance(judgment.outcome, Failure)
    return judgment.outcome


def sentence_rows(judgment: Judgment) -> list[dict[str, Any]]:
    return json.loads(str(details(judgment)["sentences"]))  # type: ignore[no-any-return]


def test_coverage_is_the_share_of_the_reference_that_is_said_by_the_config_s_threshold_and_side() -> (
    None
):
    whole = judged(GOOD, "judge=coverage")["coverage"]
    half = judged("No rent was paid while the heating was broken.", "judge=coverage")[
        "coverage"
    ]
    assert (whole.score, half.score) == (1, 0.25)
    table = sentence_rows(half)
    assert [row["covered"] for row in table] == [True, False, False, False]
    assert table[0]["best_match"].startswith("No rent") and table[0]["similarity"] > 0.5
    assert whole.provenance.model == "all-MiniLM-L6-v2-int8"
    same = "The tenant stopped paying rent because the heating had failed."
    strict = judged(same, "judge=coverage", "judge.threshold=1", reference=same)[
        "coverage"
    ]
    loose = judged(
        same,
        "judge=coverage",
        "judge.threshold=0.999",
        "judge.inclusive=true",
        reference=same,
    )["coverage"]
    assert loose.score == 1
    assert strict.provenance.program_hash != loose.provenance.program_hash


def test_nli_by_rules_finds_the_turned_outcome_says_by_which_rule_and_filler_does_not_move_it() -> (
    None
):
    good, turned = judged(GOOD, "judge=nli")["nli"], judged(TURNED, "judge=nli")["nli"]
    assert (good.score, turned.score) == (1, 0.75)
    row = sentence_rows(turned)[2]
    assert row["label"] == "contradiction" and row["kind"] == "outcome"
    assert "'affirmed'" in row["why"] and "'reversed'" in row["why"]
    assert isinstance(turned.outcome, Verdict) and turned.outcome.issues == (
        row["why"],
    )
    for summary, plain in ((GOOD, good), (TURNED, turned)):
        assert judged(summary + FILLER, "judge=nli")["nli"].score == plain.score


def test_bucket_rules_give_the_severity_of_the_gravest_fault() -> None:
    def buckets(summary: str) -> list[float]:
        found = judged(summary, "judge=bucket_rules")
        assert list(found) == ["factual_accuracy", "completeness"]
        assert all(
            j.score == pytest.approx(float(details(j)["bucket"]) / 5)
            for j in found.values()
        )
        return [float(details(judgment)["bucket"]) for judgment in found.values()]

    assert buckets(GOOD) == [5, 5]
    assert buckets(TURNED) == [2, 5]
    assert buckets(GOOD.replace("June 3", "June 13")) == [4, 5]
    assert buckets(GOOD.replace(" Justice Cole dissented.", "")) == [5, 3]
    assert buckets("Bread rises when yeast is warm.") == [1, 1]


@pytest.mark.parametrize("judge", ["coverage", "nli", "bucket_rules"])
def test_an_item_without_what_is_compared_fails_and_is_no_number(judge: str) -> None:
    alone = list(judged(GOOD, f"judge={judge}", reference=None).values())
    silent = list(judged("Yes. No.", f"judge={judge}").values())
    assert {failure(j).reason for j in alone + silent} == {"input"}
    assert "no reference" in failure(alone[0]).message
    assert "the summary has no sentence" in failure(silent[0]).message


ANSWER: dict[str, Any] = {
    "errors": [
        {
            "quote": "affirmed, 5-4",
            "problem": "the vote",
            "correct": "6-3",
            "severity": "minor",
        },
        {
            "quote": "the moon is cheese",
            "problem": "invented",
            "correct": "it is not",
            "severity": "major",
        },
    ],
    "omissions": ["the concurrence"],
    "hedging": False,
    "rationale": "A vote is wrong.",
    "factual_accuracy": 3,
    "completeness": 4,
}


def by_model(
    *answers: Any, nli: bool = False, language: str = "en"
) -> tuple[list[Judgment], FakeChat]:
    """What a chat model's answers (the last one repeats) make of the good summary."""
    config = compose_config(["rubric=faithfulness", f"prompt=anchored_{language}"])
    provenance = Provenance(
        model="", readout="", prompt="", prompt_hash="", program_hash="", config_hash=""
    )
    bench = Bench(
        build(config["prompt"], "prompt"), build(config["rubric"], "rubric"), provenance
    )
    asker = bench.words(*answers)
    if nli:
        asker.wordings = yaml.safe_load(
            (conf_folder() / "nli/llm.yaml").read_text("utf-8")
        )["wordings"]
    judge = NliJudge(LlmEntailment(asker)) if nli else BucketJudge(asker)
    judge.judge_by(bench.rubric)
    with dspy.context(lm=LanguageModel(bench.chat)):
        return asyncio.run(JudgeStep(judge, provenance).process(item(GOOD))), bench.chat


def test_a_models_buckets_come_with_its_errors_and_omissions_and_words_in_their_place_are_unparseable() -> (
    None
):
    (accuracy, completeness), chat = by_model(ANSWER)
    assert [accuracy.criterion, completeness.criterion] == [
        "factual_accuracy",
        "completeness",
    ]
    assert [accuracy.score, completeness.score] == pytest.approx([0.6, 0.8])
    assert [details(accuracy)["bucket"], details(completeness)["bucket"]] == [3, 4]
    errors = json.loads(str(details(accuracy)["errors"]))
    assert [row["quote_found"] for row in errors] == [True, False]
    assert isinstance(accuracy.outcome, Verdict) and accuracy.outcome.review
    assert "does not stand in the summary" in accuracy.outcome.issues[-1]
    assert json.loads(str(details(completeness)["omissions"])) == [
        {"omission": "the concurrence"}
    ]
    system = chat.requests[0]["system"]
    assert (
        "2 = the holding is missing, or the outcome is reversed" in system
        and "Scale from 0 to 1" not in system
    )
    assert (
        "(a dissent" not in system
        and "Judged summary:" in chat.requests[0]["messages"][-1]["content"]
    )
    assert (
        failure(by_model("I would say four out of five.")[0][0]).reason == "unparseable"
    )
    assert by_model(ANSWER | {"completeness": 9}, ANSWER, language="pt")[0][
        1
    ].score == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"factual_accuracy": 0}, "off_scale"),
        ({"factual_accuracy": 3.5}, "off_scale"),
        ({"completeness": 6}, "off_scale"),
        ({"completeness": "fairly"}, "unparseable"),
        ({"errors": [{"quote": "x"}]}, "unparseable"),
        ({"omissions": None}, "unparseable"),
    ],
)
def test_an_answer_off_the_buckets_fails_as_what_it_is(
    change: dict[str, Any], reason: str
) -> None:
    judgments, chat = by_model(ANSWER | change)
    assert [failure(judgment).reason for judgment in judgments] == [reason, reason]
    assert failure(judgments[0]).raw is not None
    assert len(chat.requests) == 2, "it is told once what is wrong"


@pytest.mark.parametrize(
    ("quote", "stands"),
    [
        ("The Supreme Court affirmed", True),
        ("“supreme court   AFFIRMED, 5-4”.", True),
        ("The trial court ... affirmed", True),
        ("affirmed ... the moon", False),
        ("reversed", False),
        ("...", False),
    ],
)
def test_a_quote_is_looked_up_as_a_reader_would(quote: str, stands: bool) -> None:
    assert stands_in(quote, GOOD) is stands


def test_a_models_contradictions_count_per_sentence_and_one_on_no_list_makes_the_answer_unreadable() -> (
    None
):
    named = [
        {"reference": 3, "summary": 3, "kind": "vote", "why": "other numbers"},
        {"reference": 3, "summary": 1, "kind": "fact", "why": "again"},
    ]
    (judgment,), chat = by_model({"contradictions": named}, nli=True)
    assert judgment.score == 0.75
    row = sentence_rows(judgment)[2]
    assert (row["label"], row["kind"]) == ("contradiction", "vote")
    assert "3. By a vote of 5-4" in chat.requests[0]["messages"][-1]["content"]
    assert by_model({"contradictions": []}, nli=True)[0][0].score == 1
    (judgment,), _ = by_model(
        {"contradictions": [named[0] | {"reference": 9}]}, nli=True
    )
    assert (
        failure(judgment).reason == "unparseable"
        and "sentences 1 to 4" in failure(judgment).message
    )


@pytest.mark.parametrize("choice", ["judge=bucket", "nli=llm"])
def test_who_needs_words_says_so_to_a_model_that_gives_numbers(choice: str) -> None:
    with pytest.raises(ConfigError):
        Recipe(
            compose_config(
                ["rubric=faithfulness", "judge=nli", choice, "model=patterns"]
            )
        ).build()


def test_models_and_means_of_entailment_judge_side_by_side_and_the_pillars_share_their_embeddings() -> (
    None
):
    server = "model: openai_compatible, api_base: 'http://127.0.0.1:1/v1'"
    two = ", ".join(
        f"{{judge: bucket, model: {{{server}, name: {name}}}}}" for name in ("a", "b")
    )
    parts = Recipe(
        compose_config(
            ["rubric=faithfulness", f"judges=[nli, coverage, bucket_rules, {two}]"]
        )
    ).build()
    assert [step.name for step in parts.judges] == [
        "nli",
        "coverage",
        "bucket_rules",
        "bucket",
        "bucket-2",
    ]
    assert len({step.provenance.model for step in parts.judges[3:]}) == 2
    used = [step.judge.embeddings for step in parts.judges[1:3]]  # type: ignore[attr-defined]
    assert used[0] is used[1] is parts.judges[0].judge.nli.embeddings  # type: ignore[attr-defined]
    judges = "judges=[{judge: nli, nli: rules}, {judge: nli, nli: {nli: rules, aligned: 0.9}}]"
    parts = Recipe(compose_config(["rubric=faithfulness", judges])).build()
    assert [step.name for step in parts.judges] == ["nli", "nli-2"]
    assert len({step.provenance.program_hash for step in parts.judges}) == 2


def test_a_run_over_a_file_of_summaries_needs_no_key_and_counts_what_fails(
    tmp_path: Path,
) -> None:
    rows = [
        {
            "id": "c1/a",
            "pair": "c1",
            "summary": GOOD,
            "reference": REFERENCE,
            "system": "a",
        },
        {
            "id": "c1/b",
            "pair": "c1",
            "summary": TURNED,
            "reference": REFERENCE,
            "opinion": "Long.",
            "system": "b",
        },
        {"id": "c2/a", "pair": "c2", "summary": GOOD, "system": "a"},
    ]
    file = put(tmp_path / "mine.jsonl", rows)
    overrides = [
        "rubric=faithfulness",
        "judges=[nli, coverage, bucket_rules]",
        "dataset=texts",
        f"dataset.path={file}",
    ]
    config = compose_config(
        [*overrides, "analysis=none", "tracking=none", "engine.max_failures=1"]
    )
    run_experiment(config, CHOSEN, tmp_path / "run")
    found = list(read_records(tmp_path / "run" / "judgments.jsonl", Judgment))
    assert len(found) == 3 * 4
    scores = {(j.item_id, j.criterion): j.score for j in found}
    assert scores["c1/a", "nli"] == 1 and scores["c1/b", "nli"] == 0.75
    assert {failure(j).reason for j in found if j.item_id == "c2/a"} == {"input"}


def test_columns_that_a_rubric_lets_items_lack_are_inputs_where_they_are_filled(
    tmp_path: Path,
) -> None:
    file = put(
        tmp_path / "mine.csv",
        "id,summary,reference,opinion,system\na,S.,R.,O.,x\nb,S.,,,y\n",
    )
    items = TextsDataset(
        str(file), ["summary", "reference"], optional=["reference", "opinion"]
    ).load()
    assert [each.inputs for each in items] == [
        {"summary": "S.", "reference": "R.", "opinion": "O."},
        {"summary": "S."},
    ]
    assert [each.metadata for each in items] == [{"system": "x"}, {"system": "y"}]
