"""Runs cards' MACs whole: what their registers show, and that links come back by themselves."""

import random
from collections import Counter

import cocotb
from cocotb.triggers import Timer

from hdl.p4sgd.engine.engine import Engine
from hdl.p4sgd.switch.switch import Switch
from hdl.p4sgd.worker import Worker
from hdl.u280.mac_signals import Loopback
from sim.surroundings.card.cards import QUICK, simulate_cards
from tests.sim.surroundings.card.worker_cards import (
    CARDS,
    SWITCH,
    WORKER,
    begin,
    train_together,
    transceiver,
)

BACK_US = 3  #: until a link is back after a reset
PATIENCE_US = 1 + QUICK.patience // 100
REPAIRS = ("watchdog", "underflow", "overflow", "cut_transmit", "cut_receive")


def test_macs():
    blocks = [Engine(WORKER.engine), Worker(WORKER), Switch(SWITCH)]
    simulate_cards(CARDS, blocks, __name__)


async def repairs(board, cage=0):
    counts = {name: await board.read(f"{name}_{cage}") for name in REPAIRS}
    return {name: count for name, count in counts.items() if count}


async def status(board, cage=0):
    names = ("linked", "aligned", "received", "local_fault", "remote_fault")
    return [await board.read(f"{name}_{cage}") for name in names]


UP = [1, 1, 1, 0, 0]
DEAF = [0, 0, 0, 1, 0]  #: it hears nothing
UNHEARD = [0, 1, 1, 0, 1]  #: the far end says that it hears nothing


@cocotb.test(timeout_time=100, timeout_unit="us")
async def registers_show_lanes_and_codewords(dut):
    workers, switch = await begin(dut)
    board, core = switch.board, transceiver(dut, 2, 1)
    near, far = lambda: status(board, 1), lambda: status(workers[1].board)
    assert (await near(), await far()) == (UP, UP)
    assert await board.read("block_locked_1") == await board.read("synced_1") == 0xFFFFF
    assert await board.read("fec_locked_1") == 0xF
    assert await board.read("fec_aligned_1")
    assert await board.read("transmit_ready_1")
    assert await board.read("receive_ready_1")
    core.unlocked.value, core.unsynced.value = 0x80004, 0x80104
    await Timer(1, "us")
    assert await board.read("block_locked_1") == 0x7FFFB
    assert await board.read("synced_1") == 0x7FEFB
    assert await board.read("fec_locked_1") == 0xB
    assert not await board.read("fec_aligned_1")
    assert (await near(), await far()) == (DEAF, UNHEARD)
    assert await status(board, 0) == await status(workers[0].board) == UP
    core.unlocked.value, core.unsynced.value = 0, 0
    core.corrections.value, core.failures.value, core.windows.value = 500, 40, 3
    await Timer(3, "us")
    assert (await near(), await far()) == (UP, UP)
    names = ("corrected_1", "uncorrected_1", "symbol_errors_1", "corrected_0")
    assert [await board.read(name) for name in names] == [500, 40, 3, 0]
    await board.write(clear_losses=1)
    assert [await board.read(name) for name in names] == [0, 0, 0, 0]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_receiver_that_locked_onto_nothing_comes_back(dut):
    workers, switch = await begin(dut)
    for card, board in ((0, workers[0].board), (2, switch.board)):
        transceiver(dut, card, 0).stuck.value = 1
        await Timer(1, "us")
        assert await status(board) == DEAF
        await Timer(PATIENCE_US + BACK_US, "us")
        assert await status(board) == UP
        assert await repairs(board) == {"watchdog": 1}
    # For as long as there is nothing to hear.
    transceiver(dut, 1, 0).dark.value = 1
    await Timer(3 * PATIENCE_US, "us")
    assert (await repairs(workers[1].board))["watchdog"] >= 2
    transceiver(dut, 1, 0).dark.value = 0
    await Timer(BACK_US, "us")
    assert await status(workers[1].board) == UP


