"""Describes how P4SGD is reproduced: linear models, trained with an AllReduce in the switch."""

from gen.papers.paper import Paper

PAPER = Paper(
    name="p4sgd",
    asked="sim.p4sgd.reproduce.asked:P4sgdAsked",
    figures="sim.p4sgd.reproduce.asked:FIGURES",
    reproduce="sim.p4sgd.reproduce.report:reproduce",
    needs=["matplotlib", "sklearn"],
)
