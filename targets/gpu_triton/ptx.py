"""What PTX says between Triton, which writes it, and ptxas, which assembles it."""

from __future__ import annotations

import re

_LABEL = re.compile(r"(\$\w+):")
_BRANCH = re.compile(r"\bbra(?:\.uni)?\s+(\$\w+);")
_NOT_UNROLLED = '\t.pragma "nounroll";'


def with_product_loops(text: str, product: str) -> str:
    """`text`, whose loops with instructions that match `product` ptxas does not write out.

    It writes loops of up to a dozen steps out in full (sums over 768, say). The steps of such a loop wait for
    matrix units and for copies, not for its branch; written out, addresses of all steps are registers: 180
    instead of 96, and 0.3 s instead of 0.05 (docs/decisions/gpu-cold-compiles.md).

    ```
    $L__BB0_1:                      $L__BB0_1:
        wgmma.mma_async ...    ->       .pragma "nounroll";
        @%p1 bra $L__BB0_1;             wgmma.mma_async ...
                                        @%p1 bra $L__BB0_1;
    ```

    The PTX ISA's section on `.pragma "nounroll"`: it counts in the block that heads a loop, before any
    instruction.
    """
    lines = text.split("\n")
    labels = {match[1]: at for at, line in enumerate(lines) if (match := _LABEL.match(line))}
    products = [at for at, line in enumerate(lines) if re.search(product, line)]
    heads: set[int] = set()
    for at, line in enumerate(lines):
        branch = _BRANCH.search(line)
        head = labels.get(branch[1], at) if branch else at
        if any(head < inside < at for inside in products):
            heads.add(head)
    return "\n".join(f"{line}\n{_NOT_UNROLLED}" if at in heads else line for at, line in enumerate(lines))
