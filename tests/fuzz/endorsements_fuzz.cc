// SPDX-License-Identifier: Apache-2.0
// Bundles of endorsements: what is read is within its limits, is written, and reads back as the
// same.
#include "schemas/endorsements.h"

#include <cstdlib>

#include "tests/fuzz/round_trip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const ByteView bytes(data, size);
  const auto bundle = parse_endorsements(bytes);
  if (bundle && (bundle->number == 0 || bundle->collateral.empty())) {
    std::abort();
  }
  fuzz::check_round_trip(
      parse_endorsements, [](const Endorsements& one) { return to_json(one); }, bytes);
  return 0;
}
