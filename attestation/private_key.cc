// SPDX-License-Identifier: Apache-2.0
// Private keys in memory: making them, signing, and their PKCS#8 PEM form. Files: key_file.cc.
#include "attestation/private_key.h"

#include <array>

#include <openssl/core_names.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include "attestation/crypto/no_memory.h"
#include "attestation/rsa_scheme.h"

namespace assay::attestation {
namespace {

constexpr std::string_view kPlainLabel = "PRIVATE KEY";
constexpr std::string_view kEncryptedLabel = "ENCRYPTED PRIVATE KEY";

// RFC 7914 parameters: as much memory as OpenSSL reads back with its default limit (32 MiB), five
// lanes to make up for it.
constexpr std::uint64_t kScryptN = 16384;
constexpr std::uint64_t kScryptR = 8;
constexpr std::uint64_t kScryptP = 5;
constexpr std::size_t kSaltSize = 16;
constexpr std::size_t kMaxPassphrase = 64U << 10;  // OpenSSL takes its size as an int

std::unexpected<Error> unusable(const char* why) { return fail(ErrorCode::kKeyUnusable, why); }
std::unexpected<Error> not_one_block() {
  return unusable("a private key file holds one PKCS#8 PEM block and nothing else");
}

class PrivateKey final : public Signer {
 public:
  PrivateKey(PkeyHandle key, PublicKey public_key)
      : key_(std::move(key)), public_key_(std::move(public_key)) {}

  [[nodiscard]] SignatureAlgorithm algorithm() const override { return public_key_.algorithm(); }
  [[nodiscard]] const KeyId& key_id() const override { return public_key_.id(); }
  [[nodiscard]] const Bytes& public_key() const override { return public_key_.der(); }
  [[nodiscard]] Result<Bytes> sign(ByteView message) const override;
  [[nodiscard]] EVP_PKEY* get() const { return key_.get(); }

 private:
  PkeyHandle key_;
  PublicKey public_key_;
};

// A context of its own for each signature, so that threads may share the key.
Result<Bytes> PrivateKey::sign(ByteView message) const {
  const ErrorQueueGuard guard;
  const DigestContextHandle context(EVP_MD_CTX_new());
  if (ASSAY_NO_MEMORY(context == nullptr)) {
    return unusable("the key cannot sign");
  }
  const SignatureScheme scheme = public_key_.scheme();
  EVP_PKEY_CTX* parameters = nullptr;  // owned by the context
  const int ready = EVP_DigestSignInit_ex(context.get(), &parameters, openssl_name(scheme.hash),
                                          nullptr, nullptr, key_.get(), nullptr);
  if (ASSAY_NO_MEMORY(ready != 1)) {
    return unusable("the key cannot sign");
  }
  const bool rsa = row_of(scheme.algorithm).kind == KeyKind::kRsa;
  if (rsa && !set_rsa_padding(parameters, scheme)) {
    return unusable("the key cannot sign");
  }
  Bytes signature(static_cast<std::size_t>(EVP_PKEY_get_size(key_.get())));
  std::size_t size = signature.size();
  if (EVP_DigestSign(context.get(), signature.data(), &size, message.data(), message.size()) != 1) {
    return unusable("the key cannot sign");
  }
  signature.resize(size);
  return signature;
}

// The public half in the one form that keys have here.
Result<PublicKey> public_half(EVP_PKEY* key) {
  if (EVP_PKEY_is_a(key, "EC") == 1 &&
      EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT,
                                     "uncompressed") != 1) {
    return unusable("the private key's curve is not supported");
  }
  unsigned char* out = nullptr;
  const int size = i2d_PUBKEY(key, &out);
  if (size <= 0) {
    return unusable("the private key has no public half");
  }
  const Bytes der(out, out + size);
  OPENSSL_free(out);
  return PublicKey::from_der(der);
}

// Takes the key if its algorithm is one of ours and its two halves belong together.
Result<std::unique_ptr<Signer>> make_signer(PkeyHandle key) {
  ASSAY_ASSIGN(PublicKey public_key, public_half(key.get()));
  const PkeyContextHandle context(EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr));
  if (ASSAY_NO_MEMORY(context == nullptr)) {
    return unusable("the key cannot be checked");
  }
  if (EVP_PKEY_pairwise_check(context.get()) != 1) {
    return unusable("the private and the public half of the key do not belong together");
  }
  return std::make_unique<PrivateKey>(std::move(key), std::move(public_key));
}

// One PEM block in memory that OpenSSL allocated; wiped when it goes.
struct PemBlock {
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;

  PemBlock() = default;
  PemBlock(const PemBlock&) = delete;
  PemBlock& operator=(const PemBlock&) = delete;
  ~PemBlock() {
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_clear_free(data, static_cast<std::size_t>(size));
  }
};

Result<Pkcs8Handle> decrypt(const PemBlock& block, const SecretBytes& passphrase) {
  const unsigned char* next = block.data;
  const X509SigHandle sealed(d2i_X509_SIG(nullptr, &next, block.size));
  if (sealed == nullptr || next != block.data + block.size) {
    return unusable("the encrypted key is damaged");
  }
  const X509_ALGOR* algorithm = nullptr;
  X509_SIG_get0(sealed.get(), &algorithm, nullptr);
  if (OBJ_obj2nid(algorithm->algorithm) != NID_pbes2) {
    return unusable(
        "the key is encrypted in an old way; encrypt it anew with: openssl pkcs8 -topk8 -scrypt "
        "-in OLD -out NEW");
  }
  if (passphrase.empty()) {
    return unusable(
        "the key is encrypted; give its passphrase (--passphrase-file of assay, passphrase_file in "
        "the configuration of assayd)");
  }
  if (passphrase.view().size() > kMaxPassphrase) {
    return unusable("a passphrase has at most 64 KiB");
  }
  const ByteView pass = passphrase.view();
  Pkcs8Handle info(PKCS8_decrypt(sealed.get(), reinterpret_cast<const char*>(pass.data()),
                                 static_cast<int>(pass.size())));
  if (info == nullptr) {
    return unusable("the passphrase does not open the key");
  }
  return info;
}

