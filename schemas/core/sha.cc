// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/sha.h"

#include <array>
#include <cstdio>
#include <cstdlib>

#include <openssl/evp.h>

namespace assay {
namespace {

void require(int result) {
  if (result != 1) {
    std::fputs("assay: the OpenSSL digest implementation failed; stopping\n", stderr);
    std::abort();
  }
}

// Fetched once: an implicit fetch per message costs more than hashing a short one.
const EVP_MD* evp_md(HashAlgorithm algorithm) {
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA2-256", nullptr);
  static const EVP_MD* const sha384 = EVP_MD_fetch(nullptr, "SHA2-384", nullptr);
  const EVP_MD* md = algorithm == HashAlgorithm::kSha256 ? sha256 : sha384;
  require(md != nullptr ? 1 : 0);
  return md;
}

}  // namespace

void ShaStream::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

ShaStream::ShaStream(HashAlgorithm algorithm) : algorithm_(algorithm), context_(EVP_MD_CTX_new()) {
  require(context_ != nullptr ? 1 : 0);
  restart();
}

ShaStream::~ShaStream() = default;
ShaStream::ShaStream(ShaStream&&) noexcept = default;
ShaStream& ShaStream::operator=(ShaStream&&) noexcept = default;

void ShaStream::restart() {
  require(EVP_DigestInit_ex2(context_.get(), evp_md(algorithm_), nullptr));
}

void ShaStream::update(ByteView bytes) {
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

Digest ShaStream::finish() {
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> out{};
  unsigned int length = 0;
  require(EVP_DigestFinal_ex(context_.get(), out.data(), &length));
  require(length == digest_size(algorithm_) ? 1 : 0);
  restart();
  return Digest::wrap(algorithm_, out.data());
}

ShaStream ShaStream::copy() const {
  ShaStream other(algorithm_);
  require(EVP_MD_CTX_copy_ex(other.context_.get(), context_.get()));
  return other;
}

Digest sha(HashAlgorithm algorithm, std::initializer_list<ByteView> parts) {
  // One context a thread and algorithm: small messages (tree nodes) are the common case.
  static thread_local ShaStream sha256_stream(HashAlgorithm::kSha256);
  static thread_local ShaStream sha384_stream(HashAlgorithm::kSha384);
  ShaStream& stream = algorithm == HashAlgorithm::kSha256 ? sha256_stream : sha384_stream;
  for (const ByteView part : parts) {
    stream.update(part);
  }
  return stream.finish();
}

Digest sha(HashAlgorithm algorithm, ByteView bytes) { return sha(algorithm, {bytes}); }

Digest sha256(ByteView bytes) { return sha(HashAlgorithm::kSha256, {bytes}); }

}  // namespace assay
