"""A network as a diagram, after Fig. 2 of the paper: input at the left, reservoirs in columns, output at the right.

`layout` says where everything stands, in inches; `draw` paints it. Neighbouring columns are joined in the gap between
them. Longer ways run in lanes: above the columns for couplings that skip some and for inputs to later ones, below them for
feedback and the readouts of earlier ones. So no line crosses a reservoir or its caption.
"""

from echoscale.network.diagram.draw import SIZES, draw, shade
from echoscale.network.diagram.layout import layout
from echoscale.network.diagram.plan import AIR, LETTER, LINE, Drawing, Spot, Wire

__all__ = ["AIR", "LETTER", "LINE", "SIZES", "Drawing", "Spot", "Wire", "draw", "layout", "shade"]