Result<Pkcs8Handle> read_plain(const PemBlock& block) {
  const unsigned char* next = block.data;
  Pkcs8Handle info(d2i_PKCS8_PRIV_KEY_INFO(nullptr, &next, block.size));
  if (info == nullptr || next != block.data + block.size) {
    return unusable("the key is damaged");
  }
  return info;
}

// PBES2 with scrypt and AES-256-CBC.
X509SigHandle encrypt(PKCS8_PRIV_KEY_INFO* info, const SecretBytes& passphrase) {
  std::array<std::uint8_t, kSaltSize> salt{};
  if (RAND_bytes(salt.data(), static_cast<int>(salt.size())) != 1) {
    return nullptr;
  }
  AlgorithmHandle scheme(PKCS5_pbe2_set_scrypt(EVP_aes_256_cbc(), salt.data(),
                                               static_cast<int>(salt.size()), nullptr, kScryptN,
                                               kScryptR, kScryptP));
  if (scheme == nullptr) {
    return nullptr;
  }
  const ByteView pass = passphrase.view();
  X509SigHandle sealed(PKCS8_set0_pbe(reinterpret_cast<const char*>(pass.data()),
                                      static_cast<int>(pass.size()), info, scheme.get()));
  if (ASSAY_NO_MEMORY(sealed == nullptr)) {
    return nullptr;
  }
  static_cast<void>(scheme.release());  // now part of `sealed`
  return sealed;
}

bool write_pem(BIO* out, EVP_PKEY* key, const SecretBytes& passphrase) {
  const Pkcs8Handle info(EVP_PKEY2PKCS8(key));
  if (ASSAY_NO_MEMORY(info == nullptr)) {
    return false;
  }
  if (passphrase.empty()) {
    return PEM_write_bio_PKCS8_PRIV_KEY_INFO(out, info.get()) == 1;
  }
  const X509SigHandle sealed = encrypt(info.get(), passphrase);
  return sealed != nullptr && PEM_write_bio_PKCS8(out, sealed.get()) == 1;
}

}  // namespace

Result<std::unique_ptr<Signer>> generate_key(SignatureAlgorithm algorithm) {
  const ErrorQueueGuard guard;
  const AlgorithmRow& row = row_of(algorithm);
  if (row.kind == KeyKind::kRsa || !is_available(row)) {
    return fail(ErrorCode::kUnsupportedKey,
                "no key of " + std::string(name(algorithm)) + " can be made here");
  }
  PkeyHandle key(row.kind == KeyKind::kEc ? EVP_EC_gen(row.openssl)
                                          : EVP_PKEY_Q_keygen(nullptr, nullptr, row.openssl));
  if (key == nullptr) {
    return unusable("no key of this algorithm can be made");
  }
  return make_signer(std::move(key));
}

bool is_encrypted_pem(std::string_view pem) {
  return pem.starts_with("-----BEGIN " + std::string(kEncryptedLabel) + "-----");
}

Result<std::unique_ptr<Signer>> parse_private_key(std::string_view pem,
                                                  const SecretBytes& passphrase) {
  const ErrorQueueGuard guard;
  if (!pem.starts_with("-----BEGIN ")) {
    return not_one_block();
  }
  const BioHandle in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (ASSAY_NO_MEMORY(in == nullptr)) {
    return unusable("the key cannot be read");
  }
  PemBlock block;
  if (PEM_read_bio(in.get(), &block.name, &block.header, &block.data, &block.size) != 1) {
    return not_one_block();
  }
  char rest = 0;
  const bool alone = BIO_read(in.get(), &rest, 1) <= 0;
  const std::string_view label(block.name);
  if (!alone || *block.header != '\0' || (label != kPlainLabel && label != kEncryptedLabel)) {
    return not_one_block();
  }
  ASSAY_ASSIGN(const Pkcs8Handle info,
               label == kEncryptedLabel ? decrypt(block, passphrase) : read_plain(block));
  PkeyHandle key(EVP_PKCS82PKEY(info.get()));
  if (key == nullptr) {
    return unusable("the key's algorithm is not supported; docs/keys.md has those that are");
  }
  return make_signer(std::move(key));
}

Result<SecretBytes> encode_private_key(const Signer& signer, const SecretBytes& passphrase) {
  const ErrorQueueGuard guard;
  const auto* key = dynamic_cast<const PrivateKey*>(&signer);
  if (key == nullptr) {
    return unusable("only keys made here can be written");
  }
  if (passphrase.view().size() > kMaxPassphrase) {
    return unusable("a passphrase has at most 64 KiB");
  }
  const BioHandle out(BIO_new(BIO_s_secmem()));
  if (ASSAY_NO_MEMORY(out == nullptr)) {
    return unusable("the key cannot be written");
  }
  if (!write_pem(out.get(), key->get(), passphrase)) {
    return unusable("the key cannot be written");
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  if (size <= 0) {
    return unusable("the key cannot be written");
  }
  return SecretBytes(to_bytes(std::string_view(data, static_cast<std::size_t>(size))));
}

}  // namespace assay::attestation
