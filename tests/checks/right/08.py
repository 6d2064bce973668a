"""Right answers to the exercises of lesson 08, spelled otherwise than in the package."""

import statistics

import numpy as np
import torch


def right_temperature(logits, labels):
    aim = (logits.max(1).indices == labels).float().mean().item()
    grid = torch.exp(torch.linspace(np.log(0.05), np.log(20), 20_001))
    best = [abs(torch.softmax(logits / T, -1).max(-1).values.mean().item() - aim) for T in grid]
    return grid[int(np.argmin(best))]


def right_split(original, share, generator):
    digits = sorted({*original.tolist()})
    held = {digits[i] for i in torch.randperm(len(digits), generator=generator)[: round(share * len(digits))]}
    places = range(len(original))
    train = [i for i in places if int(original[i]) not in held]
    return torch.tensor(train), torch.tensor([i for i in places if int(original[i]) in held])


def right_gap(base, row):
    error = statistics.variance(base) / len(base) + statistics.variance(row) / len(row)
    return (statistics.fmean(row) - statistics.fmean(base)) * error**-0.5


RIGHT = {"honest_temperature": right_temperature, "split_by_original": right_split, "gap_in_errors": right_gap}
