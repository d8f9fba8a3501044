"""Holds the size of the largest simulated cluster, for those who import no hardware."""

INDEX_BITS = 7
MAX_NODES = 1 << INDEX_BITS  #: most nodes of a simulation, as RAMs are numbered in 8 bits
MODEL_NODES, MODEL_RACKS = 1024, 64  #: most of a cluster that is modelled
