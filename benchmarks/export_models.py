"""Writes small transformers as PyTorch's exporter leaves them, with open dims `batch` and `seq` and random weights.

    python -m benchmarks.export_models FOLDER [--only bert,gpt2]

Needs torch, transformers and onnxscript, which are no dependencies of the project: the files that it wrote are kept in
`tests/conformance/models/` (torch 2.13.0).  Each is `torch.onnx.export(..., dynamo=True)` of a model of two layers of
width 64 of the library `transformers`, as its configuration makes it, in evaluation mode, from seed 0.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import onnx
import torch
import transformers
from torch import nn

VOCABULARY, WIDTH, LAYERS, HEADS, POSITIONS, MELS = 256, 64, 2, 4, 512, 16
Made = tuple[nn.Module, tuple[str, ...]]  # a module, and the names of its inputs


class Encoded(nn.Module):
    """The last hidden states that a model of `transformers` gives for tokens and a mask of them."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


class Decoded(nn.Module):
    """The logits that a causal language model gives for tokens and a mask of them; no keys and values are kept."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False).logits


class Heard(nn.Module):
    """Whisper's encoder for as many frames as come: its own `forward` takes exactly twice the number of positions."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_features: torch.Tensor) -> torch.Tensor:
        encoder = self.encoder
        hidden = nn.functional.gelu(encoder.conv1(input_features))
        hidden = nn.functional.gelu(encoder.conv2(hidden)).permute(0, 2, 1)
        hidden = hidden + encoder.embed_positions.weight[: hidden.shape[1]]
        for layer in encoder.layers:
            given = layer(hidden, None)
            hidden = given[0] if isinstance(given, tuple) else given
        return encoder.layer_norm(hidden)


def bert() -> Made:
    config = transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH, max_position_embeddings=POSITIONS,
    )  # fmt: skip
    return Encoded(transformers.BertModel(config, add_pooling_layer=False)), ("input_ids", "attention_mask")


def gpt2() -> Made:
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, n_positions=POSITIONS
    )
    return Decoded(transformers.GPT2LMHeadModel(config)), ("input_ids", "attention_mask")


def llama() -> Made:
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=HEADS // 2, intermediate_size=3 * WIDTH, max_position_embeddings=POSITIONS,
    )  # fmt: skip
    return Decoded(transformers.LlamaForCausalLM(config)), ("input_ids", "attention_mask")


def qwen2() -> Made:
    config = transformers.Qwen2Config(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=HEADS // 2, intermediate_size=3 * WIDTH, max_position_embeddings=POSITIONS,
    )  # fmt: skip
    return Decoded(transformers.Qwen2ForCausalLM(config)), ("input_ids", "attention_mask")


def t5() -> Made:
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        num_layers=LAYERS,
        num_heads=HEADS,
        d_kv=WIDTH // HEADS,
        d_ff=4 * WIDTH,
    )
    config._attn_implementation = "eager"  # the exporter cannot decompose this one of "sdpa"
    return Encoded(transformers.T5EncoderModel(config)), ("input_ids", "attention_mask")


def whisper() -> Made:
    config = transformers.WhisperConfig(
        vocab_size=VOCABULARY, d_model=WIDTH, encoder_layers=LAYERS, encoder_attention_heads=HEADS,
        decoder_layers=1, decoder_attention_heads=HEADS, encoder_ffn_dim=4 * WIDTH, decoder_ffn_dim=4 * WIDTH,
        num_mel_bins=MELS, max_source_positions=POSITIONS, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=1,
    )  # fmt: skip
    return Heard(transformers.WhisperModel(config).encoder), ("input_features",)


MODELS: dict[str, Callable[[], Made]] = {
    "bert": bert, "gpt2": gpt2, "llama": llama, "qwen2": qwen2, "t5_encoder": t5, "whisper_encoder": whisper,
}  # fmt: skip


def example(name: str) -> torch.Tensor:
    """An input of batch 2: tokens and their mask of 12, or 24 frames."""
    if name == "input_features":
        return torch.rand(2, MELS, 24)
    if name == "attention_mask":
        return torch.ones(2, 12, dtype=torch.int64)
    return torch.randint(0, VOCABULARY, (2, 12))


def export(name: str, folder: Path) -> Path:
    """The file of a model in a folder, one file with all weights."""
    torch.manual_seed(0)
    module, inputs = MODELS[name]()
    batch, seq = torch.export.Dim("batch"), torch.export.Dim("seq")
    dims = {each: {0: batch, 2 if each == "input_features" else 1: seq} for each in inputs}
    path = folder / f"{name}.onnx"
    torch.onnx.export(
        module.eval(), tuple(example(each) for each in inputs), str(path), dynamo=True, external_data=False,
        input_names=list(inputs), output_names=["output"], dynamic_shapes=tuple(dims[each] for each in inputs),
    )  # fmt: skip
    onnx.save(without_metadata(onnx.load(path)), path)
    return path


def without_metadata(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without what the exporter says of its sources: half of the bytes, and paths of this machine."""
    graph = model.graph
    graph.ClearField("doc_string")
    for part in (
        model,
        graph,
        *graph.node,
        *graph.input,
        *graph.output,
        *graph.value_info,
        *graph.initializer,
    ):
        part.ClearField("metadata_props")
    for node in graph.node:
        node.ClearField("doc_string")
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=",".join(MODELS), help="comma-separated names")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for name in given.only.split(","):
        path = export(name, given.folder)
        print(f"{path}: {path.stat().st_size} bytes", flush=True)


if __name__ == "__main__":
    main()
