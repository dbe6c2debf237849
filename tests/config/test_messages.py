"""What a user mistypes on the command line: the message, and how the command ends."""

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.errors import HydraException

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.faults import run
from undogmatic.config.messages import explain, typed_wrongly
from undogmatic.safety.paths import conf_folder


def raised(*words: str) -> Exception:
    """What Hydra raises of overrides that do not compose."""
    with (
        pytest.raises((HydraException, ValueError)) as caught,
        initialize_config_dir(version_base="1.3", config_dir=str(conf_folder())),
    ):
        compose("config", list(words))
    return caught.value


def refused(*words: str) -> str:
    """What is said of them."""
    error = raised(*words)
    assert typed_wrongly(error)
    return explain(error, words)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (
            "judge=debatte",
            "`judge` has no option 'debatte' (you typed judge=debatte). Did you mean judge=debate?",
        ),
        ("judge=debatte", "coverage, debate, devils_advocate, "),
        (
            "judge=gating/binry",
            "`judge` has no option 'gating/binry' (you typed judge=gating/binry). Did you mean",
        ),
        (
            "judge=gating/binry",
            "judge=gating/binary? Options: gating/binary, gating/default, ",
        ),
        ("engine=slurm", "Choose one: engine=OPTION. Options: "),
        ("model=", "`model` has no option ''"),
        (
            "engine=[local,nowhere]",
            "`engine` has no option 'nowhere' (you typed engine=[local,nowhere]).",
        ),
        (
            "engine.concurency=3",
            "`engine.concurency` is not a known key (you typed engine.concurency=3).",
        ),
        ("engine.concurency=3", "Did you mean engine.concurrency=3? Known in engine: "),
        (
            "engine.xyz=3",
            "is not a known key (you typed engine.xyz=3). Known in engine: concurrency, ",
        ),
        (
            "dataset.n=5",
            "(you typed dataset.n=5). dataset=instrument, dataset=labelled_subset, dataset=traces have it. Known in dataset: parts, ",
        ),
        (
            "readout.top=5",
            "readout.top=5). readout=integers, readout=logprobs, readout=logprobs_small have it.",
        ),
        (
            "judge.prompt=demos_pt",
            "To add a key that its file does not list: +judge.prompt=VALUE.",
        ),
        (
            "run.seed=1",
            "is not a known key (you typed run.seed=1). Known in run: resume, repeats, ",
        ),
        ("engne.retries=3", "Did you mean engine.retries=3?"),
        (
            "run={repeat: 2}",
            (
                "`run.repeat` is not a known key (you typed run={repeat: 2}). Did you mean"
                " `run.repeats`?"
            ),
        ),
        (
            "modle=gpt",
            "Did you mean model=gpt? Known: seed, judges, steps, summarizer, plan, run, ",
        ),
        ("expriment=demo_orders", "Did you mean experiment=demo_orders?"),
        ("concurrency=3", "Did you mean engine.concurrency=3?"),
        ("analysis.alpha=0.01", "Did you mean analysis.ab.alpha=0.01?"),
        ("seed.start=1", "`seed` is a single value: seed=VALUE."),
        ("seed=[1", "`seed=[1` cannot be read as an override. Write KEY=VALUE"),
        ("seed", "`seed` cannot be read as an override. Write KEY=VALUE"),
        ("~nothing", "'nothing' does not exist"),
        (
            "+seed=1",
            (
                "`seed` is there already, so `+` cannot add it (you typed +seed=1). To set it"
                " whether or not"
            ),
        ),
        ("model=3", "Config group override must be a string or a list."),
    ],
)
def test_a_wrong_word_is_named_with_what_is_close(word: str, said: str) -> None:
    message = refused("engine=local", word)
    assert said in message
    assert "\n" not in message
    assert str(conf_folder()) not in message


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (
            "model.extra={a: 1}",
            "`model.extra` holds nothing yet. To add to it: +model.extra.a=VALUE.",
        ),
        (
            "judge.rules.low_confidence.confidence_below=40",
            "holds nothing yet. To add to it: +judge.rules.low_confidence.confidence_below=VALUE.",
        ),
        (
            "judge.rules.low_confidence.nope=40",
            "`judge.rules.low_confidence` is a single value",
        ),
        ("hydra.job.env_set.X=1", "`hydra.job.env_set` holds nothing yet."),
        (
            "analysis.judges.judge=[a]",
            "holds nothing yet. To add to it: +analysis.judges.judge=VALUE.",
        ),
    ],
)
def test_what_is_empty_and_takes_keys_is_not_called_a_single_value(
    word: str, said: str
) -> None:
    assert said in refused("model=gpt", "judge=selective", "analysis=composite", word)


def test_what_a_chosen_file_adds_to_a_key_that_is_there_is_said_to_be_the_files() -> (
    None
):
    assert "a file that you chose says +seed" in explain(
        raised("+seed=1"), ["prompt=demos_pt,demos_en"]
    )


def test_a_key_of_a_group_that_is_swept_over_may_belong_to_an_option() -> None:
    message = refused("model=gpt", "judge.depth=3") + refused(
        "engine=local", "model.api_base=x"
    )
    assert "swept" not in message
    # as Hydra does for -m model=openai_compatible,patterns
    error = raised("model.api_base=http://h/v1")
    words = ["-m", "model=openai_compatible,patterns", "model.api_base=http://h/v1"]
    assert "as model is swept over; to set it: ++model.api_base=VALUE." in explain(
        error, words
    )


def test_a_wrong_option_in_a_file_is_not_taken_for_typed(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    mine = "# @package _global_\ndefaults:\n  - override /judge: debatte\n"
    (tmp_path / "experiment" / "mine.yaml").write_text(mine, encoding="utf-8")
    message = refused(
        f"hydra.searchpath=[file://{tmp_path}]", "experiment=mine", "judge.rounds=2"
    )
    assert message.startswith("In 'experiment/mine'") or message.startswith(
        "In 'config'"
    )
    assert "'judge/debatte'. Options of judge: bertscore, " in message
    assert "coverage, debate, " in message


def test_a_fault_of_ours_is_not_blamed_on_the_user() -> None:
    with pytest.raises(ValueError) as caught:
        int("x")
    assert not typed_wrongly(caught.value)


@pytest.mark.parametrize(
    "words",
    [
        ["judge=debatte"],
        ["-m", "tracking=none", "model=patterns", "judge=debatte,score"],
    ],
)
def test_a_command_ends_with_2_and_one_line(
    tmp_path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    ended = run(["run", *words], tmp_path)
    assert ended.status == 2, ended.stderr
    assert ended.stderr.startswith(
        f"error: `judge` has no option 'debatte' (you typed {words[-1]})."
    )
    assert len(ended.stderr.splitlines()) == 1
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    assert "Traceback" in run(["run", *words], tmp_path).stderr
