// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/evidence_composite.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "attestation/collateral_set.h"
#include "attestation/composite.h"
#include "attestation/single_signature.h"
#include "attestation/verifier_registry.h"
#include "cli/output.h"
#include "cli/verbs/collateral_files.h"
#include "cli/verbs/evidence.h"
#include "cli/verbs/evidence_nvidia.h"
#include "client/files.h"
#include "policy/facts.h"
#include "schemas/core/sha.h"

namespace assay::cli {
namespace {

using attestation::AppraisedEvidence;

// Appraisals and collateral, by type of evidence.
struct OfflineGround {
  std::map<std::string, Appraisal, std::less<>> appraisals;
  std::map<std::string, attestation::CollateralSetPtr, std::less<>> collateral;
  std::optional<Endorsements> bundle;  // in place of `collateral`

  [[nodiscard]] Appraisal appraisal(const std::string& type) const {
    const auto found = appraisals.find(type);
    return found != appraisals.end() ? found->second : attestation::default_appraisal(type);
  }
};

struct EnrolmentVerdict {
  std::optional<Enrolment> enrolment;                     // nothing: unreadable
  std::optional<attestation::CompositeResult> appraised;  // nothing: refused before
  std::optional<Error> refusal;
  bool nonce_compared = false;
};

// --- inputs

// The appraisals of nodes in one file: one, a list, or a trust store as the service shows it.
Result<std::vector<Appraisal>> read_appraisals(const std::string& path) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(path));
  ASSAY_ASSIGN(Json json, parse_json(bytes));
  if (json.is_object() && json.contains("appraisals")) {
    json = Json(std::move(json["appraisals"]));
  }
  std::vector<Appraisal> all;
  for (const Json& one : json.is_array() ? json : Json::array({json})) {
    ASSAY_ASSIGN(Appraisal appraisal, appraisal_from_json(one));
    if (appraisal.stage.empty()) {
      all.push_back(std::move(appraisal));
    }
  }
  return all;
}

Result<OfflineGround> read_ground(const Context& context, const CompositeVerifyOptions& options) {
  OfflineGround ground;
  if (!options.endorsed.file.empty() && !options.collateral.empty()) {
    return fail(ErrorCode::kUsage, "Give --collateral or --endorsements, not both");
  }
  ASSAY_ASSIGN(ground.bundle, read_signed_bundle(context, options.endorsed, options.at));
  for (const std::string& path : options.policies) {
    ASSAY_ASSIGN(std::vector<Appraisal> appraisals, read_appraisals(path));
    for (Appraisal& one : appraisals) {
      const std::string type = one.evidence_type;
      if (!ground.appraisals.emplace(type, std::move(one)).second) {
        return fail(ErrorCode::kUsage, "Two appraisals are for evidence of type " + type);
      }
    }
  }
  for (const std::string& path : options.collateral) {
    ASSAY_ASSIGN(const Json bundle, read_bundle(path));
    const std::string type(bundle_type(bundle));
    ASSAY_ASSIGN(auto set, attestation::authenticate_collateral(
                               type, bundle, ground.appraisal(type).dangerous_anchors));
    if (!ground.collateral.emplace(type, std::move(set)).second) {
      return fail(ErrorCode::kUsage, "Two files of collateral are for evidence of type " + type);
    }
  }
  return ground;
}

// --- judgement

Result<Enrolment> open_enrolment(ByteView bytes) {
  ASSAY_ASSIGN(const attestation::Envelope envelope, attestation::parse_envelope(bytes));
  if (envelope.payload_type != kEnrolmentPayloadType) {
    return fail(ErrorCode::kPayloadTypeUnknown,
                "an enrolment has the payloadType " + std::string(kEnrolmentPayloadType));
  }
  ASSAY_ASSIGN(Enrolment enrolment, parse_enrolment(envelope.payload));
  ASSAY_TRY(attestation::verify_single_signature(envelope, enrolment.public_key));
  return enrolment;
}

Status check_challenge(const Enrolment& enrolment, const std::optional<Nonce>& nonce) {
  return !nonce || *nonce == enrolment.nonce
             ? Status()
             : fail(ErrorCode::kChallengeMismatch,
                    "the enrolment answers another challenge: " + text(enrolment.nonce), "/nonce");
}

