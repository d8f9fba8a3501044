"""Cuts a simulated network at its links: a worker, or a switch, with its ends of the links.

Numbers of workers and links are inputs, so that one simulator serves for all workers, and one for
all switches with links at the same ports.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from gen.base.emission.emit import module_name
from hdl.common.component import Component
from hdl.switchgnn.switch.switch import GnnSwitch
from sim.harness.part_builds import PartBuilds, build_each
from sim.harness.verilator import Build, build, emission_of
from sim.surroundings.axi_ram import RAM_ARRAY
from sim.surroundings.cut_link import CutLink, add_cut_links
from sim.surroundings.exchange import FUNCTIONS, MODULE
from sim.surroundings.link import LinkParams
from sim.switchgnn.network.background import Background, BackgroundParams
from sim.switchgnn.network.cluster import RAMS, Cluster
from sim.switchgnn.network.members import NUMBERS, SWITCH_BUS, Members, cuts, parts_of
from sim.switchgnn.network.network import NetworkParams, count_frames, forward, switch_blocks, total
from sim.switchgnn.table_rams import add_rams, ram_members


@dataclass(frozen=True, kw_only=True)
class PartParams:
    """Sets a worker or a switch of a network, its links, and the other traffic on them."""

    link: LinkParams
    background: BackgroundParams
    ports: tuple[int, ...]  #: ports with links, by channel
    endpoints: Any = None  #: ClusterParams of a single worker; None: a switch
    switch: Any = None  #: GnnSwitchParams; None: a worker

    @property
    def numbers(self) -> data.ArrayLayout:
        """Describe the numbers of the links on which the part sends, by channel."""
        return data.ArrayLayout(NUMBERS, len(self.ports))


class Part(Component):
    """Has ends of cut links, number ``numbers`` of those on which it sends, by channel.

    Its other ports are those of :class:`~sim.switchgnn.network.network.Network`, as far as it has
    what they are for; ``frames``, ``lost`` and ``background`` count what its ends know.
    """

    def __init__(self, params: PartParams, **more: Any) -> None:
        super().__init__(
            params,
            numbers=In(params.numbers),
            link_settings=In(params.link.settings),
            frames=Out(32),
            lost=Out(32),
            background_settings=In(data.ArrayLayout(params.background.settings, 2)),
            background=Out(32),
            **more,
        )

    @property
    def blocks(self) -> list[Component]:
        """Return the largest parts of which there are many: none, but in a switch."""
        return []

    def add_links(self, m: Module, streams: Sequence[tuple[Any, Any]]) -> None:
        """Add the ends of links, and other traffic in front of them; ``streams`` go out, come in.

        Links to workers, and from spines, have odd numbers.
        """
        ends, sent = [], []
        for channel, (source, sink) in enumerate(streams):
            number = Value.cast(self.numbers[channel])
            m.submodules[f"background_{channel}"] = other = Background(self.params.background)
            connect(m, source, other.i)
            m.d.comb += [
                other.index.eq(number),
                other.settings.eq(self.background_settings[number[0]]),
            ]
            ends.append((other.o, sink, number))
            sent.append(Mux(number[0], other.sent, 0))
        links = add_cut_links(m, self.params.link, self.link_settings, ends)
        count_frames(m, links, self.frames, self.lost)
        m.d.comb += self.background.eq(total(sent))


class WorkerPart(Part):
    """Connects a worker to its ends of the links from and to its switch.

    Its memories, all of which are empty at first, have the numbers of worker 0.
    """

    def __init__(self, params: PartParams) -> None:
        outer = Cluster(params.endpoints).signature.members
        self.inherited = [name for name in outer if "_axis_" not in name]
        super().__init__(params, **{name: outer[name] for name in self.inherited})

    def build(self, m: Module) -> None:
        m.submodules.worker = worker = Cluster(self.params.endpoints)
        forward(m, self, worker, self.inherited)
        self.add_links(m, [(worker.m_axis_0, worker.s_axis_0)])


class SwitchPart(Part):
    """Connects a switch to its ends of the links from and to workers and other switches.

    If its tables are in memory, it has RAMs for them.
    """

    def __init__(self, params: PartParams) -> None:
        bus = GnnSwitch(params.switch).signature.members["s_axil"]
        tables = ram_members(params.switch.table_memory) if params.switch.in_memory else {}
        super().__init__(params, **{SWITCH_BUS: bus}, **tables)

    @property
    def blocks(self) -> list[Component]:
        """Return banks, ports and ends of links, as a switch has many."""
        return [CutLink(self.params.link), *switch_blocks(self.params.switch)]

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.switch = switch = GnnSwitch(params.switch)
        connect(m, flipped(getattr(self, SWITCH_BUS)), switch.s_axil)
        if params.switch.in_memory:
            memory = params.switch.table_memory
            first = len(RAMS) * len(params.ports)  # behind those of workers
            add_rams(m, memory, self, switch.m_axi_tables, first=first)
        self.add_links(m, [(switch.m_axis[port], switch.s_axis[port]) for port in params.ports])


def part_of(members: Members) -> Part:
    """Return the hardware of a worker or a switch with its ends of links."""
    network = members.network
    links: dict[str, Any] = {
        "link": network.link,
        "background": network.background,
        "ports": members.ports,
    }
    for name in members.switches:
        return SwitchPart(PartParams(switch=network.switches[name], **links))
    return WorkerPart(PartParams(endpoints=replace(network.endpoints, workers=1), **links))


def build_parts(
    network: NetworkParams, *, optimise: bool = False, waves_worker: int = 0
) -> PartBuilds:
    """Build the simulators of all parts of a network, or find them; like ones share one.

    If simulators can write waves, only that of ``waves_worker`` does. ``optimise`` is for long
    simulations; what stands in a switch many times is then compiled once each.
    """
    work = partial(build_some, network, optimise, waves_worker)
    parts = parts_of(network)
    return build_each(work, cuts(parts), len(parts), waves_worker)


def build_some(
    network: NetworkParams, optimise: bool, waves_worker: int, numbers: Sequence[int]
) -> list[Build]:
    """Build the simulators of parts of these numbers; like ones share one."""
    builds: dict[Any, Build] = {}
    result, parts = [], parts_of(network)
    for members in (parts[number] for number in numbers):
        part = part_of(members)
        waves = None if members.workers == [waves_worker] else False
        if (key := (part.params, waves)) not in builds:
            builds[key] = build(
                emission_of(part),
                extra_sources=[RAM_ARRAY, MODULE],
                functions=FUNCTIONS,
                hier_blocks=[module_name(block) for block in part.blocks] if optimise else [],
                optimise=optimise,
                waves=waves,
            )
        result.append(builds[key])
    return result
