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
    asked: str  #: path of a sim.harness.workload.Workload: the options that only this paper has
    figures: str  #: path of the names of its figures, in the order of the paper
    #: path of a function of names, ``asked``, ``quick`` and ``progress`` that makes a
    #: sim.reproduce.report.Report
    reproduce: str
    needs: Sequence[str] = ()  #: modules of gen.packages that it cannot do without
    benches: Mapping[str, Bench] = field(default_factory=dict)  #: benches of what needs no design

    @property
    def asked_class(self) -> Any:
        """Return the dataclass of the paper's options."""
        return load(self.asked)

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
            asked="sim.gather.reproduce.asked:GatherAsked",
            figures="sim.gather.reproduce.asked:FIGURES",
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
            asked="sim.mina.reproduce.asked:MinaAsked",
            figures="sim.mina.reproduce.asked:FIGURES",
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
            asked="sim.netsparse.reproduce.asked:NetSparseAsked",
            figures="sim.netsparse.reproduce.asked:FIGURES",
            reproduce="sim.netsparse.reproduce.report:reproduce",
            needs=["matplotlib"],
        ),
        # linear models, trained with an AllReduce in the switch
        Paper(
            name="p4sgd",
            asked="sim.p4sgd.reproduce.asked:P4sgdAsked",
            figures="sim.p4sgd.reproduce.asked:FIGURES",
            reproduce="sim.p4sgd.reproduce.report:reproduce",
            needs=["matplotlib", "sklearn"],
        ),
        # features of a graph's vertices, added in the switch
        Paper(
            name="switchgnn",
            asked="sim.switchgnn.reproduce.asked:SwitchGnnAsked",
            figures="sim.switchgnn.reproduce.asked:FIGURES",
            reproduce="sim.switchgnn.reproduce.report:reproduce",
            needs=["matplotlib", "pymetis"],
            benches={
                "switchgnn-plan": Bench(
                    title="SwitchGNN: plans of graphs", rows="sim.switchgnn.bench.plan:rows"
                )
            },
        ),
    )
}


def find_paper(name: str) -> Paper:
    """Return the paper of that name; raise UserError if there is none."""
    if name not in PAPERS:
        raise unknown("paper", name, PAPERS)
    return PAPERS[name]
