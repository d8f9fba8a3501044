"""The NetSparse switch."""

from gen.designs.design import Card, Design, Most, Run

DESIGN = Design(
    name="netsparse-switch",
    about="a NetSparse switch: middle pipes answer reads from caches, PRs are joined anew",
    component="hdl.netsparse.switch.switch:NetSparseSwitch",
    params="hdl.netsparse.switch.params:NetSparseSwitchParams",
    presets={
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
        "spine": {"ports": 8, "pipes": 0},
        "u280": {
            "ports": 2,
            "pipes": 1,
            "cache_bytes": 2 * 1024**2,
            "idx_bits": 32,
        },
    },
    preset="u280",
    runs=[Run(session="sim.netsparse.switch_session:NetSparseSwitchSession")],
    cards={
        "u280": Card(
            component="hdl.u280.netsparse_switch_board:NetSparseSwitchBoard",
            preset="u280",
            most={"ports": Most(value=2, because="the card has two QSFP28 cages")},
        )
    },
)
