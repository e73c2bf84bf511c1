// SPDX-License-Identifier: Apache-2.0
// Licence expressions: what is read is written in a normal form, which reads as the same. Who may
// use everything may use it; who may use nothing may not.
#include "schemas/spdx.h"

#include <cstdlib>

#include "schemas/core/bytes.h"

namespace {

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const auto expression = SpdxExpression::parse(as_text(ByteView(data, size)));
  if (!expression) {
    return 0;
  }
  const std::string text = expression->text();
  if (text.size() <= kMaxSpdxBytes) {
    require(SpdxExpression::parse(text).value().text() == text);
  }
  require(expression->satisfied_by([](const std::string&) { return true; }));
  require(!expression->satisfied_by([](const std::string&) { return false; }));
  return 0;
}
