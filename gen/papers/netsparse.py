"""Describes how NetSparse is reproduced: sparse communication in the NIC and in the switch."""

from gen.papers.paper import Paper

PAPER = Paper(
    name="netsparse",
    asked="sim.netsparse.reproduce.asked:NetSparseAsked",
    figures="sim.netsparse.reproduce.asked:FIGURES",
    reproduce="sim.netsparse.reproduce.report:reproduce",
    needs=["matplotlib"],
)
