"""What one can move: the attention explorer, and the pad that one draws a digit on."""

from .explorer import AttentionExplorer, explore_block, explore_model
from .pad import DigitPad, draw_digit, frame_digit

__all__ = ["AttentionExplorer", "DigitPad", "draw_digit", "explore_block", "explore_model", "frame_digit"]
