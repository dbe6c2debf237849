"""`undogmatic check` and `undogmatic.check`: from a file to the first line, the report, the card
and back."""

import html
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import undogmatic
from tests.conftest import Capture, put, typed
from undogmatic.cli import main
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.card import read_card
from undogmatic.report.check import words_of


def frame(n: int = 80, noise: float = 0.03, seed: int = 0) -> pd.DataFrame:
    """Replies that a person and a judge pass or fail; no word tells which."""
    rng = np.random.default_rng(seed)
    truth, words = (
        rng.integers(0, 2, n),
        "alpha beta gamma delta epsilon zeta eta theta iota kappa".split(),
    )
    said = [np.where(rng.random(n) < noise, 1 - truth, truth) for _ in range(2)]
    texts = [" ".join(rng.choice(words, 12)) for _ in range(n)]
    named = [np.where(values == 1, "pass", "fail") for values in said]
    return pd.DataFrame(
        {
            "id": [f"r{k}" for k in range(n)],
            "text": texts,
            "judge": named[0],
            "human": named[1],
        }
    )


def a_file(folder: Path, **changes: Any) -> Path:
    return put(folder / "verdicts.csv", frame().assign(**changes).to_csv(index=False))


def check(capsys: Capture, *words: str) -> str:
    main(["check", *words])
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("noise", "asked"), [(0.02, "--card card.json"), (0.5, "--report report")]
)
def test_the_command_that_comes_next_works(
    noise: float, asked: str, tmp_path: Path, capsys: Capture
) -> None:
    file = put(tmp_path / "my verdicts.csv", frame(noise=noise).to_csv(index=False))
    (found,) = [
        line
        for line in check(capsys, str(file), "--judge", "judge").splitlines()
        if line.startswith("Next, ")
    ]
    command = shlex.split(found.rpartition(": `")[2].rstrip("`"))
    assert command[:2] == ["undogmatic", "check"] and " ".join(command).endswith(asked)
    assert asked.startswith("--card") == (
        "Next, see in the report" in check(capsys, *command[2:])
    )
    assert (Path.cwd() / asked.split()[1]).exists()


def test_a_yes_over_versions_of_texts_names_the_option_for_groups(
    tmp_path: Path, capsys: Capture
) -> None:
    """Each text stands twice with its second half rewritten, in groups of their own."""
    rng, rows = np.random.default_rng(0), frame(160)
    words = [f"word{n}" for n in range(800)]
    first = [" ".join(rng.choice(words, 10)) for _ in range(80)]
    texts = [f"{first[n // 2]} {' '.join(rng.choice(words, 8))}" for n in range(160)]
    file = put(tmp_path / "v.csv", rows.assign(text=texts).to_csv(index=False))
    said = check(capsys, str(file), "--judge", "judge", "--group", "id")
    (unknown,) = [line for line in said.splitlines() if line.startswith("Not known")]
    assert said.lstrip().startswith("✓ Yes") and "(`--group`)" in unknown


@pytest.fixture
def card(tmp_path: Path, capsys: Capture) -> Path:
    """A card of a judge that agrees with people on nearly every item."""
    check(capsys, str(a_file(tmp_path)), "--card", "card.json")
    return Path("card.json")


def other(noise: float) -> str:
    """A file of other items."""
    return (
        frame(n=160, noise=noise, seed=3)
        .replace({"id": {"r": "n"}}, regex=True)
        .to_csv(index=False)
    )


