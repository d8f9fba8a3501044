"""Describes how the GPU-oriented gather is reproduced: rows fetched from host memory over PCIe."""

from gen.designs.design import Bench
from gen.papers.paper import Paper

PAPER = Paper(
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
)
