// SPDX-License-Identifier: Apache-2.0
#include "worker/enrol.h"

#include <array>
#include <utility>

#include "attestation/dsse.h"
#include "attestation/identity_token.h"
#include "client/files.h"
#include "schemas/core/error_json.h"
#include "schemas/core/sha.h"

namespace assay::worker {

namespace {

constexpr std::chrono::milliseconds kFirstPause{250};
constexpr std::chrono::milliseconds kLongestPause{30'000};

// The kubelet replaces the file as tokens expire, so it is read each time.
Result<std::string> read_identity_token(const std::string& path) {
  if (path.empty()) {
    return std::string();
  }
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(path, attestation::kMaxIdentityTokenBytes));
  std::string token(as_text(bytes));
  while (token.ends_with('\n') || token.ends_with('\r')) {
    token.pop_back();
  }
  if (token.empty()) {
    return fail(ErrorCode::kFileUnreadable, "The file holds no ServiceAccount token", path);
  }
  return token;
}

std::string digest_of(const std::string& token) {
  return token.empty() ? std::string() : sha256(as_bytes(token)).hex();
}

}  // namespace

bool is_final(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNodeRevoked:
    case ErrorCode::kEnrolmentEnded:
    case ErrorCode::kNodeTaken:
    case ErrorCode::kKeyNotUnique:
    case ErrorCode::kUnauthenticated:
    case ErrorCode::kForbidden:
      return true;
    default:
      return false;
  }
}

std::string_view advice_on(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNodeRevoked:
      return "Operators revoked this node. Register it under a new name, and start the worker with "
             "that";
    case ErrorCode::kEnrolmentEnded:
      return "A newer enrolment has this node or platform, or its registration changed. Leave one "
             "worker running for each platform, and start this one again if it is to be the one";
    case ErrorCode::kNodeTaken:
      return "Another principal enrolled this name. Give the worker that principal's token, or "
             "another --node";
    case ErrorCode::kKeyNotUnique:
      return "Another node has this key. Give each worker a --key of its own, or none";
    default:
      return "Check --token-file or --cert, and that the principal has the role worker";
  }
}

Enroller::Enroller(Parts& parts)
    : parts_(parts), backoff_(parts.random, kFirstPause, kLongestPause) {}

Result<Enrolled> Enroller::ask(const Challenge& challenge) {
  if (challenge.purpose != ChallengePurpose::kEnrol || challenge.node != parts_.node) {
    return fail(ErrorCode::kChallengeMismatch, "The service sent a challenge for something else");
  }
  Enrolment enrolment;
  ASSAY_ASSIGN(std::string platform, parts_.evidence.platform());
  ASSAY_ASSIGN(enrolment.identity_token, read_identity_token(parts_.identity_token_file));
  enrolment.request = {challenge.audience, parts_.node, std::move(platform),
                       digest_of(enrolment.identity_token)};
  enrolment.nonce = challenge.nonce;
  enrolment.public_key = parts_.signer.public_key();
  enrolment.devices = parts_.devices;
  ASSAY_TRY(add_devices(enrolment));
  const EvidenceBinding binding{
      enrolment_report_data(challenge.nonce, enrolment.public_key, enrolment.request),
      enrolment_parts(challenge.nonce, enrolment.public_key, enrolment.request)};
  ASSAY_ASSIGN(enrolment.evidence, parts_.evidence.collect(binding));
  ASSAY_ASSIGN(const std::string payload, canonical_json(to_json(enrolment)));
  const std::array<const Signer*, 1> signers = {&parts_.signer};
  ASSAY_ASSIGN(const attestation::Envelope envelope,
               attestation::sign_envelope(kEnrolmentPayloadType, as_bytes(payload), signers));
  return parts_.service.enrol(as_bytes(attestation::encode_envelope(envelope)));
}

// Devices count beside evidence of the node alone.
Status Enroller::add_devices(Enrolment& enrolment) {
  if (parts_.device_evidence == nullptr || enrolment.request.platform.empty()) {
    return {};
  }
  ASSAY_ASSIGN(CollectedDevices collected, parts_.device_evidence->collect(device_nonce(
                                               enrolment.nonce, enrolment.public_key)));
  if (collected.without && !before_) {
    parts_.events.tell("without_device_evidence", {{"error", error_json(*collected.without)}});
  }
  for (const PresentedDevice& device : collected.devices) {
    enrolment.request.devices.push_back(sha256(device.evidence.quote));
  }
  enrolment.device_evidence = std::move(collected.devices);
  return {};
}

Status Enroller::enrol() {
  const Steady::time_point asked = Steady::now();
  ASSAY_ASSIGN(const Challenge challenge, parts_.service.challenge(parts_.node));
  ASSAY_ASSIGN(const Enrolled enrolled, ask(challenge));
  term_ = Term(asked, enrolled.length, renewal_share(parts_.random));
  backoff_.reset();
  parts_.metrics.enrolled_until(enrolled.expires_at);
  Json told = {{"node", parts_.node},
               {"key_id", parts_.signer.key_id().text()},
               {"expires_at", to_rfc3339(enrolled.expires_at)},
               {"worker_measured", enrolled.worker_measured}};
  if (!enrolled.tcb_status.empty()) {
    told["tcb_status"] = enrolled.tcb_status;
  }
  parts_.events.tell(before_ ? "renewed" : "enrolled", std::move(told));
  if (!enrolled.superseded.empty()) {
    parts_.events.tell("superseded",
                       {{"node", parts_.node},
                        {"key_id", enrolled.superseded},
                        {"advice",
                         "A worker with this key was alive under the same name. If it "
                         "still runs, the two take turns: leave one running"}});
  }
  before_ = true;
  return {};
}

Status Enroller::tend() {
  if (!term_.is_due(Steady::now())) {
    return {};
  }
  const Status status = enrol();
  if (status || status.error().code == ErrorCode::kCancelled) {
    return status;
  }
  const Error& error = status.error();
  const bool again = may_pass(error) || info(error.code).retryable;
  if (is_final(error) || (!again && term_.is_over(Steady::now()))) {
    return status;
  }
  const auto pause_length = backoff_.next();
  term_.postpone(Steady::now() + pause_length);
  parts_.events.tell(
      "retry",
      {{"what", "enrol"}, {"wait_ms", pause_length.count()}, {"error", error_json(error)}});
  return {};
}

}  // namespace assay::worker
