"""Describes what a top of the board tells those who build it, and what all tops have."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import (
    Cat,
    ClockDomain,
    ClockSignal,
    Const,
    DomainRenamer,
    Module,
    Mux,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib.wiring import In, Out

from hdl.common.axi import AxiLiteSignature
from hdl.common.axi_guard import AxiGuardParams
from hdl.common.component import Component
from hdl.common.core_clock import CORE_MHZ
from hdl.common.crossing.axi_crossing import AxiCrossing
from hdl.common.crossing.count_crossing import WAITING_BITS
from hdl.common.crossing.crossing import Crossing, inside
from hdl.common.crossing.reset_synchroniser import ResetSynchroniser, ResetSynchroniserParams
from hdl.common.crossing.synchroniser import Synchroniser, SynchroniserParams
from hdl.common.packets import BEAT, to_axis, to_stream, to_transmitter
from hdl.common.stream_pipeline import StreamPipeline, StreamPipelineParams
from hdl.common.wire_pipeline import WirePipeline, WirePipelineParams
from hdl.u280.axi_wires import connect_bus
from hdl.u280.board_status import BoardStatus
from hdl.u280.clock_ip import APB_MHZ, BOARD_CLOCKS, HBM_MHZ, core_clock
from hdl.u280.cmac_ip import LANES, MAC_MHZ, REFCLK_MHZ
from hdl.u280.hbm import Hbm
from hdl.u280.interrupt_request import InterruptRequest
from hdl.u280.mac import BY_PRIORITY, PAUSE_LEVELS, Mac, MacParams
from hdl.u280.mac_resets import MacResetsParams
from hdl.u280.mac_signals import CUTS, LEVELS
from hdl.u280.pcie import PINS, Link, RegisterLink
from hdl.u280.pcie_ip import USER_MHZ

SLR_STAGES = 5  #: registers on the way between the core and the network, two SLRs apart
PACKET_PATH = StreamPipelineParams(shape=BEAT, stages=SLR_STAGES)
RESET_PATH = WirePipelineParams(shape=1, stages=SLR_STAGES)
MAC_LEVELS = SynchroniserParams(shape=LEVELS)


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Names a clock of the board."""

    name: str  #: name of the clock, as crossings say it
    mhz: float
    port: str = ""  #: port of the top at which it comes in
    pin: str = ""  #: instance path and output of the IP that makes it
    made_by: str = ""  #: IP whose own constraints create it at ``port``; no others may do so

    def __post_init__(self) -> None:
        if bool(self.port) == bool(self.pin):
            raise ValueError(f"clock {self.name} must have either a port or a pin")

    @property
    def period(self) -> float:
        """Return the length of a cycle, in ns."""
        return 1000 / self.mhz


@dataclass(frozen=True, kw_only=True)
class SlrPath:
    """Names a ``StreamPipeline`` between SLRs; its registers may be placed on the way."""

    path: str  #: path of the instance
    stages: int
    wires: int  #: number of wires that are registered, one way and back
    source: str  #: what stands at its ``i``: an instance of the top
    target: str  #: what stands at its ``o``


#: a reset lasts until nothing is left on the ways between SLRs that it found there
RESET = ResetSynchroniserParams(stages=2 * SLR_STAGES + 2)
#: clocks beside the cages, which have resets of their own there
IN_CAGES = {"sync": "cages", "apb": "cages_apb"}


