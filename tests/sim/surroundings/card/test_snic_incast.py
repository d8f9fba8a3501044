"""Runs a whole card with a SNIC under incast: many sources read faster than it serves them.

PACKETS says how many of each class come; `INGATHER_INCAST=50000 pytest` this file for 100,000.
"""

import os

import cocotb
import numpy as np
import pytest
from cocotb.triggers import Timer

from gen.base.settings import make_params
from gen.designs.catalogue import find_design
from hdl.netsparse.rig.unit import RigUnit
from hdl.netsparse.snic import Snic
from sim.netsparse.card import CardSnic
from sim.netsparse.card_traffic import traffic_files
from sim.netsparse.golden.concatenation import Addresses, Kind, Request, to_bytes
from sim.netsparse.host.snic.request import Completion
from sim.netsparse.host.snic.request import Request as WorkRequest
from sim.netsparse.host.snic.snic import Table
from sim.surroundings.axi_ram import ram_file
from sim.surroundings.card.cards import CardsParams, simulate_cards
from sim.surroundings.card.host import switch_on
from sim.surroundings.card.incast import fibre
from sim.surroundings.card.ip_models import HOST_BASE

SNIC = make_params(
    find_design("netsparse-snic").params_class,
    find_design("netsparse-snic").presets["tiny"] | {"address_bits": 40},
)
CARDS = CardsParams(cards=(("snic", SNIC),), stations=((0, 0),))
PACKETS = int(os.environ.get("INGATHER_INCAST", "3000"))
PROPERTY = 64  #: bytes
SERVED = 4096  #: properties
CLIENT, SERVER = 0, 1  #: units
IDXS = 64  #: that the client asks for
ADDRESSES = Addresses(mac_base=0x0200 << 32, ip_base=0x0A000000)


def packets_of_many_sources():
    """Draw reads, most of one PR, some of a full packet, and responses that nobody asked for."""
    rng = np.random.default_rng(1)
    packets = []
    for kind, counts in ((Kind.READ, [*[1] * 12, 8, 79]), (Kind.RESPONSE, [*[1] * 12, 8, 17])):
        data = bytes(PROPERTY) if kind == Kind.RESPONSE else b""
        for count in counts:
            prs = [
                Request(kind=kind, dest=0, length=PROPERTY, src=1, idx=int(idx), data=data)
                for idx in rng.integers(SERVED, size=count)
            ]
            packets.append(to_bytes(prs, 1, ADDRESSES))
    assert max(map(len, packets)) > SNIC.mtu - 82
    return packets


@pytest.mark.long
@pytest.mark.parametrize("test", ["everything_is_answered", "reads_are_lost"])
def test_incast(tmp_path, test):
    image = tmp_path / "ram"
    idxs = np.arange(SERVED, SERVED + IDXS, dtype="<u4").tobytes()
    image.write_bytes(np.arange(SERVED * PROPERTY // 4, dtype="<u4").tobytes() + idxs)
    simulate_cards(
        CARDS,
        [Snic(SNIC), RigUnit(SNIC.rig)],
        __name__,
        plusargs=[
            *traffic_files(tmp_path, packets_of_many_sources()),
            ram_file(1, image),
            fibre(100),
            *(["+deaf"] if test == "reads_are_lost" else []),
        ],
        test_filter=test,
    )


class Node:
    """Has the card, and what is at its fibre's other end."""

    def __init__(self, dut, card):
        self.far, self.snic = dut.far_0_0, CardSnic(card, SNIC)

    async def set_up(self):
        """Set the card up: it is node 0 and serves its idxs."""
        self.far.numbered.value = 0
        table = Table(address=HOST_BASE, row_bytes=PROPERTY)
        await self.snic.set_up(0, [0, SERVED, 2 * SERVED], servers=[SERVER], served=table)

    def reported(self, name):
        """Return a number of the station's, of both classes if it has two."""
        value = getattr(self.far, name)
        return (
            int(value.value)
            if name in ("reads", "answers", "wrong")
            else [int(value[k].value) for k in range(2)]
        )

    async def lost(self):
        """Return what the card's counters say was lost."""
        return [
            await self.snic.board.read(f"{name}_0") for name in ("dropped", "broken", "foreign")
        ]


async def begin(dut):
    cards = await switch_on(dut)
    node = Node(dut, cards[0])
    await node.set_up()
    for k in range(2):
        node.far.limit[k].value = PACKETS
    for _ in range(PACKETS):
        await Timer(1, "us")
        if node.reported("number") == [PACKETS, PACKETS]:
            break
    return node


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def everything_is_answered(dut):
    node = await begin(dut)
    for _ in range(100):
        if node.reported("answers") == node.reported("reads"):
            break
        await Timer(5, "us")
    assert node.reported("answers") == node.reported("reads") > PACKETS
    assert node.reported("wrong") == 0
    assert await node.lost() == [0, 0, 0]
    assert node.reported("pauses")[0] > 1
    counters = await node.snic.counters()
    received = [counters[f"{name}_received_packets"] for name in ("reads", "responses")]
    assert received == [PACKETS, PACKETS]
    units = [await node.snic.unit_counters(k) for k in range(SNIC.units)]
    assert units[SERVER]["served"] == node.reported("reads")
    assert units[CLIENT]["stale"] == counters["responses_received_prs"] > PACKETS
    for k, name in enumerate(("reads", "responses")):
        assert await node.snic.board.read(f"pauses_{name}_0") == node.reported("pauses")[k]
    await a_request_that_never_leaves(node)


async def a_request_that_never_leaves(node):
    """Reads are paused for ever: the watchdog ends the request, and responses still flow."""
    node.far.pause[0].value = 2
    await Timer(10, "us")
    request = WorkRequest(
        unit=CLIENT,
        tag=7,
        idx_address=HOST_BASE + SERVED * PROPERTY,
        count=IDXS,
        property_address=HOST_BASE,
        property_bytes=PROPERTY,
        watchdog=3000,
    )
    await node.snic.board.write(interrupt_enable=1)
    await node.snic.submit([request])
    node.far.limit[0].value = PACKETS + 50
    assert await node.snic.completions() == [Completion(CLIENT, 7, "WATCHDOG")]
    before = await node.snic.board.read("paused_reads_0")
    for _ in range(40):
        await Timer(5, "us")
        if node.reported("answers") == node.reported("reads"):
            break
    assert node.reported("answers") == node.reported("reads")
    assert node.reported("heard")[0] == 0
    assert await node.snic.board.read("paused_reads_0") > before + 1000
    assert await node.snic.board.read("paused_responses_0") == 0


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def reads_are_lost(dut):
    """A far end that does not obey loses reads: this is what flow control is for."""
    node = await begin(dut)
    for _ in range(100):  # until nothing waits in the card
        await Timer(10, "us")
        lost = await node.lost()
        counters = await node.snic.counters()
        received = sum(counters[f"{name}_received_packets"] for name in ("reads", "responses"))
        if sum(lost) + received == 2 * PACKETS:
            break
    assert lost[1:] == [0, 0]
    assert lost[0] == 2 * PACKETS - received > 100
