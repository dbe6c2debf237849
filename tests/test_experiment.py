"""The pipeline from a composed config to its outputs, in this process, with the rule-based
model."""

import asyncio
import csv
import json
import re
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf

import undogmatic.run
from tests.conftest import Capture, Patch, put, rows_in
from tests.stub_server import Fault, StubServer
from undogmatic.api import score_text, score_texts
from undogmatic.config.door import compose_config
from undogmatic.engine.recipe import Recipe
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.base import Unsuited
from undogmatic.examinations.independence import withheld
from undogmatic.experiment import run_experiment
from undogmatic.records.records import Item, text_mark
from undogmatic.records.results import Finding, Told
from undogmatic.report import contents, kept
from undogmatic.runs.folder import RunFolder
from undogmatic.runs.manifest import output_folder
from undogmatic.safety.command import ERROR_FILE, SWEEP_FOLDER
from undogmatic.safety.loops import finished
from undogmatic.safety.secrets import redacted

CHOICES = {
    "model": "patterns",
    "prompt": "anchored_pt",
    "judge": "score",
    "dataset": "pairs",
    "analysis": "ab",
}


def run(folder: Path, *overrides: str) -> float | None:
    return run_experiment(
        compose_config(["model=patterns", "tracking=none", *overrides]), CHOICES, folder
    )


def texts(folder: Path, *rows: dict[str, object]) -> str:
    """The override that names a file with these texts."""
    return f"dataset.path={put(folder / 'my.jsonl', rows)}"


def scores(folder: Path, name: str = "scores.csv") -> list[dict[str, str]]:
    with (folder / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def told(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / f"{name}.json").read_text())


def report(folder: Path) -> str:
    return (folder / "report.md").read_text(encoding="utf-8")


def test_a_run_leaves_everything_it_promises(tmp_path: Path, capsys: Capture) -> None:
    headline = run(tmp_path / "out")
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert {
        "judgments.jsonl",
        "scores.csv",
        "metrics.json",
        "report.md",
        "report.html",
        "figures",
        "run.json",
    } <= names
    rows = scores(tmp_path / "out")
    assert (
        " ".join(rows[0])
        == "item_id pair_id group condition score confidence uncertainty is_uncertain revised_score"
        " calls seconds error"
    )
    metrics = told(tmp_path / "out", "metrics")
    assert metrics["judged"] == len(rows) == 136
    assert metrics["judgments_per_second"] > 0
    assert headline == metrics["ab.share_expected"]
    printed = capsys.readouterr()
    assert "report.html" in printed.out and "136 judged" in printed.err


def test_scores_are_in_input_order_and_labels_are_kept_with_marks_of_their_texts(
    tmp_path: Path,
) -> None:
    mine = texts(
        tmp_path,
        {"id": "b", "text": "Tema 1.", "label": 70},
        {"id": "a", "text": "Não deve."},
    )
    run(tmp_path / "out", "dataset=texts", mine, "analysis=none", "run.repeats=2")
    assert [row["item_id"] for row in scores(tmp_path / "out")] == ["b", "a"]
    assert len(rows_in(tmp_path / "out" / "judgments.jsonl")) == 4
    assert scores(tmp_path / "out", "labels.csv") == [
        {"item_id": "b", "label": "70.0", "text_mark": text_mark("Tema 1.")},
        {"item_id": "a", "label": "", "text_mark": text_mark("Não deve.")},
    ]
    run(tmp_path / "bare", "run.limit=2", "analysis=none")
    assert not (tmp_path / "bare" / "labels.csv").exists()


def test_a_run_is_not_named_by_a_prompt_that_no_model_reads(tmp_path: Path) -> None:
    run(tmp_path / "out", "run.limit=4")
    run(tmp_path / "mine", "run.limit=4", "run.name=mine")
    assert told(tmp_path / "out", "run")["name"] == "patterns-score-pairs"
    assert told(tmp_path / "mine", "run")["name"] == "mine"


