// SPDX-License-Identifier: Apache-2.0
// Drives the kernels of one translation unit as lane.cc drives them on a device. Included
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
  LaunchTables tables;
  std::vector<Run> planned;
  bool aligned = reinterpret_cast<std::uintptr_t>(data.data()) % 16 == 0;
  for (std::size_t i = 0; i < layout.segments().size(); ++i) {
    planned.push_back({layout.extents()[2 * i], layout.extents()[2 * i + 1], 0});
    aligned = aligned && planned.back().offset % 16 == 0;
  }
  const RunTables runs = tables.add_runs(planned, chunk_size);
  const SegmentTables segments = tables.add_segments(layout.first_slot());
  const uint* words = tables.words().data();
  std::vector<word_t> digests(std::size_t{layout.slots()} * DIGEST_WORDS);
  std::vector<word_t> roots(std::size_t{segments.segments} * DIGEST_WORDS);
  for_each_item(layout.slots(), [&] {
    (aligned ? hash_leaves : hash_leaves_anywhere)(data.data(), words, runs.at_extents,
                                                   runs.at_first_item, runs.at_places, runs.runs,
                                                   runs.items, chunk_size, 1, digests.data(), 0);
  });
  for (const LevelTable& level : segments.levels) {
    for (current_work_item = 0; current_work_item < level.blocks; ++current_work_item) {
      hash_nodes(digests.data(), words, segments.at_first_slot, level.at_first_block,
                 segments.segments, level.level, level.levels, 1);
    }
  }
  for_each_item(segments.segments, [&] {
    gather_roots(digests.data(), words, segments.at_first_slot, segments.segments, roots.data(), 0);
  });

  std::vector<Digest> result;
  for (std::size_t i = 0; i < roots.size(); i += DIGEST_WORDS) {
    result.push_back(
        Digest::wrap(kAlgorithm, reinterpret_cast<const std::uint8_t*>(roots.data() + i)));
  }
  return result;
}

// Bytes are copied into words, which are aligned.
std::vector<word_t> words_of(ByteView bytes) {
  std::vector<word_t> words(bytes.size() / sizeof(word_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(word_t));
  return words;
}

Bytes run_nist_messages(ByteView blocks, std::span<const uint> first) {
  const std::vector<word_t> words = words_of(blocks);
  const auto messages = static_cast<uint>(first.size() - 1);
  Bytes digests(messages * DIGEST_WORDS * sizeof(word_t));
  std::vector<word_t> out(messages * DIGEST_WORDS);
  for_each_item(messages,
                [&] { nist_messages(words.data(), first.data(), messages, 1, out.data()); });
  std::memcpy(digests.data(), out.data(), digests.size());
  return digests;
}

Bytes run_nist_monte(ByteView seed, uint count) {
  std::vector<word_t> words = words_of(seed);
  words.resize((std::size_t{count} + 1) * DIGEST_WORDS);
  for_each_item(1, [&] { nist_monte(words.data(), count, 1); });
  Bytes digests(std::size_t{count} * DIGEST_WORDS * sizeof(word_t));
  std::memcpy(digests.data(), words.data() + DIGEST_WORDS, digests.size());
  return digests;
}
