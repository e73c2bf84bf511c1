// SPDX-License-Identifier: Apache-2.0
// Withdrawals, as they are signed and as they are recorded: what is read is written, and reads back
// as the same.
#include "schemas/withdrawal.h"

#include "schemas/core/json_values.h"
#include "tests/fuzz/round_trip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const ByteView bytes(data, size);
  fuzz::check_round_trip(
      parse_withdrawal, [](const Withdrawal& one) { return to_json(one); }, bytes);
  fuzz::check_round_trip(
      [](ByteView text) -> Result<Withdrawn> {
        ASSAY_ASSIGN(const Json json, parse_json(text));
        return json::get<Withdrawn>(json);
      },
      [](const Withdrawn& one) { return to_json(one); }, bytes);
  return 0;
}