class Board(Component):
    """Places a design on an Alveo U280: PCI Express, clocks, cages, and the pins of all that.

    The core's clock, ``core_mhz``, comes of the card's own oscillator, as do ``hbm``, 450 MHz, and
    ``apb``, 100 MHz; PCI Express gives ``pcie``, 250 MHz, and each cage its own. What the host has
    begun ends at the crossing when it resets PCI Express or goes away (:class:`AxiCrossing`). With
    ``resets_with_host`` that resets the core as well: workers and endpoints, whose jobs the host
    drives. A switch works on, and its registers are as they were when the link is back. A design
    that requests data of the host must be reset with the requests under way, and is in the clock
    of PCI Express: ``own_clock`` is off. A clock's reset is released in its time; the cages, two
    SLRs away, have resets of their own, that of the core's clock by way of registers.

    For those who build it: ``vendor_ips`` to be made and ``primitives`` that exist, ``clocks``,
    ``crossings`` with the constraint of each, ``slr_crossings`` between SLRs.
    """

    domains = ()
    primitives = Link.primitives
    mac_resets = MacResetsParams()  #: shorter times are for simulations alone
    core_mhz: float = CORE_MHZ  #: clock of the core (:func:`core_clock`)
    own_clock = True  #: whether the core has a clock of its own, else that of PCI Express
    resets_with_host = True  #: whether a reset of PCI Express resets the core
    status = True  #: whether the board has registers (:meth:`add_status`)

    def __init__(
        self,
        params: Any,
        link: Any,
        cages: Iterable[int] = (),
        *,
        flow: str = "none",
        memory: Hbm | None = None,
    ) -> None:
        self.link = link
        self.core_clock = core_clock(self.core_mhz)
        self.buses = crossed(link) if self.own_clock else {}
        sizes: dict[str, Any] = BY_PRIORITY if flow == "priorities" else {}
        self.cages = tuple(
            MacParams(cage=cage, flow=flow, resets=self.mac_resets, **sizes) for cage in cages
        )
        self.memory = memory
        macs = [Mac(cage) for cage in self.cages]
        parts = [link, *macs, *([memory] if memory else [])]
        own_ips = (BOARD_CLOCKS, *([self.core_clock] if self.own_clock else []))
        self.vendor_ips = (*own_ips, *(ip for part in parts for ip in part.vendor_ips))
        self.clocks = (
            Clock(name="oscillator", mhz=APB_MHZ, port="clk_100mhz_0_p", made_by=BOARD_CLOCKS.name),
            Clock(name="pcie_refclk", mhz=100.0, port="pcie_refclk_1_p"),
            *self.core_clocks(),
            Clock(name="apb", mhz=APB_MHZ, pin="board_clocks/clk_out2"),
            *([Clock(name="hbm", mhz=HBM_MHZ, pin="board_clocks/clk_out1")] if memory else []),
            *(clock for cage in self.cages for clock in cage_clocks(cage)),
        )
        reset = ResetSynchroniser(RESET).crossings
        level = Synchroniser.sized().crossings
        levels = Synchroniser(MAC_LEVELS).crossings
        pauses = Synchroniser(PAUSE_LEVELS).crossings
        resets = {"sync": "sync", "apb": "apb"}
        resets |= {"cages_apb": "apb"} if self.cages else {}
        resets |= {"hbm": "hbm", "hbm_ports": "hbm"} if memory else {}
        resets |= {"pcie": "pcie"} if self.buses else {}
        to_core = {"manager": "pcie"}
        self.crossings: tuple[Crossing, ...] = (
            *(
                crossing
                for name, clock in resets.items()
                for crossing in inside(f"{name}_reset", reset, {"sync": clock})
            ),
            *(
                crossing
                for name, bus in self.buses.items()
                for crossing in inside(name, AxiCrossing(bus).crossings, to_core)
            ),
            *(inside("interrupt_level", level, {"sync": "pcie"}) if self.buses else ()),
            *(crossing for mac in macs for crossing in inside(mac.clock, mac.crossings, {})),
            *(inside("memory", memory.crossings, {}) if memory else ()),
            *(inside("memory_level", level, {}) if memory and self.status else ()),
            *(
                crossing
                for mac in macs
                for crossing in inside(f"levels_of_{mac.clock}", levels, {})
            ),
            *(
                crossing
                for mac in macs
                if mac.params.held
                for crossing in inside(f"pauses_of_{mac.clock}", pauses, {})
            ),
        )
        self.slr_crossings = tuple(
            SlrPath(path=name, stages=path.stages, wires=path.wires, source=source, target=target)
            for mac in macs
            for name, path, source, target in slr_ways(mac)
        )
        super().__init__(params, pins(self.cages))

    @classmethod
    def clocked(cls, core_mhz: float) -> type[Any]:
        """Return this board with another clock of the core; ValueError if that is PCI Express's."""
        if not cls.own_clock:
            raise ValueError(f"core_mhz must be {USER_MHZ}, as the core has PCI Express's clock")
        same = {name: getattr(cls, name) for name in ("__doc__", "__module__")}
        return type(cls.__name__, (cls,), same | {"core_mhz": core_mhz})

    def begin(self, m: Module) -> None:
        """Add clocks, resets, PCI Express as ``link``, and ``memory``."""
        in_cages = IN_CAGES if self.cages else {}
        for name in ("sync", "apb", *in_cages.values(), *(["hbm"] if self.memory else [])):
            m.domains += ClockDomain(name, local=True)
        locked = Signal()
        m.submodules.board_clocks = BOARD_CLOCKS.place(
            clk_in1_p=self.clk_100mhz_0_p,
            clk_in1_n=self.clk_100mhz_0_n,
            clk_out1=ClockSignal("hbm") if self.memory else Signal(name="unused_clock"),
            clk_out2=ClockSignal("apb"),
            locked=locked,
        )
        self.add_link(m, locked)
        self.add_reset(m, "apb", ~locked)
        if self.cages:
            self.add_reset(m, "cages_apb", ~locked)
            m.submodules.reset_to_cages = path = WirePipeline(RESET_PATH)
            m.d.comb += [
                path.i.eq(ResetSignal("sync")),
                ResetSignal("cages").eq(path.o),
                *(ClockSignal(far).eq(ClockSignal(near)) for near, far in IN_CAGES.items()),
            ]
        if self.memory:
            m.submodules.memory = self.memory
            self.add_reset(m, "hbm", ~(locked & self.memory.complete))
            m.d.comb += [
                self.memory.reset.eq(self.reset_of(m, "hbm_ports", "hbm", ~locked)),
                self.hbm_cattrip.eq(self.memory.hot),
            ]

    def core_clocks(self) -> list[Clock]:
        """List the clocks of the core and of PCI Express, which may be the same."""
        user = f"pcie/{self.link.clock}"
        if not self.own_clock:
            return [Clock(name="sync", mhz=self.core_mhz, pin=user)]
        own = Clock(name="sync", mhz=self.core_mhz, pin=f"{self.core_clock.name}/clk_out1")
        return [own, Clock(name="pcie", mhz=USER_MHZ, pin=user)]

    def add_link(self, m: Module, locked: Value) -> None:
        """Add PCI Express, and the clock and reset of the core."""
        link = self.link
        m.d.comb += [
            link.refclk_p.eq(self.pcie_refclk_1_p),
            link.refclk_n.eq(self.pcie_refclk_1_n),
            link.reset_n.eq(self.pcie_reset_n),
            link.rx_p.eq(self.pcie_rx_p),
            link.rx_n.eq(self.pcie_rx_n),
            self.pcie_tx_p.eq(link.tx_p),
            self.pcie_tx_n.eq(link.tx_n),
        ]
        if not self.own_clock:
            m.submodules.pcie = link
            m.d.comb += ClockSignal("sync").eq(link.user_clk)
            self.add_reset(m, "sync", link.user_reset)
            return
        m.domains += ClockDomain("pcie", local=True)
        m.submodules.pcie = DomainRenamer("pcie")(link)
        m.d.comb += ClockSignal("pcie").eq(link.user_clk)
        self.add_reset(m, "pcie", link.user_reset)
        core_locked = Signal()
        m.submodules[self.core_clock.name] = self.core_clock.place(
            clk_in1=ClockSignal("apb"),
            reset=~locked,
            clk_out1=ClockSignal("sync"),
            locked=core_locked,
        )
        host = link.user_reset if self.resets_with_host else 0
        self.add_reset(m, "sync", ~core_locked | host)

    def of_link(self, m: Module, name: str) -> Any:
        """Return a bus of the link, of which it is the manager, in the core's clock."""
        bus = buses_of(self.link)[name]
        if name not in self.buses:
            return bus
        crossing = AxiCrossing(self.buses[name])
        m.submodules[name] = DomainRenamer({"manager": "pcie"})(crossing)
        connect_bus(m, bus, crossing.i)
        return crossing.o

    def reset_of(self, m: Module, name: str, domain: str, cause) -> Signal:
        """Return ``cause`` as a reset that ``domain`` can use, by an instance ``<name>_reset``."""
        synchroniser = ResetSynchroniser(RESET)
        m.submodules[f"{name}_reset"] = DomainRenamer(domain)(synchroniser)
        m.d.comb += synchroniser.i.eq(cause)
        return synchroniser.reset

    def add_reset(self, m: Module, domain: str, cause) -> None:
        """Add the reset of a clock domain."""
        m.d.comb += ResetSignal(domain).eq(self.reset_of(m, domain, domain, cause))

    def add_cage(self, m: Module, cage: MacParams) -> Mac:
        """Add a cage's MAC and its pins; :meth:`send` and :meth:`take` wire its streams."""
        mac = Mac(cage)
        m.submodules[mac.clock] = DomainRenamer(IN_CAGES)(mac)
        k = cage.cage

        def pin(name: str):
            return getattr(self, f"qsfp{k}_{name}")

        m.d.comb += [
            mac.refclk_p.eq(pin("mgt_refclk_1_p")),
            mac.refclk_n.eq(pin("mgt_refclk_1_n")),
            mac.rx_p.eq(pin("rx_p")),
            mac.rx_n.eq(pin("rx_n")),
            pin("tx_p").eq(mac.tx_p),
            pin("tx_n").eq(mac.tx_n),
            pin("refclk_oe_b").eq(Const(0, 1)),
            pin("refclk_fs").eq(Const(1, 1)),  # 161.13 MHz
        ]
        return mac

    def add_status(self, m: Module, macs: list[Mac], *, msix: bool = False) -> BoardStatus:
        """Add the board's registers; ``request`` is left to be driven.

        ``msix``: the link is a :class:`hdl.u280.pcie_block.PcieStreams` that sends interrupts.
        """
        m.submodules.board_status = status = BoardStatus.sized(
            cages=len(macs),
            hbm=self.memory is not None,
            flow=next((mac.params.flow for mac in macs), "none"),
            msix=msix,
        )
        connect_bus(m, self.of_link(m, "registers_1"), status.axil)
        interrupt, level = InterruptRequest(), status.irq
        if self.buses:
            crossing = Synchroniser.sized()
            m.submodules.interrupt_level = DomainRenamer("pcie")(crossing)
            m.d.comb += crossing.i.eq(level)
            level = crossing.o
        m.submodules.interrupt = DomainRenamer("pcie" if self.buses else "sync")(interrupt)
        m.d.comb += [
            interrupt.level.eq(level),
            interrupt.ack.eq(self.link.irq_ack),
            self.link.irq.eq(interrupt.request),
        ]
        if msix:
            for name in ("irq_late", "irq_silent"):
                m.d.comb += getattr(status, name).eq(getattr(self.link, name))
        for k, mac in enumerate(macs):
            self.add_mac_status(m, status, k, mac)
        if self.memory:
            level = Synchroniser.sized()
            m.submodules.memory_level = level
            m.d.comb += [
                level.i.eq(self.memory.complete),
                status.memory_ready.eq(level.o),
                *(
                    to.eq(of)
                    for to, of in zip(status.temperature, self.memory.temperature, strict=True)
                ),
            ]
        return status

    def add_mac_status(self, m: Module, status: BoardStatus, k: int, mac: Mac) -> None:
        """Connect what the registers say to a MAC, and what it reports, over the dies between."""
        path = DomainRenamer(IN_CAGES)(StreamPipeline(counts_path(mac)))
        m.submodules[f"counts_of_{mac.clock}"] = path
        m.submodules[f"levels_of_{mac.clock}"] = levels = Synchroniser(MAC_LEVELS)
        arrived = Mux(path.o.valid, path.o.payload, 0)
        m.d.comb += [
            path.i.payload.eq(Cat(mac.counts, mac.cuts)),
            path.i.valid.eq(1),  # it always has room, and needs no logic beside the MAC
            path.o.ready.eq(1),
            Cat(status.counts[k], status.cuts[k]).eq(arrived),
            levels.i.eq(mac.levels),
            status.levels[k].eq(levels.o),
            mac.settings.eq(status.settings[k]),
            mac.demands.eq(status.demands[k]),
        ]

    def hold(self, m: Module, mac: Mac, pause: Value, paused: Value) -> None:
        """Connect the priorities that the core pauses, by registers, and those of the far end."""
        m.submodules[f"pauses_of_{mac.clock}"] = levels = Synchroniser(PAUSE_LEVELS)
        m.d.comb += [
            mac.pause.eq(pause),
            levels.i.eq(mac.paused),
            paused.eq(levels.o),
        ]

    def send(self, m: Module, mac: Mac, index: int, axis) -> None:
        """Send packets of ``axis``, a source, to a MAC's stream, by way of registers."""
        m.submodules[f"to_{mac.clock}_{index}"] = path = StreamPipeline(PACKET_PATH)
        to_transmitter(m, axis, path.i)
        to_axis(m, path.o, mac.transmit[index])

    def take(self, m: Module, mac: Mac, index: int, axis) -> None:
        """Give packets of a MAC's stream to ``axis``, a sink, by way of registers."""
        path = DomainRenamer(IN_CAGES)(StreamPipeline(PACKET_PATH))
        m.submodules[f"of_{mac.clock}_{index}"] = path
        to_stream(m, mac.receive[index], path.i)
        to_axis(m, path.o, axis)


