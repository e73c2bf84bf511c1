// SPDX-License-Identifier: Apache-2.0
#include "schemas/document.h"

namespace assay::document {

Result<Json> parse_valid(ByteView bytes, std::string_view schema, const JsonLimits& limits) {
  ASSAY_ASSIGN(Json json, parse_json(bytes, limits));
  ASSAY_TRY(validate(schema, json));
  return json;
}

}  // namespace assay::document
