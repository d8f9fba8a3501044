"""Gathers on the card, and tells the session what its counters say."""

import pickle
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles

from hdl.gather.engine_params import Outcome
from sim.gather.card_driver import CardDriver
from sim.gather.gather_session import HOST, REQUEST
from sim.gather.surroundings.card_system import CardParams
from sim.gather.workload import GatherWorkload
from sim.harness.in_simulator import params_in_simulator, tell, workload_in_simulator


@cocotb.test()
async def gather(dut: Any) -> None:
    """Carry out the one work request, and dump device memory behind it."""
    params = params_in_simulator(CardParams)
    asked = workload_in_simulator(GatherWorkload)
    request = pickle.loads(Path(REQUEST).read_bytes())  # in the folder of the run
    card = CardDriver(dut, params, Path(HOST).read_bytes())
    dut.dump.value = 0
    await card.begin()
    await card.registers.write(most_reads=asked.most_reads)
    await card.submit(request)
    completion = await card.completed(request)
    assert completion["outcome"] == Outcome.DONE, completion
    counters = await card.counters()
    dut.dump.value = 1
    await ClockCycles(dut.clk, 4)
    tell({"counters": counters})
