"""Brings HBM into the core's clock: a bus for each port that a design uses."""

from amaranth.hdl import ClockSignal, Const, Module, ResetSignal, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.crossing.crossing import inside
from hdl.common.crossing.synchroniser import Synchroniser
from hdl.common.params import Params
from hdl.u280.hbm_ip import (
    ADDRESS_BITS,
    CHANNEL_BITS,
    HBM_BUS,
    PORTS,
    axi_wires,
    enabled_ports,
    hbm_ip,
)
from hdl.u280.hbm_port import HbmPort, HbmPortParams

STACKS = 2
TEMPERATURE_BITS = 7


class HbmParams(Params):
    """Says which ports are in use, and for what."""

    ports: tuple[tuple[int, HbmPortParams], ...]  #: numbers, 0..31, rising, and sizes

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers = [number for number, _ in self.ports]
        if numbers != sorted(set(numbers)) or not numbers:
            raise ValueError(
                f"ports must be one or more different numbers in rising order: {numbers}"
            )
        if not 0 <= numbers[0] <= numbers[-1] < PORTS:
            raise ValueError(f"ports must be from 0 to {PORTS - 1}: {numbers}")

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: each kind of port, behind a bit for each number."""
        masks: dict[str, int] = {}
        for number, port in self.ports:
            masks[port.suffix] = masks.get(port.suffix, 0) | 1 << number
        return "_".join(f"{mask:x}x{kind}" for kind, mask in masks.items())

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of the ports in use."""
        return tuple(number for number, _ in self.ports)


class Hbm(Component):
    """Bus ``port_<n>`` is HBM's port n, in the core's clock (:class:`HbmPort`).

    A bus of 28 address bits sees the 256 MB that lie nearest to its port, from byte 0; one of 33
    bits sees all 8 GB. ``complete``, in the set-up's clock, says that HBM is ready; the reset of
    domain ``hbm`` must last until then, so that no burst is taken before. ``reset`` is that of the
    IP's ports. ``hot`` is high when a stack is so hot that it may be damaged: it must reach the
    card's pin. ``temperature`` of each stack, in degrees; one that changes just now may read wrong.
    """

    domains = ("sync", "hbm", "apb")

    def __init__(self, params: HbmParams) -> None:
        self.ip = hbm_ip(params.numbers)
        self.vendor_ips = (self.ip,)
        level = Synchroniser.sized(shape=TEMPERATURE_BITS)
        self.crossings = (
            *(
                c
                for n, port in params.ports
                for c in inside(f"path_{n}", HbmPort(port).crossings, {})
            ),
            *(c for k in range(STACKS) for c in inside(f"degrees_{k}", level.crossings, {})),
        )
        super().__init__(
            params,
            {f"port_{number}": In(port.axi) for number, port in params.ports}
            | {
                "reset": In(1),
                "complete": Out(1),
                "hot": Out(1),
                "temperature": Out(TEMPERATURE_BITS).array(STACKS),
            },
        )

    def build(self, m: Module) -> None:
        buses = {n: HBM_BUS.create(path=(f"hbm_{n}",)) for n in self.params.numbers}
        for number, port in self.params.ports:
            m.submodules[f"path_{number}"] = path = HbmPort(port)
            connect(m, flipped(getattr(self, f"port_{number}")), path.axi)
            connect(m, path.hbm, flipped(buses[number]))
            m.d.comb += path.base.eq(Const(number << CHANNEL_BITS, ADDRESS_BITS))
        complete = Signal(STACKS)
        hot = Signal(STACKS)
        wires = {}
        for stack in range(STACKS):
            level = Synchroniser.sized(shape=TEMPERATURE_BITS)
            m.submodules[f"degrees_{stack}"] = level
            m.d.comb += self.temperature[stack].eq(level.o)
            wires |= {
                f"HBM_REF_CLK_{stack}": ClockSignal("apb"),
                f"APB_{stack}_PCLK": ClockSignal("apb"),
                f"APB_{stack}_PRESET_N": ~ResetSignal("apb"),
                f"apb_complete_{stack}": complete[stack],
                f"DRAM_{stack}_STAT_CATTRIP": hot[stack],
                f"DRAM_{stack}_STAT_TEMP": level.i,
            }
        for number in enabled_ports(self.params.numbers):
            wires |= axi_wires(number, ClockSignal("hbm"), self.reset, buses.get(number))
        m.submodules.ip = self.ip.place(**wires)
        # A register, as it goes to other clocks, where a gate's pulse could be taken for a level.
        ready = Signal(reset_less=True)
        m.d.apb += ready.eq(complete.all())
        m.d.comb += [self.complete.eq(ready), self.hot.eq(hot.any())]
