"""Runs aggregations on a simulated network, inside the simulator, as it is asked to."""

import os
from multiprocessing.connection import Client, Connection
from typing import Any

import cocotb

from sim.harness.session import RunFailed
from sim.harness.verilator import params_in_simulator
from sim.switchgnn.network import counting
from sim.switchgnn.network.network_host import NetworkHost, Plans
from sim.switchgnn.network.requests import JOB, Aggregate, Answer, Count, Counters, Plan


@cocotb.test()
async def serve(dut: Any) -> None:
    """Answer requests until nobody is there to ask; no time passes in between."""
    await served(dut, NetworkHost)


async def served(dut: Any, kind: type[NetworkHost]) -> NetworkHost:
    """Answer requests by a host of this kind, which is returned when nobody is there to ask."""
    with Client(os.environ[JOB]) as requested:
        host = kind(dut, params_in_simulator(), requested.recv())
        await host.begin()
        plans: dict[int, Plans] = {}
        while (request := heard(requested)) is not None:
            if isinstance(request, Plan):
                plans[request.number] = request.jobs
            elif isinstance(request, Count):
                requested.send(await counted(host, request))
            elif isinstance(request, Aggregate):
                requested.send(await answer(host, plans, request))
            elif (more := await host.answer(request)) is not None:
                requested.send(more)
    return host


def heard(requested: Connection) -> Any:
    """Wait for the next request and return it; None if there will be no more."""
    try:
        return requested.recv()
    except EOFError:
        return None


async def answer(host: NetworkHost, plans: dict[int, Plans], request: Aggregate) -> Answer:
    """Return the sums, or why there are none."""
    try:
        return Answer(sums=await host.aggregate(plans[request.number], request.features))
    except RunFailed as failure:
        return Answer(failure=str(failure))


async def counted(host: NetworkHost, request: Count) -> Counters:
    """Return the counters that are asked for."""
    details = await counting.details(host) | await host.findings() if request.details else {}
    return Counters(counts=dict(await counting.counts(host)), details=details)
