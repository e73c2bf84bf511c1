// SPDX-License-Identifier: Apache-2.0
// The identity in a certificate of Fulcio, and the one that is wanted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "attestation/x509/certificate.h"
#include "schemas/core/error.h"
#include "schemas/pattern.h"

namespace assay::attestation::sigstore {

// Kinds of subject. An otherName is Fulcio's user name (1.3.6.1.4.1.57264.1.7).
enum class SubjectKind : std::uint8_t { kEmail, kUri, kUserName };
// Returns "email", "uri" or "username".
[[nodiscard]] std::string_view name(SubjectKind kind);

struct Identity {
  std::string issuer;  // of the token from which the identity was taken
  std::string subject;
  SubjectKind kind;
  bool operator==(const Identity&) const = default;
};

// Returns the identity that a certificate names. It must have exactly one alternative name. Errors:
// identity-mismatch when it has another number of them, one of another kind, or no issuer; those of
// alternative_names() and fulcio_issuer().
[[nodiscard]] Result<Identity> identity_of(const x509::Certificate& certificate);

// An identity that is wanted: the issuer exactly; the subject exactly, or by a pattern that matches
// the whole of a subject of one kind.
class WantedIdentity {
 public:
  // Errors: invalid-parameter for an empty issuer or subject.
  [[nodiscard]] static Result<WantedIdentity> exactly(std::string issuer, std::string subject);
  // `pattern` has the syntax of schemas/pattern.h. Errors: invalid-parameter.
  [[nodiscard]] static Result<WantedIdentity> matching(std::string issuer, SubjectKind kind,
                                                       std::string_view pattern);

  // Errors: identity-mismatch; those of Pattern::matches().
  [[nodiscard]] Status check(const Identity& identity) const;

 private:
  WantedIdentity() = default;

  std::string issuer_;
  std::string subject_;  // empty with a pattern
  SubjectKind kind_ = SubjectKind::kEmail;
  std::shared_ptr<const Pattern> pattern_;
};

}  // namespace assay::attestation::sigstore
