"""The embedded model itself. These tests load it (a second or two) from the user's cache."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.conftest import Patch, reading_of
from undogmatic.config.build import build
from undogmatic.config.groups import plain
from undogmatic.errors import ConfigError, ModelError
from undogmatic.models.base import View, cut
from undogmatic.models.calls import Gateway
from undogmatic.models.embedded import EmbeddedModel, _llama
from undogmatic.models.llama import _INTERFACE, Ended, Llama, library
from undogmatic.readouts.logprobs import LogprobsReadout
from undogmatic.readouts.prompt import Demonstration, Prompt
from undogmatic.records.records import Item
from undogmatic.records.rubric import Rubric

pytestmark = pytest.mark.local_model
VIEW = View(blocks=(2, 3))
TEXT = "A fiança não alcança a prorrogação."


@pytest.fixture(scope="module")
def model() -> EmbeddedModel:
    made = EmbeddedModel(context=512)
    made.connect(Gateway())
    return made


def pooled(model: EmbeddedModel, text: str, view: View = VIEW) -> np.ndarray:
    return asyncio.run(model.pooled(text, view))


def shown(*answers: tuple[float, str]) -> Prompt:
    """A prompt with these scores and reasons of two texts."""
    texts = ("Aplica-se o Tema 1.", "Não deve, porque pagou.")
    pairs = zip(texts, answers, strict=True)
    shots = tuple(
        Demonstration(text=text, score=score, rationale=why)
        for text, (score, why) in pairs
    )
    return Prompt(id="d", language="pt", instructions="Julgue.", demonstrations=shots)


def test_a_text_is_foretold_token_by_token_as_the_next_tokens_odds_say(
    model: EmbeddedModel,
) -> None:
    before = "Q: Qual é a capital do Brasil?\nA:"
    # longer than the steps in which odds are had
    text = " Brasília, " + "que fica no planalto central do país, " * 5
    found = asyncio.run(model.foretold(before, text))
    llama = Llama(model.path, 1, 512)
    tokens = llama.tokenize(text, begin=False)
    assert found.shape == (len(tokens),) and len(tokens) > 40 and (found < 0).all()
    odds, _ = llama.next_token([before], 262_000)
    first = llama._piece(tokens[0]).decode()
    assert found[0] == pytest.approx(dict(map(tuple, odds))[first], abs=0.05)
    other = asyncio.run(model.foretold("Q: Como lavar lã?\nA:", text))
    assert found[:2].sum() > other[:2].sum()
    llama.close()


def test_states_are_the_same_bits_whatever_came_before_and_the_loaded_model_is_shared(
    model: EmbeddedModel,
) -> None:
    first = pooled(model, TEXT)
    pooled(model, "Outro texto, bem diferente.")
    assert np.array_equal(first, pooled(model, TEXT))
    assert first.shape == (2 * 640,)
    for n, block in enumerate(VIEW.blocks):  # alone and among others
        assert np.array_equal(
            first[640 * n : 640 * (n + 1)], pooled(model, TEXT, View(blocks=(block,)))
        )
    assert not np.array_equal(first, pooled(model, "A fiança alcança a prorrogação."))
    other = EmbeddedModel(context=512)
    other.connect(Gateway())
    before = _llama.cache_info().misses
    pooled(other, "texto")
    assert _llama.cache_info().misses == before


def test_a_text_longer_than_the_context_is_read_in_windows(
    model: EmbeddedModel,
) -> None:
    long = "O imposto só passa pelo caixa da empresa. " * 60
    assert model.count_tokens(long) > model.context
    vector = pooled(model, long)
    assert np.isfinite(vector).all()
    short = pooled(model, "O imposto só passa pelo caixa da empresa. " * 20)
    assert np.corrcoef(vector, short)[0, 1] > 0.95


def test_the_pieces_of_a_text_together_are_the_text(model: EmbeddedModel) -> None:
    for times in (3, 60):  # the second is longer than the context
        text = "O imposto só passa pelo caixa da empresa. " * times
        read = asyncio.run(model.pieces(text, VIEW))
        assert len(read.tokens) == len(cut(text)) == len(read.states)
        mean = np.average(read.states.astype(np.float64), axis=0, weights=read.tokens)
        assert np.corrcoef(mean, pooled(model, text))[0, 1] > 0.999
    with pytest.raises(ModelError, match="has no tokens"):
        asyncio.run(model.pieces("", VIEW))


def test_words_before_a_text_change_its_states_and_last_pools_one_token_of_a_known_block(
    model: EmbeddedModel,
) -> None:
    assert not np.array_equal(
        pooled(model, "texto"),
        pooled(model, "texto", View(blocks=(2, 3), before="Pergunta: ")),
    )
    asked = View(blocks=(2, 3), after=" Explica ou só cita?")
    last = pooled(model, "texto", asked.model_copy(update={"pool": "last"}))
    mean = pooled(model, "texto", asked.model_copy(update={"pool": "after"}))
    assert not np.array_equal(last, mean)
    with pytest.raises(ConfigError, match="has 18 blocks; block 19 does not exist"):
        pooled(model, "texto", View(blocks=(19,)))


@pytest.mark.parametrize(
    ("own", "spins"),
    [
        ({}, "1000"),
        ({"GOMP_SPINCOUNT": "5"}, "5"),
        ({"OMP_WAIT_POLICY": "active"}, None),
    ],
)
def test_threads_that_wait_soon_sleep_unless_the_user_wants_otherwise(
    own: dict[str, str], spins: str | None, monkeypatch: Patch
) -> None:
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.setenv(name, "")  # so that what is set below is undone
        monkeypatch.delenv(name)
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    library()
    assert os.environ.get("GOMP_SPINCOUNT") == spins


def test_log_probabilities_do_not_depend_on_the_order_of_the_texts(
    model: EmbeddedModel, rubric: Rubric
) -> None:
    prompt = shown((100, "r"), (0, "r"))
    readout = LogprobsReadout(minimum_mass=0.0)
    readout.bind(model, prompt, rubric)
    texts = [
        "Súmula 7.",
        "O fiador responde só pelo prazo que assinou, pois não anuiu ao resto.",
        "É cediço.",
    ]

    def scores(order: list[int]) -> dict[int, float]:
        return {
            n: reading_of(readout, model, Item(id="x", text=texts[n])).score
            for n in order
        }

    assert scores([0, 1, 2]) == scores([2, 1, 0])


def test_a_wrong_hash_names_both_and_a_file_that_is_no_model_is_a_message(
    tmp_path: Path,
) -> None:
    # of version 3, and empty
    (tmp_path / "mine.gguf").write_bytes(b"GGUF\3" + bytes(19))
    with pytest.raises(ConfigError, match="SHA-256 expected abc, found"):
        EmbeddedModel(path=str(tmp_path / "mine.gguf"), sha256="abc")
    with pytest.raises(ConfigError, match=r"llama\.cpp cannot load"):
        EmbeddedModel(path=str(tmp_path / "mine.gguf"))


def test_log_probabilities_do_not_depend_on_what_was_kept_of_earlier_prompts(
    model: EmbeddedModel,
) -> None:
    llama = _llama(model.path, model.threads, model.context)
    prompts = [
        ("Uma pergunta.\n", "Texto: a.\n", "Nível:"),
        ("Uma pergunta.\n", "Texto: b.\n", "Nível:"),
    ]
    prompts += [("Texto: a.\n", "Nível:"), ("Texto: a.\n", "Certo?")]
    llama._kept.clear()
    alone = {}
    for parts in prompts:
        alone[parts] = llama.next_token(parts, 5)
        llama._kept.clear()
    for parts in [*prompts, *reversed(prompts)]:
        assert llama.next_token(parts, 5) == alone[parts]
    pooled(model, "Outro texto entre duas perguntas.")
    assert llama.next_token(prompts[0], 5) == alone[prompts[0]]


def test_a_continuation_begins_with_the_likeliest_token_and_is_the_same_again(
    model: EmbeddedModel,
) -> None:
    text = "The capital of France is"
    first = asyncio.run(model.continue_text(text, 6))
    llama = _llama(model.path, model.threads, model.context)
    (token, _), *_ = llama.next_token([text], 1)[0]
    assert first.startswith(token)
    pooled(model, "Outro texto, bem diferente.")
    assert asyncio.run(model.continue_text(text, 6)) == first
    assert 0 < model.count_tokens(first) <= 7
    with pytest.raises(ModelError, match="do not fit the context of 512"):
        asyncio.run(model.continue_text("word " * 600, 6))


def test_an_interrupt_ends_a_continuation_at_the_next_token(
    model: EmbeddedModel, monkeypatch: Patch
) -> None:
    before = pooled(model, "texto")
    third, interrupted, count, own = (
        threading.Event(),
        threading.Event(),
        [0],
        Llama._logits,
    )

    def logits(llama: Llama) -> np.ndarray:
        count[0] += 1
        if count[0] == 3:
            third.set()
            assert interrupted.wait(60)
        return own(llama)

    async def cut() -> None:
        task = asyncio.create_task(model.continue_text("Era uma vez", 400))
        await asyncio.to_thread(third.wait, 60)
        task.cancel()
        await asyncio.wait({task})
        interrupted.set()

    with monkeypatch.context() as patch:
        patch.setattr(Llama, "_logits", logits)
        asyncio.run(cut())
    assert count[0] == 3
    assert np.array_equal(before, pooled(model, "texto"))


def test_an_interrupt_ends_a_pass_and_leaves_nothing_of_it(
    model: EmbeddedModel,
) -> None:
    llama, ended, texts = (
        _llama(model.path, model.threads, 512),
        Ended(),
        ["Era uma vez", " um gato"],
    )
    llama._kept.clear()
    right = llama.next_token(texts, 3)
    llama._kept.clear()
    ended.set()
    with llama.until(ended):
        for work in (
            lambda: llama.next_token(texts, 3),
            lambda: llama.states([2, 5, 6], (2,)),
        ):
            with pytest.raises(ModelError, match="given up"):
                work()
    assert llama.next_token(texts, 3) == right


def test_an_interrupt_ends_a_long_prompt_while_it_is_read(model: EmbeddedModel) -> None:
    """llama.cpp's own word for it (2, given up) says that the pass had not come to its end."""
    llama, ended, statuses = Llama(model.path, 1, 4096), Ended(), list[int]()
    decode = llama._c.llama_decode

    def noted(*arguments: object) -> int:
        statuses.append(int(decode(*arguments)))
        return statuses[-1]

    def interrupt() -> None:
        began = time.process_time()
        # in which no more than a few hundred tokens are read
        while time.process_time() - began < 0.5:
            time.sleep(0.01)
        ended.set()

    right = llama.next_token(["Era uma vez"], 3)
    llama._c = SimpleNamespace(
        **{
            name: getattr(llama._c, name)
            for names in _INTERFACE
            for name in names.split()
        }
    )
    llama._c.llama_decode = noted
    waiting = threading.Thread(target=interrupt)
    waiting.start()
    with llama.until(ended), pytest.raises(ModelError, match="given up"):
        llama.next_token(["Nenhuma multa alcança o que não foi pedido. " * 320], 3)
    waiting.join()
    assert statuses == [2]
    assert llama.next_token(["Era uma vez"], 3) == right
    llama.close()


