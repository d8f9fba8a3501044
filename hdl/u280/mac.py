"""A QSFP28 cage: the MAC, and the ways between it and the core."""

from dataclasses import dataclass, field

from amaranth.hdl import Cat, ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.crossing.count_crossing import WAITING_BITS, CountCrossing, CountCrossingParams
from hdl.common.crossing.crossing import inside
from hdl.common.crossing.synchroniser import Synchroniser, SynchroniserParams
from hdl.u280.cmac_ip import LANES, TIED, cmac_ip
from hdl.u280.kind_split import KINDS, KindSplit
from hdl.u280.mac_receive import MacReceive
from hdl.u280.mac_transmit import MacTransmit, MacTransmitParams
from hdl.u280.packets import AXIS

EVENTS = ("dropped", "broken", "foreign")


@dataclass(frozen=True, kw_only=True)
class MacParams:
    """Which cage, and what comes through it."""

    cage: int  #: 0 or 1
    split: bool = False  #: NetSparse's packets are received by kind
    packets: MacTransmitParams = field(default_factory=MacTransmitParams)  #: that wait, each way

    def __post_init__(self) -> None:
        if self.cage not in (0, 1):
            raise ValueError(f"cage must be 0 or 1: {self.cage}")

    @property
    def suffix(self) -> str:
        """Cage, and whether it splits."""
        return f"{self.cage}" + "_split" * self.split

    @property
    def classes(self) -> int:
        """Streams of received packets."""
        return KINDS if self.split else 1


class Mac(Component):
    """Packets of ``transmit`` go out through the cage, those that come in through ``receive``.

    ``receive`` has one stream, or with ``params.split`` one of each kind (:class:`KindSplit`), each
    with a buffer of its own, so that neither kind waits for the other. Packets with a wrong
    checksum, those that find no room and those of no kind are lost; ``counts`` says how many,
    in the order of EVENTS, to be added up in every cycle. ``link`` is high while the far end is
    heard; until then it is told so and nothing else is sent.

    Its MAC's clock is clock ``mac_<cage>``. Throughput: line rate out of ``transmit``; received,
    all that the core takes at 250 MHz, 64 bytes each: packets of 65 bytes back to back exceed it.
    """

    domains = ("sync", "apb")

    def __init__(self, params: MacParams) -> None:
        self.cmac = cmac_ip(params.cage)
        self.vendor_ips = (self.cmac,)
        self.clock = f"mac_{params.cage}"
        events = CountCrossing(CountCrossingParams(kinds=len(EVENTS)))
        receive = MacReceive(params.packets).crossings
        link = Synchroniser(SynchroniserParams()).crossings
        mac = {"mac": self.clock}
        self.crossings = (
            *inside("transmitter", MacTransmit(params.packets).crossings, mac),
            *(c for k in range(params.classes) for c in inside(f"receiver_{k}", receive, mac)),
            *inside("counter", events.crossings, {"write": self.clock, "read": "sync"}),
            *inside("link_level", link, {}),
        )
        super().__init__(
            params,
            {
                "refclk_p": In(1),
                "refclk_n": In(1),
                "rx_p": In(LANES),
                "rx_n": In(LANES),
                "tx_p": Out(LANES),
                "tx_n": Out(LANES),
                "transmit": In(AXIS),
                "receive": Out(AXIS).array(params.classes),
                "counts": Out(WAITING_BITS).array(len(EVENTS)),
                "link": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.domains.transmitting = transmitting = ClockDomain(local=True)
        m.domains.receiving = receiving = ClockDomain(local=True)
        outgoing = AXIS.create(path=("outgoing",))
        incoming = AXIS.create(path=("incoming",))
        clock = Signal()
        aligned = Signal()
        heard = Signal()
        m.submodules.cmac = self.cmac.place(
            gt_ref_clk_p=self.refclk_p,
            gt_ref_clk_n=self.refclk_n,
            gt_rxp_in=self.rx_p,
            gt_rxn_in=self.rx_n,
            gt_txp_out=self.tx_p,
            gt_txn_out=self.tx_n,
            init_clk=ClockSignal("apb"),
            sys_reset=ResetSignal("apb"),
            gt_txusrclk2=clock,
            rx_clk=clock,
            usr_tx_reset=transmitting.rst,
            usr_rx_reset=receiving.rst,
            stat_rx_aligned=aligned,
            ctl_tx_enable=heard,
            ctl_tx_send_rfi=~heard,
            **TIED,
            **{f"tx_axis_{name}": getattr(outgoing, name) for name in AXIS.members},
            **{
                f"rx_axis_{name}": getattr(incoming, name)
                for name in AXIS.members
                if name != "tready"
            },
        )
        m.d.comb += [transmitting.clk.eq(clock), receiving.clk.eq(clock)]
        m.d.transmitting += heard.eq(aligned)
        m.submodules.transmitter = transmitter = DomainRenamer({"mac": "transmitting"})(
            MacTransmit(self.params.packets)
        )
        connect(m, flipped(self.transmit), transmitter.axis)
        connect(m, transmitter.mac, flipped(outgoing))
        m.submodules.link_level = link = Synchroniser(SynchroniserParams())
        m.d.comb += [link.i.eq(heard), self.link.eq(link.o)]
        self.add_receivers(m, incoming)
        return m

    def add_receivers(self, m: Module, incoming) -> None:
        """What comes in: by kind, if so, and whole; and what is lost, counted."""
        params = self.params
        rename = DomainRenamer({"mac": "receiving"})
        receivers = [rename(MacReceive(params.packets)) for _ in range(params.classes)]
        counts = CountCrossing(CountCrossingParams(kinds=len(EVENTS)))
        m.submodules.counter = DomainRenamer({"write": "receiving", "read": "sync"})(counts)
        for k, receiver in enumerate(receivers):
            m.submodules[f"receiver_{k}"] = receiver
            connect(m, receiver.axis, flipped(self.receive[k]))
        foreign = 0
        if params.split:
            m.submodules.kinds = kinds = DomainRenamer("receiving")(KindSplit())
            connect(m, incoming, kinds.mac)
            for o, receiver in zip(kinds.o, receivers, strict=True):
                connect(m, o, receiver.mac)
            foreign = kinds.foreign
        else:
            connect(m, incoming, receivers[0].mac)
        dropped = Cat(receiver.dropped for receiver in receivers)
        broken = Cat(receiver.broken for receiver in receivers)
        m.d.comb += counts.events.eq(Cat(dropped.any(), broken.any(), foreign))
        m.d.comb += [mine.eq(count) for mine, count in zip(self.counts, counts.o, strict=True)]