@pytest.mark.parametrize(
    ("noise", "status", "said"),
    [
        (0.02, 0, "It is not shown that “judge” agrees"),
        (0.3, 4, "“judge” agrees with people"),
    ],
)
@pytest.mark.parametrize("against", ["card.json", "verdicts.csv"])
def test_the_first_line_says_what_has_changed(
    against: str,
    noise: float,
    status: int,
    said: str,
    card: Path,
    tmp_path: Path,
    capsys: Capture,
) -> None:
    new = str(put(tmp_path / "new.csv", other(noise)))
    earlier = str(card if against == card.name else tmp_path / against)
    for language, words in (("en", said), ("pt", "concord")):
        more = ("--language", language, "--report", "out")
        ended, printed = ends(capsys, new, "--against", earlier, *more)
        first = printed.strip().splitlines()[0]
        assert ended == status and words in first and against in first
        assert first in (Path("out") / "report.md").read_text().replace("\\", "")
    ended, printed = ends(capsys, new, "--against", earlier, "--json")
    assert ended == status and said in json.loads(printed)["change"][0]
    result = undogmatic.check(new, against=earlier)
    assert result.agrees_less == (status == 4) and said in str(result).splitlines()[0]
    assert said in result._repr_html_()[:300]


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "Exit status 4: a judge is shown"), ("pt", "Código de saída 4")],
)
def test_exit_status_4_is_explained_where_it_happens(
    language: str, said: str, card: Path, tmp_path: Path, capsys: Capture
) -> None:
    new = str(put(tmp_path / "new.csv", other(0.3)))
    with pytest.raises(SystemExit) as end:
        main(["check", new, "--against", str(card), "--language", language])
    told = capsys.readouterr().err.splitlines()[-1]
    assert end.value.code == 4
    assert said in told and told.endswith("|| test $? -eq 4")


def ends(capsys: Capture, *words: str) -> tuple[int, str]:
    """The exit status of a check, and what it printed."""
    try:
        main(["check", *words])
    except SystemExit as end:
        return int(end.code or 0), capsys.readouterr().out
    return 0, capsys.readouterr().out


def test_a_card_of_the_same_verdicts_shows_no_change(
    card: Path, tmp_path: Path, capsys: Capture
) -> None:
    ended, printed = ends(
        capsys, str(tmp_path / "verdicts.csv"), "--against", str(card)
    )
    assert (
        ended == 0
        and "the very ones from which that card was made" in printed.splitlines()[1]
    )


def test_a_card_of_something_else_is_refused(
    card: Path, tmp_path: Path, capsys: Capture
) -> None:
    rows = frame().rename(columns={"judge": "gpt_judge"})
    put(tmp_path / "other.csv", rows.to_csv(index=False))
    put(tmp_path / "whole.csv", frame().to_csv(index=False))
    graded = frame().assign(judge=np.arange(80) % 5, human=np.arange(80) % 5)
    put(tmp_path / "grades.csv", graded.to_csv(index=False))
    put(tmp_path / "edited.json", card.read_text().replace("supported", "refuted"))
    for file, against, more, said in (
        ("other", card, {}, "about the judge 'judge', and here is gpt_judge"),
        (
            "grades",
            card,
            {"kind": "numeric"},
            "verdicts were pass_fail, and these are numeric",
        ),
        ("whole", card, {"level": 0.9}, "Add --level 0.95"),
        ("whole", "edited.json", {}, "edited or damaged after it was made"),
        ("whole", [card, "whole.csv"], {}, "Name one of them"),
    ):
        with pytest.raises((ConfigError, DataError)) as raised:
            undogmatic.check(f"{file}.csv", against=against, **more)
        assert said in str(raised.value)
    settled = put(tmp_path / "set.csv", frame().to_csv(index=False))
    main(["check", str(settled), "--card", "set.json", "--judge-config", "model=gpt-5"])
    with pytest.raises(SystemExit):
        words = ["--judge-config", "model=gpt-6", "--card", "new.json"]
        main(["check", str(settled), "--against", "set.json", *words])
    assert "whose model was 'gpt-5' and is 'gpt-6' now" in capsys.readouterr().err
    assert not Path("new.json").exists()


