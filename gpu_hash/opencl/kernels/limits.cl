// SPDX-License-Identifier: Apache-2.0
// What bounds a device that hashes: how fast it reads memory, and how many integer operations it
// does. No part of any hash; a program of its own, in OpenCL C 1.2 that runs on every device.

// Every work-item reads `count` vectors, a multiple of 4, from number `first` times its own number
// on, `step` apart. The sums keep the compiler from leaving reads out.
__kernel void read_memory(__global const uint4* data, const ulong first, const ulong step,
                          const ulong count, __global uint* out) {
  const ulong item = get_global_id(0);
  __global const uint4* from = data + item * first;
  uint4 sum = (uint4)(0);
  for (ulong i = 0; i < count; i += 4) {
    const uint4 a = from[0];
    const uint4 b = from[step];
    const uint4 c = from[2 * step];
    const uint4 d = from[3 * step];
    sum ^= (a ^ b) ^ (c ^ d);
    from += 4 * step;
  }
  out[item] = sum.x ^ sum.y ^ sum.z ^ sum.w;
}

// Two turns and one logic operation, about as SHA mixes them; no two amounts add up to 32, and none
// is a multiple of 8, so that nothing but a turn does it.
#define MIX(x, y, m, n) x = rotate(x, (uint8)(m)) ^ rotate(y, (uint8)(n))
#define MIX_PAIR    \
  MIX(a, b, 5, 18); \
  MIX(b, a, 11, 23)

// Eight chains in each work-item that depend on nothing but themselves. A round is 16 steps of 8
// chains and 3 operations, and counting the rounds is about one operation in a hundred:
// kOperationsPerRound in gpu_hash/opencl/limits.cc.
__kernel void integer_rate(const uint seed, const uint rounds, __global uint* out) {
  const uint item = (uint)get_global_id(0);
  uint8 a = (uint8)(0, 1, 2, 3, 4, 5, 6, 7) * 0x9e3779b9U + (uint8)(item + seed);
  uint8 b = a * 0x85ebca6bU;
  for (uint i = 0; i < rounds; ++i) {
    MIX_PAIR;
    MIX_PAIR;
    MIX_PAIR;
    MIX_PAIR;
    MIX_PAIR;
    MIX_PAIR;
    MIX_PAIR;
    MIX_PAIR;
  }
  a ^= b;
  const uint4 half_sum = a.lo ^ a.hi;
  out[item] = half_sum.x ^ half_sum.y ^ half_sum.z ^ half_sum.w;
}
