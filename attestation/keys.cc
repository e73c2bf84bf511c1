// SPDX-License-Identifier: Apache-2.0
// Public keys and the verification of signatures.
#include "attestation/keys.h"

#include <algorithm>
#include <array>

#include <openssl/core_names.h>
#include <openssl/param_build.h>

#include "attestation/crypto/no_memory.h"
#include "attestation/crypto/openssl_handles.h"
#include "attestation/rsa_scheme.h"
#include "schemas/core/sha.h"

namespace assay::attestation {
namespace {

constexpr std::string_view kBegin = "-----BEGIN PUBLIC KEY-----";
constexpr std::string_view kEnd = "-----END PUBLIC KEY-----";
constexpr std::string_view kAnyBegin = "-----BEGIN ";
constexpr std::size_t kMaxPem = 8192;
constexpr std::size_t kMaxSpki = 4096;
constexpr std::size_t kMaxPemFile = 65536;  // with text before the block
constexpr std::size_t kPemColumns = 64;

std::unexpected<Error> malformed(const char* why) { return fail(ErrorCode::kInvalidEncoding, why); }
std::unexpected<Error> invalid() {
  return fail(ErrorCode::kSignatureInvalid, "the signature does not verify");
}
std::unexpected<Error> unchecked() {
  return fail(ErrorCode::kInternal, "the signature could not be checked");
}

// The row of keys that are a string of bytes behind a prefix. Null for all others.
const AlgorithmRow* row_by_prefix(ByteView spki) {
  for (const AlgorithmRow& row : algorithms()) {
    if (!row.prefix.empty() && spki.size() == row.prefix.size() + row.key_bytes &&
        std::equal(row.prefix.begin(), row.prefix.end(), spki.begin())) {
      return &row;
    }
  }
  return nullptr;
}

BignumHandle number_of(EVP_PKEY* key, const char* parameter) {
  BIGNUM* number = nullptr;
  EVP_PKEY_get_bn_param(key, parameter, &number);
  return BignumHandle(number);
}

Status check_rsa(EVP_PKEY* key) {
  const BignumHandle n = number_of(key, OSSL_PKEY_PARAM_RSA_N);
  const BignumHandle e = number_of(key, OSSL_PKEY_PARAM_RSA_E);
  const bool both = n != nullptr && e != nullptr;
  if (!both || BN_is_negative(n.get()) != 0 || BN_is_odd(n.get()) == 0 ||
      BN_num_bits(n.get()) < kRsaMinBits || BN_num_bits(n.get()) > kRsaMaxBits) {
    return fail(ErrorCode::kUnsupportedKey, "RSA keys have 2048 to 4096 bits");
  }
  if (BN_is_negative(e.get()) != 0 || BN_is_odd(e.get()) == 0 || BN_is_one(e.get()) != 0 ||
      BN_num_bits(e.get()) > kRsaMaxExponentBits) {
    return fail(ErrorCode::kUnsupportedKey,
                "the public exponent of an RSA key is odd, 3 or more, and has at most 33 bits");
  }
  return {};
}

// The key of a SubjectPublicKeyInfo that `row` describes. OpenSSL 3.0 takes twice as long to decode
// a key of P-256 as to verify with it, so the bytes behind the prefix are given to it as they are.
// Null for a point that is not on the curve, and without the algorithm.
PkeyHandle key_behind_prefix(const AlgorithmRow& row, ByteView spki) {
  const ByteView bytes = spki.subspan(row.prefix.size());
  if (row.kind == KeyKind::kOctets) {
    return PkeyHandle(
        EVP_PKEY_new_raw_public_key_ex(nullptr, row.openssl, nullptr, bytes.data(), bytes.size()));
  }
  Bytes point = {POINT_CONVERSION_UNCOMPRESSED};
  point.insert(point.end(), bytes.begin(), bytes.end());
  std::string curve = row.openssl;
  const std::array<OSSL_PARAM, 3> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, curve.data(), curve.size()),
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()),
      OSSL_PARAM_construct_end()};
  const PkeyContextHandle context(EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  EVP_PKEY* key = nullptr;
  if (context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY,
                        const_cast<OSSL_PARAM*>(parameters.data())) != 1) {
    return nullptr;
  }
  return PkeyHandle(key);
}

// Null when `spki` is not one whole DER public key.
PkeyHandle parse_spki(ByteView spki) {
  const unsigned char* next = spki.data();
  PkeyHandle key(d2i_PUBKEY(nullptr, &next, static_cast<long>(spki.size())));
  return key != nullptr && next == spki.data() + spki.size() ? std::move(key) : nullptr;
}

