"""Tables as people publish them on hubs of data sets and beside papers are read as meant at the first
command, or asked about with the right option first. Each is written anew; none is anybody's."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.datasets.test_reading import asked, grade, near, of, people, table, text
from tests.datasets.test_table import told
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.evidence import Evidence

N = 40
yes_no = of("yes", "no", "no")
about = of("yes", "no", "no", "yes", every=5)


def other(i: int) -> int:
    """A grade that has nothing to do with `grade`."""
    return i * 3 % 5 + 1


def beside(i: int) -> int:
    """A grade near `other`."""
    return min(5, other(i) + (i % 6 == 0))


def read(path: Path, content: str | bytes, **options: Any) -> Evidence:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(str(path), TableOptions(**options))


def voices(found: Evidence) -> tuple[list[str], list[str]]:
    return list(found.judges), people(found)


# A judge called after what stands in the data


@pytest.mark.parametrize(
    ("judge", "label"),
    [
        ("model_stars", "stars"),
        ("stars_model", "stars"),
        ("llm_quality", "quality"),
        ("judge_quality", "quality"),
        ("gpt4_quality", "quality"),
        ("gpt-4o-mini_quality", "quality"),
        ("pred_quality", "quality"),
        ("sentiment_llama", "sentiment"),
        ("model_label", "human_label"),
        ("model_label", "label"),
        ("quality", "quality_human"),
        ("y_pred", "y_true"),
        ("puntuacion_modelo", "puntuacion_humana"),
        ("Bewertung KI", "Bewertung Mensch"),
        ("note_juge", "note_experte"),
        ("оценка_модели", "оценка_эксперта"),
        ("模型评分", "人工评分"),
    ],
)
def test_a_judge_is_called_after_the_label(judge: str, label: str) -> None:
    for columns in ({label: grade, judge: near}, {judge: near, label: grade}):
        assert voices(table(columns)) == ([judge], [label])


def test_several_judges_are_called_after_one_label_and_after_several_criteria() -> None:
    found = table({"quality": grade, "gpt4_quality": near, "claude_quality": beside})
    assert voices(found) == (["gpt4_quality", "claude_quality"], ["quality"])
    columns = {
        "fluency": grade,
        "depth": other,
        "gpt4_fluency": near,
        "gpt4_depth": beside,
    }
    found = table(columns)
    assert (len(found.judges), sorted(found.criteria)) == (1, ["depth", "fluency"])
    assert people(found) == ["label"]


def test_what_says_something_else_is_not_called_after_a_label() -> None:
    """A model's size beside a size, an id, a fact of the text."""
    found = table(
        {"judge": near, "human": grade, "size": of(1, 2), "model_size": of(70, 8, 13)}
    )
    assert voices(found) == (["judge"], ["human"])
    said = asked({"llm_says_toxic": yes_no, "is_toxic": yes_no})
    assert "--human is_toxic, or --human none" in said
    assert people(table({"is_toxic_gpt4": about, "is_toxic": yes_no})) == ["is_toxic"]


def test_shares_of_people_are_labels_of_a_judge_called_after_them() -> None:
    found = table(
        {"toxicity": of(0, 0.25, 0.5, 1), "gpt_toxicity": lambda i: i % 50 / 50}
    )
    assert voices(found) == (["gpt_toxicity"], ["toxicity"])


def test_two_columns_of_unknown_names_are_asked_about_as_one_of_each() -> None:
    said = asked({"foo": grade, "bar": near})
    assert (
        "type --judge foo --human bar, if it is the other way round: --judge bar --human foo"
        in said
    )
    assert said.endswith("If both are judges': --judge foo,bar.")
    for options in ({"judge": ("foo",), "human": ("bar",)}, {"judge": ("foo,bar",)}):
        assert table({"foo": grade, "bar": near}, **options).judges[0] == "foo"


# People and judges among names


