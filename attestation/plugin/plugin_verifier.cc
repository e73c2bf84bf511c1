// SPDX-License-Identifier: Apache-2.0
#include "attestation/plugin/plugin_verifier.h"

#include <algorithm>
#include <utility>

#include "attestation/plugin/answer.h"
#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay::attestation::plugin {
namespace {

// Accepted values by measurement. A measurement without values is not constrained.
using ReferenceValues = std::map<std::string, std::vector<std::string>>;

Result<ReferenceValues> read_policy(const Appraisal& appraisal) {
  if (!appraisal.dangerous_anchors.empty()) {
    return fail(ErrorCode::kSchemaViolation,
                "evidence that a plug-in verifies has no anchor but the plug-in",
                "/dangerous_anchors");
  }
  // Imported values constrain TDX evidence alone; what is there must not be passed over.
  if (!appraisal.imported.empty() || !appraisal.constrained.empty()) {
    return fail(ErrorCode::kSchemaViolation, "no reference values are imported for plug-ins",
                "/policy/reference_values");
  }
  if (const Status valid = validate("plugin-policy", appraisal.policy); !valid) {
    return members::under("/policy", valid.error());
  }
  ReferenceValues values;
  const Json none = Json::object();
  for (const auto& [name, list] :
       members::child(appraisal.policy, "reference_values", none).items()) {
    if (!list.empty()) {
      values.emplace(name, list.get<std::vector<std::string>>());
    }
  }
  return values;
}

Json check_json(const std::string& id, const char* outcome) {
  return {{"id", id}, {"outcome", outcome}};
}

// The verdict: that of the plug-in, and after it the verifier's own checks. The first that fails
// gives the error.
class Verdict {
 public:
  explicit Verdict(const Answer& answer) : error_(answer.error) {
    checks_.push_back(check_json("plugin", answer.accepted ? "pass" : "fail"));
  }
  void demand(const std::string& id, bool holds, const std::string& error) {
    checks_.push_back(check_json(id, holds ? "pass" : "fail"));
    if (!holds && error_.empty()) {
      error_ = error;
    }
  }
  void note(const std::string& id) { checks_.push_back(check_json(id, "not-constrained")); }
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] const Json& checks() const { return checks_; }

 private:
  std::string error_;
  Json checks_ = Json::array();
};

Verdict judge(const Answer& answer, const ReferenceValues& references, const Appraisal& appraisal,
              Purpose purpose, Timestamp now) {
  Verdict verdict(answer);
  if (answer.valid_until) {
    verdict.demand("valid-until", *answer.valid_until > now, "EVIDENCE_EXPIRED");
  }
  for (const auto& [name, values] : references) {
    const auto measured = answer.measurements.find(name);
    const bool holds = measured != answer.measurements.end() &&
                       std::ranges::find(values, measured->second) != values.end();
    verdict.demand(name, holds, "REFERENCE_VALUE_MISMATCH:" + name);
  }
  if (references.empty() &&
      (purpose == Purpose::kInspect || appraisal.dangerous_allow_missing_reference_values)) {
    verdict.note("reference-values");
  } else {
    verdict.demand("reference-values", !references.empty(), "REFERENCE_VALUES_MISSING");
  }
  return verdict;
}

Json parts_json(const std::vector<EvidencePart>& parts) {
  Json json = Json::object();
  for (const EvidencePart& part : parts) {
    json[part.name] = {{"measurements", part.measurements}};
  }
  return json;
}

Json result_json(const AppraisedEvidence& appraised, const Answer& answer, const Verdict& verdict) {
  Json measurements = Json::object();
  for (const auto& [name, value] : answer.measurements) {
    measurements[name] = value;
  }
  const auto nullable = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return {
      {"type", appraised.type},
      {"verdict", appraised.accepted ? "accepted" : "rejected"},
      {"error", nullable(appraised.error)},
      {"tcb", {{"status", nullable(appraised.tcb_status)}}},
      {"measurements", std::move(measurements)},
      {"parts", parts_json(answer.parts)},
      {"claims", answer.claims},
      {"valid_until", appraised.valid_until ? Json(to_rfc3339(*appraised.valid_until)) : Json()},
      {"anchor", appraised.anchor->text()},
      {"checks", verdict.checks()}};
}

