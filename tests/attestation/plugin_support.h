// SPDX-License-Identifier: Apache-2.0
// Verifiers made of the plug-ins for tests (tests/attestation/plugins).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "attestation/plugin/plugin_verifier.h"
#include "schemas/core/hmac.h"
#include "tests/attestation/evidence.h"

namespace assay::test {

using attestation::plugin::HostOptions;

inline std::string plugin_path(const std::string& name) {
  return std::string(ASSAY_BINARY_DIR) + "/plugins/" + name + ".so";
}

inline HostOptions host_options(std::chrono::milliseconds deadline = std::chrono::seconds(20)) {
  return {.program = std::string(ASSAY_BINARY_DIR) + "/bin/assay-verifier-host",
          .deadline = deadline,
          .max_calls = 64};
}

// A verifier for the type `type` of the plug-in that is in the file.
inline std::unique_ptr<const attestation::EvidenceVerifier> verifier_of(
    const std::string& name, const std::string& type, const std::string& media_type,
    HostOptions options = host_options()) {
  auto file = attestation::plugin::read_plugin(plugin_path(name)).value();
  const Digest digest = file.sha256;
  return attestation::plugin::make_plugin_verifier(
      {type, media_type}, digest,
      attestation::plugin::Host::make(std::move(file), std::move(options)));
}

inline std::unique_ptr<const attestation::EvidenceVerifier> wicked(
    HostOptions options = host_options(), const std::string& file = "wicked") {
  return verifier_of(file, "wicked", "application/vnd.example.wicked", std::move(options));
}
inline std::unique_ptr<const attestation::EvidenceVerifier> example_hmac() {
  return verifier_of("example_hmac", "example-hmac", "application/vnd.example.hmac");
}

// Evidence that makes the wicked plug-in do something.
inline Evidence wicked_evidence(std::string_view way) {
  return {"wicked", to_bytes(way), {}, Json()};
}

// Evidence of the machine 00, 01, ... that carries expected_report_data().
inline Evidence hmac_evidence() {
  const ReportDataBytes data = expected_report_data();
  Bytes bytes(data.begin(), data.end());
  for (std::uint8_t i = 0; i < 16; ++i) {
    bytes.push_back(i);
  }
  bytes.insert(bytes.end(), 32, 0xaa);
  const Digest tag = hmac_sha256(as_bytes("an example, known to everybody"), {bytes});
  bytes.insert(bytes.end(), tag.bytes().begin(), tag.bytes().end());
  return {"example-hmac", std::move(bytes), {}, Json()};
}

inline Appraisal plugin_appraisal(const std::string& type) {
  Appraisal appraisal;
  appraisal.evidence_type = type;
  return appraisal;
}

inline Result<attestation::AppraisedEvidence> ask(
    const attestation::EvidenceVerifier& verifier, const Evidence& evidence,
    attestation::Purpose purpose = attestation::Purpose::kInspect) {
  return verifier.appraise(evidence, plugin_appraisal(std::string(verifier.type())), purpose,
                           expected_report_data(), attestation::tdx::testing::now());
}

}  // namespace assay::test