def test_a_run_is_named_by_the_model_and_the_file_that_somebody_brought(
    tmp_path: Path, stub: StubServer
) -> None:
    words = [
        "model=openai_compatible",
        "model.name=meta/small",
        f"model.api_base={stub.url}",
        "dataset=texts",
        texts(tmp_path, *({"id": f"t{n}", "text": f"text {n}"} for n in range(3))),
        "analysis=none",
        "tracking=none",
    ]
    chosen = CHOICES | {"model": "openai_compatible", "dataset": "texts"}
    run_experiment(compose_config(words), chosen, tmp_path / "out")
    name = told(tmp_path / "out", "run")["name"]
    assert (name.split("-")[0], name.split("-")[-1]) == ("small", "my")
    (title, *_) = report(tmp_path / "out").splitlines()
    assert "meta/small" in title and "openai_compatible" not in title


def test_the_same_command_twice_is_identical_and_the_report_says_so(
    tmp_path: Path,
) -> None:
    first, second = tmp_path / "outputs" / "d" / "1", tmp_path / "outputs" / "d" / "2"
    run(first)
    run(second)
    assert [(r["item_id"], r["score"]) for r in scores(first)] == [
        (r["item_id"], r["score"]) for r in scores(second)
    ]
    assert "All scores are the same as in the earlier run" in report(second)


def test_resuming_another_run_is_refused(tmp_path: Path) -> None:
    run(tmp_path / "out", "run.limit=12", "analysis=none")
    with pytest.raises(
        ConfigError, match=r"no longer among the items \(nor are 5.*from the cache"
    ):
        run(tmp_path / "out", "run.limit=6", "analysis=none")
    with pytest.raises(ConfigError, match=r"another run.*: the seed differs"):
        run(tmp_path / "out", "run.limit=12", "analysis=none", "seed=1")


SECRET = "o segredo de Zulmira"


def _secret_run(folder: Path, mine: str, stub: StubServer, *overrides: str) -> None:
    words = [
        "model=gpt",
        f"model.api_base={stub.url}/v1",
        "dataset=texts",
        mine,
        "judge=score",
    ]
    words += [
        "engine.cache=false",
        "engine.max_failures=1",
        "analysis=none",
        "tracking.redact=true",
        *overrides,
    ]
    run_experiment(
        compose_config(["tracking=none", *words]), CHOICES | {"model": "gpt"}, folder
    )


@pytest.fixture
def telling(
    stub: StubServer, tmp_path: Path, monkeypatch: Patch
) -> tuple[StubServer, str]:
    """A server that quotes what it is to judge, in its reasons and in its errors; and a file with
    texts for it."""
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    answer = json.dumps(
        {"shame_score": 40, "confidence": 90, "rationale": f"It says {SECRET}."}
    )
    bodies = {
        "whole": (200, {"choices": [{"message": {"content": answer}}]}),
        "broken": (400, {"error": {"message": f"I will not read {SECRET}"}}),
    }
    rows = (
        {"id": f"t{n}", "text": f"{SECRET}, {'broken' if n == 3 else 'whole'} {n}"}
        for n in range(4)
    )
    for word, (status, body) in bodies.items():
        stub.faults[word] = Fault(
            "status", times=None, status=status, body=json.dumps(body)
        )
    return stub, texts(tmp_path, *rows)


