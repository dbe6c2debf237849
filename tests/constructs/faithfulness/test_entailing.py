"""Classifiers of entailment, made in the test: labels from `id2label`, and the self-test on obvious
pairs."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from undogmatic.constructs.faithfulness.compared import Sides
from undogmatic.constructs.faithfulness.entailing import (
    LABELS,
    OBVIOUS,
    DebertaEntailment,
    Entailing,
    order_of,
)
from undogmatic.errors import ConfigError
from undogmatic.models.embeddings import MiniLMEmbeddings
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item

OWN_ORDER = ("contradiction", "entailment", "neutral")
Maker = Callable[..., Path]
ITEM = Item(id="a", inputs={"summary": "s", "reference": "r"})


def _head(features: np.ndarray, labels: Sequence[str]) -> np.ndarray:
    """Weights by which the features of the obvious pairs give their labels, in the model's own
    order."""
    wanted = 9.0 * np.array(
        [[label == pair[2] for label in labels] for pair in OBVIOUS]
    )
    return np.linalg.lstsq(features, wanted, rcond=None)[0]


def onnx_model(
    folder: Path, labels: Sequence[str] = OWN_ORDER, shown: Sequence[str] | None = None
) -> Path:
    """A graph over random embeddings of the two texts, whose head is fitted so that the obvious
    pairs come out right. It says of its outputs what `shown` says, which is the truth unless
    given."""
    from onnx import TensorProto, helper, numpy_helper
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = sorted(
        {
            word
            for pair in OBVIOUS
            for text in pair[:2]
            for word in text.replace(".", " .").split()
        }
    )
    vocabulary = {word: n for n, word in enumerate(["[PAD]", "[UNK]", "[SEP]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A [SEP]", pair="$A [SEP] $B:1 [SEP]:1", special_tokens=[("[SEP]", 2)]
    )
    table = (
        np.random.default_rng(0).normal(size=(len(vocabulary), 64)).astype(np.float32)
    )
    table[0] = 0
    encoded = tokenizer.encode_batch([pair[:2] for pair in OBVIOUS])
    head = _head(np.array([table[each.ids].sum(axis=0) for each in encoded]), labels)
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["vectors"]),
        helper.make_node("ReduceSum", ["vectors", "axis"], ["pooled"], keepdims=0),
        helper.make_node("MatMul", ["pooled", "head"], ["logits"]),
    ]
    values = {
        "table": table,
        "axis": np.array([1], dtype=np.int64),
        "head": head.astype(np.float32),
    }
    held = [numpy_helper.from_array(value, name) for name, value in values.items()]
    taken = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "t"])]
    given = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 3])]
    graph = helper.make_graph(nodes, "tiny", taken, given, held)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9
    )
    folder.mkdir()
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"id2label": {str(n): name for n, name in enumerate(shown or labels)}}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def torch_model(
    folder: Path, labels: Sequence[str] = OWN_ORDER, shown: Sequence[str] | None = None
) -> Path:
    """As `onnx_model`, a tiny random BERT in the form of transformers."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    words = sorted(
        {
            word
            for pair in OBVIOUS
            for text in pair[:2]
            for word in text.lower().replace(".", " .").split()
        }
    )
    folder.mkdir()
    (folder / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])
    )
    tokenizer = transformers.BertTokenizerFast(vocab_file=str(folder / "vocab.txt"))
    torch.manual_seed(0)
    sizes = {"vocab_size": len(words) + 5, "hidden_size": 32, "intermediate_size": 32}
    sizes |= {"num_hidden_layers": 1, "num_attention_heads": 2, "num_labels": 3}
    names = dict(enumerate(shown or labels))
    config = transformers.BertConfig(
        **sizes, id2label=names, label2id={name: n for n, name in names.items()}
    )
    model = transformers.BertForSequenceClassification(config).eval()
    with torch.no_grad():
        given = tokenizer(
            [p[0] for p in OBVIOUS],
            [p[1] for p in OBVIOUS],
            padding=True,
            return_tensors="pt",
        )
        features = model.bert(**given).pooler_output.double().numpy()
        model.classifier.weight.copy_(torch.tensor(_head(features, labels).T))
        model.classifier.bias.zero_()
    model.save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(params=[onnx_model, torch_model], ids=["onnx", "transformers"])
def maker(request: pytest.FixtureRequest) -> Maker:
    return request.param  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "labels", [OWN_ORDER, LABELS, ("NEUTRAL", "CONTRADICTION", "ENTAILMENT")], ids=str
)
def test_a_good_model_is_read_in_its_own_order(
    maker: Maker, tmp_path: Path, labels: Sequence[str]
) -> None:
    path = maker(tmp_path / "m", [label.lower() for label in labels], labels)
    found = Entailing(str(path)).probabilities([pair[:2] for pair in OBVIOUS])
    assert [LABELS[k] for k in found.argmax(axis=1)] == [pair[2] for pair in OBVIOUS]
    assert np.allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (
            ("entailment", "contradiction", "neutral"),
            r"fails 6 of 6 obvious pairs.*id2label.*nli=rules",
        ),
        (
            ("LABEL_0", "LABEL_1", "LABEL_2"),
            "whose labels are LABEL_0, LABEL_1, LABEL_2; it needs entailment",
        ),
    ],
    ids=["swapped", "other labels"],
)
def test_a_model_with_wrong_labels_is_refused(
    maker: Maker, tmp_path: Path, shown: Sequence[str], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        Entailing(str(maker(tmp_path / "m", OWN_ORDER, shown))).probabilities(
            [("It rained.", "It was dry.")]
        )


@pytest.mark.parametrize(
    "names",
    [
        {},
        {0: "entailment", 1: "not_entailment"},
        {0: "contradiction", 1: "contradicts", 2: "neutral"},
    ],
)
def test_labels_that_are_not_one_each_are_refused(names: dict[int, str]) -> None:
    with pytest.raises(
        ConfigError, match="it needs entailment, neutral and contradiction"
    ):
        order_of(names, "m")


def test_a_folder_without_a_model_and_a_broken_graph_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"`nli.path` is .*(needs transformers|cannot be loaded)"
    ):
        Entailing(str(tmp_path)).probabilities([("a", "b")])
    (onnx_model(tmp_path / "m") / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(ConfigError, match="which cannot be loaded"):
        Entailing(str(tmp_path / "m")).probabilities([("a", "b")])


def test_a_sentence_is_contradicted_if_any_of_the_summary_contradicts_it(
    tmp_path: Path,
) -> None:
    path, prompt = str(onnx_model(tmp_path / "m")), Prompt(id="p", language="en")
    order = "The judge signed the order."
    sides = Sides(["The door is open.", order], [order, "The door is closed."])
    found: Any = asyncio.run(
        DebertaEntailment(MiniLMEmbeddings(), prompt, path).compare(ITEM, sides)
    )
    assert (
        found[0].contradicted
        and found[0].match == 1
        and found[0].numbers["contradiction"] > 0.9
    )
    nearest = DebertaEntailment(MiniLMEmbeddings(), prompt, path, nearest=1)
    found = asyncio.run(nearest.compare(ITEM, sides))
    assert [each.match for each in found] == [1, 0]
    assert not found[1].contradicted
