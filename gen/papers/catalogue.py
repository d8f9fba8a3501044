"""Lists the papers that can be reproduced."""

from collections.abc import Mapping

from gen.base.errors import unknown
from gen.designs.design import Bench
from gen.papers.paper import Paper

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
