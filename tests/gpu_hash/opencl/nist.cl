// SPDX-License-Identifier: Apache-2.0
// The hash alone, without the tree around it, for NIST's vectors: on devices and on the host.
// Follows tree.cl. Words are the host's.

// digests[i] = H of the padded message of blocks [first[i], first[i + 1]).
__kernel void nist_messages(__global const word_t* blocks, __global const uint* first,
                            const uint messages, const uint one, __global word_t* digests) {
  const uint message = (uint)get_global_id(0);
  if (message >= messages) {
    return;
  }
  word_t state[STATE_WORDS];
  start(state);
  for (uint block = first[message]; block < first[message + 1]; ++block) {
    word_t w[BLOCK_WORDS];
    for (uint i = 0; i < BLOCK_WORDS; ++i) {
      w[i] = blocks[block * BLOCK_WORDS + i];
    }
    compress(state, w, one, own_one(one));
  }
  store(digests + message * DIGEST_WORDS, state);
}

// The Monte Carlo test (SHAVS section 6.4): digests[0] is the seed, and each of the `count` digests
// behind it comes out of the one before. A message is three digests, two blocks with the padding.
__kernel void nist_monte(__global word_t* digests, const uint count, const uint one) {
  if (get_global_id(0) != 0) {
    return;
  }
  for (uint number = 0; number < count; ++number) {
    word_t message[2 * BLOCK_WORDS];
    for (uint i = 0; i < 2 * BLOCK_WORDS; ++i) {
      message[i] = i < 3 * DIGEST_WORDS ? digests[number * DIGEST_WORDS + i % DIGEST_WORDS] : 0;
    }
    message[3 * DIGEST_WORDS] = (word_t)1 << (WORD_BITS - 1);
    message[2 * BLOCK_WORDS - 1] = 3 * DIGEST_WORDS * WORD_BITS;
    word_t state[STATE_WORDS];
    for (uint round = 0; round < 1000; ++round) {
      start(state);
      for (uint block = 0; block < 2; ++block) {
        word_t w[BLOCK_WORDS];
        for (uint i = 0; i < BLOCK_WORDS; ++i) {
          w[i] = message[block * BLOCK_WORDS + i];
        }
        compress(state, w, one, own_one(one));
      }
      for (uint i = 0; i < 2 * DIGEST_WORDS; ++i) {
        message[i] = message[i + DIGEST_WORDS];
      }
      for (uint i = 0; i < DIGEST_WORDS; ++i) {
        message[2 * DIGEST_WORDS + i] = state[i];
      }
    }
    store(digests + (number + 1) * DIGEST_WORDS, state);
  }
}
