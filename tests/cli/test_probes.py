"""`undogmatic probe list` names every rubric that a probe can be fitted for."""

import pytest

from tests.conftest import Capture
from undogmatic.cli import main
from undogmatic.cli.probes import fittable
from undogmatic.safety.paths import conf_folder, data_folder


@pytest.mark.parametrize(
    ("language", "has", "lacks"),
    [
        ("en", "trait/verbosity: a probe ships", "trait/hedging: no probe ships"),
        (
            "pt",
            "trait/verbosity: há uma sonda pronta",
            "trait/hedging: não há sonda pronta",
        ),
    ],
)
def test_each_trait_has_a_probe_or_says_that_it_has_none(
    language: str, has: str, lacks: str, capsys: Capture
) -> None:
    main(["probe", "list", "--language", language])
    lines = capsys.readouterr().out.splitlines()
    traits = [path.stem for path in (conf_folder() / "rubric" / "trait").glob("*.yaml")]
    assert len(traits) == 10
    for trait in traits:
        assert sum(line.startswith(f"trait/{trait}: ") for line in lines) == 1
    ready = {path.stem for path in (data_folder() / "probes").glob("*.safetensors")}
    own = [line for line in lines if "readout=probe" in line]
    assert len(own) == len(ready) and any(line.startswith(has) for line in own)
    assert any(
        line.startswith(lacks) and "undogmatic probe fit rubric=trait/hedging" in line
        for line in lines
    )


def test_what_is_listed_can_be_fitted() -> None:
    assert {"shame", "coherence", "trait/refusal"} <= set(fittable())
    assert "faithfulness" not in set(fittable())
