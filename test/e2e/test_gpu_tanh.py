"""tanh of f32 on GPUs, which is a function of our own: without branches, within 3 units in the last place."""

from __future__ import annotations

import torch


def test_everywhere() -> None:
    """Near 0, where the two ways to compute it meet, far away, and at what is no number."""
    torch._dynamo.reset()
    near = torch.tensor(
        [0.55, 0.5499999, 0.5500001, 1e-30, 1e-42, 0.0, 20.0, 1e30, float("inf"), float("nan")]
    )
    x = torch.cat([torch.linspace(-12, 12, 20011), near, -near])
    got = torch.compile(torch.tanh, backend="mlir", options={"target": "gpu_emulated"})(x)
    exact = torch.tanh(x.double())
    unit = torch.nextafter(exact.float().abs(), torch.tensor(float("inf"))) - exact.float().abs()
    assert (((got.double() - exact).abs() <= 3 * unit.double()) | got.isnan()).all()
    assert torch.equal(got.isnan(), x.isnan())
    assert torch.equal(got.signbit()[~x.isnan()], x.signbit()[~x.isnan()])
