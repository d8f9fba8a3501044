"""Lists presets of SwitchGNN's switch: the parameters that differ from a full U280."""

#: Puts tables into HBM: 256 MB of lists and 32 MB of descriptors at P = 8. Enough frames wait for
#: their lists to request a row a cycle in advance, by the latency of HBM.
IN_HBM: dict[str, int | str] = {
    "tables": "memory",
    "rows": 1 << 24,
    "descriptor_rows": 1 << 20,
    "tasks": 256,
}
#: Puts half of the lanes, with half of the UltraRAM, into another die. On each side of the edge are
#: two registers: one at the edge and one on the way to the memories.
ON_TWO_DIES = {"slr_stages": 4}
PRESETS: dict[str, dict[str, int | str]] = {
    "tiny": {
        "ports": 3,
        "jobs": 2,
        "slots": 16,
        "banks": 2,
        "lanes": 2,
        "window": 4,
        "rows": 256,
        "descriptor_rows": 64,
        "tasks": 16,
        "style": "distributed",
        "ingress_depth": 64,
        "egress_depth": 32,
    },
    "small": {
        "ports": 4,
        "jobs": 4,
        "slots": 512,
        "banks": 4,
        "lanes": 32,
        "window": 32,
        "style": "block",
        "ingress_depth": 256,
        "egress_depth": 64,
    },
    "full": IN_HBM,
}
