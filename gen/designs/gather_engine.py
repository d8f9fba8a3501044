"""Describes the gather engine as a design."""

from gen.designs.design import Card, Design, Run

DESIGN = Design(
    name="gather-engine",
    about="a gather engine: brings rows of a table in host memory into device memory over PCIe",
    component="hdl.gather.engine:GatherEngine",
    params="hdl.gather.engine_params:GatherEngineParams",
    presets={
        "tiny": {
            "data_bits": 256,
            "tags": 16,
            "idx_bits": 20,
            "stride_bits": 14,
            "address_bits": 20,
            "idx_chunks": 2,
            "requests": 2,
        },
        "small": {"tags": 64, "address_bits": 28, "idx_chunks": 4},
        "u280": {},
    },
    preset="u280",
    guide="gen.guides.gather_engine:guide",
    software="gen.software.gather_engine:software",
    runs=[
        Run(
            command="gather",
            about="Gather rows of a table in host memory over PCIe on the RTL, and compare every"
            " byte with NumPy.",
            session="sim.gather.gather_session:GatherSession",
            workload="sim.gather.workload:GatherWorkload",
            preset="small",
            examples=[
                "ingather gather --table FILE.npy --idx FILE.npy -o build/gather",
                "ingather gather --graph uk:rows=5000 --fan-outs 25,10 --order naive",
                "ingather gather --engines 2 --memory-gigabytes 20",
            ],
            needs=["cocotbext.pcie", "matplotlib"],
            section="gen.report.gather_section:rows_section",
        )
    ],
    shells={
        "vitis": Card(
            component="hdl.vitis.kernels:GatherKernel",
            presets={
                **{name: {"host_bus": "axi"} for name in ("tiny", "small")},
                "u280": {"host_bus": "axi", "address_bits": 28},  # a channel of HBM
            },
            preset="u280",
        )
    },
    cards={
        "u280": Card(
            component="hdl.u280.gather_board:GatherBoard",
            presets={"tiny": {"data_bits": 512}},
            preset="u280",
        )
    },
)
