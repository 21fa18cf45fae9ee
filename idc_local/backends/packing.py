"""Texts of unlike length side by side in one row of tokens, so that no padding is computed: each sees itself alone.

Hooks of the libraries are used: an attention function of ``transformers`` under a name of its own, and the layout of
features that ``sentence-transformers`` has for attention over texts of unlike length ("flattened").
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

KINDS = ("bert", "roberta", "xlm-roberta")
"""Models whose places are given to them, and whose every layer lets a token see its whole text."""
ATTENTION = "within-texts"
TRIED = ["one", "two of them", "one more", "3, 2, 1 and so on"]
"""Texts on which a model must agree with itself, in the order in which they are packed."""
AGREED = 1e-4


def pack(model: SentenceTransformer) -> bool:
    """Prepares a model for ``packed``; False where it is not known to give each text what it gives it alone."""
    inner: Any = getattr(model[0], "auto_model", None)
    if getattr(getattr(inner, "config", None), "model_type", "") not in KINDS or inner.config.is_decoder:
        return False
    _register()
    usual = inner.config._attn_implementation
    inner.set_attn_implementation(ATTENTION)
    if _agrees(model):
        return True
    inner.set_attn_implementation(usual)
    return False


def packed(model: SentenceTransformer, ids: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Features of texts, one after the other in a single row; ids: token ids of each."""
    import torch

    lengths = [len(one) for one in ids]
    bounds = torch.tensor([0, *np.cumsum(lengths)], dtype=torch.int32)
    first = _first_place(model)
    return {
        "input_ids": torch.tensor([list(chain.from_iterable(ids))]),
        "position_ids": torch.tensor([list(chain.from_iterable(range(first, first + length) for length in lengths))]),
        "cu_seq_lens_q": bounds,
        "cu_seq_lens_k": bounds,
        "max_length_q": max(lengths),
        "max_length_k": max(lengths),
    }


def alone(ids: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Features of texts of one length, a row each."""
    import torch

    rows = torch.tensor([list(one) for one in ids])
    return {"input_ids": rows, "attention_mask": torch.ones_like(rows)}


def _first_place(model: SentenceTransformer) -> int:
    """Place of a text's first token: models of RoBERTa's kind count from behind that of their padding."""
    first: Any = model[0]
    config = first.auto_model.config
    return 0 if config.model_type == "bert" else int(config.pad_token_id) + 1


def _agrees(model: SentenceTransformer) -> bool:
    """True where texts side by side get the vectors that they get alone."""
    import torch

    ids = model.tokenizer(TRIED, verbose=False)["input_ids"]
    with torch.inference_mode():
        singly = [model(alone([one])) for one in ids]
        together = model(packed(model, ids))
    for name in ("sentence_embedding", "token_embeddings"):
        expected, found = torch.cat([one[name].flatten(0, -2) for one in singly]), together[name].flatten(0, -2)
        if expected.shape != found.shape or (expected - found).abs().max() > AGREED:
            return False
    return True


def _register() -> None:
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(ATTENTION, attend_within)
    AttentionMaskInterface.register(ATTENTION, sdpa_mask)


def attend_within(  # the libraries' names
    module: Any,  # noqa: ANN401
    query: Any,  # noqa: ANN401
    key: Any,  # noqa: ANN401
    value: Any,  # noqa: ANN401
    attention_mask: Any,  # noqa: ANN401
    cu_seq_lens_q: Any = None,  # noqa: ANN401
    **options: Any,  # noqa: ANN401
) -> tuple[Any, None]:
    """Attention of tokens [1, heads, tokens, d] within texts, neighbours of one length at once; else the usual one.

    cu_seq_lens_q: where texts begin, and the end of the last. Returns [1, tokens, heads, d].
    """
    import torch
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if cu_seq_lens_q is None:
        found: tuple[Any, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
        return found
    heads, width = query.shape[1], query.shape[3]
    attended = torch.empty(query.shape[2], heads, width, dtype=query.dtype)
    start = 0
    for length, equal in groupby(np.diff(cu_seq_lens_q.numpy()).tolist()):
        count = len(list(equal))
        end = start + count * length
        queries, keys, values = (
            one[0, :, start:end].unflatten(1, (count, length)).transpose(0, 1) for one in (query, key, value)
        )
        scale = options.get("scaling")
        own = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, scale=scale)
        attended[start:end] = own.transpose(1, 2).flatten(0, 1)
        start = end
    return attended[None], None
