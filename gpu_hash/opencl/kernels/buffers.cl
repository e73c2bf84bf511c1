// SPDX-License-Identifier: Apache-2.0
// The buffers that hold the data of a launch: one, or as many as a device takes as arguments of a
// kernel, so that thousands of pieces of memory are read in few launches. Comes first in a program.
//
// ASSAY_BUFFERS: 1, 64 or 256. BUFFER_PARAMETERS declares them, BUFFER_ARGUMENTS passes them on to
// buffer_base(), which finds the one with a number.

// What host and device agree on besides; all of it is set by the build options:
//   ASSAY_PTX       the device understands PTX in asm statements (NVIDIA)
//   ASSAY_MULTIPLY  additions on the multiply pipe: sha256.cl
//   ASSAY_ADDS_EVEN, ASSAY_ADDS_ODD, ASSAY_ADDS_SCHEDULE which of them: tree.cl
//   ASSAY_TAG_ADDS  which additions of tags: tags.cl
//   ASSAY_ROLL      1: a loop over 16 rounds at a time instead of all rounds in a row
//   ASSAY_AHEAD     1: a block is loaded before the one in front of it is hashed
#ifndef ASSAY_PTX
#define ASSAY_PTX 0
#endif
#ifndef ASSAY_MULTIPLY
#define ASSAY_MULTIPLY 0
#endif
#ifndef ASSAY_ADDS_EVEN
#define ASSAY_ADDS_EVEN 127
#endif
#ifndef ASSAY_ADDS_ODD
#define ASSAY_ADDS_ODD 127
#endif
#ifndef ASSAY_ADDS_SCHEDULE
#define ASSAY_ADDS_SCHEDULE 7
#endif
#ifndef ASSAY_TAG_ADDS
#define ASSAY_TAG_ADDS 0
#endif
#ifndef ASSAY_ROLL
#define ASSAY_ROLL 0
#endif
#ifndef ASSAY_AHEAD
#define ASSAY_AHEAD 0
#endif
#ifndef ASSAY_LOAD
#define ASSAY_LOAD 0
#endif
#if ASSAY_LOAD == 0
#define ASSAY_LOAD_HINT ""
#elif ASSAY_LOAD == 1
#define ASSAY_LOAD_HINT ".L2::128B"
#elif ASSAY_LOAD == 2
#define ASSAY_LOAD_HINT ".L1::no_allocate"
#else
#define ASSAY_LOAD_HINT ".L1::evict_last"
#endif
#ifndef ASSAY_BUFFERS
#define ASSAY_BUFFERS 1
#endif
#ifndef ASSAY_LEAVES_ONLY
#define ASSAY_LEAVES_ONLY 0
#endif
#ifndef ASSAY_TAGS
#define ASSAY_TAGS 0
#endif
#ifndef ASSAY_UNROLL
#define ASSAY_UNROLL _Pragma("unroll")
#define ASSAY_KEEP_LOOP _Pragma("unroll 1")
#endif
#ifndef ASSAY_ASM
#define ASSAY_ASM __asm__
#endif

// Data are aligned to 16 bytes at a buffer's begin, digests and tables to their words.
typedef __global const uint* words_t;

// Largest s with first[s] <= item: the run or segment that `item` belongs to.
static inline uint find_run(words_t first, uint runs, uint item) {
  uint low = 0;
  uint high = runs;
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

static inline ulong long_word(words_t words, uint index) {
  return (ulong)words[2 * index] | ((ulong)words[2 * index + 1] << 32);
}

#define TIMES_16(x, h)                                                                      \
  x(h##0) x(h##1) x(h##2) x(h##3) x(h##4) x(h##5) x(h##6) x(h##7) x(h##8) x(h##9) x(h##a) \
      x(h##b) x(h##c) x(h##d) x(h##e) x(h##f)
#define TIMES_64(x) TIMES_16(x, 0) TIMES_16(x, 1) TIMES_16(x, 2) TIMES_16(x, 3)

#if ASSAY_BUFFERS == 1
#define TIMES_BUFFERS(x) x(00)
#elif ASSAY_BUFFERS == 64
#define TIMES_BUFFERS(x) TIMES_64(x)
#elif ASSAY_BUFFERS == 256
#define TIMES_BUFFERS(x)                                                                  \
  TIMES_64(x)                                                                             \
  TIMES_16(x, 4) TIMES_16(x, 5) TIMES_16(x, 6) TIMES_16(x, 7) TIMES_16(x, 8) TIMES_16(x, 9) \
  TIMES_16(x, a) TIMES_16(x, b) TIMES_16(x, c) TIMES_16(x, d) TIMES_16(x, e) TIMES_16(x, f)
#else
#error "ASSAY_BUFFERS is 1, 64 or 256"
#endif

#define BUFFER_PARAMETER(n) words_t buffer_##n,
#define BUFFER_ARGUMENT(n) buffer_##n,
#define BUFFER_CASE(n) \
  case 0x##n:          \
    return buffer_##n;
#define BUFFER_PARAMETERS TIMES_BUFFERS(BUFFER_PARAMETER)
#define BUFFER_ARGUMENTS TIMES_BUFFERS(BUFFER_ARGUMENT)

static inline words_t buffer_base(BUFFER_PARAMETERS uint number) {
  switch (number) {
    TIMES_BUFFERS(BUFFER_CASE)
    default:
      return buffer_00;
  }
}
