// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of evidence, judged under NVIDIA's root: only reports of the corpus verify,
// because nobody here can sign others.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "attestation/nvidia/evidence_file.h"
#include "schemas/core/sha.h"

namespace {

using namespace assay;
namespace nvidia = attestation::nvidia;

// SHA-256 of what is signed in each report of the corpus.
constexpr std::array<std::string_view, 3> kSigned = {
    "e516c4d6a40a45495107e3810d883206ed227709a4b8a2cc200d37e45d16500c",
    "c4ed475c165084d1945d0b1f1d15658e9dcafea4c06fd5207eb2230aff6a3ec7",
    "9563949f04b69426f49197af1fede1cf87ababe1b59f79ed6d0e3f100917b392"};

bool is_known(const nvidia::Evidence& evidence) {
  const ByteView report(evidence.report);
  return std::ranges::find(kSigned,
                           sha256(report.first(report.size() - nvidia::kSignatureBytes)).hex()) !=
         kSigned.end();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(data, size);
  static const Timestamp now = parse_rfc3339("2026-11-01T00:00:00Z").value();
  static const nvidia::Trust trust{std::span(&nvidia::device_root(), 1), {}, {}, {}};
  if (const auto all = nvidia::parse_evidence(input)) {
    for (const nvidia::Evidence& one : *all) {
      const auto facts = nvidia::verify(one, trust, now, nvidia::NonceExpectation::not_requested());
      if (facts && !is_known(one)) {
        std::abort();
      }
      static_cast<void>(facts ? nvidia::to_json(*facts) : nvidia::to_json(facts.error()));
    }
  }
  const auto device = nvidia::parse_device(input);
  if (device && !nvidia::parse_evidence(input)) {
    std::abort();
  }
  return 0;
}
