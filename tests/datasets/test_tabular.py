import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

from tests.conftest import Patch
from undogmatic.datasets.base import SubsetDataset
from undogmatic.datasets.labels import on_scale, read_labels
from undogmatic.datasets.rows import table_rows
from undogmatic.datasets.tabular import TextsDataset
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Item
from undogmatic.records.rubric import OrderedScale, Rubric


def lines(path: Path, *rows: object) -> str:
    path.write_text(
        "".join(
            (r if isinstance(r, str) else json.dumps(r, ensure_ascii=False)) + "\n"
            for r in rows
        )
    )
    return str(path)


def test_the_three_formats_give_the_same_items(tmp_path: Path) -> None:
    first = {
        "id": "a",
        "text": "Tema 69.",
        "condition": "x",
        "pair": "p",
        "label": 90.0,
        "court": "STF",
    }
    rows = [
        first,
        first
        | {
            "id": "b",
            "text": "não; porque\nhá «aspas», vírgulas",
            "condition": "y",
            "label": 3.5,
        },
    ]
    jsonl = lines(tmp_path / "t.jsonl", *rows)
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    pd.DataFrame(rows).to_parquet(tmp_path / "t.parquet")
    loaded = [
        TextsDataset(p).load()
        for p in (jsonl, str(tmp_path / "t.csv"), str(tmp_path / "t.parquet"))
    ]
    plain = [[item.model_dump() for item in items] for items in loaded]
    assert plain[0] == plain[1] == plain[2]
    assert [item.place for item in loaded[0]] == [f"{jsonl}:1", f"{jsonl}:2"]
    assert loaded[0][1].label == 3.5
    assert loaded[0][0].metadata == {"court": "STF"}


def test_many_rows_of_parquet_are_read_when_they_are_asked_for(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    rows = [
        {
            "id": f"t{n}",
            "text": f"Tema {n}.",
            "label": n,
            "day": pd.Timestamp(2026, 1, n + 1),
        }
        for n in range(8)
    ]
    pd.DataFrame(rows).to_parquet(path := tmp_path / "t.parquet", row_group_size=3)
    held = TextsDataset(str(path)).load()
    monkeypatch.setattr("undogmatic.safety.spool.HELD", 5)
    stored = TextsDataset(str(path)).load()
    assert [item.model_dump() for item in stored] == [
        item.model_dump() for item in held
    ]
    read = table_rows(path)
    assert (
        not isinstance(read, list) and read[6][1]["id"] == "t6" and len(read[2:4]) == 2
    )
    content = path.read_bytes()
    path.write_bytes(content.replace(b"Tema 7", b"\xff\xfema 7"))
    with pytest.raises(
        DataError, match=r"t\.parquet:\d+: not a Parquet file that can be read"
    ):
        TextsDataset(str(path)).load()


def test_options_may_be_a_list_or_stand_by_their_letters(tmp_path: Path) -> None:
    given = [["two", 2], {"A": "two", "B": 2}, "A: two\nB: 2"]
    path = lines(
        tmp_path / "t.jsonl",
        *(
            {"question": "Which?", "options": options, "label": "B"}
            for options in given
        ),
    )
    items = TextsDataset(path, ("question", "options")).load()
    assert [item.inputs["options"] for item in items] == ["A: two\nB: 2"] * 3


@pytest.mark.parametrize("options", [[], [["nested"]], 7])
def test_options_that_are_none_are_named(tmp_path: Path, options: object) -> None:
    path = lines(tmp_path / "t.jsonl", {"question": "Which?", "options": options})
    with pytest.raises(DataError, match=r"t\.jsonl:1: `.*options`"):
        TextsDataset(path, ("question", "options")).load()


def test_missing_ids_become_line_numbers_and_blank_lines_are_skipped(
    tmp_path: Path,
) -> None:
    path = lines(tmp_path / "t.jsonl", {"text": "um"}, "", {"text": "dois"})
    assert [i.id for i in TextsDataset(path).load()] == ["1", "3"]


def test_semicolons_inside_a_cell_are_text(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("text\n um; dois\n")
    assert TextsDataset(str(tmp_path / "x.csv")).load()[0].text == " um; dois"


def test_an_empty_parquet_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.parquet"
    pd.DataFrame({"text": pd.Series([], dtype=str)}).to_parquet(path)
    with pytest.raises(DataError, match=rf"^{path} holds no items"):
        TextsDataset(str(path)).load()


def test_a_missing_file_lists_its_neighbours(tmp_path: Path) -> None:
    lines(tmp_path / "mine.jsonl", {"text": "x"})
    with pytest.raises(ConfigError) as caught:
        TextsDataset(str(tmp_path / "mime.jsonl"))
    assert "`dataset.path`" in str(caught.value)
    assert "Did you mean mine.jsonl?" in str(caught.value)


def test_a_text_that_a_parquet_file_repeats_is_in_memory_once(tmp_path: Path) -> None:
    """A file of some hundred bytes would otherwise take five gigabytes."""
    entry = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 500, pyarrow.int32()), pyarrow.array(["x" * 10**6])
    )
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(
        pyarrow.table({"text": entry}), path, dictionary_pagesize_limit=10**8
    )
    texts = [item.text for item in TextsDataset(str(path)).load()]
    assert len(texts) == 500 and {len(text) for text in texts} == {10**6}
    assert len({id(text) for text in texts}) == 1


