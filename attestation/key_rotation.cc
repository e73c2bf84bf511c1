// SPDX-License-Identifier: Apache-2.0
// One key after another, in the words of schemas/log.md section 2.3.
#include "attestation/key_rotation.h"

#include <algorithm>
#include <array>

#include "attestation/keys.h"

namespace assay::attestation {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"service", "log", "ear"};
constexpr std::string_view kFirstLine = "assay-key-rotation/v1\n";

Result<Bytes> bytes_at(const Json& detail, const char* member) {
  if (!detail.contains(member) || !detail.at(member).is_string()) {
    return fail(ErrorCode::kSchemaViolation, "a record of a rotated key lacks a member", member);
  }
  return base64_decode(detail.at(member).get<std::string>());
}

}  // namespace

std::string_view name(RotatedKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

Result<RotatedKind> rotated_kind_from(std::string_view text) {
  const auto* const found = std::ranges::find(kKinds, text);
  if (found == kKinds.end()) {
    return fail(ErrorCode::kInvalidParameter, "keys that rotate are service, log and ear");
  }
  return static_cast<RotatedKind>(found - kKinds.begin());
}

// Four lines and more, where a checkpoint has three.
std::string rotation_text(RotatedKind kind, std::string_view origin, LeafIndex index,
                          ByteView new_key) {
  return std::string(kFirstLine) + std::string(name(kind)) + "\n" + std::string(origin) + "\n" +
         std::to_string(index) + "\n" + base64_encode(new_key) + "\n";
}

Result<KeyRotation> sign_rotation(RotatedKind kind, std::string_view origin, LeafIndex index,
                                  const Signer& current, const Signer& next) {
  const std::string text = rotation_text(kind, origin, index, next.public_key());
  ASSAY_ASSIGN(Bytes signature, current.sign(as_bytes(text)));
  return KeyRotation{kind, current.public_key(), next.public_key(), std::move(signature)};
}

Status verify_rotation(const KeyRotation& rotation, std::string_view origin, LeafIndex index) {
  ASSAY_ASSIGN(const PublicKey old_key, PublicKey::from_der(rotation.old_key));
  ASSAY_TRY(PublicKey::from_der(rotation.new_key));
  const std::string text = rotation_text(rotation.kind, origin, index, rotation.new_key);
  return old_key.verify(as_bytes(text), rotation.signature);
}

Json to_json(const KeyRotation& rotation) {
  return {{"kind", name(rotation.kind)},
          {"old_key", base64_encode(rotation.old_key)},
          {"new_key", base64_encode(rotation.new_key)},
          {"signature", base64_encode(rotation.signature)}};
}

Result<KeyRotation> rotation_from(const LogRecord& record) {
  const Json& detail = record.detail;
  constexpr std::size_t kMembers = 4;
  if (record.type != event::kKeyRotated || detail.size() != kMembers || !detail.contains("kind") ||
      !detail.at("kind").is_string()) {
    return fail(ErrorCode::kSchemaViolation, "this is no record of a rotated key");
  }
  const auto kind = rotated_kind_from(detail.at("kind").get<std::string>());
  if (!kind) {
    return fail(ErrorCode::kSchemaViolation, "a record of a rotated key is of an unknown kind");
  }
  ASSAY_ASSIGN(Bytes old_key, bytes_at(detail, "old_key"));
  ASSAY_ASSIGN(Bytes new_key, bytes_at(detail, "new_key"));
  ASSAY_ASSIGN(Bytes signature, bytes_at(detail, "signature"));
  return KeyRotation{*kind, std::move(old_key), std::move(new_key), std::move(signature)};
}

}  // namespace assay::attestation
