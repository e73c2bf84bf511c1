// SPDX-License-Identifier: Apache-2.0
// Signed certificate timestamps. OpenSSL reads them and makes the signed form of the certificate;
// it can take logs from a file alone, so the signature is verified here.
#include "attestation/sigstore/sct.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <openssl/ct.h>

#include "attestation/crypto/no_memory.h"
#include "attestation/x509/handles.h"
#include "schemas/core/sha.h"

namespace assay::attestation::sigstore {
namespace {

using SctListHandle = Handle<STACK_OF(SCT), SCT_LIST_free>;

constexpr std::uint8_t kVersion1 = 0;
constexpr std::uint8_t kCertificateTimestamp = 0;
constexpr std::uint16_t kPrecertEntry = 1;
constexpr std::size_t kMaxUint24 = (1U << 24) - 1;

std::unexpected<Error> bad_sct(const char* why) { return fail(ErrorCode::kSctInvalid, why); }

// Appends `size` bytes of `value`, the most significant first.
void append(Bytes& out, std::uint64_t value, int size) {
  for (int i = size - 1; i >= 0; --i) {
    out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
}

// RFC 6962 section 3.2: the certificate's TBSCertificate without the timestamps.
Result<Bytes> precertificate(const x509::Certificate& leaf) {
  const x509::X509Handle copy = x509::parse_without_key(leaf.der());
  if (ASSAY_NO_MEMORY(copy == nullptr)) {
    return bad_sct("the certificate could not be copied");
  }
  const int at = X509_get_ext_by_NID(copy.get(), NID_ct_precert_scts, -1);
  const Handle<X509_EXTENSION, X509_EXTENSION_free> removed(X509_delete_ext(copy.get(), at));
  unsigned char* out = nullptr;
  const int size = i2d_re_X509_tbs(copy.get(), &out);
  if (ASSAY_NO_MEMORY(removed == nullptr || size <= 0)) {
    return bad_sct("the certificate could not be encoded");
  }
  Bytes der(out, out + size);
  OPENSSL_free(out);
  return der;
}

// RFC 6962 section 3.2, digitally-signed of an entry of type precert_entry.
Bytes signed_bytes(const SCT* sct, const Bytes& precert, const Digest& issuer_key_hash) {
  Bytes out = {kVersion1, kCertificateTimestamp};
  append(out, SCT_get_timestamp(sct), 8);
  append(out, kPrecertEntry, 2);
  const ByteView hash = issuer_key_hash.bytes();
  out.insert(out.end(), hash.begin(), hash.end());
  append(out, precert.size(), 3);
  out.insert(out.end(), precert.begin(), precert.end());
  unsigned char* extensions = nullptr;
  const std::size_t size = SCT_get0_extensions(sct, &extensions);
  append(out, size, 2);
  out.insert(out.end(), extensions, extensions + size);
  return out;
}

// The log of a timestamp, at its time; null when there is none.
const Log* log_of(const SCT* sct, Timestamp time, std::span<const Log> logs) {
  unsigned char* id = nullptr;
  const std::size_t size = SCT_get0_log_id(sct, &id);
  const auto found = std::ranges::find_if(
      logs, [&](const Log& log) { return std::ranges::equal(log.id, ByteView(id, size)); });
  return found != logs.end() && found->valid_for.contains(time) ? &*found : nullptr;
}

// The time of a timestamp; nothing for one that lies beyond what a Timestamp holds.
std::optional<Timestamp> time_of(const SCT* sct) {
  constexpr std::uint64_t kYear9999 = 253'402'300'799'000;
  const std::uint64_t time = SCT_get_timestamp(sct);
  if (time > kYear9999) {
    return std::nullopt;
  }
  return Timestamp(std::chrono::milliseconds(time));
}

Status verify_one(const SCT* sct, const Log& log, const Bytes& precert, const Digest& issuer_key) {
  // RFC 6962 section 2.1.4: ECDSA on P-256, or RSA, with SHA-256.
  if (log.key == nullptr || log.key->algorithm() != SignatureAlgorithm::kEcdsaP256 ||
      SCT_get_signature_nid(sct) != NID_ecdsa_with_SHA256) {
    return bad_sct("the certificate log signs with an algorithm that is not supported");
  }
  unsigned char* signature = nullptr;
  const std::size_t size = SCT_get0_signature(sct, &signature);
  if (!log.key->verify(signed_bytes(sct, precert, issuer_key), ByteView(signature, size))) {
    return bad_sct("the signature of a certificate log does not verify");
  }
  return {};
}

}  // namespace

Result<VerifiedSct> verify_scts(const x509::Certificate& leaf, const x509::Certificate& issuer,
                                std::span<const Log> ctlogs) {
  const ErrorQueueGuard guard;
  const SctListHandle list(static_cast<STACK_OF(SCT)*>(
      X509_get_ext_d2i(x509::bare_x509_of(leaf), NID_ct_precert_scts, nullptr, nullptr)));
  if (list == nullptr || sk_SCT_num(list.get()) > kMaxScts) {
    return bad_sct("the certificate carries no timestamps of certificate logs that can be read");
  }
  ASSAY_ASSIGN(const Bytes precert, precertificate(leaf));
  if (precert.size() > kMaxUint24) {
    return bad_sct("the certificate is too large");
  }
  const Digest issuer_key = sha256(issuer.key_der());
  std::optional<VerifiedSct> first;
  for (int i = 0; i < sk_SCT_num(list.get()); ++i) {
    const SCT* sct = sk_SCT_value(list.get(), i);
    const std::optional<Timestamp> time = time_of(sct);
    const Log* log =
        SCT_get_version(sct) == SCT_VERSION_V1 && time ? log_of(sct, *time, ctlogs) : nullptr;
    if (log == nullptr) {
      continue;
    }
    ASSAY_TRY(verify_one(sct, *log, precert, issuer_key));
    if (!first) {
      first = VerifiedSct{log->base_url, *time};
    }
  }
  if (!first) {
    return bad_sct("no certificate log of the trusted root vouches for the certificate");
  }
  return *std::move(first);
}

}  // namespace assay::attestation::sigstore
