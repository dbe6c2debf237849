"""The report and the terminal of a finished run and of a sweep."""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.report.conftest import asked, trial_result, verdict
from tests.report.test_document import HOSTILE, Page, read
from undogmatic.records.records import Failure, Item
from undogmatic.records.results import AnalysisResult, Finding
from undogmatic.report import contents, sweep, terminal
from undogmatic.runs.outcome import FinishedRun, Repeatability, SweepResult
from undogmatic.safety.outside import visible

Build = Callable[..., FinishedRun]
Patch, Capture = pytest.MonkeyPatch, pytest.CaptureFixture[str]


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
    return (run.folder / "report.md").read_text(encoding="utf-8"), page_of(run.folder)[1]


def test_the_question_comes_first_then_the_verdict(finished: Build) -> None:
    markdown, shown = written(finished())
    assert markdown.startswith("# Does local tell the two sorts apart?\n")
    assert markdown.index("Believe the order, not the numbers: 8 pairs, 94%") < markdown.index("What was run")
    assert "94% [80%, 99%]" in shown  # the headline with its interval


def test_portuguese(finished: Build) -> None:
    markdown, shown = written(finished(language="pt"))
    assert markdown.startswith("# local distingue os dois tipos?\n")
    assert "[0,80; 0,99], p < 0,001" in shown
    assert "Diferença média de 58,8 pontos." in shown
    assert "só autoridade 8 81,2 só explicação 8 22,5" in shown


def test_what_was_run_is_complete(finished: Build) -> None:
    run = finished(metrics=dict(finished().metrics) | {"usd": 0.0123})
    _, shown = written(run)
    for fact in (
        "local: gemma3-270m-q4-k-m-0123456789ab", "anchored_pt, hash aaaaaaaaaaaa", "pairs, 16 items, test split",
        "e" * 16, "16 of 16", "12,880 / 16", "0.0123", "4.0 s in all, 2.5 s of it judging",
        "c" * 16, "f" * 40, "python 3.11.9",
        "practically only authority", "With every appeal to authority deleted",
    ):  # fmt: skip
        assert fact in shown, fact


EARLIER = Path("outputs/x")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, ["unknown: no price is known for this model"]),  # and not 0
        ({}, ["under its provider's terms", "the user's own"]),  # where no licence is declared
        ({"asked": [asked()]}, ["Avalie o texto.", "all prompt variants of a language give the same scores"]),
        (
            {"asked": [asked(uses_prompt=True)]},
            ["Avalie o texto.", "The prompt variant anchored_pt reaches the model."],
        ),
        (
            {"asked": [asked(), asked("Argue against it.", readout="logprobs", uses_prompt=True)]},
            ["Avalie o texto.", "Argue against it.", "for some of the questions only, not with readout probe"],
        ),
        ({}, ["no earlier finished run", "No answer came from the cache", "temperature 0"]),
        (
            {"repeatability": Repeatability(EARLIER, True, 0.0, 1.0, True)},
            ["identical to those of the earlier run outputs/x", "100% of"],
        ),
        (
            {"repeatability": Repeatability(EARLIER, False, 3.25, 0.0, False)},
            ["differ from", "by up to 3.25 points", "samples"],
        ),
    ],
)
def test_what_was_asked_and_what_is_unknown_is_said(finished: Build, fields: dict[str, Any], said: list[str]) -> None:
    _, shown = written(finished(**fields))
    assert [words for words in said if words not in shown] == []


def test_every_failure_is_counted_at_the_top_and_listed(finished: Build) -> None:
    failed = [
        (Item(id=f"bad{n}", text="x"), Failure(reason=kind, message=f"message {n}"))  # type: ignore[arg-type]
        for n, kind in enumerate(("timeout", "timeout", "refusal"))
    ]
    markdown, shown = written(finished([*failed, (Item(id="good", text="x"), verdict(50))]))
    assert "3 of 4 judgments failed (no answer in time: 2, refused: 1)" in markdown.split("What was run")[0]
    for n in range(3):
        assert f"bad{n}" in shown and f"message {n}" in shown