def test_a_redacted_run_leaves_no_judged_text_and_is_resumed(
    tmp_path: Path, telling: tuple[StubServer, str]
) -> None:
    stub, mine = telling
    out = tmp_path / "out"
    _secret_run(out, mine, stub)
    name = told(out, "run")["name"]
    assert name.startswith("gpt-anchored_pt-score"), "this model reads the prompt"
    files = [path for path in out.rglob("*") if path.is_file()]
    assert [path for path in files if b"Zulmira" in path.read_bytes()] == []
    assert "tracking.redact is true" in report(out) and redacted(
        f"{SECRET}, whole 0"
    ) in report(out)
    journal = (out / "judgments.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(journal) == 4 and '"reason":"' in "".join(journal)
    asked = len(stub.requests)
    (out / "judgments.jsonl").write_text(
        "\n".join(journal[:2]) + "\n", encoding="utf-8"
    )
    _secret_run(out, mine, stub)
    again = {request.text[-1] for request in stub.requests[asked:]}
    kept = {json.loads(line)["item_id"][-1] for line in journal[:2]}
    assert again == set("0123") - kept, (
        "what was kept is known again and not asked again"
    )
    assert [row["score"] for row in scores(out)] == ["40.0", "40.0", "40.0", ""]


def test_that_other_models_answered_than_was_asked_is_said(
    tmp_path: Path, stub: StubServer, monkeypatch: Patch
) -> None:
    """One name may come to mean another model while a run is stopped; then two judges are mixed in
    it."""
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    mine, out = (
        texts(tmp_path, *({"id": f"t{n}", "text": f"text {n}"} for n in range(4))),
        tmp_path / "out",
    )
    words = [
        "model=gpt",
        "model.name=best",
        f"model.api_base={stub.url}",
        mine,
        "dataset=texts",
    ]
    words += ["engine.cache=false", "analysis=none", "tracking=none"]

    def told(version: str, folder: Path) -> tuple[bool, bool]:
        stub.resolved = version
        run_experiment(compose_config(words), CHOICES | {"model": "gpt"}, folder)
        return "for best: best-2025, best-2026." in report(
            folder
        ), "word cheap-7b answered" in report(folder)

    assert told("cheap-7b", tmp_path / "other") == (False, True)
    assert told("best-2025", out) == (False, False)
    journal = (
        (out / "judgments.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    )
    (out / "judgments.jsonl").write_text("".join(journal[:2]), encoding="utf-8")
    assert told("best-2026", out) == (True, False)


def test_a_folder_is_redacted_throughout_or_not_at_all(
    tmp_path: Path, telling: tuple[StubServer, str]
) -> None:
    stub, mine = telling
    _secret_run(tmp_path / "hidden", mine, stub)
    with pytest.raises(
        ConfigError,
        match=r"`tracking\.redact` is false, .* Continue with tracking\.redact=true",
    ):
        _secret_run(tmp_path / "hidden", mine, stub, "tracking.redact=false")
    _secret_run(tmp_path / "clear", mine, stub, "tracking.redact=false")
    assert SECRET in report(tmp_path / "clear")
    with pytest.raises(
        ConfigError, match=r"`tracking\.redact` is true, .* may quote judged texts"
    ):
        _secret_run(tmp_path / "clear", mine, stub)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("analysis=taxonomy", "analysis=taxonomy reads what judges quote"),
        ("analysis=[labelled,taxonomy]", "analysis=several reads what judges quote"),
        ("steps=[extract]", r"`steps` \(extract\) keep"),
    ],
)
def test_what_needs_texts_in_the_folder_is_refused_before_all_else(
    override: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(
        ConfigError,
        match=rf"`tracking\.redact` is true.*{said}.*tracking\.redact=false",
    ):
        run(tmp_path / "out", "tracking.redact=true", override)
    assert not (tmp_path / "out" / "run.json").exists()


def test_a_fault_of_a_redacted_run_leaves_its_kind_alone(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv(SWEEP_FOLDER, str(tmp_path))
    undogmatic.run._fail(ValueError(f"no number: {SECRET}"), tmp_path, hide=True)
    kept = (tmp_path / ERROR_FILE).read_text(encoding="utf-8")
    assert "ValueError" in kept and "tracking.redact" in kept and SECRET not in kept


def test_resuming_keeps_what_was_judged(tmp_path: Path) -> None:
    run(tmp_path / "whole", "run.limit=12", "analysis=none")
    run(tmp_path / "cut", "run.limit=12", "analysis=none")
    journal = tmp_path / "cut" / "judgments.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    journal.write_text("".join(lines[:5]) + lines[5][:80], encoding="utf-8")
    run(tmp_path / "cut", "run.limit=12", "analysis=none")
    after = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    assert (after[:5], len(after)) == (lines[:5], 12)
    metrics = told(tmp_path / "cut", "metrics")
    # The rate is that of the seven judged now, not of all twelve.
    assert metrics["judgments_per_second"] * metrics[
        "judging_seconds"
    ] == pytest.approx(7)
    whole, cut = (
        [(r["item_id"], r["score"], r["error"]) for r in scores(tmp_path / name)]
        for name in ("whole", "cut")
    )
    assert whole == cut


def test_a_dataset_without_pairs_is_refused_before_anything_is_judged(
    tmp_path: Path,
) -> None:
    with pytest.raises(DataError, match="analysis=none only scores"):
        run(
            tmp_path / "out",
            "dataset=texts",
            texts(tmp_path, {"text": "Tema 1."}),
            "analysis=ab",
        )
    assert not (tmp_path / "out" / "judgments.jsonl").exists()


@pytest.mark.parametrize("analysis", ["labelled", "few_labels", "calibration"])
def test_a_label_off_the_scale_is_refused_with_its_line(
    tmp_path: Path, analysis: str
) -> None:
    mine = texts(
        tmp_path,
        {"id": "a", "text": "Tema 1.", "label": 5},
        {"id": "b", "text": "Tema 2.", "label": 150},
    )
    with pytest.raises(
        DataError,
        match=r"my\.jsonl:2, item 'b': `label` is 150, outside 0-100, the scale of",
    ):
        run(tmp_path / "out", "dataset=texts", mine, f"analysis={analysis}")
    assert not (tmp_path / "out" / "judgments.jsonl").exists()


def test_a_plain_list_of_texts_is_scored_and_described(tmp_path: Path) -> None:
    mine = texts(tmp_path, {"text": "Tema 1."}, {"text": "Não deve, porque pagou."})
    assert run(tmp_path / "out", "dataset=texts", mine) is None
    assert len(scores(tmp_path / "out")) == 2
    assert "left out" in report(
        tmp_path / "out"
    ) and "description of the scores" in report(tmp_path / "out")


def test_texts_that_the_judge_has_seen_support_nothing(tmp_path: Path) -> None:
    """What was fitted to these texts follows their labels well."""
    words = ["model=tfidf", "dataset=labelled", "analysis=labelled", "run.limit=300"]
    for name, split in (("seen", "development"), ("new", "test")):
        run(tmp_path / name, *words, f"dataset.split={split}")
    seen, new = (told(tmp_path / name, "run")["standing"] for name in ("seen", "new"))
    # a program that counts words may do as well
    assert seen == new == {"labelled": "undecided"}
    assert (
        "300 of the 300 texts were used to fit this judge"
        in report(tmp_path / "seen").split("## ")[0]
    )
    result = Told(
        "ab", {}, verdict=Finding("ab.verdict_supported"), standing="supported"
    )
    refuted = replace(result, standing="refuted")
    assert withheld([result, refuted], 0, 9) == [result, refuted]
    taken, kept = withheld([result, refuted], 1, 9)
    assert (taken.standing, kept) == ("undecided", refuted)
    assert (
        taken.verdict
        and taken.verdict.key == "units.verdict_seen"
        and taken.verdict.answer == "not_yet"
    )


def test_judging_worked_examples_or_what_a_model_was_fitted_on_is_said(
    tmp_path: Path,
) -> None:
    shown = compose_config(["prompt=demos_pt"])["prompt"]["demonstrations"][0]["text"]
    built = Recipe(compose_config(["prompt=demos_pt", "readout=logprobs"])).build()
    assert (
        built.fitted([Item(id="a", text=shown), Item(id="b", text=f"{shown} E mais.")])
        == 1
    )
    run(
        tmp_path / "fitted",
        "model=tfidf",
        "dataset=controls",
        "dataset.split=development",
    )
    run(tmp_path / "new", "model=tfidf", "dataset=controls")
    assert "15 of the 15 texts were used to fit" in report(tmp_path / "fitted")
    assert "were used to fit" not in report(tmp_path / "new")


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["+optimizer.metric=mae"], "`optimizer.metric` is not a known key"),
        (["+model.colour=red"], "`model.colour` is not a known key"),
        (["engine.concurrency=many"], "`engine.concurrency` is 'many'"),
        (["model=nope"], "`model` has no option 'nope'"),
        (["model=gpt"], "needs OPENAI_API_KEY in the environment or"),
        (["dataset=texts"], "`dataset.path` is required. Set it with dataset.path="),
        (
            ["dataset=texts", "dataset.path=none.jsonl"],
            "`dataset.path` is 'none.jsonl', which does not exist",
        ),
        (["readout=probe"], "it serves: rules"),
        (["+readout.n=3"], "`readout.n` was given with readout=auto"),
        (["model._target_=os.system"], "`model._target_` is 'os.system'"),
        (["dataset.split=tset"], "`dataset.split` is 'tset'"),
        (
            ["engine=batch"],
            "engine=batch sends questions to a provider, and patterns-2 answers here",
        ),
    ],
)
def test_bad_input_gets_one_clear_message(
    tmp_path: Path, overrides: list[str], said: str, monkeypatch: Patch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises((ConfigError, DataError), match=re.escape(said)):
        run(tmp_path / "out", *overrides)
    assert not (tmp_path / "out").exists()


def test_score_text_in_a_notebook_and_outside() -> None:
    async def notebook() -> float | None:
        return score_text("Aplica-se o Tema 69 do STF.", ["model=patterns"]).score

    outside = score_text("Aplica-se o Tema 69 do STF.", ["model=patterns"]).score
    assert outside == asyncio.run(notebook()) > 60  # type: ignore[operator]
    with pytest.raises(DataError, match="`text` is empty"):
        score_texts(["x", "  "], ["model=patterns"])


def test_an_interrupt_of_a_notebook_ends_the_thread_that_works() -> None:
    ended: list[bool] = []

    async def endless() -> None:
        threading.Timer(
            0.1, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT]
        ).start()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def cell() -> None:
        # as in a notebook's kernel
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with pytest.raises(KeyboardInterrupt):
            finished(endless())

    before = signal.getsignal(signal.SIGINT)
    try:
        asyncio.run(cell())
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended


