"""Searches: the space, what is tried, what is not tried twice, and what is said of the winner."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from tests.conftest import put
from tests.sweep.builders import metrics, multirun, result_of, scored, write_job
from undogmatic.errors import ConfigError, DataError
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.rubric import Rubric
from undogmatic.report import sweep as report
from undogmatic.report.document import Answered
from undogmatic.report.words import words_for
from undogmatic.safety.paths import conf_folder
from undogmatic.stats.compare import apart, flattery, front
from undogmatic.stats.estimate import Estimate
from undogmatic.sweep.jobs import SearchState, Trial, read_search
from undogmatic.sweep.search import Space, read_space

pytest.importorskip("optuna")


def space(*words: str) -> Space:
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        return read_space(words, GlobalHydra.instance().config_loader())


class TestSpace:
    def test_each_kind_of_range_the_last_word_counts_and_a_key_is_the_same_with_and_without_plus_signs(
        self,
    ) -> None:
        found = space(
            "seed=3",
            "prompt=a,b",
            "readout.n=range(4,11,3)",
            "readout.x=tag(log,interval(0.1,10))",
        )
        assert found.fixed == ["seed=3"]
        assert found.keys["prompt"].choices == ("a", "b")  # type: ignore[attr-defined]
        limits = found.keys["readout.n"]
        assert (limits.low, limits.high, limits.step) == (4, 10, 3)  # type: ignore[attr-defined]
        assert found.keys["readout.x"].log  # type: ignore[attr-defined]
        assert found.size == float("inf")
        assert space("prompt=a,b", "readout.n=range(4,11,3)").size == 6
        assert space("prompt=a,b", "seed=1,2", "prompt=c").fixed == ["prompt=c"]
        found = space("++prompt.anchors=true,false", "seed=1,2", "prompt.anchors=true")
        assert (found.fixed, list(found.keys)) == (["prompt.anchors=true"], ["seed"])

    @pytest.mark.parametrize(
        ("words", "said"),
        [(["seed=1"], "nothing varies"), (["seed=range(3,3)"], "seed")],
    )
    def test_what_cannot_be_searched(self, words: list[str], said: str) -> None:
        with pytest.raises(ConfigError, match=said):
            space(*words)


def test_a_count_takes_the_first_in_that_order_and_no_count_keeps_the_hash(
    rubric: Rubric,
) -> None:
    demos = [{"text": f"t{n}", "score": n, "rationale": "r"} for n in range(5)]
    whole = Prompt(id="p", language="en", demonstrations=demos)
    assert (
        whole.model_copy(update={"demo_count": 2}).shown() == whole.demonstrations[:2]
    )
    shuffled = whole.model_copy(update={"demo_order": 3})
    assert shuffled.model_copy(update={"demo_count": 2}).shown() == shuffled.shown()[:2]
    assert whole.hash(rubric) != whole.model_copy(update={"demo_count": 5}).hash(rubric)
    with pytest.raises(ConfigError, match="demo_count` is 9"):
        whole.model_copy(update={"demo_count": 9}).check(rubric)


class TestSelection:
    def test_the_best_of_equals_is_flattered_and_neither_a_clear_winner_nor_copies_are(
        self,
    ) -> None:
        rng = np.random.default_rng(1)
        noise = rng.normal(size=(20, 60))
        equal = noise - noise.mean(axis=1, keepdims=True)
        groups = np.arange(60)
        # The expected largest of 20 independent means of 60 is 1.87 standard errors.
        assert flattery(equal, groups, rng) == pytest.approx(
            1.87 / np.sqrt(60), rel=0.1
        )
        clear = equal + np.array([5, *np.zeros(19)])[:, None]
        assert abs(flattery(clear, groups, rng)) < 0.02
        one = np.random.default_rng(2).normal(size=40)
        assert (
            abs(flattery(np.stack([one] * 9), np.arange(40), np.random.default_rng(0)))
            < 0.02
        )

    def test_apart_mirrors_and_the_front_holds_what_nothing_beats(self) -> None:
        one, other = Estimate(0.9, 0.8, 0.95), Estimate(0.6, 0.5, 0.75)
        there, back = apart(one, other), apart(other, one)
        assert (there.low, there.high) == pytest.approx((-back.high, -back.low))
        assert there.low < 0.3 < there.high
        found = front(
            np.array([0.9, 0.8, 0.8, 0.9, 0.5]), np.array([3.0, 1.0, 2.0, 3.0, 1.0])
        )
        assert found.tolist() == [True, True, False, True, False]


def test_of_equal_trials_the_cheaper_is_first_and_the_front_is_kept(
    tmp_path: Path,
) -> None:
    values = [[0.9, 5.0], [0.9, 2.0], [0.5, 1.0], [0.4, 3.0]]
    trials = [
        Trial(number=n, params={"a": n}, state="complete", values=v)
        for n, v in enumerate(values)
    ]
    objectives = ["quality", "tokens"]
    search = SearchState(
        space={}, objectives=objectives, search=[], final=[], seed=0, trials=trials
    )
    assert search.ranked()[0].number == 1
    assert [trial.number for trial in search.front()] == [1, 2]
    search.write(tmp_path)
    assert read_search(tmp_path) == search
    (tmp_path / "search.json").write_text('{"space": 3}')
    with pytest.raises(DataError, match=r"search\.json is damaged"):
        read_search(tmp_path)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    settings = "hydra/sweeper=optuna analysis=labelled model=patterns dataset=labelled run.limit=30"
    return multirun(folder, *settings.split(), *words)


def test_a_search_from_the_command_to_its_report_and_again_without_judging(
    tmp_path: Path,
) -> None:
    """`seed` changes nothing in these scores: both points are tried, the space is then searched
    through."""
    words = ["seed=choice(1,2)", "hydra.sweeper.n_trials=5", "hydra.sweep.dir=s"]
    first = run(tmp_path, *words)
    assert first.returncode == 0, first.stderr
    kept = json.loads((tmp_path / "s" / "search.json").read_text())
    assert (len(kept["trials"]), kept["stopped_by"]) == (2, "searched_through")
    assert (
        "dataset.split=test"
        in (tmp_path / "s" / "final" / ".hydra" / "overrides.yaml").read_text()
    )
    report = (tmp_path / "s" / "report.md").read_text()
    assert "on texts that no trial has seen" in report and "Choosing alone" in report
    assert "All combinations were tried" in report
    assert kept["looks"] == 1
    assert "look number" not in report
    times = {
        n: (tmp_path / "s" / n / "run.json").stat().st_mtime_ns
        for n in ("0", "1", "final")
    }
    # Killed before the second had ended: only that one is run again.
    kept["trials"][1] |= {"state": "waiting", "values": []}
    (tmp_path / "s" / "search.json").write_text(json.dumps(kept))
    again = run(tmp_path, *words, "run.resume=s")
    assert again.returncode == 0, again.stderr
    changed = {
        n
        for n, t in times.items()
        if (tmp_path / "s" / n / "run.json").stat().st_mtime_ns != t
    }
    assert changed == {"1"}
    # the same winner on the same texts
    assert json.loads((tmp_path / "s" / "search.json").read_text())["looks"] == 1
    other = run(
        tmp_path, *words, "hydra.sweep.dir=t", "prompt=minimal_pt", "model=tfidf"
    )
    assert other.returncode == 0, other.stderr
    assert (
        "look number 2 at the winner's test texts"
        in (tmp_path / "t" / "report.md").read_text()
    )


def test_what_cannot_be_searched_is_one_message_before_anything_is_judged(
    tmp_path: Path,
) -> None:
    same = (
        "Nega-se provimento ao recurso, porque o prazo de quinze dias já tinha corrido quando foi"
        " protocolado"
    )
    files = {
        "dev": ["Outro texto, sobre outra coisa.", f"{same}."],
        "test": [f"{same}!", "Mais um texto alheio a tudo."],
    }
    for name, texts in files.items():  # without ids: both files number alike
        put(tmp_path / f"{name}.jsonl", ({"text": text} for text in texts))
    of_files = (
        "dataset=texts hydra.sweeper.search={dataset.path:dev.jsonl}"
        " hydra.sweeper.final={dataset.path:test.jsonl}"
    )
    two = "hydra.sweeper.rungs=[20] hydra.sweeper.objectives=[quality,calls]"
    for words, said in (
        ("seed=1,2 dataset.split=test", "a search takes development texts"),
        (f"seed=1,2 {two}", "gives trials up by one"),
        (
            "seed=1,2 hydra.sweeper.search={dataset.split:test}",
            "on both sides of the split",
        ),
        (
            "dataset.conditions=[explanation],[imitation]",
            "`dataset.conditions` cannot be searched",
        ),
        ("seed=1,2 analysis=ab,labelled", "`analysis` cannot be searched"),
        ("rubric.margin=interval(1,20)", "`rubric.margin` cannot be searched"),
        (
            "rubric.direction=higher_is_worse,higher_is_better",
            "`rubric.direction` cannot be searched",
        ),
        (
            f"seed=1,2 {of_files}",
            "test text '1' and development text '2' (copies or near",
        ),
    ):
        ended = run(tmp_path, *words.split())
        assert ended.returncode == 2 and said in ended.stderr
        assert "Traceback" not in ended.stderr
    assert not list(tmp_path.rglob("judgments.jsonl"))


SEARCH = [
    "experiment=prompt_search",
    "hydra/sweeper=optuna",
    "hydra.sweeper.n_trials=1",
    "model=gpt",
]
NO_SERVER = [
    "model.api_base=http://127.0.0.1:9",
    "engine.retries=0",
    "run.limit=2",
    "hydra.sweeper.rungs=[]",
]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("prompt=demos_pt,anchored_pt", "prompt=anchored_pt has 0 demonstrations"),
        ("prompt=demos_pt prompt.demo_count=4,900", "`prompt.demo_count` is 900"),
        (
            "prompt=anchored_pt prompt.demo_order=1,2",
            "has no demonstrations, so nothing would change",
        ),
    ],
)
def test_a_prompt_that_no_trial_could_use_is_one_message_before_anything_is_judged(
    words: str, said: str, tmp_path: Path
) -> None:
    ended = multirun(tmp_path, *SEARCH, *NO_SERVER, *words.split())
    assert ended.returncode == 2 and said in ended.stderr
    assert "Traceback" not in ended.stderr and not list(
        tmp_path.rglob("judgments.jsonl")
    )


def test_what_an_experiment_varies_of_demonstrations_is_left_out_aloud_where_no_prompt_has_any(
    tmp_path: Path,
) -> None:
    ended = multirun(tmp_path, *SEARCH, *NO_SERVER, "prompt=anchored_pt,minimal_pt")
    note = (
        "anchored_pt, minimal_pt have no demonstrations, so `prompt.demo_count` and"
        " `prompt.demo_order`"
    )
    assert note in ended.stderr and "Traceback" not in ended.stderr
    (state,) = (json.loads(path.read_text()) for path in tmp_path.rglob("search.json"))
    assert sorted(key.lstrip("+") for key in state["space"]) == [
        "prompt",
        "prompt.anchors",
    ]


def test_the_cost_figure_of_a_sweep_shows_the_pareto_front(tmp_path: Path) -> None:
    for n, (share, seconds) in enumerate(((0.9, 2.0), (0.7, 1.0), (0.6, 3.0))):
        frame = scored(80, 40, seed=n).assign(seconds=seconds)
        write_job(tmp_path / str(n), [f"model={n}"], frame, metrics=metrics(share))
    (figure,) = [each for each in result_of(tmp_path).figures if each.name == "cost"]
    shown = dict(zip(figure.data["labels"], figure.data["groups"], strict=True))
    assert shown == {"0": "front", "1": "front", "2": "behind"}


@pytest.mark.parametrize(
    ("scores", "final", "told", "step"),
    [
        (
            scored(80, 40),
            ["dataset.path=t.csv"],
            "could not be tested, because",
            "a test of the winner. When that is",
        ),
        (
            scored(80, 40),
            [],
            "The winner has not been tested yet",
            "Name texts that no trial has seen",
        ),
        (
            None,
            ["dataset.path=t.csv"],
            "None of the 1 trial ",
            "Below is why each failed",
        ),
    ],
)
def test_what_stopped_a_search_is_said_and_what_comes_next(
    scores: pd.DataFrame | None, final: list[str], told: str, step: str, tmp_path: Path
) -> None:
    values = [0.9] if scores is not None else []
    trial = Trial(
        number=0, params={}, state="complete" if values else "failed", values=values
    )
    SearchState(
        space={},
        objectives=["quality"],
        search=[],
        final=final,
        seed=0,
        trials=[trial],
        winner=0,
    ).write(tmp_path)
    write_job(
        tmp_path / "0",
        ["prompt=a"],
        scores,
        metrics=metrics(0.9),
        **({} if values else {"error": "no text."}),
    )
    if final and values:
        write_job(tmp_path / "final", ["prompt=a"], None, error="too few labels")
    noted = {
        "hydra": {
            "overrides": {"task": ["prompt=a,b"], "hydra": ["hydra/sweeper=optuna"]}
        }
    }
    (tmp_path / "multirun.yaml").write_text(json.dumps(noted))
    result = result_of(tmp_path)
    first, *_ = report.answers(result, words_for(result))
    assert isinstance(first, Answered) and told in first.text
    assert ("too few labels. " in first.text) == bool(final and values)
    assert (
        step in first.below[0] and "hydra/sweeper=optuna prompt=a,b" in first.below[0]
    )


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        (["model=gpt", "prompt=a,b"], "-m prompt=a,b model=gpt,local"),
        (
            ["model=gpt", "model.api_base=http://x/v1", "prompt=a,b"],
            "-m prompt=a,b model=local",
        ),
        (["model=local,qwen", "seed=1"], "-m seed=1 model=local,qwen,gpt"),
        (["model.kind=random,length"], "model=local"),
    ],
)
def test_one_more_model_is_suggested_without_what_was_set_of_another(
    typed: list[str], suggested: str
) -> None:
    assert report.wider(typed) == f"python -m undogmatic.run {suggested}"


def test_a_number_that_two_metrics_have_stands_once_with_the_wider_interval(
    tmp_path: Path,
) -> None:
    more = {
        "ab.mean": 3.0,
        "ab.mean_low": 1.0,
        "ab.mean_high": 5.0,
        "ab.matched": 3.0,
        "ab.matched_low": 2.0,
    }
    for n in (0, 1):
        write_job(
            tmp_path / "x" / str(n),
            [f"model={n}"],
            scored(80, 40, n),
            metrics=metrics(0.9, **more, **{"ab.matched_high": 4.0}),
        )
    jobs = result_of(tmp_path / "x").jobs
    assert "ab.mean" in jobs and "ab.matched" not in jobs
