// SPDX-License-Identifier: Apache-2.0
// Names of any form: one that is accepted has one spelling, which stands for itself, has nothing
// left to undo, and is what every other spelling of it leads to.
#include "schemas/name_form.h"

#include <algorithm>
#include <cstdlib>

#include "schemas/core/bytes.h"

namespace {

using namespace assay;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

bool is_part(std::string_view part) { return !part.empty() && part != "." && part != ".."; }

void check_form(const std::string& name) {
  require(std::ranges::none_of(name, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7F || c == '%' || c == '\\' || (c >= 'A' && c <= 'Z');
  }));
  for (std::size_t start = 0; !name.empty() && start <= name.size();) {
    const std::size_t slash = std::min(name.find('/', start), name.size());
    require(is_part(std::string_view(name).substr(start, slash - start)));
    start = slash + 1;
  }
}

// The name with every byte escaped.
std::string escaped(const std::string& name) {
  constexpr std::string_view kDigits = "0123456789aBcDeF";
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return out;
}

std::string in_capitals(std::string name) {
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string given(as_text(ByteView(data, size)));
  const auto name = normalised_name(given);
  if (!name) {
    return 0;
  }
  check_form(*name);
  for (const std::string& other : {*name, "./" + *name, "//" + *name + "/", "x/../" + *name + "/.",
                                   escaped(*name), in_capitals(*name), given + "/%2E"}) {
    require(normalised_name(other) == *name);
  }
  require(!normalised_name(*name + "%25") && !normalised_name("../" + *name));
  return 0;
}
