"""Connects a QSFP28 cage: the MAC, and the ways between it and the core."""

from dataclasses import field
from typing import Any

from amaranth.hdl import (
    Cat,
    ClockDomain,
    ClockSignal,
    Const,
    DomainRenamer,
    Module,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import count_ones
from hdl.common.component import Component
from hdl.common.crossing.count_crossing import WAITING_BITS, CountCrossing
from hdl.common.crossing.crossing import inside
from hdl.common.crossing.gray_crossing import GrayCrossingParams
from hdl.common.crossing.synchroniser import Synchroniser, SynchroniserParams
from hdl.common.packets import AXIS, PRIORITY_COUNT
from hdl.common.params import Params, choice, whole
from hdl.netsparse.kind_split import KindSplit
from hdl.u280 import flow_control
from hdl.u280.cmac_ip import LANES, RSFEC_CONTROLS, TIED, cmac_ip
from hdl.u280.flow_control import FlowControlParams
from hdl.u280.mac_link import MacLink
from hdl.u280.mac_receive import MacReceive
from hdl.u280.mac_resets import MacResets, MacResetsParams
from hdl.u280.mac_signals import (
    CUTS,
    DEMANDS,
    FEC_LANES,
    FLOWS,
    LEVELS,
    RARE_BITS,
    SETTINGS,
    STATUS,
    Loopback,
    events_of,
)
from hdl.u280.mac_transmit import MacTransmit, MacTransmitParams
from hdl.u280.packet_ledger import PacketLedger
from hdl.u280.pauses import Pauses, PausesParams
from hdl.u280.transmit_repair import TransmitRepair

PAUSE_LEVELS = SynchroniserParams(shape=PRIORITY_COUNT)
#: sizes where the core holds packets by priority: it makes no more packets wait in the MAC's
#: buffer than may leave after a pause; both buffers hold the longest packet
BY_PRIORITY = {
    "link": FlowControlParams(beats=2048, style="block"),
    "packets": MacTransmitParams(beats=256, most=160),
}


class MacParams(Params, suffix="{cage}"):
    """Says which cage it is, and what comes through it."""

    cage: int = whole(0, 1)  #: number of the cage
    #: which classes of packets are paused apart; kinds: each has a stream of its own
    flow: str = choice(*FLOWS, default="none", tag="_{}")
    #: sizes of the link, with flow control
    link: FlowControlParams = field(default_factory=FlowControlParams)
    #: sizes of the buffers of packets that wait, each way
    packets: MacTransmitParams = field(default_factory=MacTransmitParams)
    resets: MacResetsParams = field(default_factory=MacResetsParams)  #: when the MAC is reset

    @property
    def pauses(self) -> PausesParams | None:
        """Return the classes that are paused, and the sizes of the link; None without pauses."""
        return PausesParams(flow=self.flow, link=self.link) if FLOWS[self.flow] else None

    @property
    def streams(self) -> int:
        """Return the number of streams of packets, each way."""
        return self.pauses.streams if self.pauses else 1

    @property
    def held(self) -> bool:
        """Return whether the core holds the classes that are paused, and requests pauses."""
        return self.flow == "priorities"

    @property
    def received(self) -> MacTransmitParams:
        """Return the sizes of the buffer at the receiver, of each stream."""
        if not self.pauses:
            return self.packets
        return MacTransmitParams(beats=self.link.beats, style=self.link.style)

    @property
    def events(self) -> tuple[str, ...]:
        """List the events that are counted."""
        return events_of(self.flow)


class Mac(Component):
    """Sends packets of ``transmit`` through the cage; gives those that come in by ``receive``.

    Each is one stream, or with ``params.flow`` "kinds" one of each class (:class:`KindSplit`), with
    a way and a buffer of its own, so that neither class waits for the other. With a ``flow`` either
    end pauses each class of the other (:class:`Pauses`): if the far end obeys, and the fibre is no
    longer than ``params.link`` says, none finds no room. With "priorities" the core has part in
    that: it holds the priorities of ``paused``, levels of the MAC's clock, and requests pauses by
    ``pause``, levels that come from registers. From the time that it does, at most
    ``params.link.behind`` beats come.

    Without flow control, packets that find no room are lost, as are always those with a wrong
    checksum and those of no kind; ``counts`` says how many, in the order of ``params.events``, to
    be added up in every cycle. Nothing is sent while the far end does not receive it
    (:class:`MacLink`).

    ``settings`` and ``demands`` of the host come from registers of any clock (:class:`MacResets`);
    ``levels`` are registers of the MAC's clock and of ``apb``, to be synchronised. A reset of the
    MAC, whoever asked for it, loses what is inside; whole packets go on after it. ``cuts`` count
    the packets that it lost between core and MAC, to be added up in every cycle. Of those that the
    MAC itself had taken whole it does not say which it has sent: they count as sent.

    Its MAC's clock is clock ``mac_<cage>``. Throughput: line rate out of ``transmit``; received,
    all that the core takes at 250 MHz, 64 bytes each: packets of 65 bytes back to back exceed it.
    """

    domains = ("sync", "apb")

    def __init__(self, params: MacParams) -> None:
        self.cmac = cmac_ip(params.cage, pauses=params.pauses is not None)
        self.vendor_ips = (self.cmac,)
        self.clock = f"mac_{params.cage}"
        events = CountCrossing.sized(kinds=len(params.events))
        receive = MacReceive(params.received).crossings
        transmit = MacTransmit(params.packets).crossings
        levels = Synchroniser(PAUSE_LEVELS).crossings
        mac = {"mac": self.clock}
        self.ledgers = {
            name: GrayCrossingParams(bits=(params.streams * sizes.beats).bit_length() + 2)
            for name, sizes in (("sent", params.packets), ("taken", params.received))
        }
        self.crossings = (
            *(
                c
                for n, p in self.ledgers.items()
                for c in inside(n, PacketLedger(p).crossings, mac)
            ),
            *(c for k in range(params.streams) for c in inside(f"transmitter_{k}", transmit, mac)),
            *(c for k in range(params.streams) for c in inside(f"receiver_{k}", receive, mac)),
            *inside("counter", events.crossings, {"write": self.clock, "read": "sync"}),
            *inside("resets", MacResets(params.resets).crossings, {"sync": "apb"}),
            *(inside("requested", levels, {"sync": self.clock}) if params.held else ()),
        )
        super().__init__(
            params,
            refclk_p=In(1),
            refclk_n=In(1),
            rx_p=In(LANES),
            rx_n=In(LANES),
            tx_p=Out(LANES),
            tx_n=Out(LANES),
            transmit=In(AXIS).array(params.streams),
            receive=Out(AXIS).array(params.streams),
            counts=Out(WAITING_BITS).array(len(params.events)),
            cuts=Out(CUTS),
            levels=Out(LEVELS),
            settings=In(SETTINGS),
            demands=In(DEMANDS),
            **({"pause": In(PRIORITY_COUNT), "paused": Out(PRIORITY_COUNT)} if params.held else {}),
        )

    def build(self, m: Module) -> None:
        m.domains.transmitting = transmitting = ClockDomain(local=True)
        m.domains.receiving = receiving = ClockDomain(local=True)
        outgoing = AXIS.create(path=("outgoing",))
        incoming = AXIS.create(path=("incoming",))
        clock = Signal()
        m.d.comb += [transmitting.clk.eq(clock), receiving.clk.eq(clock)]
        stopped = Signal(2)
        # Resets by registers of their own, which can be copied: a pin of the MAC has a fixed place.
        for domain, reset in zip((transmitting, receiving), stopped, strict=True):
            held = Signal(name=f"{domain.name}_held", init=1, reset_less=True)
            m.d[domain.name] += held.eq(reset)
            m.d.comb += domain.rst.eq(held)
        events = Signal(3)  # of RS-FEC, the last of EVENTS
        m.submodules.cmac = self.cmac.place(
            gt_ref_clk_p=self.refclk_p,
            gt_ref_clk_n=self.refclk_n,
            gt_rxp_in=self.rx_p,
            gt_rxn_in=self.rx_n,
            gt_txp_out=self.tx_p,
            gt_txn_out=self.tx_n,
            init_clk=ClockSignal("apb"),
            gt_txusrclk2=clock,
            rx_clk=clock,
            usr_tx_reset=stopped[0],
            usr_rx_reset=stopped[1],
            stat_rx_rsfec_corrected_cw_inc=events[0],
            stat_rx_rsfec_uncorrected_cw_inc=events[1],
            stat_rx_rsfec_hi_ser=events[2],
            **self.control(m, incoming, outgoing),
            **TIED,
            **self.packets(m, incoming, outgoing, events),
            **{f"tx_axis_{name}": getattr(outgoing, name) for name in AXIS.members},
            **{
                f"rx_axis_{name}": getattr(incoming, name)
                for name in AXIS.members
                if name != "tready"
            },
        )

    def packets(self, m: Module, incoming, outgoing, events) -> dict[str, Any]:
        """Add the ways of packets, and with flow control what the MAC says and hears of pauses."""
        receivers = self.add_receivers(m, incoming)
        counted = Cat(self.lost(m, incoming, receivers), events)
        params = self.params.pauses
        if params is None:
            self.add_transmitters(m, [flipped(outgoing)], outgoing)
            self.add_counter(m, counted)
            return {}
        m.submodules.pauses = pauses = DomainRenamer("transmitting")(Pauses(params))
        self.add_transmitters(m, pauses.i, outgoing)
        connect(m, pauses.mac, flipped(outgoing))
        m.d.comb += [
            used.eq(receiver.used) for used, receiver in zip(pauses.used, receivers, strict=True)
        ]
        if self.params.held:
            requested = DomainRenamer("transmitting")(Synchroniser(PAUSE_LEVELS))
            m.submodules.requested = requested
            m.d.comb += [
                requested.i.eq(self.pause),
                pauses.pause.eq(requested.o),
                self.paused.eq(pauses.paused),
            ]
        self.add_counter(m, Cat(counted, pauses.events))
        buses = ("ctl_tx_pause_req", "stat_rx_pause_req", "ctl_rx_pause_ack")
        wires = {name: getattr(pauses, name) for name in buses}
        return flow_control.TIED | flow_control.enabled(params.classes.values()) | wires

    def control(self, m: Module, incoming, outgoing) -> dict[str, Any]:
        """Add what keeps the MAC running.

        Returns its ports that are not those of packets, and their wires.
        """
        m.submodules.resets = resets = DomainRenamer("apb")(MacResets(self.params.resets))
        m.submodules.link = link = DomainRenamer("transmitting")(MacLink())
        m.submodules.repair = repair = DomainRenamer("transmitting")(TransmitRepair())
        reported = Signal(STATUS)
        status = Signal(STATUS, reset_less=True)
        m.d.transmitting += status.eq(reported)
        happenings = self.levels.happenings
        m.d.comb += [
            link.aligned.eq(reported.aligned),
            link.received.eq(reported.received),
            link.local_fault.eq(reported.local_fault),
            link.remote_fault.eq(reported.remote_fault),
            reported.linked.eq(link.linked),
            reported.transmit_ready.eq(~ResetSignal("transmitting")),
            reported.receive_ready.eq(~ResetSignal("receiving")),
            self.levels.status.eq(status),
            happenings.watchdog.eq(resets.watchdog),
            happenings.underflow.eq(repair.underflow),
            happenings.overflow.eq(repair.overflow),
            resets.aligned.eq(status.aligned),
            resets.demands.eq(self.demands),
            resets.settings.eq(self.settings),
        ]
        loopback = resets.applied.loopback
        code = Cat(loopback == mode for mode in (Loopback.NEAR_END_PCS, Loopback.NEAR_END_PMA))
        locks = {f"stat_rx_rsfec_am_lock{k}": reported.fec_locked[k] for k in range(FEC_LANES)}
        return locks | {
            "sys_reset": resets.whole,
            "gtwiz_reset_tx_datapath": resets.transmit,
            "gtwiz_reset_rx_datapath": resets.receive,
            "gt_loopback_in": Cat(code, Const(0, 1)).replicate(LANES),
            **dict.fromkeys(RSFEC_CONTROLS, resets.applied.rsfec),
            "ctl_tx_enable": link.enable,
            "ctl_tx_send_rfi": link.send_rfi,
            "ctl_tx_send_idle": link.send_idle,
            "core_tx_reset": repair.reset,
            "tx_unfout": repair.unfout,
            "tx_ovfout": repair.ovfout,
            "stat_rx_aligned": reported.aligned,
            "stat_rx_status": reported.received,
            "stat_rx_local_fault": reported.local_fault,
            "stat_rx_remote_fault": reported.remote_fault,
            "stat_rx_block_lock": reported.block_locked,
            "stat_rx_synced": reported.synced,
            "stat_rx_rsfec_lane_alignment_status": reported.fec_aligned,
        }

    def add_ledger(self, m: Module, name: str, domain: str, parts: list) -> Any:
        """Add what counts the packets that a reset of ``domain`` loses on their way."""
        ledger = DomainRenamer({"mac": domain})(PacketLedger(self.ledgers[name]))
        m.submodules[name] = ledger
        m.d.comb += ledger.runs.eq(Cat(part.runs for part in parts).any())
        return ledger

    def add_transmitters(self, m: Module, ways, outgoing) -> None:
        """Send packets of each class on ``ways`` of their own to the MAC, by ``outgoing``."""
        parts = []
        for k, path in enumerate(ways):
            transmitter = DomainRenamer({"mac": "transmitting"})(MacTransmit(self.params.packets))
            m.submodules[f"transmitter_{k}"] = transmitter
            connect(m, flipped(self.transmit[k]), transmitter.axis)
            connect(m, transmitter.mac, path)
            parts.append(transmitter)
        sent = self.add_ledger(m, "sent", "transmitting", parts)
        ended = Signal()  # the MAC is in reset a cycle before this register
        m.d.transmitting += ended.eq(outgoing.tvalid & outgoing.tready & outgoing.tlast)
        m.d.comb += [
            sent.comes.eq(count_ones([part.entered for part in parts])),
            sent.mac_leaves.eq(ended & ~ResetSignal("transmitting")),
            self.cuts.transmit.eq((sent.lost + count_ones([p.cut for p in parts]))[:RARE_BITS]),
        ]

    def add_receivers(self, m: Module, incoming) -> list[MacReceive]:
        """Give out whole packets that come in, by kind if there are two streams."""
        params = self.params
        rename = DomainRenamer({"mac": "receiving"})
        receivers = [rename(MacReceive(params.received)) for _ in range(params.streams)]
        for k, receiver in enumerate(receivers):
            m.submodules[f"receiver_{k}"] = receiver
            connect(m, receiver.axis, flipped(self.receive[k]))
        if params.streams > 1:
            m.submodules.kinds = kinds = DomainRenamer("receiving")(KindSplit())
            connect(m, incoming, kinds.mac)
            for o, receiver in zip(kinds.o, receivers, strict=True):
                connect(m, o, receiver.mac)
        else:
            connect(m, incoming, receivers[0].mac)
        return receivers

    def lost(self, m: Module, incoming, receivers: list[MacReceive]) -> Value:
        """Report packets that are dropped, broken and foreign, and count those of a reset."""
        foreign = Signal(
            MacReceive.verdict_latency
        )  # so that of a packet one is reported at a time
        if self.params.streams > 1:
            m.d.receiving += foreign.eq(Cat(m.submodules.kinds.foreign, foreign)[: len(foreign)])
        verdicts = Cat(
            Cat(receiver.dropped for receiver in receivers).any(),
            Cat(receiver.broken for receiver in receivers).any(),
            foreign[-1],
        )
        taken = self.add_ledger(m, "taken", "receiving", receivers)
        first = Signal(init=1)
        with m.If(incoming.tvalid):
            m.d.receiving += first.eq(incoming.tlast)
        m.d.comb += [
            taken.mac_comes.eq(incoming.tvalid & first & ~ResetSignal("receiving")),
            taken.mac_leaves.eq(verdicts.any()),
            taken.leaves.eq(count_ones([receiver.left for receiver in receivers])),
            self.cuts.receive.eq(taken.lost[:RARE_BITS]),
        ]
        return verdicts

    def add_counter(self, m: Module, events) -> None:
        """Count ``events`` into ``counts``."""
        counts = CountCrossing.sized(kinds=len(events))
        m.submodules.counter = DomainRenamer({"write": "receiving", "read": "sync"})(counts)
        m.d.comb += [
            counts.events.eq(events),
            *(own.eq(count) for own, count in zip(self.counts, counts.o, strict=True)),
        ]
