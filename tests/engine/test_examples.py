import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from undogmatic.config.door import composed
from undogmatic.engine.examples import Taken, taken
from undogmatic.errors import ConfigError, DataError
from undogmatic.experiment import Experiment
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.rubric import Rubric

WORDS = "amber birch cedar delta ember frost grove hazel inlet jetty kelp larch maple north olive pearl".split()


def polite(**other: Any) -> Rubric:
    fields: dict[str, Any] = {
        "name": "polite",
        "inputs": ["question", "answer"],
        "scale": {"kind": "numeric", "minimum": 1, "maximum": 5, "step": 1},
        "direction": "higher_is_better",
        "wordings": {
            "en": {
                "definition": "How polite the answer is.",
                "question": "How polite is it?",
            }
        },
    }
    return Rubric.model_validate(fields | other)


def table(path: Path, rows: int = 16, **columns: list[Any]) -> Path:
    """Rows with labels 1-5 in turn, each about another word; further columns as they are given."""
    labels = [1 + n % 5 for n in range(rows)]
    given = {
        "question": [f"Where is the {w}?" for w in WORDS[:rows]],
        "label": labels,
    } | columns
    given |= {
        "answer": [f"{w} " * 3 + f"number {n}" for n, w in enumerate(WORDS[:rows])]
    }
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *given])
        writer.writerows(
            [n, *(column[n] for column in given.values())] for n in range(rows)
        )
    return path


def take(
    path: Path, examples: int | None = 6, rubric: Rubric | None = None, **keys: Any
) -> Taken:
    dataset = {
        "_target_": "undogmatic.datasets.tabular.TextsDataset",
        "path": str(path),
    }
    dataset |= {"inputs": ["question", "answer"]}
    prompt = Prompt(id="polite_en", language="en", examples=examples, **keys)
    return taken(prompt, rubric or polite(), SimpleNamespace(dataset=dataset))  # type: ignore[arg-type]


def test_examples_cover_the_scale_and_follow_no_order_of_the_file(
    tmp_path: Path,
) -> None:
    first = take(table(tmp_path / "a.csv"))
    scores = [demo.score for demo in first.prompt.demonstrations]
    assert {1, 2, 4, 5} <= set(scores)
    assert scores not in (sorted(scores), sorted(scores)[::-1])
    assert len(first.ids) == 6
    lines = (tmp_path / "a.csv").read_text().splitlines()
    (tmp_path / "b.csv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")
    assert take(tmp_path / "b.csv").prompt == first.prompt


def test_examples_may_come_from_other_data_than_are_judged(tmp_path: Path) -> None:
    """As in the test of a search's winner, which must ask as the trials did and judge every test
    text."""
    first = take(table(tmp_path / "dev.csv"))
    tested = take(
        table(tmp_path / "test.csv", 10),
        examples_from={"path": str(tmp_path / "dev.csv")},
    )
    assert (tested.prompt.demonstrations, tested.ids) == (
        first.prompt.demonstrations,
        frozenset(),
    )
    assert tested.prompt.hash(polite()) == first.prompt.hash(polite())


def test_what_belongs_together_with_an_example_is_not_judged_either(
    tmp_path: Path,
) -> None:
    path = table(tmp_path / "a.csv", group=[f"g{n // 2}" for n in range(16)])
    found = take(path, 4)
    shown = {
        WORDS.index(demo.inputs["answer"].split()[0])
        for demo in found.prompt.demonstrations
    }
    # of four groups, which are out of the figures whole
    assert len({n // 2 for n in shown}) == 4
    assert found.ids == {str(n) for n in range(16) if n // 2 in {k // 2 for k in shown}}


def test_the_reason_is_the_rows_own_or_what_its_level_means(tmp_path: Path) -> None:
    path = table(
        tmp_path / "a.csv", reason=["kind" if n < 8 else "" for n in range(16)]
    )
    reasons = {demo.rationale for demo in take(path, 8).prompt.demonstrations}
    assert "kind" in reasons and reasons - {"kind"} <= {"1", "2", "3", "4", "5"}


@pytest.mark.parametrize(
    ("rows", "examples", "labels", "told"),
    [
        (
            10,
            6,
            None,
            (
                r"labels for 10 texts .* \(\+\+prompt.examples=5\), or ask an instruction"
                r" model.*model=qwen"
            ),
        ),
        (16, 6, [""] * 16, "labels for 0 texts .* undogmatic label FILE"),
        (16, 6, [3] * 16, "all labels of .* are equal"),
    ],
)
def test_too_few_labels_are_told_with_the_way_on(
    tmp_path: Path, rows: int, examples: int, labels: list[Any] | None, told: str
) -> None:
    path = table(
        tmp_path / "a.csv", rows, **({} if labels is None else {"label": labels})
    )
    with pytest.raises(DataError, match=told):
        take(path, examples)


def test_examples_of_its_own_and_of_the_data_exclude_one_another(
    tmp_path: Path,
) -> None:
    demo = {"inputs": {"question": "a", "answer": "b"}, "score": 3, "rationale": "c"}
    prompt = Prompt.model_validate(
        {"id": "x", "language": "en", "demonstrations": [demo], "examples": 4}
    )
    with pytest.raises(ConfigError, match="brings examples of its own"):
        taken(prompt, polite(), SimpleNamespace(dataset={}))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="taken for the run's own prompt alone"):
        Prompt(id="x", language="en", examples=4).check(polite())


def test_a_run_judges_the_other_rows_alone(tmp_path: Path) -> None:
    table(tmp_path / "a.csv")
    (tmp_path / "undogmatic.toml").write_text('conf = "my"\n')
    (tmp_path / "my" / "rubric").mkdir(parents=True)
    text = polite().model_dump_json(
        exclude={"labelled", "margin", "rivals", "optional"}
    )
    (tmp_path / "my" / "rubric" / "polite.yaml").write_text(
        f'{{"_target_": "undogmatic.records.rubric.Rubric",{text[1:]}'
    )
    words = (
        "rubric=polite prompt=minimal_en dataset=texts dataset.path=a.csv readout=logprobs"
        " analysis=none tracking=none"
    )
    words += " model=openai_compatible model.name=m model.api_base=http://127.0.0.1:9/v1 run.limit=7"
    without = Experiment(*composed(words.split(), ()))
    filled = Experiment(*composed([*words.split(), "+prompt.examples=6"], ()))
    shown = {demo.inputs["answer"] for demo in filled.parts.prompt.demonstrations}
    assert len(without.items) == len(filled.items) == 7
    assert len(shown) == 6 and not shown & {
        item.inputs["answer"] for item in filled.items
    }
    assert filled.identity != without.identity
