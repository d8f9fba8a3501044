"""Runs SwitchGNN on whole cards: two endpoints with their memories around a switch on a third."""

import random

import cocotb
import numpy as np

from gen.software.switchgnn_endpoint import software
from gen.software.switchgnn_switch import software as switch_software
from hdl.switchgnn.endpoint.endpoint import Endpoint
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.presets import PRESETS as SWITCHES
from hdl.switchgnn.switch.switch import GnnSwitch
from sim.harness.host_device import HostDevice
from sim.harness.threads import bridge
from sim.surroundings.card.cards import CardsParams, simulate_cards
from sim.surroundings.card.host import switch_on
from sim.switchgnn.card import CardEndpoint, CardGnnSwitch
from sim.switchgnn.host import selftest
from sim.switchgnn.wire import GROUP, SWITCH
from tests.gen.software.selftests import SelfTest
from tests.hdl.switchgnn.endpoint.bench import LaneCut, finish, launch

ENDPOINT = PRESETS["tiny"]
SWITCH_PARAMS = GnnSwitchParams(**{**SWITCHES["tiny"], "ports": 2})
CARDS = CardsParams(
    cards=(("endpoint", ENDPOINT), ("endpoint", ENDPOINT), ("gnn_switch", SWITCH_PARAMS)),
    fibres=(((0, 0), (2, 0)), ((1, 0), (2, 1))),
)
JOB, EPOCH = 1, 3
TIMERS = {"send": 4000, "fetch": 6000, "done": 4000}
EVENTS = ("dropped", "broken", "foreign")


def test_endpoints_and_switch():
    blocks = [Endpoint(ENDPOINT), GnnSwitch(SWITCH_PARAMS)]
    simulate_cards(CARDS, blocks, __name__)


async def begin(dut):
    """Return the three cards' drivers when every link is up and every memory ready."""
    switch = CardGnnSwitch(dut.card_2, SWITCH_PARAMS)
    cards = await switch_on(dut, switch)
    workers = [CardEndpoint(card, port, ENDPOINT) for port, card in enumerate(cards[:2])]
    for worker in workers:
        assert await worker.board.read("links") == 1
        assert await worker.board.read("memory_ready")
    assert await switch.board.read("links") == 0b11
    return workers, switch


def random_cut():
    """Draw a cut in which both workers send."""
    rng = np.random.default_rng(random.getrandbits(64))
    while True:
        cut = LaneCut(
            rng,
            ENDPOINT.lanes,
            ports=[0, 1],
            banks=ENDPOINT.banks,
            depth=ENDPOINT.depth,
            open_turns=1,
            blocks=1,
            window=ENDPOINT.window,
            steps=2,
        )
        if all(cut.worker(port, JOB, EPOCH).setup.share(0).sends for port in (0, 1)):
            return cut


async def aggregate(workers, switch, cut, epoch):
    """Run a job; every sum and copy in the cards' memories is right."""
    await switch.set_addresses(SWITCH, GROUP)
    await switch.start_job(JOB, setup=cut.setup(), epoch=epoch, base=0)
    await launch(workers, cut, JOB, epoch, **TIMERS)
    await finish(workers, cut)
    assert (await switch.table_errors(JOB)).cause == "NONE"


async def losses(workers, switch):
    """Return packets that were lost at any cage, by event, without zeros."""
    ends = [(worker.board, 0) for worker in workers] + [(switch.board, k) for k in (0, 1)]
    result = {
        (event, board_number, cage): await board.read(f"{event}_{cage}")
        for board_number, (board, cage) in enumerate(ends)
        for event in EVENTS
    }
    return {name: count for name, count in result.items() if count}


@cocotb.test(timeout_time=400, timeout_unit="us")
async def sums_reach_the_memories_of_the_cards(dut):
    workers, switch = await begin(dut)
    cut = random_cut()
    await aggregate(workers, switch, cut, EPOCH)
    for worker in workers:
        counts = await worker.counters()
        assert counts["turns"] == cut.turns
        assert counts["sent_feature"] + counts["sent_partial"]
    assert await losses(workers, switch) == {}
    # Each port stays in its own part of HBM, but the host's; no one reads what nobody wrote.
    for card in (0, 1):
        hbm = getattr(dut, f"card_{card}").memory.ip
        assert int(hbm.lateral.value) == 1 << 12
        assert int(hbm.unwritten.value) == 0


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_damaged_packet_is_counted_and_what_it_was_comes_again(dut):
    workers, switch = await begin(dut)
    dut.card_2.mac_1.cmac.core.corrupt.value = 1
    await aggregate(workers, switch, random_cut(), EPOCH)
    assert await losses(workers, switch) == {("broken", 3, 1): 1}
    counts = await workers[1].counters()
    again = sum(counts[f"sent_{kind}"] for kind in ("again", "fetch", "rawfetch", "done"))
    assert again > counts["turns"]


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def cards_test_themselves(dut):
    """All checks pass on cards that are right; each tells what is wrong with one that is not.

    It is the last test: a frame may still be on its way when it ends.
    """
    workers, switch = await begin(dut)
    card = HostDevice(workers[0].axil, workers[0])
    test = SelfTest(software(ENDPOINT), card, "--bytes", "1024", "--loopback", "pcs")
    switch_card = HostDevice(switch.axil)
    test_switch = SelfTest(switch_software(SWITCH_PARAMS), switch_card)
    selftest.FRAMES, selftest.TIMEOUT, selftest.LOOKS = 8, 1000, 40

    def program():
        test_switch.passes()
        test_switch.broken()
        test.passes()
        card.stuck = 500
        test.fails("memory: bit 0 of memory at 0x1f4 reads 1, not 0", "memory")
        card.stuck = None
        dut.card_0.mac_0.cmac.core.corrupt.value = 1
        test.fails("mac: ", "mac")

    await bridge(program)()
