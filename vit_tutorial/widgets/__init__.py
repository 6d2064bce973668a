"""What one can move: the attention explorer."""

from .explorer import AttentionExplorer, explore_block, explore_model

__all__ = ["AttentionExplorer", "explore_block", "explore_model"]
