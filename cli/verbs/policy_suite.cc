// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/policy_suite.h"

#include <filesystem>
#include <utility>

#include "cli/documents/documents.h"
#include "client/files.h"
#include "schemas/core/json_advice.h"

namespace assay::cli {

Result<std::vector<PolicyCase>> read_cases(const std::string& file, const PolicyCase& base) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(file));
  auto cases = parse_cases(bytes, base);
  if (!cases) {
    cases.error() = with_json_advice(std::move(cases).error(), as_text(bytes), file);
  }
  if (!cases && cases.error().code == ErrorCode::kUsage) {
    cases.error().where = file;
  }
  return cases;
}

std::optional<std::string> suite_beside(const std::string& policy_file) {
  std::filesystem::path path(policy_file);
  while (!path.extension().empty()) {
    std::filesystem::path suite = path;
    suite.replace_extension(".tests.json");
    std::error_code unreadable;
    if (std::filesystem::exists(suite, unreadable)) {
      return suite.string();
    }
    path.replace_extension();
  }
  return std::nullopt;
}

Result<policy::ReferenceSets> load_sets(const std::vector<std::string>& paths) {
  policy::ReferenceSets sets;
  for (const std::string& path : paths) {
    ASSAY_ASSIGN(const LoadedDocument document, load_document(path));
    if (document.payload.kind != PayloadKind::kReferenceSet) {
      return fail(ErrorCode::kPayloadTypeUnknown,
                  "This is no reference set but " + std::string(name(document.payload.kind)), path);
    }
    ASSAY_ASSIGN(ReferenceSet set, parse_reference_set(document.payload.bytes));
    std::string name = set.name;
    if (!sets.emplace(name, policy::ActiveSet{document.payload.id(), std::move(set)}).second) {
      return fail(ErrorCode::kUsage, "Two files have the set " + name, path);
    }
  }
  return sets;
}

}  // namespace assay::cli
