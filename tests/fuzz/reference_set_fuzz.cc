// SPDX-License-Identifier: Apache-2.0
// Reference sets: what is read is written, and reads back as the same. A policy that names the set
// in every list that can have one is judged with its values, or stays an error.
#include "policy/reference_sets.h"
#include "schemas/core/sha.h"
#include "tests/fuzz/round_trip.h"

namespace {

using namespace assay;

// Names the set "s" in lists of each kind.
constexpr std::string_view kPolicy =
    R"({"name":"p","version":1,"mode":"enforce","match":{},"require":[
{"id":"a","manifest":{"signers":{"identities":["set:s"]}}},
{"id":"b","node":{"anchors":["set:s"]}},
{"id":"c","statement":{"predicate_type":"https://x.example/v1","evidence":{"reference_values":{"mrtd":["set:s"]}},
"where":[{"pointer":"/x","op":"in","value":["set:s",1]}]}},
{"id":"d","lineage":{"licences":{"allow":["set:s"]},"leaves":["set:s"]}}]})";

void check(const ReferenceSet& set) {
  const StatementId id(sha256({}));
  const policy::ReferenceSets sets = {{"s", {id, set}}};
  const PolicyDocument document = parse_policy(as_bytes(kPolicy)).value();
  const policy::ActivePolicy resolved = policy::with_sets(id, document, sets);
  std::size_t open = 0;
  for (const Condition& condition : resolved.document.require) {
    open += condition.open_set ? 1U : 0U;
  }
  const bool all = open == document.require.size();
  if (resolved.sets.empty() != all || policy::open_places(document, sets).empty() != (open == 0) ||
      policy::sets_named_in(resolved.document).empty() != (open == 0)) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  fuzz::check_round_trip(
      parse_reference_set, [](const ReferenceSet& set) { return to_json(set); }, bytes);
  if (const auto set = parse_reference_set(bytes)) {
    check(*set);
  }
  return 0;
}
