// SPDX-License-Identifier: Apache-2.0
// Certification paths: OpenSSL builds and validates one, and what it leaves open is checked here.
#include "attestation/x509/path.h"

#include <algorithm>
#include <string>

#include "attestation/crypto/no_memory.h"
#include "attestation/x509/extensions.h"
#include "attestation/x509/handles.h"
#include "schemas/core/printable.h"

namespace assay::attestation::x509 {
namespace {

constexpr std::string_view kAnyExtendedKeyUsage = "2.5.29.37.0";
constexpr int kSecurityLevel = 2;  // 112 bits: RSA from 2048 bits, no SHA-1

// Certificates of Fulcio have no subject.
std::string title(const Certificate& certificate) {
  const std::string subject = certificate.subject();
  return "the certificate " +
         (subject.empty() ? "with the number " + certificate.serial() : "of " + printable(subject));
}

std::unexpected<Error> refused(const Certificate& certificate, const std::string& why) {
  return fail(ErrorCode::kCertificateRefused, title(certificate) + ": " + why);
}

std::unexpected<Error> no_memory() {
  return fail(ErrorCode::kInternal, "the certification path could not be checked");
}

// The certificate in a stack that is not owned.
Result<BorrowedStack> borrow(std::span<const Certificate> certificates) {
  BorrowedStack stack(sk_X509_new_null());
  if (ASSAY_NO_MEMORY(stack == nullptr)) {
    return no_memory();
  }
  for (const Certificate& certificate : certificates) {
    const int pushed = sk_X509_push(stack.get(), x509_of(certificate));
    if (ASSAY_NO_MEMORY(pushed <= 0)) {
      return no_memory();
    }
  }
  return stack;
}

// RFC 5280 section 6 as OpenSSL does it. Times are checked below, so that each end of a validity is
// inclusive. CHECK_SS_SIGNATURE is left out: an anchor is trusted as it is.
Status configure(X509_VERIFY_PARAM* parameters) {
  constexpr unsigned long kFlags = X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST |
                                   X509_V_FLAG_POLICY_CHECK | X509_V_FLAG_NO_CHECK_TIME;
  const int set = X509_VERIFY_PARAM_set_flags(parameters, kFlags);
  if (ASSAY_NO_MEMORY(set != 1)) {
    return no_memory();
  }
  X509_VERIFY_PARAM_set_depth(parameters, static_cast<int>(kMaxPath) - 2);  // issuers in between
  X509_VERIFY_PARAM_set_auth_level(parameters, kSecurityLevel);
  return {};
}

// Whether OpenSSL's error says that no path leads to an anchor.
bool is_untrusted(int error) {
  switch (error) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_CERT_UNTRUSTED:
    case X509_V_ERR_CERT_CHAIN_TOO_LONG:
      return true;
    default:
      return false;
  }
}

std::unexpected<Error> path_error(const X509_STORE_CTX* context, const Certificate& leaf) {
  const int error = X509_STORE_CTX_get_error(context);
  const int depth = X509_STORE_CTX_get_error_depth(context);
  const std::string why = std::string(X509_verify_cert_error_string(error)) + " (certificate " +
                          std::to_string(depth) + " of the path)";
  return is_untrusted(error)
             ? fail(ErrorCode::kCertificateUntrusted, "no path leads from the certificate of " +
                                                          leaf.subject() + " to an anchor: " + why)
             : refused(leaf, why);
}

// The certificate of which OpenSSL has the object: one of those it was given.
const Certificate* find_given(const X509* x509, std::span<const Certificate> certificates) {
  for (const Certificate& certificate : certificates) {
    if (x509_of(certificate) == x509) {
      return &certificate;
    }
  }
  return nullptr;
}

// OpenSSL 3.0 loses the memory of policy constraints in a certificate that names no policies
// (policy_cache_new). Such a certificate demands policies of others that its path cannot have.
Status check_policies(const Certificate& certificate) {
  constexpr std::string_view kPolicies = "2.5.29.32";
  constexpr std::string_view kPolicyConstraints = "2.5.29.36";
  return extension_value(certificate, kPolicyConstraints) &&
                 !extension_value(certificate, kPolicies)
             ? fail(ErrorCode::kCertificateRefused,
                    "a certificate has policy constraints and no policies", certificate.subject())
             : Status();
}

// The path that OpenSSL builds and validates.
Result<std::vector<Certificate>> build(const Certificate& leaf,
                                       std::span<const Certificate> intermediates,
                                       std::span<const Certificate> anchors) {
  const StoreHandle store(X509_STORE_new());
  const StoreContextHandle context(X509_STORE_CTX_new());
  if (ASSAY_NO_MEMORY(store == nullptr || context == nullptr)) {
    return no_memory();
  }
  ASSAY_TRY(check_policies(leaf));
  for (const Certificate& intermediate : intermediates) {
    ASSAY_TRY(check_policies(intermediate));
  }
  ASSAY_ASSIGN(const BorrowedStack untrusted, borrow(intermediates));
  ASSAY_ASSIGN(const BorrowedStack trusted, borrow(anchors));
  const int ready = X509_STORE_CTX_init(context.get(), store.get(), x509_of(leaf), untrusted.get());
  if (ASSAY_NO_MEMORY(ready != 1)) {
    return no_memory();
  }
  X509_STORE_CTX_set0_trusted_stack(context.get(), trusted.get());
  ASSAY_TRY(configure(X509_STORE_CTX_get0_param(context.get())));
  if (X509_verify_cert(context.get()) != 1) {
    return path_error(context.get(), leaf);
  }
  const STACK_OF(X509)* chain = X509_STORE_CTX_get0_chain(context.get());
  const auto size = static_cast<std::size_t>(sk_X509_num(chain));
  std::vector<Certificate> path = {leaf};
  for (std::size_t i = 1; i < size; ++i) {
    const X509* x509 = sk_X509_value(chain, static_cast<int>(i));
    const Certificate* given = find_given(x509, i + 1 == size ? anchors : intermediates);
    // Where an anchor issues another anchor, the path goes through one.
    given = given != nullptr ? given : find_given(x509, anchors);
    if (given == nullptr) {
      return fail(ErrorCode::kCertificateUntrusted, "the path does not end at an anchor");
    }
    path.push_back(*given);
  }
  return path;
}

bool is_strong_signature(const Certificate& certificate) {
  int hash = NID_undef;
  int key = NID_undef;
  if (X509_get_signature_info(bare_x509_of(certificate), &hash, &key, nullptr, nullptr) != 1) {
    return false;
  }
  return hash == NID_sha256 || hash == NID_sha384 || hash == NID_sha512 ||
         (hash == NID_undef && key == NID_ED25519);
}

enum class Purpose : std::uint8_t { kAbsent, kNamed, kAny, kOther };

// What the extended key usage of `certificate` says of `purpose`.
Purpose purpose_of(const Certificate& certificate, std::string_view purpose) {
  const ExtendedKeyUsageHandle usage(static_cast<EXTENDED_KEY_USAGE*>(
      X509_get_ext_d2i(bare_x509_of(certificate), NID_ext_key_usage, nullptr, nullptr)));
  if (usage == nullptr) {
    // It could be read when the certificate was parsed, so it is absent.
    return Purpose::kAbsent;
  }
  Purpose found = Purpose::kOther;
  for (int i = 0; i < sk_ASN1_OBJECT_num(usage.get()); ++i) {
    const std::string oid = dotted(sk_ASN1_OBJECT_value(usage.get(), i));
    if (oid == purpose) {
      return Purpose::kNamed;
    }
    found = oid == kAnyExtendedKeyUsage ? Purpose::kAny : found;
  }
  return found;
}

Status check_leaf(const Certificate& leaf, const PathOptions& options) {
  if (leaf.is_ca() && !options.allow_ca_leaf) {
    return refused(leaf, "a CA does not sign documents");
  }
  const std::uint32_t usage = X509_get_key_usage(bare_x509_of(leaf));
  if (usage == UINT32_MAX) {
    if (options.require_key_usage) {
      return refused(leaf, "it has no keyUsage");
    }
  } else {
    const std::uint32_t allowed =
        KU_DIGITAL_SIGNATURE | (options.allow_non_repudiation ? KU_NON_REPUDIATION : 0U);
    if ((usage & allowed) == 0) {
      return refused(leaf, "its keyUsage does not allow signatures");
    }
  }
  if (options.purpose != kAnyPurpose && purpose_of(leaf, options.purpose) != Purpose::kNamed) {
    return refused(leaf, "its extended key usage does not name " + std::string(options.purpose));
  }
  return {};
}

Status check_issuer(const Certificate& issuer, bool is_anchor, const PathOptions& options) {
  if (!issuer.is_ca()) {
    return refused(issuer, "it issued a certificate and is no CA");
  }
  const std::uint32_t usage = X509_get_key_usage(bare_x509_of(issuer));  // all bits when absent
  if ((usage & KU_KEY_CERT_SIGN) == 0) {
    return refused(issuer, "its keyUsage does not allow keyCertSign");
  }
  if (!is_anchor && options.purpose != kAnyPurpose &&
      purpose_of(issuer, options.purpose) == Purpose::kOther) {
    return refused(issuer, "its extended key usage does not name " + std::string(options.purpose));
  }
  return {};
}

Status check_time(const Certificate& certificate, Timestamp time) {
  if (time < certificate.not_before()) {
    return fail(ErrorCode::kCertificateNotYetValid, title(certificate) + ": valid from " +
                                                        to_rfc3339(certificate.not_before()) +
                                                        ", and the time is " + to_rfc3339(time));
  }
  if (time > certificate.not_after()) {
    return fail(ErrorCode::kCertificateExpired, title(certificate) + ": valid until " +
                                                    to_rfc3339(certificate.not_after()) +
                                                    ", and the time is " + to_rfc3339(time));
  }
  return {};
}

Status check_path(const std::vector<Certificate>& path, const PathOptions& options) {
  // With PARTIAL_CHAIN, OpenSSL is content with a leaf that is an anchor.
  if (path.size() < 2 && !options.allow_anchor_leaf) {
    return fail(ErrorCode::kCertificateUntrusted,
                "the certificate itself is an anchor; an anchor counts only as an issuer");
  }
  if (path.size() > kMaxPath) {
    return refused(path.front(), "its path is longer than " + std::to_string(kMaxPath));
  }
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool is_anchor = i + 1 == path.size();
    ASSAY_TRY(i == 0 ? check_leaf(path[i], options) : check_issuer(path[i], is_anchor, options));
    if (!is_anchor && !is_strong_signature(path[i])) {
      return refused(path[i], "it is signed with a hash that is not accepted");
    }
    ASSAY_TRY(check_time(path[i], options.time));
  }
  return {};
}

}  // namespace

Status check_validity(const VerifiedPath& path, Timestamp time) {
  for (const Certificate& certificate : path.certificates) {
    ASSAY_TRY(check_time(certificate, time));
  }
  return {};
}

Result<VerifiedPath> verify_path(const Certificate& leaf,
                                 std::span<const Certificate> intermediates,
                                 std::span<const Certificate> anchors, const PathOptions& options) {
  if (intermediates.size() > kMaxIntermediates || anchors.size() > kMaxCertificates) {
    return fail(ErrorCode::kLimitExceeded, "too many certificates for one path");
  }
  const ErrorQueueGuard guard;
  ASSAY_ASSIGN(std::vector<Certificate> path, build(leaf, intermediates, anchors));
  ASSAY_TRY(check_path(path, options));
  return VerifiedPath{std::move(path)};
}

}  // namespace assay::attestation::x509
