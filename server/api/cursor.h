// SPDX-License-Identifier: Apache-2.0
// Cursors of lists: opaque to clients, bound to the query they were issued for and to the tree size
// that the first page saw, so that later pages do not change under inserts.
#pragma once

#include <string>
#include <string_view>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"

namespace assay::server {

struct Cursor {
  LeafIndex after;  // the last index of the page before
  TreeSize below;   // the tree size of the first page
  bool operator==(const Cursor&) const = default;
};

class CursorCodec {
 public:
  // `key` authenticates cursors; processes that share it take each other's.
  explicit CursorCodec(SecretBytes key) : key_(std::move(key)) {}

  // `query` identifies the list and its filters.
  [[nodiscard]] std::string encode(const Cursor& cursor, const Digest& query) const;
  // invalid-cursor unless encode() made `text` for this query.
  [[nodiscard]] Result<Cursor> decode(std::string_view text, const Digest& query) const;

 private:
  [[nodiscard]] Bytes tag(ByteView body, const Digest& query) const;

  SecretBytes key_;
};

}  // namespace assay::server
