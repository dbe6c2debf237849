"""Real scores of summaries, made elsewhere: every figure that follows from them, from the tables
alone."""

import functools
import json
from typing import Any

import numpy as np
import pytest

from tests.conftest import reference
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.engine.local import NotingEngine, parts_of
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import tabulate
from undogmatic.records.results import Told

NEAR = 1e-6
OMITTED, CLEAR = "omitted_dissent", "omitted_concurrence"


@functools.cache
def config() -> dict[str, Any]:
    folder = reference("faith/judge.jsonl").parent
    return compose_config(["experiment=faithfulness_meta", f"dataset.path={folder}"])


@functools.cache
def expected() -> dict[str, Any]:
    return json.loads(reference("faith/expected.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


@functools.cache
def judged(as_given: bool = False) -> RunEvidence:
    """The tables as a run has them; `as_given` takes what failed for the number that was filled
    in."""
    node = config()["dataset"]
    if as_given:
        node = node | {"columns": node["columns"] | {"failed": []}}
    dataset, rubric = build(node, "dataset"), build(config()["rubric"], "rubric")
    items = dataset.load()
    judgments = dataset.judgments(rubric)
    repeats = NotingEngine(judgments).repeats(1)
    frame = tabulate(
        items, judgments, repeats, parts_of(judgments, rubric).expected(), gaps=False
    )
    return RunEvidence(frame, rubric, known={item.id: item for item in items})


def run(part: str | None, as_given: bool = False, **changes: Any) -> Told:
    """One part of analysis=meta over the tables; `judges` are those of the composite."""
    whole = config()["analysis"]
    judges = changes.pop("judges", None)
    composite = whole["composite"] | ({"judges": {"judge": judges}} if judges else {})
    node = composite if part is None else whole[part] | changes
    if part is not None and "composite" in node:
        node = node | {"composite": composite}
    (result,) = build(node, "analysis")(judged(as_given), np.random.default_rng(0))
    return result  # type: ignore[no-any-return]


def same(row: Any, values: dict[str, float], **names: str) -> None:
    """A row has these figures; its name of each, and theirs."""
    assert [row[ours] for ours in names] == pytest.approx(
        [values[theirs] for theirs in names.values()], abs=NEAR
    )


def test_what_failed_is_no_number_and_what_was_filled_in_is_not_taken() -> None:
    frame = judged().frame
    failed = frame[frame["error"].notna()]
    assert failed["judge"].unique().tolist() == ["minimax-m2.1"]
    assert len(failed) == 4 and failed["score"].isna().all()
    assert len(frame[frame["repeat"] == 0]) == 18 * 8


def test_every_ranking_follows_from_the_tables() -> None:
    """Three judges alone and two together. One judge's failed answers stand in the expected means
    as the origin filled them in, so its means are those of the tables taken as given; see the test
    above for what we make of them.
    """
    by_judges: dict[str, dict[str, dict[str, float]]] = {}
    for key, values in expected()["rankings"].items():
        judges, system = key.split("|")
        by_judges.setdefault(judges, {})[system] = values
    assert len(by_judges) == 4
    for judges, systems in by_judges.items():
        names = judges.split("+")
        result = run(None, as_given="minimax-m2.1" in names, judges=names)
        ranking = result.tables["ranking"].set_index("system")
        for system, values in systems.items():
            pillars = {
                f"of_{pillar}": pillar for pillar in ("nli", "judge", "coverage")
            }
            same(ranking.loc[system], values, composite="composite", **pillars)
            mean = result.metrics[f"composite.mean.{system.replace('+', '_')}"]
            assert mean == pytest.approx(values["composite"], abs=NEAR)


def test_agreement_of_every_two_judges() -> None:
    given, valid = (
        run("agreement", as_given=flag).tables["pairs"] for flag in (True, False)
    )
    for key, values in expected()["agreement"].items():
        left, right = key.split("|")
        row, own = (
            table[(table["left"] == left) & (table["right"] == right)].iloc[0]
            for table in (given, valid)
        )
        assert (row["n"], own["n"]) == (values["n"], values["n_valid"])
        kappas = {
            f"kappa_{name}": f"quadratic_kappa_{name}"
            for name in ("factual_accuracy", "completeness")
        }
        same(row, values, tau="kendall_tau_b", p="p", **kappas)
        same(
            own,
            values,
            tau="kendall_tau_b_valid_only",
            kappa_completeness="quadratic_kappa_completeness_valid_only",
        )


def test_length_and_score() -> None:
    table = run("length_bias", as_given=True).tables["judges"].set_index("voice")
    names = {
        "r_factual_accuracy": "pearson_factual",
        "r_completeness": "pearson_completeness",
    }
    for judge, values in expected()["length_bias"].items():
        same(table.loc[judge], values, r="pearson", spearman="spearman", **names)


def test_baselines_against_the_composite_of_one_judge() -> None:
    """The expected figures are of the stored values, four decimals; ROUGE from the texts is these
    to four decimals."""
    judges = ["gemini-3-flash-preview"]
    from_texts = run("baselines", judges=judges)
    for name in ("rouge1", "rouge2", "rougeL"):
        stored = (
            judged()
            .frame.drop_duplicates("item_id")
            .set_index("item_id")[f"metadata.{name}_f"]
        )
        assert from_texts.items is not None
        made = from_texts.items.set_index("item_id")[name]
        assert len(made) == 18
        assert (made.round(4) == stored.reindex(made.index)).all()
    stored_only = {
        f"stored_{name}": [name] for name in expected()["baseline_vs_composite_gemini"]
    }
    table = (
        run("baselines", judges=judges, of=stored_only)
        .tables["baselines"]
        .set_index("baseline")
    )
    for name, values in expected()["baseline_vs_composite_gemini"].items():
        same(
            table.loc[f"stored_{name}"],
            values,
            tau="tau_b",
            p_tau="p",
            rho="rho",
            p_rho="rho_p",
        )


def test_pillars_against_one_another() -> None:
    pairs = run("pillars", as_given=True).tables["pairs"]
    found = {frozenset((row.left, row.right)): row.rho for row in pairs.itertuples()}
    want = dict(expected()["pillar_spearman"])
    rhos = {("nli", "coverage"): want.pop("nli_coverage")}
    rhos |= {
        (f"judge ({judge})", p): of[f"judge_{p}"]
        for judge, of in want.items()
        for p in ("nli", "coverage")
    }
    assert {pair: found[frozenset(pair)] for pair in rhos} == pytest.approx(
        rhos, abs=NEAR
    )


def test_the_pillar_that_runs_against_the_others_is_flagged_but_not_convicted() -> None:
    result = run("pillars")
    rest = result.tables["rest"].set_index("pillar")
    assert rest["flagged"].to_dict() == {"nli": True, "judge": False, "coverage": False}
    assert rest.loc["nli", "high"] > 0 and result.standing == "undecided"


def test_classes_of_errors_as_they_were_given() -> None:
    metrics, want = run("taxonomy").metrics, expected()["taxonomy"]
    assert [metrics[f"taxonomy.{k}"] for k in ("errors", "omissions", "quotes")] == [
        85,
        140,
        want["total"],
    ]
    for kind, counts in (
        ("errors", want["error_counts"]),
        ("omissions", want["omission_counts"]),
    ):
        prefix = f"taxonomy.given.{kind}."
        assert {
            k.removeprefix(prefix): v
            for k, v in metrics.items()
            if k.startswith(prefix)
        } == counts
    for judge, n in want["errors_per_judge"].items():
        assert metrics[f"taxonomy.errors.by_judge.{judge}"] == n
    assert (
        run("taxonomy").tables["severity"].set_index("severity")["n"].to_dict()
        == want["severity"]
    )
    for system, n in want["wrong_holding_by_model"].items():
        assert metrics[f"taxonomy.given_by_system.errors.wrong_holding.{system}"] == n


def test_our_rules_agree_with_the_given_classes_where_these_are_clear() -> None:
    crossed = run("taxonomy").tables["crossed"].set_index("given")
    assert set(crossed.loc[[CLEAR], "class"]) == {CLEAR}
    omitted = crossed[(crossed.index == OMITTED) & (crossed["class"] == OMITTED)][
        "n"
    ].sum()
    assert omitted == expected()["taxonomy"]["omission_counts"][OMITTED]


def test_judged_again() -> None:
    table = run("consistency").tables["judges"].set_index("voice")
    names = {
        "mean_change": "mean_abs_delta",
        "exact_rate": "exact_rate",
        "close_rate": "close_rate_le_0_1",
    }
    for judge, values in expected()["self_consistency"].items():
        assert table.loc[judge, "n"] == values["n"]
        same(table.loc[judge], values, largest="max", **names)


def test_six_cases_decide_nothing() -> None:
    parts = [
        None,
        "agreement",
        "pillars",
        "baselines",
        "length_bias",
        "consistency",
        "taxonomy",
    ]
    assert {part: run(part).standing for part in parts} == dict.fromkeys(
        parts, "undecided"
    )


def test_no_expected_figure_is_left_out() -> None:
    known = (
        "n rankings agreement length_bias baseline_vs_composite_gemini pillar_spearman taxonomy"
        " self_consistency"
    )
    assert set(expected()) == set(known.split())
    about = judged().frame.drop_duplicates("item_id")
    assert expected()["n"] == {
        "cases": about["pair_id"].nunique(),
        "summaries": len(about),
    }
