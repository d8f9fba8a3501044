"""Connects a switch and the links to it, inside the simulated design."""

from dataclasses import field

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.common.params import Params, tagged, whole
from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.registers import switch_registers
from hdl.p4sgd.switch.switch import Switch
from sim.surroundings.link import LINK_COUNTS, Link, LinkParams, add_up


class NetworkParams(Params, suffix="{workers}_{sums}_{link.suffix}"):
    """Sets the sizes of a network."""

    workers: int = whole(1, 32, default=8)  #: M, number of workers
    link: LinkParams = field(default_factory=LinkParams)
    #: number of sums that the switch keeps; with twice as many each answer takes two cycles more
    sums: int = 1 << 15
    shadow: bool = tagged("_shadow", default=False)  #: whether each slot has two of them

    @property
    def switch(self) -> SwitchParams:
        """Return the sizes of the switch, which has a port for each worker."""
        slots = self.sums >> self.shadow
        return SwitchParams(ports=max(2, self.workers), slots=slots, shadow=self.shadow)

    @property
    def axil(self) -> AxiLiteSignature:
        """Describe the switch's register bus."""
        return AxiLiteSignature(address_bits=switch_registers(self.switch).address_bits)


class Network(Component):
    """Connects a :class:`Switch` by a :class:`Link` from and to each worker.

    ``link`` sets all links; ``cut`` has a bit for each worker, whose links are then down.
    ``counts`` adds up the counters of all links.
    """

    def __init__(self, params: NetworkParams) -> None:
        super().__init__(
            params,
            from_workers=In(AXIS).array(params.workers),
            to_workers=Out(AXIS).array(params.workers),
            s_axil=In(params.axil),
            link=In(params.link.settings),
            cut=In(params.workers),
            counts=Out(LINK_COUNTS),
        )

    def build(self, m: Module) -> None:
        m.submodules.switch = switch = Switch(self.params.switch)
        connect(m, flipped(self.s_axil), switch.s_axil)
        links = []
        for k in range(self.params.workers):
            m.submodules[f"up_{k}"] = up = Link(self.params.link)
            m.submodules[f"down_{k}"] = down = Link(self.params.link)
            connect(m, flipped(self.from_workers[k]), up.i)
            connect(m, up.o, switch.s_axis[k])
            connect(m, switch.m_axis[k], down.i)
            connect(m, down.o, flipped(self.to_workers[k]))
            for index, link in enumerate((up, down), start=2 * k):
                links.append(link)
                m.d.comb += link.index.eq(index)
                for name in self.params.link.settings.members:
                    value = self.link[name]
                    if name == "down":
                        value = value | self.cut[k]
                    m.d.comb += link.settings[name].eq(value)
        add_up(m, self.counts, links)
