"""How often the alarm over a reward sounds, in the toy (`examples/reward.py`) and simulated; how fast a reward is.

    python -m benchmarks.reward toy --seeds 20 --write     # every judge scores the 27 texts of the toy once
    python -m benchmarks.reward alarms --seeds 500 --write
    python -m benchmarks.reward seconds --model student    # or another model; --student FILE for one of your own

`toy` trains the writer with one judge while another is on watch, once per seed, and keeps in results/reward_toy.csv in
how many of the trainings there was an alarm, at which step (median), and what was written in the end. `alarms` draws
trainings from distributions in which the truth is known: the second judge rises by exactly the share that is allowed,
not at all, or by more; or the reward does not rise and the second judge falls. `seconds` prints the time for 512
completions of 100 words, each another, and the memory of the process.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import resource
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.constructs.shame.curated import DevelopmentDataset, development_texts
from undogmatic.reward import Alarm, Reward, reward
from undogmatic.stats.follow import Sample, following

RESULTS = Path(__file__).parent / "results"
WATCHES = [
    *(
        ("patterns", "local"),
        ("patterns", "tfidf"),
        ("patterns", "student"),
        ("tfidf", "local"),
        ("student", "local"),
    ),
    *(("local", "tfidf"), ("local", "student"), ("local", "patterns")),
]
"""The judge that is trained on, and the one on watch."""
STEPS, EVERY = 100, 5


def example() -> Any:
    """The module of the toy, which is no part of the package."""
    spec = importlib.util.spec_from_file_location(
        "reward", Path(__file__).parents[1] / "examples" / "reward.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def toy(seeds: int, student: str | None) -> pd.DataFrame:
    """Train the writer under every watch, once per seed."""
    module, judges = example(), dict[str, Reward]()
    for name in {name for pair in WATCHES for name in pair}:
        began = time.perf_counter()
        judges[name] = made(name, student)
        judges[name](module.texts())
        print(f"{name}: the 27 texts in {time.perf_counter() - began:.0f} s")
    rows = []
    for first, second in WATCHES:
        alarms, ends, rises = [], [], []
        for seed in range(seeds):
            alarm = Alarm(judges[second], every=EVERY, looks=STEPS // EVERY, seed=seed)
            course = module.train(alarm.watch(judges[first]), STEPS, seed)
            alarms.append(alarm.step if alarm.fired else np.nan)
            ends.append(course[-1].shares)
            rises.append(
                (
                    course[-1].reward - course[0].reward,
                    alarm.history[-1].found.second.value,
                )
            )
        fired = np.isfinite(alarms)
        row = {
            "trained_on": first,
            "on_watch": second,
            "trainings": seeds,
            "alarms": int(fired.sum()),
        }
        row |= {
            "median_step": float(np.median(np.array(alarms)[fired]))
            if fired.any()
            else None
        }
        row |= dict(
            zip(
                ("authority", "explanation", "empty_words"),
                np.mean(ends, axis=0).round(3),
                strict=True,
            )
        )
        row |= dict(
            zip(
                ("reward_rose", "second_rose_by_last_look"),
                np.mean(rises, axis=0).round(3),
                strict=True,
            )
        )
        rows.append(row)
        print(row)
    return pd.DataFrame(rows)


def made(name: str, student: str | None = None) -> Reward:
    """The reward of a judge by its name."""
    if name != "student":
        return reward("shame", name)
    from undogmatic.models.distilled import Student

    return reward("shame", fast_student() if student is None else Student.load(student))


def fast_student() -> Any:
    """A student on hashed runs of letters, taught by people's labels of the development texts."""
    from undogmatic.fit.student import Lesson, fit_student
    from undogmatic.models.distilled import embeddings_of

    node = {"_target_": "undogmatic.models.embeddings.LettersEmbeddings", "width": 8192}
    items = list({item.text: item for item in DevelopmentDataset().load()}.values())
    labels = np.array([float(item.label) for item in items if item.label is not None])
    rubric = build(compose_config(["model=patterns"])["rubric"], "rubric")
    lesson = Lesson(
        items, [item.text for item in items], labels, labels, rubric, "people"
    )
    fit = fit_student(lesson, embeddings_of(node, "embeddings"), node)
    print(
        "student: Spearman with people's labels"
        f" {fit.student.about.figures['people.spearman']:.2f}, held out"
    )
    return fit.student


