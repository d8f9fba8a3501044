"""Lists presets of SwitchGNN's endpoint: the parameters that differ from a full U280."""

SETTINGS: dict[str, dict[str, int]] = {
    "tiny": {
        "lanes": 2,
        "window": 4,
        "banks": 2,
        "depth": 8,
        "copies": 64,
        "address_bits": 20,
        "prefetch_beats": 16,
        "ingress_beats": 64,
    },
    "small": {
        "lanes": 32,
        "window": 32,
        "banks": 4,
        "depth": 512,
        "copies": 256,
        "address_bits": 24,
        "prefetch_beats": 128,
        "ingress_beats": 128,
    },
    "full": {},
}
