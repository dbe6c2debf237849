"""Holds `undogmatic init`, which writes a rubric of one's own and all that a run of it needs into
the folder, and `undogmatic schema`, which prints or writes the schemas by which an editor checks
such files."""

import argparse
import json
import os
import re
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undogmatic.cli.doors import add_language
from undogmatic.errors import ConfigError
from undogmatic.safety.outside import brief, visible

if TYPE_CHECKING:
    from undogmatic.records.rubric import Rubric
    from undogmatic.records.words import Words

BESIDE = Path(__file__)
GROUPS = ("rubric", "prompt", "experiment")
# measured: with four the embedded model's order of the texts was still a matter of luck, see the
# docs
EXAMPLES = 8
RESERVED = (
    "id condition pair parent maker label labels inputs metadata score confidence rationale"
    " level".split()
)
_SMALL = re.compile(
    r"(?i)\b(how|far|much|is|are|does|do|the|a|an|of|to|qu[aã]o|quanto|como|é"
    r"|est[aá]|it|o|os|as|um|uma|da|de)\b"
)


def add(commands: Any) -> None:
    """Add the commands."""
    init = commands.add_parser(
        "init",
        help="write a rubric of your own and all that a run of it needs into this folder",
    )
    init.add_argument(
        "--rubric",
        metavar="TEXT",
        help='what is judged, in your words: "how polite is the answer"',
    )
    init.add_argument(
        "--scale", help="1-5, 0..100 (any number between), bad<ok<good or pass,fail"
    )
    init.add_argument(
        "--inputs",
        metavar="NAMES",
        help="the columns that are judged: text, or question,answer",
    )
    init.add_argument(
        "--name", help="what it is called in rubric=NAME (default: made from --rubric)"
    )
    init.add_argument(
        "--data",
        metavar="FILE",
        help="your table with these columns (default: one is written)",
    )
    init.add_argument(
        "--higher-is-worse",
        action="store_true",
        help="a high score is bad (default: it is good)",
    )
    init.add_argument(
        "--force", action="store_true", help="write over files that are there"
    )
    add_language(init)
    init.set_defaults(run=_init)
    schemas = commands.add_parser(
        "schema",
        help="print the schema of a config group, for editors, or write all of them",
    )
    schemas.add_argument(
        "group",
        nargs="?",
        metavar="GROUP",
        help="rubric, prompt, judge, ... (default: all groups)",
    )
    schemas.add_argument(
        "--out", metavar="FOLDER", help="write FOLDER/GROUP.json instead of printing"
    )
    schemas.set_defaults(run=_schema)


def _schema(typed: argparse.Namespace) -> None:
    from undogmatic.config.schema import every_group, schema
    from undogmatic.safety import files

    made = {
        group: schema(group)
        for group in (every_group() if typed.group is None else [typed.group])
    }
    if typed.out is None:
        print(
            json.dumps(
                made if typed.group is None else made[typed.group],
                indent=1,
                ensure_ascii=False,
            )
        )
        return
    for group, content in made.items():
        files.write(Path(typed.out) / f"{group}.json", _json(content), files.ALL)
    print(
        visible(
            f"Written to {typed.out}: {', '.join(f'{group}.json' for group in made)}"
        )
    )


