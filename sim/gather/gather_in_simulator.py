"""Gathers on cards of one host, and tells the session what their counters say."""

import pickle
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles

from hdl.gather.engine_params import Outcome
from sim.gather.card_driver import CardDriver
from sim.gather.gather_session import DUMP, GUARD, HOST, REQUESTS
from sim.gather.golden.engine import WorkRequest
from sim.gather.slots import SharedMemory, Slot
from sim.gather.surroundings.cards_system import CardsParams
from sim.gather.workload import GatherWorkload
from sim.harness.clock import cycle
from sim.harness.in_simulator import params_in_simulator, report, workload_in_simulator


@cocotb.test()
async def gather(dut: Any) -> None:
    """Carry out a work request on each card, all at once, and dump device memories behind it."""
    params = params_in_simulator(CardsParams)
    requested = workload_in_simulator(GatherWorkload)
    requests = pickle.loads(Path(REQUESTS).read_bytes())  # in the folder of the run
    memory = SharedMemory(Path(HOST), requested.memory_gigabytes * 1e9)
    cards = [CardDriver(Slot(dut, 0), params.card, memory)]
    others = range(1, params.cards)
    cards += [CardDriver(Slot(dut, k), params.card, beside=cards[0]) for k in others]
    for card in cards:
        await card.begin()
        await card.registers.write(most_reads=requested.most_reads, share=requested.share_code)
    tasks = [cocotb.start_soon(carry_out(*each)) for each in zip(cards, requests, strict=True)]
    result = [await task for task in tasks]
    first = min(item["begun"] for item in result)
    for item in result:
        item["begun"] -= first
    for card in cards:
        card.dut.dump.value = 1
    await ClockCycles(dut.clk, 4)
    for number, request in enumerate(requests):
        if request.posted:
            end = request.destination + request.count * request.table.row_bytes + GUARD
            rows = bytes(memory.mem[request.destination : end])
            Path(DUMP.format(number)).write_bytes(rows)
    report(result)


async def carry_out(card: CardDriver, request: WorkRequest) -> dict[str, Any]:
    """Carry a request out; return the cycle of its begin, and the counters."""
    await card.describe(request)
    await card.registers.write(submit=1)
    begun = cycle()
    completion = await card.completed(request)
    assert completion["outcome"] == Outcome.DONE, completion
    return {"begun": begun, "counters": await card.counters()}
