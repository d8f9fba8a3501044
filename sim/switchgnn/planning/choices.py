"""Names the plans and orders that there are; the first of each is the usual one."""

PLANS = ("destinations", "multi-level")
ORDER_NAMES = ("priority-bfs", "random", "degree", "finish-first")
