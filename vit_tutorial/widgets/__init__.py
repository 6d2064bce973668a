"""What one can move: the attention explorer, the pad that one draws a digit on, and the whole model, live."""

from .explorer import AttentionExplorer
from .pad import DigitPad, draw_digit, frame_digit
from .whole import WholeModel, show_model

__all__ = ["AttentionExplorer", "DigitPad", "WholeModel", "draw_digit", "frame_digit", "show_model"]
