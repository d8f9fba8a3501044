"""NetSparse SNICs that gather what a sparse matrix needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gen.sweep.subject import SimulatedSubject
from hdl.netsparse.snic_counters import SNIC_COUNTERS, UNIT_COUNTERS

FIGURES = {
    "cycles": "from the first request to the last completion",
    "remote": "idxs that another node owns, of all nodes",
    "prs_saved": "of them, those that were filtered or coalesced",
    "filter_coalesce_rate": "of the remote idxs, those that needed no PR",
    "prs_per_packet_reads": "mean of what was sent",
    "prs_per_packet_responses": "mean of what was sent",
    "packets": "sent by all nodes",
    "packet_bytes": "sent by all nodes, headers included",
    "header_bytes": "of them, what is no property",
    "header_share": "of what a node's PRs cost, reads and responses",
    "header_share_by_formula": "the same by table 3, at the mean PRs of a packet",
    "goodput": "properties received, of what the line of responses could bring",
    "line_utilisation_reads": "their bytes received, of what the line of reads could bring",
    "line_utilisation_responses": "likewise, of the line of responses",
    "idxs_per_cycle": "of a node",
    "idxs_per_second": "of a node, at the clock",
    "prs_per_cycle": "of a node",
    "idx_stall_share": "of the clients' cycles, those that waited for idxs",
    "table_stall_share": "likewise, for the Pending PR Table",
    "filter_stall_share": "likewise, for the filter",
    "transmit_stall_share": "likewise, for the way out",
    "register_writes_per_request": "of the host, while requests were under way",
    "register_reads_per_request": "likewise",
    "exact": "1 if memories, counters and product are what they must be",
}
STALLS = ("idx", "table", "filter", "transmit")


@dataclass(frozen=True, kw_only=True)
class GatherWorkload:
    """A sparse matrix product, as `ingather spmm` runs it."""

    matrix: str = "stokes"  #: a family with its options, or a Matrix Market file
    nodes: int = 2  #: of the cluster; at most those of the hardware
    property_bytes: int = 64  #: a row of the dense matrix
    clients: int | None = None  #: RIG units of a node that are clients; all but the servers
    servers: int | None = None  #: likewise, servers; half of them
    batch: int = 1024  #: idxs of a work request
    filter: bool = True  #: the idx filter
    coalesce: bool = True  #: coalescing
    concatenate: bool = True  #: several PRs a packet
    aligned: bool = True  #: host memory in lines, else in spans of 128 bytes
    rings: bool = False  #: work requests in rings in host memory, else in registers
    read_delay: int = 500  #: cycles that a read may wait for others
    response_delay: int = 500  #: cycles that a response may wait for others
    host_latency: int = 128  #: cycles of host memory
    dram_latency: int = 64  #: cycles of the SNIC's memory
    link_latency: int = 100  #: cycles from one SNIC to another
    seed: int = 1  #: of the matrix and the numbers


@dataclass(frozen=True)
class Simulated:
    """What a simulator is built of."""

    params: Any  #: of each SNIC
    nodes: int


class SnicSubject(SimulatedSubject):
    """Figures of a gather, from counters alone."""

    workload = GatherWorkload
    hardware = "hdl.netsparse.snic"
    counted = {
        **FIGURES,
        **{
            f"{side}_{name}": "a counter, of all nodes"
            for side, bank in (("unit", UNIT_COUNTERS), ("snic", SNIC_COUNTERS))
            for name, _ in bank.counters
        },
    }
    maximise = ("idxs_per_second",)

    def files(self, workload: GatherWorkload) -> Sequence[Path]:
        """The matrix, if it is a file."""
        return [Path(workload.matrix)]

    def simulated(self, params: Any, workload: GatherWorkload) -> Simulated:
        """The cluster."""
        return Simulated(params, workload.nodes)

    def build(self, simulated: Simulated) -> Any:
        """Its simulator; ValueError for nodes that it cannot have."""
        from sim.netsparse.gather import build_gather
        from sim.netsparse.spmm import check_nodes

        check_nodes(simulated.params, simulated.nodes)
        return build_gather(simulated.params, simulated.nodes)[1]

    def measure(
        self, params: Any, workload: GatherWorkload, build: Any, folder: Path, clock_mhz: float
    ) -> dict[str, float]:
        """Gather, multiply, and read the counters."""
        from sim.netsparse.gather import GatherError
        from sim.netsparse.spmm import SpmmOptions, SpmmRun, matrix_for
        from sim.netsparse.spmm_report import SpmmReport, together
        from sim.netsparse.surroundings.gather_system import GatherParams
        from sim.netsparse.surroundings.hub import HubParams

        chosen = {k: v for k, v in vars(workload).items() if k in SpmmOptions.__dataclass_fields__}
        options = SpmmOptions(units=workload.clients, **chosen)
        matrix = matrix_for(workload.matrix, workload.nodes, workload.seed)
        run = SpmmRun(matrix, workload.nodes, params, options)
        system = GatherParams(snic=params, hub=HubParams(nodes=workload.nodes))
        gathered = run.simulate(system, build, folder)
        try:
            run.check(gathered)
            exact = True
        except GatherError as error:
            print(f"not exact: {error}")
            exact = False
        report = SpmmReport(run, workload.matrix, gathered.result, "")
        found = figures(together(report.nodes), clock_mhz)
        return found | {"cycles": gathered.result.cycles, "exact": float(exact)}

    def calculate(
        self, params: Any, workload: Any, counted: Mapping[str, float]
    ) -> dict[str, float]:
        """Nothing: the formula of the headers needs what was measured."""
        return {}


def figures(every: Any, clock_mhz: float) -> dict[str, float]:
    """FIGURES and counters of all nodes together."""
    sent = every.packet_bytes("sent")
    payload = every.unit["served"] * every.property_bytes
    return {
        "remote": every.remote,
        "prs_saved": every.remote - every.unit["prs"],
        "filter_coalesce_rate": every.filter_coalesce_rate,
        "prs_per_packet_reads": every.prs_per_packet("reads"),
        "prs_per_packet_responses": every.prs_per_packet("responses"),
        "packets": sum(every.packets("sent", kind) for kind in ("reads", "responses")),
        "packet_bytes": sent,
        "header_bytes": sent - payload,
        "header_share": every.headers,
        "header_share_by_formula": every.headers_by_formula,
        "goodput": every.goodput,
        "line_utilisation_reads": every.utilisation("reads"),
        "line_utilisation_responses": every.utilisation("responses"),
        "idxs_per_cycle": every.per_cycle("consumed"),
        "idxs_per_second": every.per_cycle("consumed") * clock_mhz * 1e6,
        "prs_per_cycle": every.per_cycle("prs"),
        **{
            f"register_{kind}_per_request": every.accesses_per_request(kind)
            for kind in ("writes", "reads")
        },
        **{f"{name}_stall_share": every.stalled(name) for name in STALLS},
        **{f"unit_{name}": value for name, value in every.unit.items()},
        **{f"snic_{name}": value for name, value in every.snic.items()},
    }
