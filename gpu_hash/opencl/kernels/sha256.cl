// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4 section 6.2): constants and functions of its compression. Compiled together
// with tree.cl, on devices as OpenCL C 1.2 and in tests as C++.

typedef uint word_t;

#define STATE_WORDS 8
#define DIGEST_WORDS 8
#define WORD_BITS 32
#define HALVES_PER_WORD 1  // 32-bit words read per word_t
#define LENGTH_WORDS 2     // words of the message length in the padding

// Section 5.3.3.
__constant word_t kInitial[STATE_WORDS] = {0x6a09e667U, 0xbb67ae85U, 0x3c6ef372U, 0xa54ff53aU,
                                           0x510e527fU, 0x9b05688cU, 0x1f83d9abU, 0x5be0cd19U};

// Section 4.2.2.
__constant word_t kRound[64] = {
    0x428a2f98U, 0x71374491U, 0xb5c0fbcfU, 0xe9b5dba5U, 0x3956c25bU, 0x59f111f1U, 0x923f82a4U,
    0xab1c5ed5U, 0xd807aa98U, 0x12835b01U, 0x243185beU, 0x550c7dc3U, 0x72be5d74U, 0x80deb1feU,
    0x9bdc06a7U, 0xc19bf174U, 0xe49b69c1U, 0xefbe4786U, 0x0fc19dc6U, 0x240ca1ccU, 0x2de92c6fU,
    0x4a7484aaU, 0x5cb0a9dcU, 0x76f988daU, 0x983e5152U, 0xa831c66dU, 0xb00327c8U, 0xbf597fc7U,
    0xc6e00bf3U, 0xd5a79147U, 0x06ca6351U, 0x14292967U, 0x27b70a85U, 0x2e1b2138U, 0x4d2c6dfcU,
    0x53380d13U, 0x650a7354U, 0x766a0abbU, 0x81c2c92eU, 0x92722c85U, 0xa2bfe8a1U, 0xa81a664bU,
    0xc24b8b70U, 0xc76c51a3U, 0xd192e819U, 0xd6990624U, 0xf40e3585U, 0x106aa070U, 0x19a4c116U,
    0x1e376c08U, 0x2748774cU, 0x34b0bcb5U, 0x391c0cb3U, 0x4ed8aa4aU, 0x5b9cca4fU, 0x682e6ff3U,
    0x748f82eeU, 0x78a5636fU, 0x84c87814U, 0x8cc70208U, 0x90befffaU, 0xa4506cebU, 0xbef9a3f7U,
    0xc67178f2U};

// GPUs of NVIDIA run additions, shifts and logic on one integer pipe and multiplications on another
// one that SHA leaves idle: x + y is x * one + y, as long as the compiler cannot see that `one` is
// 1; it is a kernel's argument. Which additions: the masks of tree.cl. Without ASSAY_MULTIPLY
// everything is written plainly. What else was tried: bench/results/README.md.
#if ASSAY_MULTIPLY && ASSAY_PTX
static inline uint times_plus(uint x, uint y, uint z) {
  uint result;
  ASSAY_ASM("mad.lo.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(z));
  return result;
}
#elif ASSAY_MULTIPLY
static inline uint times_plus(uint x, uint y, uint z) { return x * y + z; }
#endif

#if ASSAY_MULTIPLY
#define ADD(by_product, x, y) ((by_product) ? times_plus(x, one, y) : (x) + (y))
#define ADD_CONSTANT(by_product, x, y) ((by_product) ? times_plus(x, own, y) : (x) + (y))
#else
#define ADD(by_product, x, y) ((x) + (y))
#define ADD_CONSTANT(by_product, x, y) ((x) + (y))
#endif
#define TAG_SUM(by_product, x, y) ADD(by_product, x, y)
#define TURN(x, n) rotate(x, 32U - (n))

// Section 4.1.2. TURN(x, n) is ROTR^n(x).
#define BIG_SIGMA0(x) (TURN(x, 2) ^ TURN(x, 13) ^ TURN(x, 22))
#define BIG_SIGMA1(x) (TURN(x, 6) ^ TURN(x, 11) ^ TURN(x, 25))
#define SMALL_SIGMA0(x) (TURN(x, 7) ^ TURN(x, 18) ^ ((x) >> 3))
#define SMALL_SIGMA1(x) (TURN(x, 17) ^ TURN(x, 19) ^ ((x) >> 10))
#define ROUNDS 64
