"""A network as a diagram, after Fig. 2 of the paper: input at the left, reservoirs in columns, output at the right.

`layout` places all parts, in inches; `draw` paints them. Neighbouring columns are joined in the gap between them. Longer links
run in lanes. Couplings that skip columns and inputs to later columns run above the columns; feedback and the readouts of
earlier columns run below. So no line crosses a reservoir or its caption.
"""

from echoscale.network.diagram.draw import SIZES, draw, shade
from echoscale.network.diagram.layout import Drawing, Spot, layout
from echoscale.network.diagram.wires import AIR, LETTER, LINE, Wire

__all__ = ["AIR", "LETTER", "LINE", "SIZES", "Drawing", "Spot", "Wire", "draw", "layout", "shade"]
