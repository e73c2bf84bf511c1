// SPDX-License-Identifier: Apache-2.0
// Identities of signers who prove who they are with a certificate instead of a known key: X.509
// identities of a private CA, and keyless identities (sigstore). They stand in the trust store
// beside keys (schemas/trust.h) and have the same roles. Schema: trusted-key.schema.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"

namespace assay {

// Kind of a name in the extension subjectAltName (RFC 5280 section 4.2.1.6).
enum class SubjectKind : std::uint8_t { kEmail = 1, kUri = 2, kDns = 3 };
// Returns "email", "uri" or "dns".
[[nodiscard]] std::string_view name(SubjectKind kind);

// Names that a certificate may give its holder: all of one kind that a pattern covers. In a pattern
// '*' stands for one or more characters, none of which is '@', '/' (uri) or '.' (dns).
struct CertificateSubject {
  SubjectKind kind = SubjectKind::kEmail;
  std::string pattern;
  bool operator==(const CertificateSubject&) const = default;
};
[[nodiscard]] bool covers(const CertificateSubject& subject, SubjectKind kind,
                          std::string_view name);

// Whoever holds a certificate of these issuers with such a name. One such identity is one identity,
// however many names its pattern covers.
struct CertificateIdentity {
  // X.509: DER certificates of the CAs whose certificates count. Empty for a keyless identity.
  std::vector<Bytes> roots{};
  // Keyless: the issuer of the identity token, compared exactly, and the name of the trusted root
  // (PutTrustedRoot in schemas/trust.h). Both are empty for an X.509 identity.
  std::string issuer{};
  std::string trusted_root{};
  CertificateSubject subject;
  bool operator==(const CertificateIdentity&) const = default;
};

// What a certificate said of a signature: who issued it to whom, and the time at which it was
// judged. For a keyless signature that is the time of its log entry or timestamp, for an X.509
// certificate the time at which the service accepted the signature.
struct CertificateUse {
  std::string issuer;
  std::string subject;
  Timestamp at;
  KeyId key;  // of the certificate: who signs with one key is one person, whatever names it has
  bool operator==(const CertificateUse&) const = default;
};

[[nodiscard]] Json to_json(const CertificateIdentity& identity);
// Errors: schema-violation for an identity that is neither of the two forms, and for a pattern that
// covers too much: '*' in the scheme or host of a URI, behind an '@' (a workflow identity pins its
// ref, an address its domain), or in another label of a DNS name than the first.
[[nodiscard]] Result<CertificateIdentity> read_json(json::As<CertificateIdentity> type,
                                                    const Json& json);
[[nodiscard]] Json to_json(const CertificateUse& use);
[[nodiscard]] Result<CertificateUse> read_json(json::As<CertificateUse> type, const Json& json);

}  // namespace assay
