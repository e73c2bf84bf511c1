// SPDX-License-Identifier: Apache-2.0
// Appending to the log and reading it, O(log n) rows for each digest of any run of leaves.
#include "storage/sqlite/log_tables.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "schemas/tiles.h"
#include "storage/sqlite/lists.h"
#include "storage/sqlite/packed.h"

namespace assay::storage::sqlite {
namespace {

constexpr HashAlgorithm kHash = HashAlgorithm::kSha256;
constexpr std::size_t kHashSize = 32;

std::unexpected<Error> row_missing() {
  return fail(ErrorCode::kDataLoss, "a row of the log is missing");
}

Bytes joined(const std::vector<Digest>& digests) {
  Bytes bytes;
  bytes.reserve(digests.size() * kHashSize);
  for (const Digest& digest : digests) {
    bytes.insert(bytes.end(), digest.bytes().begin(), digest.bytes().end());
  }
  return bytes;
}

// Of how many leaves the table has the digests.
Result<TreeSize> leaves_in_table(Connection& connection) {
  Query last = connection.query(Sql::kNodeLast);
  ASSAY_TRY(last.next());
  return last.is_null(0) ? 0 : last.count(0) + 1;
}

Result<TreeSize> records_in_table(Connection& connection) {
  Query last = connection.query(Sql::kRecordLast);
  ASSAY_ASSIGN(const bool found, last.next());
  return found ? last.count(0) + 1 : 0;
}

Status insert_record(Connection& connection, LeafIndex index, const LogRecord& record,
                     ByteView bytes) {
  // Those of decisions are most of a log, and what the dictionary is for.
  const Packed packed = record.type == event::kDecisionMade ? pack_record(bytes) : Packed{};
  ASSAY_TRY(connection.query(Sql::kRecordInsert)
                .bind(index)
                .bind(record.time)
                .bind(record.type)
                .bind(record.actor)
                .bind(std::to_underlying(packed.form))
                .bind_borrowed(packed.form == PackedForm::kPlain ? bytes : ByteView(packed.bytes))
                .run());
  for (const std::string& subject : record.subjects) {
    ASSAY_TRY(put_log_subject(connection, subject, index));
  }
  return {};
}

}  // namespace

Status put_log_subject(Connection& connection, const std::string& subject, LeafIndex index) {
  ASSAY_TRY(connection.query(Sql::kTextPut).bind(subject).run());
  return connection.query(Sql::kSubjectInsert).bind(subject).bind(index).run();
}

namespace {

// Hash of `whole` when the complete subtree `part` of it has `digest`.
Result<Digest> root_through(Connection& connection, LeafRange whole, LeafRange part,
                            const Digest& digest) {
  if (whole == part) {
    return digest;
  }
  const std::uint64_t split = whole.begin + std::bit_floor(whole.end - whole.begin - 1);
  const LeafRange left{whole.begin, split};
  const LeafRange right{split, whole.end};
  if (part.end <= split) {
    ASSAY_ASSIGN(const Digest first, root_through(connection, left, part, digest));
    ASSAY_ASSIGN(const Digest second, load_range(connection, right));
    return merkle_node(first, second);
  }
  ASSAY_ASSIGN(const Digest first, load_range(connection, left));
  ASSAY_ASSIGN(const Digest second, root_through(connection, right, part, digest));
  return merkle_node(first, second);
}

}  // namespace

std::vector<Digest> LogFrontier::append(const Digest& leaf) {
  std::vector<Digest> completed = {leaf};
  for (TreeSize merged = size_; (merged & 1U) != 0; merged >>= 1) {
    completed.push_back(merkle_node(peaks_.back(), completed.back()));
    peaks_.pop_back();
  }
  peaks_.push_back(completed.back());
  ++size_;
  return completed;
}

Digest LogFrontier::root() const {
  return peaks_.empty() ? merkle_empty(kHash) : merkle_fold(peaks_);
}

Result<std::optional<LogState>> load_checkpoint(Connection& connection) {
  Query query = connection.query(Sql::kCheckpointGet);
  ASSAY_ASSIGN(const bool found, query.next());
  if (!found) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(Digest root, query.digest(1));
  return LogState{query.count(0), std::move(root), query.text(2)};
}

Status store_checkpoint(Connection& connection, const LogState& state) {
  return connection.query(Sql::kCheckpointPut)
      .bind(state.size)
      .bind(state.root)
      .bind(state.note)
      .run();
}

Result<LogTail> load_tail(Connection& connection) {
  ASSAY_ASSIGN(const TreeSize size, records_in_table(connection));
  ASSAY_ASSIGN(const TreeSize leaves, leaves_in_table(connection));
  if (leaves != size) {
    return fail(ErrorCode::kDataLoss,
                "the log has digests of another number of leaves than of records");
  }
  std::vector<Digest> peaks;
  for (const LeafRange& part : complete_subtrees({0, size})) {
    ASSAY_ASSIGN(Digest peak, load_range(connection, part));
    peaks.push_back(std::move(peak));
  }
  return LogTail{LogFrontier(size, std::move(peaks))};
}

Status append_nodes(Connection& connection, LogFrontier& frontier, ByteView bytes) {
  const LeafIndex leaf = frontier.size();
  const Bytes hashes = joined(frontier.append(merkle_leaf(kHash, bytes)));
  return connection.query(Sql::kNodeInsert).bind(leaf).bind_borrowed(hashes).run();
}

Result<LeafIndex> append_record(Connection& connection, LogTail& tail, const LogRecord& record) {
  const LeafIndex index = tail.frontier.size();
  ASSAY_ASSIGN(const std::string text, encode(record));
  ASSAY_TRY(insert_record(connection, index, record, as_bytes(text)));
  ASSAY_TRY(append_nodes(connection, tail.frontier, as_bytes(text)));
  return index;
}

Result<Bytes> load_record(Connection& connection, LeafIndex index) {
  Query query = connection.query(Sql::kRecordGet);
  ASSAY_ASSIGN(const bool found, query.bind(index).next());
  if (!found) {
    return row_missing();
  }
  const auto unpacked = unpack(query.integer(1), query.view(0));
  ASSAY_ASSIGN(const Digest leaf, load_node(connection, 0, index));
  if (!unpacked || merkle_leaf(kHash, *unpacked) != leaf) {
    return fail(ErrorCode::kDataLoss,
                "log record " + std::to_string(index) + " differs from its leaf hash");
  }
  return *unpacked;
}

Result<Digest> load_node(Connection& connection, unsigned level, std::uint64_t index) {
  const LeafIndex completed_by = ((index + 1) << level) - 1;
  Query query = connection.query(Sql::kNodeGet);
  ASSAY_ASSIGN(const bool found, query.bind(completed_by).bind(level * kHashSize).next());
  if (!found) {
    return row_missing();
  }
  return query.digest(0);
}

Result<Digest> load_range(Connection& connection, LeafRange range) {
  std::vector<Digest> parts;
  for (const LeafRange& part : complete_subtrees(range)) {
    const std::uint64_t length = part.end - part.begin;
    const auto level = static_cast<unsigned>(std::countr_zero(length));
    ASSAY_ASSIGN(Digest digest, load_node(connection, level, part.begin >> level));
    parts.push_back(std::move(digest));
  }
  return merkle_fold(parts);
}

Result<std::vector<Digest>> load_ranges(Connection& connection, std::span<const LeafRange> ranges) {
  std::vector<Digest> digests;
  digests.reserve(ranges.size());
  for (const LeafRange& range : ranges) {
    ASSAY_ASSIGN(Digest digest, load_range(connection, range));
    digests.push_back(std::move(digest));
  }
  return digests;
}

Result<Digest> load_root(Connection& connection, TreeSize size) {
  return size == 0 ? Result<Digest>(merkle_empty(kHash)) : load_range(connection, {0, size});
}

Result<Bytes> load_tile(Connection& connection, const LogState& state, unsigned level,
                        std::uint64_t index, unsigned width) {
  ASSAY_TRY(check_tile(state.size, level, index, width));
  Bytes tile;
  tile.reserve(width * std::size_t{32});
  std::vector<Digest> digests;
  for (std::uint64_t i = 0; i < width; ++i) {
    ASSAY_ASSIGN(const Digest digest,
                 load_node(connection, level * kTileHeight, index * kTileWidth + i));
    tile.insert(tile.end(), digest.bytes().begin(), digest.bytes().end());
    digests.push_back(digest);
  }
  const unsigned height = level * kTileHeight;
  const std::uint64_t first = (index * kTileWidth) << height;
  for (const LeafRange& part : complete_subtrees({0, width})) {
    const LeafRange leaves{first + (part.begin << height), first + (part.end << height)};
    const Digest digest =
        merkle_root(kHash, std::span(digests).subspan(part.begin, part.end - part.begin));
    ASSAY_ASSIGN(const Digest root, root_through(connection, {0, state.size}, leaves, digest));
    if (root != state.root) {
      return fail(ErrorCode::kDataLoss, "stored digests of the log do not lead to its root");
    }
  }
  return tile;
}

Result<Bytes> load_bundle(Connection& connection, TreeSize size, std::uint64_t index,
                          unsigned width) {
  ASSAY_TRY(check_tile(size, 0, index, width));
  Bytes bundle;
  for (std::uint64_t i = 0; i < width; ++i) {
    ASSAY_ASSIGN(const Bytes record, load_record(connection, index * kTileWidth + i));
    append_bundle_entry(bundle, record);
  }
  return bundle;
}

Status check_log(Connection& connection, const LogState& state) {
  LogFrontier frontier;
  Query records = connection.query(Sql::kRecordScan);
  Query nodes = connection.query(Sql::kNodeScan);
  for (; frontier.size() < state.size; /* append */) {
    const LeafIndex leaf = frontier.size();
    ASSAY_ASSIGN(const bool record, records.next());
    ASSAY_ASSIGN(const bool node, nodes.next());
    if (!record || !node || records.count(0) != leaf || nodes.count(0) != leaf) {
      return row_missing();
    }
    // What cannot be unpacked has the digest of nothing.
    const Bytes bytes = unpack(records.integer(2), records.view(1)).value_or(Bytes());
    if (!std::ranges::equal(nodes.view(1), joined(frontier.append(merkle_leaf(kHash, bytes))))) {
      return fail(ErrorCode::kDataLoss, "log record " + std::to_string(leaf) +
                                            " or a digest that it completes was altered");
    }
  }
  ASSAY_ASSIGN(const bool more_records, records.next());
  ASSAY_ASSIGN(const bool more_nodes, nodes.next());
  if (more_records || more_nodes || frontier.root() != state.root) {
    return fail(ErrorCode::kLogInconsistent, "the log differs from its newest checkpoint");
  }
  return {};
}

}  // namespace assay::storage::sqlite
