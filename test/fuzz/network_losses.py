"""What networks end with: a number, or one for each row."""

from __future__ import annotations

from math import prod

from bodies import Body


def loss(b: Body, x: str) -> str:
    """What a step of training ends with, or what is measured on its way: a number, or one for each row."""
    last = b.shape(x)[-1]
    first = f"torch.arange({prod(b.shape(x)[:-1])}) % {last}"
    return b.rng.choice(
        (
            f"{x}.square().mean()",
            f"{x}.float().abs().sum(-1).mean()",
            f"{x}.mean(0).square().sum()",
            f"{x}.amax(-1).mean()",
            f"{x}.norm()",
            f"{x}.float().logsumexp(-1).mean()",
            f"F.cosine_similarity({x}, {x}.flip(0), -1).mean()",
            f"(F.normalize({x}, dim=-1) * F.normalize({x}.flip(0), dim=-1)).sum(-1).mean()",
            f"F.cross_entropy({x}.reshape(-1, {last}).float(), {first})",
            f"F.binary_cross_entropy_with_logits({x}, torch.ones_like({x}))",
            f"F.smooth_l1_loss({x}, torch.zeros_like({x}))",
            f"{x}.flatten(1).std(1, correction=0)",
        )
    )