def test_names_of_models_and_people_stand_in_one_column() -> None:
    def rows(*names: str, column: str = "judge") -> dict[str, Any]:
        return {
            "id": lambda i: i // len(names),
            "text": lambda i: text(i // len(names)),
            column: of(*names),
            "winner": of("model_a", "model_b", "tie", "model_a"),
            "model_a": of("x-7b"),
            "model_b": of("y-7b"),
        }

    found = table(rows("author_1", "expert_3", "gpt4_pair"))
    assert voices(found) == (["gpt4_pair"], ["author_1", "expert_3"])
    said = asked(rows("Ana", "Bruno", "gpt-4"))
    assert "If so, type --human 'Ana,Bruno', if not: --human none" in said
    assert people(table(rows("Ana", "Bruno", "gpt-4"), human=("Ana,Bruno",))) == [
        "Ana",
        "Bruno",
    ]
    none = table(rows("Ana", "Bruno", "gpt-4"), human=("none",))
    assert voices(none) == (["Ana", "Bruno", "gpt-4"], [])
    # Names that are no person's, such as those of other models, are not asked about.
    assert len(table(rows("auto-j-13b", "gpt-4")).judges) == 2


def test_a_metric_that_is_a_person_or_a_judge_is_no_criterion() -> None:
    columns = {"id": lambda i: i // 2, "text": lambda i: text(i // 2), "score": near}
    found = table(columns | {"metric": of("human", "GEMBA")})
    assert (voices(found), found.criteria) == ((["GEMBA"], ["human"]), ["overall"])
    found = table(columns | {"metric": of("style", "facts"), "label": grade})
    assert found.criteria == ["style", "facts"]


def test_a_column_annotator_with_labels_names_no_raters() -> None:
    words = of("Response A is better", "About the same", "Response B is better")
    turned = of(
        "Response A is better", "About the same", "Response B is better", every=4
    )
    columns = {"text": None, "response_a": text, "response_b": lambda i: text(i + 500)}
    columns = {name: held for name, held in columns.items() if held} | {
        "annotator": words,
        "judge": turned,
    }
    found = table(columns)
    assert (found.kind, voices(found)) == ("pairwise", (["judge"], ["annotator"]))


def test_initials_are_asked_about_and_flags_are_not() -> None:
    said = asked({"judge": of(0, 1), "JB": of(0, 1, every=5), "MK": of(0, 1, every=3)})
    assert "Type --human JB,MK for all of them" in said
    assert people(table({"judge": of(0, 1), "long": of(0, 1, every=5)})) == []


def test_a_majority_is_nobodys_beside_people_and_the_label_without_them() -> None:
    three = {f"annotator_{n}": of(1, 0, 0, every=n + 3) for n in range(3)}
    found = table(
        three | {"majority": of(1, 0, 0, every=7), "gpt-4": of(1, 0, 0, every=9)}
    )
    assert voices(found) == (["gpt-4"], [*three])
    found = table({"majority": yes_no, "gpt-4": about})
    assert voices(found) == (["gpt-4"], ["majority"])


def test_a_total_of_two_raters_is_left_out() -> None:
    columns = {"rater1_domain1": grade, "rater2_domain1": near, "gpt4_score": near}
    found = table(columns | {"domain1_score": lambda i: grade(i) + near(i)})
    assert voices(found) == (["gpt4_score"], ["rater1_domain1", "rater2_domain1"])
    assert not [name for name in found.items if "domain1_score" in str(name)]


def test_ids_by_other_names_are_ids_where_something_tells_rows_apart() -> None:
    rows = {
        "id": None,
        "id_resposta": lambda i: i // 3,
        "avaliador": of("Ana", "Bruno", "GPT-4"),
    }
    content = "id_resposta,avaliador,nota\n" + "".join(
        f"{i // 3},{('Ana', 'Bruno', 'GPT-4')[i % 3]},{grade(i // 3)}\n"
        for i in range(60)
    )
    assert rows["id"] is None
    frame = pd.read_csv(io.StringIO(content))
    found = read_table(frame)
    assert (len(found.items), voices(found)) == (20, (["GPT-4"], ["Ana", "Bruno"]))
    # An id that comes again without any of that may be a document's, with several items each.
    frame = pd.DataFrame(
        {"id_lei": [i // 3 for i in range(60)], "juiz": [*map(near, range(60))]}
    )
    assert (
        len(read_table(frame.assign(nota_humana=[*map(grade, range(60))])).items) == 60
    )


# What the text is


@pytest.mark.parametrize(
    "name", ["input", "question", "prompt", "instruction", "output", "headline"]
)
def test_the_only_sentences_are_the_text(tmp_path: Path, name: str) -> None:
    rows = [
        {"id": i, name: text(i), "judge": yes_no(i), "human": about(i)}
        for i in range(N)
    ]
    found = read(tmp_path / "t.json", json.dumps(rows))
    assert found.items["text"].nunique() == N


def test_reasons_and_shared_prompts_are_no_texts(tmp_path: Path) -> None:
    for name, held in (
        ("thoughts", text),
        ("system_message", of("judge this answer with care")),
    ):
        rows = [
            {"id": i, name: held(i), "judge": near(i), "human": grade(i)}
            for i in range(N)
        ]
        found = read(tmp_path / "t.json", json.dumps(rows))
        assert "text" not in found.items


def test_what_a_model_made_is_the_text_and_not_the_expected_answer() -> None:
    columns = {"id": lambda i: i, "text": None, "problem": text}
    frame = pd.DataFrame(
        {
            "problem": [text(i) for i in range(N)],
            "answer": [f"town {i}" for i in range(N)],
            "predicted": [f"it is the town {i * 3}" for i in range(N)],
            "autograder": [yes_no(i) for i in range(N)],
            "human_grade": [about(i) for i in range(N)],
        }
    )
    assert columns["text"] is None
    assert read_table(frame).items["text"].iloc[1] == "it is the town 3"


# Two outputs


def pairs(**more: Callable[[int], Any]) -> pd.DataFrame:
    columns = {
        "prompt": lambda i: f"What of {i}?",
        "chosen": text,
        "rejected": lambda i: text(i + 900),
    }
    return pd.DataFrame(
        {name: [held(i) for i in range(60)] for name, held in (columns | more).items()}
    )


def prefers(i: int) -> bool:
    return i % 4 != 0


@pytest.mark.parametrize(
    ("judge", "more"),
    [
        ("judge_prefers_chosen", {"judge_prefers_chosen": prefers}),
        ("judge_prefers_chosen", {"judge_prefers_chosen": lambda i: int(prefers(i))}),
        ("gpt4_prefers_rejected", {"gpt4_prefers_rejected": lambda i: not prefers(i)}),
        ("winner", {"winner": lambda i: "chosen" if prefers(i) else "rejected"}),
        ("claude_correct", {"claude_correct": prefers, "subset": of("chat", "math")}),
        ("results", {"results": lambda i: int(prefers(i))}),
        (
            "score",
            {
                "score_chosen": lambda i: 1.5 + prefers(i),
                "score_rejected": lambda i: 2 + 0.01 * i,
            },
        ),
    ],
)
def test_a_judge_is_held_against_what_a_data_set_prefers(judge: str, more: Any) -> None:
    found = read_table(pairs(**more))
    assert (found.kind, voices(found)) == ("pairwise", ([judge], ["label.chosen"]))
    labels = found.labels.set_index("item")["label"]
    # The place of the preferred output does not tell that it is preferred.
    assert 0.25 < labels.mean() < 0.75
    right = found.verdicts.set_index("item")["verdict"] == labels
    if judge != "score":
        assert right.mean() == pytest.approx(0.75)
    first = found.items.loc[labels.index[0]]
    assert first[f"text_{int(labels.iloc[0]) + 1}"] == text(0)
    assert "preferences" in told(found)


def test_scores_that_never_prefer_the_rejected_output_are_where_the_preference_comes_from() -> (
    None
):
    made = {"score_chosen": lambda i: 5 + i % 3, "score_rejected": lambda i: i % 3}
    found = read_table(pairs(judge_prefers_chosen=prefers, **made))
    assert found.judges == ["judge_prefers_chosen"]


def test_people_who_choose_are_the_labels_and_a_typed_text_is_read_as_it_stands() -> (
    None
):
    frame = pairs(
        judge_prefers_chosen=prefers, human_prefers_chosen=lambda i: i % 5 != 0
    )
    assert people(read_table(frame)) == ["human_prefers_chosen"]
    typed = read_table(frame, TableOptions(text=("chosen",)))
    assert (typed.kind, typed.items["text"].iloc[0]) == ("pass_fail", text(0))


def test_a_choice_with_a_column_for_each_outcome_is_one() -> None:
    places = of(0, 1, 2, 1)
    outcomes = ("model_a", "model_b", "tie")
    frame = pairs(judge_winner=of("A", "B", "tie", every=7)).rename(
        columns={"chosen": "response_a", "rejected": "response_b"}
    )
    for n, outcome in enumerate(outcomes):
        frame[f"winner_{outcome}"] = [int(places(i) == n) for i in range(60)]
    found = read_table(frame.assign(model_a="x", model_b="y"))
    assert (found.kind, voices(found)) == ("pairwise", (["judge_winner"], ["winner"]))
    assert found.labels["label"].tolist()[:4] == [0, 1, 2, 1]
    # Flags of which several may hold stay what they are.
    flags = frame.assign(winner_model_a=1).assign(human_winner=frame["judge_winner"])
    assert people(read_table(flags)) == ["human_winner"] or "one_hot" not in told(
        read_table(flags)
    )


def test_grades_of_both_outputs_are_two_items() -> None:
    frame = pairs(human_a=grade, human_b=other, judge_a=near, judge_b=beside).rename(
        columns={"chosen": "response_a", "rejected": "response_b"}
    )
    found = read_table(frame)
    assert (found.kind, voices(found)) == ("numeric", (["judge"], ["human"]))
    assert (len(found.items), found.items["group"].nunique()) == (120, 60)
    assert found.items["text"].iloc[1] == text(900)
    # By numbers of outputs two judges choose one.
    choices = frame.assign(
        **{name: [1 + i % 2 for i in range(60)] for name in frame.columns[3:]}
    )
    assert read_table(choices).kind == "pairwise"


# Shapes


def test_lists_of_grades_in_json_lines_are_those_of_people(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"d{i}",
            "decoded": text(i),
            "expert_annotations": [
                {"style": grade(i), "facts": other(i)} for _ in range(2)
            ],
            "gpt4": {"style": near(i), "facts": beside(i)},
        }
        for i in range(N)
    ]
    content = "\n".join(map(json.dumps, rows))
    for path, written in (
        (tmp_path / "t.jsonl", content.encode()),
        (tmp_path / "t.jsonl.gz", gzip.compress(content.encode())),
    ):
        found = read(path, written)
        assert (len(found.judges), sorted(found.criteria)) == (1, ["facts", "style"])
        assert (len(people(found)), len(found.labels)) == (2, 4 * N)


def test_lists_whose_name_tells_nothing_are_peoples_where_a_judge_says_the_same() -> (
    None
):
    lists = {
        "Overall": lambda i: json.dumps([grade(i), near(i), grade(i)]),
        "gpt4_overall": near,
    }
    assert len(people(table(lists))) == 3
    found = table(
        {"judge": near, "human": grade, "sizes": lambda i: json.dumps([i * 100, i])}
    )
    assert people(found) == ["human"]


def test_judgments_inside_of_rows_are_the_judges(tmp_path: Path) -> None:
    rows = [
        {
            "id": i,
            "text": text(i),
            "human_label": yes_no(i),
            "judgments": [
                {"model": name, "label": about(i + n), "reason": text(i)}
                for n, name in enumerate(("gpt-4", "claude-3"))
            ],
        }
        for i in range(N)
    ]
    found = read(tmp_path / "t.json", json.dumps(rows))
    assert voices(found) == (["gpt-4", "claude-3"], ["human_label"])


def test_two_levels_that_lead_to_rows_are_read(tmp_path: Path) -> None:
    both = {
        model: {
            f"q{i}": {"human": grade(i + n), "judge": near(i + n)} for i in range(N)
        }
        for n, model in enumerate(("m1", "m2"))
    }
    found = read(tmp_path / "t.json", json.dumps(both))
    assert (voices(found), len(found.items)) == ((["judge"], ["human"]), 2 * N)
    by_item = {
        f"q{i}": {"gpt-4": {"score": near(i)}, "human": {"score": grade(i)}}
        for i in range(N)
    }
    found = read(tmp_path / "t.json", json.dumps(by_item))
    assert (voices(found), len(found.items)) == ((["gpt-4"], ["human"]), N)


# Cells


@pytest.mark.parametrize(
    "unit", ["{} stars", "{} estrelas", "{} pts", "{}-star", "{} points."]
)
def test_grades_with_what_they_count_are_numbers(unit: str) -> None:
    found = table({"judge": lambda i: unit.format(near(i)), "human": grade})
    assert (found.kind, found.scale) == ("numeric", (1, 5))


def test_words_among_numbers_are_asked_about() -> None:
    columns = {
        "judge": lambda i: near(i) if i % 2 else ("bad", "good")[i // 2 % 2],
        "human": grade,
    }
    said = asked(columns)
    assert (
        "type --kind numeric, if all of them are categories: --kind unordered" in said
    )
    assert table(columns, kind="numeric").verdicts["verdict"].notna().sum() == 30
    assert table(columns, kind="unordered").kind == "unordered"


# Wrong inputs


def test_what_is_no_table_and_a_folder_of_several_are_named(tmp_path: Path) -> None:
    for content, said in (
        ("<!DOCTYPE html><html></html>", "is a web page, not a table"),
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:a\nsize 1\n",
            "git lfs pull",
        ),
    ):
        with pytest.raises(DataError, match=said):
            read(tmp_path / "t.csv", content)
    folder = tmp_path / "runs"
    folder.mkdir()
    for name in ("v1.csv", "v2.csv"):
        (folder / name).write_text("id,judge,human\n1,2,3\n")
    with pytest.raises(
        ConfigError, match=r"Tables in it: v1\.csv, v2\.csv\. Name those .*v1\.csv"
    ):
        read_table(str(folder))


def test_labels_of_two_files_that_disagree_are_two_peoples(tmp_path: Path) -> None:
    def file(name: str, column: str, held: Callable[[int], Any]) -> str:
        rows = "".join(f"i{i},{held(i)}\n" for i in range(N))
        (tmp_path / name).write_text(f"id,{column}\n{rows}")
        return str(tmp_path / name)

    judged = file("verdicts.csv", "judge", near)
    ana, ben = (
        file("ana.csv", "human", grade),
        file("ben.csv", "human", lambda i: 6 - grade(i)),
    )
    found = read_table([judged, ana, ben])
    assert (people(found), len(found.labels)) == (["ana", "ben"], 2 * N)
    again = file("again.csv", "human", grade)
    found = read_table([judged, ana, again])
    assert (people(found), len(found.labels)) == (["human"], N)


def test_a_column_without_verdicts_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="`judge` is empty in every row"):
        read(
            tmp_path / "t.csv",
            "id,judge,human\n" + "".join(f"{i},,{grade(i)}\n" for i in range(9)),
        )
    with pytest.raises(
        ConfigError, match="Name the file with the verdicts beside this one"
    ):
        read(tmp_path / "t.csv", "id\n" + "".join(f"i{i}\n" for i in range(9)))


# Two files with the same columns


def two(tmp_path: Path, names: tuple[str, str], column: str = "score") -> list[str]:
    paths = []
    for name, held in zip(names, (near, grade), strict=True):
        rows = "".join(f"{i},{text(i)},{held(i)}\n" for i in range(N))
        (tmp_path / f"{name}.csv").write_text(f"id,text,{column}\n{rows}")
        paths.append(str(tmp_path / f"{name}.csv"))
    return paths


@pytest.mark.parametrize("column", ["score", "label"])
def test_two_files_that_say_nothing_ask_whose_they_are(
    tmp_path: Path, column: str
) -> None:
    paths = two(tmp_path, ("a", "b"), column)
    with pytest.raises(ConfigError) as error:
        read_table(paths)
    said = str(error.value)
    assert (
        f"people gave those of b.csv, type --judge a.{column} --human b.{column},"
        in said
    )
    found = read_table(
        paths, TableOptions(judge=(f"a.{column}",), human=(f"b.{column}",))
    )
    assert (voices(found), len(found.items)) == (([f"a.{column}"], [f"b.{column}"]), N)
    found = read_table(paths, TableOptions(judge=(f"a.{column},b.{column}",)))
    assert voices(found) == ([f"a.{column}", f"b.{column}"], [])


@pytest.mark.parametrize(
    ("names", "column", "shown"),
    [
        (("a", "annotators"), "score", (["a.score"], ["annotators.score"])),
        (("gpt4", "other"), "label", (["gpt4.label"], ["other.label"])),
        (("run1", "run2"), "score", (["run1", "run2"], [])),
        (("gpt4", "claude"), "score", (["gpt4", "claude"], [])),
        (("gpt4", "claude"), "label", (["gpt4.label", "claude.label"], [])),
    ],
)
def test_names_of_files_tell_whose_they_are(
    tmp_path: Path, names: tuple[str, str], column: str, shown: Any
) -> None:
    assert voices(read_table(two(tmp_path, names, column))) == shown


def test_shards_of_one_table_are_not_asked_about(tmp_path: Path) -> None:
    for n, name in enumerate(("a", "b")):
        rows = "".join(f"{i},{text(i)},{near(i)}\n" for i in range(n * N, n * N + N))
        (tmp_path / f"{name}.csv").write_text(f"id,text,score\n{rows}")
    found = read_table([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])
    assert (len(found.items), len(found.judges)) == (2 * N, 1)
