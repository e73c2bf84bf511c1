// SPDX-License-Identifier: Apache-2.0
// Withdrawals: shape by withdrawal.schema.json.
#include "schemas/withdrawal.h"

#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay {

Json to_json(const Withdrawal& withdrawal) {
  Json json = {{"statement", withdrawal.statement.text()},
               {"reason", withdrawal.reason},
               {"text", withdrawal.text}};
  if (withdrawal.since) {
    json["since"] = to_rfc3339(*withdrawal.since);
  }
  return json;
}

Result<Withdrawal> read_withdrawal(const Json& json) {
  auto statement = StatementId::parse(members::text(json, "statement"));
  if (!statement) {
    return members::under("/statement", std::move(statement).error());
  }
  Withdrawal withdrawal{
      *std::move(statement), members::text(json, "reason"), members::text(json, "text"), {}};
  if (json.contains("since")) {
    ASSAY_ASSIGN(withdrawal.since, members::time(json, "since"));
  }
  return withdrawal;
}

Result<Withdrawal> parse_withdrawal(ByteView payload) {
  ASSAY_ASSIGN(const Json json, parse_json(payload));
  ASSAY_TRY(validate("withdrawal", json));
  return read_withdrawal(json);
}

Json to_json(const Withdrawn& withdrawn) {
  return {{"statement", withdrawn.statement.text()},
          {"reason", withdrawn.reason},
          {"text", withdrawn.text},
          {"since", to_rfc3339(withdrawn.since)},
          {"at", to_rfc3339(withdrawn.at)},
          {"by", withdrawn.by},
          {"by_operators", withdrawn.by_operators}};
}

Result<Withdrawn> withdrawn_from_json(const Json& json) {
  const auto flag = json.find("by_operators");
  const auto by = json.find("by");
  if (!json.is_object() || flag == json.end() || !flag->is_boolean() || by == json.end() ||
      !by->is_array()) {
    return fail(ErrorCode::kSchemaViolation, "this is no recorded withdrawal");
  }
  ASSAY_ASSIGN(StatementId statement, StatementId::parse(members::text(json, "statement")));
  ASSAY_ASSIGN(const Timestamp since, members::time(json, "since"));
  ASSAY_ASSIGN(const Timestamp at, members::time(json, "at"));
  return Withdrawn{std::move(statement),
                   members::text(json, "reason"),
                   members::text(json, "text"),
                   since,
                   at,
                   members::texts(json, "by"),
                   flag->get<bool>()};
}

}  // namespace assay
