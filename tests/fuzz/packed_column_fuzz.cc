// SPDX-License-Identifier: Apache-2.0
// Columns of envelopes and records: every text comes back as it was, and a column that was not
// written by us gives a text of bounded size or nothing.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "storage/sqlite/packed.h"

namespace {

using namespace assay;
using storage::sqlite::Packed;
using storage::sqlite::PackedForm;

// Digests have two digits for each byte of the column, base64 four characters for three bytes.
constexpr std::size_t kMaxUnpacked = 5 * storage::sqlite::kMaxPackedBytes;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void check_text(const Packed& packed, ByteView text) {
  const ByteView column = packed.form == PackedForm::kPlain ? text : ByteView(packed.bytes);
  require(column.size() <= text.size());
  const auto back = storage::sqlite::unpack(std::to_underlying(packed.form), column);
  require(back && std::ranges::equal(*back, text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  check_text(storage::sqlite::pack_document(bytes), bytes);
  check_text(storage::sqlite::pack_record(bytes), bytes);
  for (const PackedForm form : {PackedForm::kDeflated, PackedForm::kEnvelope}) {
    const auto text = storage::sqlite::unpack(std::to_underlying(form), bytes);
    require(!text || text->size() <= kMaxUnpacked);
  }
  return 0;
}