@pytest.mark.parametrize("wrong", ["outputs/nope", "", " "])
def test_a_mistyped_resume_is_refused(wrong: str) -> None:
    with pytest.raises(ConfigError, match="holds no run"):
        output_folder(wrong, "outputs/d/2")


# Scores that were made elsewhere: nobody is asked, and all that follows is that of any run.

VERDICTS = CHOICES | {"model": "local", "dataset": "verdicts", "analysis": "meta"}
HEADER = (
    "case,system,judge,factual_accuracy,completeness,nli,coverage,word_count,failed\n"
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = []
    for case in range(8):
        for system, gain in (("alder", 1), ("birch", 0)):
            nli, coverage = rng.uniform(0.5, 0.9, 2).round(3)
            for judge in ("ash", "oak"):
                a, b = (int(v) for v in np.clip(rng.integers(2, 5, 2) + gain, 1, 5))
                failed = str(case == 3 and judge == "oak" and system == "alder").lower()
                lines.append(
                    f"k{case},{system},{judge},{a},{b},{nli},{coverage},{100 + 10 * case},{failed}\n"
                )
    return put(tmp_path / "table.csv", HEADER + "".join(lines))


def elsewhere(
    folder: Path, table: Path, *overrides: str, tracking: str = "none"
) -> float | None:
    given = [
        "experiment=faithfulness_meta",
        f"dataset.path={table}",
        f"tracking={tracking}",
        *overrides,
    ]
    return run_experiment(compose_config(given), VERDICTS, folder)


def test_the_judgments_are_the_tables_and_nobody_was_asked(
    table: Path, tmp_path: Path, capsys: Capture
) -> None:
    folder = tmp_path / "out"
    headline = elsewhere(folder, table)
    metrics = told(folder, "metrics")
    assert headline == metrics["composite.best"]
    assert (metrics["judged"], metrics["failed"], metrics["calls"]) == (
        16 * 6 - 2,
        2,
        0,
    )
    rows = rows_in(folder / "judgments.jsonl")
    assert len(rows) == 16 * 6
    assert {row["outcome"].get("reason") for row in rows} == {None, "unparseable"}
    assert "No model was asked" in report(folder) and "anchored" not in report(folder)
    assert RunFolder(folder).facts["model"] == "elsewhere"
    printed = capsys.readouterr()
    assert "made elsewhere, by ash, oak, nli, coverage\n" in printed.err
    assert {"items_composite.csv", "figures", "report.html", "scores.csv"} <= {
        p.name for p in folder.iterdir()
    }


def test_several_questions_to_one_composite_are_answered_together_as_each_alone(
    table: Path, tmp_path: Path
) -> None:
    """Each reads all judges and criteria at once, alone and in a list."""
    names = ("agreement", "pillars", "length_bias")
    elsewhere(tmp_path / "all", table, f"analysis=[{','.join(names)}]")
    together = told(tmp_path / "all", "metrics")
    for name in names:
        elsewhere(tmp_path / name, table, f"analysis={name}")
        own = {
            key: value
            for key, value in told(tmp_path / name, "metrics").items()
            if key.startswith(name)
        }
        assert own and {key: together[key] for key in own} == own
    with pytest.raises(Unsuited, match="pillar 'judge', of which there are 1"):
        lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
        alone = put(
            tmp_path / "alone.csv",
            "".join(line for line in lines if ",oak," not in line),
        )
        elsewhere(tmp_path / "one", alone, "analysis=[pillars,agreement]")
    assert not (tmp_path / "one" / "judgments.jsonl").exists(), (
        "refused before anything is judged"
    )


def test_the_headline_names_who_judged(table: Path, tmp_path: Path) -> None:
    elsewhere(tmp_path, table, "analysis=none")
    assert "scores of ash, oak, nli, coverage on table.csv" in report(tmp_path).replace(
        "&nbsp;", " "
    )


def test_a_run_that_was_stopped_goes_on_and_notes_nothing_twice(
    table: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    elsewhere(folder, table, "analysis=none")
    journal = folder / "judgments.jsonl"
    whole = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(whole[:40]) + whole[40][:30])
    put(folder / "run.json", json.dumps(told(folder, "run") | {"status": "running"}))
    elsewhere(folder, table, "analysis=none")
    assert journal.read_text() == "".join(whole)


def test_another_table_is_another_run_and_a_limit_takes_whole_items(
    table: Path, tmp_path: Path
) -> None:
    elsewhere(tmp_path / "out", table, "analysis=none", "run.limit=4")
    assert len(rows_in(tmp_path / "out" / "judgments.jsonl")) == 4 * 6
    table.write_text(table.read_text().replace(",false", ",true", 1))
    with pytest.raises(ConfigError, match="holds another run"):
        elsewhere(tmp_path / "out", table, "analysis=none", "run.limit=4")
    put(
        tmp_path / "out" / "run.json",
        json.dumps(told(tmp_path / "out", "run") | {"format": 2}),
    )
    with pytest.raises(
        ConfigError, match=r"holds a run of format 2, .*is in the cache"
    ):
        elsewhere(tmp_path / "out", table, "analysis=none", "run.limit=4")


def test_a_ranking_is_held_against_that_of_an_earlier_run(
    table: Path, tmp_path: Path
) -> None:
    elsewhere(tmp_path / "first", table, "analysis=composite")
    better = (
        table.read_text()
        .replace(",birch,ash,2,", ",birch,ash,5,")
        .replace(",birch,oak,2,", ",birch,oak,5,")
    )
    table.write_text(better)
    elsewhere(
        tmp_path / "second",
        table,
        "analysis=composite",
        f"analysis.against=[{tmp_path / 'first'}]",
    )
    said = report(tmp_path / "second")
    assert "Against earlier runs: now minus then" in said
    row = next(
        line
        for line in said.splitlines()
        if line.startswith("| elsewhere-table | birch")
    )
    then, now, difference = (float(cell) for cell in row.split("|")[4:7])
    assert now - then == pytest.approx(difference, abs=2e-3) and difference > 0


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("judges=[score]", "`judges` is set, and the dataset brings its own judgments"),
        (
            "run.repeats=3",
            r"`run\.repeats` is 3, and the judgments were made elsewhere, 1 for an item",
        ),
    ],
)
def test_what_would_ask_somebody_is_refused(
    override: str, said: str, table: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=said):
        elsewhere(tmp_path / "out", table, override)


