// SPDX-License-Identifier: Apache-2.0
#include "attestation/crypto/ecdsa_signature.h"

#include <algorithm>
#include <span>

#include "attestation/crypto/openssl_handles.h"

namespace assay::attestation {
namespace {

constexpr std::size_t kScalarBytes = kRawSignatureBytes / 2;
constexpr std::size_t kP384ScalarBytes = 48;
constexpr std::size_t kP521ScalarBytes = 66;

bool is_known(std::size_t scalar_bytes) {
  return scalar_bytes == kScalarBytes || scalar_bytes == kP384ScalarBytes ||
         scalar_bytes == kP521ScalarBytes;
}

// Appends the DER INTEGER of a big-endian scalar; false for zero.
bool append_integer(ByteView scalar, Bytes& out) {
  const auto first =
      std::ranges::find_if(scalar, [](std::uint8_t byte) { return byte != 0; }) - scalar.begin();
  const ByteView digits = scalar.subspan(static_cast<std::size_t>(first));
  if (digits.empty()) {
    return false;
  }
  const bool padded = digits.front() >= 0x80;
  out.push_back(0x02);
  out.push_back(static_cast<std::uint8_t>(digits.size() + (padded ? 1 : 0)));
  if (padded) {
    out.push_back(0);
  }
  out.insert(out.end(), digits.begin(), digits.end());
  return true;
}

bool write(const BIGNUM* number, std::span<std::uint8_t> out) {
  return BN_is_negative(number) == 0 &&
         BN_bn2binpad(number, out.data(), static_cast<int>(out.size())) >= 0;
}

}  // namespace

// The content has at most 138 bytes. From 128 on its length takes a second byte.
Bytes der_signature(ByteView raw, std::size_t scalar_bytes) {
  if (!is_known(scalar_bytes) || raw.size() != 2 * scalar_bytes) {
    return {};
  }
  Bytes content;
  content.reserve(2 * (scalar_bytes + 3));
  if (!append_integer(raw.first(scalar_bytes), content) ||
      !append_integer(raw.last(scalar_bytes), content)) {
    return {};
  }
  Bytes out = {0x30};
  if (content.size() >= 0x80) {
    out.push_back(0x81);
  }
  out.push_back(static_cast<std::uint8_t>(content.size()));
  out.insert(out.end(), content.begin(), content.end());
  return out;
}

Bytes raw_signature(ByteView der, std::size_t scalar_bytes) {
  if (!is_known(scalar_bytes)) {
    return {};
  }
  const ErrorQueueGuard guard;
  const unsigned char* next = der.data();
  const EcdsaSignatureHandle parsed(d2i_ECDSA_SIG(nullptr, &next, static_cast<long>(der.size())));
  Bytes raw(2 * scalar_bytes);
  if (parsed == nullptr || next != der.data() + der.size() ||
      !write(ECDSA_SIG_get0_r(parsed.get()), std::span(raw).first(scalar_bytes)) ||
      !write(ECDSA_SIG_get0_s(parsed.get()), std::span(raw).last(scalar_bytes))) {
    return {};
  }
  return raw;
}

Bytes der_signature(ByteView raw) { return der_signature(raw, kScalarBytes); }

std::optional<RawSignature> raw_signature(ByteView der) {
  const Bytes bytes = raw_signature(der, kScalarBytes);
  RawSignature raw{};
  if (bytes.size() != raw.size()) {
    return std::nullopt;
  }
  std::ranges::copy(bytes, raw.begin());
  return raw;
}

}  // namespace assay::attestation