def buses_of(link: Any) -> dict[str, Any]:
    """Return the buses of which a link is the manager, by the names of their crossings."""
    buses = {}
    if isinstance(link, RegisterLink):
        buses |= {f"registers_{k}": bus for k, bus in enumerate(link.registers)}
    memories = ("hbm", "model")
    return buses | {f"dma_{n}": getattr(link, n) for n in memories if hasattr(link, n)}


def crossed(link: Any) -> dict[str, AxiGuardParams]:
    """Return the sizes of the crossings of a link's buses, by name."""
    return {
        name: AxiGuardParams(
            address_bits=bus.signature.address_bits,
            data_bits=len(bus.wdata),
            lite=isinstance(bus.signature, AxiLiteSignature),
        )
        for name, bus in buses_of(link).items()
    }


def check_slr_stages(stages: int) -> None:
    """Raise ValueError if there are too few registers on a design's own ways between SLRs."""
    if stages < 2:
        raise ValueError(
            "slr_stages must be at least 2 on this board, a register on each side of an SLR's"
            f" edge: {stages}"
        )


def counts_path(mac: Mac) -> StreamPipelineParams:
    """Return the registers between SLRs on the way of what a MAC counts."""
    width = WAITING_BITS * len(mac.params.events) + CUTS.size
    return StreamPipelineParams(shape=width, stages=SLR_STAGES)


