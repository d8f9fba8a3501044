"""Describes what a sparse matrix product is asked to do, and checks that a SNIC's build can."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gen.base.errors import unknown
from gen.base.settings import make_params, parse_settings
from hdl.netsparse.limits import COUNT_BITS, MAX_PORTS
from hdl.netsparse.switch.presets import PRESETS
from sim.harness.workload import Workload, setting
from sim.netsparse.kernel import Kernel
from sim.netsparse.partition_names import BLOCKS
from sim.netsparse.spine_choice import SpineChoice
from sim.netsparse.surroundings.limits import MAX_NODES, MODEL_NODES, MODEL_RACKS
from sim.netsparse.topology_names import LEAF_SPINE
from sim.surroundings.at_a_time import check_cut, chosen_processes
from sim.workloads.family_names import NAMES

if TYPE_CHECKING:
    from hdl.netsparse.params import SnicParams
    from hdl.netsparse.switch.params import NetSparseSwitchParams
    from sim.netsparse.surroundings.cluster_system import ClusterParams

PROPERTY_BYTES, ELEMENT_BYTES = 64, 4  #: bytes of a property unless told otherwise, of a number
MAX_MEMORY_LATENCY = 1023
MAX_LINK_LATENCY = 1023
CUT_NODES, CUT_LATENCY = 8, 10  #: least nodes, and cycles of their links, for which it pays


@dataclass(frozen=True, kw_only=True)
class SpmmWorkload(Workload):
    """Asks for a sparse matrix times a dense one, whose rows are spread over the nodes.

    Or for another kernel that gathers properties as this does.
    """

    kernel: Kernel = setting(
        Kernel.SPMM,
        "Multiply the matrix by a dense matrix (spmm) or by a vector (spmv), or each nonzero"
        " by the product of a local row and a gathered one (sddmm).",
    )
    matrix: str = setting(
        "stokes",
        f"Multiply this matrix: {', '.join(NAMES)}, or a Matrix Market file (.gz, .bz2 and .xz"
        " too), of which the places of nonzeros count: values are drawn, 1 to 9.",
        metavar="FAMILY[:KEY=VALUE,...]|PATH",
    )
    nodes: int = setting(
        2,
        "Share the matrix between this many nodes, at most those of the hardware;"
        f" {MAX_NODES} in a simulation, more on the model.",
        least=2,
        most=MODEL_NODES,
    )
    partition: str = setting(
        BLOCKS,
        "Give each node a block of as many rows (blocks), far from the next ones (scattered), rows"
        " of which few nonzeros name rows of others (metis), rows that need few rows of others"
        " (hypergraph), or those that a file says, with the node of each row (.npy, or text with"
        " one a line).",
        metavar="blocks|metis|hypergraph|scattered|PATH",
    )
    racks: int = setting(
        1,
        "Put the nodes into this many racks of equal size; spines connect the racks' switches.",
        least=1,
        most=MODEL_RACKS,
    )
    spines: int = setting(1, "Connect racks by this many spine switches.", least=1, most=MAX_PORTS)
    spine_choice: SpineChoice = setting(
        SpineChoice.HOME,
        "Send reads and responses between racks by the spine of the node that owns the idx (home),"
        " or by the one spine of the two racks (racks).",
    )
    topology: str = setting(
        LEAF_SPINE,
        "Connect the switches of racks by spines (leaf-spine), along the axes of a grid of racks"
        " (hyperx), or within groups, and groups by links of their own (dragonfly, with --model:"
        " packets of such routes could wait in a circle in this hardware, which has no further"
        " class for them); LINKS join two racks or two groups.",
        metavar="leaf-spine|hyperx:XxYxZ[:LINKS]|dragonfly:GROUPSxRACKS[:LINKS]",
    )
    switch: str = setting(
        "small",
        "Build the switches of several racks from this preset of netsparse-switch, with"
        " parameters that differ from it. Their ports and limits of packets follow from the nodes."
        " The switch of a single rack only forwards, and so do spines.",
        metavar="PRESET[:KEY=VALUE,...]",
    )
    property_bytes: int = setting(
        None,
        "Give a property, a row of the dense matrix, this many bytes.",
        shown=f"{PROPERTY_BYTES}, of spmv {ELEMENT_BYTES}",
    )
    clients: int | None = setting(
        None,
        "Let this many RIG units of a node act as clients.",
        options=("--units",),
        shown="all but the servers",
    )
    servers: int | None = setting(
        None, "Let this many RIG units of a node act as servers.", shown="half of the units"
    )
    batch: int = setting(
        1024, "Put this many idxs into a work request.", least=1, most=(1 << COUNT_BITS) - 1
    )
    rounds: int = setting(
        1,
        "Repeat the product until it was computed this many times: after the first, each has the"
        " batch that the host software chooses by the cycles of those before. Figures, waves and"
        " frames are those of the last one.",
        least=1,
    )
    shares: bool = setting(
        False,
        "Give each client consecutive work requests of a node, instead of dealing them out in turn:"
        " clients whose idxs are far apart seldom ask for the same property at the same time.",
    )
    filter: bool = setting(
        True,
        "Keep properties that have come from being asked for again, by the idx filter.",
        off="Do without the idx filter: ask again for properties that have come.",
    )
    coalesce: bool = setting(
        True,
        "Let an idx wait for the property that another one has asked for.",
        off="Do without coalescing: ask again for properties that are on their way.",
    )
    concatenate: bool = setting(
        True,
        "Let several PRs share a packet.",
        off="Do without concatenation: send each PR in a packet of its own.",
    )
    switch_cache: bool = setting(
        True,
        "Let switches of racks answer reads from their Property Caches.",
        off="Do without Property Caches: every read goes to the node that owns the idx.",
    )
    switch_concatenate: bool = setting(
        True,
        "Join PRs of several packets in one in a rack's switch.",
        off="Let racks' switches join no PRs of several packets.",
    )
    switch_read_delay: int = setting(
        125, "Let a read wait for others in a rack's switch for this many cycles.", least=0
    )
    switch_response_delay: int = setting(
        125, "Let a response wait for others in a rack's switch for this many cycles.", least=0
    )
    model: bool = setting(
        False,
        "Count on a model of the cluster instead of simulating its RTL: thousands of times faster,"
        " for many nodes and large matrices. There are no properties and no product; packets and"
        " bytes are within 5 % of the RTL's, cycles within 10 %.",
    )
    aligned: bool = setting(
        True,
        "Access host memory in whole lines of 128 bytes.",
        off="Access host memory in pieces of 128 bytes that begin at any address, not in lines.",
        options=("--naive-host",),
    )
    rings: bool = setting(
        False, "Keep work requests and completions in rings in host memory, not in registers."
    )
    read_delay: int = setting(
        500, "Let a read wait for others to join it for this many cycles.", least=0
    )
    response_delay: int = setting(
        500, "Let a response wait for others to join it for this many cycles.", least=0
    )
    host_latency: int = setting(
        128, "Let host memory take this many cycles to answer.", least=0, most=MAX_MEMORY_LATENCY
    )
    dram_latency: int = setting(
        64,
        "Let the SNIC's own memory take this many cycles to answer.",
        least=0,
        most=MAX_MEMORY_LATENCY,
    )
    link_latency: int = setting(
        50,
        "Delay a packet on each link, to the rack's switch and from there on, by this many cycles.",
        least=0,
        most=MAX_LINK_LATENCY,
    )
    link_stall: int = setting(
        0, "Stall an end of a link in a cycle with this chance in 256.", least=0, most=255
    )
    processes: int | None = setting(
        None,
        "Let this many processes simulate at a time: if more than 1, each node and each switch is"
        " one of its own. The result is the same, to the cycle, for any number.",
        least=1,
        shown=f"the cores for {CUT_NODES} nodes or more with links of at least {CUT_LATENCY}"
        " cycles, else 1",
    )
    waves_node: int = setting(
        0,
        "Write the waveform of this node if --waves asks for one and nodes are processes of their"
        " own.",
        least=0,
    )
    watchdog: int = setting(
        200_000,
        "End a work request after this many cycles without progress.",
        least=1,
        most=(1 << 32) - 1,
    )
    seed: int = setting(
        1, "Draw the matrix and the values with this seed.", least=0, most=(1 << 31) - 1
    )

    def __post_init__(self) -> None:
        size = ELEMENT_BYTES if self.kernel is Kernel.SPMV else PROPERTY_BYTES
        if self.property_bytes is None:
            object.__setattr__(self, "property_bytes", size)
        super().__post_init__()
        if self.kernel is Kernel.SPMV and self.property_bytes != ELEMENT_BYTES:
            raise ValueError(
                f"property_bytes must be {ELEMENT_BYTES} of spmv, whose dense side is a vector:"
                f" {self.property_bytes}"
            )
        check_cut(self.processes, self.link_latency)
        if self.waves_node >= self.nodes:
            raise ValueError(f"waves_node must be below the {self.nodes} nodes: {self.waves_node}")

    @property
    def at_a_time(self) -> int:
        """Return how many processes work at a time; 1: the cluster is simulated as a whole."""
        if self.model:
            return 1
        pays = self.nodes >= CUT_NODES and self.link_latency >= CUT_LATENCY
        return chosen_processes(self.processes, pays)

    @property
    def idle(self) -> set[str]:
        """Return the names of the fields that have no effect beside the others."""
        switch = {"switch_concatenate", "switch_read_delay", "switch_response_delay"}
        result = {"watchdog", "processes"} if self.model else set()
        result |= {"waves_node"} if self.at_a_time == 1 else set()
        result |= {"spine_choice"} if self.racks == 1 or self.spines == 1 else set()
        if self.topology != LEAF_SPINE:
            result |= {"racks", "spines", "spine_choice"}
        if not self.in_racks:
            result |= {"spines", "switch", "switch_cache", *switch}
        elif not self.switch_concatenate:
            result |= switch - {"switch_concatenate"}
        return result if self.concatenate else result | {"read_delay", "response_delay"}

    @property
    def mechanisms(self) -> dict[str, int]:
        """Return the SNIC's settings of what may be switched off."""
        names = ("filter", "coalesce", "concatenate", "aligned", "read_delay", "response_delay")
        return {name: int(getattr(self, name)) for name in names}

    @property
    def switch_settings(self) -> dict[str, int]:
        """Return the values of register fields of every switch."""
        names = ("cache", "concatenate", "read_delay", "response_delay")
        return {name: int(getattr(self, f"switch_{name}")) for name in names}

    @property
    def in_racks(self) -> bool:
        """Return whether there are several racks, whose switches look into packets."""
        return self.racks > 1 or self.topology != LEAF_SPINE

    def cluster(self, params: "SnicParams") -> "ClusterParams":
        """Return the hardware of all nodes and switches, with such SNICs.

        Raises ValueError if there can be none.
        """
        from sim.netsparse.dragonfly import Dragonfly
        from sim.netsparse.surroundings.cluster_system import ClusterParams
        from sim.netsparse.surroundings.network import network_params
        from sim.netsparse.topologies import topology_of

        topology = topology_of(self.topology, self.nodes, self.racks, self.spines)
        if isinstance(topology, Dragonfly) and not self.model:
            raise ValueError(
                "packets of a dragonfly's routes could wait in a circle in this hardware, which"
                " has no further class of packets for them: --model counts them"
            )
        check_nodes(params, self.nodes)
        switch = switch_of(self.switch)
        if not self.in_racks:
            switch = replace(switch, pipes=0)
        network = network_params(topology, params, switch)
        return ClusterParams(snic=params, network=network)

    def check_hardware(self, params: "SnicParams") -> None:
        """Raise ValueError for what a build with ``params`` cannot do."""
        from hdl.netsparse.protocol import MAX_PROPERTY_BYTES

        for name, most in (("nodes", MAX_NODES), ("racks", MAX_PORTS)):
            if getattr(self, name) > most and not self.model:
                raise ValueError(
                    f"{name} must be at most {most} in a simulation: {getattr(self, name)};"
                    " --model takes more"
                )
        cluster = self.cluster(params)
        largest = min(params.rig.most_property_bytes, MAX_PROPERTY_BYTES)
        if self.property_bytes % 4 or not 4 <= self.property_bytes <= largest:
            raise ValueError(
                f"property bytes must be a multiple of 4, from 4 to the {largest} of the build:"
                f" {self.property_bytes}"
            )
        if self.model and params.over_pcie:
            raise ValueError("the model knows no PCI Express: host_bus=axi, or no --model")
        delays = dict.fromkeys(("read_delay", "response_delay"), params.most_delay)
        delays |= {f"switch_{name}": cluster.network.switch.most_delay for name in delays}
        for name, most in delays.items():
            if getattr(self, name) > most:
                raise ValueError(f"{name} must be from 0 to {most}: {getattr(self, name)}")

    def units_of(self, params: "SnicParams") -> tuple[int, int]:
        """Return the numbers of clients and servers of a node.

        Raises ValueError if the build has fewer units.
        """
        units, servers = params.units, self.servers
        if servers is None:
            servers = max(1, min(units // 2, units - (self.clients or 1)))
        clients = units - servers if self.clients is None else self.clients
        if clients < 1 or servers < 1 or clients + servers > units:
            raise ValueError(
                f"clients and servers must be at least 1 each and together at most the {units}"
                f" units of the build, not {clients} and {servers}"
            )
        return clients, servers


def switch_of(text: str) -> "NetSparseSwitchParams":
    """Return the switch of a preset, with the parameters that differ.

    Raises UserError if ``text`` names none.
    """
    from hdl.netsparse.switch.params import NetSparseSwitchParams

    preset, _, changes = text.partition(":")
    if preset not in PRESETS:
        raise unknown("preset of netsparse-switch", preset, PRESETS)
    changed = parse_settings(changes.split(",")) if changes else {}
    return make_params(NetSparseSwitchParams, PRESETS[preset], changed)


def check_nodes(params: "SnicParams", nodes: int) -> None:
    """Raise ValueError if the build has names for fewer than ``nodes`` nodes."""
    if nodes > params.rig.nodes:
        raise ValueError(
            f"nodes must be from 2 to the {params.rig.nodes} of the build: {nodes};"
            f" --set nodes={nodes} builds for that many"
        )
