// SPDX-License-Identifier: Apache-2.0
// Stage evidence, and what policies demand of it: what is read is written, and reads back as the
// same.
#include "schemas/stage_evidence.h"

#include "schemas/policy_document.h"
#include "tests/fuzz/round_trip.h"

namespace {

using namespace assay;

Result<PolicyDocument> parse_demands(ByteView text) {
  ASSAY_ASSIGN(const Json evidence, parse_json(text));
  const Json condition = {
      {"id", "made"},
      {"statement", {{"predicate_type", "https://x.example/v1"}, {"evidence", evidence}}}};
  const Json document = {{"name", "p"},
                         {"version", 1},
                         {"mode", "enforce"},
                         {"match", Json::object()},
                         {"require", {condition}}};
  ASSAY_ASSIGN(const std::string canonical, canonical_json(document));
  return parse_policy(as_bytes(canonical));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  fuzz::check_round_trip(
      parse_stage_evidence, [](const StageEvidence& one) { return to_json(one); }, bytes);
  fuzz::check_round_trip(
      parse_demands,
      [](const PolicyDocument& policy) {
        return to_json(policy)["require"][0]["statement"]["evidence"];
      },
      bytes);
  return 0;
}
