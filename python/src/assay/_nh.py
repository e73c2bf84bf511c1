# SPDX-License-Identifier: Apache-2.0
"""NH on a GPU: the universal hash of UMAC (RFC 4418, section 5.2) with words of 32 bits, at the rate of its memory."""
import triton
import triton.language as tl

HALF = 2048  # words of half a block; word i is paired with word i + HALF
BLOCK = 2 * HALF  # words
KEY = 2 * BLOCK  # words: two keys, for two sums of 64 bits
RUN = 64  # blocks that one program takes, with its keys in registers


@triton.jit  # type: ignore
def nh(addresses, counts, places, key, sums, HALF: tl.constexpr, LOW: tl.constexpr):  # type: ignore
    """Each program sums the blocks of one run: `counts` words at `addresses`, to `places` of `sums`."""
    run = tl.program_id(0)
    lane = tl.arange(0, HALF)
    key0 = tl.load(key + lane)
    key1 = tl.load(key + HALF + lane)
    key2 = tl.load(key + 2 * HALF + lane)
    key3 = tl.load(key + 3 * HALF + lane)
    words = tl.load(addresses + run).to(tl.pointer_type(tl.int32))
    count = tl.load(counts + run)
    place = tl.load(places + run)
    for block in range(0, tl.cdiv(count, 2 * HALF)):
        first = block * 2 * HALF + lane
        second = first + HALF
        a = tl.load(words + first, mask=first < count, other=0)
        b = tl.load(words + second, mask=second < count, other=0)
        sum0 = tl.sum(((a + key0).to(tl.int64) & LOW) * ((b + key1).to(tl.int64) & LOW), axis=0)
        sum1 = tl.sum(((a + key2).to(tl.int64) & LOW) * ((b + key3).to(tl.int64) & LOW), axis=0)
        tl.store(sums + 2 * (place + block), sum0)
        tl.store(sums + 2 * (place + block) + 1, sum1)
