"""Aggregations on a simulated network, inside the simulator: it does what it is asked to."""

import os
from multiprocessing.connection import Client, Connection
from typing import Any

import cocotb

from sim.harness.session import RunFailed
from sim.harness.verilator import params_in_simulator
from sim.switchgnn.network.network_host import NetworkHost, Plans
from sim.switchgnn.network.requests import JOB, Aggregate, Answer, Begin, Plan


@cocotb.test()
async def serve(dut: Any) -> None:
    """Answer requests until nobody is there to ask; no time passes in between."""
    with Client(os.environ[JOB]) as asked:
        first: Begin = asked.recv()
        host = NetworkHost(dut, params_in_simulator(), first.open_turns)
        await host.begin(first.links)
        plans: dict[int, Plans] = {}
        while (request := heard(asked)) is not None:
            if isinstance(request, Plan):
                plans[request.number] = request.jobs
            else:
                asked.send(await answer(host, plans, request))


def heard(asked: Connection) -> Any:
    """The next request; None if there will be no more."""
    try:
        return asked.recv()
    except EOFError:
        return None


async def answer(host: NetworkHost, plans: dict[int, Plans], request: Aggregate) -> Answer:
    """The sums and what was counted, or why there are none."""
    try:
        sums = await host.aggregate(plans[request.number], request.features)
    except RunFailed as failure:
        return Answer(failure=str(failure))
    return Answer(sums=sums, counts=await host.counts())