// What is said of a SubjectPublicKeyInfo of which OpenSSL makes no key.
std::unexpected<Error> not_parsed(ByteView spki) {
  const AlgorithmRow* row = row_by_prefix(spki);
  if (row != nullptr && !is_available(*row)) {
    return fail(ErrorCode::kUnsupportedKey,
                "this is a key of " + std::string(row->openssl) +
                    ", which this program has with OpenSSL 3.5 or newer; it runs with " +
                    OpenSSL_version(OPENSSL_VERSION));
  }
  return malformed("not a public key in SubjectPublicKeyInfo DER");
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

// For algorithms that take the message itself.
Status verify_message(EVP_PKEY* key, ByteView message, ByteView signature) {
  const ErrorQueueGuard guard;
  const DigestContextHandle context(EVP_MD_CTX_new());
  if (ASSAY_NO_MEMORY(context == nullptr)) {
    return unchecked();
  }
  const int ready =
      EVP_DigestVerifyInit_ex(context.get(), nullptr, nullptr, nullptr, nullptr, key, nullptr);
  if (ASSAY_NO_MEMORY(ready != 1)) {
    return unchecked();
  }
  if (EVP_DigestVerify(context.get(), signature.data(), signature.size(), message.data(),
                       message.size()) != 1) {
    return invalid();
  }
  return {};
}

// A context for EVP_PKEY_verify. Null without memory.
PkeyContextHandle begin_verify(EVP_PKEY* key) {
  PkeyContextHandle context(EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
  if (ASSAY_NO_MEMORY(context == nullptr || EVP_PKEY_verify_init(context.get()) != 1)) {
    return nullptr;
  }
  return context;
}

Status end_verify(EVP_PKEY_CTX* context, ByteView hash, ByteView signature) {
  if (EVP_PKEY_verify(context, signature.data(), signature.size(), hash.data(), hash.size()) != 1) {
    return invalid();
  }
  return {};
}

Status verify_ecdsa_der(EVP_PKEY* key, ByteView hash, ByteView signature) {
  const ErrorQueueGuard guard;
  if (!is_der_ecdsa(signature)) {
    return invalid();
  }
  const PkeyContextHandle context = begin_verify(key);
  if (ASSAY_NO_MEMORY(context == nullptr)) {
    return unchecked();
  }
  return end_verify(context.get(), hash, signature);
}

// RFC 8017 sections 8.1.2 and 8.2.2: a signature is exactly as long as the modulus. OpenSSL
// compares the whole encoded message of PKCS #1 v1.5, so that nothing can hide in it.
Status verify_rsa(EVP_PKEY* key, const SignatureScheme& scheme, ByteView hash, ByteView signature) {
  const ErrorQueueGuard guard;
  if (signature.size() != static_cast<std::size_t>(EVP_PKEY_get_size(key))) {
    return invalid();
  }
  const PkeyContextHandle context = begin_verify(key);
  if (ASSAY_NO_MEMORY(context == nullptr)) {
    return unchecked();
  }
  if (!set_rsa_scheme(context.get(), scheme)) {
    return invalid();
  }
  return end_verify(context.get(), hash, signature);
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
  const AlgorithmRow* row;
  KeyId id;
  Bytes der;
};

PublicKey::PublicKey(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PublicKey::PublicKey(PublicKey&&) noexcept = default;
PublicKey& PublicKey::operator=(PublicKey&&) noexcept = default;
PublicKey::~PublicKey() = default;

Result<PublicKey> PublicKey::from_der(ByteView spki) {
  const ErrorQueueGuard guard;
  if (spki.size() > kMaxSpki) {
    return not_parsed(spki);
  }
  const AlgorithmRow* row = row_by_prefix(spki);
  PkeyHandle key = row != nullptr ? key_behind_prefix(*row, spki) : parse_spki(spki);
  if (key == nullptr) {
    return not_parsed(spki);
  }
  const bool rsa = EVP_PKEY_is_a(key.get(), "RSA") == 1;
  if (rsa) {
    row = &row_of(SignatureAlgorithm::kRsaPss);
  }
  if (row == nullptr) {
    return fail(ErrorCode::kUnsupportedKey,
                "keys are Ed25519, RSA, or ECDSA on P-256, P-384 or P-521 with a named curve and "
                "an uncompressed point");
  }
  if (rsa) {
    ASSAY_TRY(check_rsa(key.get()));
  }
  // Behind a prefix there is one form; encoding it again would take as long as verifying with it.
  Bytes der = rsa ? encode_spki(key.get()) : Bytes(spki.begin(), spki.end());
  if (!std::equal(der.begin(), der.end(), spki.begin(), spki.end())) {
    return malformed("the public key is not in its one DER form");
  }
  KeyId id(sha256(der));
  return PublicKey(
      std::make_unique<Impl>(Impl{std::move(key), row, std::move(id), std::move(der)}));
}

Result<PublicKey> PublicKey::from_der(ByteView spki, SignatureAlgorithm algorithm) {
  ASSAY_ASSIGN(PublicKey key, from_der(spki));
  const AlgorithmRow& row = row_of(algorithm);
  if (row.kind == KeyKind::kRsa && key.impl_->row->kind == KeyKind::kRsa) {
    key.impl_->row = &row;
  }
  if (key.algorithm() != algorithm) {
    return fail(ErrorCode::kUnsupportedKey, "this is no key of " + std::string(name(algorithm)) +
                                                "; it is one of " +
                                                std::string(name(key.algorithm())));
  }
  return key;
}

Result<PublicKey> PublicKey::from_point(ByteView x, ByteView y) {
  const auto row = std::ranges::find_if(algorithms(), [&](const AlgorithmRow& one) {
    return one.kind == KeyKind::kEc && x.size() == coordinate_bytes(one);
  });
  if (row == algorithms().end()) {
    return malformed("coordinates have 32, 48 or 66 bytes");
  }
  Bytes der(row->prefix.begin(), row->prefix.end());
  der.insert(der.end(), x.begin(), x.end());
  der.insert(der.end(), y.begin(), y.end());
  return from_der(der);
}

Result<PublicKey> PublicKey::from_rsa(const RsaNumbers& numbers) {
  const ErrorQueueGuard guard;
  const auto number = [](const Bytes& bytes) {
    return BignumHandle(BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  };
  const BignumHandle n = number(numbers.modulus);
  const BignumHandle e = number(numbers.exponent);
  const Handle<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> builder(OSSL_PARAM_BLD_new());
  const bool pushed = OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) == 1 &&
                      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) == 1;
  const Handle<OSSL_PARAM, OSSL_PARAM_free> parameters(
      pushed ? OSSL_PARAM_BLD_to_param(builder.get()) : nullptr);
  const PkeyContextHandle context(EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
  EVP_PKEY* made = nullptr;
  if (parameters == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    return malformed("these are no numbers of an RSA key");
  }
  const PkeyHandle key(made);
  return from_der(encode_spki(key.get()));
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

SignatureAlgorithm PublicKey::algorithm() const { return impl_->row->algorithm; }
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

SignatureScheme PublicKey::scheme() const { return {impl_->row->algorithm, impl_->row->hash}; }

std::optional<HashAlgorithm> PublicKey::signs_hash() const {
  return digest_algorithm(impl_->row->hash);
}

std::optional<PublicKey::RsaNumbers> PublicKey::rsa_numbers() const {
  if (impl_->row->kind != KeyKind::kRsa) {
    return std::nullopt;
  }
  const auto bytes_of = [this](const char* parameter) {
    const BignumHandle number = number_of(impl_->key.get(), parameter);
    Bytes bytes(static_cast<std::size_t>(BN_num_bytes(number.get())));
    BN_bn2bin(number.get(), bytes.data());
    return bytes;
  };
  return RsaNumbers{bytes_of(OSSL_PKEY_PARAM_RSA_N), bytes_of(OSSL_PKEY_PARAM_RSA_E)};
}

Status PublicKey::verify(ByteView message, ByteView signature) const {
  return verify_as(scheme(), message, signature);
}

Status PublicKey::verify_digest(const Digest& digest, ByteView signature) const {
  return digest.algorithm() == signs_hash() ? verify_hash_as(scheme(), digest.bytes(), signature)
                                            : invalid();
}

Status PublicKey::verify_as(const SignatureScheme& scheme, ByteView message,
                            ByteView signature) const {
  if (scheme.hash != SignatureHash::kNone) {
    const ErrorQueueGuard guard;
    std::array<std::uint8_t, EVP_MAX_MD_SIZE> hash{};
    const int hashed = EVP_Q_digest(nullptr, openssl_name(scheme.hash), nullptr, message.data(),
                                    message.size(), hash.data(), nullptr);
    if (ASSAY_NO_MEMORY(hashed != 1)) {
      return unchecked();
    }
    return verify_hash_as(scheme, ByteView(hash).first(size_of(scheme.hash)), signature);
  }
  if (scheme.algorithm != algorithm() || impl_->row->hash != SignatureHash::kNone) {
    return invalid();
  }
  return verify_message(impl_->key.get(), message, signature);
}

Status PublicKey::verify_hash_as(const SignatureScheme& scheme, ByteView hash,
                                 ByteView signature) const {
  const AlgorithmRow& row = row_of(scheme.algorithm);
  const bool rsa = row.kind == KeyKind::kRsa && impl_->row->kind == KeyKind::kRsa;
  if ((!rsa && scheme.algorithm != algorithm()) || row.hash == SignatureHash::kNone ||
      hash.empty() || hash.size() != size_of(scheme.hash)) {
    return invalid();
  }
  return rsa ? verify_rsa(impl_->key.get(), scheme, hash, signature)
             : verify_ecdsa_der(impl_->key.get(), hash, signature);
}

}  // namespace assay::attestation
