// SPDX-License-Identifier: Apache-2.0
// Keyed tags of blocks of 4 KiB: NH with Toeplitz keys (RFC 4418 section 5.2.2), two 64-bit sums a
// block. Words are little-endian, as they lie in memory; a block that ends early is filled with
// zeros to a multiple of 32 bytes. gpu_hash/tags.h says what a tag is good for. Follows buffers.cl.
//
// Tag t of digest d (tree.cl) stands at tags[2 * (d * (chunk_size / 4096) + t)].

#define TAG_BYTES 4096
#define TAG_WORDS (TAG_BYTES / 4)
#define TAG_SHIFT 4  // words between the keys of both sums
#define TAG_KEY_WORDS (TAG_WORDS + TAG_SHIFT)

// One addend of NH for eight words and the key's words beside them.
#define NH_PAIR(m, k, i) ((ulong)((m)[i] + (k)[i]) * (uint)((m)[(i) + 4] + (k)[(i) + 4]))
#define NH(m, k) (NH_PAIR(m, k, 0) + NH_PAIR(m, k, 1) + NH_PAIR(m, k, 2) + NH_PAIR(m, k, 3))

// The same beside SHA, whose integer pipe is full: bits of ASSAY_TAG_ADDS say which of both additions
// are products there (sha256.cl).
#define TAG_PAIR(m, k, i)                                     \
  ((ulong)TAG_SUM(ASSAY_TAG_ADDS & 1, (m)[i], (k)[i]) *       \
   TAG_SUM(ASSAY_TAG_ADDS & 2, (m)[(i) + 4], (k)[(i) + 4]))
#define TAG_NH(m, k) (TAG_PAIR(m, k, 0) + TAG_PAIR(m, k, 1) + TAG_PAIR(m, k, 2) + TAG_PAIR(m, k, 3))

#if ASSAY_TAGS
#define TAG_KERNEL_PARAMETERS , __constant const uint *key, __global ulong *tags
#define TAG_PARAMETERS , __constant const uint *key, __global ulong *tags, const uint tag_count
#define TAG_ARGUMENTS                                                        \
  , key, tags + 2 * ((ulong)first_digest + place[1] + chunk) * (chunk_size / TAG_BYTES), \
      chunk_size / TAG_BYTES
#define TAG_START  \
  ulong sum_0 = 0; \
  ulong sum_1 = 0;
#define TAG_BLOCK(raw, block)                                                              \
  ASSAY_UNROLL                                                                             \
  for (uint i = 0; i < BLOCK_BYTES / 4; i += 8) {                                          \
    __constant const uint* k = key + (block) * (BLOCK_BYTES / 4) % TAG_WORDS + i;          \
    sum_0 += TAG_NH((raw) + i, k);                                                         \
    sum_1 += TAG_NH((raw) + i, k + TAG_SHIFT);                                             \
  }                                                                                        \
  if (((block) + 1) % (TAG_BYTES / BLOCK_BYTES) == 0) {                                    \
    tags[2 * ((block) / (TAG_BYTES / BLOCK_BYTES))] = sum_0;                               \
    tags[2 * ((block) / (TAG_BYTES / BLOCK_BYTES)) + 1] = sum_1;                           \
    sum_0 = 0;                                                                             \
    sum_1 = 0;                                                                             \
  }
#define TAG_END(chunk, size)                                                               \
  if ((size) % TAG_BYTES != 0) {                                                           \
    for (uint at = (size) / BLOCK_BYTES * BLOCK_BYTES; at < (size); at += 32) {            \
      uint m[8];                                                                           \
      tag_rest(m, chunk, at, size);                                                        \
      sum_0 += NH(m, key + at % TAG_BYTES / 4);                                            \
      sum_1 += NH(m, key + at % TAG_BYTES / 4 + TAG_SHIFT);                                \
    }                                                                                      \
    tags[2 * ((size) / TAG_BYTES)] = sum_0;                                                \
    tags[2 * ((size) / TAG_BYTES) + 1] = sum_1;                                            \
  }                                                                                        \
  for (uint i = ((size) + TAG_BYTES - 1) / TAG_BYTES; i < tag_count; ++i) {                \
    tags[2 * i] = 0; /* blocks that a short chunk does not have */                         \
    tags[2 * i + 1] = 0;                                                                   \
  }
#else
#define TAG_KERNEL_PARAMETERS
#define TAG_PARAMETERS
#define TAG_ARGUMENTS
#define TAG_START
#define TAG_BLOCK(raw, block)
#define TAG_END(chunk, size)
#endif

// Eight words from byte `at` on; zeros from `size` on.
static inline void tag_rest(uint* m, __global const uchar* bytes, uint at, uint size) {
  for (uint i = 0; i < 8; ++i) {
    uint word = 0;
    for (uint j = 0; j < 4; ++j) {
      const uint byte = at + 4 * i + j;
      word |= byte < size ? (uint)bytes[byte] << (8 * j) : 0;
    }
    m[i] = word;
  }
}