@cocotb.test(timeout_time=100, timeout_unit="us")
async def both_ends_agree_on_rsfec(dut):
    workers, switch = await begin(dut)
    for on in (0, 1):
        await workers[0].board.write(rsfec_0=on)
        await Timer(BACK_US, "us")
        assert await status(workers[0].board) == await status(switch.board, 0) == DEAF
        await switch.board.write(rsfec_0=on)
        await Timer(BACK_US, "us")
        assert await status(workers[0].board) == await status(switch.board, 0) == UP
        assert await switch.board.read("fec_aligned_0") == on
        assert await status(switch.board, 1) == UP


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_mac_hears_itself_in_loopback(dut):
    workers, switch = await begin(dut)
    core = transceiver(dut, 0, 0)
    core.dark.value = 1
    for mode in (Loopback.NEAR_END_PCS, Loopback.NEAR_END_PMA, 3):
        await workers[0].board.write(loopback_0=mode)
        await Timer(BACK_US, "us")
        assert int(core.loopback.value) == mode % 3
        assert await status(workers[0].board) == (DEAF if mode == 3 else UP)
    core.dark.value = 0
    await workers[0].board.write(loopback_0=Loopback.NONE)
    await Timer(BACK_US, "us")
    assert await status(workers[0].board) == await status(switch.board, 0) == UP


@cocotb.test(timeout_time=100, timeout_unit="us")
async def the_host_resets_a_mac(dut):
    workers, switch = await begin(dut)
    core = transceiver(dut, 2, 1)
    resets = ("whole_resets", "tx_datapath_resets", "rx_datapath_resets")
    commands = ("reset_1", "reset_transmit_1", "reset_receive_1")

    def counts():
        return [int(getattr(core, name).value) for name in resets]

    expected = counts()
    for _ in range(2):
        for k, command in enumerate(commands):
            await switch.board.write(**{command: 1})
            expected[k] += 1
            await Timer(300, "ns")
            assert not (await status(workers[1].board))[0]
            await Timer(BACK_US, "us")
            assert counts() == expected
            assert await status(switch.board, 1) == await status(workers[1].board) == UP
    assert await status(switch.board, 0) == UP


@cocotb.test(timeout_time=300, timeout_unit="us")
async def nothing_is_sent_to_who_does_not_hear(dut):
    """What waits meanwhile is not lost."""
    workers, switch = await begin(dut)
    near, far = transceiver(dut, 1, 0), transceiver(dut, 2, 1)
    far.unlocked.value = 1
    await Timer(1, "us")
    assert await status(workers[1].board) == UNHEARD
    before = int(near.sent.value)
    training = cocotb.start_soon(train_together(workers, switch))
    await Timer(20, "us")
    assert int(near.sent.value) == before
    assert await workers[1].read("sent_packets")
    far.unlocked.value = 0
    await training
    assert await repairs(workers[1].board) == {}


#: what happens, at which cage of which card
TROUBLES = (
    ("starve", (0, 0)),
    ("overrun", (2, 1)),
    ("reset_transmit", (1, 0)),
    ("reset_receive", (2, 0)),
    ("reset", (2, 1)),
    ("starve", (1, 0)),
)


@cocotb.test(timeout_time=300, timeout_unit="us")
async def training_survives_what_happens_to_its_macs(dut):
    workers, switch = await begin(dut)
    boards = {(0, 0): workers[0].board, (1, 0): workers[1].board}
    boards |= {(2, 0): switch.board, (2, 1): switch.board}

    async def repaired():
        counts = Counter()
        for (_, cage), board in boards.items():
            counts.update(await repairs(board, cage))
        return counts

    async def trouble():
        await Timer(5, "us")
        for what, (card, cage) in TROUBLES:
            if what in ("starve", "overrun"):
                getattr(transceiver(dut, card, cage), what).value = 1
            else:
                await boards[card, cage].write(**{f"{what}_{cage}": 1})
            await Timer(random.randrange(1000, 4000), "ns")

    before = await repaired()  # a switch counts on while its host resets
    troubled = cocotb.start_soon(trouble())
    while not troubled.done():
        await train_together(workers, switch)
    await train_together(workers, switch)
    result = await repaired()
    result.subtract(before)
    assert (result["underflow"], result["overflow"], result["watchdog"]) == (2, 1, 0)
