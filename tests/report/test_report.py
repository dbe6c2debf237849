"""The report and the terminal of a finished run and of a sweep, also with an analysis or a rubric
of a user's own."""

import dataclasses
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.conftest import Capture, Patch
from tests.report.conftest import Build, asked, trial_result, verdict
from tests.report.test_document import HOSTILE, Page, read
from undogmatic.constructs.shame.curated import CuratedDataset
from undogmatic.constructs.shame.patterns import PatternsModel
from undogmatic.datasets.base import SubsetDataset
from undogmatic.datasets.tabular import TextsDataset
from undogmatic.examinations.ab import AbAnalysis
from undogmatic.examinations.base import analyse
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.models.base import Model
from undogmatic.records.records import Failure, Item, Verdict
from undogmatic.records.results import Finding, Told
from undogmatic.records.rubric import Rubric
from undogmatic.records.sweep_result import SweepResult
from undogmatic.records.wordings import Licensed, texts_beside
from undogmatic.report import contents, document, sweep, terminal
from undogmatic.runs.outcome import FinishedRun, Repeatability
from undogmatic.safety.outside import visible


def as_lines(printed: str) -> list[str]:
    return [" ".join(line.split()) for line in printed.splitlines()]


def name(text: str) -> str:
    """The text as an id may be: on one line, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def page_of(folder: Path) -> tuple[Page, str]:
    """report.html and its words."""
    page = read((folder / "report.html").read_text(encoding="utf-8"))
    return page, " ".join(" ".join(page.words).split())


def written(run: FinishedRun) -> tuple[str, str]:
    """report.md and the words of report.html."""
    contents.write(run)
    return (run.folder / "report.md").read_text(encoding="utf-8"), page_of(run.folder)[
        1
    ]


def test_the_question_comes_first_then_the_verdict(finished: Build) -> None:
    markdown, shown = written(finished())
    assert markdown.startswith("# Does gemma3-270m-q4-k-m tell the two sorts apart?\n")
    assert markdown.index(
        "Trust the order, not the numbers: 8 pairs, 94%"
    ) < markdown.index("What was run")
    assert "94% [80%, 99%]" in shown  # the headline with its interval


def test_portuguese(finished: Build) -> None:
    markdown, shown = written(finished(language="pt"))
    assert markdown.startswith("# gemma3-270m-q4-k-m distingue os dois tipos?\n")
    assert "[0,80; 0,99], p < 0,001" in shown
    assert "Diferença média de 58,8 pontos." in shown
    assert "só autoridade 8 81,2 só explicação 8 22,5" in shown


def test_what_was_run_is_complete(finished: Build) -> None:
    run = finished(metrics=dict(finished().metrics) | {"usd": 0.0123})
    _, shown = written(run)
    for fact in (
        "local: gemma3-270m-q4-k-m-0123456789ab",
        "anchored_pt, hash aaaaaaaaaaaa",
        "pairs, 16 items, test split",
        "e" * 16,
        "16 of 16",
        "12,880 / 16",
        "0.0123",
        "4.0 s in all, 2.5 s of it judging",
        "c" * 16,
        "f" * 40,
        "python 3.11.9",
        "practically only authority",
    ):
        assert fact in shown, fact


def test_the_question_is_told_where_somebody_is_asked_it(finished: Build) -> None:
    question = "Question put to the judge: With every appeal to authority deleted"
    for asks in (True, False):
        _, shown = written(finished(asked=[asked(uses_prompt=asks)]))
        assert (question in shown) == asks


EARLIER = Path("outputs/x")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, ["unknown: no price is known for this model"]),  # and not 0
        # where no licence is declared
        ({}, ["under its provider's terms", "the user's own"]),
        (
            {"asked": [asked()]},
            ["Avalie o texto.", "changing the prompt changes nothing"],
        ),
        (
            {"asked": [asked(uses_prompt=True)]},
            ["Avalie o texto.", "The model sees the prompt “anchored_pt”."],
        ),
        (
            {
                "asked": [
                    asked(),
                    asked("Argue against it.", readout="logprobs", uses_prompt=True),
                ]
            },
            [
                "Avalie o texto.",
                "Argue against it.",
                "in some questions only (not with readout=probe)",
            ],
        ),
        (
            {},
            [
                "the first run with these settings",
                "No answer came from the cache",
                "not draw its answer",
            ],
        ),
        (
            {"repeatability": Repeatability(EARLIER, True, 0.0, 1.0, True)},
            ["the same as in the earlier run outputs/x", "100% of"],
        ),
        (
            {"repeatability": Repeatability(EARLIER, False, 3.25, 0.0, False)},
            ["differ from", "by up to 3.25 points", "draws its answer at random"],
        ),
    ],
)
def test_what_was_asked_and_what_is_unknown_is_said(
    finished: Build, fields: dict[str, Any], said: list[str]
) -> None:
    _, shown = written(finished(**fields))
    assert [words for words in said if words not in shown] == []


def test_every_failure_is_counted_at_the_top_and_listed(finished: Build) -> None:
    failed = [
        (Item(id=f"bad{n}", text="x"), Failure(reason=kind, message=f"message {n}"))  # type: ignore[arg-type]
        for n, kind in enumerate(("timeout", "timeout", "refusal"))
    ]
    markdown, shown = written(
        finished([*failed, (Item(id="good", text="x"), verdict(50))])
    )
    assert (
        "3 of 4 judgments failed (no answer in time: 2, refused: 1)"
        in markdown.split("What was run")[0]
    )
    for n in range(3):
        assert f"bad{n}" in shown and f"message {n}" in shown


def test_hostile_texts_ids_conditions_and_messages_stay_text(finished: Build) -> None:
    outcomes = [
        (
            Item(id=f"{n}{name(h)}", text=h, condition=name(h)),
            verdict(10.0 * n, rationale=h),
        )
        for n, h in enumerate(HOSTILE[:10])
    ]
    outcomes += [
        (Item(id=name(h), text=h), Failure(reason="unparseable", message=h))
        for h in HOSTILE
    ]  # type: ignore[misc]
    run = finished(
        outcomes, [], asked=[asked("```\n".join(HOSTILE))], model_name=HOSTILE[0]
    )
    _, shown = written(run)
    for text in HOSTILE:
        assert " ".join(visible(text).split()) in shown
    page, _ = page_of(run.folder)
    assert (
        not {"iframe", "link", "object", "form"} & set(page.tags)
        and page.tags.count("script") == 2
    )
    places = ("data:image/png;base64,", "#part-", "#item-")
    sources = [str(value) for name, value in page.attributes if name in ("src", "href")]
    assert [source for source in sources if not source.startswith(places)] == []
    kept = (document.TEMPLATES / "report.js").read_text(encoding="utf-8")
    whole = (run.folder / "report.html").read_text(encoding="utf-8")
    assert (
        f"script-src '{document.by_hash(kept)}'" in whole
        and f"<script>{kept}</script>" in whole
    )
    assert "unsafe" not in whole.split("<style>")[0]


def test_without_an_analysis_nothing_is_claimed_and_the_scores_are_drawn(
    finished: Build,
) -> None:
    run = finished(results=[])
    assert "nothing is claimed about these scores" in written(run)[1]
    assert (run.folder / "figures" / "common_scores.png").is_file()


def test_texts_worth_reading_are_the_extreme_and_the_uncertain(finished: Build) -> None:
    scores = {"top": 99.0, "bottom": 1.0, "unsure": 50.0} | {
        f"other{n}": 80.0 + n for n in range(9)
    }
    outcomes = [
        (Item(id=name, text=f"text of {name}", label=7), verdict(score))
        for name, score in scores.items()
    ]
    markdown, _ = written(finished(outcomes))
    part = markdown.split("## Texts worth reading yourself")[1].split("## The prompt")[
        0
    ]
    highest, lowest, uncertain = re.split(r"### (?:Lowest|Most doubt).*", part)
    assert "text of top" in highest and "text of bottom" in lowest
    assert "text of unsure" in lowest + uncertain
    assert "confidence" in highest and "human label 7.0" in highest


def test_long_tables_are_shortened_and_kept_whole_in_a_file(finished: Build) -> None:
    long = Told("trial", {}, tables={"rows": pd.DataFrame({"n": range(100)})})
    run = finished(results=[long])
    _, shown = written(run)
    assert "25 of 100 rows are shown; the whole table is tables/trial_rows.csv" in shown
    assert len(pd.read_csv(run.folder / "tables" / "trial_rows.csv")) == 100


def test_the_command_is_the_one_that_was_typed_or_is_made_from_the_choices(
    finished: Build,
) -> None:
    run = finished()
    markdown, _ = written(run)
    line = next(
        x for x in markdown.splitlines() if x.startswith("python -m undogmatic.run")
    )
    assert {
        "model=local",
        "readout=auto",
        "dataset=pairs",
        "seed=0",
        "report.language=en",
    } <= set(line.split())
    (run.folder / ".hydra").mkdir(parents=True)
    (run.folder / ".hydra" / "overrides.yaml").write_text(
        "- model=tfidf\n- run.name='a b'\n- run.resume=last\n"
    )
    markdown, _ = written(run)
    assert (
        "\npython -m undogmatic.run model=tfidf 'run.name='\"'\"'a b'\"'\"''\n"
        in markdown
    )


def test_licences_are_printed_as_their_owners_declare_them(finished: Build) -> None:
    run = finished(
        model_licences=[{"en": "Mine."}, {"fr": "À moi."}],
        data_licence={"en": "Ours.", "pt": "Nosso."},
    )
    _, shown = written(run)
    assert (
        "Mine." in shown
        and "À moi." in shown
        and "Ours." in shown
        and "Nosso." not in shown
    )


def test_terminal_says_verdict_numbers_readout_and_paths_and_no_markup_of_a_finding(
    finished: Build, capsys: Capture
) -> None:
    run = finished()
    terminal.show(run, "mlflow ui --backend-store-uri sqlite:///mlruns/mlflow.db")
    out = capsys.readouterr().out
    lines = as_lines(out)
    assert "\x1b" not in out
    assert {
        "Pairs in order 94% [80%, 99%]",
        "Does gemma3-270m-q4-k-m tell the two sorts apart?",
        # The working directory is above the folder, so the path is as one would type it.
        "Report outputs/2026-01-02/03-04-05/report.html",
        "Scores outputs/2026-01-02/03-04-05/scores.csv",
        "Tracking mlflow ui --backend-store-uri sqlite:///mlruns/mlflow.db",
    } <= set(lines)
    assert any(
        line.startswith("16 judged, none failed. Method: probe (chosen automatically).")
        for line in lines
    )
    assert len(out.splitlines()) <= 25
    hostile = dataclasses.replace(
        trial_result(),
        verdict=Finding("trial.none", {"x": "[bold]\x1b[31m[/] :smile:"}),
    )
    terminal.show(finished(results=[hostile]), None)
    out = capsys.readouterr().out
    assert "[bold]\ufffd[31m[/] :smile:" in out and "Tracking" not in out


def test_a_sweep_has_leaderboard_tests_failures_and_what_was_typed(
    swept: SweepResult, capsys: Capture
) -> None:
    swept.folder.mkdir()
    (swept.folder / "multirun.yaml").write_text(
        "hydra:\n  overrides:\n    task: ['model=local,tfidf,gpt']\n"
    )
    sweep.write(swept, swept.folder)
    page, shown = page_of(swept.folder)
    assert "Alguma destas 3 combinações é a melhor" in shown
    assert re.search(r"1 local \w+ 97% \[90%; 100%\]", shown) and re.search(
        r"2 gpt \w+ — ", shown
    )
    assert (
        "gpt-a model=gpt needs OPENAI_API_KEY <script>" in shown
        and "script" not in page.tags
    )
    assert "local-a tfidf-a 6,5 1,0 12,0 32 0,012 0,012" in shown
    assert "python -m undogmatic.run -m model=local,tfidf,gpt" in shown
    terminal.show_sweep(swept, None)
    lines = as_lines(capsys.readouterr().out)
    assert "Diferença média de 6,5 pontos." in lines
    assert any(re.fullmatch(r"1 local \w+ 97% \[90%; 100%\]", line) for line in lines)
    assert "3 tarefas, 1 sem resultado" in lines
    assert any("OPENAI_API_KEY" in line for line in lines)
    assert any(line.endswith(" sweep/report.html") for line in lines)


def test_folders_elsewhere_are_whole(
    finished: Build, swept: SweepResult, capsys: Capture, monkeypatch: Patch
) -> None:
    (swept.folder.parent / "elsewhere").mkdir()
    monkeypatch.chdir(swept.folder.parent / "elsewhere")
    terminal.show_sweep(swept, None)
    terminal.show(finished(), None)
    out = capsys.readouterr().out
    assert str(swept.folder / "report.html") in out
    assert str(finished().folder / "metrics.json") in out


def test_a_sweep_without_any_headline_says_so(
    swept: SweepResult, capsys: Capture
) -> None:
    empty = dataclasses.replace(
        swept, headline=None, jobs=swept.jobs.drop(columns=["headline", "low", "high"])
    )
    sweep.write(empty, empty.folder)
    terminal.show_sweep(empty, None)
    assert "não há classificação" in (empty.folder / "report.md").read_text(
        encoding="utf-8"
    )
    assert "Classificação" not in capsys.readouterr().out


def test_what_a_style_says_of_its_doubt_is_in_the_report(
    finished: Build, capsys: Capture
) -> None:
    sure = verdict(90.0, uncertainty="low")
    issues, details = (
        ("major (logical): begs the question",),
        {
            "critique_strength": 0.7,
            "compelling": "critic",
        },
    )
    doubtful = verdict(
        40.0, uncertainty="high", review=True, issues=issues, details=details
    )
    run = finished(
        [(Item(id="a", text="x"), sure), (Item(id="b", text="y"), doubtful)], []
    )
    _, shown = written(run)
    note = (
        "in 1 judgment, medium in 0, low in 1, not known in 0. 1 is marked for people to look at:"
        " undogmatic review"
    )
    assert note in shown and "doubt high" in shown and "compelling critic" in shown
    assert (
        "Issues: major (logical): begs the question What the judge answered besides:"
        " critique_strength 0.7" in shown
    )
    terminal.show(run, None)
    assert note in capsys.readouterr().out
    assert "marked for people" not in written(finished())[1]


MODULE = """
from undogmatic.examinations.ab import AbAnalysis
from undogmatic.records.results import Told, Finding

