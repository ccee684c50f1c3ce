"""The model gte-small for tests: the published one if npm has put it there, and a tiny one that has its shape and knows nothing."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Final

import numpy as np

from commonplace.embedders.gte import TOKENIZER, WEIGHTS

_WORDS: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "dog", "deploy", "safe", "key", "nuts", "ann")
_DIMENSION: Final = 384


def published_model(root: Path) -> Path | None:
    """Where `make test` of the repository at `root` puts the model; None if it is not there."""
    folder = root / "tests" / "models" / "node_modules" / "@alvix" / "xenova-models" / "dist" / "Xenova" / "gte-small"
    return folder if folder.is_dir() else None


def write_tiny_model(folder: Path) -> Path:
    """A vector a word, chosen by chance: of one text always the same, and alike for texts that share words."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_weights(folder / WEIGHTS)
    _write_tokenizer(folder / TOKENIZER)
    return folder


def _write_weights(path: Path) -> None:
    # An extra.
    onnx: Any = importlib.import_module("onnx")
    helper: Any = importlib.import_module("onnx.helper")
    numpy_helper: Any = importlib.import_module("onnx.numpy_helper")
    whole, real = onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    table = np.random.default_rng(7).standard_normal((len(_WORDS), _DIMENSION)).astype(np.float32)
    names = ("input_ids", "attention_mask", "token_type_ids")
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        "tiny",
        [helper.make_tensor_value_info(name, whole, ["batch", "length"]) for name in names],
        [helper.make_tensor_value_info("last_hidden_state", real, ["batch", "length", _DIMENSION])],
        [numpy_helper.from_array(table, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, str(path))


def _write_tokenizer(path: Path) -> None:
    # As above.
    tokenizers: Any = importlib.import_module("tokenizers")
    models: Any = importlib.import_module("tokenizers.models")
    splitters: Any = importlib.import_module("tokenizers.pre_tokenizers")
    normalizers: Any = importlib.import_module("tokenizers.normalizers")
    vocabulary = {word: number for number, word in enumerate(_WORDS)}
    tokenizer = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = splitters.Whitespace()
    tokenizer.save(str(path))
