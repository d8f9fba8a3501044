"""Cuts links between two parts of a simulated system, each of which is a process of its own."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal, ValueLike
from amaranth.lib.wiring import In, connect

from sim.surroundings.exchange import add_exchange
from sim.surroundings.link import Link, LinkParams


class CutLink(Link):
    """Is one end of two links, one in each direction, whose other end is in another process.

    ``index`` is that of the link on which it sends, from ``i``; what comes on the other is at
    ``o``. ``channel`` tells cut links of a part apart. The wire's delay is that of the exchange:
    ``settings.latency`` is what is beyond it. It counts what its end of either link knows.
    """

    def __init__(self, params: LinkParams) -> None:
        super().__init__(params, channel=In(8))

    def join(self, m: Module, sent: Any, freed: Signal, come: Any, credit: Signal) -> None:
        """Exchange what the ends send."""
        add_exchange(
            m,
            self.channel,
            sent=(Cat(sent.valid, freed), Cat(sent.beat, sent.fate), sent.valid),
            come=(Cat(come.valid, credit), Cat(come.beat, come.fate)),
        )


def add_cut_links(
    m: Module, params: LinkParams, settings: Any, ends: Sequence[tuple[Any, Any, ValueLike]]
) -> list[CutLink]:
    """Add the ends of a part's cut links, all of which are set by ``settings``; return them.

    ``ends`` has, by channel, its streams out and in, and the number of the link that it sends on.
    """
    links = []
    for channel, (source, sink, index) in enumerate(ends):
        m.submodules[f"link_{channel}"] = link = CutLink(params)
        links.append(link)
        connect(m, source, link.i)
        connect(m, link.o, sink)
        m.d.comb += [
            link.index.eq(index),
            link.channel.eq(channel),
            link.settings.eq(settings),
        ]
    return links
