"""Connects an engine's banks, its gradient and update lanes, and the model between them."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import delay, signed_array
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.placed_delay import KEPT_APART
from hdl.p4sgd.engine.backward import backward_orders
from hdl.p4sgd.engine.bank import Bank
from hdl.p4sgd.engine.forward import forward_orders
from hdl.p4sgd.engine.gradient_lane import GradientLane
from hdl.p4sgd.engine.model_memory import ModelMemory
from hdl.p4sgd.engine.model_params import GROUP_LANES
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.update_lane import UpdateLane
from hdl.p4sgd.engine.weight_store import WeightStore


def streamed(params: EngineParams) -> dict[str, Any]:
    """Describe the ports of :class:`WeightStore` that lead out of the data path."""
    members = WeightStore(params).signature.members
    names = ("forward_beats", "update_beats", "results", "forward_came", "update_came", "written")
    return {name: members[name] for name in names}


class Datapath(Component):
    """Implements the wide data path of an engine, without its control (P4SGD, figure 5).

    ``forward_*`` and ``backward_*`` are the control signals of the two stages, with the right
    timing. ``sums`` are the exact partial activations of the banks; ``deltas`` are those of the
    micro-batch in the backward stage; ``host_weights`` and ``host_group`` are the weights that
    ``replace`` writes to the model. With a ``tile`` the model is in memory, and comes and goes by
    the ports of :class:`WeightStore`. ``saturated`` is high in the cycle after the write of a chunk
    in which a lane saturated.

    Never stalls; every output is a register.
    """

    def __init__(self, params: EngineParams) -> None:
        orders = {f"forward_{name}": shape for name, shape in forward_orders(params).items()}
        orders |= {f"backward_{name}": shape for name, shape in backward_orders(params).items()}
        host = {"host_group": In(params.model.group_bits), "host_weights": In(params.model.group)}
        super().__init__(
            params,
            **{name: In(shape) for name, shape in orders.items()},
            signed_features=In(1),
            l2_shift=In(5),
            deltas=In(params.activations),
            **(streamed(params) if params.max_tile else host),
            sums=Out(signed_array(params.bank.partial_bits, params.banks)),
            saturated=Out(1),
        )

    def build(self, m: Module) -> None:
        memory = self.add_store(m) if self.params.max_tile else self.add_memory(m)
        scaled = self.add_banks(m, memory)
        lanes = self.add_lanes(m, memory, scaled)
        m.d.sync += self.saturated.eq(self.backward_write & lanes.any())

    def add_memory(self, m: Module) -> ModelMemory:
        """Add the model memory."""
        m.submodules.memory = memory = ModelMemory(self.params)
        m.d.comb += [
            memory.forward_chunk.eq(self.forward_chunk),
            memory.update_chunk.eq(self.backward_read_chunk),
            memory.write.eq(self.backward_write),
            memory.write_chunk.eq(self.backward_write_chunk),
        ]
        if self.params.ping_pong:
            m.d.comb += [
                memory.forward_half.eq(self.forward_half),
                memory.update.eq(self.backward_read),
                memory.update_half.eq(self.backward_read_half),
                memory.write_half.eq(self.backward_write_half),
            ]
            expect(m, self, no_column_is_read_while_written=lambda: ~self.collision(m))
        else:
            m.d.comb += memory.both.eq(self.backward_write_both)
        return memory

    def add_store(self, m: Module) -> WeightStore:
        """Add the queues of a model that lies in memory."""
        m.submodules.store = store = WeightStore(self.params)
        for name in ("forward_beats", "update_beats"):
            connect(m, flipped(getattr(self, name)), getattr(store, name))
        connect(m, store.results, flipped(self.results))
        m.d.comb += [
            store.forward_pop.eq(self.forward_pop),
            store.fresh.eq(self.backward_fresh),
            store.write.eq(self.backward_store),
            self.forward_came.eq(store.forward_came),
            self.update_came.eq(store.update_came),
            self.written.eq(store.written),
        ]
        return store

    def collision(self, m: Module) -> Value:
        """Return whether a word read an entry of a column in the cycle in which it was written."""
        skews = [column.skew for column in self.params.model.columns]
        entry = Cat(self.forward_half, self.forward_chunk)
        written = Cat(self.backward_write_half, self.backward_write_chunk)
        hits = [
            delay(
                m,
                self.backward_write & (delay(m, entry, skew, f"entry_{skew}") == written),
                ModelMemory.latency + skews[-1] - skew,
                f"hit_{skew}",
            )
            for skew in skews
        ]
        return Cat(*hits).any() & delay(m, self.forward_valid, skews[-1], "was_valid")

    def add_banks(self, m: Module, memory: ModelMemory | WeightStore) -> list:
        """Add a bank per sample; return their scaled deltas, each in the cycle a lane needs it."""
        first, second = (self.backward_position[f"{name}_plane"] for name in ("first", "second"))
        scaled = []
        weights = memory.architectural
        pairs = Signal(self.params.model.pairs)
        if self.params.pair_sums:
            lanes = [weights[lane] for lane in range(self.params.lanes)]
            m.d.comb += [
                pairs[k].eq(sum(lanes[2 * k + 1 : 2 * k + 2], start=lanes[2 * k]))
                for k in range(len(pairs))
            ]
        for k in range(self.params.banks):
            m.submodules[f"bank_{k}"] = bank = Bank(self.params)
            later = self.params.gradient.delta_skew(k)
            m.d.comb += [
                bank.signed_features.eq(self.signed_features),
                bank.valid.eq(self.forward_valid),
                bank.tag.eq(self.forward_tag),
                bank.plane.eq(self.forward_planes[k]),
                bank.weights.eq(weights),
                self.sums[k].eq(bank.partial),
                bank.delta.eq(delay(m, self.deltas[k], later, f"delta_{k}")),
                bank.next_plane.eq(delay(m, self.backward_next_word, later, f"next_{k}")),
                bank.first_plane.eq(delay(m, first, later, f"first_{k}")),
                bank.second_plane.eq(delay(m, second, later, f"second_{k}")),
            ]
            if self.params.pair_sums:
                m.d.comb += bank.pairs.eq(pairs)
            scaled.append(bank.scaled)
        return scaled

    def add_lanes(self, m: Module, memory: ModelMemory | WeightStore, scaled: list) -> Value:
        """Add the gradient and the update of each lane; return which of the lanes saturated."""
        saturated = []
        reported = [self.report(m, group) for group in range(-(-self.params.lanes // GROUP_LANES))]
        for lane in range(self.params.lanes):
            m.submodules[f"gradient_{lane}"] = gradient = GradientLane(self.params)
            m.submodules[f"update_{lane}"] = update = UpdateLane(self.params)
            group, place = divmod(lane, GROUP_LANES)
            m.d.comb += [
                gradient.valid.eq(self.backward_planes_valid),
                gradient.first.eq(self.backward_planes_first),
                gradient.planes.eq(Cat(plane[lane] for plane in self.backward_planes)),
                gradient.scaled.as_value().eq(Cat(*scaled)),
                update.l2_shift.eq(self.l2_shift),
                update.decaying.eq(reported[group].decaying),
                update.weight.eq(memory.updated[lane]),
                update.gradient.eq(gradient.gradient),
                memory.result[lane].eq(update.result),
            ]
            if self.params.max_tile:
                m.d.comb += update.advance.eq(self.backward_advance)
            else:
                m.d.comb += [
                    update.keep.eq(reported[group].keep),
                    update.from_zero.eq(reported[group].from_zero),
                    update.replace.eq(reported[group].replace),
                    update.host_weight.eq(self.host_weights[place]),
                ]
            saturated.append(update.saturated)
        return Cat(*saturated)

    def report(self, m: Module, group: int) -> data.View:
        """Return registers with the control signals of eight lanes.

        A register for all lanes would have its loads all over the engine.
        """
        names = (
            ("decaying",) if self.params.max_tile else ("keep", "from_zero", "decaying", "replace")
        )
        reported = Signal(
            data.StructLayout(dict.fromkeys(names, 1)),
            name=f"reported_{group}",
            reset_less=True,
            attrs=KEPT_APART,
        )
        m.d.sync += [reported[name].eq(getattr(self, f"backward_{name}")) for name in names]
        if not self.params.max_tile:
            chosen = self.host_group == group
            m.d.sync += reported.replace.eq(self.backward_replace & chosen)
        return reported
