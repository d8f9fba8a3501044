"""Names how rows are divided among nodes, for those who import no libraries."""

BLOCKS, METIS, HYPERGRAPH, SCATTERED = PARTITIONS = "blocks", "metis", "hypergraph", "scattered"
