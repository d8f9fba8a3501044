"""Lists presets of the forwarding switch: the parameters that differ from the usual sizes."""

PRESETS: dict[str, dict[str, int | str]] = {
    "tiny": {
        "ports": 3,
        "classes": 2,
        "beats": 256,
        "style": "auto",
        "max_bytes": 1518,
        "output_beats": 64,
        "rows": 8,
        "headroom": 60,
        "burst": 8,
        "age_cycles": 256,
    },
    "8-port": {},
    "u280": {"ports": 2},
}
