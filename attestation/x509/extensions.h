// SPDX-License-Identifier: Apache-2.0
// What the extensions of a certificate say: alternative names, values by object identifier, and the
// issuer of the identity that Fulcio writes into its certificates.
// Source: RFC 5280 section 4.2.1.6; https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/x509/certificate.h"

namespace assay::attestation::x509 {

inline constexpr std::size_t kMaxAlternativeNames = 64;

// Fulcio: issuer of the token, raw and as a DER UTF8String; user name in an otherName.
inline constexpr std::string_view kFulcioIssuerRaw = "1.3.6.1.4.1.57264.1.1";
inline constexpr std::string_view kFulcioIssuer = "1.3.6.1.4.1.57264.1.8";
inline constexpr std::string_view kFulcioUserName = "1.3.6.1.4.1.57264.1.7";

struct OtherName {
  std::string type;   // object identifier, dotted
  std::string value;  // of a UTF8String
  bool operator==(const OtherName&) const = default;
};

// Names of the extension subjectAltName, by kind and in order. Names of other kinds are counted
// alone.
struct AlternativeNames {
  std::vector<std::string> emails;
  std::vector<std::string> uris;
  std::vector<std::string> dns;
  std::vector<OtherName> others;
  std::size_t unread = 0;
};

// Returns the alternative names; none when the extension is absent. Errors: malformed-certificate
// when the extension cannot be read, when an email, URI or DNS name is empty or holds anything but
// visible ASCII, or when an otherName with a UTF8String holds control characters or no UTF-8;
// limit-exceeded for more than kMaxAlternativeNames.
[[nodiscard]] Result<AlternativeNames> alternative_names(const Certificate& certificate);

// Returns the content of the extension with this object identifier (dotted), as it stands in its
// OCTET STRING; nothing when it is absent.
[[nodiscard]] std::optional<Bytes> extension_value(const Certificate& certificate,
                                                   std::string_view oid);

// Returns the text of an extension whose content is one DER UTF8String; nothing when it is absent.
// Errors: malformed-certificate for any other content, and for control characters.
[[nodiscard]] Result<std::optional<std::string>> extension_text(const Certificate& certificate,
                                                                std::string_view oid);

// Returns the issuer that Fulcio took the identity from: extension 1.3.6.1.4.1.57264.1.8, or the
// older .1.1. Nothing when both are absent. Errors: malformed-certificate when one of them cannot
// be read, or when both are there and differ.
[[nodiscard]] Result<std::optional<std::string>> fulcio_issuer(const Certificate& certificate);

}  // namespace assay::attestation::x509
