// SPDX-License-Identifier: Apache-2.0
// The hash tree of schemas/tree.md section 2 on a device: leaves, then nodes level by level, in
// place. Follows buffers.cl, tags.cl and sha256.cl or sha384.cl in one program. Devices are
// little-endian (checked by the host); digests are kept as words, most significant byte first in
// value.
//
// A launch works on runs: bytes that lie together in one buffer and begin with a chunk. Chunk c of
// run r is the work of item first_item[r] + c, and its digest goes to the slot places[r].slot + c.
// Segments are runs of slots whose nodes are joined up to one root. All tables lie in one buffer;
// at_... are offsets into it in words of 32 bits. A table of first items (or slots, or pairs) has
// one more element than there are runs: the number of all items.

#define BLOCK_WORDS 16
#define BLOCK_BYTES (BLOCK_WORDS * WORD_BITS / 8)
#define BLOCK_VECTORS (BLOCK_BYTES / 16)
#define LENGTH_BYTES (LENGTH_WORDS * WORD_BITS / 8)
#define WORD(x) ((word_t)(x))

#define CHOOSE(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define MAJORITY(x, y, z) (((x) & (y)) | ((z) & ((x) | (y))))

// One round of FIPS 180-4 sections 6.2.2 and 6.4.2; instead of moving the eight words on, the next
// round takes them in another order. Bits of `adds`: which additions are products, in order.
#define ROUND(adds, a, b, c, d, e, f, g, h, k, w)          \
  {                                                               \
    const word_t kw = ADD_CONSTANT((adds) & 1, w, k);             \
    word_t t1 = ADD((adds) & 2, h, kw);                           \
    t1 = ADD((adds) & 4, CHOOSE(e, f, g), t1);                    \
    t1 = ADD((adds) & 8, BIG_SIGMA1(e), t1);               \
    d = ADD((adds) & 16, d, t1);                                  \
    h = ADD((adds) & 32, BIG_SIGMA0(a), MAJORITY(a, b, c)); \
    h = ADD((adds) & 64, t1, h);                                  \
  }

#define EXPAND(i)                                                                 \
  w[i] = ADD(ASSAY_ADDS_SCHEDULE & 1, w[i], w[((i) + 9) % 16]);                   \
  w[i] = ADD(ASSAY_ADDS_SCHEDULE & 2, SMALL_SIGMA0(w[((i) + 1) % 16]), w[i]);     \
  w[i] = ADD(ASSAY_ADDS_SCHEDULE & 4, SMALL_SIGMA1(w[((i) + 14) % 16]), w[i]);

#define ROUND_EVEN(i, a, b, c, d, e, f, g, h)                                            \
  ROUND(ASSAY_ADDS_EVEN, a, b, c, d, e, f, g, h, kRound[round + (i)], w[i])
#define ROUND_ODD(i, a, b, c, d, e, f, g, h) \
  ROUND(ASSAY_ADDS_ODD, a, b, c, d, e, f, g, h, kRound[round + (i)], w[i])

#define EXPAND_8(i)                                                       \
  EXPAND(i) EXPAND(i + 1) EXPAND(i + 2) EXPAND(i + 3) EXPAND(i + 4) EXPAND(i + 5) \
  EXPAND(i + 6) EXPAND(i + 7)

// Eight rounds, after which the words stand where they were.
#define ROUNDS_8(i)                               \
  ROUND_EVEN(i, a, b, c, d, e, f, g, h)           \
  ROUND_ODD(i + 1, h, a, b, c, d, e, f, g)        \
  ROUND_EVEN(i + 2, g, h, a, b, c, d, e, f)       \
  ROUND_ODD(i + 3, f, g, h, a, b, c, d, e)        \
  ROUND_EVEN(i + 4, e, f, g, h, a, b, c, d)       \
  ROUND_ODD(i + 5, d, e, f, g, h, a, b, c)        \
  ROUND_EVEN(i + 6, c, d, e, f, g, h, a, b)       \
  ROUND_ODD(i + 7, b, c, d, e, f, g, h, a)

#define NEXT_16 EXPAND_8(0) ROUNDS_8(0) EXPAND_8(8) ROUNDS_8(8)
#define AT_ROUND(number, what) \
  {                            \
    const uint round = number; \
    what                       \
  }

