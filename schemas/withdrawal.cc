// SPDX-License-Identifier: Apache-2.0
// Withdrawals: shape by withdrawal.schema.json.
#include "schemas/withdrawal.h"

#include "schemas/document.h"

namespace assay {

static auto members_of(json::As<Withdrawal>) {
  using T = Withdrawal;
  return std::tuple(json::always("statement", &T::statement), json::always("reason", &T::reason),
                    json::always("text", &T::text), json::if_set("since", &T::since));
}
static Withdrawal start(json::As<Withdrawal>) { return {json::unread<StatementId>(), {}, {}, {}}; }
Json to_json(const Withdrawal& withdrawal) { return json::write(withdrawal); }
Result<Withdrawal> read_json(json::As<Withdrawal> /*type*/, const Json& json) {
  return json::read<Withdrawal>(json);
}
Result<Withdrawal> parse_withdrawal(ByteView payload) {
  return document::parse<Withdrawal>(payload, "withdrawal");
}

static auto members_of(json::As<Withdrawn>) {
  using T = Withdrawn;
  return std::tuple(json::always("statement", &T::statement), json::always("reason", &T::reason),
                    json::always("text", &T::text), json::always("since", &T::since),
                    json::always("at", &T::at), json::always("by", &T::by),
                    json::always("by_operators", &T::by_operators));
}
static Withdrawn start(json::As<Withdrawn>) {
  return {json::unread<StatementId>(), {}, {}, {}, {}, {}, {}};
}
Json to_json(const Withdrawn& withdrawn) { return json::write(withdrawn); }
Result<Withdrawn> read_json(json::As<Withdrawn> /*type*/, const Json& json) {
  return json::read<Withdrawn>(json);
}

}  // namespace assay
