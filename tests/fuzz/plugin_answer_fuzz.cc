// SPDX-License-Identifier: Apache-2.0
// Answers of verifier plug-ins: whatever the bytes are, an answer that is taken is about this call,
// and an acceptance names a machine and claims something of it.
#include <cstdlib>
#include <string>
#include <string_view>

#include "attestation/plugin/answer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const ByteView bytes(data, size);
  const ReportDataBytes expected{};
  const auto answer = attestation::plugin::parse_answer(bytes, "fuzz", expected);
  if (!answer) {
    if (answer.error().code != ErrorCode::kVerifierFailed) {
      std::abort();
    }
    return 0;
  }
  const bool consistent =
      answer->accepted == answer->error.empty() &&
      (!answer->accepted ||
       (!answer->platform.empty() && answer->trustworthiness != attestation::Trustworthiness{}));
  if (!consistent || as_text(bytes).find(std::string(128, '0')) == std::string_view::npos) {
    std::abort();
  }
  return 0;
}
