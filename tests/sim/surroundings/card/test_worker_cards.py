"""Runs two workers and a switch on whole cards, which train on what hosts wrote into HBM."""

import random

import cocotb
import numpy as np
from cocotb.triggers import Timer

from gen.software.p4sgd_worker import software
from hdl.p4sgd.engine.engine import Engine
from hdl.p4sgd.switch.switch import Switch
from hdl.p4sgd.worker import Worker
from hdl.u280.mac_signals import EVENTS
from sim.harness.host_device import HostDevice
from sim.harness.threads import bridge
from sim.p4sgd.host import selftest
from sim.surroundings.card.cards import simulate_cards
from tests.gen.software.selftests import SelfTest
from tests.sim.surroundings.card.worker_cards import (
    CARDS,
    SWITCH,
    WORDS,
    WORKER,
    begin,
    load,
    places,
    train_together,
    training_run,
    transceiver,
)

FAR_ENDS = CARDS.far_ends
HOST_PORT = 3


def test_workers_and_switch():
    blocks = [Engine(WORKER.engine), Worker(WORKER), Switch(SWITCH)]
    simulate_cards(CARDS, blocks, __name__)


def hbm(dut, card):
    return getattr(dut, f"card_{card}").memory.ip


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_far_end_that_is_not_heard_is_reported(dut):
    """Its cage's bit is set at both ends while the link is down, as what is sent there is lost."""
    workers, switch = await begin(dut)
    boards = [(workers[0].board, 1), (workers[1].board, 1), (switch.board, 2)]

    async def links():
        return [await board.read("links") for board, _ in boards]

    whole = await links()
    for card, (_, cages) in enumerate(boards):
        for cage in range(cages):
            missing = list(whole)
            for end, at in ((card, cage), FAR_ENDS[card, cage]):
                missing[end] ^= 1 << at
            for dark, expected in ((1, missing), (0, whole)):
                transceiver(dut, card, cage).dark.value = dark
                await Timer(1, "us")
                assert await links() == expected


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_card_trains_alone(dut):
    workers, _ = await begin(dut)
    worker = workers[0]
    assert await worker.board.read("memory_ready")
    assert [await worker.board.read(f"degrees_{k}") for k in (0, 1)] == [40, 41]
    training = training_run(1, 200)
    weights = np.zeros(training.features, dtype=np.int64)
    (model,) = training.models(weights)
    await load(worker, training.images, model, training.settings(1))
    for address, image in places(training.images):
        assert await worker.read_memory(address, len(image)) == image
    await worker.train()
    result = training.weights([await worker.model(training.chunks)])
    assert (result == training.golden(weights)[0]).all()
    assert result.any()
    # Bytes of a part of a beat are all that a write changes.
    await worker.write_memory(WORDS + 35, b"abc")
    expected = training.images[0][:35] + b"abc" + training.images[0][38:64]
    assert await worker.read_memory(WORDS, 64) == expected
    # Only the host's port reaches beyond its own 256 MB, and nobody reads what nobody wrote.
    assert int(hbm(dut, 0).lateral.value) == 1 << HOST_PORT
    assert int(hbm(dut, 0).unwritten.value) == 0


async def losses(drivers):
    """Return packets that each card lost at each cage, by event."""
    return [
        {
            f"{event}_{cage}": await driver.board.read(f"{event}_{cage}")
            for cage in range(cages)
            for event in EVENTS
        }
        for driver, cages in drivers
    ]


@cocotb.test(timeout_time=200, timeout_unit="us")
async def two_cards_train_together(dut):
    workers, switch = await begin(dut)
    await train_together(workers, switch)
    # What the switch answers to one worker leaves by that worker's cage.
    await train_together(workers[:1], switch)
    result = await losses([(workers[0], 1), (workers[1], 1), (switch, 2)])
    assert not any(count for counts in result for count in counts.values())


@cocotb.test(timeout_time=200, timeout_unit="us")
async def cards_train_through_resets_of_the_switch_s_host(dut):
    """The switch answers on, and its registers are as they were when the link is back."""
    workers, switch = await begin(dut)
    link, resets = switch.pcie.core.reset, []

    async def reset():
        while True:
            resets.append(1)
            for level, most in ((1, 150), (0, 100)):
                link.value = level
                await Timer(random.randint(20, most), "ns")

    await train_together(workers, switch, reset)
    link.value = 0
    await Timer(1, "us")
    assert len(resets) > 2
    assert await switch.board.read("links") == 0b11
    result = await losses([(workers[0], 1), (workers[1], 1), (switch, 2)])
    assert not any(count for counts in result for count in counts.values())
    assert await workers[0].read("retransmissions") == 0
    await train_together(workers, switch)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_card_tests_itself(dut):
    """All checks pass on a card that is right; each tells what is wrong with one that is not."""
    workers, _ = await begin(dut)
    card = HostDevice(workers[0].axil, workers[0])
    test = SelfTest(software(WORKER), card, "--bytes", "1024")
    selftest.RETRIES, selftest.TIMEOUT, selftest.LOOKS = 2, 500, 20

    def program():
        assert "mac: all of 48 packets came back" in test.passes()
        card.stuck = 500
        test.fails("memory: bit 0 of memory at 0x1f4 reads 1, not 0", "memory")
        card.stuck = None
        transceiver(dut, 0, 0).corrupt.value = 1
        test.fails("mac: ", "mac")
        test.passes("--only", "mac")

    await bridge(program)()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_damaged_packet_is_counted_and_sent_again(dut):
    """It counts at the cage where it came in, and nowhere else."""
    workers, switch = await begin(dut)
    transceiver(dut, 2, 1).corrupt.value = 1
    await train_together(workers, switch)
    (result,) = await losses([(switch, 2)])
    assert {name: count for name, count in result.items() if count} == {"broken_1": 1}
    assert await workers[1].read("retransmissions") >= 1


@cocotb.test(timeout_time=50, timeout_unit="us")
async def heat_reaches_the_pin(dut):
    """Each stack's alarm reaches the pin that cuts the card's power, of that card alone."""
    await begin(dut)
    assert int(dut.cattrip.value) == 0
    for card in (0, 1):
        for stack in (0, 1):
            alarm = getattr(hbm(dut, card), f"stack_{stack}").hot
            alarm.value = 1
            await Timer(50, "ns")
            assert int(dut.cattrip.value) == 1 << card
            alarm.value = 0
            await Timer(50, "ns")
    assert int(dut.cattrip.value) == 0


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_card_that_was_reset_trains(dut):
    """The reset comes while HBM answers: these answers are not taken for later data."""
    workers, _ = await begin(dut)
    worker = workers[0]
    training = training_run(1, 200)
    weights = np.zeros(training.features, dtype=np.int64)
    (model,) = training.models(weights)
    for delay in (0, 100, 300):
        await load(worker, training.images, model, training.settings(1))
        await worker.write(start=1)
        await Timer(1 + delay, "ns")
        dut.reset_n.value = 0
        await Timer(100, "ns")
        dut.reset_n.value = 1
        await Timer(2, "us")
    await load(worker, training.images, model, training.settings(1))
    await worker.train()
    result = training.weights([await worker.model(training.chunks)])
    assert (result == training.golden(weights)[0]).all()
