"""Calls of scaled_dot_product_attention as data: what they are, which ones the map measures, and what was recorded of them.

Nothing here imports torch.
"""

from .call import Call, Mask

__all__ = ["Call", "Mask"]