// With the collateral, roots and reference values of the bundle. RIMs of it count beyond their end.
Result<AppraisedEvidence> appraise_endorsed(const Endorsements& bundle, Appraisal appraisal,
                                            const attestation::CompositePiece& piece,
                                            Timestamp now) {
  ASSAY_ASSIGN(Endorsed endorsed, endorsed_by(bundle, piece.evidence.type, piece.evidence.quote));
  if (endorsed.collateral.is_null()) {
    return fail(ErrorCode::kCollateralMissing, "the bundle has no collateral for this evidence",
                piece.where);
  }
  std::ranges::move(endorsed.roots, std::back_inserter(appraisal.dangerous_anchors));
  std::ranges::move(endorsed.appraisal.imported, std::back_inserter(appraisal.imported));
  for (const auto& [id, digest] : endorsed.vouched) {
    endorsed.collateral["vouched/" + id] = digest.text();
  }
  ASSAY_ASSIGN(const auto set,
               attestation::authenticate_collateral(piece.evidence.type, endorsed.collateral,
                                                    appraisal.dangerous_anchors));
  return attestation::appraise_under(*set, piece.evidence, appraisal, piece.purpose, piece.expected,
                                     now);
}

Result<AppraisedEvidence> appraise_offline(const OfflineGround& ground,
                                           const attestation::CompositePiece& piece,
                                           Timestamp now) {
  const Evidence& evidence = piece.evidence;
  Appraisal appraisal = ground.appraisal(evidence.type);
  if (ground.bundle &&
      std::ranges::count(attestation::types_with_collateral(), evidence.type) != 0) {
    return appraise_endorsed(*ground.bundle, std::move(appraisal), piece, now);
  }
  if (const auto set = ground.collateral.find(evidence.type); set != ground.collateral.end()) {
    return attestation::appraise_under(*set->second, evidence, appraisal, piece.purpose,
                                       piece.expected, now);
  }
  return attestation::built_in_verifiers().appraise(evidence, appraisal, piece.purpose,
                                                    piece.expected, now);
}

EnrolmentVerdict judge_enrolment(ByteView bytes, const OfflineGround& ground,
                                 const std::optional<Nonce>& nonce, Timestamp now) {
  EnrolmentVerdict verdict;
  verdict.nonce_compared = nonce.has_value();
  auto enrolment = open_enrolment(bytes);
  if (!enrolment) {
    verdict.refusal = std::move(enrolment).error();
    return verdict;
  }
  verdict.enrolment = *std::move(enrolment);
  for (Status checked : {check_challenge(*verdict.enrolment, nonce),
                         attestation::check_presented(*verdict.enrolment)}) {
    if (!checked) {
      verdict.refusal = std::move(checked).error();
      return verdict;
    }
  }
  auto appraised = attestation::appraise_composite(*verdict.enrolment,
                                                   [&](const attestation::CompositePiece& piece) {
                                                     return appraise_offline(ground, piece, now);
                                                   });
  if (!appraised) {
    verdict.refusal = std::move(appraised).error();
    return verdict;
  }
  verdict.refusal = appraised->refusal;
  verdict.appraised = *std::move(appraised);
  return verdict;
}

// Whether the devices count beside the evidence of their node.
bool counts_devices(const EnrolmentVerdict& verdict, Timestamp now) {
  const AppraisedEvidence& node = verdict.appraised->node;
  policy::NodeFact fact;
  fact.worker_measured = !verdict.refusal;
  fact.appraised_at = now;
  fact.evidence_type = node.type;
  fact.appraisal_current = true;
  fact.appraisal_error = node.error;
  fact.matched = node.matched;
  return policy::covers_guest(fact);
}

// --- output

Json appraised_json(const AppraisedEvidence& one) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json() : Json(text);
  };
  return {{"type", one.type},
          {"verdict", one.accepted ? "accepted" : "rejected"},
          {"error", text_or_null(one.error)},
          {"tcb_status", text_or_null(one.tcb_status)},
          {"platform", text_or_null(one.platform)},
          {"anchor", one.anchor ? Json(one.anchor->text()) : Json()},
          {"anchor_is_vendor", one.anchor_is_vendor},
          {"matched", one.matched},
          {"valid_until", one.valid_until ? Json(to_rfc3339(*one.valid_until)) : Json()},
          {"result", one.result}};
}

