// SPDX-License-Identifier: Apache-2.0
// Recognises files that contain a signed document or a document to be signed, and reads their
// payloads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attestation/dsse.h"
#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/manifest.h"
#include "schemas/policy_document.h"

namespace assay::cli {

enum class PayloadKind : std::uint8_t {
  kManifest,
  kAttestation,  // any other in-toto statement
  kPolicy,
  kReferenceSet,
  kPolicyApproval,
  kTrustChange,
  kStageEvidence,
  kDecision,
  kWithdrawal,
  kEndorsements,
  kOther,  // a payload type of other software
};

// Returns "manifest", "attestation", ...
[[nodiscard]] std::string_view name(PayloadKind kind);

// The bytes to be signed or already signed, with their type.
struct Payload {
  PayloadKind kind;
  std::string type;  // DSSE payload type
  Bytes bytes;

  [[nodiscard]] StatementId id() const { return attestation::statement_id(type, bytes); }
};

// A payload, and its envelope when the file contains one.
struct LoadedDocument {
  Payload payload;
  std::optional<attestation::Envelope> envelope;
};

// Determines the kind of a payload from its type. A document of this project must follow its
// schema; otherwise the error of its parser is returned. For an unknown type returns kOther, not
// the error payload-type-unknown.
[[nodiscard]] Result<PayloadKind> check_payload(std::string_view type, ByteView payload);

// Makes a payload from the bytes of a JSON document. The payload type is `type`, or follows from
// the document's members when `type` is empty. Documents of this project are made canonical, so
// that documents that differ only in layout have equal ids. All other documents keep their bytes.
// Errors: payload-type-unknown when the type of the document is unclear.
[[nodiscard]] Result<Payload> payload_from(ByteView document, std::string_view type);

// Reads a DSSE envelope or a payload and checks it. Verifies no signature. load_document() reads
// from the file at `path`.
[[nodiscard]] Result<LoadedDocument> load_document(const std::string& path,
                                                   std::string_view type = {});
[[nodiscard]] Result<LoadedDocument> read_document(ByteView bytes, std::string_view type = {});

// Checks that the service takes an envelope over `payload` with the signatures of `before`, which
// may be null, and `added` more. Whoever signs asks first: nothing is signed that no reader takes.
// Errors: limit-exceeded with the limit and advice.
[[nodiscard]] Status check_envelope_length(const Payload& payload,
                                           const attestation::Envelope* before, std::size_t added);

// Parses the envelope that the service sent for `id`, which is the id of a document or the UUID of
// a decision. Errors: data-loss when the envelope contains anything else, because the caller must
// get exactly what `id` names.
[[nodiscard]] Result<attestation::Envelope> envelope_for(ByteView answer, const std::string& id);

// Returns the policy in a file, signed or not. Verifies no signature. Errors: payload-type-unknown
// when the file holds another document.
[[nodiscard]] Result<PolicyDocument> load_policy(const std::string& path);

// A model by name and artifact, as MODEL and --name of a verb give it: MODEL is an artifact id, and
// then --name is needed; or a file with a manifest, which has both. Errors: usage without a name;
// subject-mismatch when --name is not that of the manifest; those of load_document().
struct NamedModel {
  std::string name;
  ArtifactId artifact;
};
[[nodiscard]] Result<NamedModel> load_named_model(const std::string& model,
                                                  const std::string& name);

// Return the statement or manifest in a payload. Errors: predicate-type-unknown when the payload is
// of another kind.
[[nodiscard]] Result<Statement> statement_of(const Payload& payload);
[[nodiscard]] Result<Manifest> manifest_of(const Payload& payload);

}  // namespace assay::cli
