"""Names the topologies of clusters, for those who import no hardware."""

LEAF_SPINE, HYPERX, DRAGONFLY = "leaf-spine", "hyperx", "dragonfly"
FORMS = f"{LEAF_SPINE}, {HYPERX}:XxYxZ[:LINKS] or {DRAGONFLY}:GROUPSxRACKS[:LINKS]"
