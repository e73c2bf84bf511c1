# SPDX-License-Identifier: Apache-2.0
"""tests/vectors/casts.json: casts of F32 to BF16 and F16."""
import random

from reference import casts


def _near(dtype, bits):
    """F32 numbers at a number of the type, half way to the next one, and beside both."""
    exponent_bits, mantissa_bits = casts.TYPES[dtype]
    bias = 127 - ((1 << (exponent_bits - 1)) - 1)
    middle = ((bits >> mantissa_bits) + bias) << 23 | (bits & ((1 << mantissa_bits) - 1)) << (23 - mantissa_bits)
    half = 1 << (22 - mantissa_bits)
    return [middle + offset for offset in (-1, 0, 1, half - 1, half, half + 1)]


def build():
    rng = random.Random(36)
    rows = {
        # zeros, smallest numbers, one, largest number, infinities
        0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x7F7FFFFF, 0xFF7FFFFF,
        0x7F800000, 0xFF800000,
        # NaN: quiet, signalling, with sign, with all bits
        0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FC12345,
        # the border to infinity of both types
        0x7F7F7FFF, 0x7F7F8000, 0x7F7F8001, 0x477FEFFF, 0x477FF000, 0x477FF001, 0x47800000, 0xC77FF000,
        # the border to zero, and among subnormal numbers, of F16
        0x32FFFFFF, 0x33000000, 0x33000001, 0x33800000, 0x33BFFFFF, 0x33C00000, 0x33C00001, 0xB3000001,
        0x387FC000, 0x387FDFFF, 0x387FE000, 0x387FE001, 0x387FFFFF, 0x38800000,
        # subnormal numbers of F32 and BF16
        0x00007FFF, 0x00008000, 0x00008001, 0x00018000, 0x007F7FFF, 0x007F8000,
    }  # fmt: skip
    for dtype, some in (("BF16", (0x3F80, 0x3F81, 0x4049, 0x0080, 0x7F00)), ("F16", (0x3C00, 0x3C01, 0x4248, 0x0400, 0x7BFF))):
        for bits in some:
            rows.update(_near(dtype, bits))
    rows.update(rng.getrandbits(32) for _ in range(64))
    rows.update(rng.randrange(0x33000000, 0x47800000) | rng.getrandbits(1) << 31 for _ in range(64))
    return {
        "what": "F32 numbers as their bits, and the BF16 and F16 numbers that schemas/layout.md makes of them",
        "source": "tests/support/reference/casts.py: exact fractions",
        "casts": [
            {"f32": f"{f32:08x}", "bf16": f"{casts.cast(f32, 'BF16'):04x}", "f16": f"{casts.cast(f32, 'F16'):04x}"}
            for f32 in sorted(rows)
        ],
    }
