// SPDX-License-Identifier: Apache-2.0
// Registrations: shape by registration.schema.json.
#include "schemas/registration.h"

#include <algorithm>

#include "schemas/document.h"

namespace assay {
namespace {

constexpr char kAny = '*';

std::vector<std::string_view> labels_of(std::string_view name) {
  std::vector<std::string_view> labels;
  for (std::size_t start = 0; start <= name.size();) {
    const std::size_t dot = std::min(name.find('.', start), name.size());
    labels.push_back(name.substr(start, dot - start));
    start = dot + 1;
  }
  return labels;
}

// A label with what stands before and behind its '*'.
struct Label {
  bool pattern;
  std::string_view before;  // all of a label without '*'
  std::string_view behind;
};

Label label_of(std::string_view text) {
  const std::size_t star = text.find(kAny);
  return star == std::string_view::npos ? Label{false, text, {}}
                                        : Label{true, text.substr(0, star), text.substr(star + 1)};
}

bool covers_label(const Label& label, std::string_view text) {
  if (!label.pattern) {
    return label.before == text;
  }
  return text.size() > label.before.size() + label.behind.size() &&
         text.starts_with(label.before) && text.ends_with(label.behind);
}

bool overlap_label(std::string_view left, std::string_view right) {
  const Label a = label_of(left);
  const Label b = label_of(right);
  if (!a.pattern || !b.pattern) {
    return a.pattern ? covers_label(a, right) : covers_label(b, left);
  }
  return (a.before.starts_with(b.before) || b.before.starts_with(a.before)) &&
         (a.behind.ends_with(b.behind) || b.behind.ends_with(a.behind));
}

// True when `matches` holds for each pair of labels.
template <typename Match>
bool pairwise(std::string_view left, std::string_view right, Match matches) {
  const auto lefts = labels_of(left);
  const auto rights = labels_of(right);
  return std::ranges::equal(lefts, rights, matches);
}

}  // namespace

bool is_pattern(std::string_view node) { return node.find(kAny) != std::string_view::npos; }

bool covers(std::string_view node, std::string_view name) {
  return !is_pattern(name) &&
         pairwise(node, name, [](std::string_view label, std::string_view text) {
           return covers_label(label_of(label), text);
         });
}

bool overlap(std::string_view left, std::string_view right) {
  return pairwise(left, right, overlap_label);
}

static auto members_of(json::As<ServiceAccountIssuer>) {
  using T = ServiceAccountIssuer;
  return std::tuple(json::always("issuer", &T::issuer), json::always("subject", &T::subject),
                    json::always("jwks", &T::jwks));
}
static auto members_of(json::As<Registration>) {
  using T = Registration;
  return std::tuple(
      json::always("id", &T::id), json::always("node", &T::node),
      json::always("principal", &T::principal), json::if_set("platforms", &T::platforms),
      json::or_default("nodes_per_platform", &T::nodes_per_platform),
      json::if_set("devices", &T::devices), json::if_set("service_account", &T::service_account));
}
static Status together(const Registration& registration) {
  for (const std::string_view label : labels_of(registration.node)) {
    if (std::ranges::count(label, kAny) > 1) {
      return fail(ErrorCode::kSchemaViolation, "a label of a pattern has one '*' at most", "/node");
    }
  }
  if (is_pattern(registration.node) && !registration.service_account) {
    return fail(ErrorCode::kSchemaViolation,
                "a pattern needs service_account: its principal alone could take any free name",
                "/service_account");
  }
  return {};
}
Json to_json(const Registration& registration) { return json::write(registration); }
Result<Registration> read_json(json::As<Registration> /*type*/, const Json& json) {
  return json::read<Registration>(json);
}
Result<Registration> registration_from_json(const Json& json) {
  ASSAY_TRY(validate("registration", json));
  return json::read<Registration>(json);
}

}  // namespace assay