def test_a_parquet_file_that_unpacks_to_far_too_much_is_refused(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("undogmatic.datasets.rows.BATCH_BYTES", 500_000)
    path = tmp_path / "t.parquet"
    table = pyarrow.table({"text": ["a"] * 200, "noted": [{"n": "x" * 10**5}] * 200})
    pyarrow.parquet.write_table(table, path, compression="zstd")
    with pytest.raises(
        DataError,
        match=r"t\.parquet: up to row \d+ it unpacks to more than 10,000,000 bytes",
    ):
        TextsDataset(str(path)).load()


class TestLabelScale:
    def ten(self, folder: Path, *labels: float) -> str:
        return lines(
            folder / "ten.jsonl",
            *({"text": f"t{n}", "label": label} for n, label in enumerate(labels)),
        )

    def test_a_scale_whose_ends_the_labels_do_not_reach_is_asked_for(
        self, tmp_path: Path, rubric: Rubric
    ) -> None:
        file = self.ten(tmp_path, *range(3, 9))
        with pytest.raises(DataError) as caught:
            on_scale(TextsDataset(file).load(), rubric)
        said = str(caught.value)
        assert said.startswith(
            f"{file}: all 6 labels lie between 3 and 8, while rubric=toy runs from 0 to 100."
        )
        assert "dataset.label_scale=[1,10]" in said
        assert "dataset.label_scale=[0,100]" in said

    @pytest.mark.parametrize("declared", [(1, 10), "1-10", None])
    def test_labels_are_mapped_from_the_scale_that_is_declared_or_reached(
        self, tmp_path: Path, rubric: Rubric, declared: Any
    ) -> None:
        file = self.ten(tmp_path, *range(1, 11))
        read = read_labels(TextsDataset(file, label_scale=declared).load(), rubric)
        assert [item.label for item in read.items] == pytest.approx(
            [100 * n / 9 for n in range(10)]
        )
        assert read.scale is not None and (read.scale.ends, read.scale.assumed) == (
            (1, 10),
            declared is None,
        )
        assert [finding.key for finding in read.notes][:1] == (
            ["labels.assumed"] if declared is None else []
        )
        assert on_scale(read.items, rubric) == read.items
        meant = on_scale(
            SubsetDataset(TextsDataset(file, label_scale=(0, 100)), 10).load(), rubric
        )
        assert sorted(item.label or 0 for item in meant) == list(range(1, 11))
        assert on_scale(meant, rubric) == meant
        turned = on_scale(TextsDataset(file, label_scale=(10, 1)).load(), rubric)
        assert [item.label for item in turned] == pytest.approx(
            [100 - 100 * n / 9 for n in range(10)]
        )

    @pytest.mark.parametrize("labels", [range(1, 5), [0.0] * 12, [*range(1, 11), 10.5]])
    def test_few_labels_those_all_at_the_end_and_higher_ones_pass(
        self, tmp_path: Path, rubric: Rubric, labels: list[float]
    ) -> None:
        items = on_scale(TextsDataset(self.ten(tmp_path, *labels)).load(), rubric)
        assert [item.label for item in items] == list(labels)

    def test_a_label_off_the_named_scale_is_refused_by_its_place(
        self, tmp_path: Path, rubric: Rubric
    ) -> None:
        with pytest.raises(
            DataError,
            match=r"ten\.jsonl:2, item '2': `label` is 11, outside the scale 1-10",
        ):
            on_scale(
                TextsDataset(self.ten(tmp_path, 1, 11), label_scale=(1, 10)).load(),
                rubric,
            )

    @pytest.mark.parametrize("ends", [(5, 5), (0, float("inf")), (float("nan"), 1)])
    def test_a_scale_that_is_none_is_refused(
        self, tmp_path: Path, ends: tuple[float, float]
    ) -> None:
        with pytest.raises(
            ConfigError,
            match=r"`dataset\.label_scale` is .*e\.g\. dataset\.label_scale=\[1,10\]",
        ):
            TextsDataset(self.ten(tmp_path, 1), label_scale=ends)

    def test_categories_have_no_ends_to_map_to(
        self, tmp_path: Path, rubric: Rubric
    ) -> None:
        wordings = {"en": rubric.wordings["en"].model_copy(update={"meanings": ()})}
        yes_no = rubric.model_copy(
            update={
                "scale": OrderedScale(categories=("no", "yes")),
                "guide": None,
                "wordings": wordings,
            }
        )
        with pytest.raises(
            DataError, match="cannot be mapped to no / yes, the scale of rubric=toy"
        ):
            on_scale(
                TextsDataset(self.ten(tmp_path, 3), label_scale=(1, 10)).load(), yes_no
            )


class Whole:
    name, about = "whole", "whole, test split"

    def load(self) -> list[Item]:
        sizes = {"a": 30, "b": 10, "c": 2}
        return [
            Item(id=f"{c}{k}", text="t", condition=c)
            for c, size in sizes.items()
            for k in range(size)
        ]


def test_conditions_take_turns_until_they_run_out() -> None:
    counts = Counter(item.condition for item in SubsetDataset(Whole(), 14).load())
    assert counts == {"a": 6, "b": 6, "c": 2}


def test_the_same_seed_draws_the_same_items_and_a_larger_subset_keeps_them() -> None:
    few, many = ([i.id for i in SubsetDataset(Whole(), n).load()] for n in (8, 20))
    assert few == many[:8]
    assert few != [i.id for i in SubsetDataset(Whole(), 8, seed=1).load()]


def test_more_than_there_are_is_an_error_that_counts() -> None:
    with pytest.raises(
        ConfigError, match=r"`dataset\.n` is 43, but whole, test split has 42 items"
    ):
        SubsetDataset(Whole(), 43).load()
    with pytest.raises(ConfigError, match=r"`dataset\.n` is 0"):
        SubsetDataset(Whole(), 0)


@pytest.mark.parametrize("columns", [None, {}])
def test_a_folder_of_shards_is_one_table(tmp_path: Path, columns: Any) -> None:
    for n, ids in enumerate((("a", None), ("b",))):
        rows = [
            {"text": f"{n} {place}"} | ({"id": id} if id else {})
            for place, id in enumerate(ids)
        ]
        pd.DataFrame(rows).to_parquet(tmp_path / f"part-{n}.parquet")
    (tmp_path / "_SUCCESS").touch()
    items = TextsDataset(str(tmp_path), columns=columns).load()
    assert [(item.id, item.text) for item in items] == [
        ("a", "0 0"),
        ("part-0:2", "0 1"),
        ("b", "1 0"),
    ]
    assert [item.place for item in items][1:] == [
        f"{tmp_path / 'part-0.parquet'}:2",
        f"{tmp_path / 'part-1.parquet'}:1",
    ]
    (tmp_path / "part-1.parquet").write_text("broken")
    with pytest.raises(
        DataError, match=r"part-1.parquet: not a Parquet file that can be read"
    ):
        TextsDataset(str(tmp_path), columns=columns).load()
    (tmp_path / "notes.csv").touch()
    with pytest.raises(
        ConfigError, match=r"tables of several kinds \(notes.csv, part-0.parquet\)"
    ):
        TextsDataset(str(tmp_path), columns=columns)


@pytest.mark.parametrize("columns", [None, {}])
def test_what_lies_beside_shards_is_told_and_never_left_out_in_silence(
    tmp_path: Path, columns: Any
) -> None:
    """A table that is packed or half written would be missing; another file is no data, and an
    empty shard is told."""
    folder = tmp_path / "shards"
    folder.joinpath("old").mkdir(parents=True)
    row = json.dumps({"id": "a", "text": "one text"})
    for place in ("a.jsonl", "old/b.jsonl"):
        (folder / place).write_text(row, encoding="utf-8")
    for place in ("c.jsonl", "README.md", "_SUCCESS"):
        (folder / place).touch()
    dataset = TextsDataset(str(folder), columns=columns)
    assert [item.id for item in dataset.load()] == ["a"]
    told = [finding for finding in dataset.read if finding.key.startswith("table.")]
    assert [finding.key for finding in told] == [
        "table.passed_over",
        "table.empty_shard",
    ]
    assert (
        told[0].values["names"] == ["README.md", "old/"]
        and told[1].values["file"] == "c.jsonl"
    )
    for name in ("d.jsonl.gz", "d.parquet.tmp", "d.csv~"):
        (folder / name).touch()
        with pytest.raises(
            ConfigError, match=f"{name}.* its rows would be missing. Unpack it"
        ):
            TextsDataset(str(folder), columns=columns)
        (folder / name).unlink()
    (folder / "d.jsonl").write_bytes(gzip.compress(row.encode()))
    with pytest.raises(DataError, match=r"d.jsonl is packed \(gzip\)"):
        TextsDataset(str(folder), columns=columns).load()
    for place in ("a.jsonl", "c.jsonl", "d.jsonl"):
        (folder / place).unlink()
    with pytest.raises(
        ConfigError,
        match=r"tables lie in folders of their own \('.*old/b.jsonl'\). Name one of these",
    ):
        TextsDataset(str(folder), columns=columns)
