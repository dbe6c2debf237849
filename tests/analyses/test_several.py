"""Lists of analyses: each as if run alone, from the command line, in sweeps and in Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import undogmatic
from tests.analyses.builders import configured, grouped_run
from undogmatic.analyses.controls import ControlsAnalysis
from undogmatic.analyses.labelled import LabelledAnalysis
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.config.messages import combined
from undogmatic.errors import ConfigError
from undogmatic.records.wordings import texts_beside
from undogmatic.report.words import Words

GROUPS = {"humble": [5.0, 10, 20], "hubristic": [80.0, 90, 95]}


def test_each_gives_the_numbers_it_gives_alone_and_the_first_headline_counts() -> None:
    judged = grouped_run(GROUPS)
    judged.frame["label"] = judged.frame["score"] + np.arange(6)
    alone = [configured(name)(judged, np.random.default_rng(0)) for name in ("labelled", "controls")]
    node = compose_config(["analysis=[labelled,controls]"])["analysis"]
    both = build(node, "analysis")(judged, np.random.default_rng(0))
    assert [result.name for result in both] == ["labelled", "controls"]
    assert [result.metrics for result in both] == [result.metrics for (result,) in alone]


def test_the_keys_of_each_are_set_by_its_name() -> None:
    node = compose_config(["analysis=[labelled, calibration]", "analysis.labelled.level=0.9"])["analysis"]
    assert (node["labelled"]["level"], node["calibration"]["level"]) == (0.9, 0.95)
    with pytest.raises(ConfigError, match=r"`analysis.labelled.levl` .* Did you mean analysis.labelled.level=0.9\?"):
        compose_config(["analysis=[labelled,calibration]", "analysis.labelled.levl=0.9"])
    with pytest.raises(ConfigError, match=r"typed analysis=\[labelled,contrls\]\). Did you mean .*,controls\]\?"):
        compose_config(["analysis=[labelled,contrls]"])
    for old in ("explained", "naked"):
        with pytest.raises(ConfigError, match=rf"`analysis.{old}` is not a known key"):
            compose_config(["analysis=adversarial", f"analysis.{old}=[a]"])


def test_what_the_suite_includes_is_not_named_beside_it() -> None:
    node = compose_config(["analysis=[suite,labelled]"])["analysis"]
    with pytest.raises(ConfigError, match="suite, which includes labelled"):
        build(node, "analysis")


def test_other_words_stay_as_they_were_typed() -> None:
    words = ["-m", "analysis=[labelled,controls],ab", "analysis.against=[a,b]", "model=patterns,tfidf"]
    assert combined(words) == ["-m", "analysis=labelled+controls,ab", *words[2:]]


def test_a_sweep_over_lists_and_the_command_that_a_report_names(tmp_path: Path) -> None:
    texts = [
        {"id": f"{name}{n}", "text": f"Porque sim, Tema {n}.", "condition": name, "label": score}
        for name, scores in GROUPS.items()
        for n, score in enumerate(scores)
    ]
    (tmp_path / "texts.jsonl").write_text("\n".join(map(json.dumps, texts)), encoding="utf-8")
    words = ["model=patterns", "tracking=none", "dataset=texts", "dataset.path=texts.jsonl", "hydra.sweep.dir=swept"]
    command = [sys.executable, "-m", "undogmatic.run", "-m", *words, "analysis=[labelled,controls],none"]
    checkout = {**os.environ, "PYTHONPATH": str(Path(undogmatic.__file__).parent.parent)}
    ended = subprocess.run(command, cwd=tmp_path, env=checkout, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    report = (tmp_path / "swept" / "0" / "report.md").read_text(encoding="utf-8")
    for analysis in (LabelledAnalysis, ControlsAnalysis):
        words_of = Words("en", texts_beside(analysis))
        assert f"\n## {words_of.text(f'{analysis.name}.title')}\n" in report
    assert "analysis=labelled+controls" in report
    assert combined(["analysis=labelled+controls"]) == ["analysis=labelled+controls"]
    assert (tmp_path / "swept" / "1" / "metrics.json").is_file()
