// SPDX-License-Identifier: Apache-2.0
// Strict CBOR: what is accepted has one encoding, so writing it again gives the same bytes up to
// the order of keys, which is kept.
#include "attestation/cose/cbor.h"

#include <cstdlib>

namespace {

using assay::attestation::cbor::Kind;
using assay::attestation::cbor::Value;
using assay::attestation::cbor::Writer;

// False for a number that the writer cannot write.
bool write(const Value& value, Writer& writer) {
  switch (value.kind) {
    case Kind::kUnsigned:
    case Kind::kNegative:
      if (!value.integer()) {
        return false;
      }
      writer.integer(*value.integer());
      return true;
    case Kind::kBytes:
      writer.bytes(value.bytes);
      return true;
    case Kind::kText:
      writer.text(assay::as_text(value.bytes));
      return true;
    case Kind::kArray:
      writer.array(value.items.size());
      break;
    case Kind::kMap:
      writer.map(value.items.size() / 2);
      break;
    case Kind::kTag:
      writer.tag(value.number);
      break;
    case Kind::kSimple:
      writer.encoded(assay::Bytes{static_cast<std::uint8_t>(0xe0 | value.number)});
      return true;
  }
  for (const Value& item : value.items) {
    if (!write(item, writer)) {
      return false;
    }
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const assay::ByteView bytes(data, size);
  const auto value = assay::attestation::cbor::parse(bytes);
  Writer writer;
  if (value && write(*value, writer) && writer.out() != assay::Bytes(bytes.begin(), bytes.end())) {
    std::abort();
  }
  return 0;
}
