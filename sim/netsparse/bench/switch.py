"""Measures rates and latencies of a NetSparse switch alone, by its own counters."""

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from gen.base.settings import make_params
from hdl.netsparse.protocol import Kind
from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.presets import PRESETS
from hdl.netsparse.switch.switch import NetSparseSwitch
from sim.bench.limits import Limit, Row
from sim.netsparse.switch_session import NetSparseSwitchSession, NetSparseSwitchWorkload
from sim.netsparse.wire import max_prs

HARDWARE: NetSparseSwitchParams = make_params(NetSparseSwitchParams, PRESETS["small"])
LEAST_OF_IDEAL = Limit(0.95, at_least=True)
PROPERTY_BYTES = (4, 64, 512)
PACKETS = 200
HEADER_BYTES, PR_BYTES, BEAT_BYTES = 64, 18, 64
MAX_TURNS = 2  #: most crossbars and arbiters on the way
READ_BEATS = 2  #: beats of a packet with one read


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Measure latencies, then rates of one middle pipe, then packets over all ports."""
    progress("simulator of a switch")
    simulator = NetSparseSwitchSession.build(HARDWARE)
    result = []
    for size in PROPERTY_BYTES:
        progress(f"properties of {size} bytes")
        session = NetSparseSwitchSession(
            HARDWARE, NetSparseSwitchWorkload(property_bytes=size, packets=PACKETS)
        )
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            figures = session.run(simulator, Path(folder)).figures
        seconds = time.monotonic() - began
        if size == PROPERTY_BYTES[0]:
            result += latency_rows(figures)
        result += rate_rows(figures, size)
        if size == PROPERTY_BYTES[-1]:
            result += [packet_row(figures)]
            result += [Row(what="RTL", value=figures["cycles"] / seconds, unit="cycles/s")]
    return result


def latency_rows(figures: Mapping[str, float]) -> list[Row]:
    """Compare the latency of a packet of one PR with the sum of its parts' latencies."""
    expected = NetSparseSwitch(HARDWARE).latencies
    return [
        Row(
            what=f"latency: {name}",
            value=figures[f"{name}_latency_cycles"],
            unit="cycles",
            limit=Limit(expected[name] + MAX_TURNS),
            note=f"last beat in to first beat out; {expected[name]} by the parts, and a cycle for"
            " each turn that is passed on",
        )
        for name in ("hit", "read", "response")
    ]


def ideal(kind: Kind, size: int) -> float:
    """Return the ideal PRs a cycle: one, or as many as 64 bytes of packets of the MTU bring."""
    prs = max_prs(kind, size, HARDWARE.mtu)
    each = PR_BYTES + (size if kind is Kind.RESPONSE else 0)
    return prs / max(prs, -(-(HEADER_BYTES + prs * each) // BEAT_BYTES))


def rate_rows(figures: Mapping[str, float], size: int) -> list[Row]:
    """Return PRs a cycle through one middle pipe, as a share of the ideal."""
    kinds = {"read": Kind.READ, "hit": Kind.RESPONSE, "response": Kind.RESPONSE}
    return [
        Row(
            what=f"{name}s of {size} bytes",
            value=figures[f"{name}_prs_per_cycle"] / ideal(kind, size),
            unit="of min(1 PR, 64 B)",
            limit=LEAST_OF_IDEAL,
            note=f"{figures[f'{name}_prs_per_cycle']:.3f} PRs a cycle through a pipe",
        )
        for name, kind in kinds.items()
    ]


def packet_row(figures: Mapping[str, float]) -> Row:
    """Return the rate of packets of one read each, at all ports at once."""
    return Row(
        what="packets of one read",
        value=figures["packets_per_cycle"],
        unit="packets/cycle",
        note=f"{HARDWARE.ports} ports, {HARDWARE.pipes} pipes: each pipe sends one in"
        f" {READ_BEATS} cycles at most",
    )
