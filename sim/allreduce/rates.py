"""Measures the rates at which a switch reduces: at the line's rate, and packets of a beat."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gen.base.emission.emit import module_name
from hdl.allreduce.answer_exit import AnswerExit
from hdl.allreduce.bank_path import BankPath
from hdl.allreduce.port_entry import PortEntry
from hdl.allreduce.switch_params import AllReduceSwitchParams
from sim.allreduce.surroundings.network import (
    LINE_BYTES,
    AllReduceNetwork,
    LinePace,
    NetworkParams,
    PaceParams,
)
from sim.bench.limits import Limit, Row
from sim.golden.reduction.wide_frames import JUMBO, MOST
from sim.harness.measuring import MeasuringSession
from sim.harness.session import Result
from sim.harness.verilate import Build, build
from sim.harness.verilator import emission_of
from sim.harness.workload import Workload, setting
from sim.surroundings.link import Link, LinkParams

PORTS = (2, 4, 8, 16)
LATENCY = 130  #: cycles of a link, one way
#: numbers of a frame: the least share of the line's bits that are numbers, frames under way
LEAST = {2048: (0.99, 32), 256: (0.93, 64), 64: (0.80, 128)}
SHORT, SHORT_SLOTS, SHORT_PORTS = 8, 512, 8  #: of packets of a beat


@dataclass(frozen=True, kw_only=True)
class RateWorkload(Workload):
    """Describes what hosts reduce, all at once."""

    length: int = setting(MOST, "Send so many numbers in a frame.", least=1, most=JUMBO)
    uses: int = setting(6, "Use each slot so many times.", least=1)
    latency: int = setting(LATENCY, "Let links have so many cycles of latency.", least=0)
    line_bytes: int = setting(LINE_BYTES, "Let a line carry so many bytes a cycle.", least=1)
    seed: int = setting(1, "Draw numbers with this seed.", least=0)


class RateSession(MeasuringSession):
    """Measures the shares of numbers on the lines, and packets a cycle by the switch's counters."""

    workload = RateWorkload
    component = AllReduceNetwork
    test_module = "sim.allreduce.rates_in_simulator"
    counted = {
        "sent_share": "of the line's bits are numbers that a host sends, at the slowest host",
        "received_share": "of the line's bits are numbers that come to a host",
        "packets_per_cycle": "of the switch, from its first to its last",
    }

    maximise = ("sent_share", "received_share")

    @classmethod
    def needs(cls, requested: RateWorkload) -> dict[str, int]:
        """Return the numbers of a switch's longest frame, if they are not the usual ones."""
        most = 1 << (requested.length - 1).bit_length()
        return {"most_numbers": most} if most > MOST else {}

    @classmethod
    def check(cls, params: AllReduceSwitchParams, requested: RateWorkload) -> None:
        """Raise ValueError if the switch refuses such frames."""
        if requested.length > (most := params.most_numbers):
            raise ValueError(f"length can be at most most_numbers, {most}: {requested.length}")

    @classmethod
    def hardware(cls, params: AllReduceSwitchParams, requested: RateWorkload) -> NetworkParams:
        """Return the sizes of a network around a switch."""
        return NetworkParams(
            switch=params,
            pace=PaceParams(bytes=requested.line_bytes),
            link=LinkParams(depth=512, beats=params.frames.beats),
        )

    @classmethod
    def build(cls, hardware: NetworkParams) -> Build:
        """Build the simulator; parts that stand at each port or bank are translated once."""
        parts = BankPath, PortEntry, AnswerExit
        names = [module_name(part(hardware.switch)) for part in parts]
        names += [module_name(Link(hardware.link)), module_name(LinePace(hardware.pace))]
        return build(emission_of(AllReduceNetwork(hardware)), hier_blocks=names, optimise=True)

    def result(self, result: Any, clock_hz: float) -> Result:
        """Return the figures; the sums were checked on the way."""
        sent, received = result["shares"]
        rate = result["packets"] / result["cycles"]
        return Result(
            figures={
                "sent_share": sent,
                "received_share": received,
                "packets_per_cycle": rate,
            },
            compared="each host's sums equal those of NumPy",
        )


def figures(switch: AllReduceSwitchParams, **settings: int) -> dict[str, float]:
    """Run a session; return its figures."""
    requested = RateWorkload(**settings)
    session = RateSession(switch, requested)
    with tempfile.TemporaryDirectory() as folder:
        simulator = session.build(session.hardware(switch, requested))
        return dict(session.run(simulator, Path(folder)).figures)


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Measure all ports at once, at the line's rate; then packets of a beat, faster than a line."""
    return [*line_rows(progress), short_row(progress)]


def line_rows(progress: Callable[[str], None]) -> Iterator[Row]:
    """Yield the shares of numbers on lines, in and out."""
    for ports in PORTS:
        for length, (least, slots) in LEAST.items():
            progress(f"{ports} ports, frames of {4 * length} bytes of numbers")
            switch = AllReduceSwitchParams(
                ports=ports, banks=ports, slots=slots, most_numbers=max(length, MOST)
            )
            switch = replace(switch, ingress_depth=max(switch.ingress_depth, switch.lossless_depth))
            result = figures(switch, length=length)
            for name, what in (("sent_share", "in"), ("received_share", "out")):
                yield Row(
                    what=f"{ports} ports, {4 * length} bytes, {what}",
                    value=result[name],
                    unit="of the line",
                    limit=Limit(least, at_least=True),
                    note=f"the slowest host; links of {LATENCY} cycles, {slots} frames under way",
                )


def short_row(progress: Callable[[str], None]) -> Row:
    """Return how many packets of a beat a bank takes in a cycle."""
    progress(f"{SHORT_PORTS} ports, frames of a beat")
    switch = AllReduceSwitchParams(ports=SHORT_PORTS, banks=SHORT_PORTS, slots=SHORT_SLOTS)
    result = figures(switch, line_bytes=1 << 15, length=SHORT, latency=1, uses=12)
    return Row(
        what=f"{SHORT_PORTS} ports, frames of a beat, a bank",
        value=result["packets_per_cycle"] / SHORT_PORTS,
        unit="packets/cycle",
        note="on lines without a limit, by the switch's counters, from first to last packet",
    )
