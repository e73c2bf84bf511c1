// SPDX-License-Identifier: Apache-2.0
// Digests of the firmware; OpenSSL reads the heads of the ASN.1.
#include "attestation/nvidia/fwid.h"

#include <algorithm>
#include <array>
#include <vector>

#include <openssl/asn1.h>

#include "attestation/crypto/openssl_handles.h"
#include "attestation/x509/extensions.h"

namespace assay::attestation::nvidia {
namespace {

constexpr std::string_view kCompositeDeviceId = "2.23.133.5.4.1";
constexpr std::string_view kTcbInfo = "2.23.133.5.4.1.1";
// 2.16.840.1.101.3.4.2.2
constexpr std::array<std::uint8_t, 9> kSha384 = {0x60, 0x86, 0x48, 0x01, 0x65,
                                                 0x03, 0x04, 0x02, 0x02};
constexpr std::size_t kFwidBytes = 48;
constexpr int kFwidList = 6;  // [6] of TcbInfo
constexpr int kFlags = 7;     // [7] of TcbInfo
// OperationalFlags: notSecure (1), recovery (2), debug (3); bit 0 is the highest.
constexpr std::uint8_t kDebugFlags = 0x70;

struct Element {
  int tag;
  int tag_class;
  ByteView content;

  [[nodiscard]] bool is(int wanted) const { return tag_class == V_ASN1_UNIVERSAL && tag == wanted; }
};

std::unexpected<Failure> unreadable() { return reject(NvidiaError::kFwidFormat); }

// All values of `bytes`; nothing when they do not fill it.
std::optional<std::vector<Element>> elements(ByteView bytes) {
  const ErrorQueueGuard guard;
  std::vector<Element> all;
  while (!bytes.empty()) {
    const unsigned char* next = bytes.data();
    long size = 0;
    int tag = 0;
    int tag_class = 0;
    // The lowest bit means an indefinite length, the highest an error.
    const int form =
        ASN1_get_object(&next, &size, &tag, &tag_class, static_cast<long>(bytes.size()));
    if ((form & 0x81) != 0) {
      return std::nullopt;
    }
    const auto head = static_cast<std::size_t>(next - bytes.data());
    all.push_back({tag, tag_class, bytes.subspan(head, static_cast<std::size_t>(size))});
    bytes = bytes.subspan(head + static_cast<std::size_t>(size));
  }
  return all;
}

// The values of the one SEQUENCE that is all of `bytes`.
std::optional<std::vector<Element>> sequence(ByteView bytes) {
  const auto outer = elements(bytes);
  if (!outer || outer->size() != 1 || !outer->front().is(V_ASN1_SEQUENCE)) {
    return std::nullopt;
  }
  return elements(outer->front().content);
}

// FWID ::= SEQUENCE { hashAlg OBJECT IDENTIFIER, digest OCTET STRING }
std::optional<Bytes> digest_of(const Element& fwid) {
  if (!fwid.is(V_ASN1_SEQUENCE)) {
    return std::nullopt;
  }
  const auto parts = elements(fwid.content);
  if (!parts || parts->size() != 2 || !(*parts)[0].is(V_ASN1_OBJECT) ||
      !std::ranges::equal((*parts)[0].content, kSha384) || !(*parts)[1].is(V_ASN1_OCTET_STRING) ||
      (*parts)[1].content.size() != kFwidBytes) {
    return std::nullopt;
  }
  return Bytes((*parts)[1].content.begin(), (*parts)[1].content.end());
}

Checked<Firmware> from_composite(ByteView extension) {
  const auto parts = sequence(extension);
  if (!parts || parts->size() != 3 || !(*parts)[0].is(V_ASN1_INTEGER) ||
      !(*parts)[1].is(V_ASN1_SEQUENCE)) {
    return unreadable();
  }
  auto digest = digest_of((*parts)[2]);
  if (!digest) {
    return unreadable();
  }
  return Firmware{std::move(digest), false};
}

const Element* find_context(const std::vector<Element>& parts, int tag) {
  const auto found = std::ranges::find_if(parts, [&](const Element& part) {
    return part.tag_class == V_ASN1_CONTEXT_SPECIFIC && part.tag == tag;
  });
  return found != parts.end() ? &*found : nullptr;
}

Checked<Firmware> from_tcb_info(ByteView extension) {
  const auto parts = sequence(extension);
  const Element* list = parts ? find_context(*parts, kFwidList) : nullptr;
  const auto digests = list != nullptr ? elements(list->content) : std::nullopt;
  if (!digests || digests->empty()) {
    return unreadable();
  }
  Firmware firmware{digest_of(digests->front()), false};
  if (!firmware.fwid) {
    return unreadable();
  }
  if (const Element* flags = find_context(*parts, kFlags); flags != nullptr) {
    if (flags->content.size() < 2) {  // a count of unused bits, and bits
      return unreadable();
    }
    firmware.is_debuggable = (flags->content[1] & kDebugFlags) != 0;
  }
  return firmware;
}

}  // namespace

Checked<Firmware> read_extensions(const FirmwareExtensions& extensions) {
  if (extensions.composite && extensions.tcb_info) {
    return unreadable();
  }
  if (extensions.composite) {
    return from_composite(*extensions.composite);
  }
  return extensions.tcb_info ? from_tcb_info(*extensions.tcb_info) : Checked<Firmware>(Firmware{});
}

Checked<Firmware> firmware_of(const x509::Certificate& leaf) {
  return read_extensions(
      {x509::extension_value(leaf, kCompositeDeviceId), x509::extension_value(leaf, kTcbInfo)});
}

}  // namespace assay::attestation::nvidia
