"""Runs aggregations on a simulated network, inside the simulator, as it is asked to."""

from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import cocotb

from sim.harness.in_simulator import MEMBERS, from_text
from sim.harness.session import RunFailed
from sim.surroundings.exchange import waiting_elsewhere
from sim.switchgnn.network import counting
from sim.switchgnn.network.members import Members
from sim.switchgnn.network.network_host import NetworkHost, Plans
from sim.switchgnn.network.requests import (
    JOB,
    Aggregate,
    Answer,
    Count,
    Counted,
    Plan,
    ServerAddress,
)


@cocotb.test()
async def serve(dut: Any) -> None:
    """Answer requests until nobody is there to ask; no time passes in between."""
    await served(dut, NetworkHost)


async def served(dut: Any, kind: type[NetworkHost]) -> NetworkHost:
    """Answer requests by a host of this kind, which is returned when nobody is there to ask."""
    members: Members = from_text(MEMBERS)
    server: ServerAddress = from_text(JOB)
    with server.connect() as requested:
        requested.send(members.name)
        host = kind(dut, members.network, requested.recv())
        await host.begin()
        plans: dict[int, Plans] = {}
        while (request := heard(requested)) is not None:
            if isinstance(request, Plan):
                plans[request.number] = request.jobs
            elif isinstance(request, Count):
                tell(requested, await counted(host, request))
            elif isinstance(request, Aggregate):
                tell(requested, await answer(host, plans, request))
            elif (more := await host.answer(request)) is not None:
                tell(requested, more)
    await host.meet(last=True)
    return host


def heard(requested: Connection) -> Any:
    """Wait for the next request and return it; None if there will be no more."""
    with waiting_elsewhere():
        try:
            return requested.recv()
        except EOFError:
            return None


def tell(requested: Connection, result: Any) -> None:
    """Send an answer; whoever takes it may take those of other parts before."""
    with waiting_elsewhere():
        requested.send(result)


async def answer(host: NetworkHost, plans: dict[int, Plans], request: Aggregate) -> Answer:
    """Return the sums, or why there are none."""
    try:
        return Answer(sums=await host.aggregate(plans[request.number], request.features))
    except RunFailed as failure:
        return Answer(failure=str(failure))


async def counted(host: NetworkHost, request: Count) -> Counted:
    """Return the counters that are asked for."""
    result = await counting.counted(host, request.details)
    return replace(result, findings=await host.findings()) if request.details else result
