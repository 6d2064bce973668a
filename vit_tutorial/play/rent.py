"""Lesson 13's game, H/14 for a hundred euros: choose what you rent and how you train, and bid."""

import itertools

from matplotlib.axes import Axes

from .. import VARIANTS, planner, plots
from .panel import FieldPanel

# bytes, FLOP per second in float32 and in 16 bits as the makers have it, and our made-up price in euros per hour
CARDS = {"T4": (16e9, 8.1e12, 65e12, 0.2), "A100": (80e9, 19.5e12, 312e12, 1.2), "H100": (80e9, 67e12, 989e12, 3.0)}
NETWORKS = {"10 gigabits": (1.25e9, 0.0), "100 gigabits": (12.5e9, 0.1), "NVLink": (300e9, 0.5)}  # euros on top
DEADLINES = {"none": float("inf"), "24 hours": 24.0, "4 hours": 4.0}
FIELDS = {  # what can be chosen; it starts with the first, and with 64 images
    "card": [*CARDS],
    "gpus": [1, 2, 4, 8, 16],
    "images": [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],  # at a time, on each
    "network": [*NETWORKS],
    "autocast": [False, True],
    "checkpointing": [False, True],
    "fsdp": [False, True],
}
MODEL, BATCH, EPOCHS, IMAGENET, BUDGET, UTILISATION = VARIANTS["H/14"], 4096, 25, 1_281_167, 100, 0.3
PARS = {"none": 92.97, "24 hours": 96.07, "4 hours": 96.07}  # the cheapest of all offers, found by trying each


