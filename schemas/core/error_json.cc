// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/error_json.h"

namespace assay {

Json error_json(const Error& error) {
  Json json = {{"code", info(error.code).code}, {"detail", error.detail}};
  if (!error.where.empty()) {
    json["where"] = error.where;
  }
  return json;
}

}  // namespace assay
