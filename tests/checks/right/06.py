"""Right answers to lesson 06's new exercises, in other words than ours."""

import torch
import torch.nn.functional as F


def top_k_accuracy(logits, labels, k):
    own = logits.gather(1, labels.unsqueeze(1))
    ranks = (logits > own).sum(1)  # how many classes are before the right one
    return sum(rank.item() < k for rank in ranks) / len(labels)


def attention_pool(tokens, query):
    B, _, D = tokens.shape
    q = query.expand(B, 1, D)
    patches = tokens[:, 1:]
    return F.scaled_dot_product_attention(q, patches, patches).squeeze(1)


def mended_loss(logits, labels):
    losses = [row.logsumexp(0) - row[label] for row, label in zip(logits, labels, strict=True)]
    return torch.stack(losses).mean()


RIGHT = {"top_k_accuracy": top_k_accuracy, "attention_pool": attention_pool, "mended_loss": mended_loss}