def test_what_was_planted_is_said_first(tmp_path: Path, capsys: Capture) -> None:
    rows = [
        {"id": f"r{k}", "of": "", "what": "clean", "verdict": "pass"} for k in range(30)
    ]
    rows += [
        {"id": f"{row['id']}-{kind}", "of": row["id"], "what": kind, "verdict": said}
        for row in rows[:30]
        for kind, said in (
            ("defect:loop", "fail"),
            ("defect:leak", "pass"),
            ("equivalent", "pass"),
        )
    ]
    file = put(tmp_path / "planted.csv", pd.DataFrame(rows).to_csv(index=False))
    named = [str(file), "--injected", "what", "--parent", "of"]
    first = check(capsys, *named).split("\n\n")[0]
    assert first.strip().startswith("“verdict” fails 50% [37%, 63%] of the 60 items")
    assert "leak 0% [0%, 11%], most of which it misses; loop 100% [89%, 100%]" in first
    own = put(
        tmp_path / "own.csv",
        pd.DataFrame(rows).rename(columns={"what": "kind"}).to_csv(),
    )
    assert "loop 100% [89%, 100%]" in check(
        capsys, str(own), "--worse", "high", "--language", "en"
    )
    assert "a maioria dos quais não vê" in check(capsys, *named, "--language", "pt")
    written = json.loads(
        check(capsys, *named, "--json", "--card", str(tmp_path / "card.json"))
    )
    assert len(written["asked"]) == 2
    card = read_card(tmp_path / "card.json")
    assert card.figures["injected.recall.loop"].interval == pytest.approx(
        (0.886, 1), abs=1e-3
    )
    main(["check", *named, "--report", str(tmp_path / "report")])
    report = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert "kinds.png" in report and "| leak " in report


def test_over_dates_it_is_said_since_when(tmp_path: Path, capsys: Capture) -> None:
    rows = frame(n=200, noise=0.02)
    days = pd.date_range("2026-03-01", periods=100).strftime("%Y-%m-%d")
    late = (np.arange(200) >= 140) & (np.arange(200) % 2 == 0)
    turned = rows["judge"].map({"pass": "fail", "fail": "pass"})
    rows["judge"] = rows["judge"].where(~late, turned)
    rows["date"] = np.repeat(days, 2)
    file = str(put(tmp_path / "dated.csv", rows.to_csv(index=False)))
    ended, printed = ends(capsys, file, "--over", "date")
    assert ended == 4
    assert "agrees with people less since 2026-05-" in printed.strip().splitlines()[0]
    assert ends(capsys, file, "--over", "date", "--json")[0] == 4
    put(
        tmp_path / "dated.csv",
        rows.replace({"date": {days[3]: "soon"}}).to_csv(index=False),
    )
    with pytest.raises(SystemExit):
        main(["check", file, "--over", "date"])
    assert "dated.csv:8: `date` is 'soon', which is no date" in capsys.readouterr().err


def test_the_command_answers_and_writes_what_is_asked(
    tmp_path: Path, capsys: Capture
) -> None:
    file = str(a_file(tmp_path))
    config = ["--judge-config", "model=gpt-5", "temperature=0"]
    said = check(
        capsys,
        file,
        "--report",
        "out",
        "--card",
        "card.json",
        "--card",
        "card.svg",
        *config,
        "--use",
        "triage",
    )
    first = said.strip().split("\n\n")[0].splitlines()
    assert len(first) <= 8 and first[0].startswith("✓ Yes.")
    titles = [line.partition(":")[0] for line in first[1:4]]
    assert titles == ["Use it for", "Not for", "Not known"]
    assert "out/report.html" in said and "card.json, card.svg" in said
    every = check(capsys, file, "--all")
    blocks = every.strip().split("\n\n")
    assert (
        "Judge: `judge` (`--judge`)" in blocks[0]
        and blocks[1].splitlines()[1:4] == first[1:4]
    )
    assert "it agrees with a person in" in blocks[2] and "word counter" in blocks[2]
    assert "Not examined:\n- " in every
    report = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "--card card.json" in report
    own = read_card(tmp_path / "card.json")
    assert (
        own.settings == {"model": "gpt-5", "temperature": "0"}
        and own.answer.removeprefix("Yes. ") in every
    )
    assert own.data.options == {} and (tmp_path / "card.svg").is_file()
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "gate",
                "card.json",
                "--config",
                str(put(tmp_path / "g.yaml", "standing: supported")),
                "--data",
                file,
            ]
        )
    assert (
        ended.value.code in (0, 2)
        and "The labels are those that the judge was checked on"
        in capsys.readouterr().out
    )