// FIPS 180-4 sections 6.2.2 and 6.4.2. Destroys w, which holds the 16 words of the block. `one` is
// 1.
static inline __attribute__((always_inline)) void compress(word_t* state, word_t* w, const uint one, const uint own) {
  word_t a = state[0], b = state[1], c = state[2], d = state[3];
  word_t e = state[4], f = state[5], g = state[6], h = state[7];
  (void)one;
  (void)own;
  // 16 rounds at a time, so that all indices into w are constants and w stays in registers.
  AT_ROUND(0, ROUNDS_8(0) ROUNDS_8(8))
#if ASSAY_ROLL || ASSAY_PTX
#if ASSAY_ROLL
  ASSAY_KEEP_LOOP
#else
  ASSAY_UNROLL
#endif
  for (uint round = BLOCK_WORDS; round < ROUNDS; round += BLOCK_WORDS) {
    NEXT_16
  }
#else
  // No loop: llvmpipe unrolls none of this size, and ends all loops of a work-item after 65,535
  // turns together without a word. A chunk of 1 MiB has 16,384 blocks.
  AT_ROUND(16, NEXT_16)
  AT_ROUND(32, NEXT_16)
  AT_ROUND(48, NEXT_16)
#if ROUNDS > 64
  AT_ROUND(64, NEXT_16)
#endif
#endif
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
  ASSAY_UNROLL
  for (uint i = 0; i < STATE_WORDS; ++i) {
    state[i] = kInitial[i];
  }
}

static inline void store(__global word_t* digest, const word_t* state) {
  ASSAY_UNROLL
  for (uint i = 0; i < DIGEST_WORDS; ++i) {
    digest[i] = state[i];
  }
}

// Value of four bytes in memory order, the first one most significant.
static inline uint big_endian(uint x) {
  return (rotate(x, 8U) & 0x00ff00ffU) | (rotate(x, 24U) & 0xff00ff00U);
}

// The same of the last byte of `before` and the first three of `x`: the prefix 0x00 shifts every
// word of a leaf by one byte.
static inline uint join(uint before, uint x) {
#if ASSAY_PTX
  uint result;
  ASSAY_ASM("prmt.b32 %0, %1, %2, 0x7012;" : "=r"(result) : "r"(x), "r"(before));
  return result;
#else
  return (before & 0xff000000U) | (big_endian(x) >> 8);
#endif
}

// Reads a block of the message from `from`, which is aligned to 16 bytes. `before` is the word in
// front of it.
static inline void load_block(uint* raw, __global const uint4* from) {
  ASSAY_UNROLL
  for (uint i = 0; i < BLOCK_VECTORS; ++i) {
#if ASSAY_PTX
    ASSAY_ASM("ld.global.nc" ASSAY_LOAD_HINT ".v4.u32 {%0, %1, %2, %3}, [%4];"
              : "=r"(raw[4 * i]), "=r"(raw[4 * i + 1]), "=r"(raw[4 * i + 2]), "=r"(raw[4 * i + 3])
              : "l"(from + i));
#else
    const uint4 vector = from[i];
    raw[4 * i] = vector.x;
    raw[4 * i + 1] = vector.y;
    raw[4 * i + 2] = vector.z;
    raw[4 * i + 3] = vector.w;
#endif
  }
}

// The words of a block out of the words in memory; returns the last one of those.
static inline uint join_block(word_t* w, const uint* raw, uint before) {
  ASSAY_UNROLL
  for (uint i = 0; i < BLOCK_WORDS; ++i) {
#if HALVES_PER_WORD == 2
    w[i] = ((word_t)join(before, raw[2 * i]) << 32) | join(raw[2 * i], raw[2 * i + 1]);
    before = raw[2 * i + 1];
#else
    w[i] = join(before, raw[i]);
    before = raw[i];
#endif
  }
  return before;
}

// The same for a chunk at any byte: words are read one after the other, each in its turn shifted.
typedef struct {
  words_t words;
  ulong next;  // word that is read next
  uint shift;  // bits; 0: message words are words in memory
  uint carry;  // word read last, when shift is not 0
} reader_t;

