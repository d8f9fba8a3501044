"""Connects switches of a tree by links, inside the simulated design."""

from dataclasses import dataclass, field

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.p4sgd.switch.registers import switch_registers
from hdl.p4sgd.switch.switch import Switch
from hdl.p4sgd.switch.tree_params import TreeSwitchParams
from sim.golden.tree_plan import TreePlan
from sim.surroundings.link import LINK_COUNTS, Link, LinkParams, add_up


@dataclass(frozen=True, kw_only=True)
class TreeSystemParams:
    """Describes what a tree is made of; each switch has as many ports as the largest one needs."""

    plan: TreePlan
    link: LinkParams = field(default_factory=LinkParams)
    slots: int = 64  #: number of slots of each switch
    jobs: int = 2  #: most tenants of each switch

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: the tree and its sizes."""
        parents = "_".join(str(item.parent or 0) for item in self.plan.members)
        return f"{parents}_s{self.slots}_j{self.jobs}_{self.link.suffix}"

    @property
    def switch(self) -> TreeSwitchParams:
        """Return the sizes of each of the switches."""
        return TreeSwitchParams(ports=max(2, self.plan.ports), slots=self.slots, jobs=self.jobs)

    @property
    def axil(self) -> AxiLiteSignature:
        """Describe the register bus of a switch."""
        return AxiLiteSignature(address_bits=switch_registers(self.switch).address_bits)


class TreeSystem(Component):
    """Connects the switches of a plan, with a :class:`Link` from and to each member's parent.

    Members are numbered as the plan says; workers' frames go through ``from_workers`` and
    ``to_workers``. ``link`` sets all links, and ``counts`` adds up their counters.
    """

    def __init__(self, params: TreeSystemParams) -> None:
        workers = len(params.plan.workers)
        super().__init__(
            params,
            from_workers=In(AXIS).array(workers),
            to_workers=Out(AXIS).array(workers),
            s_axil=In(params.axil).array(len(params.plan.switches)),
            link=In(params.link.settings),
            counts=Out(LINK_COUNTS),
        )

    def build(self, m: Module) -> None:
        plan = self.params.plan
        switches = [Switch(self.params.switch) for _ in plan.switches]
        for number, switch in enumerate(switches):
            m.submodules[f"switch_{number}"] = switch
            connect(m, flipped(self.s_axil[number]), switch.s_axil)
        links = []
        for number, member in enumerate(plan.members):
            if member.parent is None:
                continue
            m.submodules[f"up_{number}"] = up = Link(self.params.link)
            m.submodules[f"down_{number}"] = down = Link(self.params.link)
            above = switches[member.parent]
            connect(m, up.o, above.s_axis[member.place])
            connect(m, above.m_axis[member.place], down.i)
            if member.parent_port:
                connect(m, switches[number].m_axis[member.parent_port], up.i)
                connect(m, down.o, switches[number].s_axis[member.parent_port])
            else:
                worker = number - plan.workers.start
                connect(m, flipped(self.from_workers[worker]), up.i)
                connect(m, down.o, flipped(self.to_workers[worker]))
            links += [up, down]
        for index, link in enumerate(links):
            m.d.comb += [link.index.eq(index), link.settings.eq(self.link)]
        add_up(m, self.counts, links)
