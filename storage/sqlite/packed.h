// SPDX-License-Identifier: Apache-2.0
// How the bytes of documents and log records lie in their columns: as they are, or their text
// deflated (RFC 1951) with a dictionary of what records and envelopes of decisions have in common,
// and behind it the digests, UUIDs and signatures of the text as bytes
// (storage/sqlite/set_apart.h). A decision is stored for each pod that is admitted, and hardly
// differs from the one before. What is unpacked is compared with its digest by whoever reads it, so
// a damaged column shows as it does without this.
#pragma once

#include <string_view>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::storage::sqlite {

// The column `form`. The numbers stand in databases: a form keeps its meaning, its dictionary
// included, and a new dictionary is a new form.
enum class PackedForm : std::uint8_t {
  kPlain = 0,
  kDeflated = 1,
  // An envelope (DSSE) as this project writes it, its payload without base64.
  kEnvelope = 2,
};

// More bytes than this are kept as they are.
inline constexpr std::size_t kMaxPackedBytes = 16U << 10;

struct Packed {
  PackedForm form = PackedForm::kPlain;
  Bytes bytes;  // empty with kPlain: the column holds the very bytes
};

// Pack the bytes of a document and of a log record. Documents other than envelopes, and what would
// not be shorter, stay as they are.
[[nodiscard]] Packed pack_document(ByteView bytes);
[[nodiscard]] Packed pack_record(ByteView bytes);
// Returns what was packed, bit for bit. Errors: data-loss when the column holds nothing of this
// form.
[[nodiscard]] Result<Bytes> unpack(std::int64_t form, ByteView column);

}  // namespace assay::storage::sqlite
