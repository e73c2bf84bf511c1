// SPDX-License-Identifier: Apache-2.0
// The hash tree of schemas/tree.md section 2 on a device: leaves, then nodes level by level, in
// place. Follows sha256.cl or sha384.cl in one program. Devices are little-endian (checked by the
// host); digests are kept as words, most significant byte first in value.
//
// A launch works on many segments (runs of chunks of one object each). Chunk c of segment s has the
// slot first_slot[s] + c; first_slot has one more element, the number of all slots.

#ifndef ASSAY_UNROLL
#define ASSAY_UNROLL _Pragma("unroll")
#endif

#define BLOCK_WORDS 16
#define BLOCK_BYTES (BLOCK_WORDS * WORD_BITS / 8)
#define LENGTH_BYTES (LENGTH_WORDS * WORD_BITS / 8)
#define WORD(x) ((word_t)(x))

#define CHOOSE(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define MAJORITY(x, y, z) (((x) & (y)) | ((z) & ((x) | (y))))

// FIPS 180-4 sections 6.2.2 and 6.4.2. Destroys w, which holds the 16 words of the block.
static inline void compress(word_t* state, word_t* w) {
  word_t a = state[0], b = state[1], c = state[2], d = state[3];
  word_t e = state[4], f = state[5], g = state[6], h = state[7];
  // 16 rounds at a time, so that all indices into w are constants and w stays in registers.
  ASSAY_UNROLL
  for (uint round = 0; round < ROUNDS; round += BLOCK_WORDS) {
    ASSAY_UNROLL
    for (uint i = 0; i < BLOCK_WORDS; ++i) {
      if (round > 0) {
        w[i] += SMALL_SIGMA1(w[(i + 14) % 16]) + w[(i + 9) % 16] + SMALL_SIGMA0(w[(i + 1) % 16]);
      }
      const word_t t1 = h + BIG_SIGMA1(e) + CHOOSE(e, f, g) + kRound[round + i] + w[i];
      const word_t t2 = BIG_SIGMA0(a) + MAJORITY(a, b, c);
      h = g;
      g = f;
      f = e;
      e = d + t1;
      d = c;
      c = b;
      b = a;
      a = t1 + t2;
    }
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

static inline void start(word_t* state) {
  for (uint i = 0; i < STATE_WORDS; ++i) {
    state[i] = kInitial[i];
  }
}

static inline void store(__global word_t* digest, const word_t* state) {
  for (uint i = 0; i < DIGEST_WORDS; ++i) {
    digest[i] = state[i];
  }
}

// Value of four bytes in memory order, the first one most significant.
static inline uint big_endian(uint x) {
  return (rotate(x, 8U) & 0x00ff00ffU) | (rotate(x, 24U) & 0xff00ff00U);
}

// Largest s with first[s] <= item: the segment that `item` belongs to.
static inline uint find_segment(__global const uint* first, uint segments, uint item) {
  uint low = 0;
  uint high = segments;
  while (high - low > 1) {
    const uint middle = low + (high - low) / 2;
    if (first[middle] <= item) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// The message 0x00 || chunk, read front to back in words of 32 bits. The prefix shifts every word
// by one byte; a chunk that starts at another byte than a multiple of four shifts it by more.
typedef struct {
  __global const uint* words;
  ulong next;  // word that is read next
  uint shift;  // bits; 0: message words are words in memory
  uint carry;  // word read last, when shift is not 0
} reader_t;

static inline reader_t open_reader(__global const uint* words, ulong begin) {
  const uint skip = (uint)(begin & 3);
  reader_t reader;
  reader.words = words;
  reader.next = begin >> 2;
  reader.shift = ((skip + 3) & 3) * 8;
  reader.carry = 0;
  if (skip >= 2) {
    reader.carry = big_endian(words[reader.next]);
    ++reader.next;
  }
  return reader;
}

static inline uint read_word(reader_t* reader) {
  const uint word = big_endian(reader->words[reader->next]);
  ++reader->next;
  if (reader->shift == 0) {
    return word;
  }
  const uint result = (reader->carry << reader->shift) | (word >> (32 - reader->shift));
  reader->carry = word;
  return result;
}

// Byte of the padded message 0x00 || chunk || 0x80 || zeros, but for the length at its end.
static inline uint message_byte(__global const uchar* chunk, ulong size, ulong position) {
  if (position == 0) {
    return 0;
  }
  if (position <= size) {
    return chunk[position - 1];
  }
  return position == size + 1 ? 0x80 : 0;
}

// The last block or two: what is left of the chunk, and the padding of FIPS 180-4 section 5.1.
static inline void finish_leaf(word_t* state, __global const uchar* chunk, ulong size,
                               ulong position) {
  const ulong end = size + 2 + LENGTH_BYTES;  // prefix, chunk, 0x80, length
  while (position < end) {
    word_t w[BLOCK_WORDS];
    for (uint i = 0; i < BLOCK_WORDS; ++i) {
      word_t word = 0;
      for (uint j = 0; j < WORD_BITS / 8; ++j) {
        word = (word << 8) | message_byte(chunk, size, position);
        ++position;
      }
      w[i] = word;
    }
    if (position >= end) {
      w[BLOCK_WORDS - 1] = WORD(size + 1) * 8;  // far below 2^32 bits
    }
    compress(state, w);
  }
}

// digests[slot] = H(0x00 || chunk): one work-item a chunk. extents holds (offset in data, size) of
// each segment in bytes. A word is read only when it holds a byte of the chunk.
__kernel void hash_leaves(__global const uint* data, __global const ulong* extents,
                          __global const uint* first_slot, const uint segments, const uint slots,
                          const uint chunk_size, __global word_t* digests) {
  const uint slot = (uint)get_global_id(0);
  if (slot >= slots) {
    return;
  }
  const uint segment = find_segment(first_slot, segments, slot);
  const ulong skip = (ulong)(slot - first_slot[segment]) * chunk_size;
  const ulong begin = extents[2 * segment] + skip;
  const ulong rest = extents[2 * segment + 1] - skip;
  const ulong size = rest < chunk_size ? rest : chunk_size;

  word_t state[STATE_WORDS];
  start(state);
  const ulong full = (size + 1) / BLOCK_BYTES;
  if (full > 0) {
    reader_t reader = open_reader(data, begin);
    uint prefix_mask = 0x00ffffffU;  // the first byte of the message is 0x00
    for (ulong block = 0; block < full; ++block) {
      word_t w[BLOCK_WORDS];
      ASSAY_UNROLL
      for (uint i = 0; i < BLOCK_WORDS; ++i) {
        w[i] = read_word(&reader) & prefix_mask;
        prefix_mask = 0xffffffffU;
#if HALVES_PER_WORD == 2
        w[i] = (w[i] << 32) | read_word(&reader);
#endif
      }
      compress(state, w);
    }
  }
  finish_leaf(state, (__global const uchar*)data + begin, size, full * BLOCK_BYTES);
  store(digests + (ulong)slot * DIGEST_WORDS, state);
}

// One level of nodes: H(0x01 || left || right) takes the place of left. On level k the nodes of a
// segment stand in its slots 0, 2^k, 2 * 2^k ...; a last one without neighbour stays where it is.
// pair_table + table_begin is to pairs what first_slot is to slots.
__kernel void hash_nodes(__global word_t* digests, __global const uint* first_slot,
                         __global const uint* pair_table, const uint table_begin,
                         const uint segments, const uint pairs, const uint level) {
  __global const uint* first_pair = pair_table + table_begin;
  const uint pair = (uint)get_global_id(0);
  if (pair >= pairs) {
    return;
  }
  const uint segment = find_segment(first_pair, segments, pair);
  const uint index = pair - first_pair[segment];
  const ulong left = first_slot[segment] + (((ulong)index * 2) << level);
  const ulong right = left + (1UL << level);

  word_t state[STATE_WORDS];
  start(state);
  const uint words = 2 * DIGEST_WORDS;
  const uint bytes = 1 + words * WORD_BITS / 8;
  const uint blocks = (bytes + 1 + LENGTH_BYTES + BLOCK_BYTES - 1) / BLOCK_BYTES;
  word_t before = 1;  // the prefix
  for (uint block = 0; block < blocks; ++block) {
    word_t w[BLOCK_WORDS];
    for (uint i = 0; i < BLOCK_WORDS; ++i) {
      const uint k = block * BLOCK_WORDS + i;
      word_t word = k == words ? WORD(0x80) << (WORD_BITS - 8) : 0;
      if (k < words) {
        word = k < DIGEST_WORDS ? digests[left * DIGEST_WORDS + k]
                                : digests[right * DIGEST_WORDS + k - DIGEST_WORDS];
      }
      w[i] = (before << (WORD_BITS - 8)) | (word >> 8);
      before = word;
    }
    if (block == blocks - 1) {
      w[BLOCK_WORDS - 1] = WORD(bytes) * 8;
    }
    compress(state, w);
  }
  store(digests + left * DIGEST_WORDS, state);
}

// The root of each segment, gathered for the host.
__kernel void gather_roots(__global const word_t* digests, __global const uint* first_slot,
                           const uint segments, __global word_t* roots) {
  const uint segment = (uint)get_global_id(0);
  if (segment >= segments) {
    return;
  }
  for (uint i = 0; i < DIGEST_WORDS; ++i) {
    roots[(ulong)segment * DIGEST_WORDS + i] =
        digests[(ulong)first_slot[segment] * DIGEST_WORDS + i];
  }
}