static inline reader_t open_reader(words_t words, ulong begin) {
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

static inline void read_block(word_t* w, reader_t* reader, uint first_mask) {
  ASSAY_UNROLL
  for (uint i = 0; i < BLOCK_WORDS; ++i) {
    w[i] = read_word(reader) & (i == 0 ? first_mask : 0xffffffffU);
#if HALVES_PER_WORD == 2
    w[i] = (w[i] << 32) | read_word(reader);
#endif
  }
}

// Byte of the padded message 0x00 || chunk || 0x80 || zeros, but for the length at its end.
static inline uint message_byte(__global const uchar* chunk, uint size, uint position) {
  if (position == 0) {
    return 0;
  }
  if (position <= size) {
    return chunk[position - 1];
  }
  return position == size + 1 ? 0x80 : 0;
}

// A block at the end: what is left of the chunk, and the padding of FIPS 180-4 section 5.1.
static inline void end_block(word_t* w, __global const uchar* chunk, uint size, uint block,
                             uint blocks) {
  ASSAY_UNROLL
  for (uint i = 0; i < BLOCK_WORDS; ++i) {
    w[i] = 0;
  }
  if (size == block * BLOCK_BYTES) {  // all chunks but an object's last one
    w[0] = ((WORD(chunk[size - 1]) << 8) | 0x80) << (WORD_BITS - 16);
  } else {
    // Moves the words on, so that no index depends on the loop.
    ASSAY_KEEP_LOOP
    for (uint i = 0; i < BLOCK_WORDS; ++i) {
      word_t word = 0;
      ASSAY_KEEP_LOOP
      for (uint j = 0; j < WORD_BITS / 8; ++j) {
        word = (word << 8) |
               message_byte(chunk, size, block * BLOCK_BYTES + i * (WORD_BITS / 8) + j);
      }
      ASSAY_UNROLL
      for (uint j = 0; j + 1 < BLOCK_WORDS; ++j) {
        w[j] = w[j + 1];
      }
      w[BLOCK_WORDS - 1] = word;
    }
  }
  if (block + 1 == blocks) {
    w[BLOCK_WORDS - 1] = WORD(size + 1) * 8;  // far below 2^32 bits
  }
}

// H(0x00 || chunk) of `size` bytes, at least one, from byte `begin` of `base`. A word is read only
// when it holds a byte of the chunk.
static inline __attribute__((always_inline)) void hash_chunk(word_t* state, words_t base, ulong begin, uint size, const bool aligned,
                              const uint one, const uint own TAG_PARAMETERS) {
  __global const uchar* chunk = (__global const uchar*)base + begin;
  __global const uint4* from = (__global const uint4*)chunk;
  // Prefix, chunk, 0x80, length.
  const uint blocks = (size + 2 + LENGTH_BYTES + BLOCK_BYTES - 1) / BLOCK_BYTES;
  const uint full = aligned ? size / BLOCK_BYTES : (size + 1) / BLOCK_BYTES;
  reader_t reader;
  if (!aligned) {
    reader = open_reader(base, begin);
  }
  uint raw[BLOCK_WORDS * HALVES_PER_WORD];
#if ASSAY_AHEAD
  if (aligned && full > 0) {
    load_block(raw, from);
  }
#endif
  TAG_START
  start(state);
  uint before = 0;  // the prefix
  for (uint block = 0; block < blocks; ++block) {
    word_t w[BLOCK_WORDS];
    if (block >= full) {
      end_block(w, chunk, size, block, blocks);
    } else if (aligned) {
#if !ASSAY_AHEAD
      load_block(raw, from);
#endif
      TAG_BLOCK(raw, block)
      before = join_block(w, raw, before);
      from += BLOCK_VECTORS;
#if ASSAY_AHEAD
      if (block + 1 < full) {
        load_block(raw, from);
      }
#endif
    } else {
      read_block(w, &reader, block == 0 ? 0x00ffffffU : 0xffffffffU);
    }
    compress(state, w, one, own);
  }
  TAG_END(chunk, size)
}

// 1 in a register of the work-item, where the compiler would keep `one` for the whole group.
static inline uint own_one(const uint one) {
#if ASSAY_PTX && ASSAY_MULTIPLY
  uint result;
  ASSAY_ASM("{.reg .u32 l; mov.u32 l, %%laneid; add.u32 l, l, 1; min.u32 %0, %1, l;}"
            : "=r"(result)
            : "r"(one));
  return result;
#else
  return one;
#endif
}

// The slot of a work-item's digest, looked up when the digest is there: a register that held it all
// the time costs half a percent of the rate.
static inline uint slot_of(words_t tables, const uint at_first_item, const uint at_places,
                              const uint runs, const uint item) {
  const uint run = find_run(tables + at_first_item, runs, item);
  return tables[at_places + 2 * run + 1] + item - tables[at_first_item + run];
}

#define LEAF_PARAMETERS                                                                       \
  BUFFER_PARAMETERS words_t tables, const uint at_extents, const uint at_first_item,          \
      const uint at_places, const uint runs, const uint items, const uint chunk_size,         \
      const uint one, __global word_t* digests, const uint first_digest TAG_KERNEL_PARAMETERS

#define LEAF_BODY(aligned)                                                                    \
  const uint item = (uint)get_global_id(0);                                                   \
  if (item >= items) {                                                                        \
    return;                                                                                   \
  }                                                                                           \
  const uint run = find_run(tables + at_first_item, runs, item);                              \
  const uint chunk = item - tables[at_first_item + run];                                      \
  words_t place = tables + at_places + 2 * run;                                               \
  const ulong skip = (ulong)chunk * chunk_size;                                               \
  const ulong begin = long_word(tables + at_extents, 2 * run) + skip;                         \
  const ulong rest = long_word(tables + at_extents, 2 * run + 1) - skip;                      \
  const uint size = rest < chunk_size ? (uint)rest : chunk_size;                              \
  words_t base = buffer_base(BUFFER_ARGUMENTS ASSAY_BUFFERS == 1 ? 0 : place[0]);             \
  word_t state[STATE_WORDS];                                                                  \
  hash_chunk(state, base, begin, size, aligned, one, own_one(one) TAG_ARGUMENTS);             \
  const uint slot = slot_of(tables, at_first_item, at_places, runs, item);                    \
  store(digests + ((ulong)first_digest + slot) * DIGEST_WORDS, state);

// digests[first_digest + slot] = H(0x00 || chunk): one work-item a chunk. extents holds (offset in
// its buffer, size) of each run in bytes, places (buffer, slot of its first chunk). All runs begin
// at multiples of 16 bytes.
__kernel void hash_leaves(LEAF_PARAMETERS) { LEAF_BODY(true) }

#if !ASSAY_TAGS && !ASSAY_LEAVES_ONLY
// The same for runs that begin anywhere.
__kernel void hash_leaves_anywhere(LEAF_PARAMETERS) { LEAF_BODY(false) }

// Brings together chunks whose bytes lie in several buffers: a work-group copies one piece. A copy
// is six words: buffer, size, and two words each for where it is in its buffer and in `out`.
__kernel void gather_bytes(BUFFER_PARAMETERS words_t tables, const uint at_copies,
                           __global uchar* out) {
  words_t copy = tables + at_copies + 6 * (uint)get_group_id(0);
  const uint size = copy[1];
  __global const uchar* from =
      (__global const uchar*)buffer_base(BUFFER_ARGUMENTS copy[0]) + long_word(copy + 2, 0);
  __global uchar* to = out + long_word(copy + 4, 0);
  for (uint i = (uint)get_local_id(0); i < size; i += (uint)get_local_size(0)) {
    to[i] = from[i];
  }
}
#endif

#if ASSAY_BUFFERS == 1 && !ASSAY_TAGS && !ASSAY_LEAVES_ONLY
// H(0x01 || left || right), of digests in these slots, takes the place of left.
static inline void join_nodes(__global word_t* digests, const ulong left, const ulong right,
                              const uint one, const uint own) {
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
    compress(state, w, one, own);
  }
  store(digests + left * DIGEST_WORDS, state);
}

