"""Runs a sparse matrix product on NetSparse SNICs, whose counters give its figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hdl.netsparse.params import SnicParams
from hdl.netsparse.rig.params import TAG_BITS
from hdl.netsparse.snic_counters import CLASSES, SNIC_COUNTERS, UNIT_COUNTERS
from sim.harness.session import CLOCK_MHZ, Listener, Result, RunFailed, Session
from sim.harness.verilate import Build
from sim.netsparse import spmm_text as text
from sim.netsparse.builds import build_cluster, build_parts
from sim.netsparse.gather import GatherError, check_counters
from sim.netsparse.gather_job import GatherResult
from sim.netsparse.host.snic.batch_tuner import BatchTuner
from sim.netsparse.kernel import Kernel
from sim.netsparse.model import library
from sim.netsparse.model.run import ModelStuckError
from sim.netsparse.network_figures import NETWORK_FIGURES
from sim.netsparse.partition_names import PARTITIONS
from sim.netsparse.spmm import SpmmRun, matrix_for
from sim.netsparse.spmm_report import STALLS, NodeFigures, SpmmReport, together
from sim.netsparse.spmm_workload import SpmmWorkload
from sim.surroundings.at_a_time import check_cut

PICTURE = "spmm.png"
#: settings that a simulator is built for
SHAPE = ("nodes", "racks", "spines", "topology", "switch")

FIGURES = {
    "cycles": "from the first request to the last completion",
    "remote": "idxs that another node owns, of all nodes",
    "prs_saved": "remote idxs that were filtered or coalesced",
    "filter_coalesce_rate": "share of the remote idxs that needed no PR",
    "prs_per_packet_reads": "mean PRs of the packets of reads that were sent",
    "prs_per_packet_responses": "mean PRs of the packets of responses that were sent",
    "packets": "packets sent by all nodes",
    "packet_bytes": "bytes sent by all nodes, headers included",
    "header_bytes": "bytes sent by all nodes that are no property",
    "header_share": "headers' share of what a node's PRs cost, reads and responses",
    "header_share_by_formula": "the header share by table 3, at the mean PRs of a packet",
    "goodput": "properties received, as a share of what the line could bring",
    "line_utilisation": "bytes received, as a share of what the line could bring",
    "line_utilisation_reads": "bytes of reads received, as a share of what the line could bring",
    "line_utilisation_responses": "bytes of responses received, as a share of what the line could"
    " bring",
    "idxs_per_cycle": "idxs that a node consumes in a cycle",
    "idxs_per_second": "idxs that a node consumes in a second at the clock",
    "prs_per_cycle": "PRs that a node sends in a cycle",
    **{
        f"{name}_stall_share": f"share of the clients' cycles in which an idx waits for {cause}"
        for name, cause in (
            ("idx", "idxs"),
            ("table", "the Pending PR Table"),
            ("filter", "the idx filter"),
            ("transmit", "the way out"),
        )
    },
    "register_writes_per_request": "register writes of the host for each work request",
    "register_reads_per_request": "register reads of the host for each work request",
    **NETWORK_FIGURES,
    "exact": "1 if memories, counters and product are what they must be; none of a model",
}


@dataclass(frozen=True)
class Hardware:
    """Holds what a simulator of a cluster is built of."""

    params: SnicParams  #: parameters of each SNIC
    shape: SpmmWorkload  #: workload that has nothing set but SHAPE
    cut: bool = False  #: nodes and switches are simulated by themselves
    waves_node: int = 0  #: node that has waves, if it is cut


MODEL = "model"  #: what a library is called that models all, in place of hardware


class SpmmSession(Session):
    """Runs a product: every node gathers the properties that its nonzeros name, and multiplies."""

    workload = SpmmWorkload
    counted = {
        **FIGURES,
        **{
            f"{side}_{name}": f"counter {name}, of all nodes"
            for side, bank in (("unit", UNIT_COUNTERS), ("snic", SNIC_COUNTERS))
            for name, _ in bank.counters
        },
    }
    maximise = ("idxs_per_second",)
    swept = {"processes": 1}

    params: SnicParams
    requested: SpmmWorkload

    def __init__(self, params: SnicParams, requested: SpmmWorkload) -> None:
        super().__init__(params, requested)
        self.matrix = matrix_for(requested.matrix, requested.nodes, requested.seed)
        self.product = SpmmRun(self.matrix, params, requested)
        self.rounds: list[tuple[int, int]] = []  # batch and cycles of each product
        self.decided = {"clients": self.product.clients, "servers": self.product.servers}
        self.report: SpmmReport | None = None

    @classmethod
    def files(cls, requested: SpmmWorkload) -> Sequence[Path]:
        """Return the matrix and the partition, if they are files."""
        named = [requested.partition] if requested.partition not in PARTITIONS else []
        return [Path(name) for name in (requested.matrix, *named)]

    @classmethod
    def needs(cls, requested: SpmmWorkload) -> Mapping[str, Any]:
        """Return settings for SNICs that know all nodes of the run, if these are in racks."""
        return {"rig.nodes": requested.nodes} if requested.in_racks else {}

    @classmethod
    def hardware(cls, params: SnicParams, requested: SpmmWorkload) -> Hardware | str:
        """Return the SNICs, and the cluster that they are in; MODEL if they are modelled."""
        if requested.model:
            return MODEL
        names = SHAPE if requested.in_racks else SHAPE[:1]
        shape = SpmmWorkload(**{name: getattr(requested, name) for name in names})
        if requested.at_a_time == 1:
            return Hardware(params, shape)
        return Hardware(params, shape, cut=True, waves_node=requested.waves_node)

    @classmethod
    def build(cls, hardware: Hardware | str) -> Build:
        """Build the simulator of the cluster, or the model; raise ValueError if it cannot be."""
        if not isinstance(hardware, Hardware):
            return library.build()
        cluster = hardware.shape.cluster(hardware.params)
        if hardware.cut:
            return build_parts(cluster, waves_node=hardware.waves_node)
        return build_cluster(cluster)

    def check_parts(self) -> None:
        """Raise ValueError for a model, and for links that are too short to be cut."""
        if self.requested.model:
            raise ValueError("a model is not cut into processes: leave out --model")
        check_cut(2, self.requested.link_latency)

    @property
    def title(self) -> str:
        """Describe matrix, nodes and size of a property in a line."""
        requested = self.requested
        result = (
            f"{requested.kernel}: "
            * (requested.kernel is not Kernel.SPMM)
            + f"{requested.matrix}, {requested.nodes} nodes, properties of"
            f" {requested.property_bytes} bytes"
        )
        return f"{result}, on a model" if requested.model else result

    def run(
        self,
        simulator: Build,
        folder: Path,
        listener: Listener | None = None,
        clock_mhz: float = CLOCK_MHZ,
    ) -> Result:
        """Gather and multiply in ``folder``, then compare with the golden model and scipy.

        On the model nothing is multiplied: its counters are compared with each other.
        """
        listener = listener or Listener()
        gather = self.model if self.requested.model else self.simulate
        result, difference = None, ""
        for batch in self.batches():
            try:
                result, check = gather(simulator, folder, listener)
            except ModelStuckError as error:
                raise RunFailed(str(error)) from None
            self.rounds.append((batch, result.cycles))
            try:
                check()
            except GatherError as error:
                difference = str(error)
                break
        assert result is not None, "there is at least a round"
        self.report = SpmmReport(self.product, self.requested.matrix, result)
        observed = figures(together(self.report.nodes), clock_mhz) | self.report.network.figures()
        exact = {} if self.requested.model and not difference else {"exact": float(not difference)}
        return Result(
            figures=observed | {"cycles": result.cycles} | exact,
            compared="" if self.requested.model else text.EQUAL[self.requested.kernel],
            uncompared=text.MODELLED,
            difference=difference,
            details=self.report.details()
            | {"rounds": [{"batch": batch, "cycles": cycles} for batch, cycles in self.rounds]},
        )

    def batches(self) -> Iterator[int]:
        """Yield the batch of each product, which is then the session's, by the times before it."""
        idxs = [sum(sum(map(len, queue)) for queue in node) for node in self.product.gather.idxs]
        most = max(1, *idxs)
        first = min(self.requested.batch, most)
        tuner = BatchTuner(first, least=min(first, -(-most >> TAG_BITS)), most=most)
        for _ in range(self.requested.rounds):
            if self.rounds:
                tuner.report(self.rounds[-1][1])
                requested = replace(self.requested, batch=tuner.batch)
                self.product = SpmmRun(self.matrix, self.params, requested)
            yield tuner.batch

    def simulate(
        self, simulator: Build, folder: Path, listener: Listener
    ) -> tuple[GatherResult, Callable[[], None]]:
        """Run on the RTL; return its counts, and a function that checks all it did."""

        def show(cycles: Sequence[int]) -> None:
            first = f"{min(cycles):,} to " * (min(cycles) < max(cycles))
            listener.progress(f"gathering on the RTL: {first}{max(cycles):,} cycles")

        listener.progress("gathering on the RTL")
        cluster = self.requested.cluster(self.params)
        gathered = self.product.simulate(cluster, simulator, folder, show, self.workers)
        return gathered.result, lambda: self.product.check(gathered)

    def model(
        self, simulator: Build, folder: Path, listener: Listener
    ) -> tuple[GatherResult, Callable[[], None]]:
        """Run on the model; return its counts, and a function that compares them."""

        def show(cycles: int, share: float) -> None:
            text = f"gathering on the model: {cycles:,} cycles"
            listener.progress(text, int(100 * share), 100)

        listener.progress("finding what each node needs")
        result = self.product.model(self.requested.cluster(self.params), show)
        return result, lambda: check_counters(self.product.gather, result)

    def write(self, folder: Path) -> Sequence[str]:
        """Write a picture of what became of the idxs."""
        assert self.report is not None
        self.report.plot(folder / PICTURE, self.title)
        return (PICTURE,)

    def summary(self, result: Result) -> Iterator[str]:
        """Yield lines: the matrix, a table of nodes, one of switches, and the time."""
        assert self.report is not None
        yield from text.matrix_lines(self.report)
        yield from text.figure_lines(self.report)
        yield from text.network_lines(self.report.network)
        yield text.end_line(self.report)
        yield from text.round_lines(self.rounds)


def figures(every: NodeFigures, clock_mhz: float) -> dict[str, float]:
    """Return FIGURES and counters of all nodes together."""
    sent = every.packet_bytes("sent")
    payload = every.unit["served"] * every.property_bytes
    return {
        "remote": every.remote,
        "prs_saved": every.remote - every.unit["prs"],
        "filter_coalesce_rate": every.filter_coalesce_rate,
        "prs_per_packet_reads": every.prs_per_packet("reads"),
        "prs_per_packet_responses": every.prs_per_packet("responses"),
        "packets": sum(every.packets("sent", kind) for kind in CLASSES),
        "packet_bytes": sent,
        "header_bytes": sent - payload,
        "header_share": every.headers,
        "header_share_by_formula": every.headers_by_formula,
        "goodput": every.goodput,
        "line_utilisation": sum(every.utilisation(kind) for kind in CLASSES),
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
