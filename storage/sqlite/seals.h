// SPDX-License-Identifier: Apache-2.0
// Seals of rows. A row that was changed by anybody but this program (a damaged page, somebody with
// the file in hand) does not fit its seal, and whoever reads it gets data-loss instead of another
// answer. An earlier row put back with its earlier seal fits: that is why trust and policies do not
// rest on seals alone (governance_tables.h).
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

// Kinds of rows; also in the triggers of 0002_nodes.sql.
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

// Of a log index or another number, so that seals lie in the order of the rows.
[[nodiscard]] std::string seal_name(std::uint64_t number);
// Of a primary key of several columns.
[[nodiscard]] std::string seal_name(std::initializer_list<std::string_view> columns);

// The key of all seals of a store. Ed25519 is deterministic, so every process with the log's key
// has the same one.
[[nodiscard]] Result<SecretBytes> derive_seal_key(const Signer& signer);
// The same for a log whose key was replaced: its seals go on under the key of the first one, which
// each heir finds encrypted under its own. data-loss when that was altered.
[[nodiscard]] Result<SecretBytes> seal_key_of(Connection& connection, const Signer& signer);
// Writes it for `next`. `key` is what the store's seals are under.
[[nodiscard]] Status hand_over_seals(Connection& connection, ByteView key, const Signer& next);

// What is sealed of one row: its columns, and those of the rows of its lists, one after the other.
class SealedRow {
 public:
  SealedRow(Sealed kind, std::string name);
  // All columns of the current row of `query`.
  void add(const Query& query);
  [[nodiscard]] Status keep(Connection& connection) const;
  // data-loss when there is no such seal.
  [[nodiscard]] Status check(Connection& connection) const;

 private:
  [[nodiscard]] Digest mac(const Connection& connection) const;

  Sealed kind_;
  std::string name_;
  Bytes message_;
};

// Of a row without lists. `query` stands on it.
[[nodiscard]] Status check_seal(Connection& connection, Sealed kind, std::string name,
                                const Query& query);
// `query`, bound and not yet run, finds the row as those who read it do.
[[nodiscard]] Status keep_seal(Connection& connection, Sealed kind, std::string name, Query& query);

// When something was written last. Nothing before the first write, and when the row was altered: a
// time of somebody else's choice would be held for good.
[[nodiscard]] Status store_last_write(Connection& connection, const LastWrite& last);
[[nodiscard]] Result<std::optional<LastWrite>> load_last_write(Connection& connection);

// HMAC-SHA256 under the connection's key.
[[nodiscard]] Digest seal_of(const Connection& connection, ByteView message);

}  // namespace assay::storage::sqlite