@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_a_run_that_reads_a_long_text_ends_when_it_is_told_to_and_keeps_what_was_judged(
    tmp_path: Path, sent: int, status: int
) -> None:
    """The second text has thousands of tokens: many seconds of a processor, amidst which the run
    ends."""
    long = "Nenhuma multa alcança o que não foi pedido. "
    texts = [{"id": f"t{times}", "text": long * times} for times in (1, 200)]
    (tmp_path / "t.jsonl").write_text(
        "".join(f"{json.dumps(text)}\n" for text in texts)
    )
    words = ["dataset=texts", f"dataset.path={tmp_path / 't.jsonl'}", "model=local"]
    words += [
        "readout=logprobs",
        "prompt=demos_pt",
        "tracking=none",
        "engine.cache=false",
    ]
    words.append(f"hydra.run.dir={tmp_path / 'run'}")
    command = [sys.executable, "-m", "undogmatic.cli", "run", *words]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        journal = tmp_path / "run" / "judgments.jsonl"
        while process.poll() is None and not (
            journal.is_file() and journal.read_text().count("\n")
        ):
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(sent)
        said = process.communicate(timeout=60)[1].decode()
    assert process.returncode == status, said
    assert "Traceback" not in said
    (kept,) = map(json.loads, journal.read_text().splitlines())
    assert kept["outcome"]["kind"] == "verdict"


def test_whole_numbers_are_made_of_digits_and_a_reason_ends_with_its_line(
    model: EmbeddedModel, rubric: Rubric
) -> None:
    prompt = shown((97, "Só cita."), (4, "Explica."))
    readings = {}
    for reasoning in (False, True, False):
        readout = build(
            plain("readout", "integers", "readout") | {"minimum_mass": 0.1}, "readout"
        )
        readout.bind(model, prompt.model_copy(update={"reasoning": reasoning}), rubric)
        found = reading_of(readout, model, Item(id="x", text="Súmula 7."))
        assert readings.setdefault(reasoning, found).score == found.score
    plainly, reasoned = readings[False], readings[True]
    assert plainly.distribution.off_scale < 0.5
    # single digits alone would be ten
    assert sum(mass > 0 for mass in plainly.distribution.probabilities) > 10
    assert 1 <= plainly.details["look_ahead"] <= 10
    assert reasoned.rationale
    assert "\n" not in reasoned.rationale
