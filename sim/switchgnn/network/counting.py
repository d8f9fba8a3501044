"""Reads, as a network's host, what its hardware has counted."""

from collections import Counter
from typing import Any

from cocotb.triggers import gather

from hdl.switchgnn.protocol import Kind, frame_bytes
from sim.harness.streams import cycle
from sim.switchgnn.network.network_host import NetworkHost

SENT = tuple(Kind[name] for name in ("FEATURE", "PARTIAL", "RAW", "FETCH", "RAWFETCH", "DONE"))
#: Counters of a worker that are read for every row of a training; others are read at its end.
OF_WORKERS = ("cycles", "halvings", "sent_again", *(f"sent_{kind.name.lower()}" for kind in SENT))


async def counts(host: NetworkHost) -> Counter[str]:
    """Return the counts of COUNTERS since reset, from counters in hardware."""
    totals = await host.switch.counters()
    ports = [*(await host.switch.port_counters()).values()]
    workers = await gather(*(worker.counters(OF_WORKERS) for worker in host.workers))
    results = sum(port["results"] for port in ports)
    sent = {kind: sum(w[f"sent_{kind.name.lower()}"] for w in workers) for kind in SENT}
    sent[Kind.RESULT] = results
    sent[Kind.RAW] += sum(port["raws"] for port in ports)
    frames, lanes = int(host.dut.frames.value), host.params.switch.lanes
    sent[Kind.ACK] = frames - sum(sent.values())  # with ADVANCEs, which are as long
    again = sum(worker["sent_again"] + worker["sent_fetch"] for worker in workers)
    return Counter(
        frames=frames,
        bytes=sum(count * frame_bytes(kind, lanes) for kind, count in sent.items()),
        planned_bytes=host.planned_bytes,
        lost=int(host.dut.lost.value),
        repeats=again + results - host.sums,
        rows=totals["rows"],
        additions=totals["additions"],
        turns=totals["turns"],
        marks=sum(port["marks"] for port in ports),
        halvings=sum(worker["halvings"] for worker in workers),
        cycles=max(worker["cycles"] for worker in workers),
    )


async def details(host: NetworkHost) -> dict[str, Any]:
    """Return all counters of switch, ports and workers since reset, fit for JSON."""
    workers = await gather(*(worker.counters() for worker in host.workers))
    return {
        "simulated_cycles": cycle(),
        "background_beats": int(host.dut.background.value),
        "switch": await host.switch.counters(),
        "ports": [*(await host.switch.port_counters()).values()],
        "workers": workers,
    }
