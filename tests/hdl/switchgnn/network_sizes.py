"""Has the networks that several tests simulate."""

from dataclasses import replace

from hdl.switchgnn.endpoint.params import PRESETS as ENDPOINTS
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.presets import PRESETS as SWITCHES
from sim.switchgnn.network.cluster import ClusterParams
from sim.switchgnn.network.network import NetworkParams

#: "small" with fewer aggregators, as a test reads all of them; its tables are in memory
SMALL = replace(ENDPOINTS["small"], depth=64, copies=64)
SIZES = {
    "tiny": NetworkParams(
        switch=GnnSwitchParams(**SWITCHES["tiny"]),
        endpoints=ClusterParams(endpoint=ENDPOINTS["tiny"], workers=3),
    ),
    "small": NetworkParams(
        switch=GnnSwitchParams(**SWITCHES["small"] | {"tables": "memory"}),
        endpoints=ClusterParams(endpoint=SMALL, workers=4),
    ),
}
#: Two racks of two workers each, by the number of spines.
RACKS = {
    spines: NetworkParams(
        switch=GnnSwitchParams(**SWITCHES["tiny"] | {"ports": 2 + spines, "links": spines}),
        endpoints=ClusterParams(endpoint=ENDPOINTS["tiny"], workers=4),
        racks=2,
    )
    for spines in (1, 2)
}
