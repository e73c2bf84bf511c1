// SPDX-License-Identifier: Apache-2.0
#include "attestation/oms/old_form.h"

#include <algorithm>
#include <array>
#include <string>

#include "attestation/crypto/openssl_handles.h"

namespace assay::attestation::oms {
namespace {

// Python's repr() of a bytes object.
std::string literal(ByteView bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const bool has_quote = std::ranges::find(bytes, '\'') != bytes.end();
  const char quote = has_quote && std::ranges::find(bytes, '"') == bytes.end() ? '"' : '\'';
  std::string text = {'b', quote};
  for (const std::uint8_t byte : bytes) {
    const char c = static_cast<char>(byte);
    if (c == quote || c == '\\') {
      text += {'\\', c};
    } else if (c == '\t') {
      text += "\\t";
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '\r') {
      text += "\\r";
    } else if (byte < 0x20 || byte >= 0x7f) {
      text += {'\\', 'x', kHex[byte >> 4], kHex[byte & 0xf]};
    } else {
      text += c;
    }
  }
  return text + quote;
}

bool verifies(const PublicKey& key, const EVP_MD* hash, ByteView message, ByteView signature) {
  const ErrorQueueGuard guard;
  const unsigned char* next = key.der().data();
  const PkeyHandle parsed(d2i_PUBKEY(nullptr, &next, static_cast<long>(key.der().size())));
  const DigestContextHandle context(EVP_MD_CTX_new());
  return parsed != nullptr && context != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, hash, nullptr, parsed.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(), message.data(),
                          message.size()) == 1;
}

}  // namespace

Bytes old_encoding(const Envelope& envelope) {
  return to_bytes("DSSEV1 " + std::to_string(envelope.payload_type.size()) + " " +
                  envelope.payload_type + " " + std::to_string(envelope.payload.size()) + " " +
                  literal(envelope.payload));
}

Status verify_old(const Envelope& envelope, const PublicKey& key) {
  const Bytes message = old_encoding(envelope);
  const Bytes& signature = envelope.signatures.front().signature;
  if (key.verify(message, signature) || verifies(key, EVP_sha256(), message, signature)) {
    return {};
  }
  return fail(ErrorCode::kSignatureInvalid, "the signature does not verify");
}

}  // namespace assay::attestation::oms
