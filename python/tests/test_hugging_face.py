# SPDX-License-Identifier: MIT
"""Models of Hugging Face transformers with Tegula's attention give what they give with their own. Skips without transformers."""

import pytest
import torch

transformers = pytest.importorskip("transformers")

from tegula import hugging_face  # noqa: E402

SIZES = dict(vocab_size=97, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=128)
MODELS = {"llama": lambda: transformers.LlamaConfig(num_key_value_heads=2, **SIZES),
          "window": lambda: transformers.MistralConfig(num_key_value_heads=2, sliding_window=16, **SIZES),
          "gpt2": lambda: transformers.GPT2Config(vocab_size=97, n_positions=128, n_embd=64, n_layer=2, n_head=4,
                                                  attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0),
          "bert": lambda: transformers.BertConfig(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **SIZES)}


def results(name, attention, device, padding):
    """Returns the logits where there are tokens, and the gradient of the embedding."""
    torch.manual_seed(0)
    config = MODELS[name]()
    config._attn_implementation = attention
    kind = transformers.AutoModelForMaskedLM if name == "bert" else transformers.AutoModelForCausalLM
    model = kind.from_config(config).to(device).train()
    tokens = torch.randint(97, (3, 50), generator=torch.Generator().manual_seed(1)).to(device)
    mask = torch.ones_like(tokens)
    if padding:
        mask[0, 30:] = mask[2, 45:] = 0
    logits = model(input_ids=tokens, attention_mask=mask if padding else None).logits
    seen = logits[mask.bool()]
    seen.square().sum().backward()
    return seen.detach(), model.get_input_embeddings().weight.grad


@pytest.mark.parametrize("padding", [False, True], ids=["whole", "padded"])
@pytest.mark.parametrize("name", MODELS)
def test_models_compute_the_same(device, name, padding):
    hugging_face.register()
    expected = results(name, "eager", device, padding)
    found = results(name, "tegula", device, padding)
    for x, y in zip(found, expected):
        assert torch.allclose(x, y, atol=2e-4 * max(1.0, y.abs().max().item())), (x - y).abs().max()
