"""Shows the host a cage's MAC, and takes its commands to it."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.crossing.count_crossing import WAITING_BITS
from hdl.common.params import Params, choice
from hdl.u280.mac_signals import CUTS, DEMANDS, FLOWS, HAPPENINGS, events_of
from hdl.u280.registers import COUNT_BITS, RARE_BITS


class CageStatusParams(Params, suffix="{flow}"):
    """Says what a cage's MAC can do."""

    flow: str = choice(*FLOWS, default="none")  #: which classes are paused apart

    @property
    def events(self) -> tuple[str, ...]:
        """List the events that are counted."""
        return events_of(self.flow)

    @property
    def sums(self) -> data.StructLayout:
        """Describe the counts, by the names of their registers."""
        return data.StructLayout(
            {name: COUNT_BITS for name in self.events}
            | dict.fromkeys((*HAPPENINGS.members, "cut_transmit", "cut_receive"), RARE_BITS)
        )


class CageStatus(Component):
    """Sums a MAC's events since ``clear``; leads its commands across clocks as levels.

    ``counts``, in the order of ``params.events``, and ``cuts`` are added up in every cycle, as is
    the beginning of each of the ``happenings``, levels of this clock; the sums are 0 two cycles
    after a ``clear`` or a reset. A bit of ``commands``, high
    for a cycle, changes that of ``demands``; a reset does not, because the MAC would take a change
    for a command.
    """

    def __init__(self, params: CageStatusParams) -> None:
        super().__init__(
            params,
            happenings=In(HAPPENINGS),
            counts=In(WAITING_BITS).array(len(params.events)),
            cuts=In(CUTS),
            clear=In(1),
            sums=Out(params.sums),
            commands=In(DEMANDS),
            demands=Out(DEMANDS),
        )

    def build(self, m: Module) -> None:
        demands = Signal(DEMANDS, reset_less=True)
        before = Signal(HAPPENINGS)
        m.d.comb += self.demands.eq(demands)
        m.d.sync += [
            demands.eq(demands.as_value() ^ self.commands.as_value()),
            before.eq(self.happenings),
        ]
        # A register clears all totals, after a reset too: a gate would have all of them as loads.
        empties = Signal(init=1)
        m.d.sync += empties.eq(self.clear)
        more: dict[str, Any] = dict(zip(self.params.events, self.counts, strict=True))
        for name in HAPPENINGS.members:
            begins = Signal(name=f"{name}_begins")
            m.d.sync += begins.eq(self.happenings[name] & ~before[name])
            more[name] = begins
        more["cut_transmit"], more["cut_receive"] = self.cuts.transmit, self.cuts.receive
        for name, count in more.items():
            total = Signal(self.params.sums[name].width, name=name, reset_less=True)
            m.d.sync += total.eq((total + count)[: len(total)])
            with m.If(empties):
                m.d.sync += total.eq(0)
            m.d.comb += self.sums[name].eq(total)
