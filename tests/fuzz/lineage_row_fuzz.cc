// SPDX-License-Identifier: Apache-2.0
// What lineages keep of a statement: whatever a predicate says went in is among the inputs, or the
// statement counts as unread; and the row is read as it was written.
#include <algorithm>
#include <cstdlib>

#include "policy/statement_contents.h"
#include "schemas/core/json_at.h"
#include "schemas/core/sha.h"
#include "schemas/digest_set.h"
#include "schemas/lifecycle.h"

namespace {

using namespace assay;

constexpr std::string_view kSlsa = "https://slsa.dev/provenance/v1";

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

std::vector<std::string> digests_in(const Json& named) {
  std::vector<std::string> digests;
  for (const auto& [algorithm, value] : named.items()) {
    digests.push_back(algorithm + ":" + value.get<std::string>());
  }
  std::ranges::sort(digests);
  return digests;
}

// The dependency is there with everything that names it.
void check_dependency(const Json& dependency, const policy::LineageInput& input) {
  require(input.role == policy::kDependencyRole);
  require(input.digests == digests_in(member_at(dependency, "digest")));
  for (const char* const member : {"name", "uri", "downloadLocation"}) {
    const Json& named = member_at(dependency, member);
    require(named.is_null() || named == "" || named == input.name ||
            std::ranges::find(input.also, named.get<std::string>()) != input.also.end());
  }
  for (const auto& [algorithm, value] : member_at(dependency, "digest").items()) {
    require(check_digest(algorithm, value.get<std::string>()).has_value());
  }
}

void check_read(const Statement& statement, const policy::LineageStatement& read) {
  const bool slsa = statement.predicate_type == kSlsa;
  const Json& list =
      slsa ? member_at(member_at(statement.predicate, "buildDefinition"), "resolvedDependencies")
           : member_at(statement.predicate, "inputs");
  if (read.unread) {
    return;
  }
  require(read.inputs.size() == (list.is_null() ? 0 : list.size()));
  for (std::size_t i = 0; slsa && i < read.inputs.size(); ++i) {
    check_dependency(list[i], read.inputs[i]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto statement = parse_statement(ByteView(data, size));
  if (!statement) {
    return 0;
  }
  Json contents = Json::object();
  const std::vector<std::string> digests = policy::add_lineage(*statement, contents);
  require(std::ranges::is_sorted(digests, std::ranges::less_equal()));
  const auto read = policy::lineage_in({StatementId(sha256({})), {}, {}, {}, {}, {}, {}},
                                       parse_json(canonical_json(contents).value()).value());
  require(read.has_value());
  std::vector<std::string> named;
  for (const policy::LineageInput& input : read->inputs) {
    named.insert(named.end(), input.digests.begin(), input.digests.end());
  }
  std::ranges::sort(named);
  named.erase(std::ranges::unique(named).begin(), named.end());
  require(named == digests);
  if (statement->predicate_type == kSlsa || statement->predicate_type == kLifecyclePredicateType) {
    check_read(*statement, *read);
  }
  return 0;
}
