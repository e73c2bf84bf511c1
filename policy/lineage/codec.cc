// SPDX-License-Identifier: Apache-2.0
// The canonical document of a lineage.
#include <algorithm>

#include "policy/facts/fact_codec.h"
#include "policy/lineage.h"

namespace assay::policy {
namespace {

Status check_subjects(const std::vector<LineageSubject>& subjects) {
  return std::ranges::is_sorted(subjects, std::less<>(), &LineageSubject::digest)
             ? Status()
             : fail(ErrorCode::kSchemaViolation, "subjects are ordered by digest");
}

}  // namespace

static auto members_of(json::As<LineageSubject>) {
  return std::tuple(json::always("digest", &LineageSubject::digest),
                    json::always("names", &LineageSubject::names));
}

static auto members_of(json::As<LineageInput>) {
  using T = LineageInput;
  return std::tuple(json::always("role", &T::role), json::if_set("name", &T::name),
                    json::always("digests", &T::digests), json::if_set("also", &T::also));
}

static auto members_of(json::As<LineageStatement>) {
  using T = LineageStatement;
  return std::tuple(json::always("fact", &T::fact), json::if_set("manifest", &T::manifest),
                    json::always("subjects", &T::subjects, json::checked(check_subjects)),
                    json::if_set("inputs", &T::inputs), json::if_set("unread", &T::unread),
                    json::if_set("licence", &T::licence), json::if_set("together", &T::together));
}
static LineageStatement start(json::As<LineageStatement>) {
  return {{json::unread<StatementId>(), {}, {}, nullptr, {}, {}, {}}, false, {}, {}};
}
Json to_json(const LineageStatement& statement) { return json::write(statement); }
Result<LineageStatement> read_json(json::As<LineageStatement> /*type*/, const Json& json) {
  return json::read<LineageStatement>(json);
}

static auto members_of(json::As<LineageAside>) {
  using T = LineageAside;
  return std::tuple(json::always("digest", &T::digest), json::always("key", &T::key),
                    json::always("identity", &T::identity), json::always("names", &T::names),
                    json::always("statements", &T::statements), json::if_set("makes", &T::makes));
}
static LineageAside start(json::As<LineageAside>) { return {{}, json::unread<KeyId>(), {}, {}}; }
Json to_json(const LineageAside& aside) { return json::write(aside); }

namespace {

// What Lineage::make() takes.
struct LineageDocument {
  std::string start;
  Lineage::Statements statements;
  std::vector<std::string> reached;
  LineageRest rest;
};

auto members_of(json::As<LineageDocument>) {
  using T = LineageDocument;
  const auto read = [](const Json& json) -> Result<std::shared_ptr<const LineageStatement>> {
    ASSAY_ASSIGN(auto statement, json::get<LineageStatement>(json));
    return std::make_shared<const LineageStatement>(std::move(statement));
  };
  const auto write = [](const auto& statement) { return to_json(*statement); };
  return std::tuple(json::always("start", &T::start),
                    json::always("statements", &T::statements, json::each(read, write)),
                    json::if_set("reached", &T::reached),
                    json::among(&T::rest, std::tuple(json::if_set("aside", &LineageRest::aside),
                                                     json::if_set("cut", &LineageRest::cut))));
}

}  // namespace

Json to_json(const Lineage& lineage) {
  return json::write(
      LineageDocument{lineage.start(), lineage.statements(), lineage.reached(), lineage.rest()});
}
Result<std::shared_ptr<const Lineage>> lineage_from_json(const Json& json) {
  ASSAY_ASSIGN(auto read, json::read<LineageDocument>(json));
  return Lineage::make(std::move(read.start), std::move(read.statements), std::move(read.reached),
                       std::move(read.rest));
}

}  // namespace assay::policy
