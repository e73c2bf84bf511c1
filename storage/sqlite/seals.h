// SPDX-License-Identifier: Apache-2.0
// Seals of rows. A seal is an HMAC over a row, under a key that only the service has. A row that
// was changed by anybody else (a damaged page, a person with access to the file) does not fit its
// seal. Reading such a row returns data-loss instead of a wrong answer. However, an old row and its
// old seal still fit each other when somebody puts both back. Trust and policies are therefore also
// checked against the log (governance_tables.h).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/core/clock.h"
#include "schemas/core/signer.h"
#include "storage/last_write.h"
#include "storage/sqlite/connection.h"

namespace assay::storage::sqlite {

// Kinds of sealed rows. The triggers of 0002_nodes.sql contain the same numbers.
enum class Sealed : std::uint8_t {
  kStatement = 1,
  kDecision = 2,
  kNode = 3,
  kJob = 4,
  kChallenge = 5,
  kOutline = 6,
  kPod = 7,
  kClaim = 8,
  kHighWater = 9,
  kEvidence = 10,
  kNodeKey = 11,
  kGeneration = 12,
  kNewestReport = 13,
  kReportGroup = 14,
};
inline constexpr std::array kAllSealed = {
    Sealed::kStatement,    Sealed::kDecision,   Sealed::kNode,    Sealed::kJob,
    Sealed::kChallenge,    Sealed::kOutline,    Sealed::kPod,     Sealed::kClaim,
    Sealed::kHighWater,    Sealed::kEvidence,   Sealed::kNodeKey, Sealed::kGeneration,
    Sealed::kNewestReport, Sealed::kReportGroup};
[[nodiscard]] std::string_view name(Sealed kind);

// The first half of an HMAC-SHA256: RFC 2104 section 5 asks for no less.
using Seal = std::array<std::uint8_t, 16>;

// Returns the name of a seal whose row has a log index or another number below 2^60 as its key: how
// many digits of hex the number has, and the digits. Such names sort in the order of the numbers.
[[nodiscard]] std::string seal_name(std::uint64_t number);
// Returns the number of such a name, and nullopt for another name.
[[nodiscard]] std::optional<std::uint64_t> seal_number(const std::string& name);
// Returns the kind and the name of a row as people read them, a number in decimal.
[[nodiscard]] std::string shown(Sealed kind, const std::string& name);
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
  [[nodiscard]] Status keep(Connection& connection) const;
  // Checks the stored seal. Errors: data-loss when there is no such seal or the seal does not fit.
  [[nodiscard]] Status check(Connection& connection) const;

 private:
  [[nodiscard]] Seal mac(const Connection& connection) const;

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

// Some rows have their seal in a column of their own, `tag`: counters, which change often.
// row_tag() returns that seal for a row of `table` with the other `columns`. check_row_tag()
// compares it with the stored `tag`. Errors: data-loss when they differ.
using RowColumns = std::initializer_list<std::string_view>;
[[nodiscard]] Seal row_tag(const Connection& connection, std::string_view table,
                           RowColumns columns);
[[nodiscard]] Status check_row_tag(const Connection& connection, std::string_view table,
                                   RowColumns columns, ByteView tag);

// Store and load the times of the last write, with a seal. Loading returns nullopt before the first
// write, and when the row does not fit its seal. Without this seal, a forged later time would stay
// in force, because no write gets an earlier time than the last write.
[[nodiscard]] Status store_last_write(Connection& connection, const LastWrite& last);
[[nodiscard]] Result<std::optional<LastWrite>> load_last_write(Connection& connection);

// Returns the seal of `message` under the connection's seal key.
[[nodiscard]] Seal seal_of(const Connection& connection, ByteView message);

}  // namespace assay::storage::sqlite
