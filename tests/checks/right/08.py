"""Right answers to the exercises of lesson 08, most of them in another style than ours."""

import torch


def right_step(model, optimizer, images, labels, smoothing=0.0):
    optimizer.zero_grad(set_to_none=False)
    scores = model(images).log_softmax(dim=1)
    target = torch.full_like(scores, smoothing / scores.shape[1])
    target[range(len(labels)), labels] += 1 - smoothing
    loss = -(target * scores).sum(dim=1).mean()
    loss.backward()
    optimizer.step()
    return float(loss)


def right_stop(losses, patience):
    for stop in range(len(losses)):
        best = min(range(stop + 1), key=losses.__getitem__)
        if stop - best == patience:
            break
    return best, stop


def right_split(original, share, generator):
    digits = sorted({*original.tolist()})
    held = {digits[i] for i in torch.randperm(len(digits), generator=generator)[: round(share * len(digits))]}
    places = range(len(original))
    train = [i for i in places if int(original[i]) not in held]
    return torch.tensor(train), torch.tensor([i for i in places if int(original[i]) in held])


RIGHT = {
    "train_step": right_step,
    "when_to_stop": right_stop,
    "split_by_original": right_split,
}
