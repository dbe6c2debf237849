"""The words of a command line: a config, or one message."""

from hypothesis import strategies as st

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.fuzzing._values import one_message
from undogmatic.config.build import settings
from undogmatic.config.door import compose_config

Words = tuple[str, ...]

_PARTS = (
    "model prompt judge judges dataset analysis readout engine tracking seed run.name run.repeats"
    " model.api_base hydra hydra.run.dir hydra/launcher hydra/job_logging hydra.callbacks"
    " hydra.job_logging hydra.searchpath hydra.sweeper defaults _target_ rubric local gpt score"
    " debate nope 1 -1 1e999 nan null true ??? a,b [a,b] [a {a:1} {a: {b: c}} 'x' \"x\" 'x $ ${"
    " ${x} ${seed} ${run} ${.} ${..} ${oc.env:X} ${oc.env:X,y} ${oc.decode:x} ${oc.create:[1]}"
    " glob(*) glob(s*,exclude=x) range(1,3) choice(a,b) sort(3,1) interval(0,1) shuffle(a)"
    " tag(t,a,b) int(x) json_str([1]) os.system file:///nowhere pkg://os pkg://antigravity"
    " structured:// .. / // . @ : :: = == + ++ ~ ~~ - -- # \\ % * ? ! é \U0001f600 \ud800 \0 \n"
).split(" ")
_KEY = st.sampled_from(_PARTS)
_WORD = st.one_of(
    st.builds(
        "{}{}={}".format, st.sampled_from(["", "", "", "+", "++", "~"]), _KEY, _KEY
    ),
    st.builds(
        "{}{}.{}={}".format, st.sampled_from(["", "+", "++", "~"]), _KEY, _KEY, _KEY
    ),
    st.builds("{}{}@{}={}".format, st.sampled_from(["", "+", "~"]), _KEY, _KEY, _KEY),
    st.lists(_KEY, max_size=4).map("".join),
    st.text(max_size=8),
)


def strategy() -> st.SearchStrategy[Words]:
    return st.lists(_WORD, min_size=1, max_size=3).map(tuple)


def enter(words: Words) -> None:
    """Compose the words as the commands do, and check what comes of it."""
    with one_message():
        settings(compose_config(words))


EXAMPLES: list[Words] = [
    *(
        (word,)
        for word in (
            "a=",
            "=b",
            "=",
            "++",
            "+",
            "~",
            "~~",
            "",
            " ",
            "-",
            "~model",
            "~model=nope",
            "model=",
            "judges=[",
            "judges=[]",
            "judges=[[]]",
            "model@x=gpt",
            "+model=gpt",
            "+model@y=gpt",
            "hydra/launcher=nope",
            "hydra/launcher=basic",
            "+hydra/launcher=basic",
            "key=${",
            "seed=${",
            "seed=${seed}",
            "run=${run}",
            "model=${model}",
            "model=local,gpt",
            "model=[local,gpt]",
            "model={a:1}",
            "model=null",
            "model='x'",
            "model=../../etc/passwd",
            "model=/etc/passwd",
            "model=a/b",
            "model=.",
            "model=..",
            "model=*",
            "model=glob(*)",
            "seed=range(1,3)",
            "seed=choice(1,2)",
            "seed=",
            "seed='",
            'seed="',
            "seed=\"'",
            "seed=[1",
            "seed={",
            "seed=" + "[" * 400,
            "seed=" + "[" * 9000,
            "seed=" + "x" * 100_000,
            "x" * 100_000,
            "x" * 15_000 + "=1",
            "seed=" + "9" * 5000,
            "seed=1e999",
            "seed=-1",
            "seed=nan",
            "run.name=é",
            "run.name=\U0001f600",
            "run.name=\udcff",
            "run.name=a\0b",
            "run.name=a\nb",
            "hydra=1",
            "hydra=null",
            "~hydra",
            "~hydra.run",
            "hydra.run=null",
            "hydra.run.dir=null",
            "hydra.job=null",
            "hydra.callbacks=x",
            "hydra.callbacks=null",
            "hydra.callbacks.sweep=null",
            "+hydra.callbacks.x=1",
            "+hydra.callbacks.x._target_=os.system",
            "hydra.launcher=null",
            "hydra.launcher._target_=os.system",
            "hydra.sweeper._target_=os.system",
            "hydra.job_logging=null",
            "hydra.job_logging=x",
            "hydra.searchpath=x",
            "hydra.searchpath=[1]",
            "hydra.searchpath=[pkg://antigravity]",
            "hydra.searchpath=[pkg://undogmatic.nope]",
            "hydra.searchpath=[zip://x]",
            "hydra.searchpath=['']",
            "hydra.mode=x",
            "hydra.searchpath=[null]",
            "hydra.searchpath=null",
            "+folders=[x]",
            "defaults=[]",
            "+defaults=[x]",
            "analysis=a+b",
            "analysis=[a,b]",
            "analysis=[]",
            "analysis=[ab,ab]",
            "analysis=+",
            "analysis=[ab,[cd]]",
            "analysis=ab+",
            "experiment=nope",
            "arm=[a]",
            "experiment=[demo_orders,embedded_judge]",
            "optimizer=x",
            "optimizer.name=x",
            "model._target_=os.system",
            "model._target_=null",
            "model._target_=3",
            "model._target_=[a]",
            "model._target_=${oc.env:HOME}",
            "model=\"${oc.create:'{_target_: os.system}'}\"",
            "dataset.n=5",
            "+dataset.n=5",
            "++dataset.n=5",
            "model.extra.x=1",
            "report=1",
            "report.language=x",
            "report.language=[a]",
            "run.resume=[]",
            "~run",
            "~seed",
            "steps=x",
            "steps=[{}]",
            "judges=[{judge:{}}]",
            "+_target_=os.system",
            "+a.b.c.d.e=1",
            "a.b=c",
            "model.=x",
            ".model=x",
            "model..x=1",
            "m odel=x",
            "model =x",
            "model= x",
        )
    ),
    ("model=gpt", "model=local"),
    ("+a=${b}${b}", "+b=${c}${c}", "+c=${a}"),
    ("seed=1", "seed=2"),
    ("--config-name", "x"),
    ("-m", "seed=1,2"),
    ("--cfg", "job"),
    (
        "+a=[${b},${b},${b},${b},${b},${b},${b},${b}]",
        "+b=[${c},${c},${c},${c},${c},${c},${c},${c}]",
        "+c=[${d},${d},${d},${d},${d},${d},${d},${d}]",
        "+d=[${e},${e},${e},${e},${e},${e},${e},${e}]",
        "+e=[${f},${f},${f},${f},${f},${f},${f},${f}]",
        "+f=[${g},${g},${g},${g},${g},${g},${g},${g}]",
        "+g=[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
    ),
    ("hydra.searchpath=[file://a]", "hydra.searchpath=[file://b]"),
]