def _json(content: Any) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _init(typed: argparse.Namespace) -> None:
    from undogmatic.records.words import Words
    from undogmatic.safety import files
    from undogmatic.safety.project import project

    words, place = Words(typed.language, [BESIDE.with_suffix(".texts.yaml")]), project()
    if place.folder is not None and not place.conf:
        raise ConfigError(
            'the project file names no folder of config groups. Add a line to it: conf = "my/conf"'
        )
    rubric = _rubric(typed, words)
    conf = Path(os.path.relpath(place.conf[0])) if place.conf else Path("my/conf")
    table = (
        Path(typed.data)
        if typed.data is not None
        else conf.parent / f"{rubric.name}.csv"
    )
    made = _files(rubric, typed.language, conf, table, words)
    if typed.data is None:
        made[table] = _rows(rubric, typed.language)
        made[conf / "experiment" / f"{rubric.name}.yaml"] += words.text(
            "init.made_up", name=rubric.name
        )
    if place.folder is None:
        made[Path("undogmatic.toml")] = words.text("init.project")
    if (there := [str(path) for path in made if path.exists()]) and not typed.force:
        way = "Choose another --name, or write over them with --force"
        raise ConfigError(f"already here: {', '.join(there)}. {way}.")
    for path, text in made.items():
        files.write(path, text, files.ALL)
    other = next(code for code in rubric.wordings if code != typed.language)
    print(visible(words.text("init.written", files=", ".join(map(str, made)))))
    print(
        visible(
            words.text(
                "init.placeholders" if typed.data is None else "init.yours",
                data=str(table),
            )
        )
    )
    file = str(conf / "rubric" / f"{rubric.name}.yaml")
    print(
        visible(
            words.text("init.translate", file=file, prompt=f"{rubric.name}_{other}")
        )
    )
    print("\n" + words.text("init.next", name=rubric.name))


def _rubric(typed: argparse.Namespace, words: "Words") -> "Rubric":
    """The rubric that was typed, or is asked for where somebody can answer. Raises ConfigError."""
    from undogmatic.config.build import build
    from undogmatic.datasets.rows import table_file
    from undogmatic.records.wordings import languages
    from undogmatic.review.page import scale_of
    from undogmatic.safety.paths import conf_folder

    about = " ".join(
        _asked(typed.rubric, "--rubric", words.text("init.ask_rubric")).split()
    ).rstrip("?.")
    scale = scale_of(
        _asked(typed.scale, "--scale", words.text("init.ask_scale")).strip()
    )
    inputs = [
        each.strip()
        for each in _asked(
            typed.inputs, "--inputs", words.text("init.ask_inputs")
        ).split(",")
    ]
    for each in inputs:
        if (
            not re.fullmatch(r"[^\W\d]\w*", each)
            or each in RESERVED
            or inputs.count(each) > 1
        ):
            why = "means something else here" if each in RESERVED else "is not one word"
            why = "stands there twice" if inputs.count(each) > 1 else why
            raise ConfigError(
                f"--inputs names {brief(each)}, which {why}. Name columns of your table:"
                " question,answer."
            )
    name = typed.name or _name(about, inputs)
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,60}", name):
        raise ConfigError(
            f"--name is {brief(name)}; it must be small letters, digits and underscores, e.g."
            " polite."
        )
    for group, option in {
        "rubric": name,
        "experiment": name,
        "prompt": f"{name}_en",
    }.items():
        if (conf_folder() / group / f"{option}.yaml").exists():
            raise ConfigError(
                f"{group}={option} is one of the program's own. Choose another name: --name NAME."
            )
    if typed.data is not None:
        table_file(typed.data, "--data")
    said = about[:1].upper() + about[1:]
    headings = {each: each[:1].upper() + each[1:] for each in inputs}
    wording = {"definition": f"{said}.", "question": f"{said}?", "headings": headings}
    codes = sorted(languages(), key=lambda code: code != typed.language)
    node = {
        "_target_": "undogmatic.records.rubric.Rubric",
        "name": name,
        "inputs": inputs,
    }
    node |= {"scale": scale.model_dump(), "wordings": dict.fromkeys(codes, wording)}
    if scale.ordered:
        node["direction"] = (
            "higher_is_worse" if typed.higher_is_worse else "higher_is_better"
        )
    rubric: Rubric = build(node, "rubric")
    return rubric


def _asked(given: str | None, option: str, question: str) -> str:
    """What was typed for an option, or the answer to a question where a terminal is there. Raises
    ConfigError."""
    if given is None and sys.stdin.isatty():
        given = input(f"{question}\n> ")
    if given is None or not given.strip():
        raise ConfigError(f"{option} is missing or empty. {question}")
    return given


