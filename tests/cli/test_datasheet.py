"""An instrument test on the trust card, in the gate, and beside labelled data, from its run on."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.test_check import check, frame
from tests.cli.test_instrument import MINE, asked, texts
from tests.conftest import Capture, put
from undogmatic.cli import main
from undogmatic.records.card import read_card


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run of a test of a judge that goes by length."""
    folder = tmp_path_factory.mktemp("test")
    notes = texts(folder, 30)
    put(folder / "mine.yaml", MINE)
    words = ["mine.yaml", "--texts", notes.name, "model=fake", "model.kind=length"]
    done = asked(folder, *words, "hydra.run.dir=run")
    assert done.returncode == 0, done.stderr
    return folder


def refused(capsys: Capture, *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["check", *words])
    assert ended.value.code == 2
    return capsys.readouterr().err


def gated(capsys: Capture, *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(["gate", *words])
    return int(str(ended.value.code)), capsys.readouterr().out


def test_the_card_of_the_run_holds_the_datasheet(
    folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    run, card = str(folder / "run"), tmp_path / "card.json"
    said = check(capsys, run, "--card", str(card), "--card", str(tmp_path / "card.md"))
    assert said.strip().startswith("Instrument test of ")
    held = read_card(card)
    facts = json.loads((folder / "run" / "run.json").read_text())
    assert (
        held.instrument is not None and held.instrument.items == facts["dataset_digest"]
    )
    assert held.instrument.shown["length"] == "effect" and held.instrument.span == 4
    assert "instrument.cue.length" in held.figures
    assert "more words without content | an effect" in (tmp_path / "card.md").read_text(
        "utf-8"
    )

    gate = tmp_path / "gate.yaml"
    main(["gate", str(card), "--init", "--config", str(gate)])
    begun = capsys.readouterr().out
    assert "Next: undogmatic gate" in begun
    assert (
        '# "instrument.cue.length": {at_most: 0.5}  # on the card effect'
        in gate.read_text()
    )
    assert gated(capsys, str(card), "--config", str(gate))[0] == 2  # no labels yet
    put(gate, "figures: {instrument.cue.length: {at_most: 0.2}}\n")
    for target in (str(card), run):
        status, said = gated(capsys, target, "--config", str(gate))
        assert status == 1 and "the whole interval is above that" in said


def test_beside_labels_it_says_which_effects_matter(
    folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    run = str(folder / "run")
    labelled = frame()
    file = put(tmp_path / "verdicts.csv", labelled.to_csv(index=False))
    short = check(capsys, str(file), "--instrument", run)
    assert "about equally long" in short
    longer = labelled["text"] + [
        " and so on" * (30 * (k % 2)) for k in range(len(labelled))
    ]
    file = put(
        tmp_path / "longer.csv", labelled.assign(text=longer).to_csv(index=False)
    )
    card = tmp_path / "card.json"
    said = check(
        capsys, str(file), "--instrument", run, "--card", str(card), "--language", "pt"
    )
    assert "o décimo mais curto" in said
    assert any(
        "mais palavras sem conteúdo" in limit for limit in read_card(card).limits
    )
    # of a card as of the run
    again = check(
        capsys, str(file), "--instrument", str(card), "--language", "pt", "--json"
    )
    assert json.loads(again)["asked"][1] in said
    known = ["--judge-config", "model=gpt-5", "--card", str(card)]
    other = refused(capsys, str(file), "--instrument", run, *known)
    assert "tested another judge, whose model was 'fake-length'" in other


def test_what_is_no_test_is_refused_by_name(
    folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    file = put(tmp_path / "verdicts.csv", pd.DataFrame(frame()).to_csv(index=False))
    assert "is not a folder" in refused(capsys, str(file), "--instrument", str(file))
    card = tmp_path / "card.json"
    check(capsys, str(file), "--card", str(card))
    of_card = refused(capsys, str(file), "--instrument", str(card))
    assert "a card without an instrument test" in of_card
