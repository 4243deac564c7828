"""`to_dot`, `to_svg` and what notebooks show: the methods of programs that can be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .drawing import Drawing

_MAX_SHOWN: Final = 2_000  # nodes of a picture that a notebook shows unasked


class Pictured:
    """A program that can be drawn, with a group for each of its kernels where FuseOps has found them."""

    __slots__ = ()

    def to_dot(self) -> str:
        """The program as a graph in DOT, the language of Graphviz: parameters, constants, calls and results are
        nodes, values are edges, the calls of a kernel are a cluster."""
        from .dot import dot  # imported where something is drawn, which most programs never are

        return dot(self.drawing())

    def to_svg(self) -> str:
        """The same graph as SVG, laid out in layers; the same text for the same program."""
        from .svg import svg

        return svg(self.drawing())

    def _repr_svg_(self) -> str | None:
        """What notebooks show; nothing of programs that are too large to be looked at."""
        from .svg import svg

        drawing = self.drawing()
        return svg(drawing) if len(drawing.nodes) <= _MAX_SHOWN else None

    def drawing(self) -> Drawing:
        """What there is to see; of functions and modules `drawn.py` says it, which stands above them."""
        raise NotImplementedError
