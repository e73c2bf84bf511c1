// SPDX-License-Identifier: Apache-2.0
// The record that replaces one key of the service by another. The old key signs the record, so that
// a verifier who knows the old key can accept the new key. schemas/log.md section 2.3 defines the
// signed bytes.
#pragma once

#include <string>
#include <string_view>

#include "schemas/core/ids.h"
#include "schemas/core/signer.h"
#include "schemas/log_record.h"

namespace assay::attestation {

enum class RotatedKind : std::uint8_t { kService, kLog, kEar };
// Returns "service", "log" or "ear".
[[nodiscard]] std::string_view name(RotatedKind kind);
// Parses the name of a kind. Errors: invalid-parameter for any other text.
[[nodiscard]] Result<RotatedKind> rotated_kind_from(std::string_view text);

// A signed replacement of a key. Keys are SubjectPublicKeyInfo DER.
struct KeyRotation {
  RotatedKind kind;
  Bytes old_key;
  Bytes new_key;
  Bytes signature;  // of rotation_text() by the old key
};

// Returns the text that the old key signs. The text states that `new_key` replaces the old key at
// entry `index` of the log `origin`.
[[nodiscard]] std::string rotation_text(RotatedKind kind, std::string_view origin, LeafIndex index,
                                        ByteView new_key);
// Signs with `current` that `next` replaces it.
[[nodiscard]] Result<KeyRotation> sign_rotation(RotatedKind kind, std::string_view origin,
                                                LeafIndex index, const Signer& current,
                                                const Signer& next);
[[nodiscard]] Status verify_rotation(const KeyRotation& rotation, std::string_view origin,
                                     LeafIndex index);

[[nodiscard]] Json to_json(const KeyRotation& rotation);
// Reads the detail of a record of event::kKeyRotated. Errors: schema-violation for another form.
[[nodiscard]] Result<KeyRotation> rotation_from(const LogRecord& record);

}  // namespace assay::attestation
