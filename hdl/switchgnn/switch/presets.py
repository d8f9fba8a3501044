"""Presets of SwitchGNN's switch: what differs from a full U280, by parameter."""

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
    "full": {},
}
