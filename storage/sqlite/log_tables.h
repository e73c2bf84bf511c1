// SPDX-License-Identifier: Apache-2.0
// The Merkle log in tables: records, digests of leaves and complete subtrees, and the newest
// checkpoint. Spec: RFC 9162 section 2.1 (always SHA-256), C2SP tlog-tiles, schemas/log.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schemas/core/ids.h"
#include "schemas/core/merkle.h"
#include "schemas/log_record.h"
#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// The digests at the right edge of the tree, which are all that appending needs. A plain value, so
// a caller undoes appends by going back to an earlier copy.
class LogFrontier {
 public:
  LogFrontier() = default;
  // `peaks` are the digests of complete_subtrees({0, size}).
  LogFrontier(TreeSize size, std::vector<Digest> peaks) : size_(size), peaks_(std::move(peaks)) {}

  // Adds a leaf. Returns the digest of the leaf, followed by the digests of the subtrees that the
  // leaf completes, smallest first.
  std::vector<Digest> append(const Digest& leaf);
  [[nodiscard]] TreeSize size() const { return size_; }
  [[nodiscard]] Digest root() const;

 private:
  TreeSize size_ = 0;
  std::vector<Digest> peaks_;
};

// What the writer keeps in memory about the end of the log.
struct LogTail {
  LogFrontier frontier;
};

// Returns the newest checkpoint; nullopt in a database that never had a checkpoint.
[[nodiscard]] Result<std::optional<LogState>> load_checkpoint(Connection& connection);
[[nodiscard]] Status store_checkpoint(Connection& connection, const LogState& state);
// Reads the tail from the tables. Errors: data-loss when the number of digests does not fit the
// number of records.
[[nodiscard]] Result<LogTail> load_tail(Connection& connection);

// Stores a record with its digests and index rows, and advances `tail`.
[[nodiscard]] Result<LeafIndex> append_record(Connection& connection, LogTail& tail,
                                              const LogRecord& record);
// Has a record found by one of its subjects. A part of append_record().
[[nodiscard]] Status put_log_subject(Connection& connection, const std::string& subject,
                                     LeafIndex index);
// Stores only the digests for a leaf with these bytes, and advances `frontier`. A part of
// append_record().
[[nodiscard]] Status append_nodes(Connection& connection, LogFrontier& frontier, ByteView bytes);

// Returns the bytes of a record. The caller must pass an `index` below the size of the log. Errors:
// data-loss when the bytes do not have the digest of their leaf.
[[nodiscard]] Result<Bytes> load_record(Connection& connection, LeafIndex index);

// Return the digest of the complete subtree number `index` of height `level`, and of any non-empty
// run of stored leaves.
[[nodiscard]] Result<Digest> load_node(Connection& connection, unsigned level, std::uint64_t index);
[[nodiscard]] Result<Digest> load_range(Connection& connection, LeafRange range);
[[nodiscard]] Result<std::vector<Digest>> load_ranges(Connection& connection,
                                                      std::span<const LeafRange> ranges);
[[nodiscard]] Result<Digest> load_root(Connection& connection, TreeSize size);

// Return what Snapshot::tile() and Snapshot::entry_bundle() return. `size` is the size of the log.
// Errors: data-loss for a tile whose digests do not lead to the root of `state`.
[[nodiscard]] Result<Bytes> load_tile(Connection& connection, const LogState& state, unsigned level,
                                      std::uint64_t index, unsigned width);
[[nodiscard]] Result<Bytes> load_bundle(Connection& connection, TreeSize size, std::uint64_t index,
                                        unsigned width);

// Recomputes the whole log from its records; see Snapshot::verify_log().
[[nodiscard]] Status check_log(Connection& connection, const LogState& state);

}  // namespace assay::storage::sqlite
