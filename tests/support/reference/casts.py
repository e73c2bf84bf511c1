# SPDX-License-Identifier: Apache-2.0
"""Casts of schemas/layout.md, section 4, in exact fractions: the nearest number, ties to even."""
from fractions import Fraction

TYPES = {"BF16": (8, 7), "F16": (5, 10)}  # bits of the exponent, of the mantissa
NANS = {"BF16": (0x7FC0, False), "F16": (0x7E00, True)}  # bits, and whether the sign is kept


def value_of(bits, exponent_bits, mantissa_bits):
    """The size of a finite number."""
    exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissa = bits & ((1 << mantissa_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    if exponent == 0:
        return Fraction(mantissa, 1 << mantissa_bits) * Fraction(2) ** (1 - bias)
    return (1 + Fraction(mantissa, 1 << mantissa_bits)) * Fraction(2) ** (exponent - bias)


def cast(f32, dtype):
    """The bits of `f32`, which is given as its bits, in another type."""
    exponent_bits, mantissa_bits = TYPES[dtype]
    infinity = ((1 << exponent_bits) - 1) << mantissa_bits
    sign = (f32 >> 31) << (exponent_bits + mantissa_bits)
    size = f32 & 0x7FFFFFFF
    if size > 0x7F800000:
        nan, signed = NANS[dtype]
        return nan | (sign if signed else 0)
    if size == 0x7F800000:
        return sign | infinity
    wanted = value_of(size, 8, 23)
    low, high = 0, infinity  # infinity stands for the number that would follow the largest
    while high - low > 1:
        middle = (low + high) // 2
        if value_of(middle, exponent_bits, mantissa_bits) <= wanted:
            low = middle
        else:
            high = middle
    below = wanted - value_of(low, exponent_bits, mantissa_bits)
    above = value_of(high, exponent_bits, mantissa_bits) - wanted
    up = above < below or (above == below and low & 1)
    return sign | (high if up else low)
