// SPDX-License-Identifier: Apache-2.0
#include "tests/storage/flip_rounds.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "storage/inspect.h"
#include "tests/storage/durability.h"
#include "tests/storage/fault_vfs.h"
#include "tests/storage/flip_store.h"
#include "tests/storage/sqlite_files.h"
#include "tests/support/seed.h"

namespace assay::storage {
namespace {

namespace fs = std::filesystem;

// A count of the test's JSON (--gtest_output=json:FILE).
void record(const std::string& name, std::size_t count) {
  ::testing::Test::RecordProperty(name, std::to_string(count));
}

// Gives the fixture's tools to free functions.
class Rounds : public SqliteTest {
 public:
  void TestBody() override {}
  using SqliteTest::anchor_path;
  using SqliteTest::append;
  using SqliteTest::clock_;
  using SqliteTest::open;
  using SqliteTest::options;
  using SqliteTest::path;
  using SqliteTest::signer_;
};

void flip_bit(const std::string& path, std::size_t offset, int bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const auto byte = static_cast<char>(file.get() ^ (1 << bit));
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
}

// The pages of tables and indexes that answers come from, to hit each of these as often as others,
// whatever its size, and where a page has something.
class Aim {
 public:
  struct Shot {
    std::string table;
    std::size_t offset;  // in the file
  };

  explicit Aim(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    sqlite3* raw = nullptr;
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    const sqlite::DatabaseHandle database(raw);
    sqlite3_stmt* prepared = nullptr;
    const char* pages =
        "SELECT name, pgoffset, pgsize, pagetype FROM dbstat WHERE ncell > 0 OR "
        "pagetype = 'overflow'";
    EXPECT_EQ(sqlite3_prepare_v2(raw, pages, -1, &prepared, nullptr), SQLITE_OK);
    const sqlite::StatementHandle statement(prepared);
    while (sqlite3_step(prepared) == SQLITE_ROW) {
      add(text(prepared, 0), static_cast<std::size_t>(sqlite3_column_int64(prepared, 1)),
          static_cast<std::size_t>(sqlite3_column_int64(prepared, 2)),
          text(prepared, 3) == "overflow");
    }
    EXPECT_GT(parts_.size(), 60U);
  }

  Shot draw(std::mt19937_64& random) const {
    const auto skip = static_cast<std::ptrdiff_t>(random() % parts_.size());
    const auto& [table, parts] = *std::next(parts_.begin(), skip);
    std::size_t all = 0;
    for (const Part& part : parts) {
      all += part.size;
    }
    std::size_t at = random() % all;
    auto part = parts.begin();
    for (; at >= part->size; ++part) {
      at -= part->size;
    }
    return {table, part->offset + at};
  }

 private:
  struct Part {
    std::size_t offset;
    std::size_t size;
  };

  static std::string text(sqlite3_stmt* statement, int column) {
    return reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  }
  [[nodiscard]] std::size_t number(std::size_t offset) const {
    return std::size_t{static_cast<unsigned char>(bytes_[offset])} << 8U |
           std::size_t{static_cast<unsigned char>(bytes_[offset + 1])};
  }

  // File format of SQLite, section 1.6: header, pointers to cells, a gap, cells up to the end.
  void add(const std::string& table, std::size_t offset, std::size_t size, bool overflow) {
    if (table == "sqlite_schema") {
      return;
    }
    if (overflow) {
      parts_[table].push_back({offset, size});
      return;
    }
    const bool interior = bytes_[offset] == 2 || bytes_[offset] == 5;
    const std::size_t cells = number(offset + 3);
    const std::size_t content = number(offset + 5);
    parts_[table].push_back({offset, (interior ? 12U : 8U) + 2 * cells});
    parts_[table].push_back({offset + content, size - content});
  }

  std::string bytes_;
  std::map<std::string, std::vector<Part>> parts_;  // by table or index
};

// Every line of `part` stands in `whole`, as often: a list that lost items.
bool is_part_of(const std::string& part, const std::string& whole) {
  const auto lines_of = [](const std::string& text) {
    std::multiset<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      lines.insert(line);
    }
    return lines;
  };
  return std::ranges::includes(lines_of(whole), lines_of(part));
}

struct Count {
  std::size_t refused = 0;
  std::size_t unnoticed = 0;  // every answer as before
  std::size_t errors = 0;     // at least one
  std::size_t missing = 0;    // rounds in which a row was missing or a list short
  std::size_t unnamed = 0;    // of those: not found by the inspection
  std::size_t wrong = 0;
};

void judge(const Answers& before, const Answers& after, Rounds& rounds, const std::string& where,
           Count& count) {
  bool error = false;
  bool missing = false;
  for (const auto& [name, answer] : after) {
    if (answer.starts_with(kFailed)) {
      error = true;
      continue;
    }
    const auto known = before.find(name);
    if (known == before.end() || known->second == answer) {
      continue;
    }
    if (answer == kGone || is_part_of(answer, known->second)) {
      missing = true;
    } else {
      ++count.wrong;
      ADD_FAILURE() << where << " changed " << name << "\n" << known->second << "\nto\n" << answer;
    }
  }
  count.errors += error ? 1 : 0;
  count.unnoticed += !error && !missing ? 1 : 0;
  if (missing) {
    ++count.missing;
    const auto inspection = Inspection::open(rounds.options(), rounds.signer_, rounds.clock_);
    const auto found = inspection ? (*inspection)->find(true, [](auto, auto) {})
                                  : std::unexpected(inspection.error());
    if (found && found->empty()) {
      ++count.unnamed;
      ADD_FAILURE() << where << " hides a row that the inspection does not miss";
    }
  }
}

// What the rounds hit, and what came of it.
void tell(std::size_t rounds, const Count& count, const std::map<std::string, std::size_t>& hits) {
  record("rounds", rounds);
  record("start_refused", count.refused);
  record("answers_as_before", count.unnoticed);
  record("errors", count.errors);
  record("rows_missing", count.missing);
  record("rows_missing_not_named_by_check", count.unnamed);
  record("wrong_answers", count.wrong);
  for (const auto& [table, times] : hits) {
    record("rounds_in_" + table, times);
  }
  std::cout << "page flips: " << rounds << " in " << hits.size() << " tables and indexes"
            << ", start refused " << count.refused << ", answers as before " << count.unnoticed
            << ", errors " << count.errors << ", rows missing " << count.missing
            << " (not named by check: " << count.unnamed << "), wrong answers " << count.wrong
            << '\n';
}

}  // namespace

