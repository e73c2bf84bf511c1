// SPDX-License-Identifier: Apache-2.0
// What every implementation of storage/store.h must do, tested from outside. The cases are in
// contract_*_test.cc; an implementation joins with INSTANTIATE_TEST_SUITE_P
// (sqlite_contract_test.cc).
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/store.h"
#include "tests/support/manual_clock.h"
#include "tests/support/test_signer.h"

namespace assay::storage {

inline constexpr const char* kTestOrigin = "assay.example.com/log";

// What a factory needs to open a store in an own folder.
struct TestStoreOptions {
  std::string folder;
  std::size_t readers = 4;
  std::size_t max_group = 256;
};

struct StoreFactory {
  std::string name;
  std::function<Result<std::unique_ptr<Store>>(const TestStoreOptions&, const Signer&,
                                               const Clock&)>
      open;
};
inline void PrintTo(const StoreFactory& factory, std::ostream* out) { *out << factory.name; }

// A folder that goes with the test.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class StoreContract : public ::testing::TestWithParam<StoreFactory> {
 protected:
  void SetUp() override { open(); }
  void open(TestStoreOptions options = {});
  void reopen();

  Store& store() { return *store_; }
  std::unique_ptr<Snapshot> snapshot();

  // write() that must succeed.
  LogState write(const std::function<Status(Transaction&)>& work);
  // The error of a write() that must fail.
  ErrorCode write_error(const std::function<Status(Transaction&)>& work);
  // Appends `count` records in one write.
  LogState append(std::size_t count, const std::string& type = "test.appended");

  TemporaryFolder folder_;
  ManualClock clock_;
  TestSigner signer_;
  TestStoreOptions options_;
  std::unique_ptr<Store> store_;
};

// The part about verification jobs (contract_jobs_test.cc), over a log of one record.
class JobContract : public StoreContract {
 protected:
  void SetUp() override;
  void put(const JobRow& job);
  // The code with which the job is refused.
  ErrorCode refusal(const JobRow& job);
  // Finishes the job with a report, which it gets.
  void report(JobRow& job, const std::string& result,
              Timestamp read_since = Timestamp(std::chrono::hours(5)));
  std::vector<std::string> ids(const JobQuery& query);
};

// --- values

[[nodiscard]] Digest digest_of(std::string_view text);
[[nodiscard]] LogRecord make_record(const std::string& type, const std::string& actor = "ci",
                                    std::vector<std::string> subjects = {});
// A statement that names nothing stored; the log index and envelopes are set by put().
[[nodiscard]] StatementRow make_statement(const std::string& name);
// Appends a record, stores an envelope unless the row has some, and puts the statement.
[[nodiscard]] Result<StatementRow> put(Transaction& transaction, StatementRow row);
[[nodiscard]] DecisionRow make_decision(const std::string& id);
[[nodiscard]] Result<DecisionRow> put(Transaction& transaction, DecisionRow row);
[[nodiscard]] TrustedKey make_key(std::uint8_t first);
[[nodiscard]] Principal make_principal(const std::string& name);

// The whole list, page by page.
template <typename T, typename Query>
std::vector<T> all_pages(Snapshot& snapshot, Result<Page<T>> (Snapshot::*list)(const Query&),
                         Query query) {
  std::vector<T> items;
  while (true) {
    auto page = (snapshot.*list)(query);
    EXPECT_TRUE(page) << to_string(page.error());
    if (!page) {
      return items;
    }
    EXPECT_LE(page->items.size(), query.bounds.limit);
    items.insert(items.end(), page->items.begin(), page->items.end());
    if (!page->next) {
      return items;
    }
    query.bounds.after = page->next;
  }
}

// The names (or log indices) of the rows of a list, for comparison.
[[nodiscard]] std::vector<LeafIndex> indexes_of(const std::vector<StatementRow>& rows);
[[nodiscard]] std::vector<LeafIndex> indexes_of(const std::vector<DecisionRow>& rows);
[[nodiscard]] std::vector<LeafIndex> indexes_of(const std::vector<EventRow>& rows);

// Fails unless the record at `index` is in the tree of `state`.
void expect_included(Snapshot& snapshot, LeafIndex index, const LogState& state);

}  // namespace assay::storage
