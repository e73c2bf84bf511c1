// SPDX-License-Identifier: Apache-2.0
// The record with which one key of the service follows another: signed by the key that goes, so
// that whoever knows that one can follow. Bytes: schemas/log.md section 2.3.
#pragma once

#include <string>
#include <string_view>

#include "schemas/core/ids.h"
#include "schemas/core/signer.h"
#include "schemas/log_record.h"

namespace assay::attestation {

enum class RotatedKind : std::uint8_t { kService, kLog, kEar };
// "service", "log" or "ear".
[[nodiscard]] std::string_view name(RotatedKind kind);
// invalid-parameter for another text.
[[nodiscard]] Result<RotatedKind> rotated_kind_from(std::string_view text);

// Keys are SubjectPublicKeyInfo DER.
struct KeyRotation {
  RotatedKind kind;
  Bytes old_key;
  Bytes new_key;
  Bytes signature;  // of rotation_text() by the old key
};

// What the old key signs: that `new_key` follows it at entry `index` of the log `origin`.
[[nodiscard]] std::string rotation_text(RotatedKind kind, std::string_view origin, LeafIndex index,
                                        ByteView new_key);
// Signs with `current` that `next` follows it.
[[nodiscard]] Result<KeyRotation> sign_rotation(RotatedKind kind, std::string_view origin,
                                                LeafIndex index, const Signer& current,
                                                const Signer& next);
[[nodiscard]] Status verify_rotation(const KeyRotation& rotation, std::string_view origin,
                                     LeafIndex index);

[[nodiscard]] Json to_json(const KeyRotation& rotation);
// Reads the detail of a record of event::kKeyRotated. schema-violation for another form.
[[nodiscard]] Result<KeyRotation> rotation_from(const LogRecord& record);

}  // namespace assay::attestation
