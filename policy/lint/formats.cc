// SPDX-License-Identifier: Apache-2.0
#include "policy/lint/formats.h"

#include <algorithm>

namespace assay::policy {

std::vector<Finding> lint_formats(const ParametersCondition& parameters, bool negated) {
  std::vector<Finding> findings;
  const auto add = [&](Finding::Level level, const char* text) {
    findings.push_back({level, {}, text, "advice", {}});
  };
  const auto lists = [&](ModelFormat format) {
    return std::ranges::find(parameters.formats, format) != parameters.formats.end();
  };
  if (parameters.formats.empty()) {
    return findings;
  }
  if (negated) {
    add(Finding::Level::kWarning,
        "below a not: a model passes that has one format beyond this list; list the formats that "
        "you accept, without a not");
    return findings;
  }
  if (lists(ModelFormat::kExecutable)) {
    add(Finding::Level::kNote,
        "accepts files that are pickles, or may be: to load such a file can run code in it, "
        "whoever signed it");
  }
  if (!lists(ModelFormat::kOther)) {
    add(Finding::Level::kWarning,
        "refuses every model that has a file beside its weights, such as config.json: add "
        "\"other\" to formats");
  }
  if (parameters.objects == Objects::kTensors) {
    add(Finding::Level::kNote,
        "a manifest of tensors alone does not say which formats a model has: the condition is an "
        "error for it");
  }
  return findings;
}

}  // namespace assay::policy
