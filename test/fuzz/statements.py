"""Statements of random torch programs, by kind; `{x}`, `{y}` are values, `{new}` is what is assigned.

A statement whose operand has not the rank that it needs computes something else instead.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

FLOATS = ("float32", "float32", "float64", "bfloat16", "float16")
_UNARY = ("relu", "sigmoid", "tanh", "exp", "neg", "abs", "square", "sin", "floor", "erf", "sign", "rsqrt")
_IN_PLACE = ("mul_(0.5)", "add_(1)", "clamp_(-1, 1)", "neg_()", "sigmoid_()", "masked_fill_({p} > 0.5, 0.25)")
_MASKS = (
    "",
    ", is_causal=True",
    ", attn_mask=torch.ones({x}.shape[-2], {x}.shape[-2], dtype=torch.bool).tril(1)",
    ", attn_mask=({x}[..., :1] * 0.5).transpose(-1, -2).contiguous()",
    ", scale=0.3",
)

_PLAIN = (
    "{new} = torch.{unary}({x})",
    "{new} = torch.{binary}({x}, {y}) if {x}.shape == {y}.shape else {x} * 2",
    "{new} = torch.where({x} > 0, {x}, {x}.neg() * 0.1)",
    "{new} = F.gelu({x}) + F.silu({x}) * F.softplus({x})",
    "{new} = {x}.clone().mul_(0.5).add_({shift})",
    "{new} = torch.lerp({x}, {x} * 2, 0.25).clamp(-3, 3)",
)
_SHAPES = (
    "{new} = {x}.transpose(0, -1) if {x}.dim() > 0 else {x} + 1",
    "{new} = {x}.reshape(-1)",
    "{new} = {x}.unsqueeze({dim}) * 1.5",
    "{new} = {x}[..., ::2] if {x}.dim() else {x} * 3",
    "{new} = {x}.flip(0) if {x}.dim() else {x}.neg()",
    "{new} = torch.cat([{x}, {x} * 2], {dim}) if {x}.dim() else {x} + 2",
    "{new} = torch.stack([{x}, {x}.neg()], {dim})",
    "{new} = {x}.roll(1, {dim}) if {x}.dim() else {x} * 0.5",
    "{new} = {x}.tril() if {x}.dim() >= 2 else {x} - 3",
    "{new} = {x}.diagonal(0, 0, -1) * 2 if {x}.dim() >= 2 else {x} * 0.25",
    "{new} = {x}.unfold({dim}, 2, 1) if {x}.dim() and {x}.shape[{dim}] > 1 else {x} + 0.5",
    "{new} = {x}.narrow({dim}, {x}.shape[{dim}] // 2, 1) - 1 if {x}.dim() else {x}.cos()",
    "{new} = {x}.movedim(-1, 0).contiguous() if {x}.dim() > 1 else {x} * 0.75",
)
_REDUCTIONS = (
    "{new} = {x}.{reduction}({dim}, keepdim=True) if {x}.dim() else {x}.exp()",
    "{new} = {x} - {x}.mean({dim}, keepdim=True) if {x}.dim() else {x} - 1",
    "{new} = {x}.softmax({dim}) if {x}.dim() else {x}.cos()",
    "{new} = {x}.log_softmax({dim}) if {x}.dim() else {x}.sin()",
    "{new} = {x}.cumsum({dim}) if {x}.dim() else {x} / 3",
    "{new} = {x}.clamp(-2, 2).cumprod({dim}) if {x}.dim() else {x} * 5",
    "{new} = {x}.var({dim}, correction=0, keepdim=True) if {x}.dim() else {x} / 5",
    "{new} = F.layer_norm({x}, {x}.shape[-1:]) if {x}.dim() else {x} / 7",
    "{new} = F.normalize({x}, dim={dim}) if {x}.dim() else {x} / 9",
    "{new} = {x}.sort({dim}, descending={flag}).values if {x}.dim() else {x} * 7",
    "{new} = {x}.topk(({x}.shape[{dim}] + 1) // 2, {dim}).values if {x}.dim() else {x} * 9",
)
_TYPES = (
    "{new} = {x}.to(torch.{dtype})",
    "{new} = {x}.to(torch.{dtype}).to(torch.{dtype2}).to(torch.{dtype3})",
    "{new} = ({x}.to(torch.{dtype}) * 1.5).to(torch.{dtype2}) + 1",
    "{new} = ({x}.nan_to_num().clamp(-99, 99) * 4).to(torch.{integer}).to(torch.{dtype}) * 0.25",
    "{new} = ({x} > 0).to(torch.{dtype}) - {x}.to(torch.{dtype})",
)
_PLACES = "torch.arange({count}) % {x}.shape[{dim}]"
_IF_DENSE = " if {p}.dim() and {p}.is_contiguous() else {p}.sin_()"
"""AOTAutograd takes what scatters to strided memory for dense, and drops a later `contiguous()`."""
_WRITES = (
    "{p}.{in_place}",
    "{p}.{in_place}",
    "{p}.view(-1)[0].add_(1) if {p}.is_contiguous() else {p}.mul_(2)",
    "{p}.scatter_add_({dim}, ({p} > 0).long() % {p}.shape[{dim}], {p} * 0.5)" + _IF_DENSE,
    "{p}.index_add_({dim}, " + _PLACES.replace("{x}", "{p}") + ", {p}.narrow({dim}, 0, 1).cos()"
    ".repeat_interleave({count}, {dim}))" + _IF_DENSE,
    "{p}.index_copy_({dim}, torch.arange({p}.shape[{dim}]).flip(0), {p}.sin())" + _IF_DENSE,
    "{p}.index_put_((torch.arange({count}) % {p}.shape[0],), {x}.mean().to({p}.dtype), accumulate={flag})"
    + _IF_DENSE,
    "{new} = {x}.clone()\n{new}.view(-1)[::2].add_(1)",
    "{new} = {x}.clone(memory_format=torch.contiguous_format)\n{new}[..., -1:] = 1.5",
    "{new} = {x} * 1\n{new}.transpose(0, -1)[0].mul_(2) if {new}.dim() else {new}.mul_(3)",
    "{new} = {x} + 0\n{new}[{new} > 0.5] = 0.25",
    "{new} = {x} + 0\n{new}.select({dim}, 0).copy_({new}.select({dim}, -1))"
    " if {new}.dim() else {new}.zero_()",
)
_INDEXING = (
    "{new} = {x}.index_select({dim}, " + _PLACES + ") if {x}.dim() else {x} + 5",
    "{new} = {x}[" + _PLACES.replace("{dim}", "0") + "] if {x}.dim() else {x} + 6",
    "{new} = {x}.index_copy({dim}, torch.arange({x}.shape[{dim}]).flip(0), {x} * 2)"
    " if {x}.dim() else {x} + 7",
    "{new} = {x}.index_put((torch.arange({count}) % {x}.shape[0],), {x}[:1] * 0.5, accumulate=True)"
    " if {x}.dim() else {x} + 8",
    "{new} = {x}.index_put((torch.arange({x}.shape[0]).flip(0),), {x} * 0.5) if {x}.dim() else {x} + 9",
    "{new} = {x}.gather({dim}, ({x} > 0).long() % {x}.shape[{dim}]) if {x}.dim() else {x} - 5",
    "{new} = {x}.scatter_add({dim}, ({x} > 0).long() % {x}.shape[{dim}], {x}) if {x}.dim() else {x} - 6",
    "{new} = F.embedding(({x} > 0).long(), {x}.reshape(-1, 1).expand(-1, 3)[:1].repeat(2, 1))",
)
_WINDOWS = (
    "{new} = F.pad({x}, (1, 2), value=0.5) if {x}.dim() else {x} - 7",
    "{new} = F.pad({x}.reshape(1, 1, -1), (2, 1), mode='{padding}') if {x}.numel() > 2 else {x} - 8",
    "{new} = F.pad({x}[None], (1, 0, 1, 1), mode='{padding}')"
    " if {x}.dim() == 3 and min({x}.shape) > 1 else {x} - 9",
    "{new} = F.interpolate({x}.reshape(1, 1, -1), scale_factor=2, mode='{line}')",
    "{new} = F.interpolate({x}[None], size=(5, 7), mode='{plane}') if {x}.dim() == 3 else {x} * 0.1",
    "{new} = F.max_pool1d({x}.reshape(1, 1, -1), 2, padding=1)",
    "{new} = F.avg_pool2d({x}[None], 2, stride=1, padding=1) if {x}.dim() == 3 else {x} * 0.2",
    "{new} = F.conv1d({x}.reshape(1, 1, -1), {x}.reshape(-1)[:3].reshape(1, 1, -1), padding=2)",
)
_PRODUCTS = (
    "{new} = {x} @ {x}.transpose(-1, -2) if {x}.dim() >= 2 else {x} * {x}",
    "{new} = F.linear({x}, {x}.reshape(-1, {x}.shape[-1]).cos()) if {x}.dim() else {x} * 0.3",
    "{new} = F.scaled_dot_product_attention({x}, {x} * 0.5, {x}.flip(-2){mask})"
    " if {x}.dim() >= 2 else {x} * 0.4",
    "{new} = F.scaled_dot_product_attention({x}[None], {x}[None], {x}[None].sin(){mask})[0]"
    " if {x}.dim() == 3 else {x} * 0.6",
)
KINDS: Sequence[tuple[int, Sequence[str]]] = (
    (6, _PLAIN),
    (6, _SHAPES),
    (6, _REDUCTIONS),
    (3, _TYPES),
    (3, _WRITES),
    (3, _INDEXING),
    (3, _WINDOWS),
    (2, _PRODUCTS),
)
"""Weight, statements."""


def statement(rng: random.Random, names: Sequence[str], new: str) -> list[str]:
    """The lines of one statement."""
    (kind,) = rng.choices([k for _, k in KINDS], [weight for weight, _ in KINDS])
    return filled(rng, rng.choice(kind), names, new)


def filled(rng: random.Random, text: str, names: Sequence[str], new: str) -> list[str]:
    """The lines of `text`, with values and choices in the place of names in braces."""
    x, y, p = rng.choice(names), rng.choice(names), rng.choice(("a", "b"))
    for _ in range(2):  # a mask and what is done in place name a value in turn
        text = text.format(
            new=new,
            x=x,
            y=y,
            p=p,
            dim=rng.choice((0, -1)),
            unary=rng.choice(_UNARY),
            binary=rng.choice(("add", "sub", "mul", "maximum", "minimum", "atan2")),
            reduction=rng.choice(("sum", "mean", "amax", "amin", "logsumexp")),
            dtype=rng.choice(FLOATS),
            dtype2=rng.choice(FLOATS),
            dtype3=rng.choice(FLOATS),
            integer=rng.choice(("int32", "int64", "int8", "int16")),
            shift=rng.choice((1, -2)),
            flag=rng.random() < 0.5,
            count=rng.choice((1, 3, 7)),
            in_place=rng.choice(_IN_PLACE),
            padding=rng.choice(("reflect", "replicate", "circular")),
            line=rng.choice(("nearest", "linear", "area")),
            plane=rng.choice(("nearest", "bilinear", "bicubic", "area", "nearest-exact")),
            mask=rng.choice(_MASKS),
        )
    return text.split("\n")
