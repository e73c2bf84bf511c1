// SPDX-License-Identifier: Apache-2.0
// Extensions of certificates.
#include "attestation/x509/extensions.h"

#include <algorithm>

#include "attestation/x509/handles.h"

namespace assay::attestation::x509 {
namespace {

std::unexpected<Error> unreadable(const std::string& why) {
  return fail(ErrorCode::kMalformedCertificate, why);
}

ByteView content(const ASN1_STRING* string) {
  return {ASN1_STRING_get0_data(string), static_cast<std::size_t>(ASN1_STRING_length(string))};
}

// Visible ASCII: RFC 5280 section 4.2.1.6 has IA5String, of which NUL and the like deceive readers.
bool is_visible(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

bool is_plain_utf8(std::string_view text) {
  constexpr char kDelete = 0x7f;
  return !text.empty() && is_utf8(text) &&
         std::ranges::none_of(text, [](char c) { return (c >= 0 && c < ' ') || c == kDelete; });
}

Status add_ia5(const ASN1_IA5STRING* string, std::vector<std::string>& names) {
  std::string text(as_text(content(string)));
  if (!is_visible(text)) {
    return unreadable("an alternative name is empty or not in visible ASCII");
  }
  names.push_back(std::move(text));
  return {};
}

Status add_other(const OTHERNAME* other, AlternativeNames& names) {
  if (ASN1_TYPE_get(other->value) != V_ASN1_UTF8STRING) {
    ++names.unread;
    return {};
  }
  std::string text(as_text(content(other->value->value.utf8string)));
  if (!is_plain_utf8(text)) {
    return unreadable("an alternative name is empty, or no UTF-8 without control characters");
  }
  names.others.push_back({dotted(other->type_id), std::move(text)});
  return {};
}

Status add_name(const GENERAL_NAME* name, AlternativeNames& names) {
  switch (name->type) {
    case GEN_EMAIL:
      return add_ia5(name->d.rfc822Name, names.emails);
    case GEN_URI:
      return add_ia5(name->d.uniformResourceIdentifier, names.uris);
    case GEN_DNS:
      return add_ia5(name->d.dNSName, names.dns);
    case GEN_OTHERNAME:
      return add_other(name->d.otherName, names);
    default:
      ++names.unread;
      return {};
  }
}

}  // namespace

Result<AlternativeNames> alternative_names(const Certificate& certificate) {
  const ErrorQueueGuard guard;
  int critical = 0;
  const GeneralNamesHandle list(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(bare_x509_of(certificate), NID_subject_alt_name, &critical, nullptr)));
  AlternativeNames names;
  if (list == nullptr) {
    constexpr int kAbsent = -1;
    if (critical != kAbsent) {
      return unreadable("the alternative names cannot be read");
    }
    return names;
  }
  if (sk_GENERAL_NAME_num(list.get()) > static_cast<int>(kMaxAlternativeNames)) {
    return fail(
        ErrorCode::kLimitExceeded,
        "a certificate has at most " + std::to_string(kMaxAlternativeNames) + " alternative names");
  }
  for (int i = 0; i < sk_GENERAL_NAME_num(list.get()); ++i) {
    ASSAY_TRY(add_name(sk_GENERAL_NAME_value(list.get(), i), names));
  }
  return names;
}

std::optional<Bytes> extension_value(const Certificate& certificate, std::string_view oid) {
  const ErrorQueueGuard guard;
  const ObjectHandle object(OBJ_txt2obj(std::string(oid).c_str(), 1));
  if (object == nullptr) {
    return std::nullopt;
  }
  const int at = X509_get_ext_by_OBJ(bare_x509_of(certificate), object.get(), -1);
  if (at < 0) {
    return std::nullopt;
  }
  const ByteView value =
      content(X509_EXTENSION_get_data(X509_get_ext(bare_x509_of(certificate), at)));
  return Bytes(value.begin(), value.end());
}

Result<std::optional<std::string>> extension_text(const Certificate& certificate,
                                                  std::string_view oid) {
  const std::optional<Bytes> value = extension_value(certificate, oid);
  if (!value) {
    return std::optional<std::string>();
  }
  const ErrorQueueGuard guard;
  const unsigned char* next = value->data();
  const StringHandle string(d2i_ASN1_UTF8STRING(nullptr, &next, static_cast<long>(value->size())));
  if (string == nullptr || next != value->data() + value->size()) {
    return unreadable("extension " + std::string(oid) + " is no UTF8String");
  }
  std::string text(as_text(content(string.get())));
  if (!is_plain_utf8(text)) {
    return unreadable("extension " + std::string(oid) + " is empty or has control characters");
  }
  return std::optional(std::move(text));
}

Result<std::optional<std::string>> fulcio_issuer(const Certificate& certificate) {
  ASSAY_ASSIGN(std::optional<std::string> issuer, extension_text(certificate, kFulcioIssuer));
  const std::optional<Bytes> raw = extension_value(certificate, kFulcioIssuerRaw);
  if (!raw) {
    return issuer;
  }
  std::string text(as_text(*raw));
  if (!is_plain_utf8(text)) {
    return unreadable("extension " + std::string(kFulcioIssuerRaw) +
                      " is empty or has control characters");
  }
  if (issuer && *issuer != text) {
    return unreadable("the certificate names two issuers of its identity");
  }
  return std::optional(std::move(text));
}

}  // namespace assay::attestation::x509