// `levels` levels of nodes from `level` on: a work-group joins 2^levels nodes of a segment to one
// (gpu_hash/tree/slice_layout.h). On level k the nodes of a segment stand in its slots 0, 2^k,
// 2 * 2^k ...; a last one without neighbour stays where it is. The table of blocks is to blocks
// what that of slots is to slots. There are no more groups than blocks.
__kernel void hash_nodes(__global word_t* digests, words_t tables, const uint at_first_slot,
                         const uint at_first_block, const uint segments, const uint level,
                         const uint levels, const uint one) {
  const uint block = (uint)get_group_id(0);
  const uint segment = find_run(tables + at_first_block, segments, block);
  const ulong begin = (ulong)(block - tables[at_first_block + segment]) << (level + levels);
  const ulong first = tables[at_first_slot + segment] + begin;
  const ulong slots = tables[at_first_slot + segment + 1] - first;  // from here to the end
  const uint own = own_one(one);
  for (uint k = level; k < level + levels; ++k) {
    const ulong nodes = min((slots + (1UL << k) - 1) >> k, 1UL << (level + levels - k));
    for (ulong pair = get_local_id(0); pair < nodes / 2; pair += get_local_size(0)) {
      join_nodes(digests, first + ((2 * pair) << k), first + ((2 * pair + 1) << k), one, own);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
}

static inline word_t in_memory_order(word_t x) {
#if HALVES_PER_WORD == 2
  return ((word_t)big_endian((uint)x) << 32) | big_endian((uint)(x >> 32));
#else
  return big_endian(x);
#endif
}

// The root of each segment, gathered for the host from word `roots_begin` on, as bytes of a digest.
__kernel void gather_roots(__global const word_t* digests, words_t tables,
                           const uint at_first_slot, const uint segments, __global word_t* roots,
                           const ulong roots_begin) {
  const uint segment = (uint)get_global_id(0);
  if (segment >= segments) {
    return;
  }
  for (uint i = 0; i < DIGEST_WORDS; ++i) {
    roots[roots_begin + (ulong)segment * DIGEST_WORDS + i] =
        in_memory_order(digests[(ulong)tables[at_first_slot + segment] * DIGEST_WORDS + i]);
  }
}
#endif
