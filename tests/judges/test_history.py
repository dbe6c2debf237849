"""A panel's weights from earlier runs: what they are, which runs they may come from, and who is
told."""

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.conftest import RUBRIC
from tests.judges.conftest import Bench, FixedJudge
from undogmatic.config.door import compose_config
from undogmatic.engine.recipe import Parts, Recipe
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.ruling import known
from undogmatic.experiment import run_experiment
from undogmatic.judges.base import Judge
from undogmatic.judges.panel import PanelJudge, read_history
from undogmatic.judges.score import ScoreJudge
from undogmatic.judges.selective import Rules, SelectiveJudge
from undogmatic.records.records import Cost, Judgment, Provenance, Verdict, text_mark
from undogmatic.records.rubric import Anchors, NumericScale, Rubric

N = 24
LABELS = [float(4 * n) for n in range(N)]
MARKS = [text_mark(f"text {n}") for n in range(N)]


def fixed(score: float, name: str = "fixed") -> FixedJudge:
    return FixedJudge(Verdict(score=score), name)


def off(by: float) -> list[float]:
    """Scores that miss every label by so much, up and down in turn: mean squared error `by`
    squared."""
    return [label + by * (-1) ** n for n, label in enumerate(LABELS)]


@pytest.fixture
def make_run(tmp_path: Path, provenance: Provenance) -> Callable[..., str]:
    """The folder that a run of `judge` over labelled texts leaves, as far as weights read it."""

    def make(
        name: str,
        judge: Judge,
        scores: Sequence[float | None],
        labels: Sequence[float | None] | None = LABELS,
        marks: Sequence[str] | None = MARKS,
        status: str = "finished",
        scale: Rubric = RUBRIC,
        origin: Provenance | None = None,
    ) -> str:
        folder = tmp_path / name
        (folder / ".hydra").mkdir(parents=True)
        node = {
            "_target_": "undogmatic.records.rubric.Rubric",
            **scale.model_dump(mode="json"),
        }
        (folder / ".hydra" / "config.yaml").write_text(yaml.safe_dump({"rubric": node}))
        (folder / "run.json").write_text(json.dumps({"status": status}))
        made = {"readout": "none", "program_hash": judge.program_hash()}
        where = origin or provenance.model_copy(update=made)
        first = Judgment(
            item_id="00",
            judge=judge.name,
            outcome=Verdict(score=1),
            cost=Cost(),
            provenance=where,
        )
        (folder / "judgments.jsonl").write_text(first.model_dump_json() + "\n")
        table(
            folder / "scores.csv",
            ("item_id", "score"),
            [(f"{n:02}", s) for n, s in enumerate(scores)],
        )
        if labels is not None:
            header = (
                ("item_id", "label")
                if marks is None
                else ("item_id", "label", "text_mark")
            )
            rows = [
                (f"{n:02}", label, *(() if marks is None else (marks[n],)))
                for n, label in enumerate(labels)
            ]
            table(folder / "labels.csv", header, rows)
        return str(folder)

    return make


