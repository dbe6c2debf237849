"""An optimisation from the command to its report: what is sent, saved, loaded again, resumed,
counted and refused; of every judge style, whichever of its questions has the instruction that is
needed."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import stub_server
from tests.conftest import Patch, put, rows_in
from tests.optimize.conftest import CHOICES, composed, texts
from tests.optimize.scripted import MAGIC, REQUESTS, WORD, Scripted
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.engine.local import LocalEngine
from undogmatic.engine.programs import load
from undogmatic.engine.recipe import Recipe
from undogmatic.errors import ConfigError, DataError, RunStopped
from undogmatic.examinations.run_items import items_of
from undogmatic.experiment import run_experiment
from undogmatic.optimize.search import Found, Search
from undogmatic.records.marks import text_marks
from undogmatic.records.records import Item
from undogmatic.runs.folder import RunFolder
from undogmatic.runs.looks import looked
from undogmatic.sweep.compare import compare

Optimise = Callable[..., dict[str, Any]]
COPRO = ["optimizer.breadth=2", "optimizer.depth=1", "optimizer.validation=12"]
FEW = ["optimizer.train=12", "optimizer.validation=8"]
SEARCH = [*FEW, "optimizer.candidates=2", "optimizer.labeled=3"]
WRITING = {
    "gepa": ["optimizer.calls=60", "optimizer.validation=12"],
    "mipro": [
        "optimizer.candidates=3",
        "optimizer.trials=3",
        "optimizer.bootstrapped=0",
        "optimizer.labeled=0",
        "optimizer.validation=12",
    ],
    "simba": [
        "optimizer.steps=2",
        "optimizer.candidates=2",
        "optimizer.batch=6",
        "optimizer.demonstrations=0",
        "optimizer.validation=12",
    ],
    "copro": COPRO,
    "infer_rules": [*FEW, "optimizer.candidates=2", "optimizer.rules=2"],
}
SHOWING = {
    "labeled_fewshot": [*FEW, "optimizer.k=3"],
    "knn_fewshot": [*FEW, "optimizer.k=3"],
    "bootstrap": [*FEW, "optimizer.labeled=3", "optimizer.bootstrapped=1"],
    "random_search": SEARCH,
}
"""Settings of the optimisers that write instructions, and of those that show examples."""


def sent_for(requests: list[str], text: str) -> set[str]:
    """What was asked about this text; demonstrations quote texts too, so only the last message
    counts."""
    return {
        each for each in requests if text in json.loads(each)["messages"][-1]["content"]
    }


@pytest.mark.parametrize("name", [*WRITING, *SHOWING])
def test_the_program_asks_what_was_scored_also_when_it_is_loaded_from_its_file(
    name: str, optimise: Optimise, tmp_path: Path
) -> None:
    gain = optimise(name, *(WRITING | SHOWING)[name])
    folder = tmp_path / "outputs/a/b"
    # the one instruction or the examples that the scripted judge needs, found and believed
    if name != "random_search":
        report = (folder / "report.md").read_text(encoding="utf-8")
        assert gain["improvement.gain_low"] > 10 and gain["improvement.p"] < 0.01
        assert (
            "Yes.** The optimised program is better" in report and "kestrel" in report
        )
    scored, splits = list(REQUESTS), json.loads((folder / "splits.json").read_text())
    assert len(
        {*splits["train"]["ids"], *splits["validation"]["ids"], *splits["test"]["ids"]}
    ) == sum(splits[side]["n"] for side in ("train", "validation", "test"))
    by_id = {row["id"]: row["text"] for row in texts(60)}
    REQUESTS.clear()
    chosen = tmp_path / "chosen.jsonl"
    rows = [{"id": id_, "text": by_id[id_]} for id_ in splits["validation"]["ids"]]
    put(chosen, rows)
    config = compose_config(
        [
            "model=patterns",
            "prompt=program",
            f"prompt.path={folder}/program.json",
            "analysis=none",
            "tracking=none",
            "dataset=texts",
            f"dataset.path={chosen}",
            "engine.cache=false",
        ]
    )
    config["model"] = {"_target_": "tests.optimize.scripted.Scripted"}
    run_experiment(config, CHOICES, tmp_path / "out")
    assert len(REQUESTS) == len(rows)
    for row in rows:
        (asked,) = sent_for(REQUESTS, row["text"])
        assert asked in sent_for(scored, row["text"])
    found = load(folder / "program.json").predictors["readout.predict"]
    shown = found.nearest or len(found.demonstrations)
    assert (MAGIC in found.instructions) if name in WRITING else (shown > 1)
    assert {len(json.loads(each)["messages"]) for each in REQUESTS} == {2 * shown + 1}
    assert all(found.instructions in json.loads(each)["system"] for each in REQUESTS)


def test_no_text_longer_than_the_longest_is_shown(
    optimise: Optimise, tmp_path: Path
) -> None:
    rows = texts(60)
    for row in rows[::3]:
        row["text"] += " and so on" * 20
    optimise(
        "labeled_fewshot", "optimizer.longest=150", "optimizer.train=40", rows=rows
    )
    program = load(tmp_path / "outputs/a/b/program.json")
    shown = [
        each["text"] for each in program.predictors["readout.predict"].demonstrations
    ]
    assert len(shown) == 8 and max(map(len, shown)) <= 150


def test_the_worked_examples_of_a_prompt_may_be_shown(
    optimise: Optimise, tmp_path: Path
) -> None:
    optimise(
        "labeled_fewshot",
        "optimizer.k=5",
        "optimizer.train=40",
        "optimizer.examples={prompt: demos_pt}",
    )
    program = load(tmp_path / "outputs/a/b/program.json")
    shown = {
        each["text"] for each in program.predictors["readout.predict"].demonstrations
    }
    written = {
        demo.inputs["text"]
        for demo in build(
            compose_config(["prompt=demos_pt"])["prompt"], "prompt"
        ).shown()
    }
    assert len(shown) == 5 and shown <= written
    with pytest.raises(
        ConfigError,
        match=r"`optimizer.examples.prompt` is 'minimal_pt', which has 0 examples",
    ):
        optimise(
            "labeled_fewshot",
            "optimizer.examples={prompt: minimal_pt}",
            folder="outputs/a/c",
        )


def test_a_killed_search_goes_on_without_paying_twice_and_says_what_it_took(
    optimise: Optimise, tmp_path: Path
) -> None:
    folder = tmp_path / "outputs/a/b"
    with pytest.raises(KeyboardInterrupt):
        optimise("copro", *COPRO, dies_after=14)
    before = len(REQUESTS)
    assert (folder / "run.json").is_file()
    taken = optimise("copro", *COPRO)["program.search_calls"]
    after = len(REQUESTS)
    # what was under way when it died is asked again
    assert len(set(REQUESTS[before:]) & set(REQUESTS[:14])) <= 1
    spent = sum(each.get("calls", 0) for each in rows_in(folder / "spent.jsonl"))
    assert 14 < taken <= spent == after
    first, report = (
        (folder / "program.json").read_text(encoding="utf-8"),
        (folder / "report.md").read_text("utf-8"),
    )
    assert f"The search took {taken:.0f} calls to the model" in report
    assert f"-optimised, hash {json.loads(first)['digest'][:12]}" in report
    assert optimise("copro", *COPRO)["program.search_calls"] == taken
    assert len(REQUESTS) == after
    assert (folder / "program.json").read_text(encoding="utf-8") == first
    (folder / "optimisation.json").write_text('{"calls": "many"}', encoding="utf-8")
    with pytest.raises(DataError, match=r"optimisation\.json: not what a search took"):
        optimise("copro", *COPRO)
    (folder / "optimisation.json").unlink()
    assert "program.search_calls" not in optimise("copro", *COPRO)


def test_a_full_budget_stops_the_search_and_says_how_to_go_on(
    optimise: Optimise,
) -> None:
    with pytest.raises(
        RunStopped, match=r"(?s)engine.max_calls.*after \d+ judgments.*run.resume="
    ):
        optimise("copro", *COPRO, "engine.max_calls=9")


def test_a_search_leaves_the_budget_of_the_engine_alone(
    optimise: Optimise, monkeypatch: Patch
) -> None:
    budgets, search = [], Search.run

    def run(self: Search, engine: LocalEngine, folder: Path) -> Found:
        engine.budget.calls = 2
        found = search(self, engine, folder)
        budgets.append(engine.budget.calls)
        return found

    monkeypatch.setattr(Search, "run", run)
    optimise("labeled_fewshot", "optimizer.k=3", "optimizer.train=12")
    assert budgets == [2]


def test_every_further_program_that_is_judged_on_the_same_texts_is_counted(
    optimise: Optimise, tmp_path: Path
) -> None:
    assert optimise("copro", *COPRO)["improvement.looks"] == 1
    again = optimise(
        "copro", *COPRO, folder="outputs/a/d", kind=1, writes=MAGIC + " Be brief."
    )
    assert again["improvement.looks"] == 2
    report = (tmp_path / "outputs/a/d/report.md").read_text(encoding="utf-8")
    assert "This is look number 2" in report
    # the excerpts, too
    assert ", optimised: score" in report and ", baseline: score" not in report
    assert "97.5% interval" in report


def test_the_judged_texts_of_an_optimisation_are_read_again(
    optimise: Optimise, tmp_path: Path
) -> None:
    """Of its dataset it judged a part, which is no change of the dataset: its report can be made
    again."""
    optimise("labeled_fewshot", *FEW)
    folder, config = tmp_path / "outputs/a/b", composed("labeled_fewshot")
    config = {
        **config,
        "dataset": {**config["dataset"], "path": str(tmp_path / "texts.jsonl")},
    }
    (folder / ".hydra").mkdir(exist_ok=True)
    (folder / ".hydra" / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    told = json.loads((folder / "splits.json").read_text(encoding="utf-8"))["test"][
        "ids"
    ]
    assert [item.id for item in items_of(RunFolder(folder))] == told and len(told) < 60


def test_what_is_a_further_look(tmp_path: Path) -> None:
    """Another program, another metric, some of the texts left out; not the same again, other texts,
    another rubric."""
    folder, file = tmp_path / "outputs/a/x", tmp_path / "outputs/looks.jsonl"
    one, other = [
        [Item(id=f"{n}", text=f"{name} {n}") for n in range(4)]
        for name in ("one", "other")
    ]
    tried = [("p", "auc"), ("p", "auc"), ("q", "auc"), ("p", "error"), ("p", "auc")]
    assert [looked(folder, one, "r.overall", claim) for claim in tried] == [
        1,
        1,
        2,
        3,
        1,
    ]
    assert looked(folder, other, "r.overall", ("p", "auc")) == 1
    assert looked(folder, one, "s.overall", ("p", "auc")) == 1
    assert looked(folder, one[:3], "r.overall", ("p", "auc")) == 4
    assert looked(folder, one, "r.overall", None) == 4
    renamed = [
        item.model_copy(update={"id": f"new {item.id}", "pair": "a"}) for item in one
    ]
    assert looked(folder, renamed, "r.overall", ("p", "auc")) == 1
    file.write_text("what?\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"looks.jsonl:1: no look"):
        looked(folder, one, "r.overall", ("p", "auc"))


def test_an_optimiser_that_finds_nothing_leaves_all_and_looks_at_nothing(
    optimise: Optimise, tmp_path: Path
) -> None:
    found = optimise("copro", *COPRO, writes="Judge as you please.")
    assert found["improvement.gain"] == 0
    assert not (tmp_path / "outputs/looks.jsonl").exists()
    program = (tmp_path / "outputs/a/b/program.json").read_text(encoding="utf-8")
    assert "as you please" not in program


def test_what_cannot_be_optimised_is_refused_with_a_way_out(optimise: Optimise) -> None:
    bare = [{"id": row["id"], "text": row["text"]} for row in texts(60)]
    for error, told, word, rows in (
        (DataError, "the fewest", None, texts(14)),
        (DataError, "neither labels nor pairs", None, bare),
        (
            DataError,
            r"`optimizer.metric` is 'pair_margin', and no pair",
            "optimizer.metric=pair_margin",
            bare,
        ),
        (
            ConfigError,
            r"`optimizer.longest` is 5, and 0 of \d+ labelled",
            "optimizer.longest=5",
            texts(60),
        ),
        (
            ConfigError,
            r"`optimizer.metric` is 'f1'; there are: pair_order",
            "optimizer.metric=f1",
            texts(60),
        ),
        (
            ConfigError,
            "one judge is optimised at a time",
            "judges=[score,debate]",
            texts(60),
        ),
        (
            ConfigError,
            r"`optimizer.criterion` is 'x'; judge=score has: overall",
            "optimizer.criterion=x",
            texts(60),
        ),
        (ConfigError, r"gives a score alone", "optimizer.metric=log_score", texts(60)),
    ):
        with pytest.raises(error, match=told):
            optimise("random_search", *SEARCH, *([word] if word else []), rows=rows)
    assert not [each for each in REQUESTS if "writes" in each]


def test_a_sweep_ranks_what_was_found_by_how_it_judges_and_not_by_its_gain(
    optimise: Optimise, tmp_path: Path
) -> None:
    """A great gain from a bad beginning is no better judge, and the beginning is none of the
    sweep's judges."""
    analysis = [
        "analysis={_target_: undogmatic.examinations.labelled.LabelledAnalysis}"
    ]
    found = [
        optimise("copro", *COPRO, *analysis, folder="outputs/s/0"),
        optimise(
            "labeled_fewshot",
            "optimizer.k=3",
            *analysis,
            folder="outputs/s/1",
            writes="Nothing.",
        ),
        optimise(
            "copro",
            *COPRO,
            *analysis,
            folder="outputs/s/2",
            kind=1,
            writes="Judge as you please.",
        ),
    ]
    for n, optimizer in enumerate(("copro", "labeled_fewshot", "copro")):
        (tmp_path / f"outputs/s/{n}/.hydra").mkdir()
        config = {"rubric": composed(optimizer)["rubric"]}
        (tmp_path / f"outputs/s/{n}/.hydra/config.yaml").write_text(
            yaml.safe_dump(config), encoding="utf-8"
        )
        words = [f"optimizer={optimizer}", f"seed={n}"]
        (tmp_path / f"outputs/s/{n}/.hydra/overrides.yaml").write_text(
            yaml.safe_dump(words), encoding="utf-8"
        )
    assert found[0]["improvement.gain_low"] > 10 and found[2]["improvement.gain"] == 0
    result = compare(tmp_path / "outputs/s", "s", "en")
    assert result.headline == "labelled.agreement.spearman"
    assert len(result.jobs) == 3 and "judge" not in result.jobs
    assert set(result.jobs["judged"]) == {30}
    told = result.jobs.set_index("number")
    assert told.loc[0, "headline"] == pytest.approx(
        found[0]["labelled.agreement.spearman"]
    )
    assert told.loc[2, "headline"] == pytest.approx(
        found[2]["labelled.agreement.spearman"]
    )
    assert told.loc[2, "headline"] < told.loc[0, "headline"]
    noted = [
        json.loads((tmp_path / f"outputs/s/{n}/run.json").read_text())["standing"]
        for n in (0, 2)
    ]
    assert [{*each} for each in noted] == [{"labelled"}, {"labelled"}]
    assert told.loc[[0, 2], "standing"].tolist() == [each["labelled"] for each in noted]


