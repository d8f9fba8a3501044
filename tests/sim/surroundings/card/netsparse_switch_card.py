"""Surrounds a card with NetSparse's switch by a node and an uplink, and drives it."""

import numpy as np
from cocotb.triggers import Timer

from gen.base.settings import make_params
from gen.board.boards import BOARDS
from sim.netsparse.card import CardSwitch
from sim.netsparse.golden.concatenation import Addresses, Kind, Request, to_bytes
from sim.surroundings.card.cards import CardsParams

BOARD = BOARDS["u280"].designs["netsparse-switch"]
SWITCH = make_params(BOARD.design.params_class, BOARD.settings_of("tiny"))
NODE, UPLINK = 0, 1  #: cages, and the nodes behind them
CARDS = CardsParams(cards=(("netsparse_switch", SWITCH),), stations=((0, NODE), (0, UPLINK)))
PROPERTY = 64  #: bytes: an idx, again and again
ADDRESSES = Addresses(mac_base=0x0200 << 32, ip_base=0x0A000000)
READS, RESPONSES = 0, 1  #: classes
QUIET_US = 12  #: longer than a pause that is not repeated


def packets():
    """Return reads of the node, and responses to it, which answer half of what the reads ask."""
    rng = np.random.default_rng(1)
    idxs = rng.choice(1 << SWITCH.cache.idx_bits, size=24, replace=False)
    built = []
    for kind, of, src, counts in (
        (Kind.READ, idxs, NODE, [*[1] * 6, 8, 29]),
        (Kind.RESPONSE, idxs[:12], UPLINK, [1, 2, 3, 6, 6, 6]),
    ):
        for count in counts:
            prs = [
                Request(
                    kind=kind,
                    dest=UPLINK if kind is Kind.READ else NODE,
                    length=PROPERTY,
                    src=src,
                    idx=int(idx),
                    data=int(idx).to_bytes(8, "big") * 8 if kind is Kind.RESPONSE else b"",
                )
                for idx in rng.choice(of, size=count)
            ]
            built.append(to_bytes(prs, src, ADDRESSES))
    return built


class Bench:
    """Has the card's host, and both stations."""

    def __init__(self, dut):
        self.switch = CardSwitch(dut.card_0, SWITCH)
        self.node, self.uplink = (getattr(dut, f"far_0_{cage}") for cage in (NODE, UPLINK))
        for station in (self.node, self.uplink):
            station.keyed.value = 1

    def send(self, reads=0, responses=0):
        """Send this many more packets of the node and of the uplink."""
        for station, kind, count in (
            (self.node, READS, reads),
            (self.uplink, RESPONSES, responses),
        ):
            station.limit[kind].value = int(station.limit[kind].value) + count

    def heard(self):
        """Return PRs that the stations have received: reads of one, responses of the other."""
        return int(self.uplink.prs_heard[READS].value), int(self.node.prs_heard[RESPONSES].value)

    async def finish(self, max_us=200):
        """Wait until all is sent and nothing has come for a while; no packet was mangled."""
        before = None
        for _ in range(0, max_us, QUIET_US):
            await Timer(QUIET_US, "us")
            sent = all(
                int(station.number[k].value) == int(station.limit[k].value)
                for station in (self.node, self.uplink)
                for k in (READS, RESPONSES)
            )
            if sent and before == self.heard():
                break
            before = self.heard()
        else:
            raise AssertionError(f"not within {max_us} us: {before}")
        assert int(self.node.mangled.value) == int(self.uplink.mangled.value) == 0

    async def lost(self):
        """Return what the MACs' counters say was lost."""
        names = ("dropped", "broken", "foreign")
        return {await self.switch.board.read(f"{n}_{k}") for n in names for k in (NODE, UPLINK)}
