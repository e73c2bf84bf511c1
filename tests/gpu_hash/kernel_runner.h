// SPDX-License-Identifier: Apache-2.0
// Drives the kernels of one translation unit as cl_tables.cc drives them on a device. Included
// after kernel_shim.h, the kernels and kAlgorithm.
// multi-include: once for each hash algorithm, in translation units of their own

// Calls `kernel` for every work-item, some beyond the last one as on a device.
template <typename Kernel>
void for_each_item(std::size_t items, Kernel kernel) {
  for (current_work_item = 0; current_work_item < (items + 63) / 64 * 64; ++current_work_item) {
    kernel();
  }
}

std::vector<Digest> run_kernels(const SliceLayout& layout, std::span<const uint> data,
                                uint chunk_size) {
  const auto segments = static_cast<uint>(layout.segments().size());
  const std::vector<ulong> extents(layout.extents().begin(), layout.extents().end());
  const std::vector<uint> first_slot(layout.first_slot().begin(), layout.first_slot().end());
  std::vector<word_t> digests(std::size_t{layout.slots()} * DIGEST_WORDS);
  std::vector<word_t> roots(std::size_t{segments} * DIGEST_WORDS);
  for_each_item(layout.slots(), [&] {
    hash_leaves(data.data(), extents.data(), first_slot.data(), segments, layout.slots(),
                chunk_size, digests.data());
  });
  for (const TreeLevel& level : layout.levels()) {
    for_each_item(level.pairs, [&] {
      hash_nodes(digests.data(), first_slot.data(), level.first_pair.data(), 0, segments,
                 level.pairs, level.level);
    });
  }
  for_each_item(segments,
                [&] { gather_roots(digests.data(), first_slot.data(), segments, roots.data()); });

  std::vector<Digest> result;
  for (std::size_t i = 0; i < roots.size(); i += DIGEST_WORDS) {
    std::uint8_t bytes[DIGEST_WORDS * sizeof(word_t)];
    for (std::size_t j = 0; j < DIGEST_WORDS; ++j) {
      const word_t word = std::byteswap(roots[i + j]);
      std::memcpy(bytes + j * sizeof(word), &word, sizeof(word));
    }
    result.push_back(Digest::wrap(kAlgorithm, bytes));
  }
  return result;
}
