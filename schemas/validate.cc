// SPDX-License-Identifier: Apache-2.0
// The schemas that are compiled in. Each one is compiled once, at first use, and read by
// many threads.
#include "schemas/validate.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>

#include "embedded/json_schemas.h"
#include "schemas/json_schema.h"

namespace assay {
namespace {

constexpr std::string_view kSuffix = ".schema.json";

struct CompiledSchema {
  std::once_flag once;
  std::optional<JsonSchema> schema;  // empty when the schema is wrong
};

std::optional<std::string_view> embedded_text(std::string_view file) {
  for (const auto& [name, text] : embedded::kJsonSchemasFiles) {
    if (name == file) {
      return text;
    }
  }
  return std::nullopt;
}

// The schema of that name, or null when there is none.
const JsonSchema* find_schema(std::string_view name) {
  static std::array<CompiledSchema, embedded::kJsonSchemasFiles.size()> compiled;
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    const std::string_view file = embedded::kJsonSchemasFiles[i].first;
    if (file.size() == name.size() + kSuffix.size() && file.starts_with(name)) {
      std::call_once(compiled[i].once, [&] {
        if (auto made = JsonSchema::compile(std::string(file), embedded_text)) {
          compiled[i].schema = *std::move(made);
        }
      });
      return compiled[i].schema ? &*compiled[i].schema : nullptr;
    }
  }
  return nullptr;
}

bool nul_in_name(const Json& value) {
  if (value.is_object()) {
    for (const auto& [key, child] : value.items()) {
      if (key.find('\0') != std::string::npos || nul_in_name(child)) {
        return true;
      }
    }
    return false;
  }
  return value.is_array() && std::any_of(value.begin(), value.end(), nul_in_name);
}

}  // namespace

Status validate(std::string_view schema, const Json& document) {
  const JsonSchema* compiled = find_schema(schema);
  if (compiled == nullptr) {
    return fail(ErrorCode::kInternal, "there is no schema " + std::string(schema));
  }
  ASSAY_TRY(compiled->check(document));
  // Readers in other languages cut a name at a NUL.
  if (nul_in_name(document)) {
    return fail(ErrorCode::kSchemaViolation, "a member name holds a NUL");
  }
  return {};
}

}  // namespace assay