def test_several_judges_are_answered_each_and_together(
    tmp_path: Path, capsys: Capture
) -> None:
    other = np.random.default_rng(1).permutation(frame()["judge"])
    said = check(
        capsys,
        str(a_file(tmp_path, coin=other)),
        "--judge",
        "judge",
        "--judge",
        "coin",
        "--report",
        "out",
    )
    assert "Of 2 judges, 1 may be trusted" in said and "beat a" in said
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert page.index("judge</h2>") < page.index("coin</h2>") and ">r79<" in page


def test_a_card_is_read_as_it_was_made(tmp_path: Path, capsys: Capture) -> None:
    file = str(
        put(
            tmp_path / "v.csv",
            frame().rename(columns={"judge": "a", "human": "b"}).to_csv(index=False),
        )
    )
    check(
        capsys,
        file,
        "--judge",
        "a",
        "--human",
        "b",
        "--labels",
        "all",
        "--card",
        "card.json",
    )
    assert read_card(tmp_path / "card.json").data.options == {
        "judge": ["a"],
        "human": ["b"],
        "labels": "all",
    }
    gate = put(
        tmp_path / "undogmatic-gate.yaml", "figures: {agreement.kappa: {at_least: 0.1}}"
    )
    for folder, status in (("same", 0), ("other", 3)):
        table = pd.read_csv(file).sample(frac=1, random_state=1)
        if status:
            table.loc[3, "b"] = "fail" if table.loc[3, "b"] == "pass" else "pass"
        now = str(put(tmp_path / folder / "v.csv", table.to_csv(index=False)))
        with pytest.raises(SystemExit) as ended:
            main(["gate", "card.json", "--config", str(gate), "--data", now])
        assert ended.value.code == status, capsys.readouterr().out


def test_json_is_all_that_is_printed(tmp_path: Path, capsys: Capture) -> None:
    told = json.loads(
        check(capsys, str(a_file(tmp_path)), "--json", "--language", "pt")
    )
    (judge,) = told["judges"]
    assert (
        told["answer"] == judge["answer"]
        and judge["figures"]["agreement.kappa"]["interval"][0] > 0.5
    )
    assert (
        told["digests"]["judges"].keys() == {"judge"} and "uma pessoa" in told["answer"]
    )
    sentences = [each["sentence"] for each in judge["findings"]] + list(
        judge["not_examined"].values()
    )
    assert not [
        sentence
        for sentence in (judge["rival"], *sentences)
        if sentence.startswith("[")
    ]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (
            ["gone.csv"],
            (
                "`FILE` is 'gone.csv', which does not exist. In .: verdicts.csv. Name one that"
                " exists (.csv,"
            ),
        ),
        (
            ["empty/gone.csv"],
            "`FILE` is 'empty/gone.csv', which does not exist. In empty: no file of these kinds",
        ),
        (
            ["nowhere/gone.csv"],
            "`FILE` is 'nowhere/gone.csv', which does not exist, nor does the folder 'nowhere'.",
        ),
        (
            ["verdicts.csv", "--level", "1.5"],
            "--level is 1.5: it must be a number above 0.5 and below 1. What each",
        ),
        (
            ["verdicts.csv", "--least", "-1"],
            "--least is -1.0: it must be a number of at least 0 and below 1. What",
        ),
        (
            ["verdicts.csv", "--kind", "numbers"],
            "--kind is 'numbers': it must be 'numeric', 'ordered'",
        ),
        (["verdicts.csv", "--human", "nobody"], "nobody"),
        (["verdicts.csv", "--card", "card.pdf"], "--card is 'card.pdf'"),
        (["verdicts.csv", "--use", "x"], "Add --card card.json"),
        (["verdicts.csv", "--card", "c.json", "--expires", "-3"], "--expires is -3"),
        (["verdicts.csv", "--card", "c.json", "--judge-config", "model"], "KEY=VALUE"),
        (
            ["verdicts.csv", "--card", "c.json", "--judge-config", "prompt=@gone.txt"],
            "gone.txt",
        ),
        (
            ["verdicts.csv", "--bogus"],
            "unrecognized arguments: --bogus. These there are: undogmatic check --help",
        ),
        (["verdicts.csv", "--jugde", "judge"], "--jugde judge. Did you mean --judge?"),
        (["verdicts.csv", "--gold", "label"], "--gold label. Did you mean --human?"),
        (["verdicts.csv", "--llm", "judge"], "--llm judge. Did you mean --judge?"),
        (["verdicts.csv", "--label", "human"], "labels is named by --human"),
        (
            ["--judge", "judge", "other", "verdicts.csv", "--human", "human"],
            (
                "--judge takes one name each time. Type: undogmatic check --judge judge --judge"
                " other verdicts.csv --human"
            ),
        ),
    ],
)
def test_what_was_typed_wrongly_is_named(
    words: list[str], named: str, tmp_path: Path
) -> None:
    a_file(tmp_path)
    (tmp_path / "empty").mkdir()
    done = typed("undogmatic.cli", "check", *words, folder=tmp_path)
    assert (
        done.returncode == 2
        and named in done.stderr
        and "Traceback" not in done.stderr
        and "FILE=" not in done.stderr
    )


