// SPDX-License-Identifier: Apache-2.0
// Identities in certificates of Fulcio.
#include "attestation/sigstore/identity.h"

#include "attestation/x509/extensions.h"
#include "schemas/core/printable.h"

namespace assay::attestation::sigstore {
namespace {

std::unexpected<Error> no_identity(const std::string& why) {
  return fail(ErrorCode::kIdentityMismatch, why);
}

// fulcio-spec.md: exactly one subject alternative name.
Result<std::pair<SubjectKind, std::string>> only_subject(const x509::AlternativeNames& names) {
  using Subject = std::pair<SubjectKind, std::string>;
  const std::size_t count = names.emails.size() + names.uris.size() + names.dns.size() +
                            names.others.size() + names.unread;
  if (count != 1) {
    return no_identity("the certificate names " + std::to_string(count) +
                       " subjects; one is needed");
  }
  if (!names.emails.empty()) {
    return Subject(SubjectKind::kEmail, names.emails.front());
  }
  if (!names.uris.empty()) {
    return Subject(SubjectKind::kUri, names.uris.front());
  }
  if (!names.others.empty() && names.others.front().type == x509::kFulcioUserName) {
    return Subject(SubjectKind::kUserName, names.others.front().value);
  }
  return no_identity("the subject of the certificate is no email, URI or user name");
}

}  // namespace

std::string_view name(SubjectKind kind) {
  switch (kind) {
    case SubjectKind::kEmail:
      return "email";
    case SubjectKind::kUri:
      return "uri";
    case SubjectKind::kUserName:
      break;
  }
  return "username";
}

Result<Identity> identity_of(const x509::Certificate& certificate) {
  ASSAY_ASSIGN(const x509::AlternativeNames names, x509::alternative_names(certificate));
  ASSAY_ASSIGN(auto subject, only_subject(names));
  ASSAY_ASSIGN(std::optional<std::string> issuer, x509::fulcio_issuer(certificate));
  if (!issuer) {
    return no_identity("the certificate does not name the issuer of its identity");
  }
  return Identity{*std::move(issuer), std::move(subject.second), subject.first};
}

Result<WantedIdentity> WantedIdentity::exactly(std::string issuer, std::string subject) {
  if (issuer.empty() || subject.empty()) {
    return fail(ErrorCode::kInvalidParameter, "an identity has an issuer and a subject");
  }
  WantedIdentity wanted;
  wanted.issuer_ = std::move(issuer);
  wanted.subject_ = std::move(subject);
  return wanted;
}

Result<WantedIdentity> WantedIdentity::matching(std::string issuer, SubjectKind kind,
                                                std::string_view pattern) {
  if (issuer.empty() || pattern.empty()) {
    return fail(ErrorCode::kInvalidParameter, "an identity has an issuer and a subject");
  }
  WantedIdentity wanted;
  wanted.issuer_ = std::move(issuer);
  wanted.kind_ = kind;
  ASSAY_ASSIGN(wanted.pattern_, Pattern::compile(pattern));
  return wanted;
}

Status WantedIdentity::check(const Identity& identity) const {
  if (identity.issuer != issuer_) {
    return no_identity("the issuer is " + printable(identity.issuer) + ", wanted is " +
                       printable(issuer_));
  }
  bool matches = identity.subject == subject_;
  if (pattern_ != nullptr) {
    ASSAY_ASSIGN(const bool found, pattern_->matches(identity.subject));
    matches = found && identity.kind == kind_;
  }
  if (!matches) {
    return no_identity("the identity is " + printable(identity.subject) + " (" +
                       std::string(name(identity.kind)) + "), which is not the one that is wanted");
  }
  return {};
}

}  // namespace assay::attestation::sigstore
