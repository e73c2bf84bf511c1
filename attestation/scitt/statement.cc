// SPDX-License-Identifier: Apache-2.0
#include "attestation/scitt/statement.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schemas/core/sha.h"

namespace assay::attestation::scitt {
namespace {

using cbor::Kind;
using cbor::Value;

constexpr std::int64_t kIssuer = 1;  // claims of RFC 8392 section 4
constexpr std::int64_t kSubject = 2;
constexpr std::int64_t kIssuedAt = 6;
constexpr std::uint64_t kEpochTime = 1;    // tag of RFC 8949 section 3.4.2
constexpr std::int64_t kCoseSha256 = -16;  // RFC 9054
constexpr std::int64_t kCoseSha384 = -43;

// What a statement may call critical: all that is read here.
constexpr std::array kUnderstood = {kClaims,      kChain,        kCertificateHash,
                                    kPayloadHash, kPreimageType, kPayloadLocation};

std::unexpected<Error> malformed(std::string why) {
  return fail(ErrorCode::kMalformedCose, std::move(why));
}

bool is_plain(std::string_view text) {
  return !text.empty() && text.size() <= kMaxClaim &&
         std::ranges::none_of(text, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; });
}

Result<std::string> claim(const Value& claims, std::int64_t label, const char* name) {
  const Value* found = claims.find(label);
  const auto text = found == nullptr ? std::nullopt : found->text();
  if (!text || !is_plain(*text)) {
    return malformed(std::string("the claim ") + name + " is a text of 1 to 1024 bytes");
  }
  return std::string(*text);
}

Status read_claims(const Value& header, SignedStatement& statement) {
  const Value* claims = header.find(kClaims);
  if (claims == nullptr || claims->kind != Kind::kMap) {
    return malformed(
        "a signed statement has the claims of its issuer (15) in the protected header");
  }
  ASSAY_ASSIGN(statement.issuer, claim(*claims, kIssuer, "iss"));
  ASSAY_ASSIGN(statement.subject, claim(*claims, kSubject, "sub"));
  if (const Value* time = claims->find(kIssuedAt); time != nullptr) {
    const Value* const tagged = time->tagged(kEpochTime);
    statement.issued_at = (tagged != nullptr ? *tagged : *time).integer();
    if (!statement.issued_at) {
      return malformed("the claim iat is a number of seconds");
    }
  }
  return {};
}

// RFC 9360 section 2: one certificate, or several, the leaf first.
Status read_chain(const Value& header, SignedStatement& statement) {
  const Value* chain = header.find(kChain);
  if (chain == nullptr) {
    return {};
  }
  const bool one = chain->kind == Kind::kBytes;
  const bool several = chain->kind == Kind::kArray && chain->items.size() >= 2;
  if ((!one && !several) || chain->items.size() > kMaxChain) {
    return malformed("x5chain is one certificate, or a list of 2 to 8");
  }
  const std::span<const Value> items =
      one ? std::span<const Value>(chain, 1) : std::span<const Value>(chain->items);
  for (const Value& item : items) {
    if (item.kind != Kind::kBytes) {
      return malformed("certificates are byte strings");
    }
    ASSAY_ASSIGN(x509::Certificate certificate, x509::Certificate::from_der(item.bytes));
    statement.chain.push_back(std::move(certificate));
  }
  return {};
}

// RFC 9360 section 2: x5t is the algorithm and the hash of the leaf.
Status check_certificate_hash(const Value& header, const SignedStatement& statement) {
  const Value* hash = header.find(kCertificateHash);
  if (hash == nullptr || statement.chain.empty()) {
    return {};
  }
  if (hash->kind != Kind::kArray || hash->items.size() != 2) {
    return malformed("x5t is an algorithm and a hash");
  }
  const auto algorithm = hash->items[0].integer();
  if (algorithm != kCoseSha256 && algorithm != kCoseSha384) {
    return malformed("x5t has SHA-256 or SHA-384");
  }
  const Digest expected =
      sha(algorithm == kCoseSha256 ? HashAlgorithm::kSha256 : HashAlgorithm::kSha384,
          statement.chain.front().der());
  if (hash->items[1].kind != Kind::kBytes ||
      !std::ranges::equal(hash->items[1].bytes, expected.bytes())) {
    return malformed("x5t is the hash of another certificate than the first of x5chain");
  }
  return {};
}

Status read_hash_envelope(const Value& header, SignedStatement& statement) {
  if (const Value* hash = header.find(kPayloadHash); hash != nullptr) {
    statement.payload_hash = hash->integer();
    if (!statement.payload_hash) {
      return malformed("the algorithm of the payload's hash is a number");
    }
  }
  for (const auto& [label, to] : {std::pair(kPreimageType, &statement.preimage_type),
                                  std::pair(kPayloadLocation, &statement.payload_location)}) {
    const Value* found = header.find(label);
    if (found == nullptr) {
      continue;
    }
    const auto text = found->text();
    if (text ? !is_plain(*text) : !found->integer()) {
      return malformed("type and location of what was hashed are texts");
    }
    *to = text ? std::string(*text) : "coap:" + std::to_string(*found->integer());
  }
  return {};
}

Status read_receipts(const Value& unprotected, SignedStatement& statement) {
  const Value* receipts = unprotected.find(kReceipts);
  if (receipts == nullptr) {
    return {};
  }
  if (receipts->kind != Kind::kArray || receipts->items.size() > kMaxReceipts) {
    return malformed("receipts are a list of at most 32");
  }
  for (const Value& item : receipts->items) {
    if (item.kind != Kind::kBytes) {
      return malformed("receipts are byte strings");
    }
    statement.receipts.push_back(item.bytes);
  }
  return {};
}

}  // namespace

Result<SignedStatement> parse_statement(ByteView bytes) {
  SignedStatement statement;
  ASSAY_ASSIGN(statement.message, cose::parse_sign1(bytes, {.understood = kUnderstood}));
  const Value& header = statement.message.header;
  ASSAY_TRY(read_claims(header, statement));
  ASSAY_TRY(read_chain(header, statement));
  ASSAY_TRY(check_certificate_hash(header, statement));
  ASSAY_TRY(read_hash_envelope(header, statement));
  ASSAY_TRY(read_receipts(statement.message.unprotected, statement));
  return statement;
}

Status verify_by_key(const SignedStatement& statement, const PublicKey& key) {
  return cose::verify_sign1(statement.message, key);
}

Result<x509::VerifiedPath> verify_by_chain(const SignedStatement& statement,
                                           std::span<const x509::Certificate> anchors,
                                           const x509::PathOptions& options) {
  if (statement.chain.empty()) {
    return fail(ErrorCode::kSignatureMissing,
                "the statement has no certificate chain (x5chain); verify it with a key");
  }
  const std::span<const x509::Certificate> chain(statement.chain);
  ASSAY_ASSIGN(x509::VerifiedPath path,
               x509::verify_path(chain.front(), chain.subspan(1), anchors, options));
  ASSAY_ASSIGN(const PublicKey key,
               PublicKey::from_der(path.leaf().key_der(), statement.message.scheme.algorithm));
  ASSAY_TRY(cose::verify_sign1(statement.message, key));
  return path;
}

}  // namespace assay::attestation::scitt
