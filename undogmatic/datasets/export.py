"""Writes a verdict table in the forms that other tools read: rows, a log of Inspect, results of
promptfoo.

What a tool has no place for (whose label it is, the order in which two outputs were shown) stands
in metadata under `undogmatic`, so that reading the file again gives the same verdicts and labels.
"""

import datetime
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from undogmatic.datasets.readers.log import COLUMNS, OURS
from undogmatic.datasets.readers.own_table import FIRST
from undogmatic.errors import ConfigError
from undogmatic.records.evidence import SLICE, STATED, Evidence
from undogmatic.records.records import OVERALL

_PASS = ("fail", "pass")
_OPTION = {"prompt": "template"}
"""What Inspect calls a setting of a judge."""
_NO_FACTS = (*COLUMNS, "place")


def rows(table: Evidence) -> pd.DataFrame:
    """The table in long form: a row per verdict and label on it, with what is known of the item and
    the judge."""
    verdicts = table.verdicts.copy()
    labels = table.labels.copy()
    items = table.items.rename_axis("item").reset_index()
    verdicts["verdict"], labels["label"] = (
        _named(table, verdicts["verdict"]),
        _named(table, labels["label"]),
    )
    joined = verdicts.merge(labels, on=["item", "criterion"], how="outer", sort=False)
    known = items.rename(columns=lambda name: str(name).removeprefix(SLICE))
    known = known[
        [name for name in known if name in ("item", "group") or name not in verdicts]
    ]
    joined = joined.merge(known, on="item", how="left", suffixes=("", " of the item"))
    for key in dict.fromkeys(key for told in table.settings.values() for key in told):
        of_judge = {judge: told.get(key) for judge, told in table.settings.items()}
        joined[f"settings.{key.removeprefix('settings.')}"] = joined["judge"].map(
            of_judge
        )
    for name, value in _stated(table).items():
        joined[STATED + name] = (
            joined["criterion"].map(value) if callable(value) else value
        )
    joined["repeat"] = joined["repeat"].fillna(0).astype(int)
    order = [
        *FIRST,
        *(name for name in COLUMNS if name in joined and name not in FIRST),
    ]
    order += [name for name in joined if name not in order]
    joined = joined[order].astype(object)
    return joined.where(joined.notna(), None)


def _stated(table: Evidence) -> dict[str, Any]:
    """How all verdicts are to be read, a column each; what differs by criterion as a function of
    it."""
    stated: dict[str, Any] = {"kind": table.kind}
    if table.kind == "numeric":

        def ends(criterion: str) -> str | None:
            scale = table.criterion_scales.get(criterion, table.scale)
            return None if scale is None else f"{scale[0]!r}:{scale[1]!r}"

        stated["scale"] = ends
    # Of categories without an order it says which there are: one that nobody was given counts as
    # possible, too, and sums over categories come out the same to the last digit.
    if table.kind in ("ordered", "unordered") and not any(
        "<" in name for name in table.categories
    ):
        stated["scale"] = "<".join(table.categories)
    if table.kind == "pass_fail" and table.categories != _PASS:
        stated["passes"] = table.categories[1]
    if table.margin is not None:
        stated["margin"] = table.margin
    if table.grouping != "found":
        stated["group"] = table.grouping
    return stated


def _named(table: Evidence, values: pd.Series) -> pd.Series:
    """Values as words where they are places of categories."""
    if not table.categories:
        return values
    return values.map(
        lambda place: table.categories[int(place)], na_action="ignore"
    ).astype(object)


