// SPDX-License-Identifier: Apache-2.0
// Moves elements from sources to results (gpu_hash/derive.h). A program of its own.

// The members of a row: from and to in bytes, then for both loops the bytes of a step on both
// sides, the counts of both, and the kind of the move.
#define ROW_WORDS 8
#define ROW_FROM 0
#define ROW_TO 1
#define ROW_OUTER_FROM 2
#define ROW_OUTER_TO 3
#define ROW_INNER_FROM 4
#define ROW_INNER_TO 5
#define ROW_COUNTS 6  // the outer one in the upper half
#define ROW_KIND 7

#define COPY1 0
#define COPY2 1
#define COPY4 2
#define COPY8 3
#define TO_BF16 4
#define TO_F16 5
#define COPY16 6

// `value` without its last `bits` bits, rounded to the nearest, ties to even.
static inline uint to_even(uint value, uint bits) {
  const uint half_way = 1u << (bits - 1);
  const uint rest = value & ((half_way << 1) - 1);
  const uint kept = value >> bits;
  return kept + ((rest > half_way || (rest == half_way && (kept & 1u) != 0)) ? 1u : 0u);
}

static inline ushort to_bf16(uint bits) {
  return (ushort)((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : to_even(bits, 16));
}

static inline ushort to_f16(uint bits) {
  const uint sign = (bits >> 16) & 0x8000u;
  const uint size = bits & 0x7fffffffu;
  const uint exponent = size >> 23;
  uint found = 0;
  if (size > 0x7f800000u) {
    found = 0x7e00u;
  } else if (size >= 0x47800000u) {
    found = 0x7c00u;
  } else if (size >= 0x38800000u) {
    found = to_even(size - 0x38000000u, 13);
  } else if (exponent >= 102) {
    found = to_even((size & 0x007fffffu) | 0x00800000u, 126 - exponent);
  }
  return (ushort)(sign | found);
}

// Each group takes rows in turn; a row has fewer than 2^31 elements.
__kernel void move_rows(__global const ulong* rows, const uint count,
                        __global const uchar* sources, __global uchar* results) {
  for (uint number = (uint)get_group_id(0); number < count; number += (uint)get_num_groups(0)) {
    __global const ulong* row = rows + (ulong)number * ROW_WORDS;
    const uint inner = (uint)row[ROW_COUNTS];
    const uint elements = inner * (uint)(row[ROW_COUNTS] >> 32);
    const uint kind = (uint)row[ROW_KIND];
    for (uint i = (uint)get_local_id(0); i < elements; i += (uint)get_local_size(0)) {
      const ulong outer_at = i / inner;
      const ulong inner_at = i % inner;
      __global const uchar* from = sources + row[ROW_FROM] + outer_at * row[ROW_OUTER_FROM] +
                                   inner_at * row[ROW_INNER_FROM];
      __global uchar* to =
          results + row[ROW_TO] + outer_at * row[ROW_OUTER_TO] + inner_at * row[ROW_INNER_TO];
      if (kind == COPY16) {
        *(__global uint4*)to = *(__global const uint4*)from;
      } else if (kind == TO_BF16) {
        *(__global ushort*)to = to_bf16(*(__global const uint*)from);
      } else if (kind == TO_F16) {
        *(__global ushort*)to = to_f16(*(__global const uint*)from);
      } else if (kind == COPY2) {
        *(__global ushort*)to = *(__global const ushort*)from;
      } else if (kind == COPY4) {
        *(__global uint*)to = *(__global const uint*)from;
      } else if (kind == COPY8) {
        *(__global ulong*)to = *(__global const ulong*)from;
      } else {
        *to = *from;
      }
    }
  }
}
