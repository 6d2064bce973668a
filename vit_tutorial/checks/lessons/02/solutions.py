"""Solutions of the exercises of lesson 02."""

import torch
from torch import nn


class MyClsToken(nn.Module):
    """(B, N, D) -> (B, 1+N, D)."""

    def __init__(self, embed_dim):
        super().__init__()
        ### BEGIN SOLUTION
        self.token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        ### END SOLUTION

    def forward(self, tokens):
        ### BEGIN SOLUTION
        token = self.token.expand(len(tokens), 1, -1)  # (1, 1, D) -> (B, 1, D)
        return torch.cat([token, tokens], dim=1)
        ### END SOLUTION


def vote(head, tokens):
    """(B, 1+N, D) -> (B,): the digit that most patch tokens vote for."""
    ### BEGIN SOLUTION
    votes = []
    for n in range(1, tokens.shape[1]):
        logits = head(tokens[:, n:])  # reads token n, the first one that it is given
        votes.append(logits.argmax(dim=-1))
    votes = torch.stack(votes, dim=1)  # (B, N)
    return votes.mode(dim=1).values
    ### END SOLUTION


class MyWarmStart(nn.Module):
    """(B, N, D) -> (B, 1+N, D): the class token starts at the mean patch of `sample`, (B, N, D)."""

    def __init__(self, sample):
        super().__init__()
        ### BEGIN SOLUTION
        mean = sample.mean(dim=(0, 1), keepdim=True)  # over images and patches: (1, 1, D)
        self.token = nn.Parameter(mean)
        ### END SOLUTION

    def forward(self, tokens):
        ### BEGIN SOLUTION
        cls = self.token.expand(len(tokens), -1, -1)
        return torch.cat([cls, tokens], dim=1)
        ### END SOLUTION


def feature_map(tokens, grid):
    """(B, K+h*w, D), (h, w) -> (B, D, h, w)."""
    ### BEGIN SOLUTION
    h, w = grid
    patches = tokens[:, -h * w :]  # (B, K+h*w, D) -> (B, h*w, D)
    picture = patches.reshape(len(tokens), h, w, -1)  # -> (B, h, w, D)
    return picture.permute(0, 3, 1, 2)
    ### END SOLUTION