def test_whatever_was_found_the_check_itself_succeeded(tmp_path: Path) -> None:
    """The gate judges, not the check."""
    a_file(tmp_path, judge="pass")
    done = typed("undogmatic.cli", "check", "verdicts.csv", folder=tmp_path)
    assert done.returncode == 0 and "Do not trust this judge" in done.stdout


def test_python_gives_what_the_command_says() -> None:
    found = undogmatic.check(frame(), human="human", judge=["judge"], labels="all")
    assert "it agrees with a person" in found.answer and found.judges[0].n == 80
    shown = found._repr_html_()
    assert f"<b>{html.escape(found.answer.split(' More')[0])}" in shown
    assert "concorda com uma pessoa" in undogmatic.check(frame(), language="pt").answer
    assert str(found).splitlines()[0].startswith("✓ Yes. You may trust")
    assert (
        f"Not for: {found.not_for}" in str(found)
        and f"Use it for: {found.use_for}" in shown
    )
    assert len(found.to_frame()) == len(found.judges[0].estimates)
    far = found.largest
    assert len(far) == 80 and far["differing"].is_monotonic_decreasing


def test_python_names_a_wrong_option() -> None:
    with pytest.raises(ConfigError, match="`humans` is no option of a check"):
        undogmatic.check(frame(), humans="human")
    with pytest.raises(ConfigError, match="does not exist"):
        undogmatic.check("gone.csv")
    with pytest.raises((ConfigError, DataError)):
        undogmatic.check(pd.DataFrame({"a": []}))


def test_some_examinations_alone_by_the_command_and_in_python(
    tmp_path: Path, capsys: Capture
) -> None:
    """The option is given again, or names several; Python takes a list or the same words."""
    file = str(a_file(tmp_path))
    both = [
        json.loads(check(capsys, file, "--json", *words))
        for words in (
            ["--only", "repeats", "--only", "agreement"],
            ["--only=agreement, repeats"],
        )
    ]
    assert both[0]["judges"] == both[1]["judges"]
    assert both[0]["judges"][0]["key"] == "check.verdict_part"
    assert both[1]["options"]["only"] == ["agreement", "repeats"]
    in_python = [
        undogmatic.check(frame(), only=o)
        for o in ("agreement", ["agreement", "agreement"])
    ]
    assert [each.options.only for each in in_python] == [("agreement",)] * 2
    assert in_python[0].answer.startswith(
        "Undecided. No answer is given whether to trust"
    )
    # What was asked for is shown, though the answer does not hold it.
    assert "Agreement beyond chance (kappa" in check(
        capsys, file, "--only", "agreement"
    )
    assert "only" not in json.loads(check(capsys, file, "--json"))["options"]


