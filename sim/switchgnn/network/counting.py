"""Reads, as a network's host, what its hardware has counted."""

from collections import Counter
from typing import Any

from cocotb.triggers import gather

from hdl.switchgnn.protocol import Kind, frame_bytes
from sim.harness.streams import cycle
from sim.switchgnn.job import SWITCH
from sim.switchgnn.network.network_host import NetworkHost

SENT = tuple(Kind[name] for name in ("FEATURE", "PARTIAL", "RAW", "FETCH", "RAWFETCH", "DONE"))
#: Counters of a worker that are read for every row of a training; others are read at its end.
OF_WORKERS = ("cycles", "halvings", "sent_again", *(f"sent_{kind.name.lower()}" for kind in SENT))


async def counts(host: NetworkHost) -> Counter[str]:
    """Return the counts of COUNTERS since reset, from counters in hardware."""
    switches = host.switches.values()
    totals = [await switch.counters() for switch in switches]
    ports = [port for switch in switches for port in (await switch.port_counters()).values()]
    workers = await gather(*(worker.counters(OF_WORKERS) for worker in host.workers))
    results = sum(port["results"] for port in ports)
    sent = {kind: sum(w[f"sent_{kind.name.lower()}"] for w in workers) for kind in SENT}
    sent[Kind.RESULT] = results
    sent[Kind.RAW] += sum(port["raws"] for port in ports)
    sent[Kind.PARTIAL] += sum(port.get("partials", 0) for port in ports)
    frames, lanes = int(host.dut.frames.value), host.params.switch.lanes
    sent[Kind.ACK] = frames - sum(sent.values())  # with other control frames, which are as long
    again = sum(worker["sent_again"] + worker["sent_fetch"] for worker in workers)
    again += sum(port.get("partials_again", 0) for port in ports)
    return Counter(
        frames=frames,
        bytes=sum(count * frame_bytes(kind, lanes) for kind, count in sent.items()),
        planned_bytes=host.planned_bytes,
        lost=int(host.dut.lost.value),
        repeats=again + results - host.sums,
        rows=sum(total["rows"] for total in totals),
        additions=sum(total["additions"] for total in totals),
        turns=totals[0]["turns"],
        marks=sum(port["marks"] for port in ports),
        halvings=sum(worker["halvings"] for worker in workers),
        cycles=max(worker["cycles"] for worker in workers),
    )


async def details(host: NetworkHost) -> dict[str, Any]:
    """Return all counters of switches, ports and workers since reset, fit for JSON.

    Those of several switches are in ``switches``, by their names.
    """
    workers = await gather(*(worker.counters() for worker in host.workers))
    switches = {
        name: {
            "switch": await switch.counters(),
            "ports": [*(await switch.port_counters()).values()],
        }
        for name, switch in host.switches.items()
    }
    return {
        "simulated_cycles": cycle(),
        "background_beats": int(host.dut.background.value),
        "workers": workers,
        **switches.get(SWITCH, {"switches": switches}),
    }
