// SPDX-License-Identifier: Apache-2.0
// Public keys and the verification of signatures.
#include "attestation/keys.h"

#include <algorithm>
#include <array>
#include <span>

#include "attestation/crypto/no_memory.h"
#include "attestation/crypto/openssl_handles.h"
#include "schemas/core/sha.h"

namespace assay::attestation {
namespace {

// The one SubjectPublicKeyInfo of each algorithm, up to the key itself (RFC 8410 section 4; RFC
// 5480 section 2.1.1 with a named curve and, for the points, the uncompressed form of SEC 1
// section 2.3.3).
constexpr std::array<std::uint8_t, 12> kEd25519Prefix = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                                         0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
constexpr std::array<std::uint8_t, 27> kP256Prefix = {
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
    0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04};
constexpr std::array<std::uint8_t, 24> kP384Prefix = {
    0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02,
    0x01, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22, 0x03, 0x62, 0x00, 0x04};

struct KeyForm {
  SignatureAlgorithm algorithm;
  std::span<const std::uint8_t> prefix;
  std::size_t key_size;               // bytes behind the prefix
  std::optional<HashAlgorithm> hash;  // of the message; nothing: the algorithm hashes by itself
};

constexpr std::array<KeyForm, 3> kForms = {{
    {SignatureAlgorithm::kEd25519, kEd25519Prefix, 32, std::nullopt},
    {SignatureAlgorithm::kEcdsaP256, kP256Prefix, 64, HashAlgorithm::kSha256},
    {SignatureAlgorithm::kEcdsaP384, kP384Prefix, 96, HashAlgorithm::kSha384},
}};

constexpr std::string_view kBegin = "-----BEGIN PUBLIC KEY-----";
constexpr std::string_view kEnd = "-----END PUBLIC KEY-----";
constexpr std::string_view kAnyBegin = "-----BEGIN ";
constexpr std::size_t kMaxPem = 4096;
constexpr std::size_t kMaxPemFile = 65536;  // with text before the block
constexpr std::size_t kPemColumns = 64;

std::unexpected<Error> malformed(const char* why) { return fail(ErrorCode::kInvalidEncoding, why); }
std::unexpected<Error> invalid() {
  return fail(ErrorCode::kSignatureInvalid, "the signature does not verify");
}
std::unexpected<Error> unchecked() {
  return fail(ErrorCode::kInternal, "the signature could not be checked");
}

const KeyForm* find_form(ByteView spki) {
  for (const KeyForm& form : kForms) {
    if (spki.size() == form.prefix.size() + form.key_size &&
        std::equal(form.prefix.begin(), form.prefix.end(), spki.begin())) {
      return &form;
    }
  }
  return nullptr;
}

// Null when `spki` is not one whole DER public key.
PkeyHandle parse_spki(ByteView spki) {
  const unsigned char* next = spki.data();
  PkeyHandle key(d2i_PUBKEY(nullptr, &next, static_cast<long>(spki.size())));
  return key != nullptr && next == spki.data() + spki.size() ? std::move(key) : nullptr;
}

Bytes encode_spki(EVP_PKEY* key) {
  unsigned char* out = nullptr;
  const int size = i2d_PUBKEY(key, &out);
  if (ASSAY_NO_MEMORY(size <= 0)) {
    return {};
  }
  Bytes der(out, out + size);
  OPENSSL_free(out);
  return der;
}

// X.690 section 10: DER has one encoding of each signature; anything else could be re-encoded by
// somebody who cannot sign.
bool is_der_ecdsa(ByteView signature) {
  const unsigned char* next = signature.data();
  const EcdsaSignatureHandle parsed(
      d2i_ECDSA_SIG(nullptr, &next, static_cast<long>(signature.size())));
  if (parsed == nullptr || next != signature.data() + signature.size()) {
    return false;
  }
  unsigned char* out = nullptr;
  const int size = i2d_ECDSA_SIG(parsed.get(), &out);
  if (ASSAY_NO_MEMORY(size <= 0)) {
    return false;
  }
  const bool same = std::equal(signature.begin(), signature.end(), out, out + size);
  OPENSSL_free(out);
  return same;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace

struct PublicKey::Impl {
  PkeyHandle key;
  const KeyForm* form;
  KeyId id;
  Bytes der;
};

PublicKey::PublicKey(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PublicKey::PublicKey(PublicKey&&) noexcept = default;
PublicKey& PublicKey::operator=(PublicKey&&) noexcept = default;
PublicKey::~PublicKey() = default;

Result<PublicKey> PublicKey::from_der(ByteView spki) {
  const ErrorQueueGuard guard;
  PkeyHandle key = parse_spki(spki);
  if (key == nullptr) {
    return malformed("not a public key in SubjectPublicKeyInfo DER");
  }
  const KeyForm* form = find_form(spki);
  if (form == nullptr) {
    return fail(ErrorCode::kUnsupportedKey,
                "keys are Ed25519, or ECDSA on P-256 or P-384 with a named curve and an "
                "uncompressed point");
  }
  Bytes der = encode_spki(key.get());
  if (!std::equal(der.begin(), der.end(), spki.begin(), spki.end())) {
    return malformed("the public key is not in its one DER form");
  }
  KeyId id(sha256(der));
  return PublicKey(
      std::make_unique<Impl>(Impl{std::move(key), form, std::move(id), std::move(der)}));
}

Result<PublicKey> PublicKey::from_point(ByteView x, ByteView y) {
  constexpr std::size_t kCoordinateOfP384 = 48;
  Bytes der = x.size() == kCoordinateOfP384 ? Bytes(kP384Prefix.begin(), kP384Prefix.end())
                                            : Bytes(kP256Prefix.begin(), kP256Prefix.end());
  der.insert(der.end(), x.begin(), x.end());
  der.insert(der.end(), y.begin(), y.end());
  return from_der(der);
}

Result<PublicKey> PublicKey::from_pem(std::string_view pem) {
  // RFC 7468 section 2: text before the block is for people. Another block is not.
  const std::size_t begin = pem.find(kAnyBegin);
  const bool starts_line =
      begin != std::string_view::npos &&
      (begin == 0 || pem[begin - 1] == '\n' || trim(pem.substr(0, begin)).empty());
  std::string_view body = trim(starts_line ? pem.substr(begin) : std::string_view());
  if (pem.size() > kMaxPemFile || body.size() > kMaxPem || !body.starts_with(kBegin) ||
      !body.ends_with(kEnd) || body.size() < kBegin.size() + kEnd.size()) {
    return malformed("a public key file holds one PEM block PUBLIC KEY, and nothing behind it");
  }
  body.remove_prefix(kBegin.size());
  body.remove_suffix(kEnd.size());
  std::string base64;
  for (const char c : body) {
    if (c != '\n' && c != '\r') {
      base64 += c;
    }
  }
  ASSAY_ASSIGN(const Bytes der, base64_decode(base64));
  return from_der(der);
}

SignatureAlgorithm PublicKey::algorithm() const { return impl_->form->algorithm; }
const KeyId& PublicKey::id() const { return impl_->id; }
const Bytes& PublicKey::der() const { return impl_->der; }

std::string PublicKey::pem() const {
  const std::string base64 = base64_encode(impl_->der);
  std::string out(kBegin);
  for (std::size_t i = 0; i < base64.size(); i += kPemColumns) {
    out += "\n" + base64.substr(i, kPemColumns);
  }
  return out + "\n" + std::string(kEnd) + "\n";
}

std::optional<HashAlgorithm> PublicKey::signs_hash() const { return impl_->form->hash; }

Status PublicKey::verify(ByteView message, ByteView signature) const {
  if (signs_hash()) {
    return verify_digest(sha(*signs_hash(), message), signature);
  }
  const ErrorQueueGuard guard;
  const DigestContextHandle context(EVP_MD_CTX_new());
  if (ASSAY_NO_MEMORY(context == nullptr)) {
    return unchecked();
  }
  const int ready = EVP_DigestVerifyInit_ex(context.get(), nullptr, nullptr, nullptr, nullptr,
                                            impl_->key.get(), nullptr);
  if (ASSAY_NO_MEMORY(ready != 1)) {
    return unchecked();
  }
  if (EVP_DigestVerify(context.get(), signature.data(), signature.size(), message.data(),
                       message.size()) != 1) {
    return invalid();
  }
  return {};
}

Status PublicKey::verify_digest(const Digest& digest, ByteView signature) const {
  const ErrorQueueGuard guard;
  if (digest.algorithm() != signs_hash() || !is_der_ecdsa(signature)) {
    return invalid();
  }
  const PkeyContextHandle context(EVP_PKEY_CTX_new_from_pkey(nullptr, impl_->key.get(), nullptr));
  if (ASSAY_NO_MEMORY(context == nullptr)) {
    return unchecked();
  }
  const int ready = EVP_PKEY_verify_init(context.get());
  if (ASSAY_NO_MEMORY(ready != 1)) {
    return unchecked();
  }
  const ByteView hash = digest.bytes();
  if (EVP_PKEY_verify(context.get(), signature.data(), signature.size(), hash.data(),
                      hash.size()) != 1) {
    return invalid();
  }
  return {};
}

}  // namespace assay::attestation
