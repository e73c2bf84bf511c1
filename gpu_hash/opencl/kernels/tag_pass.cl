// SPDX-License-Identifier: Apache-2.0
// Tags alone, as fast as memory can be read. A program of its own, behind buffers.cl and tags.cl.

#ifndef ASSAY_TAG_UNROLL
#define ASSAY_TAG_UNROLL _Pragma("unroll")
#endif
#define TAG_TEAM 8     // work-items that read one block together, 32 bytes each at a time
#define TAG_GROUP 128  // work-items
#define TAG_TEAMS (TAG_GROUP / TAG_TEAM)
#define TAG_STEP (TAG_TEAM * 32)  // bytes

// What a work-item adds to both sums of the block of `size` bytes at `bytes`.
static inline void add_share(ulong* sums, __global const uchar* bytes, uint size, uint lane,
                             __local const uint* key) {
  if (size == TAG_BYTES) {
    __global const uint4* from = (__global const uint4*)(bytes + lane * 32);
    ASSAY_TAG_UNROLL
    for (uint step = 0; step < TAG_BYTES / TAG_STEP; ++step) {
      const uint4 low = from[step * (TAG_STEP / 16)];
      const uint4 high = from[step * (TAG_STEP / 16) + 1];
      const uint m[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
      __local const uint* k = key + step * (TAG_STEP / 4) + lane * 8;
      sums[0] += NH(m, k);
      sums[1] += NH(m, k + TAG_SHIFT);
    }
    return;
  }
  for (uint at = lane * 32; at < size; at += TAG_STEP) {
    uint m[8];
    tag_rest(m, bytes, at, size);
    sums[0] += NH(m, key + at / 4);
    sums[1] += NH(m, key + at / 4 + TAG_SHIFT);
  }
}

// Arguments as those of hash_leaves in tree.cl; runs begin at multiples of 16 bytes. Blocks that
// a short chunk does not have get zeros. Groups take blocks in turn.
__kernel __attribute__((reqd_work_group_size(TAG_GROUP, 1, 1))) void tag_blocks(
    BUFFER_PARAMETERS words_t tables, const uint at_extents, const uint at_first_item,
    const uint at_places, const uint runs, const uint items, const uint chunk_size, words_t key,
    __global ulong* tags, const uint first_digest) {
  __local uint local_key[TAG_KEY_WORDS];
  __local ulong sums[2 * TAG_GROUP];
  const uint member = (uint)get_local_id(0);
  const uint lane = member % TAG_TEAM;
  for (uint i = member; i < TAG_KEY_WORDS; i += TAG_GROUP) {
    local_key[i] = key[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint per_chunk = chunk_size / TAG_BYTES;
  const ulong blocks = (ulong)items * per_chunk;
  for (ulong first = (ulong)get_group_id(0) * TAG_TEAMS; first < blocks;
       first += (ulong)get_num_groups(0) * TAG_TEAMS) {
    const ulong block = first + member / TAG_TEAM;
    ulong share[2] = {0, 0};
    ulong tag = 0;  // where it goes
    if (block < blocks) {
      const uint item = (uint)(block / per_chunk);
      const uint in_chunk = (uint)(block - (ulong)item * per_chunk);
      const uint run = find_run(tables + at_first_item, runs, item);
      const uint chunk = item - tables[at_first_item + run];
      words_t place = tables + at_places + 2 * run;
      tag = ((ulong)first_digest + place[1] + chunk) * per_chunk + in_chunk;
      const ulong skip = (ulong)chunk * chunk_size + in_chunk * TAG_BYTES;
      const ulong run_size = long_word(tables + at_extents, 2 * run + 1);
      if (skip < run_size) {
        const ulong rest = run_size - skip;
        words_t base =
            buffer_base(BUFFER_ARGUMENTS ASSAY_BUFFERS == 1 ? 0 : place[0]);
        add_share(share, (__global const uchar*)base + long_word(tables + at_extents, 2 * run) + skip,
                  rest < TAG_BYTES ? (uint)rest : TAG_BYTES, lane, local_key);
      }
    }
    sums[2 * member] = share[0];
    sums[2 * member + 1] = share[1];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (block < blocks && lane < 2) {
      ulong sum = 0;
      for (uint i = 0; i < TAG_TEAM; ++i) {
        sum += sums[2 * (member - lane + i) + lane];
      }
      tags[2 * tag + lane] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
