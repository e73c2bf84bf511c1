// SPDX-License-Identifier: Apache-2.0
#include "worker/command_evidence.h"

#include <utility>

#include "attestation/outside_verifier.h"
#include "schemas/members.h"
#include "worker/evidence_program.h"

namespace assay::worker {
namespace {

// What the program said about one piece of evidence.
struct Said {
  std::string platform;
  Evidence evidence;
};

class CommandEvidence final : public EvidenceSource {
 public:
  CommandEvidence(std::string command, std::string type)
      : command_(std::move(command)), type_(std::move(type)) {}

  [[nodiscard]] Result<std::string> platform() override {
    if (platform_.empty()) {  // a machine stays the one it is
      ASSAY_ASSIGN(Said said, run(ReportDataBytes{}));
      platform_ = std::move(said.platform);
    }
    return platform_;
  }

  [[nodiscard]] Result<std::optional<Evidence>> collect(const EvidenceBinding& binding) override {
    ASSAY_ASSIGN(Said said, run(binding.report_data));
    return std::move(said.evidence);
  }

 private:
  // The service checks all of it again.
  [[nodiscard]] Result<Said> run(const ReportDataBytes& data) const {
    ASSAY_ASSIGN(const Json json,
                 run_evidence_program(
                     command_, {hex_encode(data)},
                     {.texts = {"platform", "evidence", "event_log"}, .objects = {"collateral"}}));
    const auto id = hex_decode(members::text(json, "platform"));
    auto bytes = base64_decode(members::text(json, "evidence"));
    auto log = base64_decode(members::text(json, "event_log"));
    if (!id || id->empty() || !bytes || bytes->empty() || !log) {
      return no_evidence("writes no platform in hex, or no evidence in base64");
    }
    Evidence evidence{type_, *std::move(bytes), *std::move(log), Json()};
    if (json.contains("collateral")) {
      evidence.collateral = json.at("collateral");
    }
    return Said{plugin_platform(type_, *id), std::move(evidence)};
  }

  const std::string command_;
  const std::string type_;
  std::string platform_;
};

}  // namespace

Result<std::unique_ptr<EvidenceSource>> make_command_evidence(const EvidenceOptions& options) {
  if (options.command.empty() || options.type.empty()) {
    return fail(ErrorCode::kUsage,
                "--evidence command needs --evidence-command PROGRAM and --evidence-type TYPE");
  }
  if (options.type == kTdxEvidence || options.type == kSnpEvidence ||
      options.type == attestation::kEarEvidence) {
    return fail(ErrorCode::kUsage,
                "Evidence of the type " + options.type + " is taken by --evidence " + options.type);
  }
  return std::make_unique<CommandEvidence>(options.command, options.type);
}

}  // namespace assay::worker
