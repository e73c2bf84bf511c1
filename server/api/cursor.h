// SPDX-License-Identifier: Apache-2.0
// Cursors of lists. A cursor is opaque to clients and is bound to the query that it was issued for.
// It is also bound to the tree size that the first page saw, so items added later do not appear on
// the following pages.
#pragma once

#include <string>
#include <string_view>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"

namespace assay::server {

struct Cursor {
  LeafIndex after;  // index of the last item on the previous page
  TreeSize below;   // tree size that the first page saw
  bool operator==(const Cursor&) const = default;
};

class CursorCodec {
 public:
  // `key` authenticates cursors. Processes that share `key` accept each other's cursors.
  explicit CursorCodec(SecretBytes key) : key_(std::move(key)) {}

  // Returns the text of `cursor`. `query` identifies the list and its filters.
  [[nodiscard]] std::string encode(const Cursor& cursor, const Digest& query) const;
  // Parses and authenticates `text`. Errors: invalid-cursor when encode() did not make `text` for
  // the same `query`.
  [[nodiscard]] Result<Cursor> decode(std::string_view text, const Digest& query) const;

 private:
  [[nodiscard]] Bytes tag(ByteView body, const Digest& query) const;

  SecretBytes key_;
};

}  // namespace assay::server
