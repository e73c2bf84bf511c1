// SPDX-License-Identifier: Apache-2.0
// Members of the documents of a case, and the error of one that is not of its form.
#pragma once

#include "schemas/core/error.h"
#include "schemas/core/ids.h"
#include "schemas/core/json_at.h"

namespace assay::policy {

[[nodiscard]] inline std::unexpected<Error> broken_case() {
  return fail(ErrorCode::kDataLoss, "a stored case cannot be read");
}

[[nodiscard]] inline Result<DocumentId> case_id(const Json& json) {
  auto id = json.is_string() ? DocumentId::parse(json.get_ref<const std::string&>())
                             : Result<DocumentId>(broken_case());
  return id ? std::move(id) : Result<DocumentId>(broken_case());
}

}  // namespace assay::policy
