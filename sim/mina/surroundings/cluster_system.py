"""Simulates the switches of a cluster together; hosts and controller are outside."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.p4sgd.switch.registers import switch_registers
from hdl.p4sgd.switch.switch import Switch
from hdl.p4sgd.switch.tree_params import TreeSwitchParams
from sim.golden.tree_plan import MAX_WORKERS
from sim.mina.cluster import FatTree
from sim.mina.surroundings.wiring import Wiring
from sim.surroundings.cable import Cable

MAX_FRAMES = 256  #: most frames of an all-reduce; each takes a slot


@dataclass(frozen=True, kw_only=True)
class ClusterParams:
    """Sets the sizes of a cluster of switches, each with separate slots for every job.

    ValueError for more hosts than a tree's sums are exact for.
    """

    cluster: FatTree
    jobs: int  #: most jobs, 1..32

    def __post_init__(self) -> None:
        if self.cluster.hosts > MAX_WORKERS:
            raise ValueError(f"a tree has at most {MAX_WORKERS} hosts: {self.cluster.hosts}")

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: links of the tree, and jobs."""
        links = (*self.cluster.down, *self.cluster.up)
        return f"{'_'.join(map(str, links))}_j{self.jobs}"

    @property
    def wiring(self) -> Wiring:
        """Return how the switches are connected."""
        return Wiring(self.cluster)

    @property
    def pace(self) -> int:
        """Return the cycles from a frame of an end to its next one.

        A switch handles a frame a cycle and loses frames that its queues have no room for. So there
        is a cycle for each child, one for the parent, and one to spare.
        """
        return max(self.cluster.down) + 2

    @property
    def switch(self) -> TreeSwitchParams:
        """Return the parameters of each switch."""
        return TreeSwitchParams(
            ports=self.wiring.ports,
            slots=MAX_FRAMES << ceil_log2(self.jobs),
            jobs=max(2, self.jobs),
            ingress_depth=64,
        )


class ClusterSystem(Component):
    """Connects all switches of a cluster by a :class:`Cable` each way, which has no delay.

    Ends are numbered: those of hosts first, then the controller's at each switch. ``leaving`` has a
    bit for each end: a frame leaves the switches there in this cycle.
    """

    def __init__(self, params: ClusterParams) -> None:
        ends = params.cluster.hosts + params.cluster.switches
        axil = AxiLiteSignature(address_bits=switch_registers(params.switch).address_bits)
        super().__init__(
            params,
            s_axis=In(AXIS).array(ends),
            m_axis=Out(AXIS).array(ends),
            s_axil=In(axil).array(params.cluster.switches),
            leaving=Out(ends),
        )

    def build(self, m: Module) -> None:
        wiring = self.params.wiring
        switches = [Switch(self.params.switch) for _ in wiring.nodes]
        for number, switch in enumerate(switches):
            m.submodules[f"switch_{number}"] = switch
            connect(m, flipped(self.s_axil[number]), switch.s_axil)
        for low, its, high, port in wiring.cables:
            both = (f"switch_{low}", switches[low], its), (f"switch_{high}", switches[high], port)
            for (source, sender, out), (sink, taker, into) in (both, both[::-1]):
                m.submodules[f"{source}_to_{sink}"] = cable = Cable()
                connect(m, sender.m_axis[out], cable.i)
                connect(m, cable.o, taker.s_axis[into])
        hosts = range(self.params.cluster.hosts)
        ends = [(f"host_{k}", *wiring.host_port(k)) for k in hosts]
        ends += [(f"controller_{k}", k, wiring.ports - 1) for k in range(len(switches))]
        for end, (name, number, port) in enumerate(ends):
            m.submodules[f"{name}_to_switch_{number}"] = up = Cable()
            m.submodules[f"switch_{number}_to_{name}"] = down = Cable()
            connect(m, flipped(self.s_axis[end]), up.i)
            connect(m, up.o, switches[number].s_axis[port])
            connect(m, switches[number].m_axis[port], down.i)
            connect(m, down.o, flipped(self.m_axis[end]))
        m.d.comb += self.leaving.eq(Cat(axis.tvalid for axis in self.m_axis))