class Spread:
    name = "spread"

    def check(self, judged):
        pass

    def __call__(self, judged, rng):
        said = [Finding("spread.range", {"low": 1.0, "high": 9.5}), Finding("spread.odd", {"n": 3})]
        return [Told("spread", {"spread.range": 8.5}, findings=said, headline="spread.range")]

class OwnPairs(AbAnalysis):
    pass
"""
TEXTS = """
en:
  spread:
    question: How far apart does {model} score?
    title: Spread
    range: "From {low:.1f} to {high:.1f} {units}."
    metrics: {range: Range}
pt:
  spread:
    range: "De {low:.1f} a {high:.1f} {units}."
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Any]:
    """A module in a folder of the user's, with its words beside it."""
    path = tmp_path / "mine.py"
    path.write_text(MODULE)
    (tmp_path / "mine.texts.yaml").write_text(TEXTS)
    spec = importlib.util.spec_from_file_location("mine_of_a_user", path)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    # `inspect` finds a class's file by its module.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "mine_of_a_user", found)
        spec.loader.exec_module(found)
        yield found


def test_an_analysis_brings_its_words_and_an_unworded_finding_shows_its_values(
    module: Any, finished: Build
) -> None:
    run = finished()
    results = analyse(
        module.Spread(), RunEvidence(run.frame, run.rubric), np.random.default_rng(0)
    )
    markdown, shown = written(finished(results=results, texts=results[0].texts))
    assert markdown.startswith("# How far apart does gemma3-270m-q4-k-m score?\n")
    assert (
        "From 1.0 to 9.5 points." in shown
        and "[spread.odd] n = 3" in shown
        and "Range" in shown
    )
    _, shown = written(finished(results=results, texts=results[0].texts, language="pt"))
    # a title in English, where there is no other
    assert "De 1,0 a 9,5 pontos." in shown and "Spread" in shown