class PluginVerifier final : public EvidenceVerifier {
 public:
  PluginVerifier(PluginSettings settings, const Digest& file_sha256, std::unique_ptr<Host> host)
      : settings_(std::move(settings)),
        anchor_(Anchor::plugin(file_sha256)),
        host_(std::move(host)) {}

  [[nodiscard]] std::string_view type() const override { return settings_.type; }
  [[nodiscard]] std::string_view media_type() const override { return settings_.media_type; }
  [[nodiscard]] std::optional<Anchor> plugin() const override { return anchor_; }

  [[nodiscard]] Status check(const Appraisal& appraisal) const override {
    ASSAY_TRY(read_policy(appraisal));
    return {};
  }

  [[nodiscard]] Result<AppraisedEvidence> appraise(const Evidence& evidence,
                                                   const Appraisal& appraisal, Purpose purpose,
                                                   const ReportDataBytes& expected,
                                                   Timestamp now) const override {
    ASSAY_ASSIGN(const ReferenceValues references, read_policy(appraisal));
    ASSAY_ASSIGN(const std::string endorsements, canonical_json(evidence.collateral));
    ASSAY_ASSIGN(const std::string policy, canonical_json(appraisal.policy));
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch();
    ASSAY_ASSIGN(const Bytes bytes, host_->call({.type = settings_.type,
                                                 .media_type = settings_.media_type,
                                                 .purpose = purpose,
                                                 .now = seconds.count(),
                                                 .report_data = expected,
                                                 .evidence = evidence.quote,
                                                 .event_log = evidence.event_log,
                                                 .endorsements = endorsements,
                                                 .policy = policy}));
    ASSAY_ASSIGN(const Answer answer, parse_answer(bytes, settings_.type, expected));
    const Verdict verdict = judge(answer, references, appraisal, purpose, now);
    return summarize(answer, verdict, references);
  }

 private:
  AppraisedEvidence summarize(const Answer& answer, const Verdict& verdict,
                              const ReferenceValues& references) const {
    AppraisedEvidence appraised;
    appraised.type = settings_.type;
    appraised.accepted = answer.accepted && verdict.error().empty();
    appraised.error = verdict.error();
    appraised.tcb_status = answer.tcb_status;
    appraised.platform =
        answer.platform.empty() ? "" : plugin_platform(settings_.type, answer.platform);
    appraised.anchor = anchor_;
    appraised.anchor_is_vendor = false;
    appraised.has_reference_values = !references.empty();
    if (appraised.accepted) {
      for (const auto& [name, values] : references) {
        appraised.matched[name] = {"appraisal"};
      }
    }
    appraised.valid_until = answer.valid_until;
    if (settings_.generation > 0) {
      appraised.high_water = {{std::string(kVerifiersMark), settings_.generation}};
    }
    appraised.trustworthiness = answer.trustworthiness;
    appraised.parts = answer.parts;
    appraised.result = result_json(appraised, answer, verdict);
    return appraised;
  }

  const PluginSettings settings_;
  const Anchor anchor_;
  const std::unique_ptr<Host> host_;
};

}  // namespace

std::unique_ptr<const EvidenceVerifier> make_plugin_verifier(PluginSettings settings,
                                                             const Digest& file_sha256,
                                                             std::unique_ptr<Host> host) {
  return std::make_unique<PluginVerifier>(std::move(settings), file_sha256, std::move(host));
}

Result<std::unique_ptr<const EvidenceVerifier>> load_plugin_verifier(PluginSettings settings,
                                                                     const std::string& path,
                                                                     const Digest& pin,
                                                                     HostOptions options) {
  ASSAY_ASSIGN(PluginFile file, read_pinned_plugin(path, pin));
  return make_plugin_verifier(std::move(settings), pin,
                              Host::make(std::move(file), std::move(options)));
}

}  // namespace assay::attestation::plugin
