"""`undogmatic probe list`: says for which rubrics a probe ships, how good it was on held-out texts,
and how one is fitted where none ships; and which judges have one for what else they ask."""

import argparse
from collections.abc import Iterator
from pathlib import Path

TEXTS = Path(__file__).with_name("probes.texts.yaml")


def fittable() -> Iterator[str]:
    """The shipped rubrics with development texts, on which a probe can be fitted, as they are
    typed."""
    from undogmatic.config.groups import plain
    from undogmatic.safety.paths import conf_folder

    folder = conf_folder() / "rubric"
    for file in sorted(folder.rglob("*.yaml")):
        name = file.relative_to(folder).with_suffix("").as_posix()
        if plain("rubric", name, "rubric").get("labelled"):
            yield name


def show(typed: argparse.Namespace) -> None:
    """Print a line per rubric."""
    from undogmatic.fit.probe import shipped
    from undogmatic.records.words import Words
    from undogmatic.safety.outside import read_json
    from undogmatic.safety.paths import data_folder

    words = Words(typed.language, [TEXTS])
    for rubric in fittable():
        name = rubric.rpartition("/")[2]
        about = shipped(name)
        if about is None:
            command = f"undogmatic probe fit rubric={rubric} --out {name}.safetensors"
            print(words.text("probes.none", rubric=rubric, command=command))
            continue
        print(
            words.text(
                "probes.ships",
                rubric=rubric,
                how="readout=probe",
                n=about.n,
                order=f"{about.figures['spearman']:.2f}",
                error=f"{about.figures['mean_absolute_error']:.1f}",
            )
        )
    for file in sorted((data_folder() / "probes" / "judge").glob("*.json")):
        told = read_json(file)
        area = f"{told['figures']['auc']:.2f}"
        print(words.text("probes.judge", judge=file.stem, n=told["n"], area=area))
    print(words.text("probes.limits"))