Json verdict_json(const EnrolmentVerdict& verdict, bool count) {
  Json json = {{"type", "composite"},
               {"verdict", verdict.refusal ? "rejected" : "accepted"},
               {"error", verdict.refusal ? error_json(*verdict.refusal) : Json()},
               {"nonce_compared", verdict.nonce_compared},
               {"request", nullptr},
               {"worker_key", nullptr},
               {"node", nullptr},
               {"devices", Json::array()}};
  if (verdict.enrolment) {
    json["request"] = to_json(verdict.enrolment->request);
    json["worker_key"] = sha256(verdict.enrolment->public_key).text();
  }
  if (verdict.appraised) {
    json["node"] = appraised_json(verdict.appraised->node);
    for (std::size_t i = 0; i < verdict.appraised->devices.size(); ++i) {
      const AppraisedEvidence& device = verdict.appraised->devices[i];
      Json row = appraised_json(device);
      row["uuid"] = verdict.enrolment->device_evidence[i].uuid;
      row["attested"] = count && device.accepted;
      row["state"] = device.device ? to_json(*device.device) : Json();
      json["devices"].push_back(std::move(row));
    }
  }
  return json;
}

std::string outcome_text(const AppraisedEvidence& one) {
  return one.accepted ? "accepted" : "rejected: " + one.error;
}

std::string anchor_text(const AppraisedEvidence& one) {
  return one.anchor_is_vendor ? ""
         : one.anchor         ? ", root " + one.anchor->text() + " is not the vendor's"
                              : "";
}

std::string values_text(const AppraisedEvidence& node) {
  std::string names;
  for (const auto& [name, sources] : node.matched) {
    names += (names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? "none" : names;
}

void print_device_line(const std::string& uuid, const AppraisedEvidence& device, bool count) {
  print_line("    " + uuid + ": " + outcome_text(device) + anchor_text(device));
  if (!device.device) {
    return;
  }
  const DeviceState& state = *device.device;
  std::string line = "      " + state.architecture + " " + state.kind;
  for (const auto& [name, value] :
       {std::pair{"mode ", &state.mode}, std::pair{"driver ", &state.driver},
        std::pair{"firmware ", &state.firmware}, std::pair{"measured as ", &state.measurements}}) {
    line += value->empty() ? "" : ", " + (name + *value);
  }
  print_line(line);
  if (!count) {
    print_line("      does not count: no reference values cover the guest that talks to it");
  }
}

void print_verdict_tree(const EnrolmentVerdict& verdict, bool count) {
  print_line(verdict.refusal
                 ? "rejected: " + std::string(info(verdict.refusal->code).code) + ": " +
                       verdict.refusal->detail +
                       (verdict.refusal->where.empty() ? "" : " (" + verdict.refusal->where + ")")
                 : "accepted");
  if (!verdict.enrolment) {
    return;
  }
  const EnrolmentRequest& request = verdict.enrolment->request;
  print_line("node " + request.node + " for " + request.audience);
  print_line("  worker key " + sha256(verdict.enrolment->public_key).text());
  if (!verdict.appraised) {
    return;
  }
  const AppraisedEvidence& node = verdict.appraised->node;
  print_line("  " + node.type + ": " + outcome_text(node) + anchor_text(node));
  if (node.accepted) {
    print_line("    TCB " + node.tcb_status + ", platform " + node.platform);
    print_line("    reference values of " + values_text(node));
  }
  for (std::size_t i = 0; i < verdict.appraised->devices.size(); ++i) {
    print_device_line(verdict.enrolment->device_evidence[i].uuid, verdict.appraised->devices[i],
                      count);
  }
}

}  // namespace

Result<Exit> verify_composite(const Context& context, const CompositeVerifyOptions& options) {
  std::optional<Nonce> nonce;
  if (!options.nonce.empty()) {
    ASSAY_ASSIGN(nonce, parse_device_nonce(options.nonce));
  }
  ASSAY_ASSIGN(const Timestamp now, evidence_time(options.at, context.clock));
  ASSAY_ASSIGN(const OfflineGround ground, read_ground(context, options));
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(options.enrolment));
  const EnrolmentVerdict verdict = judge_enrolment(bytes, ground, nonce, now);
  const bool count = verdict.appraised && counts_devices(verdict, now);
  if (context.json()) {
    print_json(verdict_json(verdict, count));
  } else {
    print_verdict_tree(verdict, count);
    if (!nonce) {
      message(context, "No challenge was compared: the enrolment may be old, and answers nobody");
    }
  }
  return verdict.refusal ? Exit::kNo : Exit::kYes;
}

}  // namespace assay::cli