def test_hostile_texts_ids_conditions_and_messages_stay_text(finished: Build) -> None:
    outcomes = [
        (Item(id=f"{n}{name(h)}", text=h, condition=name(h)), verdict(10.0 * n, rationale=h))
        for n, h in enumerate(HOSTILE[:10])
    ]
    outcomes += [(Item(id=name(h), text=h), Failure(reason="unparseable", message=h)) for h in HOSTILE]  # type: ignore[misc]
    run = finished(outcomes, [], asked=[asked("```\n".join(HOSTILE))], model_name=HOSTILE[0])
    _, shown = written(run)
    for text in HOSTILE:
        assert " ".join(visible(text).split()) in shown
    page, _ = page_of(run.folder)
    assert not {"script", "a", "iframe", "link", "object", "form"} & set(page.tags)
    sources = [value for name, value in page.attributes if name in ("src", "href")]
    assert sources and all(value is not None and value.startswith("data:image/png;base64,") for value in sources)


def test_without_an_analysis_nothing_is_claimed_and_the_scores_are_drawn(finished: Build) -> None:
    run = finished(results=[])
    assert "nothing is claimed about these scores" in written(run)[1]
    assert (run.folder / "figures" / "common_scores.png").is_file()


def test_texts_worth_reading_are_the_extreme_and_the_uncertain(finished: Build) -> None:
    scores = {"top": 99.0, "bottom": 1.0, "unsure": 50.0} | {f"other{n}": 80.0 + n for n in range(9)}
    outcomes = [(Item(id=name, text=f"text of {name}", label=7), verdict(score)) for name, score in scores.items()]
    markdown, _ = written(finished(outcomes))
    part = markdown.split("## Texts worth reading yourself")[1].split("## The prompt")[0]
    highest, lowest, uncertain = re.split(r"### (?:Lowest|Least).*", part)
    assert "text of top" in highest and "text of bottom" in lowest
    assert "text of unsure" in lowest + uncertain
    assert "confidence" in highest and "human label 7.0" in highest


def test_long_tables_are_shortened_and_kept_whole_in_a_file(finished: Build) -> None:
    long = AnalysisResult("trial", {}, tables={"rows": pd.DataFrame({"n": range(100)})})
    run = finished(results=[long])
    _, shown = written(run)
    assert "25 of 100 rows are shown; the whole table is tables/trial_rows.csv" in shown
    assert len(pd.read_csv(run.folder / "tables" / "trial_rows.csv")) == 100


def test_the_command_is_the_one_that_was_typed_or_is_made_from_the_choices(finished: Build) -> None:
    run = finished()
    markdown, _ = written(run)
    line = next(x for x in markdown.splitlines() if x.startswith("python -m undogmatic.run"))
    assert {"model=local", "readout=auto", "dataset=pairs", "seed=0", "report.language=en"} <= set(line.split())
    (run.folder / ".hydra").mkdir(parents=True)
    (run.folder / ".hydra" / "overrides.yaml").write_text("- model=tfidf\n- run.name='a b'\n- run.resume=last\n")
    markdown, _ = written(run)
    assert "\npython -m undogmatic.run model=tfidf 'run.name='\"'\"'a b'\"'\"''\n" in markdown


def test_licences_are_printed_as_their_owners_declare_them(finished: Build) -> None:
    run = finished(model_licences=[{"en": "Mine."}, {"fr": "À moi."}], data_licence={"en": "Ours.", "pt": "Nosso."})
    _, shown = written(run)
    assert "Mine." in shown and "À moi." in shown and "Ours." in shown and "Nosso." not in shown


def test_terminal_says_verdict_numbers_readout_and_paths(finished: Build, capsys: Capture) -> None:
    run = finished()
    terminal.show(run, "mlflow ui --backend-store-uri sqlite:///mlruns/mlflow.db")
    out = capsys.readouterr().out
    lines = as_lines(out)
    assert "\x1b" not in out
    assert {
        "Pairs in order 94% [80%, 99%]",
        "16 judged, none failed",
        "Readout: probe (resolved from readout=auto).",
        # The working directory is above the folder, so the path is as one would type it.
        "Report outputs/2026-01-02/03-04-05/report.html",
        "Scores outputs/2026-01-02/03-04-05/scores.csv",
        "Tracking mlflow ui --backend-store-uri sqlite:///mlruns/mlflow.db",
    } <= set(lines)
    assert any(line.startswith("Repeatability: there is no earlier") for line in lines)


