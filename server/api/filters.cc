// SPDX-License-Identifier: Apache-2.0
#include "server/api/filters.h"

#include <algorithm>
#include <array>

#include "schemas/challenge.h"
#include "schemas/core/random.h"
#include "schemas/log_record.h"
#include "schemas/reason.h"
#include "schemas/reference_set.h"
#include "schemas/statement.h"

namespace assay::server {
namespace {

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kDigits = "0123456789";

bool is_lower(char c) { return kLower.contains(c); }
bool is_digit(char c) { return kDigits.contains(c); }
bool is_letter(char c) { return is_lower(static_cast<char>(c | 0x20)); }

// Parts of a-z and 0-9, joined by single '-'.
bool is_kebab(std::string_view text, bool letter_first) {
  bool part = false;  // inside of one
  for (const char c : text) {
    if (c != '-' ? !is_lower(c) && !is_digit(c) : !part) {
      return false;
    }
    part = c != '-';
  }
  return part && text.size() <= 64 && (!letter_first || is_lower(text.front()));
}

bool is_reason(std::string_view text) { return reason_from(text).has_value(); }

bool is_event_type(std::string_view text) {
  return std::ranges::any_of(event::kAll, [text](std::string_view type) {
    return type == text || (text.ends_with('.') && type.starts_with(text));
  });
}

bool is_predicate_type(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto in_scheme = [](char c) {
    return is_letter(c) || is_digit(c) || c == '+' || c == '.' || c == '-';
  };
  const auto visible = [](char c) { return c > 0x20 && c < 0x7F; };
  return text.size() <= 512 && colon != std::string_view::npos && colon + 1 < text.size() &&
         is_letter(text.front()) && std::ranges::all_of(text.substr(0, colon), in_scheme) &&
         std::ranges::all_of(text.substr(colon + 1), visible);
}

bool is_principal(std::string_view text) {
  static constexpr std::string_view kOthers = "._@:/-";
  const auto allowed = [](char c) { return is_letter(c) || is_digit(c) || kOthers.contains(c); };
  return !text.empty() && text.size() <= 128 &&
         (is_letter(text.front()) || is_digit(text.front())) && std::ranges::all_of(text, allowed);
}

// Characters of UTF-8, which the target of a request is.
std::size_t length(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

bool is_digest(std::string_view text) {
  if (text.starts_with("assay-tree-v1-") && text.contains(':')) {
    return ArtifactId::parse(text).has_value();
  }
  const std::size_t colon = text.find(':');
  return colon != std::string_view::npos && colon >= 1 && length(text.substr(0, colon)) <= 64 &&
         colon + 1 < text.size() && length(text.substr(colon + 1)) <= 256;
}

bool is_part(std::string_view text) {
  constexpr std::size_t kMost = 128;
  return !text.empty() && text.size() <= kMost && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == '-';
  });
}

struct FormRow {
  Form form;
  bool (*holds)(std::string_view);
  const char* text;
};

constexpr std::array kForms = {
    FormRow{Form::kReason, is_reason, "a reason is a code of the table, such as report-missing"},
    FormRow{Form::kNode, [](std::string_view text) { return check_node_name(text).has_value(); },
            "a node's name looks like gpu-node-1.example"},
    FormRow{Form::kModel, [](std::string_view text) { return check_model_name(text).has_value(); },
            "a model's name looks like acme/demo-llm"},
    FormRow{Form::kPolicy,
            [](std::string_view text) { return is_kebab(named_set(text).value_or(text), false); },
            "a policy's name is in kebab-case, at most 64 characters; a set's has set: before it"},
    FormRow{Form::kStage, [](std::string_view text) { return is_kebab(text, true); },
            "a stage is in kebab-case, such as evaluate"},
    FormRow{Form::kPredicateType, is_predicate_type, "a predicate type is a URI"},
    FormRow{Form::kPrincipal, is_principal, "a principal's name has letters, digits and ._@:/-"},
    FormRow{Form::kEventType, is_event_type,
            "a type such as decision.made, or the beginning of several, such as trust."},
    FormRow{Form::kUuid, [](std::string_view text) { return is_uuid_v7(text); },
            "an id is a UUID of version 7"},
    FormRow{Form::kNamespace,
            [](std::string_view text) { return !text.empty() && length(text) <= 253; },
            "this name has 1 to 253 characters"},
    FormRow{Form::kSubject,
            [](std::string_view text) { return !text.empty() && length(text) <= 512; },
            "a subject has 1 to 512 characters"},
    FormRow{Form::kDigest, is_digest, "a subject is an artifact id or algorithm:value"},
    FormRow{Form::kPart, is_part, "a part of collateral has a name such as tdx/root-crl"},
    FormRow{Form::kPlace,
            [](std::string_view text) { return !text.empty() && length(text) <= 512; },
            "go on with `next` of the page before"},
};

}  // namespace

Result<std::string> filter(const Call& call, std::string_view name, Form form) {
  auto text = call.parameter(name);
  if (!text) {
    return std::string();
  }
  const FormRow& row = *std::ranges::find(kForms, form, &FormRow::form);
  if (!row.holds(*text)) {
    return fail(ErrorCode::kInvalidParameter, row.text, std::string(name));
  }
  return *std::move(text);
}

Result<bool> switch_parameter(const Call& call, std::string_view name) {
  const std::string text = call.parameter(name).value_or("false");
  if (text != "true" && text != "false") {
    return fail(ErrorCode::kInvalidParameter, "true or false", std::string(name));
  }
  return text == "true";
}

Result<bool> newest_first(const Call& call, std::string_view otherwise) {
  const std::string order = call.parameter("order").value_or(std::string(otherwise));
  if (order != "newest" && order != "oldest") {
    return fail(ErrorCode::kInvalidParameter, "newest or oldest", "order");
  }
  return order == "newest";
}

}  // namespace assay::server
