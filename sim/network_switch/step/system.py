"""Puts whole workers around one switch: host memory, gather engine, HBM, endpoint, and links."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from gen.base.emission.emit import module_name
from hdl.common.packets import AXIS
from hdl.gather.engine import GatherEngine
from hdl.network_switch.switch import NetworkSwitch
from hdl.pcie.axis import PcieStreamSignature, cc_user, cq_user
from sim.harness.verilator import Build, build, emission_of
from sim.network_switch.step.params import StepParams, WorkersParams
from sim.surroundings.axi_ram import RAM_ARRAY
from sim.surroundings.event_log import EVENT_LOG
from sim.surroundings.link import Link
from sim.surroundings.pcie.host import PcieHost
from sim.surroundings.pcie.params import HOST_ARRAY
from sim.switchgnn.job import SWITCH
from sim.switchgnn.network.cluster import Cluster
from sim.switchgnn.network.network import Network, blocks, count_frames

READ_LIMIT = 2  #: code of the largest read of host memory: 128 bytes << code
MOVES = data.StructLayout(dict.fromkeys(("reads", "rows", "features", "sums"), 1))


class WorkerCards(Cluster):
    """Has endpoints, a gather engine beside each, and the host of each in front of its engine.

    The engine reads rows of the host's memory and writes them into the memory ``features``, from
    which the endpoint sends them; sums go to the memory ``sums``. ``moves`` says that a request or
    a completion of the engine passes RQ, or that a beat of rows, of features that leave, or of
    sums that came passes its memory's bus.
    """

    def __init__(self, params: WorkersParams) -> None:
        bits = params.gather.data_bits
        more: dict[str, Any] = {"host_settings": In(params.host.settings)}
        for k in range(params.workers):
            more |= {
                f"cq_{k}": In(PcieStreamSignature(data_bits=bits, user=cq_user(bits))),
                f"cc_{k}": Out(PcieStreamSignature(data_bits=bits, user=cc_user(bits))),
                f"host_access_{k}": In(params.host.access),
                f"host_accessed_{k}": Out(params.host.data_bits),
                f"moves_{k}": Out(MOVES),
            }
        super().__init__(params, **more)

    def buses(self, m: Module, k: int, endpoint: Any) -> dict[str, Sequence[Any]]:
        """Add worker k's host and engine; return what is behind each of the card's memories."""
        params = self.params
        m.submodules[f"host_{k}"] = host = PcieHost(params.host)
        m.submodules[f"engine_{k}"] = engine = GatherEngine(params.gather)
        connect(m, flipped(getattr(self, f"cq_{k}")), engine.cq)
        connect(m, engine.cc, flipped(getattr(self, f"cc_{k}")))
        connect(m, engine.rq, host.rq)
        connect(m, host.rc, engine.rc)
        rq, rows = engine.rq, engine.m_axi
        features, sums, moves = endpoint.m_axi_features, endpoint.m_axi_sums, f"moves_{k}"
        m.d.comb += [
            engine.limit.eq(READ_LIMIT),
            engine.credits.eq(host.credits),
            engine.numbers.eq(host.numbers),
            engine.function.master.eq(1),
            host.index.eq(k),
            host.settings.eq(self.host_settings),
            host.access.eq(getattr(self, f"host_access_{k}")),
            getattr(self, f"host_accessed_{k}").eq(host.accessed),
            getattr(self, moves).reads.eq(rq.tvalid & rq.tready),
            getattr(self, moves).rows.eq(rows.wvalid & rows.wready),
            getattr(self, moves).features.eq(features.rvalid & features.rready),
            getattr(self, moves).sums.eq(sums.wvalid & sums.wready),
        ]
        return {"tables": (endpoint.m_axi_tables,), "features": (features, rows), "sums": (sums,)}


class StepSystem(Network):
    """Has M workers around a switch for SwitchGNN and all-reduces: cards, and hosts beside them.

    ``nic_s_k`` and ``nic_m_k`` are what host k sends and gets at port M + k, by links whose numbers
    follow those of the cards; ``nic_frames`` and ``nic_lost`` count what these links were given,
    and dropped or broke. Each worker has a log of what moves; ``now`` is the cycle that logs have,
    ``ends`` completes them.
    """

    cluster = WorkerCards

    def __init__(self, params: StepParams) -> None:
        counts = dict.fromkeys(("now", "nic_frames", "nic_lost"), Out(32))
        nics = {f"nic_s_{k}": In(AXIS) for k in range(params.endpoints.workers)}
        nics |= {f"nic_m_{k}": Out(AXIS) for k in range(params.endpoints.workers)}
        super().__init__(params, **counts, **nics, ends=In(1))

    def switches(self, params: StepParams) -> dict[str, Any]:
        """Return the only switch."""
        return {SWITCH: NetworkSwitch(params.network)}

    def add_more(self, m: Module, switches: dict[str, Any]) -> None:
        """Add the links of hosts, and the logs."""
        workers, links = self.params.endpoints.workers, []
        m.d.sync += self.now.eq(self.now + 1)
        for k, log in enumerate(self.params.logs):
            port = workers + k
            up, down = flipped(getattr(self, f"nic_s_{k}")), flipped(getattr(self, f"nic_m_{k}"))
            ends = (up, switches[SWITCH].s_axis[port]), (switches[SWITCH].m_axis[port], down)
            for path, (source, sink) in enumerate(ends):
                m.submodules[f"nic_link_{k}_{path}"] = link = Link(self.params.nic_link)
                links.append(link)
                connect(m, source, link.i)
                connect(m, link.o, sink)
                m.d.comb += [link.index.eq(2 * port + path), link.settings.eq(self.link_settings)]
            nics = {"nic_up": up.tvalid & up.tready, "nic_down": down.tvalid & down.tready}
            moves = getattr(self, f"moves_{k}")
            happens = {name: Signal(name=f"{name}_{k}") for name, _ in log.fields}
            moving = nics | {name: moves[name] for name, _ in MOVES}
            m.d.comb += [signal.eq(moving[name]) for name, signal in happens.items()]
            log.add(m, self.now, self.ends, sum(happens.values()) != 0, happens)
        count_frames(m, links, self.nic_frames, self.nic_lost)


def build_step(params: StepParams, *, optimise: bool = False) -> Build:
    """Build the simulator of a system, or find it in the cache; ``optimise`` for long runs."""
    parts = [*blocks(params), GatherEngine(params.endpoints.gather), Link(params.nic_link)]
    return build(
        emission_of(StepSystem(params)),
        extra_sources=[RAM_ARRAY, HOST_ARRAY, EVENT_LOG],
        hier_blocks=[module_name(block) for block in parts] if optimise else [],
        optimise=optimise,
    )


def log_path(folder: Path, worker: int) -> Path:
    """Return the file of what moved at a worker."""
    return folder / f"moves_{worker}.bin"
