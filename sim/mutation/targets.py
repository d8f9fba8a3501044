"""Lists the components that mutants are made of, and the tests that must find them."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from os.path import normpath
from pathlib import Path

from hdl.common.component import Component
from sim.harness.cache import CHECKOUT, digest
from sim.harness.closure import digest_of
from sim.harness.verilate import class_path

BUFFER_TESTS = ("test_packet_buffer.py", "test_packet_buffer_ahead.py")
BUS_TESTS = ("test_bus_watch.py", "test_axi_read_port.py")
ENDS = ("test_engine_ends.py",)
ENGINE_TESTS = ("test_engine.py", "test_engine_faults.py")
RING_TESTS = ("test_engine_ring.py",)
#: lists tests of components that no test file of their own simulates: those of what contains them;
#: and of those whose tests are in several files; by paths from the folder of the mirrored tests
ELSEWHERE = {
    "hdl/common/axi_lite_pipeline.py": ("../network_switch/test_far_engine.py",),
    "hdl/common/bus_watch.py": BUS_TESTS,
    "hdl/common/packet_buffer.py": BUFFER_TESTS,
    "hdl/gather/card_reader.py": ENDS,
    "hdl/gather/engine_counters.py": ("test_engine.py",),
    "hdl/gather/row_fetcher.py": ENGINE_TESTS,
    "hdl/gather/row_finder.py": ("test_datapath.py",),
    "hdl/gather/row_output.py": (*ENGINE_TESTS, *ENDS),
    "hdl/gather/row_stream.py": ENDS,
    "hdl/gather/row_writer.py": ENGINE_TESTS,
    "hdl/gather/work_control.py": (*ENGINE_TESTS, *RING_TESTS),
    "hdl/gather/work_judge.py": ("test_engine.py", *RING_TESTS),
    "hdl/gather/work_sources.py": ("test_engine.py", *RING_TESTS),
    "hdl/netsparse/request_check.py": ("test_work_queue.py",),
    "hdl/netsparse/host/pcie_reader.py": ("test_pcie_path.py",),
    "hdl/netsparse/host/pcie_writer.py": ("test_pcie_path.py",),
    "hdl/netsparse/rig/command_tally.py": ("test_client.py",),
    "hdl/netsparse/rig/pending_way.py": ("test_pending_table.py",),
    "hdl/netsparse/rig/slot_table.py": ("test_client.py",),
    "hdl/netsparse/snic.py": ("test_snic.py", "../../sim/netsparse/test_units.py"),
    "hdl/netsparse/switch/packet_path.py": ("test_switch.py",),
    "hdl/netsparse/switch/pipe_fabric.py": ("test_switch.py",),
    "hdl/netsparse/switch/spine_fabric.py": ("test_switch.py",),
    "hdl/netsparse/switch/switch.py": ("test_switch.py", "test_switch_counters.py"),
    "hdl/p4sgd/engine/tile_backward.py": ("test_tile_engine.py",),
    "hdl/p4sgd/engine/tile_forward.py": ("test_tile_engine.py",),
    "hdl/p4sgd/engine/weight_store.py": ("test_tile_engine.py",),
    "hdl/p4sgd/engine/datapath.py": ("test_engine.py",),
    "hdl/p4sgd/core/engine_group.py": ("test_engine_chain.py",),
    "hdl/p4sgd/host/model_writer.py": ("test_model_port.py",),
    "hdl/p4sgd/worker.py": ("test_worker.py", "test_worker_faults.py"),
    "hdl/p4sgd/switch/aggregator.py": ("test_aggregator.py", "test_tree_aggregator.py"),
    "hdl/p4sgd/switch/shadow_rule.py": ("test_aggregator.py",),
    "hdl/p4sgd/switch/slot_rule.py": ("test_aggregator.py",),
    "hdl/p4sgd/switch/tree_rule.py": ("test_tree_aggregator.py",),
    "hdl/allreduce/answer_exit.py": ("test_switch.py",),
    "hdl/allreduce/bank_entry.py": ("test_switch.py",),
    "hdl/allreduce/bank_path.py": ("test_switch.py",),
    "hdl/allreduce/counters.py": ("test_switch.py",),
    "hdl/allreduce/wide_rule.py": ("test_wide_bank.py",),
    "hdl/switch/forwarding/egress.py": ("test_switch.py",),
    "hdl/switch/forwarding/output_queues.py": ("test_packet_memory.py",),
    "hdl/switch/forwarding/settings_bank.py": ("test_switch.py",),
    "hdl/pcie/completion_judge.py": ("test_read_requester.py",),
    "hdl/pcie/completion_placer.py": ("test_read_requester.py",),
    "hdl/pcie/done_queue.py": ("test_read_requester.py",),
    "hdl/pcie/packet_gate.py": ("test_write_requester.py",),
    "hdl/pcie/read_buffer.py": ("test_read_requester.py",),
    "hdl/pcie/read_queue.py": ("test_read_requester.py",),
    "hdl/pcie/read_return.py": ("test_read_requester.py",),
    "hdl/pcie/read_sender.py": ("test_read_requester.py",),
    "hdl/pcie/register_master.py": ("test_completer.py",),
    "hdl/pcie/request_intake.py": ("test_completer.py",),
    "hdl/pcie/requester.py": ("test_requester_on_model.py",),
    "hdl/pcie/tag_table.py": ("test_read_requester.py",),
    "hdl/pcie/write_aligner.py": ("test_write_requester.py",),
    "hdl/pcie/write_planner.py": ("test_write_requester.py",),
    "hdl/switch/host_command.py": ("test_control_plane.py",),
    "hdl/switch/ingress_port.py": ("test_ingress_port.py", "../p4sgd/switch/test_tenants.py"),
    "hdl/switch/job_table.py": ("test_job_table.py", "test_tenant_table.py"),
    "hdl/switch/tenant_judge.py": ("test_tenant_control.py",),
    "hdl/switch/tenant_uses.py": ("test_tenant_control.py",),
    "hdl/switchgnn/endpoint/endpoint.py": ("test_job_runner.py", "test_endpoint.py"),
    "hdl/switchgnn/endpoint/receiver.py": ("test_receiving.py",),
    "hdl/switchgnn/endpoint/sender.py": ("test_sending.py",),
    "hdl/switchgnn/endpoint/taker.py": ("test_receiving.py",),
    "hdl/switchgnn/switch/aggregation.py": ("test_switch.py",),
    "hdl/switchgnn/switch/ingress/word_mux.py": ("test_ingress.py",),
    "hdl/switchgnn/switch/results/bank_choice.py": ("test_read_schedule.py",),
    "hdl/switchgnn/switch/banks/bank_rule.py": ("test_bank.py",),
    "hdl/switchgnn/switch/egress/egress.py": ("../test_switch.py",),
    "hdl/switchgnn/switch/egress/egress_room.py": ("test_egress_port.py",),
    "hdl/switchgnn/switch/egress/frame_serializer.py": ("test_egress_port.py",),
    "hdl/switchgnn/switch/turns/job_turns.py": ("test_job_turns.py", "test_turn_table.py"),
    "hdl/switchgnn/switch/switch.py": ("test_switch_wires.py", "test_switch.py"),
    "hdl/switchgnn/switch/tables/table_port.py": ("test_table_memory.py",),
    "hdl/switchgnn/switch/tables/table_walk.py": ("test_table_memory.py",),
    "hdl/switchgnn/switch/banks/lane_sums.py": ("test_far_lanes.py",),
    "hdl/switchgnn/switch/banks/sum_memory.py": ("test_bank.py",),
    "hdl/switchgnn/switch/tables/table_writer.py": ("../test_switch.py",),
    "hdl/switchgnn/switch/tasks/task_queue.py": ("test_task_sequencer.py",),
    "hdl/switchgnn/switch/turns/turn_opener.py": ("test_turn_table.py",),
    "hdl/u280/packet_ledger.py": ("test_mac.py",),
    "hdl/u280/cages_board.py": ("test_switch_board.py",),
    "hdl/u280/forwarding_switch_board.py": ("test_priority_switch_boards.py",),
    "hdl/u280/network_switch_board.py": ("test_priority_switch_boards.py",),
    "hdl/u280/cage_status.py": ("test_board_status.py",),
}


@dataclass(frozen=True, kw_only=True)
class Target:
    """Names a class of hardware whose tests are put to the test."""

    component: type[Component]
    source: Path  #: its file
    tests: tuple[Path, ...]  #: pytest files

    @property
    def name(self) -> str:
        """Return the path of the class: ``hdl.common.fifo.Fifo``."""
        return class_path(self.component)

    @property
    def key(self) -> str:
        """Return a key that is equal for equal hardware, tests and judges, imports included."""
        files = self.source, *self.tests, Path(__file__).with_name("campaign.py")
        return digest(self.name, digest_of([*map(module_of, files)]))


def shown(path: Path) -> str:
    """Return ``path`` relative to the checkout."""
    return path.relative_to(CHECKOUT).as_posix()


def module_of(path: Path) -> str:
    """Return the name of the module at ``path``."""
    return ".".join(path.relative_to(CHECKOUT).with_suffix("").parts)


def all_targets() -> dict[str, Target]:
    """Return every component that mutants are made of, by name; none outside a checkout."""
    if not (CHECKOUT / "tests").is_dir():
        return {}
    result = components_in("hdl")
    return {target.name: target for target in result}


def is_called(path: str, name: str) -> bool:
    """Return whether ``name`` means the component at ``path``, or a package or module it is in."""
    return path == name or path.rpartition(".")[2] == name or path.startswith(f"{name}.")


def components_in(folder: str) -> Iterator[Target]:
    """Yield every component that a file of ``folder`` defines."""
    sources = sorted((CHECKOUT / folder).rglob("*.py"))
    modules = {source: import_module(module_of(source)) for source in sources}
    for source, module in modules.items():
        for value in vars(module).values():
            if is_component(value) and value.__module__ == module.__name__:
                yield Target(component=value, source=source, tests=mirrors_of(source))


def is_component(value: object) -> bool:
    """Return whether ``value`` is a class of hardware rather than the base of others.

    All modules are imported by then: a class that another of ours is made from is a base.
    """
    return (
        inspect.isclass(value)
        and issubclass(value, Component)
        and (value.build, value.elaborate) != (Component.build, Component.elaborate)
        and not any(built.__module__.startswith("hdl.") for built in value.__subclasses__())
    )


def mirrors_of(source: Path) -> tuple[Path, ...]:
    """Return the test files of a file of hardware: its mirror, or those listed elsewhere."""
    name = shown(source)
    if name in ELSEWHERE:
        folder = CHECKOUT / "tests" / Path(name).parent
        return tuple(Path(normpath(folder / test)) for test in ELSEWHERE[name])
    mirror = CHECKOUT / "tests" / Path(name).with_name(f"test_{source.name}")
    return (mirror,) if mirror.exists() else ()
