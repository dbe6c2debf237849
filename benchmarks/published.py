"""Lists each place of README.md and docs/ that quotes measured figures: the command that makes them
again, the stored result that they come from, and when they were measured.

    python -m benchmarks.published            # what is not listed, and what is listed and not there

Where `says` is given, its texts are made from the stored result and must stand in that place word
for word; tests/test_published.py holds that, and that no place with measured figures is missing.
Tables between marks of `benchmarks.pages` are made of stored results and held by tests/test_pages.py,
so they are listed here by their blocks alone. docs/figures.md shows the list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
FIGURE = re.compile(
    r"(?<![\w.])(?:\d[\d,]*(?:\.\d+)? ?%|\d*\.\d{2,}|\d[\d,]*(?:\.\d+)? (?:s|ms|MB|GB|seconds|minutes)\b)"
)
"""What looks like a measured figure: a share, a number with two places, seconds or megabytes."""
MADE = re.compile(
    r"<!-- made by benchmarks\.pages: \w+ -->\n.*?<!-- end -->\n", re.DOTALL
)
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Quoted:
    """A place that quotes measured figures.

    Attributes:
        page: The file, below the repository.
        section: The heading above the figures.
        command: What makes them again; "" where no command does.
        stored: The stored results that they come from; none where only the page has them.
        measured: The day on which they were measured, or at the latest quoted anew.
        says: Makes texts that must stand there, from what is stored.
    """

    page: str
    section: str
    command: str
    measured: str
    stored: tuple[str, ...] = ()
    says: Callable[[], Sequence[str]] | None = None


def _read(name: str) -> pd.DataFrame:
    return pd.read_csv(RESULTS / name)


def _acid() -> list[str]:
    from benchmarks.acid import tables

    return [f"## {part}" for part in tables().split("## ")[1:]]


def _gauntlet() -> list[str]:
    from benchmarks.gauntlet.__main__ import tables

    return [tables(pd.read_csv(RESULTS / "gauntlet.csv", keep_default_na=False))]


def _coverage() -> list[str]:
    from benchmarks.coverage.__main__ import worst

    count, _, _, *rows = worst(_read("coverage.csv")).splitlines()
    known = (
        "mean",
        "share",
        "area",
        "spearman",
        "kendall",
        "kappa",
        "pearson",
        "alpha",
        "median",
    )
    known += ("aurc", "ece", "review gain", "hodges-lehmann", "at equal control")
    kept = [row for row in rows if row.split(" | ")[0].removeprefix("| ") in known]
    figures = [cell.partition(" (")[0] for row in kept for cell in row.split(" | ")[1:]]
    return [
        f"{int(count.split()[0]):,} settings",
        *(f"| {figure} (" for figure in figures),
    ]


def _looks() -> list[str]:
    last = _read("looks.csv").query("looks == 20")
    ends = [
        f"{100 * last[column].min():.1f} to {100 * last[column].max():.1f} %"
        for column in ("any_better", "at_one_level")
    ]
    found = _read("improvement.csv")
    none = 100 * found.query("announced == 0")["no_evidence"]
    pairs = found.query("metric == 'pair_order' and groups == 46").set_index(
        "announced"
    )["better"]
    return [
        f"any of them was called better in {ends[0]} of the trials, where one level for all looks"
        f" would have called it so in {ends[1]}",
        f"programs without effect {none.min():.1f} to {none.max():.1f} % get",
        f"than announced: in {100 * pairs[0.5]:.1f} and {100 * pairs[0.8]:.1f} %",
    ]


def _promises() -> list[str]:
    found = _read("promises.csv")
    copies = found[found["world"] == "ten copies of the wrong"].set_index("groups")[
        "broken"
    ]
    others = found[~found["world"].str.startswith("ten copies")]["broken"].max()
    assert copies[300] == 0
    return [
        f"in at most {100 * others:.1f} % with any doubt",
        f"none of the samples of 300 groups, and in {100 * copies[60]:.0f} % of those of 60",
    ]


def _family() -> list[str]:
    most = _read("family.csv")[["error", "shown", "missed"]].max() * 100 + 1e-9
    return [
        f"a corrected p-value below 0.05 in 0 to {most['error']:.1f} % of the sweeps, a job called"
        f" better or worse in 0 to {most['shown']:.0f} %, an interval that leaves out 0 in 0 to"
        f" {most['missed']:.0f} %"
    ]


def _cannot_exclude() -> list[str]:
    arranged = _read("arranged.csv")
    assert arranged["believed"].sum() == 0 and set(arranged["seeds"]) == {60}
    kept = _read("structures.csv")
    trusted = kept[kept["judge"] != "good"].groupby("judge")["believed"].max()
    assert sum(trusted > 0.5) == 2
    return [
        "are trusted in none of 60 samples of 30 pairs, nor of 46",
        f"Of {len(trusted)} judges that go by something beside the texts, two are trusted",
    ]


def _relevance() -> list[str]:
    """The rows of both tables: what tells relevance, and the probe by kind of pair."""

    def share(value: float) -> str:
        return f"{100 * value:.0f} %"

    names = {
        "probe": "**probe**",
        "overlap": "words in common",
        "length": "length of both",
        "tfidf": "TF-IDF, cosine",
        "e5": "multilingual E5, cosine",
        "response alone": "E5 of the response alone",
    }
    found = _read("relevance.csv")
    rows = []
    for means, name in names.items():
        own = found[found["means"] == means].set_index("part")
        cells = []
        for part in ("development", "test", "others"):
            row = own.loc[part]
            area = f"{row['auc']:.2f} [{row['auc_low']:.2f}, {row['auc_high']:.2f}]"
            cells += [area] if part != "development" else []
            cells.append(
                f"{share(row['capped_rightly'])} / {share(row['capped_wrongly'])}"
            )
        rows.append(f"| {name} | {' | '.join(cells)} |")
    kinds = _read("relevance_kinds.csv").query("part == 'test'")
    for row in kinds.itertuples():
        deals = "yes" if row.engages else "no"
        rows.append(
            f"| `{row.kind}` | {deals} | {row.pairs} | {share(row.capped)} |"
            f" {share(row.cannot_tell)} |"
        )
    return rows


def _alarms() -> list[str]:
    names = {"groups of eight": "eight prompts with eight completions each"}
    rows = []
    for shape, own in _read("reward_alarms.csv").groupby("shape", sort=False):
        by = own.set_index("truth")["alarms"] * 100
        shares = [
            f"{by[truth]:.1f}"
            for truth in ("at the edge", "only falls", "follows by half")
        ]
        told = [share.removeprefix("0") if share != "0.0" else "0" for share in shares]
        rows.append(f"| {names.get(shape, shape)} | {' % | '.join(told)} %")
    return rows


def _toy() -> list[str]:
    found = _read("reward_toy.csv")
    alarms = [f"{own.alarms} of {own.trainings}" for own in found.itertuples()]
    words = [f"**{100 * own.empty_words:.0f} %**" for own in found.itertuples()]
    return [*alarms, *(each for each in words if each == "**99 %**")]


def _systems() -> list[str]:
    found = _read("systems.csv")["held"]
    others = found[found > found.min()]
    return [
        f"the interval held the truth in {100 * others.min():.1f} to {100 * others.max():.0f} % of",
        f"({100 * found.min():.1f} %)",
    ]


def _taxonomy() -> list[str]:
    from benchmarks.taxonomy import page

    return page(_read("taxonomy.csv"))


def _told_apart() -> list[str]:
    found = _read("told_apart.csv").set_index(["judges", "voice"]).sort_index()
    rules = found.loc[("rules", "composite")]
    n, equal = int(rules["n"]), rules["equal"] / rules["n"]
    share, low, high = (100 * rules[each] for each in ("accuracy", "low", "high"))
    return [
        f"**{share:.0f} %** [{low:.0f}, {high:.0f}] of {n} pairs, give both the same in"
        f" {100 * equal:.0f} %"
    ]


def _shipped_apart() -> list[str]:
    found = _read("told_apart.csv").set_index(["judges", "voice"]).sort_index()
    row = found.loc[("rules, shipped", "composite")]
    share, low, high = (100 * row[each] for each in ("accuracy", "low", "high"))
    return [f"of {row['n']:.0f} pairs", f"{share:.0f} % [{low:.0f}, {high:.0f}] only"]


def _planted() -> list[str]:
    from benchmarks.planted import AFTER, MENDED_ON

    keys = ["part", "rules", "kind"]
    found = _read("planted.csv").groupby(keys)[["cost", "n"]].sum()
    every = " {} of {} | {} of {} | {} of {} |"
    parts = (
        ("first", "before", "| first | of before |" + every),
        ("second", "first", "| second | with `winner` |" + every),
        ("third", "second", "| third | mended in sight of the second |" + every),
        ("fourth", "second", "| fourth | those of the third |" + every),
        ("fourth", "development", "| fourth | with appeals, laws and costs |" + every),
        ("fifth", "second", "| fifth | those of the third |" + every),
        ("fifth", "fourth", "| fifth | mended in sight of the fourth |" + every),
        ("sixth", "second", "| sixth | those of the third |" + every),
        ("sixth", "fifth", "| sixth | mended in sight of the fifth |" + every),
        (
            "seventh",
            "fifth",
            "| **seventh**, by another author | those of the sixth |" + every,
        ),
        ("eighth", "fifth", "| **eighth**, by the same | those of the sixth |" + every),
        ("third", "fifth", "| **third**, again | those of the sixth |" + every),
    )
    kinds = ("outcome", "party", "perfect")
    rows = [
        text.format(
            *(value for kind in kinds for value in found.loc[(part, rules, kind)])
        )
        for part, rules, text in parts
    ]
    seen = [found.loc[(part, AFTER)] for part in MENDED_ON]
    together = [
        sum(part.loc[kind, name] for part in seen)
        for kind in kinds
        for name in ("cost", "n")
    ]
    words = "| all that rules were mended on | those of the sixth |"
    return [*rows, f"{words}{every}".format(*together)]


def _guide() -> list[str]:
    from benchmarks.guide import summary, table

    return table(summary(_read("guide.csv")))


P, U = "python -m benchmarks.", "python -m undogmatic.run "
LISTED = (
    Quoted(
        "README.md",
        "undogmatic",
        "undogmatic demo",
        "2026-11-29",
    ),
    Quoted(
        "docs/acid_tests.md",
        "*",
        P + "acid --write",
        "2026-11-29",
        ("acid.csv",),
        _acid,
    ),
    Quoted(
        "docs/add_your_own.md",
        "Which model judges it",
        "",
        "2026-11-26",
    ),
    Quoted(
        "docs/align.md",
        "How far off the numbers are",
        P + "align --seeds 1000 --write",
        "2026-11-29",
        ("align.csv",),
    ),
    Quoted(
        "docs/check.md",
        "Everything below",
        P + "check_looks",
        "2026-11-28",
        ("check_looks.csv",),
    ),
    Quoted(
        "docs/check.md",
        "How many labels",
        P + "planned",
        "2026-11-29",
        ("planned.csv",),
    ),
    Quoted(
        "docs/check.md", "Has it changed?", P + "since", "2026-11-29", ("since.csv",)
    ),
    Quoted(
        "docs/check.md",
        "How long it takes",
        P + "growth --doors check --sizes 1000 10000 100000 1000000 --write",
        "2026-11-29",
        ("growth.csv",),
    ),
    Quoted(
        "docs/check.md",
        "How well it does",
        P + "check believed",
        "2026-11-29",
        (
            "check_believed.csv",
            "check_arena.csv",
            "check_alone.csv",
            "merit.csv",
            "strangers.csv",
        ),
    ),
    Quoted(
        "docs/decisions.md", "*", P + "improvement", "2026-11-28", ("improvement.csv",)
    ),
    Quoted(
        "docs/distill.md",
        "How good",
        P + "distill --test --write",
        "2026-11-29",
        ("distill.csv",),
    ),
    Quoted(
        "docs/distill.md",
        "On development texts",
        P + "distill --write",
        "2026-11-29",
        ("distill.csv",),
    ),
    Quoted("docs/faithfulness.md", "*", P + "planted", "2026-11-28"),
    Quoted(
        "docs/faithfulness.md",
        "Do the judges see what is wrong?",
        P + "told_apart --write",
        "2026-11-30",
        ("told_apart.csv",),
        _told_apart,
    ),
    Quoted(
        "docs/faithfulness.md",
        "What the pillars can and cannot see",
        P + "planted --fresh eighth --write",
        "2026-11-29",
        ("planted.csv",),
        _planted,
    ),
    Quoted(
        "docs/faithfulness.md",
        "What is wrong, by class",
        P + "taxonomy --reference FOLDER --write",
        "2026-11-29",
        ("taxonomy.csv",),
        _taxonomy,
    ),
    Quoted(
        "docs/fakes.md",
        "How often each is trusted",
        P + "fakes --again",
        "2026-11-25",
        ("fakes.csv",),
    ),
    Quoted(
        "docs/gate.md",
        "The gate",
        P + "check_looks",
        "2026-11-28",
        ("check_looks.csv",),
    ),
    Quoted("docs/gating.md", "*", U + "experiment=gating", "2026-11-28"),
    Quoted(
        "docs/gauntlet.md",
        "*",
        P + "gauntlet --seeds 2 --install gauntlet --write",
        "2026-11-29",
        ("gauntlet.csv",),
        _gauntlet,
    ),
    Quoted(
        "docs/howto/cluster.md",
        "*",
        P + "kills ray --kills 20",
        "2026-11-29",
        ("kills.csv",),
    ),
    Quoted(
        "docs/instrument.md",
        "How good it is",
        P + "instrument --write",
        "2026-11-29",
        ("instrument.csv",),
    ),
    Quoted(
        "docs/instrument.md",
        "Which texts to label first",
        P + "label_draw --write",
        "2026-11-29",
        ("label_draw.csv",),
    ),
    Quoted(
        "docs/intervals.md",
        "The figures of an answer",
        P + "coverage --only answer strata",
        "2026-11-29",
        ("coverage.csv",),
    ),
    Quoted(
        "docs/intervals.md",
        "The order of systems",
        P + "systems",
        "2026-11-29",
        ("systems.csv",),
        _systems,
    ),
    Quoted(
        "docs/intervals.md",
        "The figures of all analyses",
        P + "coverage --units 10 30",
        "2026-11-29",
        ("coverage.csv",),
        _coverage,
    ),
    Quoted(
        "docs/intervals.md",
        "A mean from few labels and a judge",
        P + "coverage --only labels --units 10 30",
        "2026-11-29",
        ("coverage.csv",),
    ),
    Quoted(
        "docs/judges.md",
        "Measured on the embedded model",
        U + "-m experiment=uncertainty_bakeoff dataset.n=150",
        "2026-11-29",
    ),
    Quoted(
        "docs/judges.md",
        "Whether examples and `prompt=bare` help",
        P + "guide --model MODEL.gguf --write",
        "2026-11-29",
        ("guide.csv",),
        _guide,
    ),
    Quoted("docs/judges.md", "The rules of `selective`", "", "2026-11-22"),
    Quoted(
        "docs/measured.md",
        "May you trust the embedded judge?",
        P + "probe --test",
        "2026-11-29",
    ),
    Quoted(
        "docs/measured.md",
        "Is a better prompt better?",
        U
        + "optimizer=random_search dataset=theses 'dataset.conditions=[authority_only,explained_only]'",
        "2026-11-28",
    ),
    Quoted(
        "docs/measured.md",
        "May you trust what it says of its own doubt?",
        U + "-m experiment=uncertainty_bakeoff dataset.n=150",
        "2026-11-29",
    ),
    Quoted(
        "docs/measured.md",
        "Whose summaries of court decisions may be trusted?",
        P + "told_apart --write",
        "2026-11-30",
        ("told_apart.csv",),
        _shipped_apart,
    ),
    Quoted(
        "docs/measured.md",
        "Traits of responses, and hierarchies of flow cytometry",
        U + "experiment=trait",
        "2026-11-28",
    ),
    Quoted(
        "docs/mlflow.md",
        "A `make_judge` aligned with labels",
        P + "pictures",
        "2026-11-26",
    ),
    Quoted(
        "docs/models.md",
        "Models",
        P + "hosted --limit 50 --write",
        "2026-11-29",
        ("hosted.csv",),
    ),
    Quoted(
        "docs/optimise.md",
        "The verdict",
        P + "improvement --seeds 1000",
        "2026-11-29",
        ("improvement.csv", "looks.csv"),
        _looks,
    ),
    Quoted(
        "docs/optimise.md",
        "What the embedded model gains",
        U
        + "optimizer=random_search dataset=theses 'dataset.conditions=[authority_only,explained_only]'",
        "2026-11-23",
    ),
    Quoted("docs/other_courts.md", "*", "", "2026-11-29"),
    Quoted(
        "docs/precedents.md",
        "Does the text describe what was decided?",
        P + "precedents describes",
        "2026-11-26",
        ("outcomes.csv",),
    ),
    Quoted("docs/precedents.md", "How good it is", P + "precedents", "2026-11-26"),
    Quoted(
        "docs/probe.md",
        "However a text was typed",
        P + "movement",
        "2026-11-29",
        ("movement.csv",),
    ),
    Quoted("docs/probe.md", "What was tried", P + "probe", "2026-11-21"),
    Quoted(
        "docs/probe.md",
        "Fitted again with harder development texts",
        P + "probe",
        "2026-11-28",
    ),
    Quoted(
        "docs/probe.md",
        "Text that has no part in the text",
        P + "injected --texts 60",
        "2026-11-29",
    ),
    Quoted(
        "docs/probe.md",
        "Development texts (the first 1,407), one author left out at a time",
        P + "probe",
        "2026-11-29",
    ),
    Quoted(
        "docs/probe.md",
        "Fitted again with sets that differ in one point",
        P + "probe_texts --write",
        "2026-11-29",
        ("probe_texts.csv",),
    ),
    Quoted(
        "docs/probe.md",
        "Sentences without content",
        P + "probe_copies --write",
        "2026-11-29",
        ("probe_copies.csv",),
    ),
    Quoted(
        "docs/trace_files.md",
        "How long a file may be",
        P + "trace_files --mb 500 --write",
        "2026-11-29",
        ("trace_files.csv",),
    ),
    Quoted(
        "docs/traces.md",
        "Judging here",
        "python -m undogmatic.run experiment=traces model=local",
        "2026-11-29",
    ),
    Quoted(
        "docs/traces.md",
        "What rules reach, and what planted judges show",
        P + "traces --write",
        "2026-11-29",
        ("traces.csv",),
    ),
    Quoted(
        "docs/check.md",
        "Which planted defects does it see?",
        P + "planted_defects --write",
        "2026-11-29",
        ("planted_defects.csv",),
    ),
    Quoted(
        "docs/probe.md",
        "Test texts (other authors of the same team, other precedents), the shipped probe",
        P + "probe --test",
        "2026-11-29",
    ),
    Quoted(
        "docs/reliability.md",
        "*",
        P + "kills --write",
        "2026-11-29",
        (
            "kills.csv",
            "faults.csv",
            "faults_on_disk.csv",
            "fuzz.csv",
            "structures.csv",
            "gauntlet.csv",
        ),
    ),
    Quoted("docs/report.md", "*", P + "report_page", "2026-11-26"),
    Quoted(
        "docs/reward.md",
        "The score as a reward, and an alarm",
        P + "reward seconds",
        "2026-11-26",
    ),
    Quoted(
        "docs/reward.md",
        "The alarm",
        P + "reward alarms",
        "2026-11-26",
        ("reward_alarms.csv",),
        _alarms,
    ),
    Quoted(
        "docs/reward.md",
        "A toy that learns",
        P + "reward toy",
        "2026-11-30",
        ("reward_toy.csv",),
        _toy,
    ),
    Quoted(
        "docs/search.md",
        "Launchers",
        U
        + "-m hydra/launcher=joblib hydra.launcher.n_jobs=2 readout=logprobs prompt=demos_pt,demos_en",
        "2026-11-23",
    ),
    Quoted(
        "docs/speed.md",
        "*",
        P + "peers --write",
        "2026-11-29",
        (
            "peers.csv",
            "peers_check.csv",
            "peers_read.csv",
            "startup.csv",
            "hosted.csv",
            "scale.csv",
        ),
    ),
    Quoted("docs/traits.md", "`readout=integers`", P + "integers split", "2026-11-25"),
    Quoted(
        "docs/traits.md",
        "What the embedded model reaches",
        P + "integers reference",
        "2026-11-23",
    ),
    Quoted(
        "docs/traits.md",
        "Does the response deal with the question?",
        P + "relevance --test --write",
        "2026-11-29",
        ("relevance.csv", "relevance_kinds.csv"),
        _relevance,
    ),
    Quoted("docs/traits_probes.md", "*", P + "traits", "2026-11-29"),
    Quoted(
        "docs/tutorial.md",
        "1. Three judges, and which to trust",
        "undogmatic demo",
        "2026-11-29",
    ),
    Quoted(
        "docs/verdicts.md",
        "What this cannot exclude",
        P + "rivals --pairs 30 46 --seeds 100",
        "2026-11-29",
        ("rivals.csv", "arranged.csv", "structures.csv", "check_believed.csv"),
        _cannot_exclude,
    ),
    Quoted(
        "docs/verdicts_in_detail.md",
        "What counts as one, in detail",
        "pytest tests/datasets",
        "2026-11-28",
    ),
    Quoted(
        "docs/verdicts_in_detail.md",
        "Paired experiment",
        P + "rivals",
        "2026-11-29",
        ("rivals.csv", "arranged.csv"),
    ),
    Quoted(
        "docs/verdicts_in_detail.md",
        "Human labels",
        P + "check believed",
        "2026-11-29",
        ("check_believed.csv",),
    ),
    Quoted(
        "docs/verdicts_in_detail.md",
        "Worth of the uncertainty",
        P + "beyond_score --texts 30 46 150 --seeds 400",
        "2026-11-28",
        ("beyond_score.csv",),
    ),
    Quoted(
        "docs/verdicts_in_detail.md",
        "What the judge may decide alone",
        P + "promises",
        "2026-11-26",
        ("promises.csv",),
        _promises,
    ),
    Quoted(
        "docs/verdicts_in_detail.md",
        "Sources of variance",
        P + "coverage",
        "2026-11-29",
        ("coverage.csv",),
    ),
    Quoted(
        "docs/verdicts_in_detail.md",
        "Few labels",
        P + "coverage --only labels --units 10 30",
        "2026-11-29",
        ("coverage.csv",),
    ),
    Quoted(
        "docs/verdicts_in_detail.md",
        "Whenever one stops",
        "pytest tests/stats",
        "2026-11-28",
    ),
    Quoted(
        "docs/verdicts_in_detail.md",
        "Jobs of a sweep",
        P + "family --write",
        "2026-11-28",
        ("family.csv",),
        _family,
    ),
)
MADE_BY = {
    "entailment.csv": "entailment --test --write",
    "instrument_trust.csv": "instrument_trust --write",
    "planted_defects.csv": "planted_defects --write",
    "probe_copies.csv": "probe_copies --write",
    "probe_texts.csv": "probe_texts --write",
    "relevance.csv": "relevance --test --write",
    "relevance_kinds.csv": "relevance --test --write",
    "trace_files.csv": "trace_files --mb 500 --write",
    "traces.csv": "traces --write",
    "acid.csv": "acid --write",
    "align.csv": "align --seeds 1000 --write",
    "arranged.csv": "arranged",
    "beyond_score.csv": "beyond_score --texts 30 46 150 --seeds 400",
    "check_alone.csv": "check_alone --write",
    "check_arena.csv": "check_arena --table TABLE --write",
    "check_believed.csv": "check believed",
    "check_looks.csv": "check_looks",
    "coverage.csv": "coverage --units 10 30",
    "distill.csv": "distill --test --write",
    "fakes.csv": "fakes --again",
    "family.csv": "family --write",
    "faults.csv": "faults --write",
    "faults_on_disk.csv": "faults_on_disk --write",
    "fuzz.csv": "fuzz --all --minutes 0.5 --write",
    "gauntlet.csv": "gauntlet --seeds 2 --install gauntlet --write",
    "growth.csv": "growth --doors check --sizes 1000 10000 100000 1000000 --write",
    "hosted.csv": "hosted --write",
    "improvement.csv": "improvement --seeds 1000",
    "instrument.csv": "instrument --write",
    "kills.csv": "kills --write",
    "label_draw.csv": "label_draw --write",
    "looks.csv": "improvement --looks 20 --seeds 1000",
    "merit.csv": "merit --write",
    "movement.csv": "movement --write",
    "outcomes.csv": "outcomes --split dev test --write",
    "peers.csv": "peers --write",
    "peers_check.csv": "peers --check --write",
    "peers_read.csv": "peers --read --write",
    "planned.csv": "planned",
    "promises.csv": "promises",
    "reward_alarms.csv": "reward alarms --seeds 300 --write",
    "reward_toy.csv": "reward toy --seeds 20 --write",
    "rivals.csv": "rivals",
    "scale.csv": "scale --write",
    "since.csv": "since",
    "startup.csv": "startup --write",
    "strangers.csv": "strangers --write",
    "structures.csv": "structures --seeds 20 --write",
    "systems.csv": "systems",
    "taxonomy.csv": "taxonomy --reference FOLDER --write",
    "guide.csv": "guide --model MODEL.gguf --write",
    "planted.csv": "planted --fresh eighth --write",
    "told_apart.csv": "told_apart --write",
}
"""The command behind `python -m benchmarks.` that makes each stored result."""
RULES = {
    "docs/add_your_own.md": (
        "A dataset",
        "A reader of another tool's files, a question to every check, a command",
    ),
    "docs/align.md": ("The held-out part",),
    "docs/check.md": ("The first line",),
    "docs/glossary.md": ("Glossary",),
    "docs/howto/my_provider.md": ("A provider of mine",),
    "docs/instrument.md": ("How the answer is reached",),
    "docs/intervals.md": ("How often intervals hold the truth",),
    "docs/mlflow.md": ("What a run looks like in MLflow",),
    "docs/judges.md": ("Distributions add up",),
    "docs/precedents.md": ("The grammar", "From the tables that courts publish"),
    "docs/trace_files.md": ("The tools",),
    "docs/probe.md": ("What it computes",),
    "docs/readers.md": ("Verdicts in the files of other tools",),
    "docs/review.md": ("From MLflow",),
    "docs/search.md": ("A search in place of a grid",),
    "docs/security.md": ("The log of scores", "Pages, cards and the Action"),
    "docs/tutorial.md": ("Ten minutes",),
    "docs/verdicts.md": (
        "What counts as one",
        "How a limit decides",
        "The rules in their order",
        "The other analyses of a run",
    ),
    "docs/verdicts_in_detail.md": (
        "What holds for all analyses",
        "Limits that decide",
        "Attacks",
        "Reliability",
        "Conformal intervals",
    ),
}
"""Sections whose numbers are limits, levels, versions or examples of a sentence: nothing was
measured."""


def pages() -> list[Path]:
    """README.md and all pages of docs/; a page in Portuguese has the figures of its twin."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if not page.name.endswith(".pt.md")]