def price(card, gpus, images, network, autocast, checkpointing, fsdp) -> tuple[planner.Memory, float, float, float]:
    """Memory of each GPU; of the whole run, hours computing, hours waiting for the network, and euros."""
    (room, full, half, euros), (link, extra) = CARDS[card], NETWORKS[network]
    way = {"precision": "autocast" if autocast else "float32", "devices": gpus}
    way |= {"sharded": fsdp and gpus > 1, "checkpointed": checkpointing}
    need, hours = planner.memory(MODEL, images, **way), []
    for line in (float("inf"), link):
        machine = planner.Machine(room, half if autocast else full, UTILISATION, line)
        how = way | {"micro_batches": BATCH // gpus // images}
        hours.append(EPOCHS * planner.epoch_seconds(MODEL, IMAGENET, BATCH, machine, **how) / 3600)
    return need, hours[0], hours[1] - hours[0], hours[1] * gpus * (euros + extra * (gpus > 1))


def refused(card, gpus, images, network, **others) -> str:
    """Why nobody sells this, or nothing."""
    if BATCH % (gpus * images) or gpus * images > BATCH:
        return f"{gpus} GPUs times {images} images are more than the batch of {BATCH:,}."
    if card == "T4" and network == "NVLink":
        return "A T4 has no NVLink."
    return ""


def parts_of(need: planner.Memory) -> dict[str, float]:
    """Gigabytes at the summit, by kind; what is none of the first four counts as activations."""
    held = {part: getattr(need, part) / 1e9 for part in ("parameters", "gradients", "averages", "exchange")}
    return held | {"activations": need.peak / 1e9 - sum(held.values())}


def draw_memory(axis: Axes, card: str, need: planner.Memory) -> None:
    start, colours = 0.0, [plots.SERIES[n] for n in (0, 2, 4, 5, 1)]  # the page's
    for colour, (part, size) in zip(colours, parts_of(need).items(), strict=True):
        axis.barh(0, size, left=start, height=0.5, color=colour, label=part if size else None)
        start += size
    room = 0.9 * CARDS[card][0] / 1e9
    if start > room:
        axis.barh(0, start, height=0.56, fill=False, ec="red", lw=4)
    axis.axvline(room, color=plots.INK, ls=":")
    axis.set(title=f"on each {card}: {start:.1f} GB; {room:g} are usable (dotted)", xlabel="GB", xlim=(0, None))
    axis.legend(frameon=False, loc="lower left", ncols=3, fontsize=8, columnspacing=1)


def draw_hours(axis: Axes, computing: float, waiting: float, deadline: float, euros: float) -> None:
    axis.barh(0, computing, height=0.5, color="#9FB0BF", label="computing")
    axis.barh(0, waiting, left=computing, height=0.5, color=plots.SERIES[5], label="waiting for the network")
    if deadline < 2 * (computing + waiting):
        axis.axvline(deadline, color=plots.INK, ls=":")
    axis.set(
        title=f"the whole run: {computing + waiting:,.1f} hours, {euros:,.2f} euros", xlabel="hours", xlim=(0, None)
    )
    axis.legend(frameon=False, loc="lower left", ncols=2, fontsize=8)


class Rent(FieldPanel):
    """Choose in the fields and press bid. `best` has your cheapest bid for each deadline, in euros.

    All that can be clicked can be called, and each call returns the game: `game.bid(card="A100", gpus=2)`,
    `game.bid(deadline="24 hours")`, `game.do("bid")`, `game.do("give up")`.
    """

    def __init__(self):
        self.best, self.bids = {}, 0
        titles = {"gpus": "GPUs", "images": "images at a time", "fsdp": "FSDP"}
        moves = {"bid": self.bid, "give up": self.give_up}
        super().__init__(FIELDS | {"deadline": [*DEADLINES]}, {"images": 64}, moves, titles)
        self.show("The first offer: ")

    def task(self) -> str:
        limit = self.fields["deadline"].value
        within = "with no deadline" if limit == "none" else f"within {limit}"
        return f"Train H/14 for {EPOCHS} epochs of ImageNet, {within}, for at most {BUDGET} euros."

    def bid(self, **how) -> "Rent":
        """Bid what the fields say, or say it here: `card`, `gpus`, `images`, `network`, `deadline` and so on."""
        if wrong := self.wrong(how):
            return self.tell(wrong)
        self.fill(how)
        self.bids += 1
        return self.show(f"Bid {self.bids}: ", counts=True)

    def wrong(self, how: dict) -> str:
        """What can't be filled in, or isn't for rent; nothing if it can be bid."""
        return super().wrong(how) or refused(**self.offer() | how)

    def offer(self) -> dict:
        """What the fields say, but for the deadline."""
        return {name: self.fields[name].value for name in FIELDS}

    def show(self, begin: str, counts: bool = False) -> "Rent":
        """What the offer in the fields comes to, and its picture."""
        offer, deadline = self.offer(), self.fields["deadline"].value
        need, computing, waiting, euros = price(**offer)
        hours, fits = computing + waiting, need.peak <= 0.9 * CARDS[offer["card"]][0]

        def picture() -> bytes:
            figure, (axes,) = plots.canvas(1, 2, 10, 3.1, yticks=[], ylim=(-0.95, 0.45))
            figure.suptitle(self.task(), fontsize=11)
            draw_memory(axes[0], offer["card"], need)
            draw_hours(axes[1], computing, waiting, DEADLINES[deadline], euros)
            return plots.png(figure)

        said = f"{begin}{words(**offer)}: {need.peak / 1e9:.1f} GB on each GPU, "
        said += f"{hours:,.1f} hours, {euros:,.2f} euros. "
        if not fits:
            said += "It doesn't fit."
        elif hours > DEADLINES[deadline]:
            said += "It's too late."
        elif euros > BUDGET:
            said += f"It's {euros - BUDGET:,.2f} euros too dear."
        elif counts:
            self.best[deadline] = min(euros, self.best.get(deadline, euros))
            said += f"Done! Your cheapest: {self.best[deadline]:.2f}. The cheapest of all: {PARS[deadline]:.2f}."
        return self.tell(f"{self.task()} {said}", picture)

    def give_up(self) -> "Rent":
        """Shows the cheapest offer of all for this deadline."""
        self.fill(cheapest(self.fields["deadline"].value))
        return self.show("The cheapest of all: ")


def words(card, gpus, images, network, autocast, checkpointing, fsdp) -> str:
    ticks = ", autocast" * autocast + ", checkpointing" * checkpointing + ", FSDP" * (fsdp and gpus > 1)
    return f"{gpus} {card}, {network}, {images} at a time{ticks}"


def offers() -> list[dict]:
    """All that anyone can bid; what makes no difference to a single GPU is left out."""
    found = [dict(zip(FIELDS, values, strict=True)) for values in itertools.product(*FIELDS.values())]
    found = [one for one in found if one["gpus"] > 1 or (one["network"] == "10 gigabits" and not one["fsdp"])]
    return [one for one in found if not refused(**one)]


def cheapest(deadline: str) -> dict:
    """Of all offers that fit and are in time, the one for the fewest euros."""
    best, least = {}, float("inf")
    for offer in offers():
        need, computing, waiting, euros = price(**offer)
        fits = need.peak <= 0.9 * CARDS[offer["card"]][0]
        if fits and computing + waiting <= DEADLINES[deadline] and euros < least:
            best, least = offer, euros
    return best


def play() -> Rent:
    """One T4, which is too small and takes months: it's the same for everyone."""
    return Rent()
