// SPDX-License-Identifier: Apache-2.0
// Withdrawals: signed records which say that a manifest, a statement, a placement or a release no
// longer counts. A signer of the statement withdraws it for himself, or two operators do so for
// everybody, as a change of trust (schemas/trust.h). Nothing undoes a withdrawal. Schema:
// withdrawal.schema.json.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"

namespace assay {

inline constexpr std::string_view kWithdrawalPayloadType = "application/vnd.assay.withdrawal+json";

// Why a statement is withdrawn. The list is the one of withdrawal.schema.json.
inline constexpr std::array<std::string_view, 8> kWithdrawalReasons = {
    "incorrect", "superseded", "vulnerable", "data-withdrawn",
    "licence",   "key-misuse", "policy",     "other"};

// What somebody signs to withdraw a statement.
struct Withdrawal {
  StatementId statement;
  std::string reason;  // one of kWithdrawalReasons
  std::string text;    // for people
  // Since when the statement is known to be wrong. Absent: since the withdrawal is recorded. This
  // time is kept for those who ask what happened before the record; a decision looks only at
  // whether there is a withdrawal.
  std::optional<Timestamp> since{};
  bool operator==(const Withdrawal&) const = default;
};

// A withdrawal that the service recorded.
struct Withdrawn {
  StatementId statement;
  std::string reason;
  std::string text;
  Timestamp since;              // never after `at`
  Timestamp at;                 // when it was recorded
  std::vector<std::string> by;  // identities that withdrew it, ascending
  bool by_operators = false;    // a change of trust by operators, not a signer of the statement
  bool operator==(const Withdrawn&) const = default;
};

[[nodiscard]] Json to_json(const Withdrawal& withdrawal);
// Errors: invalid-digest; invalid-time; schema-violation.
[[nodiscard]] Result<Withdrawal> read_json(json::As<Withdrawal> type, const Json& json);
// Parses the payload of a signed withdrawal. Errors: those of parse_json(), validate() and
// read_json().
[[nodiscard]] Result<Withdrawal> parse_withdrawal(ByteView payload);

[[nodiscard]] Json to_json(const Withdrawn& withdrawn);
// Reads what to_json() wrote. Errors: schema-violation; invalid-digest; invalid-time.
[[nodiscard]] Result<Withdrawn> read_json(json::As<Withdrawn> type, const Json& json);

}  // namespace assay
