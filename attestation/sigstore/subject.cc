// SPDX-License-Identifier: Apache-2.0
// Subjects of in-toto statements.
#include "attestation/sigstore/subject.h"

#include <algorithm>

#include "attestation/sigstore/verify.h"
#include "schemas/core/json_at.h"
#include "schemas/core/json_foreign.h"

namespace assay::attestation::sigstore {
namespace {

constexpr JsonLimits kStatementLimits = {
    .max_bytes = kMaxPayloadBytes, .max_depth = 64, .max_memory = 8 * kMaxPayloadBytes};

// Whether the digest set of a subject names the artifact. A set whose digests contradict each other
// names nothing.
bool names(const Json& digests, const Artifact& artifact) {
  bool is_named = false;
  for (const HashAlgorithm algorithm : {HashAlgorithm::kSha256, HashAlgorithm::kSha384}) {
    const std::optional<Digest> digest = artifact.digest(algorithm);
    const std::string stated = text_at(digests, name(algorithm));
    if (!digest || stated.empty()) {
      continue;
    }
    if (stated != digest->hex()) {
      return false;
    }
    is_named = true;
  }
  return is_named;
}

}  // namespace

Status check_subject(const DsseContent& envelope, const Artifact& artifact) {
  if (envelope.payload_type != kInTotoPayload) {
    return fail(ErrorCode::kPayloadTypeUnknown,
                "an envelope about an artifact holds an in-toto statement (" +
                    std::string(kInTotoPayload) + ")");
  }
  ASSAY_ASSIGN(const Json statement, parse_foreign_json(envelope.payload, kStatementLimits));
  const std::string type = text_at(statement, "_type");
  if (type != "https://in-toto.io/Statement/v1" && type != "https://in-toto.io/Statement/v0.1") {
    return fail(ErrorCode::kPayloadTypeUnknown, "the payload is no in-toto statement of version 1");
  }
  const Json& subjects = array_at(statement, "subject");
  if (subjects.size() > kMaxSubjects) {
    return fail(ErrorCode::kLimitExceeded, "the statement has too many subjects");
  }
  const bool is_named = std::ranges::any_of(
      subjects, [&](const Json& subject) { return names(object_at(subject, "digest"), artifact); });
  if (!is_named) {
    return fail(ErrorCode::kArtifactMismatch,
                "no subject of the statement has the digest " + artifact.sha256.text());
  }
  return {};
}

}  // namespace assay::attestation::sigstore
