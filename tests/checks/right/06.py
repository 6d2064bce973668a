"""Right answers to the exercises of lesson 06, most of them in another style than ours."""

import torch
import torch.nn.functional as F

import vit_tutorial as vt


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
    losses = []
    for row, label in zip(logits, labels, strict=True):
        gaps = row - row[label]
        top = gaps.max()
        losses.append(top + torch.log(torch.exp(gaps - top).sum()))
    return torch.stack(losses).mean()


RIGHT = {
    "mean_pool": lambda x: x[:, 1:].sum(1) / (x.shape[1] - 1),
    "head": vt.ClassificationHead,
    "top_k_accuracy": top_k_accuracy,
    "attention_pool": attention_pool,
    "mended_loss": mended_loss,
}
