// SPDX-License-Identifier: Apache-2.0
// Pieces of an enrolment, joined.
#include "attestation/composite.h"

#include <algorithm>
#include <set>
#include <utility>

#include "schemas/core/sha.h"

namespace assay::attestation {
namespace {

// A device as a part of its node's result: "gpu0". Identifiers of the hardware are left out.
EvidencePart part_of(const std::string& uuid, const AppraisedEvidence& device,
                     const std::vector<DeviceState>& states) {
  const std::string& kind = states.back().kind;
  const auto before = std::ranges::count(states, kind, &DeviceState::kind) - 1;
  Json said = to_json(states.back());
  for (const char* identifier : {"identity", "bus", "neighbours"}) {
    said.erase(identifier);
  }
  said["uuid"] = uuid;
  return {kind + std::to_string(before), device.trustworthiness, std::move(said)};
}

void note(CompositeResult& result, Error refusal) {
  if (!result.refusal) {
    result.refusal = std::move(refusal);
  }
}

Result<AppraisedEvidence> appraise_device(const PresentedDevice& device,
                                          const CompositePiece& piece,
                                          const AppraisePiece& appraise) {
  if (!is_of_device(device.evidence.type)) {
    return fail(ErrorCode::kEvidenceTypeUnknown, "no evidence of a device has this type",
                piece.where + "/type");
  }
  ASSAY_ASSIGN(AppraisedEvidence appraised, appraise(piece));
  if (appraised.accepted && !appraised.device) {
    return fail(ErrorCode::kInternal, "accepted evidence of a device without its state");
  }
  return appraised;
}

Status appraise_devices(const Enrolment& enrolment, const AppraisePiece& appraise,
                        CompositeResult& result) {
  const ReportDataBytes expected =
      device_report_data(device_nonce(enrolment.nonce, enrolment.public_key));
  std::vector<DeviceState> states;
  for (const PresentedDevice& device : enrolment.device_evidence) {
    const CompositePiece piece{
        device.evidence, expected, Purpose::kDevice,
        "/device_evidence/" + std::to_string(result.devices.size()) + "/evidence"};
    ASSAY_ASSIGN(AppraisedEvidence one, appraise_device(device, piece, appraise));
    if (one.accepted) {
      states.push_back(*one.device);
      result.node.parts.push_back(part_of(device.uuid, one, states));
    } else {
      note(result, refusal_of(piece, one));
    }
    result.devices.push_back(std::move(one));
  }
  // Whether a board is whole is known when all of its devices are.
  if (states.size() == result.devices.size()) {
    if (const std::string fault = fault_of_devices(states); !fault.empty()) {
      note(result, Error{ErrorCode::kEvidenceRejected, fault + ": the devices do not go together",
                         "/device_evidence"});
    }
  }
  return {};
}

}  // namespace

Status check_presented(const Enrolment& enrolment) {
  std::vector<Digest> digests;
  std::set<std::string> uuids;
  for (const PresentedDevice& device : enrolment.device_evidence) {
    digests.push_back(sha256(device.evidence.quote));
    if (!uuids.insert(device.uuid).second) {
      return fail(ErrorCode::kEnrolmentMismatch, "two devices have one UUID: " + device.uuid,
                  "/device_evidence");
    }
  }
  if (digests != enrolment.request.devices) {
    return fail(ErrorCode::kEnrolmentMismatch, "the request is for other devices",
                "/request/devices");
  }
  if (!digests.empty() && !enrolment.evidence) {
    return fail(ErrorCode::kEnrolmentMismatch,
                "evidence of devices counts beside evidence of their node alone",
                "/device_evidence");
  }
  return {};
}

Error refusal_of(const CompositePiece& piece, const AppraisedEvidence& appraised) {
  return Error{ErrorCode::kEvidenceRejected,
               appraised.error + ": the " + appraised.type + " evidence is refused", piece.where};
}

Result<CompositeResult> appraise_composite(const Enrolment& enrolment,
                                           const AppraisePiece& appraise) {
  if (!enrolment.evidence) {
    return fail(ErrorCode::kEvidenceMissing, "an enrolment without evidence of its node",
                "/evidence");
  }
  // The node first: its evidence costs an attacker most.
  const CompositePiece piece{
      *enrolment.evidence,
      enrolment_report_data(enrolment.nonce, enrolment.public_key, enrolment.request),
      Purpose::kEnrol, "/evidence"};
  CompositeResult result;
  ASSAY_ASSIGN(result.node, appraise(piece));
  if (!result.node.accepted) {
    note(result, refusal_of(piece, result.node));
  }
  ASSAY_TRY(appraise_devices(enrolment, appraise, result));
  if (result.node.accepted && result.node.platform != enrolment.request.platform) {
    note(result, Error{ErrorCode::kEnrolmentMismatch, "the evidence is of another platform",
                       "/request/platform"});
  }
  return result;
}

}  // namespace assay::attestation
