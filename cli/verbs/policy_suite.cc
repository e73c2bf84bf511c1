// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/policy_suite.h"

#include <filesystem>
#include <utility>

#include "cli/decisions/verify_export.h"
#include "cli/documents/documents.h"
#include "client/files.h"
#include "schemas/core/json_advice.h"

namespace assay::cli {

namespace {

// The case of a stored decision: what was known then, at that time.
Result<std::vector<PolicyCase>> case_of(ByteView file, const PolicyCase& base) {
  ASSAY_ASSIGN(const DecisionExport exported, parse_decision_export(file));
  ASSAY_ASSIGN(ExportedCase found, read_exported_case(exported));
  PolicyCase one = base;
  one.models = std::move(found.models);
  one.workload = std::move(found.workload);
  one.point = found.point;
  one.now = found.evaluated_at;
  one.preconditions = std::move(found.preconditions);
  return std::vector{std::move(one)};
}

}  // namespace

Result<std::vector<PolicyCase>> read_cases(const std::string& file, const PolicyCase& base) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(file));
  if (looks_like_decision_export(as_text(bytes))) {
    return case_of(bytes, base);
  }
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
