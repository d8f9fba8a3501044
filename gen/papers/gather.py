"""Describes how the GPU-oriented gather is reproduced: rows fetched from host memory over PCIe."""

from gen.papers.paper import Paper

PAPER = Paper(
    name="gather",
    asked="sim.gather.reproduce.asked:GatherAsked",
    figures="sim.gather.reproduce.asked:FIGURES",
    reproduce="sim.gather.reproduce.report:reproduce",
    needs=["matplotlib"],
)
