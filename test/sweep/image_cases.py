"""Tiny models of images and of sound."""

from __future__ import annotations

import torch
from model_cases import BART, NO_BART_DROPOUT, WORDS, Arguments, Case, masked


def sound(batch: int, length: int) -> Arguments:
    return {"input_values": torch.randn(batch, length)}


def image(batch: int, side: int) -> Arguments:
    return {"pixel_values": torch.randn(batch, 3, side, side)}


def image_and_text(batch: int, side: int) -> Arguments:
    return {**image(batch, side), **masked(batch, 9)}


_VIT = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 52,
    "image_size": 32,
    "patch_size": 8,
}
_SPEECH = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 52,
    "conv_dim": (16, 16),
    "conv_stride": (5, 2),
    "conv_kernel": (10, 3),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 4,
    "vocab_size": 30,
}
_NO_SPEECH_DROPOUT = {
    "hidden_dropout": 0.0,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "feat_proj_dropout": 0.0,
    "final_dropout": 0.0,
    "layerdrop": 0.0,
    "apply_spec_augment": False,
}
_CLIP_TEXT = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "intermediate_size": 52,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 16,
    "eos_token_id": 2,
}

IMAGES_AND_SOUNDS = (
    # images
    Case(
        "swin",
        "SwinForImageClassification",
        "SwinConfig",
        {
            "image_size": 32,
            "patch_size": 4,
            "embed_dim": 16,
            "depths": [2, 2],
            "num_heads": [2, 4],
            "window_size": 4,
        },
        image,
        lengths=(32, 32),
        training={"drop_path_rate": 0.0},
    ),
    Case(
        "segformer",
        "SegformerForSemanticSegmentation",
        "SegformerConfig",
        {
            "depths": [1, 1, 1, 1],
            "hidden_sizes": [8, 16, 20, 24],
            "num_attention_heads": [1, 2, 2, 4],
            "decoder_hidden_size": 16,
        },
        image,
        lengths=(64, 96),
        training={"drop_path_rate": 0.0, "classifier_dropout_prob": 0.0},
    ),
    Case("dinov2", "Dinov2Model", "Dinov2Config", _VIT, image, lengths=(32, 48)),
    Case(
        "clip",
        "CLIPModel",
        "CLIPConfig",
        {"text_config": _CLIP_TEXT, "vision_config": _VIT, "projection_dim": 20},
        image_and_text,
        lengths=(32, 32),
    ),
    Case(
        "siglip",
        "SiglipModel",
        "SiglipConfig",
        {"text_config": _CLIP_TEXT, "vision_config": _VIT},
        image_and_text,
        lengths=(32, 32),
    ),
    Case(
        "mobilevit",
        "MobileViTForImageClassification",
        "MobileViTConfig",
        {"image_size": 64, "hidden_sizes": [16, 20, 24], "neck_hidden_sizes": [8, 8, 12, 16, 20, 24, 32]},
        image,
        lengths=(64, 64),
        training={
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
            "classifier_dropout_prob": 0.0,
        },
    ),
    Case(
        "mobilenet-v2",
        "MobileNetV2ForImageClassification",
        "MobileNetV2Config",
        {"image_size": 32, "depth_multiplier": 0.25},
        image,
        lengths=(32, 48),
        training={"classifier_dropout_prob": 0.0},
    ),
    Case(
        "efficientnet",
        "EfficientNetForImageClassification",
        "EfficientNetConfig",
        {
            "image_size": 32,
            "width_coefficient": 0.25,
            "depth_coefficient": 0.3,
            "hidden_dim": 320,
            "pooling_type": "mean",
        },
        image,
        lengths=(32, 48),
        training={"dropout_rate": 0.0, "drop_connect_rate": 0.0},
    ),
    Case(
        "detr",
        "DetrForObjectDetection",
        "DetrConfig",
        {
            **BART,
            "num_queries": 7,
            "use_timm_backbone": False,
            "use_pretrained_backbone": False,
            "backbone": None,
            "backbone_config": {
                "model_type": "resnet",
                "embedding_size": 8,
                "hidden_sizes": [8, 12, 16, 20],
                "depths": [1, 1, 1, 1],
                "layer_type": "basic",
                "out_features": ["stage4"],
            },
        },
        image,
        lengths=(64, 96),
        training=NO_BART_DROPOUT,
    ),
    Case(
        "beit",
        "BeitForImageClassification",
        "BeitConfig",
        {**_VIT, "use_relative_position_bias": True},
        image,
        lengths=(32, 32),
        training={"drop_path_rate": 0.0},
    ),
    Case(
        "poolformer",
        "PoolFormerForImageClassification",
        "PoolFormerConfig",
        {
            "depths": [1, 1],
            "hidden_sizes": [8, 16],
            "num_encoder_blocks": 2,
            "patch_sizes": [7, 3],
            "strides": [4, 2],
            "padding": [2, 1],
        },
        image,
        lengths=(32, 48),
        training={"drop_path_rate": 0.0},
    ),
    Case(
        "regnet",
        "RegNetForImageClassification",
        "RegNetConfig",
        {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 2], "groups_width": 4},
        image,
        lengths=(32, 48),
    ),
    Case(
        "cvt",
        "CvtForImageClassification",
        "CvtConfig",
        {"embed_dim": [8, 16, 32], "num_heads": [1, 2, 4], "depth": [1, 2, 3]},
        image,
        lengths=(32, 48),
        training={"drop_rate": [0.0] * 3, "attention_drop_rate": [0.0] * 3, "drop_path_rate": [0.0] * 3},
    ),
    # speech
    Case(
        "wav2vec2",
        "Wav2Vec2ForCTC",
        "Wav2Vec2Config",
        _SPEECH,
        sound,
        lengths=(400, 520),
        training=_NO_SPEECH_DROPOUT,
    ),
    Case(
        "hubert",
        "HubertForCTC",
        "HubertConfig",
        _SPEECH,
        sound,
        lengths=(400, 520),
        training=_NO_SPEECH_DROPOUT,
    ),
    Case(
        "wavlm", "WavLMForCTC", "WavLMConfig", _SPEECH, sound, lengths=(400, 520), training=_NO_SPEECH_DROPOUT
    ),
)
