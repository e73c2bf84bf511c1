// SPDX-License-Identifier: Apache-2.0
// Files that hold something signed or to be signed: recognising them, and their payloads as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attestation/dsse.h"
#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/manifest.h"

namespace assay::cli {

enum class PayloadKind : std::uint8_t {
  kManifest,
  kAttestation,  // any other in-toto statement
  kPolicy,
  kPolicyApproval,
  kTrustChange,
  kDecision,
  kOther,  // a payload type that is not ours
};

// "manifest", "attestation", ...
[[nodiscard]] std::string_view name(PayloadKind kind);

// What would be signed, or was.
struct Payload {
  PayloadKind kind;
  std::string type;  // DSSE payload type
  Bytes bytes;

  [[nodiscard]] StatementId id() const { return attestation::statement_id(type, bytes); }
};

// A payload, and the envelope around it when the file is one.
struct LoadedDocument {
  Payload payload;
  std::optional<attestation::Envelope> envelope;
};

// Judges the payload by its type, and checks documents of our own: what does not follow its schema
// is refused. payload-type-unknown never: that is kOther.
[[nodiscard]] Result<PayloadKind> check_payload(std::string_view type, ByteView payload);

// Makes a payload out of the bytes of a JSON document: `type` when it is given, otherwise what the
// members say. Documents of our own become canonical, so that equal ones have equal ids however
// they are laid out; everything else keeps its bytes. payload-type-unknown when it is not clear
// what the document is.
[[nodiscard]] Result<Payload> payload_from(ByteView document, std::string_view type);

// Reads a file: a DSSE envelope, or a payload. Checks it; verifies no signature.
[[nodiscard]] Result<LoadedDocument> load_document(const std::string& path,
                                                   std::string_view type = {});
[[nodiscard]] Result<LoadedDocument> read_document(ByteView bytes, std::string_view type = {});

// The envelope that the service sent for `id`: that of a document, or the UUID of a decision.
// data-loss when it holds anything else: what was asked for is not the service's to choose.
[[nodiscard]] Result<attestation::Envelope> envelope_for(ByteView answer, const std::string& id);

// The statement or manifest in a payload. predicate-type-unknown when it holds something else.
[[nodiscard]] Result<Statement> statement_of(const Payload& payload);
[[nodiscard]] Result<Manifest> manifest_of(const Payload& payload);

}  // namespace assay::cli
