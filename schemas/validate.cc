// SPDX-License-Identifier: Apache-2.0
// The only file that includes valijson (it takes 11 s to compile). Each schema is compiled once, at
// first use, and read by many threads; each thread keeps its own validator, which caches patterns.
//
// Three properties of the library are worked around here:
// - It measures strings up to their first NUL. It is shown U+0001 in place of U+0000.
// - Patterns run on std::regex, whose recursion is as deep as the text is long. Without a results
//   object the library stops at the first failure and checks maxLength before pattern, and every
//   pattern of our schemas has a maxLength (a test sees to that). The second pass, which looks for
//   the place of a failure, runs on a copy with long strings cut.
// - It throws.
#include "schemas/validate.h"

#include <algorithm>
#include <array>
#include <locale>
#include <memory>
#include <mutex>

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "embedded/json_schemas.h"

namespace assay {
namespace {

using Adapter = valijson::adapters::NlohmannJsonAdapter;

constexpr std::string_view kSuffix = ".schema.json";
// More than the maxLength of any string with a pattern.
constexpr std::size_t kCut = 8192;

struct CompiledSchema {
  std::once_flag once;
  std::unique_ptr<valijson::Schema> schema;  // null when it does not compile
};

std::unique_ptr<Json> parse_embedded(const std::string& file) {
  for (const auto& [name, text] : embedded::kJsonSchemasFiles) {
    if (name == file) {
      auto parsed = parse_json(text);
      return parsed ? std::make_unique<Json>(*std::move(parsed)) : nullptr;
    }
  }
  return nullptr;
}

std::unique_ptr<valijson::Schema> compile(const std::string& file) {
  const std::unique_ptr<Json> document = parse_embedded(file);
  if (document == nullptr) {
    return nullptr;
  }
  auto schema = std::make_unique<valijson::Schema>();
  try {
    // References to other schemas of the folder are resolved by file name.
    valijson::SchemaParser(valijson::SchemaParser::kDraft7)
        .populateSchema(
            Adapter(*document), *schema,
            [](const std::string& uri) -> const Json* { return parse_embedded(uri).release(); },
            [](const Json* fetched) { const std::unique_ptr<const Json> owner(fetched); });
  } catch (const std::exception&) {
    return nullptr;
  }
  return schema;
}

// std::regex asks the classic locale to narrow each character of a pattern. libstdc++ fills that
// facet's table on first use, without a lock: here it is filled before any thread compiles a
// pattern.
void fill_locale_tables() {
  std::array<char, 256> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<char>(i);
  }
  std::array<char, all.size()> narrowed{};
  std::use_facet<std::ctype<char>>(std::locale())
      .narrow(all.data(), all.data() + all.size(), '\0', narrowed.data());
}

// The compiled schema, or null when there is none of that name.
const valijson::Schema* find_schema(std::string_view name) {
  static std::once_flag tables;
  std::call_once(tables, fill_locale_tables);
  static std::array<CompiledSchema, embedded::kJsonSchemasFiles.size()> compiled;
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    const std::string_view file = embedded::kJsonSchemasFiles[i].first;
    if (file.size() == name.size() + kSuffix.size() && file.starts_with(name)) {
      std::call_once(compiled[i].once, [&] { compiled[i].schema = compile(std::string(file)); });
      return compiled[i].schema.get();
    }
  }
  return nullptr;
}

// --- the document as the library may see it

bool any_string(const Json& value, bool (*test)(const std::string&)) {
  if (value.is_string()) {
    return test(value.get_ref<const std::string&>());
  }
  return value.is_structured() && std::any_of(value.begin(), value.end(), [&](const Json& child) {
           return any_string(child, test);
         });
}

void rewrite_strings(Json& value, void (*change)(std::string&)) {
  if (value.is_string()) {
    change(value.get_ref<std::string&>());
  } else if (value.is_structured()) {
    for (Json& child : value) {
      rewrite_strings(child, change);
    }
  }
}

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }
void hide_nul(std::string& text) { std::replace(text.begin(), text.end(), '\0', '\x01'); }
bool is_long(const std::string& text) { return text.size() > kCut; }

// Cuts at a character border.
void cut(std::string& text) {
  std::size_t size = std::min(text.size(), kCut);
  while (size > 0 && size < text.size() &&
         (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) {
    --size;
  }
  text.resize(size);
}

bool nul_in_name(const Json& value) {
  if (value.is_object()) {
    for (const auto& [key, child] : value.items()) {
      if (has_nul(key) || nul_in_name(child)) {
        return true;
      }
    }
    return false;
  }
  return value.is_array() && std::any_of(value.begin(), value.end(), nul_in_name);
}

// --- results

// The library's context is "<root>" and then "[member or index]" for each step.
std::string pointer(const std::vector<std::string>& context) {
  std::string out;
  for (std::size_t i = 1; i < context.size(); ++i) {
    out += '/';
    for (const char c : std::string_view(context[i]).substr(1, context[i].size() - 2)) {
      out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
  }
  return out;
}

Error describe(const valijson::ValidationResults& results) {
  constexpr std::string_view kUnknown = "Object contains a property that could not be validated";
  if (results.numErrors() == 0) {
    return {ErrorCode::kSchemaViolation, "the document does not follow its schema", {}};
  }
  // The innermost failure is pushed first.
  const valijson::ValidationResults::Error& first = *results.begin();
  std::string where = pointer(first.context);
  if (first.description.starts_with(kUnknown)) {
    const std::size_t open = first.description.find("constraints: '");
    const std::size_t start = open + std::string_view("constraints: '").size();
    if (open != std::string::npos && first.description.size() >= start + 2) {
      const std::string name =
          first.description.substr(start, first.description.size() - start - 2);
      return {ErrorCode::kUnknownMember, "the document has a member that is not defined",
              where + pointer({"", "[" + name + "]"})};
    }
  }
  return {ErrorCode::kSchemaViolation, first.description, std::move(where)};
}

Status run(const valijson::Schema& schema, const Json& document) {
  thread_local valijson::Validator validator;
  try {
    if (validator.validate(schema, Adapter(document), nullptr)) {
      return {};
    }
    Json shortened;
    const bool cutting = any_string(document, is_long);
    if (cutting) {
      shortened = document;
      rewrite_strings(shortened, cut);
    }
    valijson::ValidationResults results;
    validator.validate(schema, Adapter(cutting ? shortened : document), &results);
    return std::unexpected(describe(results));
  } catch (const std::exception&) {
    return fail(ErrorCode::kInternal, "the schema could not be applied");
  }
}

}  // namespace

Status validate(std::string_view schema, const Json& document) {
  const valijson::Schema* compiled = find_schema(schema);
  if (compiled == nullptr) {
    return fail(ErrorCode::kInternal, "there is no schema " + std::string(schema));
  }
  if (nul_in_name(document)) {
    return fail(ErrorCode::kSchemaViolation, "a member name holds a NUL");
  }
  if (!any_string(document, has_nul)) {
    return run(*compiled, document);
  }
  Json shown = document;
  rewrite_strings(shown, hide_nul);
  return run(*compiled, shown);
}

}  // namespace assay