def table(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


Pair = tuple[list[FixedJudge], list[str]]


@pytest.fixture
def pair(make_run: Callable[..., str]) -> Callable[..., Pair]:
    """Two judges and a run of each with these scores; `changes` are those of both runs."""

    def make(
        first: Sequence[float | None], second: Sequence[float | None], **changes: Any
    ) -> Pair:
        members = [fixed(80, "near"), fixed(40, "far")]
        scores = zip(members, (first, second), strict=True)
        return members, [
            make_run(member.name, member, given, **changes) for member, given in scores
        ]

    return make


def test_a_member_weighs_the_inverse_of_its_squared_error_bias_included_and_typed_weights_fit_nothing(
    bench: Bench, pair: Callable[..., Pair]
) -> None:
    members, runs = pair(off(5), off(10))
    panel = PanelJudge(members, RUBRIC, aggregate="weighted", history=runs)
    outcome = bench.verdict(panel)
    assert outcome.score == pytest.approx(0.8 * 80 + 0.2 * 40)
    assert outcome.details["members"] == "near 80 x0.8, far 40 x0.2"
    assert panel.contents["weights"] == pytest.approx(
        [0.8, 0.2]
    ) and panel.fitted_on() == set(MARKS)
    panel = PanelJudge(
        [fixed(80, "one"), fixed(40, "two")],
        RUBRIC,
        aggregate="weighted",
        weights=[3, 1],
    )
    outcome = bench.verdict(panel)
    assert outcome.details["members"] == "one 80 x3, two 40 x1"
    assert panel.fitted_on() == frozenset()


def test_a_bias_counts_as_error(pair: Callable[..., Pair]) -> None:
    members, runs = pair(off(10), [label + 10 for label in LABELS])
    assert read_history(runs, members, RUBRIC)[0] == pytest.approx([0.5, 0.5])


def test_members_are_compared_on_the_texts_all_of_them_judged(
    pair: Callable[..., Pair],
) -> None:
    # The second fails on the first three texts, on which the first is far off; unlabelled texts
    # count for neither.
    hard = [label + 60 if n < 3 else label + 5 for n, label in enumerate(LABELS)]
    easy = [None if n < 3 else label + 10 for n, label in enumerate(LABELS)]
    members, runs = pair(hard, easy, labels=[*LABELS[:-1], None])
    found = read_history(runs, members, RUBRIC)
    assert found == (pytest.approx([0.8, 0.2]), frozenset(MARKS[3:-1]))


def test_a_panel_inside_another_judge_still_tells_what_its_weights_saw(
    pair: Callable[..., Pair],
) -> None:
    members, runs = pair(off(5), off(10))
    panel = PanelJudge(members, RUBRIC, aggregate="weighted", history=runs)
    outer = SelectiveJudge(
        fixed(3), PanelJudge([panel, fixed(4)], RUBRIC), RUBRIC, Rules(high_score={})
    )
    assert outer.fitted_on() == set(MARKS)


REFUSED = {
    "no run": ({}, "b", "nowhere", "which is not a folder"),
    "sweep": ({}, "b", "sweep", "the folder of a sweep. Name one of its jobs"),
    "no files": (
        {},
        "b",
        "empty",
        "it lacks run.json, judgments.jsonl, .hydra/config.yaml",
    ),
    "stopped": (
        {"status": "stopped"},
        "b",
        None,
        "did not finish (status stopped). Continue it",
    ),
    "no labels": (
        {"labels": None},
        "b",
        None,
        "texts without labels. Judge labelled ones with this member",
    ),
    "earlier version": ({"marks": None}, "b", None, "has no column `text_mark`"),
    "too few judged": (
        {"scores": [*off(5)[:19], *[None] * 5]},
        "b",
        None,
        "19 judged labelled texts (of 24 labelled)",
    ),
    "too few labels": (
        {"labels": [*LABELS[:19], *[None] * 5]},
        "b",
        None,
        "19 judged labelled texts (of 19 labelled)",
    ),
    "not a table": ({"scores": ["high"] * N}, "b", None, "cannot be read"),
    "other texts": (
        {"marks": [*MARKS[:20], *"wxyz"]},
        "b",
        None,
        "24, of which 20 are the same",
    ),
    "more texts": (
        {"labels": [*LABELS, 3.0], "marks": [*MARKS, "z"], "scores": [*off(5), 3.0]},
        "b",
        None,
        "24 labelled texts and 'B' 25, of which 24 are the same",
    ),
    "other labels": (
        {"labels": [9.0, *LABELS[1:]]},
        "b",
        None,
        "other labels for 1 of 24 texts",
    ),
    "no error": ({"scores": LABELS}, "b", None, "equal the labels of all 24 texts"),
    "another judge": (
        {},
        "c",
        None,
        "a run by another judge than judge.members[1]: the judge, its readout or their",
    ),
}


@pytest.mark.parametrize(
    ("changes", "judge", "instead", "said"), REFUSED.values(), ids=REFUSED
)
def test_runs_that_give_no_honest_weights_are_refused(
    make_run: Callable[..., str],
    tmp_path: Path,
    changes: dict[str, Any],
    judge: str,
    instead: str | None,
    said: str,
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "sweep.json").write_text("{}")
    members = [fixed(1, "a"), fixed(2, "b")]
    by = {"b": members[1], "c": fixed(9, "c")}[judge]
    runs = [
        make_run("A", members[0], off(5)),
        make_run("B", by, **({"scores": off(10)} | changes)),
    ]
    if instead is not None:
        runs[1] = str(tmp_path / instead)
    with pytest.raises((ConfigError, DataError)) as caught:
        PanelJudge(members, RUBRIC, aggregate="weighted", history=runs)
    message = str(caught.value).replace(f"{tmp_path}/", "")
    assert said in message and "`judge.history" in message


def test_too_few_texts_in_common_are_refused(pair: Callable[..., Pair]) -> None:
    members, runs = pair([*off(5)[:22], None, None], [None, None, None, *off(5)[3:]])
    with pytest.raises(
        DataError, match="every member judged the same 19 labelled texts only"
    ):
        read_history(runs, members, RUBRIC)


def test_another_scale_and_texts_a_member_was_fitted_on_are_refused(
    make_run: Callable[..., str],
) -> None:
    scale, guide = NumericScale(minimum=0, maximum=10), Anchors(at=(0, 1, 2, 3, 10))
    short = RUBRIC.model_copy(update={"name": "short", "scale": scale, "guide": guide})
    run = make_run("a", fixed(1), off(5), scale=short)
    with pytest.raises(
        ConfigError,
        match=r"rubric=short \(levels 0, 1, 2, 3, 10.*this panel judges on rubric=toy",
    ):
        read_history([run], [fixed(1)], RUBRIC)
    member = fixed(1)
    member.weighed_on = frozenset(MARKS[:2])
    with pytest.raises(DataError, match="2 of 24 were used to fit this member"):
        read_history([make_run("b", member, off(5))], [member], RUBRIC)


SERVER = (
    "model=openai_compatible model.api_base=http://127.0.0.1:1/v1 model.name=m".split()
)
INNER = "[score, {judge: score, prompt: reasoned_pt}]"
MEMBERS = [
    ("score", ["judge=score"]),
    ("{judge: score, prompt: anchored_en}", ["judge=score", "prompt=anchored_en"]),
    (
        "{judge: score, model: patterns, readout: rules}",
        ["judge=score", "model=patterns", "prompt=minimal_en"],
    ),
    (
        "{judge: debate, readout: logprobs, prompt: demos_pt}",
        ["judge=debate", "readout=logprobs", "prompt=demos_pt"],
    ),
    (f"{{judge: panel, members: {INNER}}}", ["judge=panel", f"judge.members={INNER}"]),
    (
        "{judge: devils_advocate, initial: {judge: panel}}",
        ["judge=devils_advocate", "judge.initial=panel"],
    ),
]


def parts(*overrides: str) -> Parts:
    server = [] if any(o.startswith("model=") for o in overrides) else SERVER
    return Recipe(compose_config([*server, *overrides])).build()


def test_a_run_is_known_as_the_members_own_and_as_no_other_members_and_the_message_names_what_differs(
    make_run: Callable[..., str],
) -> None:
    runs = []
    for n, (_, overrides) in enumerate(MEMBERS):
        alone = parts(*overrides)
        runs.append(
            make_run(
                str(n), alone.judge, off(5), scale=alone.rubric, origin=alone.provenance
            )
        )
    members = f"judge.members=[{', '.join(node for node, _ in MEMBERS)}]"
    whole = parts(
        "judge=panel",
        "judge.aggregate=weighted",
        members,
        f"judge.history=[{','.join(runs)}]",
    )
    assert isinstance(whole.judge, PanelJudge)
    assert whole.judge.weights == pytest.approx([1 / len(MEMBERS)] * len(MEMBERS))
    for n, member in enumerate(whole.judge.members):
        for other in runs[:n] + runs[n + 1 :]:
            with pytest.raises(ConfigError, match="another judge"):
                read_history([other], [member], whole.rubric)
    alone = parts("judge=score", "prompt=anchored_en")
    run = make_run(
        "a", alone.judge, off(5), scale=alone.rubric, origin=alone.provenance
    )
    panel = [
        "judge=panel",
        "judge.aggregate=weighted",
        "judge.members=[score]",
        f"judge.history=[{run}]",
    ]
    with pytest.raises(
        ConfigError, match=r"the prompt \(anchored_en .* there, anchored_pt .* here\)"
    ):
        parts(*panel)
    with pytest.raises(ConfigError, match=r"the model \(m@.* there, other@.* here\)"):
        parts(*SERVER[:2], "model.name=other", *panel)


def run(folder: Path, *overrides: str) -> None:
    config = compose_config(
        ["tracking=none", "analysis=none", "dataset=labelled_subset", *overrides]
    )
    choices = {
        "model": "patterns",
        "prompt": "anchored_pt",
        "judge": "score",
        "dataset": "labelled_subset",
    }
    run_experiment(config, choices | {"analysis": "none"}, folder)
    (folder / ".hydra").mkdir(exist_ok=True)
    (folder / ".hydra" / "config.yaml").write_text(yaml.safe_dump(config))


def test_from_runs_of_the_members_to_a_weighted_panel_that_warns_about_their_texts(
    tmp_path: Path,
) -> None:
    one, two = tmp_path / "patterns", tmp_path / "tfidf"
    run(one, "model=patterns")
    run(two, "model=tfidf")
    members = "judge.members=[score, {judge: score, model: tfidf}]"
    panel = [
        "model=patterns",
        "judge=panel",
        "judge.aggregate=weighted",
        members,
        f"judge.history=[{one},{two}]",
    ]
    run(tmp_path / "same", *panel)
    run(tmp_path / "new", *panel, "dataset=controls")
    said = "34 of the 34 texts were used to fit"
    assert said in (tmp_path / "same" / "report.md").read_text(encoding="utf-8")
    assert "were used to fit" not in (tmp_path / "new" / "report.md").read_text(
        encoding="utf-8"
    )

    judge = Recipe(compose_config(panel)).build().judge
    assert isinstance(judge, PanelJudge)
    assert all(isinstance(member, ScoreJudge) for member in judge.members)
    errors = []
    for folder in (one, two):
        with (
            (folder / "scores.csv").open() as scores,
            (folder / "labels.csv").open() as labels,
        ):
            rows = zip(csv.DictReader(scores), csv.DictReader(labels), strict=True)
            said = [float(s["score"]) - float(label["label"]) for s, label in rows]
            errors.append(np.mean(np.square(said)))
    # Between those of the inverse errors and equal ones, since 34 texts leave room for chance.
    first = known(judge.weights)[0]
    assert 0.5 < max(first, 1 - first) < max(errors) / sum(errors)
    assert (first > 0.5) == (errors[0] < errors[1])

    # Other runs, other weights, another judge: its journal is not continued.
    for folder in (one, two):
        lines = (folder / "scores.csv").read_text().splitlines(keepends=True)
        blank = lines[-1].split(",")
        lines[-1] = ",".join([*blank[:4], "", *blank[5:]])
        (folder / "scores.csv").write_text("".join(lines))
    with pytest.raises(ConfigError, match="the judge panel has other settings"):
        run(tmp_path / "new", *panel, "dataset=controls")


def test_repeating_an_older_run_in_its_folder_adds_the_marks(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    run(folder, "model=patterns")
    whole = (folder / "labels.csv").read_text()
    (folder / "labels.csv").write_text(
        "".join(line.rpartition(",")[0] + "\n" for line in whole.splitlines())
    )
    before = (folder / "judgments.jsonl").read_bytes()
    panel = [
        "model=patterns",
        "judge=panel",
        "judge.aggregate=weighted",
        "judge.members=[score]",
    ]
    with pytest.raises(DataError, match=r"no column `text_mark`.* run\.resume="):
        Recipe(compose_config([*panel, f"judge.history=[{folder}]"])).build()
    run(folder, "model=patterns")
    assert (folder / "labels.csv").read_text() == whole
    assert (folder / "judgments.jsonl").read_bytes() == before


ESCALATED = ("item_id", "measure", "text_mark")


def promised(
    folder: str, standing: str = "supported", header: Sequence[str] = ESCALATED
) -> str:
    """The run's folder with what analysis=escalation leaves there."""
    facts = {"status": "finished", "standing": {"escalation": standing}}
    (Path(folder) / "run.json").write_text(json.dumps(facts))
    (Path(folder) / "metrics.json").write_text(
        json.dumps({"escalation.needed": 29, "escalation.threshold": 40.0})
    )
    rows = [("00", "confidence", mark)[: len(header)] for mark in MARKS]
    table(Path(folder) / "items_escalation.csv", header, rows)
    return folder


def test_texts_that_chose_a_threshold_count_as_seen(
    make_run: Callable[..., str],
) -> None:
    cheap = fixed(20)
    run = promised(make_run("sure", cheap, LABELS))
    judge = SelectiveJudge(cheap, fixed(90), RUBRIC, Rules(guaranteed={"run": run}))
    assert judge.promise == ("confidence", 40.0) and judge.fitted_on() == frozenset(
        MARKS
    )


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"standing": "undecided"}, "not to be relied on"),
        ({"header": ("item_id", "measure")}, "an earlier version"),
    ],
)
def test_a_threshold_that_its_own_run_does_not_stand_by_is_refused(
    make_run: Callable[..., str], changes: dict[str, Any], says: str
) -> None:
    """The judge had seen the texts, say: the figure is there, and the verdict was taken back."""
    run = promised(make_run("unsure", fixed(20), LABELS), **changes)
    with pytest.raises(ConfigError, match=says):
        SelectiveJudge(fixed(20), fixed(90), RUBRIC, Rules(guaranteed={"run": run}))
