// SPDX-License-Identifier: Apache-2.0
// Bills of materials of others: what is read becomes a statement whose document reads as the same.
// Every digest that is read has the form of its algorithm, and no reference stands for two things.
#include <cstdlib>
#include <set>

#include "cli/bom/read.h"
#include "schemas/core/bytes.h"
#include "schemas/digest_set.h"

namespace {

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const auto bill = bom::read_bom(ByteView(data, size));
  if (!bill) {
    return 0;
  }
  std::set<std::string> refs;
  for (const bom::BomComponent& component : bill->components) {
    require(!component.name.empty() && !component.type.empty());
    require(component.ref.empty() || refs.insert(component.ref).second);
    for (const auto& [algorithm, value] : component.digests) {
      require(bom::has_hash_form(algorithm, value) && check_digest(algorithm, value).has_value());
    }
    require(bom::read_hashes(bom::hashes_of(component.digests)).value() == component.digests);
  }
  const std::string text = canonical_json(bill->document).value();
  const auto again = bom::read_bom(as_bytes(text));
  require(again.has_value() && again->document == bill->document &&
          again->components.size() == bill->components.size());
  return 0;
}