def test_terminal_prints_no_markup_of_a_finding_and_no_missing_tracking(finished: Build, capsys: Capture) -> None:
    hostile = dataclasses.replace(trial_result(), verdict=Finding("trial.none", {"x": "[bold]\x1b[31m[/] :smile:"}))
    terminal.show(finished(results=[hostile]), None)
    out = capsys.readouterr().out
    assert "[bold]\ufffd[31m[/] :smile:" in out and "Tracking" not in out


def test_a_sweep_has_leaderboard_tests_failures_and_what_was_typed(swept: SweepResult) -> None:
    swept.folder.mkdir()
    (swept.folder / "multirun.yaml").write_text("hydra:\n  overrides:\n    task: ['model=local,tfidf,gpt']\n")
    sweep.write(swept, swept.folder)
    page, shown = page_of(swept.folder)
    assert "Em quais de 3 combinações" in shown
    assert re.search(r"1 local \w+ 97% \[90%; 100%\]", shown) and re.search(r"2 gpt \w+ — ", shown)
    assert "gpt-a model=gpt needs OPENAI_API_KEY <script>" in shown and "script" not in page.tags
    assert "local-a tfidf-a 6,5 1,0 12,0 32 0,012 0,012" in shown
    assert "python -m undogmatic.run -m model=local,tfidf,gpt" in shown


def test_folders_elsewhere_are_whole(finished: Build, swept: SweepResult, capsys: Capture, monkeypatch: Patch) -> None:
    (swept.folder.parent / "elsewhere").mkdir()
    monkeypatch.chdir(swept.folder.parent / "elsewhere")
    terminal.show_sweep(swept, None)
    terminal.show(finished(), None)
    out = capsys.readouterr().out
    assert str(swept.folder / "report.html") in out
    assert str(finished().folder / "metrics.json") in out


def test_the_terminal_of_a_sweep(swept: SweepResult, capsys: Capture) -> None:
    terminal.show_sweep(swept, None)
    lines = as_lines(capsys.readouterr().out)
    assert "Diferença média de 6,5 pontos." in lines
    assert any(re.fullmatch(r"1 local \w+ 97% \[90%; 100%\]", line) for line in lines)
    assert "3 tarefas, 1 sem resultado" in lines
    assert any("OPENAI_API_KEY" in line for line in lines)
    assert any(line.endswith(" sweep/report.html") for line in lines)


def test_a_sweep_without_any_headline_says_so(swept: SweepResult, capsys: Capture) -> None:
    empty = dataclasses.replace(swept, headline=None, jobs=swept.jobs.drop(columns=["headline", "low", "high"]))
    sweep.write(empty, empty.folder)
    terminal.show_sweep(empty, None)
    assert "não há classificação" in (empty.folder / "report.md").read_text(encoding="utf-8")
    assert "Classificação" not in capsys.readouterr().out


def test_what_a_style_says_of_its_doubt_is_in_the_report(finished: Build, capsys: Capture) -> None:
    sure = verdict(90.0, uncertainty="low")
    issues, details = ("major (logical): begs the question",), {"critique_strength": 0.7, "compelling": "critic"}
    doubtful = verdict(40.0, uncertainty="high", review=True, issues=issues, details=details)
    run = finished([(Item(id="a", text="x"), sure), (Item(id="b", text="y"), doubtful)], [])
    _, shown = written(run)
    note = "1 high, 0 medium, 1 low, 0 without a level. Marked for review: 1 (undogmatic review export"
    assert note in shown and "uncertainty high" in shown and "compelling critic" in shown
    assert "Issues: major (logical): begs the question What the judge answered besides: critique_strength 0.7" in shown
    terminal.show(run, None)
    assert note in capsys.readouterr().out
    assert "Marked for review:" not in written(finished())[1]