def test_no_optimiser_sees_the_test_texts_by_another_name(
    optimise: Optimise, tmp_path: Path
) -> None:
    """The very file that is judged as development texts or as examples, with its own ids or without
    any."""
    for rows in (
        texts(60),
        [{"text": row["text"], "label": row["label"]} for row in texts(60)],
    ):
        for key in ("development", "examples"):
            other = tmp_path / "other.jsonl"
            put(other, rows)
            named = f"optimizer.{key}={{dataset: texts, path: {other}}}"
            with pytest.raises(DataError, match="on both sides of the split"):
                optimise("labeled_fewshot", named, rows=rows)
    # numbered as the test texts
    unknown = [
        {"text": row["text"], "label": row["label"]} for row in texts(40, seed=1)
    ]
    put(other, unknown)
    optimise(
        "labeled_fewshot",
        f"optimizer.development={{dataset: texts, path: {other}}}",
        "optimizer.k=3",
    )
    assert (
        json.loads((tmp_path / "outputs/a/b/splits.json").read_text())["test"]["n"]
        == 60
    )


def test_the_development_split_cannot_be_the_test(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("UNDOGMATIC_ALLOW", "tests")
    config = compose_config(
        ["optimizer=random_search", "dataset.split=development", "tracking=none"]
    )
    config["model"] = {"_target_": "tests.optimize.scripted.Scripted"}
    with pytest.raises(
        ConfigError,
        match=r"dataset.split=test; the development texts are found by themselves",
    ):
        run_experiment(config, CHOICES, tmp_path / "out")
    config = compose_config(
        ["optimizer=random_search", "model=patterns", "tracking=none"]
    )
    with pytest.raises(
        ConfigError, match="reads no prompt, so there is nothing to optimise"
    ):
        run_experiment(config, CHOICES, tmp_path / "out")


def test_a_program_knows_the_texts_that_it_was_optimised_on(
    optimise: Optimise, tmp_path: Path
) -> None:
    optimise("copro", *COPRO)
    sides = json.loads(
        (tmp_path / "outputs/a/b/splits.json").read_text(encoding="utf-8")
    )
    marks = set(load(tmp_path / "outputs/a/b/program.json").lineage.texts)
    of_side = {
        side: text_marks(
            row["text"]
            for row in texts(60)
            if f'"{row["id"]}"' in json.dumps(sides[side])
        )
        for side in ("train", "validation", "test")
    }
    assert marks
    assert marks <= of_side["train"] | of_side["validation"]
    assert not marks & of_side["test"]
    assert load(tmp_path / "outputs/a/b/baseline.json").lineage.texts == ()
    # What is made from it has seen them as well, and so has what that began with: no copy forgets.
    file = str(tmp_path / "outputs/a/b/program.json")
    program = {"_target_": "undogmatic.engine.programs.ProgramPrompt", "path": file}
    again = [f"prompt={json.dumps(program)}", "optimizer.k=3", "optimizer.train=12"]
    optimise("labeled_fewshot", *again, folder="outputs/a/c", rows=texts(60, seed=1))
    began, ended = (
        load(tmp_path / "outputs/a/c" / name).lineage.texts
        for name in ("baseline.json", "program.json")
    )
    assert set(began) == marks
    assert marks < set(ended)
    recipe = Recipe(compose_config(["prompt=found_pt", "readout=logprobs"])).build()
    theses = {
        split: (
            build(
                compose_config(["dataset=theses", f"dataset.split={split}"])["dataset"],
                "dataset",
            ).load()
        )
        for split in ("development", "test")
    }
    assert recipe.fitted(theses["development"]) == 72
    assert recipe.fitted(theses["test"]) == 0


@pytest.mark.parametrize(
    ("writes", "said"),
    [("", "gepa tried no other program"), ("Be kind.", "Nothing that optimizer")],
)
def test_proposals_nobody_can_read_are_not_worse(
    writes: str, said: str, optimise: Optimise, tmp_path: Path
) -> None:
    optimise("gepa", *WRITING["gepa"], writes=writes)
    assert said in (tmp_path / "outputs/a/b/report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["mipro", "copro", "infer_rules"])
def test_a_writer_whom_nobody_can_read_ends_with_a_message(
    name: str, optimise: Optimise, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(Scripted, "_written", lambda self, payload: "blah")
    with pytest.raises(
        DataError, match=r"a proposal that cannot be read.*optimizer\.prompt_model=NAME"
    ):
        optimise(name, *WRITING[name])


def test_where_the_model_cannot_write_those_that_need_no_writer_are_named(
    optimise: Optimise,
) -> None:
    with pytest.raises(ConfigError, match=r"patterns.* cannot\. .*random_search"):
        optimise("gepa", "optimizer.prompt_model=patterns")
    with pytest.raises(ConfigError, match="asks no model to write prompts"):
        optimise("bootstrap", "+optimizer.prompt_model=gpt")


STYLES = (
    "score",
    "devils_advocate",
    "distributional",
    "debate",
    "red_blue",
    "single_pass",
    "calibration_probe",
    "panel",
    "selective",
)


class Knowing(stub_server.StubServer):
    """Judges by `WORD` where MAGIC is an instruction, and else by the text's hash; asked to write,
    it proposes it."""

    knows = False

    def _chat(
        self, body: dict[str, Any], text: str, fault: stub_server.Fault | None
    ) -> dict[str, Any]:
        asked = str(body["messages"][-1]["content"])
        self.knows = MAGIC in json.dumps(body["messages"])
        answer = super()._chat(body, text, fault)
        if "[[ ## completed ## ]]" in asked:
            names = dict.fromkeys(
                re.findall(
                    r"\[\[ ## (\w+) ## \]\]", asked[asked.rfind("Respond with") :]
                )
            )
            parts = [
                f"[[ ## {name} ## ]]\n{MAGIC if name != 'completed' else ''}"
                for name in names
            ]
            answer["choices"][0]["message"]["content"] = "\n\n".join(parts)
        return answer


@pytest.fixture
def knowing(monkeypatch: Patch) -> Iterator[Knowing]:
    by_hash = stub_server.score_of
    with Knowing() as server:

        def score(text: str) -> int:
            return (95 if WORD in text else 5) if server.knows else by_hash(text)

        monkeypatch.setattr(stub_server, "score_of", score)
        yield server


@pytest.mark.parametrize("style", STYLES)
def test_what_a_style_asks_is_optimised_saved_and_loaded(
    style: str, knowing: Knowing, tmp_path: Path
) -> None:
    file = tmp_path / "texts.jsonl"
    put(file, texts(48))
    run = [
        "model=openai_compatible",
        f"model.api_base={knowing.url}/v1",
        "model.name=stub",
        "readout=structured",
        f"judge={style}",
        "analysis=none",
        "tracking=none",
        "dataset=texts",
        f"dataset.path={file}",
    ]
    small = [
        "optimizer=copro",
        "optimizer.breadth=2",
        "optimizer.depth=1",
        "optimizer.validation=6",
    ]
    folder, again = tmp_path / "outputs/a/b", tmp_path / "outputs/a/c"
    run_experiment(
        compose_config([*run, "prompt=anchored_en", *small]),
        CHOICES | {"judge": style, "optimizer": "copro"},
        folder,
    )
    found = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert found["improvement.gain_low"] > 10
    assert found["improvement.p"] < 0.01
    program = load(folder / "program.json")
    assert any(MAGIC in each.instructions for each in program.predictors.values())
    loaded = [*run, "prompt=program", f"prompt.path={folder}/program.json"]
    run_experiment(compose_config(loaded), CHOICES | {"judge": style}, again)
    own, other = (
        {
            row["item_id"]: row["outcome"]
            for row in map(
                json.loads, (place / "judgments.jsonl").read_text().splitlines()
            )
            if row["judge"] in ("optimised", style)
        }
        for place in (folder, again)
    )
    assert own
    assert all(
        other[item]["score"] == outcome["score"] for item, outcome in own.items()
    )
