"""Describes the NetSparse SNIC as a design."""

from gen.designs.design import Bench, Card, Design, Run

IN_A_CHANNEL = {"dram_address_bits": 28}

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
        "least": {  # every buffer as small as it may be; eight nodes
            "units": 2,
            "nodes": 8,
            "idx_bits": 20,
            "address_bits": 24,
            "most_property_bytes": 64,
            "pending_entries": 4,
            "lsq_entries": 8,
            "lsq_reserved": 2,
            "idx_buffer_bytes": 512,
            "property_buffer_bytes": 512,
            "transmit_prs": 2,
            "commands": 2,
            "mtu": 594,
            "most_delay": 511,
            "pool": 20,
            "destinations": 8,
            "receive_packets": 2,
            "filter_banks": 1,
            "filter_unit_bytes": 4,
            "filter_cache_bytes": 128,
            "filter_ways": 1,
            "dram_address_bits": 20,
            "host_requests": 4,
        },
        "u280": {
            "units": 8,
            "idx_bits": 32,
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
    guide="gen.guides.netsparse_snic:guide",
    software="gen.software.netsparse_snic:software",
    runs=[
        Run(
            command="spmm",
            about="Multiply a sparse matrix on SNICs in RTL: gather what is remote, compare with"
            " scipy.",
            session="sim.netsparse.spmm_session:SpmmSession",
            workload="sim.netsparse.spmm_workload:SpmmWorkload",
            preset="small",
            links=True,
            examples=[
                "ingather spmm --matrix uk --property-bytes 4 -o build/uk",
                "ingather spmm --matrix FILE.mtx --nodes 4 --no-concatenate",
                "ingather spmm --kernel sddmm --matrix queen --property-bytes 32",
                "ingather spmm --racks 2 --nodes 8",
                "ingather spmm --preset small --scheduler tcp://HOST:8786",
            ],
            needs=["matplotlib"],
            cut=True,
            section="gen.report.gather_section:gather_section",
        )
    ],
    shells={
        "vitis": Card(
            component="hdl.vitis.kernels:SnicKernel",
            # The filter has a channel of HBM, a bit in it for each idx, and one way for its clock.
            presets={
                "small": IN_A_CHANNEL,
                "u280": {**IN_A_CHANNEL, "idx_bits": 31, "filter_ways": 1},
            },
            preset="u280",
        ),
    },
    cards={
        "u280": Card(
            component="hdl.u280.snic_board:SnicBoard",
            # The bridge takes 32 reads in order: a quarter of what this brings (bench host-bus).
            presets={"u280": {"host_bus": "pcie", "host_requests": 256}},
            preset="u280",
        )
    },
    paper="gen.synth.paper:netsparse",
    benches={
        "gather": Bench(title="Gather: two SNICs", rows="sim.netsparse.bench.gather:rows"),
        "cluster-processes": Bench(
            title="A simulated cluster: whole, and nodes as processes",
            rows="sim.netsparse.bench.processes:rows",
            preset="tiny",
        ),
        "host-bus": Bench(
            title="Host memory of a SNIC: a bridge, and PCI Express",
            rows="sim.netsparse.bench.host_bus:rows",
        ),
        "pending-table": Bench(
            title="Pending PR Table of the card's SNIC, estimates",
            rows="sim.netsparse.bench.pending_table:rows",
        ),
    },
)