def slr_ways(mac: Mac) -> list[tuple[str, StreamPipelineParams, str, str]]:
    """List a MAC's registers between SLRs: name, size, and what stands before and behind."""
    return [
        *(
            (f"to_{mac.clock}_{k}", PACKET_PATH, "core", mac.clock)
            for k in range(mac.params.streams)
        ),
        *(
            (f"of_{mac.clock}_{k}", PACKET_PATH, mac.clock, "core")
            for k in range(mac.params.streams)
        ),
        (f"counts_of_{mac.clock}", counts_path(mac), mac.clock, "board_status"),
    ]


def cage_clocks(cage: MacParams) -> tuple[Clock, Clock]:
    """List the clocks of a cage: its reference and its MAC's clock."""
    k = cage.cage
    return (
        Clock(name=f"qsfp{k}_refclk", mhz=REFCLK_MHZ, port=f"qsfp{k}_mgt_refclk_1_p"),
        Clock(name=f"mac_{k}", mhz=MAC_MHZ, pin=f"mac_{k}/cmac/gt_txusrclk2"),
    )


def pins(cages: Iterable[MacParams]) -> dict:
    """List the ports of a top: the card's pins, in the names of constraints/u280/pins.csv."""
    ports = {"clk_100mhz_0_p": In(1), "clk_100mhz_0_n": In(1), "hbm_cattrip": Out(1)}
    names = {"refclk_p": "refclk_1_p", "refclk_n": "refclk_1_n"}
    ports |= {f"pcie_{names.get(name, name)}": pin for name, pin in PINS.items()}
    for cage in cages:
        ports |= {
            f"qsfp{cage.cage}_{name}": pin
            for name, pin in (
                ("mgt_refclk_1_p", In(1)),
                ("mgt_refclk_1_n", In(1)),
                ("rx_p", In(LANES)),
                ("rx_n", In(LANES)),
                ("tx_p", Out(LANES)),
                ("tx_n", Out(LANES)),
                ("refclk_oe_b", Out(1)),
                ("refclk_fs", Out(1)),
            )
        }
    return ports
