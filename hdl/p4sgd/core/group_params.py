"""Describes the signals between the engines of one die and the next, and a group's sizes."""

from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, Signature

from hdl.common.checks import check_range
from hdl.common.params import Params
from hdl.p4sgd.engine.engine_events import ENGINE_EVENTS
from hdl.p4sgd.worker_params import WorkerParams


class GroupParams(Params, suffix="{index}_{worker.suffix}"):
    """Selects one of a worker's groups of engines."""

    worker: WorkerParams  #: sizes of the worker, whose engines are in more than one die
    index: int  #: number of the die; readers, loss and network are in die 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("index", self.index, 0, self.worker.slrs - 1, ", a die of the worker")

    @property
    def own(self) -> range:
        """Return the numbers of the engines of this die."""
        return self.worker.groups[self.index]

    @property
    def beyond(self) -> range:
        """Return the numbers of the engines of the dies after this one."""
        return range(self.own.stop, self.worker.engines)

    @property
    def own_sets(self) -> int:
        """Return the number of sets of engines of this die."""
        return len(self.own) // self.worker.classes

    @property
    def engines(self) -> range:
        """Return the numbers of all engines that are reached through this die, its own first."""
        return range(self.own.start, self.worker.engines)


def group_load(params: WorkerParams) -> data.StructLayout:
    """Describe eight weights that are loaded into one of the engines."""
    return data.StructLayout({"engine": params.engine_index, **params.engine.model.load.members})


def group_peek(params: WorkerParams) -> data.StructLayout:
    """Describe a request to read eight weights of one of the engines."""
    return data.StructLayout({"engine": params.engine_index, **params.engine.model.address.members})


def group_peeked(params: WorkerParams) -> data.StructLayout:
    """Describe eight weights that were read, and the engine that they are of."""
    return data.StructLayout({"engine": params.engine_index, "group": params.engine.model.group})


class GroupSignature(Signature):
    """Describes the signals between ``engines`` and the rest of a worker; ``Out`` is to engines.

    ``events[k]`` and ``updated[k]`` belong to the k-th of them, ``words_k`` and ``waiting[k]`` to
    the k-th of their sets; ``load``, ``peek`` and ``peeked`` name one by its number in the worker.
    ``deltas`` go to all sets, ``partials`` is the sum over all sets, class after class.
    ``settings``, ``exchanging`` and ``refill`` are those of an engine, and have the same delay as
    ``begin``, which starts all engines.

    ``loaded`` is high in the cycle in which an engine has taken the weights of ``load``; no other
    ``load`` may be sent before. ``peeked`` answers in the order of ``peek``. ``waiting`` says that
    an engine lacks a word and none is on its way. ``finished`` falls in the cycle after ``begin``,
    as an engine's does.
    """

    def __init__(self, params: WorkerParams, engines: range) -> None:
        engine, count = params.engine, len(engines)
        sets = count // params.classes
        super().__init__(
            {
                "settings": Out(engine.settings),
                "begin": Out(1),
                "exchanging": Out(1),
                "refill": Out(1),
                **{f"words_{k}": Out(stream.Signature(engine.word)) for k in range(sets)},
                "deltas": Out(stream.Signature(engine.deltas)),
                "load": Out(stream.Signature(group_load(params))),
                "peek": Out(stream.Signature(group_peek(params))),
                "partials": In(stream.Signature(params.sums(sets))),
                "peeked": In(stream.Signature(group_peeked(params))),
                "loaded": In(1),
                "updated": In(count),
                "waiting": In(sets),
                "finished": In(1),
                "events": In(data.ArrayLayout(ENGINE_EVENTS, count)),
            }
        )
