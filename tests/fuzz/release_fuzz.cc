// SPDX-License-Identifier: Apache-2.0
// Releases: a statement that is read as one is written as the same release, whatever else the
// statement has.
#include "schemas/release.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const auto statement = parse_statement(ByteView(data, size));
  if (!statement) {
    return 0;
  }
  const auto release = release_from(*statement);
  if (!release) {
    return 0;
  }
  const Statement written = to_statement(*release).value();
  const Release again =
      release_from(parse_statement(as_bytes(encode_statement(written).value())).value()).value();
  if (again.name != release->name || again.version != release->version ||
      again.artifact != release->artifact || again.supersedes != release->supersedes ||
      written.subjects.size() != 1) {
    std::abort();
  }
  return 0;
}