def test_who_inherits_an_analysis_inherits_its_words(module: Any) -> None:
    beside = texts_beside(module.OwnPairs)
    assert [path.name for path in beside] == [
        "mine.texts.yaml",
        "ab.texts.yaml",
        "base.texts.yaml",
    ]
    assert texts_beside(AbAnalysis) == beside[1:]
    assert texts_beside(dict) == ()


def test_the_shipped_datas_names_are_theirs_alone(
    finished: Build, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "1", "text": "x"}\n')
    own = TextsDataset(str(tmp_path / "a.jsonl"))
    assert texts_beside(own) == () and not isinstance(own, Licensed)
    shipped = CuratedDataset(["controls"])
    part = SubsetDataset(shipped, 5)
    assert (
        texts_beside(part) == texts_beside(shipped)
        and part.licence == shipped.licence is not None
    )
    assert SubsetDataset(own, 1).licence is None
    assert CuratedDataset(["controls"], path=str(own.path)).licence is None
    assert (
        "Apache-2.0" in (PatternsModel().licence or {})["pt"] and Model.licence is None
    )
    for texts, named in (
        ((), "authority_only"),
        (texts_beside(shipped), "authority only"),
    ):
        assert (
            f":authority_only ({named}): score"
            in written(finished(results=[], texts=texts))[1]
        )