void page_flip_rounds(std::size_t rounds) {
  Rounds files;
  const Status filled = fill_for_flips(*files.open().value(), files.clock_);
  ASSERT_TRUE(filled) << to_string(filled.error());
  const std::string whole = files.path() + ".whole";
  fs::copy_file(files.path(), whole);
  const std::string anchor = files.anchor_path() + ".whole";
  fs::copy_file(files.anchor_path(), anchor);
  const Answers before = ask(*files.open().value());
  for (const auto& [question, answer] : before) {
    ASSERT_FALSE(answer.starts_with(kFailed)) << question << ": " << answer;
  }
  const Aim aim(whole);
  const std::uint64_t seed = random_test_seed();
  SCOPED_TRACE(test_seed_text(seed));
  std::mt19937_64 random(seed);
  Count count;
  std::map<std::string, std::size_t> hits;
  for (std::size_t i = 0; i < rounds; ++i) {
    fs::copy_file(whole, files.path(), fs::copy_options::overwrite_existing);
    fs::copy_file(anchor, files.anchor_path(), fs::copy_options::overwrite_existing);
    const Aim::Shot shot = aim.draw(random);
    const int bit = static_cast<int>(random() % 8);
    flip_bit(files.path(), shot.offset, bit);
    ++hits[shot.table];
    Answers after;
    {
      const auto store = files.open();
      if (!store) {
        ++count.refused;
        continue;
      }
      after = ask(**store);
    }
    const std::string where = "bit " + std::to_string(bit) + " of byte " +
                              std::to_string(shot.offset) + " in " + shot.table;
    judge(before, after, files, where, count);
  }
  tell(rounds, count, hits);
}

void wal_flip_rounds(std::size_t rounds) {
  Rounds files;
  const std::uint64_t seed = random_test_seed();
  SCOPED_TRACE(test_seed_text(seed));
  std::mt19937_64 random(seed);
  const std::string copy = files.path() + ".copy";
  LogState signed_state{0, digest_of(""), {}};
  {
    const auto store = files.open().value();
    for (int i = 0; i < 20; ++i) {
      signed_state = Rounds::append(*store, 3);
    }
    fs::copy_file(files.path(), copy);
    fs::copy_file(files.path() + "-wal", copy + "-wal");
  }
  const std::string anchor = files.anchor_path() + ".copy";
  fs::copy_file(files.anchor_path(), anchor);
  std::size_t refused = 0;
  std::size_t forks = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    fs::remove(files.path() + "-shm");
    fs::copy_file(copy, files.path(), fs::copy_options::overwrite_existing);
    fs::copy_file(copy + "-wal", files.path() + "-wal", fs::copy_options::overwrite_existing);
    fs::copy_file(anchor, files.anchor_path(), fs::copy_options::overwrite_existing);
    flip_bit(files.path() + "-wal", random() % fs::file_size(copy + "-wal"),
             static_cast<int>(random() % 8));
    const auto store = files.open();
    if (!store) {
      ++refused;
      continue;
    }
    const auto root = (*store)->snapshot().value()->log_root(signed_state.size);
    forks += !root || *root != signed_state.root ? 1U : 0U;
  }
  record("rounds", rounds);
  record("start_refused", refused);
  record("forks", forks);
  std::cout << "flips in the write-ahead log: " << rounds << ", start refused " << refused
            << ", forks " << forks << '\n';
  EXPECT_EQ(forks, 0U);
}

void readiness_rounds(std::size_t rounds) {
  Rounds files;
  FaultVfs vfs;
  SqliteOptions wanted = files.options();
  wanted.probe_interval = std::chrono::milliseconds(2);
  const auto store = files.open(wanted).value();
  std::size_t latches = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    vfs.fail_at(1 + i % 3, FaultVfs::Fault::kDiskFull);
    static_cast<void>(write_some(*store, "r" + std::to_string(i), 1));
    vfs.fail_at(0, FaultVfs::Fault::kDiskFull);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!store->healthy() && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    latches += store->healthy() ? 0U : 1U;
  }
  record("rounds", rounds);
  record("latches", latches);
  std::cout << "full disks: " << rounds << ", latches " << latches << '\n';
  EXPECT_EQ(latches, 0U);
}

}  // namespace assay::storage
