"""Simulates several cards with gather engines, each with ports of its own to one host."""

from dataclasses import field

from amaranth.hdl import Module

from hdl.common.component import Component
from hdl.common.params import Params, whole
from sim.gather.surroundings.card_system import CardParams, CardSystem, lead_out
from sim.gather.surroundings.limits import MAX_CARDS


class CardsParams(Params, suffix="{cards}_{card.suffix}"):
    """Sets how many cards there are, and the sizes of each."""

    card: CardParams = field(default_factory=CardParams)
    cards: int = whole(1, MAX_CARDS, default=1)  #: number of cards


class CardsSystem(Component):
    """Has the ports of a :class:`CardSystem` for each card, behind ``card_0``, ``card_1``, ...

    A card's device memory is the RAM of its number.
    """

    def __init__(self, params: CardsParams) -> None:
        members = dict(CardSystem(params.card).signature.members.items())
        del members["index"]
        self.outside = members
        super().__init__(
            params,
            {
                f"{prefix_of(card)}{name}": member
                for card in range(params.cards)
                for name, member in members.items()
            },
        )

    def build(self, m: Module) -> None:
        for number in range(self.params.cards):
            m.submodules[f"card_{number}"] = card = CardSystem(self.params.card)
            m.d.comb += card.index.eq(number)
            for name, member in self.outside.items():
                lead_out(
                    m, member, getattr(card, name), getattr(self, f"{prefix_of(number)}{name}")
                )


def prefix_of(card: int) -> str:
    """Return what the names of a card's ports begin with."""
    return f"card_{card}_"
