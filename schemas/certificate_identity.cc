// SPDX-License-Identifier: Apache-2.0
// Identities by certificate: shape by trusted-key.schema.json.
#include "schemas/certificate_identity.h"

#include "schemas/core/names.h"
#include "schemas/document.h"

namespace assay {
namespace {

constexpr char kWildcard = '*';

constexpr Names<SubjectKind, 3> kSubjectKinds = {
    {{{SubjectKind::kEmail, "email"}, {SubjectKind::kUri, "uri"}, {SubjectKind::kDns, "dns"}}}};

Result<SubjectKind> subject_kind_from(std::string_view text) {
  return kSubjectKinds.parse(text, "a subject is of kind email, uri or dns",
                             ErrorCode::kSchemaViolation);
}

// Whether a '*' of a pattern may stand for this character.
bool is_free(SubjectKind kind, char c) {
  return c != '@' && !(kind == SubjectKind::kUri && c == '/') &&
         !(kind == SubjectKind::kDns && c == '.');
}

// Every '*' takes one character at least. Greedy with one step back: linear in both for each '*'.
bool matches(SubjectKind kind, std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // of the '*' that was met last
  std::size_t taken = 0;                      // the text behind what that '*' stands for
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == kWildcard) {
      if (!is_free(kind, text[t])) {
        return false;
      }
      star = p++;
      taken = ++t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos && is_free(kind, text[taken])) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  return p == pattern.size();
}

std::unexpected<Error> too_wide(std::string detail) {
  return fail(ErrorCode::kSchemaViolation, std::move(detail), "/pattern");
}

Status check_pattern(const CertificateSubject& subject) {
  const std::string& pattern = subject.pattern;
  const std::size_t last = pattern.rfind(kWildcard);
  if (last == std::string::npos) {
    return {};
  }
  const std::size_t first = pattern.find(kWildcard);
  const std::size_t at = pattern.rfind('@');
  switch (subject.kind) {
    case SubjectKind::kEmail:
      return at != std::string::npos && last < at ? Status()
                                                  : too_wide("the domain of an address has no '*'");
    case SubjectKind::kUri: {
      const std::size_t host = pattern.find("://");
      const std::size_t path =
          host == std::string::npos ? std::string::npos : pattern.find('/', host + 3);
      if (path == std::string::npos || first < path) {
        return too_wide("scheme and host of a URI have no '*'");
      }
      return at == std::string::npos || last < at
                 ? Status()
                 : too_wide("a workflow identity names its ref: no '*' behind the '@'");
    }
    case SubjectKind::kDns:
      return last < pattern.find('.') && pattern.find('.') != std::string::npos
                 ? Status()
                 : too_wide("a DNS name has a '*' in its first label alone");
  }
  return too_wide("a subject is of kind email, uri or dns");
}

}  // namespace

std::string_view name(SubjectKind kind) { return kSubjectKinds.of(kind); }

bool covers(const CertificateSubject& subject, SubjectKind kind, std::string_view name) {
  return subject.kind == kind && matches(kind, subject.pattern, name);
}

static auto members_of(json::As<CertificateSubject>) {
  using T = CertificateSubject;
  return std::tuple(json::always("kind", &T::kind, json::named(subject_kind_from)),
                    json::always("pattern", &T::pattern));
}
static Status together(const CertificateSubject& subject) { return check_pattern(subject); }

static auto members_of(json::As<CertificateIdentity>) {
  using T = CertificateIdentity;
  return std::tuple(json::if_set("roots", &T::roots), json::if_set("issuer", &T::issuer),
                    json::if_set("trusted_root", &T::trusted_root),
                    json::always("subject", &T::subject));
}
static Status together(const CertificateIdentity& identity) {
  const bool keyless = !identity.issuer.empty() && !identity.trusted_root.empty();
  const bool x509 = identity.issuer.empty() && identity.trusted_root.empty();
  return (keyless && identity.roots.empty()) || (x509 && !identity.roots.empty())
             ? Status()
             : fail(ErrorCode::kSchemaViolation,
                    "an identity by certificate has 'roots', or 'issuer' and 'trusted_root'");
}
Json to_json(const CertificateIdentity& identity) { return json::write(identity); }
Result<CertificateIdentity> read_json(json::As<CertificateIdentity> /*type*/, const Json& json) {
  return json::read<CertificateIdentity>(json);
}

static auto members_of(json::As<CertificateUse>) {
  using T = CertificateUse;
  return std::tuple(json::always("issuer", &T::issuer), json::always("subject", &T::subject),
                    json::always("at", &T::at), json::always("key", &T::key));
}
static CertificateUse start(json::As<CertificateUse>) {
  return {{}, {}, {}, json::unread<KeyId>()};
}
Json to_json(const CertificateUse& use) { return json::write(use); }
Result<CertificateUse> read_json(json::As<CertificateUse> /*type*/, const Json& json) {
  return json::read<CertificateUse>(json);
}

}  // namespace assay
