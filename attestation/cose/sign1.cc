// SPDX-License-Identifier: Apache-2.0
#include "attestation/cose/sign1.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attestation/crypto/ecdsa_signature.h"

namespace assay::attestation::cose {
namespace {

using cbor::Kind;
using cbor::Value;

using enum SignatureAlgorithm;

struct Algorithm {
  std::int64_t id;
  SignatureScheme scheme;
};
// RFC 9053 sections 2.1 and 2.2; RFC 8230 section 2; RFC 8812 section 2; the IANA registry for
// ML-DSA. The hash belongs to the curve, which RFC 9053 leaves open.
constexpr std::array<Algorithm, 13> kAlgorithms = {{
    {-7, {kEcdsaP256, SignatureHash::kSha256}},
    {-35, {kEcdsaP384, SignatureHash::kSha384}},
    {-36, {kEcdsaP521, SignatureHash::kSha512}},
    {-8, {kEd25519, SignatureHash::kNone}},
    {-37, {kRsaPss, SignatureHash::kSha256}},
    {-38, {kRsaPss, SignatureHash::kSha384}},
    {-39, {kRsaPss, SignatureHash::kSha512}},
    {-257, {kRsaPkcs1, SignatureHash::kSha256}},
    {-258, {kRsaPkcs1, SignatureHash::kSha384}},
    {-259, {kRsaPkcs1, SignatureHash::kSha512}},
    {-48, {kMlDsa44, SignatureHash::kNone}},
    {-49, {kMlDsa65, SignatureHash::kNone}},
    {-50, {kMlDsa87, SignatureHash::kNone}},
}};

constexpr std::array kUnderstood = {kAlgorithm, kCritical, kContentType, kKeyId, kCorimMeta};

std::unexpected<Error> malformed(std::string why) {
  return fail(ErrorCode::kMalformedCose, std::move(why));
}

std::unexpected<Error> invalid() {
  return fail(ErrorCode::kSignatureInvalid, "the COSE signature does not verify with this key");
}

const Algorithm& algorithm_of(const Signer& signer) {
  const AlgorithmRow& row = row_of(signer.algorithm());
  return *std::ranges::find(kAlgorithms, SignatureScheme{row.algorithm, row.hash},
                            &Algorithm::scheme);
}

// An empty protected header is a byte string of no bytes, or one with an empty map.
Result<Value> open_protected(const Value& item) {
  if (item.kind != Kind::kBytes) {
    return malformed("the protected header is a byte string");
  }
  if (item.bytes.empty()) {
    return Value{Kind::kMap, 0};
  }
  ASSAY_ASSIGN(Value header, cbor::parse(item.bytes));
  if (header.kind != Kind::kMap) {
    return malformed("the protected header holds a map");
  }
  return header;
}

// RFC 9052 section 3: a label stands once in both headers together.
Status check_labels(const Value& first, const Value& second) {
  for (std::size_t i = 0; i < first.items.size(); i += 2) {
    const Value& label = first.items[i];
    if (!label.integer() && !label.text()) {
      return malformed("labels of header parameters are integers or texts");
    }
    for (std::size_t j = 0; j < second.items.size(); j += 2) {
      if (label.integer() == second.items[j].integer() && label.bytes == second.items[j].bytes &&
          label.kind == second.items[j].kind) {
        return malformed("a header parameter stands in both headers");
      }
    }
  }
  return {};
}

// RFC 9052 section 3.1: whoever does not understand a critical parameter must not go on.
Status check_critical(const Value& header, const Value& unprotected,
                      std::span<const std::int64_t> more) {
  if (unprotected.find(kCritical) != nullptr) {
    return malformed("critical parameters are named in the protected header");
  }
  const Value* list = header.find(kCritical);
  if (list == nullptr) {
    return {};
  }
  if (list->kind != Kind::kArray || list->items.empty()) {
    return malformed("critical parameters are a list of at least one label");
  }
  for (const Value& label : list->items) {
    const auto number = label.integer();
    const bool understood =
        number && (std::ranges::find(kUnderstood, *number) != kUnderstood.end() ||
                   std::ranges::find(more, *number) != more.end());
    if (!understood || header.find(*number) == nullptr) {
      return malformed("a critical header parameter is not understood here");
    }
  }
  return {};
}

Status read_algorithm(const Value& header, Sign1& message) {
  const Value* value = header.find(kAlgorithm);
  const auto id = value == nullptr ? std::nullopt : value->integer();
  const auto known =
      std::ranges::find_if(kAlgorithms, [&](const Algorithm& one) { return id == one.id; });
  if (known == kAlgorithms.end()) {
    return malformed(
        "the protected header names one of these algorithms: ES256, ES384, ES512, EdDSA, PS256 to "
        "PS512, RS256 to RS512, ML-DSA");
  }
  message.scheme = known->scheme;
  return {};
}

Status read_parameters(const Value& header, const Value& unprotected, Sign1& message) {
  ASSAY_TRY(read_algorithm(header, message));
  if (const Value* type = header.find(kContentType); type != nullptr) {
    const auto text = type->text();
    if (text && !text->empty()) {
      message.content_type = *text;
    } else if (type->kind == Kind::kUnsigned) {
      message.content_type = "coap:" + std::to_string(type->number);
    } else {
      return malformed("the content type is a text or a number");
    }
  }
  if (const Value* meta = header.find(kCorimMeta); meta != nullptr) {
    if (meta->kind != Kind::kBytes || meta->bytes.empty()) {
      return malformed("corim-meta is a byte string");
    }
    message.corim_meta = meta->bytes;
  }
  const Value* id = header.find(kKeyId);
  id = id != nullptr ? id : unprotected.find(kKeyId);
  if (id != nullptr && id->kind != Kind::kBytes) {
    return malformed("a key id is a byte string");
  }
  message.key_id = id != nullptr ? id->bytes : Bytes();
  return {};
}

// RFC 9052 section 4.4.
Bytes to_be_signed(ByteView protected_header, ByteView external_aad, ByteView payload) {
  cbor::Writer writer;
  writer.array(4).text("Signature1");
  writer.bytes(protected_header).bytes(external_aad).bytes(payload);
  return writer.out();
}

void append(cbor::Writer& writer, const std::vector<std::pair<std::int64_t, Bytes>>& pairs) {
  for (const auto& [label, value] : pairs) {
    writer.integer(label).encoded(value);
  }
}

Bytes encode_protected(const Algorithm& algorithm, const Sign1Content& content) {
  const bool typed = !content.content_type.empty();
  const bool described = !content.corim_meta.empty();
  cbor::Writer writer;
  writer.map(std::size_t{1} + (typed ? 1U : 0U) + (described ? 1U : 0U) + content.more.size());
  writer.integer(kAlgorithm).integer(algorithm.id);
  if (typed) {
    writer.integer(kContentType).text(content.content_type);
  }
  if (described) {
    writer.integer(kCorimMeta).bytes(content.corim_meta);
  }
  append(writer, content.more);
  return writer.out();
}

}  // namespace

Result<Sign1> parse_sign1(ByteView bytes, const Sign1Options& options) {
  ASSAY_ASSIGN(const Value whole, cbor::parse(bytes));
  const Value* array = whole.kind == Kind::kTag ? whole.tagged(kSign1Tag) : &whole;
  if (array == nullptr || array->kind != Kind::kArray || array->items.size() != 4) {
    return malformed("a COSE_Sign1 is an array of four items, under the tag 18");
  }
  const Value& unprotected = array->items[1];
  const Value& payload = array->items[2];
  const Value& signature = array->items[3];
  if (unprotected.kind != Kind::kMap || signature.kind != Kind::kBytes) {
    return malformed("the unprotected header is a map, and the signature a byte string");
  }
  if (options.detached ? !payload.is_null() : payload.kind != Kind::kBytes) {
    return malformed(options.detached ? "the payload is detached: null stands in its place"
                                      : "the payload stands inside the message, as a byte string");
  }
  ASSAY_ASSIGN(Value header, open_protected(array->items[0]));
  ASSAY_TRY(check_labels(header, unprotected));
  ASSAY_TRY(check_labels(unprotected, header));
  ASSAY_TRY(check_critical(header, unprotected, options.understood));
  Sign1 message;
  ASSAY_TRY(read_parameters(header, unprotected, message));
  message.protected_header = array->items[0].bytes;
  message.payload = payload.bytes;
  message.signature = signature.bytes;
  message.header = std::move(header);
  message.unprotected = unprotected;
  return message;
}

// The algorithm is the key's; what the message says can only contradict it.
Status verify_sign1(const Sign1& message, const PublicKey& key, ByteView external_aad) {
  if (key.algorithm() != message.scheme.algorithm) {
    return invalid();
  }
  const std::size_t scalar_bytes = coordinate_bytes(row_of(key.algorithm()));
  const Bytes signature =
      scalar_bytes == 0 ? message.signature : der_signature(message.signature, scalar_bytes);
  if (signature.empty()) {
    return invalid();
  }
  return key.verify_as(message.scheme,
                       to_be_signed(message.protected_header, external_aad, message.payload),
                       signature);
}

Result<Bytes> sign1(ByteView payload, const Sign1Content& content, const Signer& signer,
                    ByteView external_aad) {
  const Algorithm& algorithm = algorithm_of(signer);
  const Bytes header = encode_protected(algorithm, content);
  ASSAY_ASSIGN(Bytes signature, signer.sign(to_be_signed(header, external_aad, payload)));
  const std::size_t scalar_bytes = coordinate_bytes(row_of(signer.algorithm()));
  if (scalar_bytes != 0) {
    signature = raw_signature(signature, scalar_bytes);
  }
  if (signature.empty()) {
    return fail(ErrorCode::kKeyUnusable, "the key made no signature of its algorithm");
  }
  cbor::Writer writer;
  writer.tag(kSign1Tag).array(4).bytes(header);
  writer.map(1 + content.unprotected.size());
  writer.integer(kKeyId).bytes(signer.key_id().digest().bytes());
  append(writer, content.unprotected);
  if (content.detached) {
    writer.null();
  } else {
    writer.bytes(payload);
  }
  writer.bytes(signature);
  return writer.out();
}

}  // namespace assay::attestation::cose