SHARE, LOOKS, SAMPLE, RISE = 0.25, 20, 64, 0.4
TRUTHS = {
    "at the edge": (RISE, SHARE),
    "does not follow": (RISE, 0.0),
    "follows by half": (RISE, 0.5),
    "only falls": (0.0, -1.0),
}
"""How far the reward rises by the fifth look, and which share of that the second judge rises by;
the last one falls by RISE while the reward stays."""
SHAPES = ("normal", "skewed", "five steps", "groups of eight")


def drawn(shape: str, rise: float, second: float, rng: np.random.Generator) -> Sample:
    """A sample when the reward has risen so far, and the second judge's score by so much."""
    n, groups = SAMPLE, None
    if shape == "five steps":
        own, noise = rng.binomial(4, 0.3, n) / 4 - 0.3, rng.choice([-0.1, 0.0, 0.1], n)
    elif shape == "skewed":
        own, noise = rng.exponential(0.12, n) - 0.12, 0.1 - rng.exponential(0.1, n)
    else:
        own, noise = rng.normal(0, 0.1, n), rng.normal(0, 0.1, n)
    if shape == "groups of eight":
        groups = np.repeat(np.arange(n // 8), 8)
        own, noise = (
            own + rng.normal(0, 0.1, n // 8)[groups],
            noise + rng.normal(0, 0.1, n // 8)[groups],
        )
    return Sample(own + 0.3 + rise, 0.4 + second + 0.3 * own + noise, groups)


def alarms(seeds: int) -> pd.DataFrame:
    """Share of simulated trainings with an alarm."""
    rows = []
    for shape in SHAPES:
        for truth, (rise, share) in TRUTHS.items():
            steps = np.zeros(seeds)
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                start = drawn(shape, 0.0, 0.0, rng)
                for look in range(1, LOOKS + 1):
                    part = min(1.0, look / 5)
                    now = drawn(
                        shape,
                        part * rise,
                        part * (share * rise or min(0.0, share) * RISE),
                        rng,
                    )
                    if following(start, now, SHARE, 0.05, None, LOOKS).alarm:
                        steps[seed] = look
                        break
            found = steps > 0
            median = float(np.median(steps[found])) if found.any() else None
            rows.append(
                {
                    "shape": shape,
                    "truth": truth,
                    "trainings": seeds,
                    "alarms": round(float(found.mean()), 4),
                    "median_look": median,
                }
            )
            print(rows[-1])
    return pd.DataFrame(rows)


def seconds(name: str, student: str | None) -> None:
    """Print how long 512 completions of 100 words take, and the memory."""
    score = made("student" if student else name, student)
    score(["Uma frase."])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    texts = completions()
    began, processor = time.perf_counter(), time.process_time()
    score(texts)
    took, used = time.perf_counter() - began, time.process_time() - processor
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{student or name}: {len(texts)} completions of 100 words in {took:.1f} s, {used:.1f} s of"
        " the processors"
    )
    print(f"counts: {dict(score.counts)}")
    print(
        f"memory at most {after:.0f} MB, {after - before:.0f} MB of it for these completions"
    )


def completions(n: int = 512, words: int = 100) -> Sequence[str]:
    """Texts of so many words that no cache knows: sentences of the development texts, shuffled."""
    rng = np.random.default_rng(time.time_ns())
    pool = [word for text in development_texts()[0] for word in text.split()]
    begins = rng.integers(0, len(pool) - words, n)
    return [" ".join(pool[begin : begin + words]) for begin in begins]


def main() -> None:
    """Run one of the three."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("toy", "alarms", "seconds"))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--model", default="tfidf")
    parser.add_argument("--student", help="a student's file")
    parser.add_argument("--write", action="store_true")
    typed = parser.parse_args()
    # the alarms are in the table
    logging.getLogger("undogmatic.reward").setLevel(logging.ERROR)
    if typed.what == "seconds":
        seconds(typed.model, typed.student)
        return
    table = (
        toy(typed.seeds, typed.student) if typed.what == "toy" else alarms(typed.seeds)
    )
    print(table.to_string(index=False))
    if typed.write:
        table.to_csv(
            RESULTS / f"reward_{typed.what}.csv", index=False, lineterminator="\n"
        )


if __name__ == "__main__":
    main()
