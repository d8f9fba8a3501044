"""Lists presets of the switch: the parameters that differ from the paper's sizes.

They are here, not in the design's descriptor, because simulated racks use them, too.
"""

PRESETS: dict[str, dict[str, int | str]] = {
    "tiny": {
        "ports": 4,
        "pipes": 2,
        "nodes": 8,
        "mtu": 594,
        "most_property_bytes": 64,
        "most_delay": 255,
        "receive_packets": 2,
        "output_beats": 512,
        "cache_bytes": 2048,
        "segments": 4,
        "ways": 4,
        "idx_bits": 20,
        "latency": 10,
        "style": "auto",
    },
    "small": {
        "ports": 6,
        "pipes": 2,
        "nodes": 16,
        "cache_bytes": 32 * 1024,
        "idx_bits": 24,
        "style": "auto",
    },
    "paper": {},
    "least": {  # every buffer has its smallest size; four nodes and an uplink
        "ports": 5,
        "pipes": 1,
        "nodes": 8,
        "mtu": 594,
        "most_property_bytes": 64,
        "most_delay": 511,
        "pool": 20,
        "destinations": 8,
        "receive_packets": 2,
        "output_beats": 512,
        "cache_bytes": 256,
        "segments": 4,
        "ways": 2,
        "idx_bits": 20,
        "latency": 10,
        "style": "auto",
    },
    "spine": {"ports": 8, "pipes": 0},
    "u280": {
        "ports": 2,
        "pipes": 1,
        "cache_bytes": 2 * 1024**2,
        "idx_bits": 32,
    },
}
