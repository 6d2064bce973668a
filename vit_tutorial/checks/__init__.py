"""A check for every exercise: `checks.patchify(my_patchify)` prints one line, or says what is wrong.

Each takes the learner's own function or class, tries it on several shapes beside the reference, and raises an
AssertionError that names the mistake: the known ones by a sentence, others by the first difference.
"""

from .blocks import encoder_block, layer_norm, mlp
from .foreign import fit_positions, regroup_qkv, timm_name
from .heads import attention, masked_attention, multi_head_attention
from .looking import attention_distance, attention_map, rollout
from .models import count_macs, count_parameters, head, mean_pool, vit
from .pictures import conv_from_linear, normalise, num_tokens, patchify, unpatchify
from .tokens import cls_token, position_embedding, register_tokens, resize_positions, sincos1d
from .training import confusion_matrix, parameter_groups, schedule

__all__ = [
    "attention",
    "attention_distance",
    "attention_map",
    "cls_token",
    "confusion_matrix",
    "conv_from_linear",
    "count_macs",
    "count_parameters",
    "encoder_block",
    "fit_positions",
    "head",
    "layer_norm",
    "masked_attention",
    "mean_pool",
    "mlp",
    "multi_head_attention",
    "normalise",
    "num_tokens",
    "parameter_groups",
    "patchify",
    "position_embedding",
    "register_tokens",
    "regroup_qkv",
    "resize_positions",
    "rollout",
    "schedule",
    "sincos1d",
    "timm_name",
    "unpatchify",
    "vit",
]
