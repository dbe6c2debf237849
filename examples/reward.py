"""Trains a toy writer on a judge's score, with a second judge on watch: `python examples/reward.py --reward patterns`.

The writer puts together a short Brazilian decision of three sentences. In each it names an authority, explains, or
strings together the words that explanations are made of without saying anything. It begins with authorities, and learns
by a policy gradient with the group's mean as baseline (as GRPO does), in numpy alone. There are 27 texts, and every
judge scores each of them once.

    python examples/reward.py                            # trained on the embedded default: it learns to explain
    python examples/reward.py --reward patterns          # trained on counted words: it learns to string them together
    python examples/reward.py --reward local --second patterns --seed 3 --steps 120
    python examples/reward.py --track                    # logged to MLflow too; look at it: undogmatic ui
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from undogmatic.reward import Alarm, reward
from undogmatic.tracking import MlflowTracker

KINDS = ("authority", "explanation", "empty words")
SLOTS: Sequence[Sequence[str]] = (
    (
        "O pedido procede conforme a Súmula 479 do STJ.",
        (
            "O banco responde pelo golpe, porque a senha foi trocada pelo aplicativo dele sem"
            " conferir quem pedia."
        ),
        (
            "O pedido procede, pois, uma vez que, no caso, aqui, quando se exige, exige-se, já que"
            " é porque é."
        ),
    ),
    (
        "É o que decidiu o Superior Tribunal de Justiça em recurso repetitivo, Tema 466.",
        (
            "Quem lucra com o atendimento à distância deve suportar a falha dele; o cliente não"
            " tinha como ver a troca."
        ),
        (
            "Por isso, desde que seja assim, e somente assim, os requisitos, no limite, são apenas"
            " os requisitos."
        ),
    ),
    (
        "A jurisprudência é pacífica e o entendimento, consolidado.",
        "Seria diferente se ela tivesse entregado a senha a um estranho: aí a culpa seria só dela.",
        (
            "Salvo exceto, mas não a menos que, porque a razão alcança o que alcança, quando o caso"
            " é o caso."
        ),
    ),
)
BATCH, RATE, BEGINS = 64, 0.4, 1.5
"""Texts per step, the size of a step, and by how much the writer prefers authorities at the
beginning (in logits)."""


class Step(NamedTuple):
    """What came of a step: the mean reward, and of the sentences written which share was of each of
    KINDS."""

    reward: float
    shares: tuple[float, ...]
    example: str


def texts() -> list[str]:
    """All that it can write."""
    return [" ".join(sentences) for sentences in itertools.product(*SLOTS)]


def train(
    score: Callable[[Sequence[str]], Sequence[float]], steps: int, seed: int
) -> list[Step]:
    """Train the writer on a reward function."""
    rng = np.random.default_rng(seed)
    logits = [np.array([BEGINS] + [0.0] * (len(slot) - 1)) for slot in SLOTS]
    course = []
    for _ in range(steps):
        chances = [
            np.exp(row - row.max()) / np.exp(row - row.max()).sum() for row in logits
        ]
        drawn = np.stack(
            [rng.choice(len(row), BATCH, p=row) for row in chances], axis=1
        )
        written = [
            " ".join(slot[k] for slot, k in zip(SLOTS, choice, strict=True))
            for choice in drawn
        ]
        rewards = np.array(score(written))
        advantage = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
        for place, chance in enumerate(chances):
            taken = drawn[:, place, None] == np.arange(len(chance))
            logits[place] += RATE * (advantage[:, None] * (taken - chance)).mean(axis=0)
        shares = tuple(float((drawn == k).mean()) for k in range(len(KINDS)))
        course.append(Step(float(rewards.mean()), shares, written[0]))
    return course


def main() -> None:
    """Train once and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--reward",
        default="local",
        help="the judge that is trained on (a name of conf/model)",
    )
    parser.add_argument(
        "--second",
        help="the judge on watch: tfidf for the embedded default, that for all others",
    )
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--track", action="store_true", help="log the course and the looks to MLflow"
    )
    typed = parser.parse_args()
    second = typed.second or ("tfidf" if typed.reward == "local" else "local")
    alarm = Alarm(reward(model=second), every=5, looks=max(1, typed.steps // 5))
    print(f"trained on {typed.reward}, with {second} on watch")
    course = train(alarm.watch(reward(model=typed.reward)), typed.steps, typed.seed)
    for number in sorted({0, *range(9, typed.steps, 10), typed.steps - 1}):
        step = course[number]
        shares = ", ".join(
            f"{name} {share:.0%}"
            for name, share in zip(KINDS, step.shares, strict=True)
        )
        print(f"step {number + 1:3}: reward {step.reward:6.3f}   {shares}")
    print(f"\nIt now writes: {course[-1].example}\n\n{alarm}")
    if typed.track:
        print(f"\nTracking  {log(vars(typed) | {'second': second}, course, alarm)}")


def log(params: dict[str, object], course: Sequence[Step], alarm: Alarm) -> str:
    """Log a training: its course as metrics over the steps, the looks with their intervals as a
    table, the alarm."""
    metrics: dict[str, float | Sequence[float]] = {
        "reward": [step.reward for step in course]
    }
    metrics |= {
        f"share of {name}": [step.shares[k] for step in course]
        for k, name in enumerate(KINDS)
    }
    looks = [
        {"step": step}
        | found.first.metrics("reward")
        | found.second.metrics("second judge")
        | found.lag.metrics("lag")
        for step, found in alarm.history
    ]
    metrics |= {"alarm": float(alarm.fired)} | (
        {"alarm since step": float(alarm.since)} if alarm.fired else {}
    )
    told = {name: value for name, value in params.items() if name != "track"}
    tracker, said = (
        MlflowTracker(os.environ.get("MLFLOW_TRACKING_URI")),
        [str(alarm), course[-1].example],
    )
    return tracker.log_found(
        "reward",
        f"reward-{params['reward']}",
        told,
        metrics,
        said,
        {"looks": pd.DataFrame(looks)},
    )


if __name__ == "__main__":
    main()
