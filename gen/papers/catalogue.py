"""Lists the papers that can be reproduced, with all that the command knows of each.

What would take long to import is named by its path, ``module:object``, as in a design.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gen.base.errors import unknown
from gen.designs.design import Bench, load


@dataclass(frozen=True, kw_only=True)
class Paper:
    """Describes a paper whose figures are made anew from simulated hardware or from models."""

    name: str
    requested: str  #: path of a sim.harness.workload.Workload: the options that only this paper has
    figures: str  #: path of the names of its figures, in the order of the paper
    #: path of a function of names, ``requested``, ``quick`` and ``progress`` that makes a
    #: sim.reproduce.report.Report
    reproduce: str
    needs: Sequence[str] = ()  #: modules of gen.packages that it cannot do without
    benches: Mapping[str, Bench] = field(default_factory=dict)  #: benches of what needs no design

    @property
    def requested_class(self) -> Any:
        """Return the dataclass of the paper's options."""
        return load(self.requested)

    @property
    def figure_names(self) -> Sequence[str]:
        """Return the names of the figures, which ``--only`` takes."""
        return load(self.figures)


PAPERS: Mapping[str, Paper] = {
    paper.name: paper
    for paper in (
        # rows fetched from host memory over PCIe
        Paper(
            name="gather",
            requested="sim.gather.reproduce.requested:GatherRequest",
            figures="sim.gather.reproduce.requested:FIGURES",
            reproduce="sim.gather.reproduce.report:reproduce",
            needs=["matplotlib"],
            benches={
                "gather-rates": Bench(
                    title="Gather: rows over PCI Express Gen3 x16, 1.5 us away, by 256 tags",
                    rows="sim.gather.bench.rates:rows",
                )
            },
        ),
        # jobs that share the switches' aggregation
        Paper(
            name="mina",
            requested="sim.mina.reproduce.requested:MinaRequest",
            figures="sim.mina.reproduce.requested:FIGURES",
            reproduce="sim.mina.reproduce.report:reproduce",
            needs=["matplotlib"],
            benches={
                "mina-schedule": Bench(
                    title="MINA: schedules of 1,000 jobs", rows="sim.mina.bench.schedules:rows"
                )
            },
        ),
        # sparse communication in the NIC and in the switch
        Paper(
            name="netsparse",
            requested="sim.netsparse.reproduce.requested:NetSparseRequest",
            figures="sim.netsparse.reproduce.requested:FIGURES",
            reproduce="sim.netsparse.reproduce.report:reproduce",
            needs=["matplotlib"],
        ),
        # linear models, trained with an AllReduce in the switch
        Paper(
            name="p4sgd",
            requested="sim.p4sgd.reproduce.requested:P4sgdRequest",
            figures="sim.p4sgd.reproduce.requested:FIGURES",
            reproduce="sim.p4sgd.reproduce.report:reproduce",
            needs=["matplotlib", "sklearn"],
        ),
        # features of a graph's vertices, added in the switch
        Paper(
            name="switchgnn",
            requested="sim.switchgnn.reproduce.requested:SwitchGnnRequest",
            figures="sim.switchgnn.reproduce.requested:FIGURES",
            reproduce="sim.switchgnn.reproduce.report:reproduce",
            needs=["matplotlib", "pymetis"],
            benches={
                "switchgnn-plan": Bench(
                    title="SwitchGNN: plans of graphs", rows="sim.switchgnn.bench.plan:rows"
                ),
                "switchgnn-rows": Bench(
                    title="SwitchGNN: rows of lists and ports",
                    rows="sim.switchgnn.bench.plan:list_rows",
                ),
            },
        ),
    )
}


def find_paper(name: str) -> Paper:
    """Return the paper of that name; raise UserError if there is none."""
    if name not in PAPERS:
        raise unknown("paper", name, PAPERS)
    return PAPERS[name]
