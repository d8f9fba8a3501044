"""The NetSparse SNIC."""

from gen.designs.design import Bench, Card, Design, Run

DESIGN = Design(
    name="netsparse-snic",
    about="a NetSparse NIC: gathers the properties of remote idxs, PRs joined to packets",
    component="hdl.netsparse.snic:Snic",
    params="hdl.netsparse.params:SnicParams",
    presets={
        "tiny": {
            "units": 2,
            "nodes": 2,
            "idx_bits": 20,
            "address_bits": 24,
            "pending_entries": 8,
            "lsq_entries": 8,
            "lsq_reserved": 2,
            "idx_buffer_bytes": 1024,
            "property_buffer_bytes": 1024,
            "transmit_prs": 8,
            "commands": 2,
            "most_delay": 511,
            "receive_packets": 4,
            "filter_banks": 2,
            "filter_unit_bytes": 128,
            "filter_cache_bytes": 2048,
            "filter_ways": 2,
            "dram_address_bits": 20,
            "host_requests": 16,
        },
        "small": {
            "units": 8,
            "nodes": 4,
            "idx_bits": 24,
            "address_bits": 34,
            "pending_entries": 32,
            "lsq_entries": 16,
            "lsq_reserved": 4,
            "filter_banks": 4,
            "filter_unit_bytes": 1024,
            "filter_cache_bytes": 16384,
            "filter_ways": 2,
            "dram_address_bits": 30,
            "host_requests": 64,
        },
        "paper": {},
        "u280": {
            "units": 8,
            "idx_bits": 32,
            "pending_entries": 64,
            "lsq_entries": 32,
            "pool": 64,
            "filter_banks": 8,
            "filter_unit_bytes": 4096,
            "filter_cache_bytes": 65536,
            "filter_ways": 2,
            "dram_address_bits": 33,
        },
    },
    preset="u280",
    runs=[
        Run(
            command="spmm",
            about="Multiply a sparse matrix on SNICs in RTL: gather what is remote, compare with"
            " scipy.",
            session="sim.netsparse.spmm_session:SpmmSession",
            preset="small",
            examples=[
                "ingather spmm --matrix uk --property-bytes 4 -o build/uk",
                "ingather spmm --matrix FILE.mtx --nodes 4 --no-concatenate",
            ],
            section="gen.report.gather_section:gather_section",
        )
    ],
    cards={"u280": Card(component="hdl.u280.snic_board:SnicBoard", preset="u280")},
    paper="gen.synth.paper:netsparse",
    benches={"gather": Bench(title="Gather: two SNICs", rows="sim.netsparse.bench.gather:rows")},
)
