// SPDX-License-Identifier: Apache-2.0
// The file alone is read page by page, not by SQLite: a process that died while it copied pages
// left a file that is whole only together with its log. The table of the numbers has one page,
// which never moves. Section numbers are those of https://www.sqlite.org/fileformat2.html.
#include "storage/sqlite/file_age.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sys/stat.h>

#include <sqlite3.h>

#include "storage/sqlite/query.h"

namespace assay::storage::sqlite {
namespace {

constexpr std::int64_t kLargestPage = 65'536;
constexpr std::uint8_t kTableLeaf = 0x0d;
// Of last_write: only, time, wall, seal, number, copied, map.
constexpr std::size_t kColumns = 7;
constexpr std::size_t kNumberColumn = 4;
constexpr std::uint64_t kHeaderBytes = 1 + kColumns;  // of the record, one for each type
constexpr std::uint64_t kSixByteNumber = 5;           // the type of such a value in a record

// Reads numbers one after the other. Beyond the end, and after a number of the wrong form,
// everything is nullopt.
class Reader {
 public:
  Reader(ByteView page, std::size_t at) : page_(page), at_(at) {}

  [[nodiscard]] std::optional<std::uint64_t> big_endian(std::size_t bytes) {
    if (at_ > page_.size() || bytes > page_.size() - at_) {
      return std::nullopt;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      value = value << 8 | page_[at_++];
    }
    return value;
  }
  // Section 1.6. Numbers here are small: longer forms than of 8 bytes are refused.
  [[nodiscard]] std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) {
      const auto byte = big_endian(1);
      if (!byte) {
        return std::nullopt;
      }
      value = value << 7 | (*byte & 0x7f);
      if (*byte < 0x80) {
        return value;
      }
    }
    return std::nullopt;
  }
  void skip(std::size_t bytes) { at_ += std::min(bytes, page_.size()); }

 private:
  ByteView page_;
  std::size_t at_;
};

// Bytes of a value in a record by its type (section 2.1); nullopt for a reserved type.
std::optional<std::size_t> size_of_type(std::uint64_t type) {
  constexpr std::array<std::size_t, 10> kSizes = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
  if (type < kSizes.size()) {
    return kSizes.at(type);
  }
  return type < 12 ? std::nullopt : std::optional<std::size_t>((type - 12) / 2);
}

// The column `number` of the one row on the page (sections 1.6 and 2.1). Nullopt when the page does
// not hold exactly this row, as after a write that was torn by a loss of power.
std::optional<std::uint64_t> number_on(ByteView page) {
  Reader header(page, 0);
  const auto kind = header.big_endian(1);
  header.skip(2);
  const auto cells = header.big_endian(2);
  header.skip(3);
  const auto cell = header.big_endian(2);
  if (kind != kTableLeaf || cells != 1 || !cell) {
    return std::nullopt;
  }
  Reader record(page, *cell);
  const auto bytes = record.varint();
  const auto row = record.varint();
  const auto header_bytes = record.varint();
  std::array<std::optional<std::uint64_t>, kColumns> types;
  std::array<std::optional<std::size_t>, kColumns> sizes;
  std::uint64_t sum = kHeaderBytes;
  for (std::size_t i = 0; i < kColumns; ++i) {
    types.at(i) = record.varint();
    sizes.at(i) = types.at(i) ? size_of_type(*types.at(i)) : std::nullopt;
    sum += sizes.at(i).value_or(page.size());
  }
  const bool is_row = row == 1 && header_bytes == kHeaderBytes && types.front() == 0 &&
                      bytes == sum && types.at(kNumberColumn) == kSixByteNumber;
  if (!is_row) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < kNumberColumn; ++i) {
    record.skip(*sizes.at(i));
  }
  return record.big_endian(6);
}

// The number that the file has without its log; the first one where it does not have that page yet.
// Nullopt for a page that cannot be read, which the log heals: a copy of an older file has one.
Result<std::optional<std::uint64_t>> number_alone(Connection& connection) {
  ASSAY_ASSIGN(const std::int64_t page_size, connection.integer("PRAGMA page_size"));
  ASSAY_ASSIGN(const std::int64_t root,
               connection.integer("SELECT rootpage FROM sqlite_schema WHERE name = 'last_write'"));
  if (page_size <= 0 || page_size > kLargestPage || root <= 1) {
    return fail(ErrorCode::kDataLoss, "the table of the last write is not where it can be");
  }
  ASSAY_ASSIGN(const Bytes page, connection.page_of_file(root, static_cast<int>(page_size)));
  return page.empty() ? std::optional(kFirstNumber) : number_on(page);
}

// The log is where SQLite has it: beside the file that symbolic links lead to.
bool has_log(const Connection& connection) {
  const char* const file = sqlite3_db_filename(connection.handle(), "main");
  struct stat status{};
  return file != nullptr && ::stat(sqlite3_filename_wal(file), &status) == 0 && status.st_size > 0;
}

Status compare(Connection& connection) {
  ASSAY_ASSIGN(const FileAge seen, load_file_age(connection));
  ASSAY_ASSIGN(const auto own, number_alone(connection));
  if (own && *own < seen.copied) {
    return fail(ErrorCode::kStoreBehindAnchor,
                "the database file is older than its write-ahead log: was a copy put in place "
                "beside the log of another one? See docs/recovery.md");
  }
  return {};
}

}  // namespace

Result<FileAge> load_file_age(Connection& connection) {
  Query query = connection.query(Sql::kFileAgeGet);
  ASSAY_ASSIGN(const bool found, query.next());
  if (!found) {
    return fail(ErrorCode::kDataLoss, "the number of the last write is missing");
  }
  return FileAge{query.count(0), query.count(1)};
}

Status check_file_age(Connection& connection) {
  if (!has_log(connection)) {
    return {};
  }
  Status compared = compare(connection);
  if (!compared) {
    connection.keep_log_on_close();  // the file that belongs to the log can still be put back
  }
  return compared;
}

}  // namespace assay::storage::sqlite
