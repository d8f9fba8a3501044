"""Measures rates, loss and latency of forwarding switches of 2 to 16 ports, by frame length."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from hdl.common.packets import BEAT_BYTES
from hdl.switch.forwarding.params import ForwardingParams
from sim.bench.limits import Limit, Row
from sim.forwarding.in_simulator import AROUND_BYTES, FCS_BYTES, LINE_BITS
from sim.forwarding.session import ForwardingSession, ForwardingWorkload

SHORT = (*range(64, 81), *range(88, 161, 8))  #: bytes of frames, with checksum
LONG = (256, 512, 1024, 1518, 9216)
STANDARD = (64, 80, 1518, 9216)
PORTS = {2: SHORT + LONG, 8: STANDARD, 16: STANDARD}
BYTES = 60_000  #: bytes that each port sends for a row, at least 16 frames


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Measure each length between pairs of ports, and from all ports to all others in turn."""
    result = []
    for ports, lengths in PORTS.items():
        params = ForwardingParams(ports=ports)
        progress(f"simulator of {ports} ports")
        simulator = ForwardingSession.build(params)
        for length in lengths:
            for mesh in (False, True) if ports > 2 else (False,):
                progress(f"{ports} ports, {length} bytes")
                requested = ForwardingWorkload(
                    length=length, frames=max(16, min(400, BYTES // length)), mesh=mesh
                )
                session = ForwardingSession(params, requested)
                with tempfile.TemporaryDirectory() as folder:
                    result.append(
                        row(ports, requested, session.run(simulator, Path(folder)).figures)
                    )
    return result


def row(ports: int, requested: ForwardingWorkload, figures) -> Row:
    """Return the share of the links' rate; between pairs it is what a beat a cycle can carry."""
    beats = -(-(requested.length - FCS_BYTES) // BEAT_BYTES)
    most = min(1.0, 8 * (requested.length + AROUND_BYTES) / LINE_BITS / beats)
    pattern = "all to all" if requested.mesh else "pairs"
    return Row(
        what=f"{ports} ports, {requested.length} bytes, {pattern}",
        value=figures["line_share"],
        unit="of 100 Gb/s",
        limit=None if requested.mesh else Limit(most * 0.995, at_least=True),
        note=f"loss {figures['loss']:.2%}, latency {figures['least_latency']} to"
        f" {figures['most_latency']} cycles; {most:.3f} is the most at a beat a cycle",
    )