@pytest.mark.parametrize(
    ("only", "said"),
    [
        (
            "agreemnet",
            "--only is 'agreemnet', which is no examination. Did you mean `agreement`?",
        ),
        (
            "zzz,agreement",
            "--only is 'zzz', which is no examination. There are: agreement,",
        ),
        (" , ", "--only is ' , ', which names no examination"),
        ("", "--only is '', which names no examination"),
    ],
)
def test_a_wrong_name_of_an_examination_is_named_before_a_file_is_read(
    only: str, said: str, tmp_path: Path
) -> None:
    done = typed("undogmatic.cli", "check", "gone.csv", "--only", only, folder=tmp_path)
    assert (
        done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
    )
    with pytest.raises(ConfigError, match="--only is"):
        undogmatic.check(frame(), only=only)


def test_the_first_line_of_several_judges_gives_no_answer_from_a_part(
    tmp_path: Path, capsys: Capture
) -> None:
    file = str(a_file(tmp_path, judge_b=frame()["judge"][::-1].to_numpy()))
    words = [file, "--judge", "judge", "--judge", "judge_b", "--only", "agreement"]
    shown = " ".join(check(capsys, *words).split())
    assert "No answer is given for 2 of the 2 judges" in shown and "Not asked" in shown
    assert "you may trust" not in shown.lower() and "(not all was asked)" in shown


def test_importing_the_package_stays_light_and_checking_needs_nothing_that_judges(
    tmp_path: Path,
) -> None:
    a_file(tmp_path)
    heavy = "dspy hydra omegaconf mlflow matplotlib".split()
    code = (
        "import sys, undogmatic; assert 'pandas' not in sys.modules;"
        f" undogmatic.check('verdicts.csv'); print([name for name in {heavy} if name in"
        " sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_what_a_card_does_not_know_is_said(tmp_path: Path, capsys: Capture) -> None:
    """Settings that only the card has, and judges that it is not about."""
    rows = frame()
    file = str(put(tmp_path / "set.csv", rows.to_csv(index=False)))
    check(capsys, file, "--card", "set.json", "--judge-config", "model=gpt-5")
    rows = rows.assign(other=rows["judge"], id=[f"n{k}" for k in range(len(rows))])
    result = undogmatic.check(rows, judge=["judge", "other"], against="set.json")
    (settings,) = (
        f for f in result.together.findings if f.key == "drift.card_settings"
    )
    assert settings.values["keys"] == ["model"]
    assert result.together.not_examined["drift.other"].key == "drift.not_on_card"
    assert [found.key for found in result.changes] == ["drift.apart_open"]
    for language in ("en", "pt"):
        words = words_of(language)
        words.strict = True
        assert words.say(settings) and words.say(
            result.together.not_examined["drift.other"]
        )


def test_a_card_that_is_written_over_counts_the_answers(
    tmp_path: Path, capsys: Capture
) -> None:
    """Three prompts are tried on the same labels with one card: the third answer is one of three,
    the same verdicts again are no fourth, and what was typed has the last word."""
    card, judged = tmp_path / "card.json", frame()

    def answers(edit: int, *more: str) -> int:
        verdicts = judged["judge"].copy()
        verdicts[:edit] = "pass"
        file = put(
            tmp_path / f"edit{edit}.csv",
            judged.assign(judge=verdicts).to_csv(index=False),
        )
        check(capsys, str(file), "--card", str(card), *more)
        return read_card(card).answers

    assert [answers(edit) for edit in (0, 5, 9, 9)] == [1, 2, 3, 3]
    assert "one of 3 answers" in check(
        capsys, str(tmp_path / "edit9.csv"), "--card", str(card), "--all"
    )
    assert answers(9, "--tried", "1") == 1
    other = put(tmp_path / "other.csv", frame(90, seed=5).to_csv(index=False))
    check(capsys, str(other), "--card", str(card))
    assert read_card(card).answers == 1, "other labels were asked nothing yet"


def test_a_damaged_card_is_written_anew(tmp_path: Path, capsys: Capture) -> None:
    card, file = tmp_path / "card.json", a_file(tmp_path)
    check(capsys, str(file), "--card", str(card))
    card.write_text(card.read_text().replace('"answers"', '"answer"')[:-40])
    check(capsys, str(file), "--card", str(card))
    assert read_card(card).answers == 1
