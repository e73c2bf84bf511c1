// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/flat_hash.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <openssl/evp.h>

#include "schemas/core/names.h"

namespace assay {
namespace {

constexpr Names<FlatHash, 2> kFlatNames = {
    {{{FlatHash::kSha256, "sha256"}, {FlatHash::kBlake2b, "blake2b"}}}};

void require_flat(bool worked) {
  if (!worked) {
    std::fputs("assay: the OpenSSL digest implementation failed; stopping\n", stderr);
    std::abort();
  }
}

// Fetched once, as in schemas/core/sha.cc.
const EVP_MD* flat_md(FlatHash hash) {
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA2-256", nullptr);
  static const EVP_MD* const blake2b = EVP_MD_fetch(nullptr, "BLAKE2B-512", nullptr);
  const EVP_MD* md = hash == FlatHash::kSha256 ? sha256 : blake2b;
  require_flat(md != nullptr);
  return md;
}

}  // namespace

std::string_view name(FlatHash hash) { return kFlatNames.of(hash); }

Result<FlatHash> flat_hash_from(std::string_view text) {
  return kFlatNames.parse(text,
                          text == "blake3"
                              ? "BLAKE3 is not computed here: Debian 12 has no library "
                                "for it; have the model signed with sha256"
                              : "the hash of files is sha256 or blake2b",
                          ErrorCode::kInvalidDigest);
}

void FlatStream::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

FlatStream::FlatStream(FlatHash hash) : hash_(hash), context_(EVP_MD_CTX_new()) {
  require_flat(context_ != nullptr);
  restart();
}

FlatStream::~FlatStream() = default;
FlatStream::FlatStream(FlatStream&&) noexcept = default;
FlatStream& FlatStream::operator=(FlatStream&&) noexcept = default;

void FlatStream::restart() {
  require_flat(EVP_DigestInit_ex2(context_.get(), flat_md(hash_), nullptr) == 1);
}

void FlatStream::update(ByteView bytes) {
  require_flat(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

Bytes FlatStream::finish() {
  Bytes out(flat_size(hash_));
  unsigned int length = 0;
  require_flat(EVP_DigestFinal_ex(context_.get(), out.data(), &length) == 1);
  require_flat(length == out.size());
  restart();
  return out;
}

}  // namespace assay