def sections(page: Path) -> Iterator[tuple[str, str]]:
    """The sections of a page: heading, and text without code."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    begun = re.split(r"^#+ (.*)$", text, flags=re.MULTILINE)
    yield "", begun[0]
    yield from zip(begun[1::2], begun[2::2], strict=True)


def unlisted() -> list[str]:
    """Sections with what looks like a measured figure that are neither listed nor in RULES. Tables
    that are made of stored results need no listing."""
    listed = {(one.page, one.section) for one in LISTED}
    found = []
    for page in pages():
        name = page.relative_to(ROOT).as_posix()
        if (name, "*") in listed:
            continue
        for heading, text in sections(page):
            known = (name, heading) in listed or heading in RULES.get(name, ())
            if not known and FIGURE.search(MADE.sub("", text)):
                found.append(
                    f"{name}, {heading}: {FIGURE.findall(MADE.sub('', text))[:5]}"
                )
    return found


def astray() -> list[str]:
    """What is listed and is not there: a section, or a text that a stored result says."""
    found = []
    for one in LISTED:
        page = ROOT / one.page
        there = dict(sections(page)) if page.is_file() else {}
        if one.section != "*" and one.section not in there:
            found.append(f"{one.page} has no section {one.section!r}")
            continue
        text = (
            page.read_text(encoding="utf-8")
            if one.section == "*"
            else there[one.section]
        )
        shown = " ".join(text.split())
        for said in one.says() if one.says is not None else ():
            if " ".join(said.split()) not in shown:
                found.append(f"{one.page}, {one.section}: does not say {said[:300]!r}")
    return found


def listing() -> str:
    """The list as a table of Markdown, for docs/figures.md."""
    rows = [
        "| page | section | command | stored result | measured |",
        "|---|---|---|---|---|",
    ]
    for one in LISTED:
        page = one.page.removeprefix("docs/")
        link = f"[{page}]({page})" if one.page.startswith("docs/") else page
        stored = ", ".join(f"`{name}`" for name in one.stored) or "none: the page alone"
        section = "all" if one.section == "*" else one.section
        command = (
            f"`{one.command}`".replace("|", "\\|")
            if one.command
            else "as that page says"
        )
        rows.append(f"| {link} | {section} | {command} | {stored} | {one.measured} |")
    return "\n".join(rows) + "\n"


def main() -> None:
    """Print what is not listed, and what is astray."""
    for line in [*unlisted(), *astray()]:
        print(line)


if __name__ == "__main__":
    main()
