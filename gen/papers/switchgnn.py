"""Describes how SwitchGNN is reproduced: features of a graph's vertices, added in the switch."""

from gen.designs.design import Bench
from gen.papers.paper import Paper

PAPER = Paper(
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
)
