// SPDX-License-Identifier: Apache-2.0
// Policies, approvals, questions about impact, changes of trust, withdrawals and bootstraps: what
// is read is written, and reads back as the same.
#include <cstdlib>

#include "schemas/impact_request.h"
#include "schemas/policy_document.h"
#include "schemas/trust.h"

namespace {

using namespace assay;

template <typename T>
void check(Result<T> (*parse)(ByteView), ByteView bytes) {
  const auto document = parse(bytes);
  if (!document) {
    return;
  }
  const std::string written = canonical_json(to_json(*document)).value();
  const auto again = parse(as_bytes(written));
  if (!again || canonical_json(to_json(*again)).value() != written) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  check(parse_policy, bytes);
  check(parse_impact_request, bytes);
  check(parse_policy_approval, bytes);
  check(parse_trust_change, bytes);
  check(parse_withdrawal, bytes);
  check(parse_bootstrap, bytes);
  return 0;
}
