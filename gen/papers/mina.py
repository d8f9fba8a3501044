"""Describes how MINA is reproduced: jobs that share the switches' aggregation."""

from gen.designs.design import Bench
from gen.papers.paper import Paper

PAPER = Paper(
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
)