def test_a_run_is_logged_like_any_other(table: Path, tmp_path: Path) -> None:
    elsewhere(tmp_path / "out", table, "analysis=composite", tracking="mlflow")
    assert told(tmp_path / "out", "mlflow")["run_id"]


def test_quotes_of_a_run_are_classified_by_a_model_and_held_against_the_rules(
    tmp_path: Path,
) -> None:
    kinds = ["The date is wrong.", "The outcome is reversed.", "Not in the reference."]
    rows = [
        {
            "case": f"k{n}",
            "system": "alder",
            "judge": "ash",
            "factual_accuracy": 3,
            "errors": [{"issue": kinds[n % 3]}],
        }
        for n in range(6)
    ]
    elsewhere(tmp_path / "first", put(tmp_path / "t.jsonl", rows), "analysis=none")
    given = [
        "experiment=error_classes",
        f"dataset.path={tmp_path / 'first'}",
        "model=fake",
        "tracking=none",
    ]
    run_experiment(
        compose_config(given),
        VERDICTS | {"model": "fake", "dataset": "quotes"},
        tmp_path / "second",
    )
    metrics = told(tmp_path / "second", "metrics")
    assert metrics["taxonomy.quotes"] == 6
    assert 0 <= metrics["taxonomy.agreement"] <= 1
    assert "agree" in report(tmp_path / "second")