def inspect_log(table: Evidence) -> dict[str, Any]:
    """The table as a log of Inspect: a sample per item and repeat (an epoch), a score per judge and
    person."""
    samples = []
    for (item, epoch), about, said, labels in _outputs(table):
        scores: dict[str, Any] = {}
        for row in said:
            score = scores.setdefault(
                row["judge"], {"value": {}, "explanation": None, "history": []}
            )
            score["value"][row["criterion"]] = (
                float("nan") if row["verdict"] is None else row["verdict"]
            )
            score["explanation"] = score["explanation"] or row.get("reason")
        for score in scores.values():
            # With one criterion that nobody named, a plain value: Inspect's own metrics
            # take numbers, and no mapping.
            if list(score["value"]) == [OVERALL]:
                score["value"] = score["value"][OVERALL]
        metadata = facts_of(about) | {OURS: _extra(table, about, said, labels)}
        output = {
            "model": str(about.get("system") or "unknown"),
            "choices": _choices(about.get("text")),
        }
        sample: dict[str, Any] = {
            "id": item,
            "epoch": epoch,
            "input": about.get("input") or "",
            "target": "",
            "messages": [],
        }
        samples.append(
            sample | {"output": output, "scores": scores, "metadata": metadata}
        )
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    ids = list(dict.fromkeys(sample["id"] for sample in samples))
    dataset = {
        "name": "undogmatic",
        "samples": len(ids),
        "sample_ids": ids,
        "shuffled": False,
    }
    config = {"epochs": max((sample["epoch"] for sample in samples), default=1)}
    mark = hashlib.sha256("".join(sorted(table.sources.values())).encode()).hexdigest()[
        :22
    ]
    options = {
        judge: {_OPTION.get(k, k): v for k, v in table.settings.get(judge, {}).items()}
        for judge in table.judges
    }
    scorers = [
        {"name": judge, "options": options[judge], "metrics": [], "metadata": {}}
        for judge in table.judges
    ]
    run = {
        "eval_id": mark,
        "run_id": mark,
        "task": "verdicts",
        "task_id": mark,
        "task_version": 0,
        "created": now,
    }
    about_run = run | {
        "model": "unknown",
        "dataset": dataset,
        "config": config,
        "scorers": scorers,
    }
    stats = {"started_at": now, "completed_at": now, "model_usage": {}}
    plan = {"name": "plan", "steps": [], "config": {}}
    return {
        "version": 2,
        "status": "success",
        "eval": about_run,
        "plan": plan,
        "stats": stats,
        "samples": samples,
    }


def _choices(text: Any) -> list[dict[str, Any]]:
    message = {"role": "assistant", "content": str(text or "")}
    return [{"message": message, "stop_reason": "stop"}]


def promptfoo_results(table: Evidence) -> dict[str, Any]:
    """The table as results of promptfoo: a result per item and repeat, an assertion per judge and
    criterion. Raises ConfigError for verdicts that are neither numbers nor pass and fail."""
    if table.kind not in ("numeric", "pass_fail"):
        what = "promptfoo holds numbers, and pass or fail"
        raise ConfigError(
            f"--to is promptfoo, and the verdicts are {table.kind}; {what}. Use --to jsonl or --to"
            " inspect."
        )
    low, high = table.scale if table.scale is not None else (0.0, 1.0)
    results, prompts, tests = list[dict[str, Any]](), dict[str, int](), dict[str, int]()
    for (item, epoch), about, said, labels in _outputs(table):
        parts = list[dict[str, Any]]()
        for row in said:
            value = (
                float(row["verdict"] == table.categories[1])
                if table.categories
                else row["verdict"]
            )
            assertion = {
                "type": "llm-rubric",
                "metric": row["criterion"],
                "provider": row["judge"],
            }
            # What promptfoo calls passing must be said of every result, and the table
            # knows no line of its own: the middle of the scale. Whoever reads the file
            # again gets the score.
            passes = row["verdict"] is not None and value >= (low + high) / 2
            part = {
                "pass": passes,
                "score": value if row["verdict"] is not None else 0,
                "assertion": assertion,
            }
            failed = {"graderError": True} if row["verdict"] is None else {}
            parts.append(
                part | {"reason": str(row.get("reason") or ""), "metadata": failed}
            )
        system = str(about.get("system") or "unknown")
        test = tests.setdefault(f"{item}\n{epoch}", len(tests))
        place = {"promptIdx": prompts.setdefault(system, len(prompts)), "testIdx": test}
        passed = all(p["pass"] for p in parts)
        score = sum(p["score"] for p in parts) / max(1, len(parts))
        grading = {
            "pass": passed,
            "score": score,
            "reason": "",
            "componentResults": parts,
            "namedScores": {},
        }
        variables = {"item": item, "input": about.get("input") or ""}
        words = dict(zip(table.categories, _PASS, strict=False))
        passing = [
            one | {"label": words.get(one["label"], one["label"])} for one in labels
        ]
        metadata = facts_of(about) | {OURS: _extra(table, about, said, passing)}
        # An id made from what is written, and not at random: a result keeps its id
        # however often the table is written.
        mark = hashlib.sha256(f"{item}\n{place}\n{len(results)}".encode()).hexdigest()
        uuid = "-".join((mark[:8], mark[8:12], mark[12:16], mark[16:20], mark[20:32]))
        case = {
            "vars": variables,
            "metadata": metadata,
            "assert": [part["assertion"] for part in parts],
        }
        result = place | {
            "id": uuid,
            "vars": variables,
            "testCase": case,
            "promptId": mark,
            "metadata": metadata,
        }
        result |= {
            "prompt": {"raw": variables["input"], "label": "verdicts"},
            "provider": {"id": system, "label": ""},
        }
        result |= {
            "response": {"output": str(about.get("text") or "")},
            "gradingResult": grading,
            "namedScores": {},
        }
        results.append(
            result
            | {
                "success": passed,
                "score": score,
                "latencyMs": 0,
                "cost": 0,
                "failureReason": 0,
            }
        )
    return _whole(results, list(prompts))


