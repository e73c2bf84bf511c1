// SPDX-License-Identifier: Apache-2.0
// Lineage conditions, inside of a policy: what is read is written, and reads back as the same; lint
// takes what the parser takes.
#include "policy/lint.h"
#include "tests/fuzz/round_trip.h"

namespace {

using namespace assay;

Result<PolicyDocument> parse(ByteView text) {
  ASSAY_ASSIGN(const Json lineage, parse_json(text));
  const Json document = {{"name", "p"},
                         {"version", 1},
                         {"mode", "enforce"},
                         {"match", Json::object()},
                         {"require", {{{"id", "made"}, {"lineage", lineage}}}}};
  ASSAY_ASSIGN(const std::string canonical, canonical_json(document));
  return parse_policy(as_bytes(canonical));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  fuzz::check_round_trip(
      parse, [](const PolicyDocument& policy) { return to_json(policy)["require"][0]["lineage"]; },
      bytes);
  if (const auto policy = parse(bytes); policy && policy::lint(*policy).empty()) {
    std::abort();
  }
  return 0;
}
