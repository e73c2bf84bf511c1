// SPDX-License-Identifier: Apache-2.0
// OpenCL C in terms of C++, for one translation unit that then includes kernels. Included inside an
// anonymous namespace, after <cstddef> and <cstdint>.
// multi-include: once for each hash algorithm, in translation units of their own

#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"

using uchar = std::uint8_t;
using uint = std::uint32_t;
using ulong = std::uint64_t;

#define __kernel [[maybe_unused]]
#define __global
#define __constant static const
#define ASSAY_UNROLL
#define ASSAY_KEEP_LOOP

struct uint4 {
  uint x, y, z, w;
};

std::size_t current_work_item = 0;
std::size_t get_global_id(uint) { return current_work_item; }
[[maybe_unused]] std::size_t get_group_id(uint) { return current_work_item; }
[[maybe_unused]] std::size_t get_local_id(uint) { return 0; }
[[maybe_unused]] std::size_t get_local_size(uint) { return 1; }
// A group is a single work-item here.
#define CLK_GLOBAL_MEM_FENCE
[[maybe_unused]] void barrier() {}
[[maybe_unused]] ulong min(ulong x, ulong y) { return x < y ? x : y; }
[[maybe_unused]] uint mul_hi(uint x, uint y) { return static_cast<uint>((ulong{x} * y) >> 32); }

template <typename T>
T rotate(T x, T by) {
  return static_cast<T>((x << by) | (x >> (sizeof(T) * 8 - by)));
}
