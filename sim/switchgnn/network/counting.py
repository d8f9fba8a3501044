"""Reads, as a network's host, what its hardware has counted, and adds up what its parts have."""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cocotb.triggers import gather

from hdl.switchgnn.protocol import Kind, frame_bytes
from sim.harness.streams import cycle
from sim.switchgnn.job import SWITCH
from sim.switchgnn.network.network_host import NetworkHost
from sim.switchgnn.network.requests import Counted, Counters
from sim.switchgnn.switch_program import GnnSwitchProgram

SENT = tuple(Kind[name] for name in ("FEATURE", "PARTIAL", "RAW", "FETCH", "RAWFETCH", "DONE"))
#: Counters of a worker that are read for every row of a training; others are read at its end.
OF_WORKERS = ("cycles", "halvings", "sent_again", *(f"sent_{kind.name.lower()}" for kind in SENT))


async def counted(host: NetworkHost, every: bool = False) -> Counted:
    """Return what members have counted since reset; of workers ``every`` counter, or OF_WORKERS.

    What links have counted is read in a cycle that is the same for all parts.
    """
    names = () if every else (OF_WORKERS,)
    *workers, switches = await gather(
        *(worker.counters(*names) for worker in host.workers),
        gather(*map(of_switch, host.switches.values())),
    )
    await host.meet()
    dut = host.dut
    return Counted(
        workers=dict(zip(host.members.workers, workers, strict=True)),
        switches=dict(zip(host.switches, switches, strict=True)),
        frames=int(dut.frames.value),
        lost=int(dut.lost.value),
        background=int(dut.background.value),
        cycles=cycle(),
        sums=host.sums,
        planned_bytes=host.planned_bytes,
        seconds=time.process_time(),
    )


async def of_switch(switch: GnnSwitchProgram) -> dict[str, Any]:
    """Return the counters of a switch, and of its ports."""
    counters = await switch.counters()
    return {"switch": counters, "ports": [*(await switch.port_counters()).values()]}


def counters_of(parts: Sequence[Counted], lanes: int) -> Counters:
    """Return the counts of COUNTERS, and all counters, fit for JSON, from those of all parts.

    Those of several switches are in ``switches``, by their names.
    """
    workers = [counts for part in parts for counts in part.workers.values()]
    switches = {name: counts for part in parts for name, counts in part.switches.items()}
    frames, lost, background = (
        sum(getattr(part, name) for part in parts) for name in ("frames", "lost", "background")
    )
    totals = [each["switch"] for each in switches.values()]
    ports = [port for each in switches.values() for port in each["ports"]]
    results = sum(port["results"] for port in ports)
    sent = {kind: sum(w[f"sent_{kind.name.lower()}"] for w in workers) for kind in SENT}
    sent[Kind.RESULT] = results
    sent[Kind.RAW] += sum(port["raws"] for port in ports)
    sent[Kind.PARTIAL] += sum(port.get("partials", 0) for port in ports)
    sent[Kind.ACK] = frames - sum(sent.values())  # with other control frames, which are as long
    again = sum(worker["sent_again"] + worker["sent_fetch"] for worker in workers)
    again += sum(port.get("partials_again", 0) for port in ports)
    counts = Counter(
        frames=frames,
        bytes=sum(count * frame_bytes(kind, lanes) for kind, count in sent.items()),
        planned_bytes=parts[0].planned_bytes,
        lost=lost,
        repeats=again + results - sum(part.sums for part in parts),
        rows=sum(total["rows"] for total in totals),
        additions=sum(total["additions"] for total in totals),
        turns=totals[0]["turns"],
        marks=sum(port["marks"] for port in ports),
        halvings=sum(worker["halvings"] for worker in workers),
        cycles=max(worker["cycles"] for worker in workers),
    )
    details = {
        "simulated_cycles": parts[0].cycles,
        "background_beats": background,
        "workers": workers,
        **switches.get(SWITCH, {"switches": switches}),
    }
    return Counters(counts=dict(counts), details=details | parts[0].findings)
