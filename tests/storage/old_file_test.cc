// SPDX-License-Identifier: Apache-2.0
// An older copy of the database file beside the write-ahead log of the newer one, which SQLite
// would lay over it: the store is whole, or it is refused.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "storage/inspect.h"
#include "tests/storage/durability.h"
#include "tests/storage/sqlite_files.h"

namespace assay::storage {
namespace {

namespace fs = std::filesystem;

class OldFile : public SqliteTest {
 protected:
  [[nodiscard]] std::string kept(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  void keep(const std::string& name) const {
    fs::copy_file(path(), kept(name), fs::copy_options::overwrite_existing);
  }
  // What a process that is killed now leaves: the anchor, and the write-ahead log.
  void keep_what_is_left() const {
    for (const std::string& file : {path() + "-wal", anchor_path()}) {
      fs::copy_file(file, file + ".left", fs::copy_options::overwrite_existing);
    }
  }
  // As after a kill, with this file as the database.
  void put_in_place(const std::string& name) const {
    fs::remove(path() + "-shm");
    fs::copy_file(kept(name), path(), fs::copy_options::overwrite_existing);
    for (const std::string& file : {path() + "-wal", anchor_path()}) {
      fs::copy_file(file + ".left", file, fs::copy_options::overwrite_existing);
    }
  }
  static std::string contents(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  // The first finding of a deep check; empty when there is none.
  std::string first_finding() { return first_finding(options()); }
  std::string first_finding(const SqliteOptions& options) {
    const auto inspection = Inspection::open(options, signer_, clock_);
    EXPECT_TRUE(inspection) << to_string(inspection.error());
    const auto found = (*inspection)->find(true, [](std::string_view, std::uint64_t) {});
    EXPECT_TRUE(found) << to_string(found.error());
    return !found || found->empty() ? "" : found->front().check + " " + found->front().id;
  }
};

// In between, everything was copied into the file, and the log began anew.
TEST_F(OldFile, UnderTheLogOfANewerOne_IsRefusedAndLeftAlone) {
  std::vector<AcknowledgedWrite> all = write_some(*open().value(), "first", 3);
  keep("old");
  const auto more = write_some(*open().value(), "second", 3);
  all.insert(all.end(), more.begin(), more.end());
  {
    const auto store = open().value();
    const auto last = write_some(*store, "third", 1);
    all.insert(all.end(), last.begin(), last.end());
    keep("now");
    keep_what_is_left();
  }
  put_in_place("old");
  const std::string before = contents(path());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor) << i;
    EXPECT_EQ(measure_loss(options(), signer_).error().code, ErrorCode::kStoreBehindAnchor);
    EXPECT_EQ(first_finding(), "file " + path());
  }
  EXPECT_EQ(contents(path()), before) << "nothing was copied into it";
  put_in_place("now");
  EXPECT_EQ(first_finding(), "");
  expect_durable(*open().value(), all);
}

// The log is beside the file that the link leads to.
TEST_F(OldFile, ThroughASymbolicLink_IsRefusedAsWell) {
  append(*open().value(), 3);
  keep("old");
  append(*open().value(), 3);
  {
    const auto store = open().value();
    append(*store, 1);
    keep_what_is_left();
  }
  put_in_place("old");
  const std::string before = contents(path());
  SqliteOptions wanted = options();
  wanted.path = folder_.path() + "/link.db";
  fs::create_symlink(path(), wanted.path);
  EXPECT_EQ(first_finding(wanted), "file " + wanted.path);
  EXPECT_EQ(measure_loss(wanted, signer_).error().code, ErrorCode::kStoreBehindAnchor);
  EXPECT_EQ(open_error(wanted), ErrorCode::kStoreBehindAnchor);
  EXPECT_EQ(contents(path()), before) << "nothing was copied into it";
}

// What changes in its place leaves no gap that the checks of the log would find: without the
// numbers this file opens, and the nonce can be spent twice.
TEST_F(OldFile, FromBeforeANonceWasSpent_IsRefused) {
  const Bytes nonce(32, 1);
  ASSERT_TRUE(open().value()->write([&](Transaction& transaction) {
    return transaction.put_challenge({.nonce = nonce,
                                      .principal = "agent",
                                      .purpose = "enrol",
                                      .node = "gpu-1",
                                      .job = {},
                                      .expires_at = clock_.now() + std::chrono::hours(1),
                                      .used_at = {}});
  }));
  keep("old");
  ASSERT_TRUE(open().value()->write([&](Transaction& transaction) {
    const auto row = transaction.consume_challenge(nonce);
    return row ? Status() : std::unexpected(row.error());
  }));
  {
    const auto store = open().value();
    ASSERT_TRUE(store->write([](Transaction& /*transaction*/) { return Status(); }));
    keep_what_is_left();
  }
  put_in_place("old");
  EXPECT_EQ(open_error(), ErrorCode::kStoreBehindAnchor);
}

// Copies of each moment while the log is copied into the file again and again.
TEST_F(OldFile, OfAnyMoment_IsWholeOrRefused) {
  const Bytes large(1U << 20, 7);
  std::vector<AcknowledgedWrite> all;
  constexpr int kMoments = 40;
  {
    const auto store = open().value();
    for (int i = 0; i < kMoments; ++i) {
      ASSERT_TRUE(store->write([&](Transaction& transaction) {
        Bytes one = large;
        one.front() = static_cast<std::uint8_t>(i);
        const auto put = transaction.put_document("application/octet-stream", one);
        return put ? Status() : std::unexpected(put.error());
      }));
      const auto some = write_some(*store, std::to_string(i) + "-", 3);
      ASSERT_EQ(some.size(), 3U);
      all.insert(all.end(), some.begin(), some.end());
      keep(std::to_string(i));
    }
    keep_what_is_left();
  }
  int whole = 0;
  for (int i = 0; i < kMoments; ++i) {
    put_in_place(std::to_string(i));
    const auto store = open();
    if (!store) {
      // A copy that was taken while the log was copied into the file has some pages of each.
      const ErrorCode code = store.error().code;
      EXPECT_TRUE(code == ErrorCode::kStoreBehindAnchor || code == ErrorCode::kDataLoss)
          << i << to_string(store.error());
      continue;
    }
    ++whole;
    expect_durable(**store, all);
    EXPECT_EQ(first_finding(), "") << i;
  }
  EXPECT_GT(whole, 0);
  EXPECT_LT(whole, kMoments);
}

}  // namespace
}  // namespace assay::storage
