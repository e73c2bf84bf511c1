// SPDX-License-Identifier: Apache-2.0
#include "attestation/scitt/receipt.h"

#include <array>
#include <utility>

#include "attestation/cose/sign1.h"
#include "attestation/scitt/statement.h"
#include "schemas/core/merkle.h"

namespace assay::attestation::scitt {
namespace {

using cbor::Kind;
using cbor::Value;

constexpr std::int64_t kClaimIssuer = 1;
constexpr std::size_t kMaxPath = 64;
constexpr std::array kUnderstoodHere = {kClaims, kProofType};

std::unexpected<Error> no_receipt(std::string why) {
  return fail(ErrorCode::kMalformedCose, "receipt: " + std::move(why));
}

Bytes encode_proof(const InclusionProof& proof) {
  cbor::Writer writer;
  writer.array(3);
  writer.integer(static_cast<std::int64_t>(proof.tree_size));
  writer.integer(static_cast<std::int64_t>(proof.leaf_index));
  writer.array(proof.path.size());
  for (const Digest& digest : proof.path) {
    writer.bytes(digest.bytes());
  }
  return writer.out();
}

Result<InclusionProof> parse_proof(ByteView bytes) {
  ASSAY_ASSIGN(const Value value, cbor::parse(bytes));
  const bool shaped =
      value.kind == Kind::kArray && value.items.size() == 3 &&
      value.items[0].kind == Kind::kUnsigned && value.items[1].kind == Kind::kUnsigned &&
      value.items[2].kind == Kind::kArray && value.items[2].items.size() <= kMaxPath;
  if (!shaped) {
    return no_receipt("a proof of inclusion is a tree size, a leaf index and a path");
  }
  InclusionProof proof{value.items[0].number, value.items[1].number, {}};
  for (const Value& item : value.items[2].items) {
    if (item.kind != Kind::kBytes) {
      return no_receipt("a path is a list of hashes");
    }
    ASSAY_ASSIGN(const Digest digest, Digest::from_bytes(HashAlgorithm::kSha256, item.bytes));
    proof.path.push_back(digest);
  }
  return proof;
}

// The one proof of inclusion. Several would be about several trees, of which one root is signed.
Result<InclusionProof> read_proof(const cose::Sign1& message) {
  const Value* type = message.header.find(kProofType);
  if (type == nullptr || type->integer() != kRfc9162Sha256) {
    return no_receipt("the protected header says that proofs are of RFC 9162 with SHA-256 (vds 1)");
  }
  const Value* proofs = message.unprotected.find(kProofs);
  const Value* inclusion = proofs == nullptr ? nullptr : proofs->find(kInclusionProofs);
  if (inclusion == nullptr || inclusion->kind != Kind::kArray || inclusion->items.size() != 1 ||
      inclusion->items.front().kind != Kind::kBytes) {
    return no_receipt("the unprotected header has one proof of inclusion");
  }
  return parse_proof(inclusion->items.front().bytes);
}

std::string issuer_of(const cose::Sign1& message) {
  const Value* claims = message.header.find(kClaims);
  const Value* issuer = claims == nullptr ? nullptr : claims->find(kClaimIssuer);
  const auto text = issuer == nullptr ? std::nullopt : issuer->text();
  return std::string(text.value_or(std::string_view()));
}

// RFC 9162 section 2.1.3.2, as the root that the path leads to.
Result<Digest> root_of(const Digest& leaf, const InclusionProof& proof) {
  if (proof.leaf_index >= proof.tree_size) {
    return fail(ErrorCode::kProofInvalid, "the leaf is not in a tree of this size");
  }
  std::uint64_t fn = proof.leaf_index;
  std::uint64_t sn = proof.tree_size - 1;
  Digest root = leaf;
  for (const Digest& sibling : proof.path) {
    if (sn == 0) {
      return fail(ErrorCode::kProofInvalid, "the path is too long for a tree of this size");
    }
    if ((fn & 1U) != 0 || fn == sn) {
      root = merkle_node(sibling, root);
      while ((fn & 1U) == 0 && fn != 0) {
        fn >>= 1U;
        sn >>= 1U;
      }
    } else {
      root = merkle_node(root, sibling);
    }
    fn >>= 1U;
    sn >>= 1U;
  }
  if (sn != 0) {
    return fail(ErrorCode::kProofInvalid, "the path is too short for a tree of this size");
  }
  return root;
}

}  // namespace

Result<Bytes> make_receipt(std::string_view origin, const InclusionProof& proof, const Digest& leaf,
                           const Digest& root, const Signer& log_key) {
  ASSAY_TRY(verify_inclusion(leaf, proof.leaf_index, proof.tree_size, proof.path, root));
  cbor::Writer claims;
  claims.map(1).integer(kClaimIssuer).text(origin);
  cbor::Writer type;
  type.integer(kRfc9162Sha256);
  cbor::Writer proofs;
  proofs.map(1).integer(kInclusionProofs).array(1).bytes(encode_proof(proof));
  return cose::sign1(root.bytes(),
                     {.content_type = {},
                      .corim_meta = {},
                      .more = {{kClaims, claims.out()}, {kProofType, type.out()}},
                      .unprotected = {{kProofs, proofs.out()}},
                      .detached = true},
                     log_key);
}

Result<VerifiedReceipt> verify_receipt(ByteView receipt, const Digest& leaf, const PublicKey& key) {
  ASSAY_ASSIGN(cose::Sign1 message,
               cose::parse_sign1(receipt, {.understood = kUnderstoodHere, .detached = true}));
  ASSAY_ASSIGN(const InclusionProof proof, read_proof(message));
  ASSAY_ASSIGN(const Digest root, root_of(leaf, proof));
  message.payload.assign(root.bytes().begin(), root.bytes().end());
  ASSAY_TRY(cose::verify_sign1(message, key));
  return VerifiedReceipt{issuer_of(message), proof.tree_size, proof.leaf_index, root};
}

}  // namespace assay::attestation::scitt
