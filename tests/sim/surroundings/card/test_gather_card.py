"""Runs a whole card with the gather engine in a slot of a root complex that others wrote."""

import cocotb
import numpy as np

from gen.base.settings import make_params
from gen.board.boards import BOARDS
from gen.software.gather_engine import software
from hdl.gather.engine import GatherEngine
from hdl.gather.engine_params import COMPLETION_BYTES
from hdl.gather.registers import IDENTITY
from sim.gather.card import CardGather
from sim.gather.golden.engine import Outcome, WorkRequest, carry_out
from sim.gather.golden.rows import Table
from sim.gather.host import selftest
from sim.harness.host_device import HostDevice, HostMemory
from sim.harness.threads import bridge
from sim.surroundings.card.cards import CardsParams, simulate_cards
from sim.surroundings.card.host import switch_on
from tests.gen.software.selftests import SelfTest

BOARD = BOARDS["u280"].designs["gather-engine"]
ENGINE = make_params(BOARD.design.params_class, BOARD.settings_of("tiny"))
CARDS = CardsParams(cards=(("gather", ENGINE),))
IDXS, TABLE, HOST_BYTES = 0, 1 << 12, 1 << 16
DEVICE_BYTES = 1 << 13


def test_gather():
    simulate_cards(CARDS, [GatherEngine(ENGINE)], __name__)


async def begin(dut, seed):
    """Switch a card on; return it, and two work requests with rows of unequal size.

    Each of them has an idx beyond its table.
    """
    rng, built = np.random.default_rng(seed), []
    memory = bytearray(rng.bytes(HOST_BYTES))
    for k, (row_bytes, count, destination) in enumerate([(1028, 3, 36), (60, 24, 4160)]):
        table = Table(base=TABLE + 4 * k, rows=40, row_bytes=row_bytes, stride=row_bytes + 4)
        idxs = rng.integers(table.rows, size=count)
        idxs[1] = table.rows
        place = IDXS + 1024 * k
        memory[place : place + 4 * count] = idxs.astype("<u4").tobytes()
        built.append(
            WorkRequest(
                idx_address=place,
                count=count,
                table=table,
                idx_bytes=4,
                destination=destination,
                completion_address=HOST_BYTES - COMPLETION_BYTES * (k + 1),
                tag=k + 7,
            )
        )
    card = CardGather(dut.card_0, ENGINE, bytes(memory))
    await switch_on(dut, card)
    return card, built


@cocotb.test(timeout_time=150, timeout_unit="us")
async def the_host_finds_the_card_and_rows_come(dut):
    card, requested = await begin(dut, 2)
    assert await card.registers.read("identity") == IDENTITY
    expected = np.zeros(DEVICE_BYTES, np.uint8)
    for request in requested:
        await card.submit(request)
    for k, request in enumerate(requested):
        reported = await card.completed(request)
        golden = carry_out(card.host(), expected, request, ENGINE.idx_bits)
        assert (golden.outcome, golden.beyond) == (Outcome.DONE, 1)
        assert int(reported["outcome"].value) == golden.outcome
        assert (reported["tag"], reported["beyond"], reported["failed"]) == (request.tag, 1, 0)
        await card.pcie.interrupt(k, 5)
    device = np.frombuffer(await card.device(0, DEVICE_BYTES), np.uint8)
    different = np.flatnonzero(device != expected)
    assert not len(different), f"HBM differs from byte {different[0]:#x} on"
    assert card.pcie.messages == len(requested)
    assert not int(card.hbm.lateral.value)


@cocotb.test(timeout_time=150, timeout_unit="us")
async def the_host_resets_the_function_in_the_middle(dut):
    """A write of its control register resets it: the request is forgotten, the next one exact."""
    card, (lost, requested) = await begin(dut, 3)
    before = card.pcie.messages
    await card.submit(lost)
    while not await card.registers.read("busy"):
        pass
    await card.pcie.reset(timeout_us=10)
    assert await card.registers.read("was_reset")
    assert not await card.registers.read("busy")
    assert card.pcie.messages == before
    place = lost.completion_address
    assert not any(card.memory.mem[place : place + COMPLETION_BYTES])
    await card.submit(requested)
    reported = await card.completed(requested)
    expected = np.zeros(DEVICE_BYTES, np.uint8)
    golden = carry_out(card.host(), expected, requested, ENGINE.idx_bits)
    assert (int(reported["outcome"].value), reported["tag"]) == (golden.outcome, requested.tag)
    await card.pcie.interrupt(before, 5)
    start, size = requested.destination, requested.count * requested.table.row_bytes
    assert await card.device(start, size) == expected[start : start + size].tobytes()
    assert (await card.counters())["work_forgotten"] == 1


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_card_tests_itself(dut):
    """All checks pass on a card that is right; each tells what is wrong with one that is not."""
    card = CardGather(dut.card_0, ENGINE, bytes(HOST_BYTES))
    await switch_on(dut, card)
    device = HostDevice(card.registers.axil, HostMemory(card.memory), card.pcie)
    test = SelfTest(software(ENGINE), device)

    def program():
        test.passes()
        device.stuck = selftest.COMPLETION  # where the tag is
        test.fails("gather: request 1 ended, and 0 was waited for", "gather")
        test.broken()

    await bridge(program)()
