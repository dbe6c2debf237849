"""Makes SKILL.md, which tells a coding agent which command answers which question, from the tables
of README.md.

python -m benchmarks.skill            # writes SKILL.md
"""

from __future__ import annotations

import re

from undogmatic.safety.paths import conf_folder

ROOT = conf_folder().parent
HEAD = """---
name: undogmatic
description: >-
  Tells whether an LLM judge may be believed. Use it to check verdicts of a judge against labels of people, to run a
  judge on texts and see what its scores are worth, to compare judges, models or prompts, or to hold a judge to a gate.
---

# undogmatic

Made from README.md by `python -m benchmarks.skill`; change README.md instead. Every command below is run, or taken to
its first question, by the project's tests.

## How to work with it

- A command that ends with status 0 did what it says. Status 2 is a mistake in what was typed or in the data: the
  message names the key or the column, what is allowed, and what to type next; do that. Status 3 is a run without a
  verdict.
- The answer is in the first sentences of the output. Report these, with their interval, not a figure of the table
  alone. "Undecided" and "You cannot know" are answers: do not turn them into a yes or a no.
- What a group can be is in `undogmatic run --help`, what a command can do in `undogmatic COMMAND --help`.
- A run leaves `outputs/DATE/TIME/` with `metrics.json`, `scores.csv` and `report.md`. `run.resume=last` goes on with a
  run that was stopped. What was answered is not asked again.
- Most models need a key in the environment or in `.env`; `model=local`, `model=patterns` and `model=tfidf` need none,
  and `undogmatic check` asks no model at all.

"""


def questions(page: str) -> list[tuple[str, str]]:
    """The rows of the page's tables of questions and commands."""
    tables = re.findall(
        r"(?m)^\| question \| command \|\n\|[-| ]+\|\n((?:\|.*\|\n)+)", page
    )
    rows = [
        line.strip("|\n").split(" | ")
        for table in tables
        for line in table.splitlines()
    ]
    return [(row[0].strip(), " | ".join(row[1:]).strip()) for row in rows]


def skill(page: str) -> str:
    """The text of SKILL.md for a README."""
    rows = "".join(
        f"- {question}\n  {answer}\n" for question, answer in questions(page)
    )
    return f"{HEAD}## Questions, and the commands that answer them\n\n{rows}"


if __name__ == "__main__":
    (ROOT / "SKILL.md").write_text(
        skill((ROOT / "README.md").read_text("utf-8")), encoding="utf-8"
    )
