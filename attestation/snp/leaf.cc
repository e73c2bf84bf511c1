// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/leaf.h"

#include <algorithm>

#include <openssl/asn1.h>

#include "attestation/crypto/openssl_handles.h"
#include "attestation/x509/extensions.h"

namespace assay::attestation::snp {
namespace {

using IntegerHandle = Handle<ASN1_INTEGER, ASN1_INTEGER_free>;
using OctetsHandle = Handle<ASN1_OCTET_STRING, ASN1_OCTET_STRING_free>;
using TextHandle = Handle<ASN1_IA5STRING, ASN1_IA5STRING_free>;

constexpr std::size_t kChipIdBytes = 64;
constexpr std::size_t kShortChipIdBytes = 8;
constexpr std::size_t kMaxTextBytes = 256;

// Members of RawExtensions::levels.
constexpr std::size_t kBootLoader = 0;
constexpr std::size_t kTee = 1;
constexpr std::size_t kSnp = 2;
constexpr std::size_t kFirstReserved = 3;
constexpr std::size_t kLastReserved = 6;
constexpr std::size_t kMicrocode = 7;
constexpr std::size_t kFmc = 8;

std::unexpected<Failure> bad_extension(std::string expected) {
  return reject(SnpError::kLeafExtensionFormat, std::move(expected));
}

// One DER value that is the whole of `content`; null when it is none.
template <typename Value, typename Read>
Value read_whole(const Bytes& content, Read read) {
  const unsigned char* next = content.data();
  Value value(read(nullptr, &next, static_cast<long>(content.size())));
  return value != nullptr && next == content.data() + content.size() ? std::move(value) : Value();
}

ByteView bytes_of(const ASN1_STRING* text) {
  return {ASN1_STRING_get0_data(text), static_cast<std::size_t>(ASN1_STRING_length(text))};
}

// An INTEGER of 0 to 255 in its only form.
std::optional<std::uint8_t> read_level(const Bytes& content) {
  const auto number = read_whole<IntegerHandle>(content, d2i_ASN1_INTEGER);
  std::uint64_t value = 0;
  const bool fits = number != nullptr && ASN1_INTEGER_get_uint64(&value, number.get()) == 1 &&
                    value <= 0xff && content.size() == (value < 0x80 ? 3U : 4U);
  return fits ? std::optional(static_cast<std::uint8_t>(value)) : std::nullopt;
}

bool is_chip_id(std::size_t size, Generation generation) {
  return size == kChipIdBytes || (generation == Generation::kTurin && size == kShortChipIdBytes);
}

std::optional<Bytes> read_chip_id(const Bytes& content, Generation generation) {
  if (is_chip_id(content.size(), generation)) {
    return content;
  }
  const auto octets = read_whole<OctetsHandle>(content, d2i_ASN1_OCTET_STRING);
  if (octets == nullptr) {
    return std::nullopt;
  }
  const ByteView id = bytes_of(octets.get());
  return is_chip_id(id.size(), generation) ? std::optional(Bytes(id.begin(), id.end()))
                                           : std::nullopt;
}

// An IA5String of visible characters.
std::optional<std::string> read_text(const Bytes& content) {
  const auto text = read_whole<TextHandle>(content, d2i_ASN1_IA5STRING);
  if (text == nullptr) {
    return std::nullopt;
  }
  const std::string_view characters = as_text(bytes_of(text.get()));
  const bool visible =
      !characters.empty() && characters.size() <= kMaxTextBytes &&
      std::ranges::all_of(characters, [](char c) { return c >= 0x20 && c < 0x7f; });
  return visible ? std::optional(std::string(characters)) : std::nullopt;
}

Checked<Tcb> read_tcb(const RawExtensions& raw, Generation generation) {
  std::array<std::uint8_t, 9> levels{};
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const bool reserved = i >= kFirstReserved && i <= kLastReserved;
    const bool needed = i == kFmc ? generation == Generation::kTurin : !reserved;
    if (!raw.levels[i]) {
      if (needed) {
        return bad_extension("the security version 3704.1.3." + std::to_string(i + 1));
      }
      continue;
    }
    const auto level = read_level(*raw.levels[i]);
    if (!level || (!needed && *level != 0)) {
      return bad_extension("a security version of one byte, and 0 for those without a meaning");
    }
    levels[i] = *level;
  }
  return Tcb{levels[kFmc], levels[kBootLoader], levels[kTee], levels[kSnp], levels[kMicrocode]};
}

}  // namespace

RawExtensions raw_extensions(const x509::Certificate& certificate) {
  const std::string arc = "1.3.6.1.4.1.3704.1.";
  RawExtensions raw;
  raw.product = x509::extension_value(certificate, arc + "2");
  for (std::size_t i = 0; i < raw.levels.size(); ++i) {
    raw.levels[i] = x509::extension_value(certificate, arc + "3." + std::to_string(i + 1));
  }
  raw.chip_id = x509::extension_value(certificate, arc + "4");
  raw.provider = x509::extension_value(certificate, arc + "5");
  return raw;
}

Checked<LeafExtensions> parse_extensions(const RawExtensions& raw, SigningKey kind,
                                         Generation generation) {
  const ErrorQueueGuard guard;
  LeafExtensions extensions;
  const auto tcb = read_tcb(raw, generation);
  if (!tcb) {
    return std::unexpected(tcb.error());
  }
  extensions.tcb = *tcb;
  if (raw.product) {
    auto product = read_text(*raw.product);
    if (!product) {
      return bad_extension("the name of a product");
    }
    extensions.product = *std::move(product);
  }
  if (kind == SigningKey::kVcek) {
    auto id = raw.chip_id ? read_chip_id(*raw.chip_id, generation) : std::nullopt;
    if (!id) {
      return bad_extension("the id of a chip");
    }
    extensions.chip_id = *std::move(id);
  } else {
    auto provider = raw.provider ? read_text(*raw.provider) : std::nullopt;
    if (!provider) {
      return bad_extension("the id of a cloud provider");
    }
    extensions.provider = *std::move(provider);
  }
  return extensions;
}

}  // namespace assay::attestation::snp