def _whole(results: Sequence[dict[str, Any]], systems: Sequence[str]) -> dict[str, Any]:
    now = (
        datetime.datetime.now(datetime.UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )
    counts = {
        "successes": sum(r["success"] for r in results),
        "failures": sum(not r["success"] for r in results),
    }
    usage = {"prompt": 0, "completion": 0, "total": 0, "cached": 0, "numRequests": 0}
    prompts = [
        {
            "raw": "verdicts",
            "label": "verdicts",
            "provider": system,
            "id": hashlib.sha256(system.encode()).hexdigest(),
        }
        | {
            "metrics": {
                "score": 0,
                "testPassCount": 0,
                "testFailCount": 0,
                "testErrorCount": 0,
                "tokenUsage": usage,
            }
        }
        for system in systems
    ]
    stats = counts | {"errors": 0, "tokenUsage": usage}
    inside = {
        "version": 3,
        "timestamp": now,
        "prompts": prompts,
        "results": list(results),
        "stats": stats,
    }
    config = {
        "description": "verdicts",
        "prompts": ["verdicts"],
        "providers": list(systems),
        "tests": [],
    }
    return {
        "evalId": f"eval-und-{now[:19]}",
        "results": inside,
        "config": config,
        "shareableUrl": None,
    }


def _outputs(
    table: Evidence,
) -> Iterator[tuple[tuple[str, int], dict[str, Any], list[Any], list[Any]]]:
    """Each item in each repeat and order, counted from 1: what is known of it, its verdicts, and
    its labels (with the first)."""
    whole = rows(table)
    for item, of_item in whole.groupby("item", sort=False):
        about = {
            name: value for name, value in of_item.iloc[0].items() if value is not None
        }
        labels = of_item[of_item["label"].notna()][
            ["criterion", "label", "rater"]
        ].drop_duplicates()
        said = of_item[of_item["judge"].notna()]
        keys = said[["repeat", "order"]].drop_duplicates()
        for epoch, (repeat, order) in enumerate(
            keys.itertuples(index=False, name=None), 1
        ):
            same = said[
                (said["repeat"] == repeat)
                & (said["order"].isna() if order is None else said["order"] == order)
            ]
            verdicts = same.drop_duplicates(["judge", "criterion"]).to_dict("records")
            seen = about | {"repeat": repeat, "order": order}
            yield (
                (str(item), epoch),
                seen,
                verdicts,
                labels.to_dict("records") if epoch == 1 else [],
            )
        if keys.empty:
            yield (
                (str(item), 1),
                about | {"repeat": 0, "order": None},
                [],
                labels.to_dict("records"),
            )


def facts_of(about: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of an item beside what has a place of its own."""
    return {
        str(name): value
        for name, value in about.items()
        if name not in _NO_FACTS
        and name != "input"
        and not str(name).startswith("settings.")
        and value is not None
    }


def _extra(
    table: Evidence,
    about: Mapping[str, Any],
    said: Sequence[Any],
    labels: Sequence[Any],
) -> dict[str, Any]:
    """What the tools have no place for."""
    kept = {
        name: about.get(name)
        for name in ("item", "repeat", "order", "group", "text_1", "text_2", "system")
    }
    kept |= {
        name: value for name, value in about.items() if str(name).startswith("system_")
    }
    sure = {
        f"{r['judge']}\n{r['criterion']}": r["confidence"]
        for r in said
        if r.get("confidence") is not None
    }
    more = {"kind": table.kind, "labels": list(labels), "confidence": sure}
    return {
        name: value
        for name, value in (kept | more).items()
        if value is not None and value not in ([], {})
    }