def rubric(
    scale: dict[str, Any], wording: dict[str, Any] | None = None, **fields: Any
) -> Rubric:
    own = {"definition": "Help.", "question": "Does it help?"} | (wording or {})
    better = {"direction": "higher_is_better"} if scale["kind"] == "numeric" else {}
    return Rubric.model_validate(
        {"name": "own", "scale": scale, "wordings": {"en": own}} | better | fields
    )


NUMBERS = {"kind": "numeric", "minimum": 1, "maximum": 10, "step": 1}
NAMES = {"kind": "unordered", "categories": ["no", "yes", "partly"]}
BANDS = [{"name": "LOW", "low": 1, "high": 4}, {"name": "HIGH", "low": 5, "high": 10}]
OF_USE = {"meanings": ["of no use", "of use"], "unit": "stars"}
CASES = {
    "step": (rubric(NUMBERS), ["1–10 units in steps of 1.", "A high score is good."]),
    "bands": (
        rubric(NUMBERS, OF_USE, guide={"kind": "bands", "bands": BANDS}),
        ["1–10 stars in steps of 1.", "LOW (1-4) of no use", "HIGH (5-10) of use"],
    ),
    "categories": (
        rubric(NAMES, {"meanings": ["it does not", "it does", "a bit"]}),
        ["Scale: no / yes / partly.", "no it does not", "yes it does"],
    ),
    "inputs": (
        rubric(
            NUMBERS,
            {"headings": {"question": "The question"}},
            inputs=["question", "response"],
        ),
        [
            "Judged are: The question; response.",
            "The question: Why? response: Because.",
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_any_rubric_is_shown_with_its_scale_its_meanings_and_its_inputs(
    case: str, finished: Build
) -> None:
    own, said = CASES[case]
    item = Item(id="a", inputs={"question": "Why?", "response": "Because."})
    outcomes = [
        (item, Verdict(score=1.0, category="yes" if case == "categories" else None))
    ]
    _, shown = written(finished(outcomes, [], rubric=own, texts=()))
    assert [sentence for sentence in said if sentence not in shown] == []
    assert ("category yes" in shown) == (case == "categories")
