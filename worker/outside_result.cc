// SPDX-License-Identifier: Apache-2.0
#include "worker/outside_result.h"

#include <utility>

#include "attestation/outside_verifier.h"
#include "schemas/members.h"
#include "worker/evidence_program.h"

namespace assay::worker {
namespace {

class OutsideResult final : public EvidenceSource {
 public:
  explicit OutsideResult(std::string command) : command_(std::move(command)) {}

  [[nodiscard]] Result<std::string> platform() override {
    if (!platform_) {  // a machine stays the one it is
      ASSAY_ASSIGN(const Json said, run(ReportDataBytes{}, Nonce{}));
      const auto id = hex_decode(members::text(said, "platform"));
      if (!id) {
        return no_evidence("writes a platform that is not hex");
      }
      platform_ = id->empty() ? "" : plugin_platform(attestation::kEarEvidence, *id);
    }
    return *platform_;
  }

  [[nodiscard]] Result<std::optional<Evidence>> collect(const EvidenceBinding& binding) override {
    if (!binding.parts) {
      return no_evidence("has another verifier's result, which only answers challenges");
    }
    ASSAY_ASSIGN(const Json said, run(binding.report_data, binding.parts->nonce));
    const attestation::EarEvidence result{members::text(said, "ear"), binding.parts->key,
                                          binding.parts->third};
    if (result.token.empty()) {
      return no_evidence("writes no member ear");
    }
    if (result.token.size() > attestation::kMaxOutsideTokenBytes) {
      return no_evidence("writes a token of more than 256 KiB");
    }
    Evidence evidence;
    evidence.type = attestation::kEarEvidence;
    evidence.media_type = attestation::kEarEvidenceMediaType;
    evidence.quote = to_bytes(to_json(result).dump());
    return evidence;
  }

 private:
  [[nodiscard]] Result<Json> run(const ReportDataBytes& data, const Nonce& nonce) const {
    return run_evidence_program(command_, {hex_encode(data), hex_encode(nonce)},
                                {.texts = {"ear", "platform"}, .objects = {}});
  }

  const std::string command_;
  std::optional<std::string> platform_;  // as enrolments name it; empty: the results name none
};

}  // namespace

Result<std::unique_ptr<EvidenceSource>> make_outside_result(const EvidenceOptions& options) {
  if (options.command.empty()) {
    return fail(ErrorCode::kUsage, "--evidence ear needs --evidence-command PROGRAM");
  }
  return std::make_unique<OutsideResult>(options.command);
}

}  // namespace assay::worker
