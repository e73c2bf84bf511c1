// SPDX-License-Identifier: Apache-2.0
// Seals of rows. A seal is an HMAC over a row, under a key that only the service has. It is the
// value of the row's entry in the record map (storage/record_map.h), whose root the anchor holds. A
// row that anybody else changed, removed, added or put back (a damaged page, a person with access
// to the file) does not fit its entry. Reading it returns data-loss instead of a wrong answer.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/core/signer.h"
#include "storage/record_map.h"
#include "storage/sqlite/connection.h"

namespace assay::storage::sqlite {

// Kinds of entries of the record map: rows, and lists that decisions read.
enum class Sealed : std::uint8_t {
  kStatement = 1,
  kNode = 2,
  kJob = 3,
  kChallenge = 4,
  kOutline = 5,
  kPod = 6,
  kClaim = 7,
  kHighWater = 8,
  kEvidence = 9,
  kNodeKey = 10,
  kGeneration = 11,
  kNewestReport = 12,
  kReportGroup = 13,
  kVersion = 14,
  kUsage = 15,
  kChange = 16,
  // Lists: the statements about a digest, those made from it, the policies of a name, and who
  // signed which manifest of a name, release of a name, and manifest or placement at a location.
  kAbout = 17,
  kMadeFrom = 18,
  kSignedName = 19,
  kReleasedName = 20,
  kSignedPlace = 21,
  kNamedPolicy = 22,
  kStageEvidence = 23,  // how many rows of evidence a statement has
  kOnPlatform = 24,     // how many nodes have a platform, whether or not they count
};
inline constexpr std::size_t kSealedKinds = 24;
[[nodiscard]] std::string_view name(Sealed kind);

// The first half of an HMAC-SHA256: RFC 2104 section 5 asks for no less.
using Seal = MapValue;

// Returns the name of a seal whose row has a primary key of several columns.
[[nodiscard]] std::string seal_name(std::initializer_list<std::string_view> columns);

// Derives the key of all seals of a store from a signature of the log's key, `signer`. Ed25519
// signatures are deterministic, so every process with the log's key derives the same seal key.
[[nodiscard]] Result<SecretBytes> derive_seal_key(const Signer& signer);
// Returns the seal key of a store, even after the log key was replaced. The seal key is always
// derived from the first log key. For each later log key, the store has a copy of the seal key that
// is encrypted for this log key. Errors: data-loss when the encrypted key was altered.
[[nodiscard]] Result<SecretBytes> seal_key_of(Connection& connection, const Signer& signer);
// Stores `key`, the seal key of the store, encrypted for `next`.
[[nodiscard]] Status hand_over_seals(Connection& connection, ByteView key, const Signer& next);

// The content of one seal: the columns of a row, followed by the columns of the rows in other
// tables that belong to that row.
class SealedRow {
 public:
  SealedRow(Sealed kind, std::string name);
  // Adds all columns of the current row of `query`.
  void add(const Query& query);
  void add(std::uint64_t column);
  // Puts the seal into the record map.
  [[nodiscard]] Status keep(Connection& connection) const;
  // Errors: data-loss when the record map has no such entry or another seal.
  [[nodiscard]] Status check(Connection& connection) const;

 private:
  Sealed kind_;
  std::string name_;
  Bytes message_;
};

// Returns whether a row could be read and is not what this service wrote. Whoever compares rows
// goes on after such an error, and not after others.
[[nodiscard]] inline bool is_damage(const Error& error) {
  return error.code == ErrorCode::kDataLoss;
}

// Checks the seal of a row that has no rows in other tables. The row is the current row of `query`.
[[nodiscard]] Status check_seal(Connection& connection, Sealed kind, std::string name,
                                const Query& query);
// Seals a row that has no rows in other tables. The caller must pass a `query` that is bound but
// not yet run, and that reads the row in the same way as the code that later checks the seal.
[[nodiscard]] Status keep_seal(Connection& connection, Sealed kind, std::string name, Query& query);

// The same for a row that is read column by column.
using RowColumns = std::initializer_list<std::uint64_t>;
[[nodiscard]] Status check_seal(Connection& connection, Sealed kind, const std::string& name,
                                RowColumns columns);
[[nodiscard]] Status keep_seal(Connection& connection, Sealed kind, const std::string& name,
                               RowColumns columns);
// Checks that there is no such row. Errors: data-loss when the record map has an entry of it.
[[nodiscard]] Status check_absent(Connection& connection, Sealed kind, const std::string& name);
// Removes the entry of a row that is removed.
[[nodiscard]] Status erase_seal(Connection& connection, Sealed kind, const std::string& name);

// A count that is kept in the record map alone; 0 when there is none.
[[nodiscard]] Result<std::uint64_t> load_count(Connection& connection, Sealed kind,
                                               const std::string& name);
[[nodiscard]] Status store_count(Connection& connection, Sealed kind, const std::string& name,
                                 std::uint64_t count);

// Returns the name of an entry in the record map. Its last byte is the kind.
[[nodiscard]] MapName map_name(const Connection& connection, Sealed kind, std::string_view name);

// Returns the seal of `message` under the connection's seal key.
[[nodiscard]] Seal seal_of(const Connection& connection, ByteView message);

}  // namespace assay::storage::sqlite
