"""A run's folder read back: its tables, its items, and what is said of one that cannot be read."""

import json
from pathlib import Path

import pytest
from omegaconf import OmegaConf

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.conftest import Patch
from undogmatic.config.door import compose_config
from undogmatic.errors import ConfigError, DataError
from undogmatic.experiment import run_experiment
from undogmatic.records.rubric import Rubric
from undogmatic.runs.folder import COMPOSED, JOURNAL, RunFolder
from undogmatic.runs.manifest import output_folder, write_hydra
from undogmatic.sweep.jobs import read_jobs


def write(folder: Path, **files: str) -> RunFolder:
    """A folder with these files; "run_json" is run.json."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return RunFolder(folder, "`analysis.reference` is 'x'")


@pytest.mark.parametrize("held", [10_000_000, 0])
def test_ids_stay_text_and_only_an_empty_cell_is_missing_or_failed(
    tmp_path: Path, monkeypatch: Patch, held: int
) -> None:
    monkeypatch.setattr("undogmatic.runs.folder.HELD_BYTES", held)
    run = write(
        tmp_path,
        scores_csv="item_id,score\nNA,1\n007,\n1e3,2.5\n",
        labels_csv="item_id,label\nNA,\n007,3\n",
    )
    assert run.scores()["score"].dropna().to_dict() == {"NA": 1.0, "1e3": 2.5}
    labels = run.labels()
    assert labels is not None and labels["label"].dropna().to_dict() == {"007": 3.0}
    assert write(tmp_path / "bare").labels() is None
    run = write(
        tmp_path, scores_csv="item_id,score,uncertainty,error\na,,,refusal\nb,2,low,\n"
    )
    assert run.scores()["error"].to_dict() == {
        "a": "refusal",
        "b": pytest.approx(float("nan"), nan_ok=True),
    }


def test_one_of_several_judges_is_chosen_by_name_and_none_by_chance(
    tmp_path: Path,
) -> None:
    rows = "item_id,judge,criterion,score\na,nli,overall,1\na,nli,style,2\na,bucket,overall,3\n"
    run = write(tmp_path, scores_csv=rows)
    assert run.scores("nli", "style")["score"].to_dict() == {"a": 2.0}
    with pytest.raises(
        DataError,
        match=r"several scores per item \(nli on overall, bucket on overall\)",
    ):
        run.scores(criterion="overall")
    assert write(tmp_path / "earlier", scores_csv="item_id,score\na,5\n").scores("nli")[
        "score"
    ].to_dict() == {"a": 5.0}


@pytest.mark.parametrize(
    ("name", "content", "read", "said"),
    [
        ("run.json", '{"status":', "facts", "run.json cannot be read"),
        ("run.json", "[1]", "facts", "it holds no object"),
        (
            "scores.csv",
            "item_id,score\na,high\n",
            "scores",
            "scores.csv cannot be read",
        ),
        ("scores.csv", "", "scores", "scores.csv cannot be read"),
        ("scores.csv", "id,score\na,1\n", "scores", "no column item_id"),
        (JOURNAL, "", "judgments", "ended before anything was judged"),
        (JOURNAL, "{}\n", "judgments", r"judgments\.jsonl:1: not a judgment"),
        (".hydra/config.yaml", "rubric: [", "rubric", "config.yaml cannot be read"),
        (".hydra/config.yaml", "dataset: {path: a}", "rubric", "no section `rubric`"),
    ],
)
def test_a_damaged_file_is_named(
    tmp_path: Path, name: str, content: str, read: str, said: str
) -> None:
    (tmp_path / ".hydra").mkdir()
    (tmp_path / name).write_text(content)
    run = RunFolder(tmp_path, "`analysis.reference` is 'x'")
    with pytest.raises(DataError, match=said):
        run.scores() if read == "scores" else getattr(run, read)


def test_what_cannot_be_resolved_here_is_said(tmp_path: Path) -> None:
    write(
        tmp_path / ".hydra",
        config_yaml="tracking: {uri: '${oc.env:GONE_WITH_THE_WIND}'}",
    )
    with pytest.raises(
        ConfigError,
        match=r"`tracking` of its \.hydra/config\.yaml cannot be resolved here",
    ):
        RunFolder(tmp_path).section("tracking")


def test_a_folder_that_is_no_run_is_named_as_it_was_typed(tmp_path: Path) -> None:
    write(tmp_path / "10-22-33", judgments_jsonl="")
    for n in range(12):
        write(tmp_path / "sweep" / str(n), run_json="{}")
    write(tmp_path / "sweep", sweep_json="{}")
    with pytest.raises(
        ConfigError,
        match=r"^RUN is '.*/none', which is not a folder. Runs beside it: 10-22-33\. Name",
    ):
        RunFolder.open(str(tmp_path / "none"), "RUN")
    with pytest.raises(
        ConfigError,
        match=r"folder of a sweep. Name one of its jobs: .*/0, .*/1, .*/2, ",
    ):
        RunFolder.open(str(tmp_path / "sweep"), "RUN")
    with pytest.raises(
        ConfigError, match=r"it lacks run.json, .hydra/config.yaml\. Runs beside"
    ):
        RunFolder.open(str(tmp_path / "10-22-33"), "`judge.history[1]`")
    assert RunFolder.open(str(tmp_path / "10-22-33"), "RUN", [JOURNAL]).facts == {}


def run(folder: Path) -> str:
    settings = ["model=patterns", "tracking=none", "run.limit=6", "analysis=none"]
    choices = {
        "model": "patterns",
        "prompt": "anchored_pt",
        "judge": "score",
        "dataset": "pairs",
        "analysis": "none",
    }
    run_experiment(compose_config(settings), choices, folder)
    return (folder / "report.md").read_text(encoding="utf-8")


def test_another_runs_damaged_files_do_not_fail_this_one(tmp_path: Path) -> None:
    day = tmp_path / "outputs" / "day"
    run(day / "1")
    for name, file, content in (
        ("2", "scores.csv", "item_id\n"),
        ("3", "run.json", "{"),
        ("4", "run.json", "[]"),
    ):
        run(day / name)
        (day / name / file).write_text(content)
    report = run(day / "5")
    assert "All scores are the same" in report
    assert "day/1" in report


def test_a_damaged_manifest_is_not_the_last_unfinished_run() -> None:
    for name, content in (("1", '{"status": "stopped"}'), ("2", '{"status":')):
        write(Path("outputs") / "2026-01-01" / name, run_json=content)
    assert output_folder("last", "outputs/2026-01-02/1") == "outputs/2026-01-01/1"


def test_a_damaged_job_fails_alone_in_its_sweep(rubric: Rubric, tmp_path: Path) -> None:
    where = dict.fromkeys(
        ("model", "readout", "prompt", "prompt_hash", "program_hash", "config_hash"),
        "x",
    )
    verdict = {"kind": "verdict", "score": 1}
    one = {
        "item_id": "a",
        "judge": "score",
        "outcome": verdict,
        "cost": {},
        "provenance": where,
    }
    for n, score in enumerate(("1", "high")):
        files = {"run_json": json.dumps({"status": "finished"}), "metrics_json": "{}"}
        files["scores_csv"] = f"item_id,group,score,seconds\na,a,{score},0\n"
        files["judgments_jsonl"] = json.dumps(one) + "\n"
        write(tmp_path / str(n), **files)
        composed = tmp_path / str(n) / COMPOSED
        composed.parent.mkdir()
        node = {
            "_target_": "undogmatic.records.rubric.Rubric",
            **rubric.model_dump(mode="json"),
        }
        composed.write_text(json.dumps({"rubric": node}), encoding="utf-8")
    whole, damaged = read_jobs(tmp_path)
    assert (whole.status, whole.scores["score"].to_dict()) == ("finished", {"a": 1.0})
    assert damaged.status == "failed" and "scores.csv cannot be read" in str(
        damaged.message
    )
    (tmp_path / "0" / JOURNAL).unlink()
    assert "judgments.jsonl: cannot be read" in str(read_jobs(tmp_path)[0].message)
    (tmp_path / "0" / COMPOSED).write_text("rubric: [1]\n", encoding="utf-8")
    cut = read_jobs(tmp_path)[0]
    assert cut.status == "failed" and "it has no section `rubric`" in str(cut.message)


def test_a_config_is_written_as_omegaconf_writes_it(tmp_path: Path) -> None:
    texts = [
        "yes",
        "1",
        "1e3",
        "a: b",
        "x\ny",
        "- a",
        "é“”",
        "end ",
        "",
        "~",
        "it's",
        "long words " * 20,
        "😀 $x",
    ]
    config = OmegaConf.create(
        {"texts": texts, "numbers": [1, 0.5, None, True], "empty": {}}
    )
    hydras = OmegaConf.create({"hydra": {"overrides": {"task": ["seed=1"]}}})
    write_hydra(tmp_path, config, hydras)
    assert (tmp_path / COMPOSED).read_text("utf-8") == OmegaConf.to_yaml(config)
    assert RunFolder(tmp_path).mapping(COMPOSED)["texts"] == texts


def test_a_file_mentions_what_stands_in_it_and_anything_where_it_cannot_be_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.yaml").write_text("provider: command-line\n", "utf-8")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\x00")
    folder = RunFolder(tmp_path)
    assert [
        folder.mentions(name, "command-line") for name in ("a.yaml", "b.yaml", "c.yaml")
    ] == [
        True,
        True,
        False,
    ]
    assert not folder.mentions("a.yaml", "searchpath")
