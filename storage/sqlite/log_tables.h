// SPDX-License-Identifier: Apache-2.0
// The Merkle log in tables: records, digests of leaves and complete subtrees, newest checkpoint.
// Spec: RFC 9162 section 2.1 (always SHA-256), C2SP tlog-tiles, schemas/log.md.
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

// Where the digest of complete subtree `index` of height `level` lies among all that are stored
// (0001_initial.sql, log_nodes).
[[nodiscard]] std::uint64_t node_position(unsigned level, std::uint64_t index);
// Number of digests stored for a log of `size` leaves.
[[nodiscard]] std::uint64_t node_count(TreeSize size);

// The right edge of the tree: what appending needs to know. A value, copied to undo appends.
class LogFrontier {
 public:
  LogFrontier() = default;
  // `peaks` are the digests of complete_subtrees({0, size}).
  LogFrontier(TreeSize size, std::vector<Digest> peaks) : size_(size), peaks_(std::move(peaks)) {}

  // Adds a leaf; returns the digests that it completes: its own, then subtrees, smallest first.
  std::vector<Digest> append(const Digest& leaf);
  [[nodiscard]] TreeSize size() const { return size_; }
  [[nodiscard]] Digest root() const;

 private:
  TreeSize size_ = 0;
  std::vector<Digest> peaks_;
};

// What the writer keeps in memory of the end of the log.
struct LogTail {
  LogFrontier frontier;
  std::int64_t time_high = 0;  // of the newest record
};

// The newest checkpoint; nothing in a database that has never had one.
[[nodiscard]] Result<std::optional<LogState>> load_checkpoint(Connection& connection);
[[nodiscard]] Status store_checkpoint(Connection& connection, const LogState& state);
// The tail from the tables; data-loss when records and digests are not of one size.
[[nodiscard]] Result<LogTail> load_tail(Connection& connection);

// Stores a record with its digests and index rows, and moves `tail`.
[[nodiscard]] Result<LeafIndex> append_record(Connection& connection, LogTail& tail,
                                              const LogRecord& record);
// The part of it that knows nothing of records: digests of the leaf with these bytes.
[[nodiscard]] Status append_nodes(Connection& connection, LogFrontier& frontier, ByteView bytes);

// `index` must be below the size. data-loss when the bytes do not have their leaf's digest.
[[nodiscard]] Result<Bytes> load_record(Connection& connection, LeafIndex index);

// Digest of a complete subtree, and of any run of stored leaves that is not empty.
[[nodiscard]] Result<Digest> load_node(Connection& connection, unsigned level, std::uint64_t index);
[[nodiscard]] Result<Digest> load_range(Connection& connection, LeafRange range);
[[nodiscard]] Result<std::vector<Digest>> load_ranges(Connection& connection,
                                                      std::span<const LeafRange> ranges);
[[nodiscard]] Result<Digest> load_root(Connection& connection, TreeSize size);

// See Snapshot; `size` is the size of the log. A tile whose digests do not lead to the root of
// `state` is data-loss.
[[nodiscard]] Result<Bytes> load_tile(Connection& connection, const LogState& state, unsigned level,
                                      std::uint64_t index, unsigned width);
[[nodiscard]] Result<Bytes> load_bundle(Connection& connection, TreeSize size, std::uint64_t index,
                                        unsigned width);

// Recomputes everything from the records; see Snapshot::verify_log.
[[nodiscard]] Status check_log(Connection& connection, const LogState& state);

}  // namespace assay::storage::sqlite