@pytest.mark.parametrize(
    ("analysis", "bound", "least"),
    [
        ("none", "HELD", 7),
        ("labelled", "HELD", 7),
        ("suite", "HELD", 7),
        ("labelled", "HELD_BYTES", 2000),
    ],
)
def test_a_run_of_many_texts_leaves_what_one_of_few_does(
    tmp_path: Path, monkeypatch: Patch, analysis: str, bound: str, least: int
) -> None:
    draw = np.random.default_rng(0)
    rows: list[dict[str, object]] = [
        {
            "id": f"t{n}",
            "text": f"{' '.join(map(str, draw.integers(9999, size=30)))}. Tema {n % 5}.",
            "label": n,
        }
        for n in range(40)
    ]
    rows[7] |= {"text": rows[30]["text"], "group": "a"}
    rows[8] |= {"group": "a"}
    rows[11] |= {"text": f"{rows[12]['text']} E mais."}
    mine = texts(tmp_path, *rows)
    for name, held in (("few", 10**9), ("many", least)):
        monkeypatch.setattr(f"undogmatic.safety.spool.{bound}", held)
        monkeypatch.setattr("undogmatic.examinations.run_rows._AT_ONCE", 21)
        run(
            tmp_path / name,
            "dataset=texts",
            mine,
            f"analysis={analysis}",
            "run.repeats=2",
        )
    few, many = tmp_path / "few", tmp_path / "many"
    assert {p.name for p in few.iterdir()} | {".judgments.jsonl.index"} == {
        p.name for p in many.iterdir()
    }
    for name in ("scores.csv", "labels.csv"):
        assert [row | {"seconds": ""} for row in scores(few, name)] == [
            row | {"seconds": ""} for row in scores(many, name)
        ]
    timed = {"judging_seconds", "judgments_per_second", "costs.seconds"}
    assert {k: v for k, v in told(few, "metrics").items() if k not in timed} == {
        k: v for k, v in told(many, "metrics").items() if k not in timed
    }
    differ = {
        a
        for a, b in zip(
            report(few).splitlines(), report(many).splitlines(), strict=True
        )
        if a != b
    }
    assert not [
        line
        for line in differ
        if not re.search(r"few|\d\d:\d\d| s |earlier|seconds", line)
    ], differ
    before, composed = (
        report(many),
        compose_config(["model=patterns", "tracking=none", "dataset=texts", mine]),
    )
    (many / ".hydra").mkdir()
    OmegaConf.save(OmegaConf.create(composed), many / ".hydra" / "config.yaml")
    contents.write(kept.remade(RunFolder(many)))
    assert report(many) == before