def _name(about: str, inputs: list[str]) -> str:
    """A short name from what is judged: its words without small ones and names of columns."""
    plain = (
        unicodedata.normalize("NFKD", _SMALL.sub(" ", about))
        .encode("ascii", "ignore")
        .decode()
        .lower()
    )
    left = [word for word in re.findall(r"[a-z][a-z0-9]*", plain) if word not in inputs]
    return "_".join(left[:2]) or "mine"


def _files(
    rubric: "Rubric", language: str, conf: Path, table: Path, words: "Words"
) -> dict[Path, str]:
    """Path and text of the YAML files and of the schemas that an editor reads beside them."""
    from undogmatic.config.schema import schema

    name, own, schemas = rubric.name, rubric.wordings[language], conf.parent / "schema"

    def text(group: str, **values: str) -> str:
        from_there = Path(
            os.path.relpath(schemas / f"{group}.json", conf / group)
        ).as_posix()
        return words.text(f"init.{group}", name=name, schema=from_there, **values)

    shown = {
        "inputs": _plain(list(rubric.inputs)),
        "scale": _plain(rubric.scale.model_dump(exclude_none=True)),
    }
    shown |= {"about": own.definition, "direction": rubric.direction or "null"}
    made = {
        conf / "rubric" / f"{name}.yaml": text("rubric", **shown)
        + _worded(rubric, language, words)
    }
    for code in rubric.wordings:
        filled = text("prompt", id=f"{name}_{code}", code=code, examples=str(EXAMPLES))
        made[conf / "prompt" / f"{name}_{code}.yaml"] = filled
    chosen = {"id": f"{name}_{language}", "code": language, "question": own.question}
    made[conf / "experiment" / f"{name}.yaml"] = text(
        "experiment", data=_plain(table.as_posix()), **chosen
    )
    return made | {schemas / f"{group}.json": _json(schema(group)) for group in GROUPS}


def _plain(value: Any) -> str:
    """A value as YAML on one line, which JSON is."""
    return re.sub(r"(\d)\.0\b", r"\1", json.dumps(value, ensure_ascii=False))


def _worded(rubric: "Rubric", language: str, words: "Words") -> str:
    """The rubric's wordings, one per language; what was typed is in one of them alone."""
    # the meanings of categories follow them, without a guide
    numeric = rubric.scale.kind == "numeric"
    lines = (
        [f"# guide: {_plain({'kind': 'anchors', 'at': rubric.levels})}"]
        if numeric
        else []
    )
    lines.append("wordings:")
    for code, wording in rubric.wordings.items():
        lines.append(
            f"  {code}:"
            + ("" if code == language else f"   # {words.text('init.other_language')}")
        )
        lines += [
            f"    {key}: {_plain(getattr(wording, key))}"
            for key in ("definition", "question", "headings")
        ]
        lines.append(f"    # meanings: {_plain(['...'] * len(rubric.levels))}")
    return "\n".join(lines) + "\n"


def _rows(rubric: "Rubric", language: str) -> str:
    """The table of made-up rows: what was asked, what was answered, and a label on the rubric's
    scale."""
    import pandas as pd

    from undogmatic.safety import files
    from undogmatic.safety.outside import read_yaml

    shipped, rows = read_yaml(BESIDE.with_suffix(".rows.yaml"))[language], []
    for number, (asked, said, grade) in enumerate(shipped["rows"], 1):
        share = 1 - grade if rubric.direction == "higher_is_worse" else grade
        nearest = min(rubric.levels, key=lambda level: abs(rubric.share(level) - share))
        texts = dict.fromkeys(rubric.inputs, shipped["about"]) | {
            rubric.inputs[0]: asked,
            rubric.inputs[-1]: said,
        }
        rows.append(
            {"id": f"example-{number}"} | texts | {"label": rubric.scale.write(nearest)}
        )
    return files.csv(pd.DataFrame(rows))
