"""A verdict table goes to MLflow as traces with assessments, and comes back."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.conftest import Capture, put
from tests.datasets.test_export import TABLES, said
from undogmatic.cli import main
from undogmatic.cli.checked import read
from undogmatic.datasets.table import TableOptions
from undogmatic.tracking.store import address_of


@pytest.mark.parametrize("kind", ["numeric", "pairwise"])
def test_a_table_that_was_logged_is_read_as_it_was(
    kind: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, store = tmp_path / "verdicts.jsonl", address_of(tmp_path / "store.db")
    source.write_text(pd.DataFrame(TABLES[kind]).to_json(orient="records", lines=True))
    main(["export", str(source), "--to", "mlflow", "--out", store, "--kind", kind])
    run = capsys.readouterr().out.partition("mlflow:")[2].split(".")[0]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store)
    options = TableOptions(kind=kind)
    assert said(read(f"mlflow:{run}", options)) == said(read(str(source), options))
    with pytest.raises(SystemExit):
        main(["export", "mlflow:0123", "--to", "csv", "--out", str(tmp_path / "a.csv")])
    assert "mlflow:0123" in capsys.readouterr().err
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address_of(tmp_path / "none.db"))
    with pytest.raises(SystemExit):
        main(["check", f"mlflow:{run}"])
    assert "there is no store at" in capsys.readouterr().err


def test_a_folder_is_no_store_and_the_message_speaks_of_the_option(
    tmp_path: Path, capsys: Capture
) -> None:
    file = put(
        tmp_path / "v.csv",
        "id,judge,human\n" + "".join(f"{n},{n % 5},{n % 4}\n" for n in range(20)),
    )
    with pytest.raises(SystemExit):
        main(["export", str(file), "--to", "mlflow", "--out", str(tmp_path)])
    said = capsys.readouterr().err
    assert (
        "--out is" in said
        and "--out sqlite:///mlflow.db" in said
        and "tracking" not in said.replace(str(tmp_path), "")
    )
