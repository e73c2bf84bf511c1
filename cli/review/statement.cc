// SPDX-License-Identifier: Apache-2.0
// Reviews of statements: manifests, placements, releases, lifecycle statements, and predicates of
// others. Reviews of withdrawals.
#include <algorithm>
#include <map>

#include "cli/bom/read.h"
#include "cli/output.h"
#include "cli/review/review.h"
#include "cli/review/text.h"
#include "schemas/core/json_foreign.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"
#include "schemas/placement.h"
#include "schemas/release.h"

namespace assay::cli {

namespace {

Json predicate_of(const Json& statement) {
  const Json predicate = statement.is_object() ? statement.value("predicate", Json()) : Json();
  return predicate.is_object() ? predicate : Json::object();
}

void say_subjects(const Json& document, std::size_t limit, Review& review) {
  const Json& subjects = list_of(document, "subject");
  std::size_t number = 0;
  for (const Json& subject : subjects) {
    if (number++ == limit) {
      review.says.push_back("... and " + std::to_string(subjects.size() - limit) +
                            " more subjects");
      return;
    }
    const std::string name = text_of(subject, "name");
    review.says.push_back("about " + (name.empty() ? "" : quoted(Json(name)) + ", ") +
                          quoted(subject.value("digest", Json())));
  }
}

void say_members(const Json& predicate, std::initializer_list<std::string_view> said,
                 std::size_t limit, Review& review) {
  for (const auto& [member, value] : predicate.items()) {
    if (std::find(said.begin(), said.end(), member) == said.end()) {
      for (std::string& line : leaves(value, member, limit)) {
        review.says.push_back(std::move(line));
      }
    }
  }
}

// --- manifests

// What names an entry in its artifact.
std::string key_of(const Json& entry) {
  const std::string kind = text_of(entry, "kind");
  return kind == "tensor" ? "tensor " + quoted(entry.value("file", Json())) + " " +
                                quoted(entry.value("name", Json()))
                          : kind + " " + quoted(entry.value("path", Json()));
}

std::map<std::string, Json> entries_of(const Json& predicate) {
  std::map<std::string, Json> entries;
  for (const Json& entry : list_of(predicate, "entries")) {
    entries.emplace(key_of(entry), entry);
  }
  return entries;
}

void say_entries(const Json& predicate, std::size_t limit, Review& review) {
  std::map<std::string, std::uint64_t> kinds;
  double bytes = 0;
  for (const Json& entry : list_of(predicate, "entries")) {
    const std::string kind = text_of(entry, "kind");
    ++kinds[kind];
    const Json size = entry.value("size", Json());
    bytes += kind == "file" && size.is_number() ? size.get<double>() : 0;
  }
  std::string line;
  for (const auto& [kind, number] : kinds) {
    line += (line.empty() ? "" : ", ") + counted(number, kind);
  }
  review.says.push_back("lists " + (line.empty() ? "nothing" : line) + ", files of " +
                        human_bytes(bytes));
  if (!kinds.contains("file") && kinds.contains("tensor")) {
    review.flags.push_back("lists tensors only: files beside them are bound by nothing");
  }
  std::size_t number = 0;
  const Json& entries = list_of(predicate, "entries");
  for (const Json& entry : entries) {
    if (number++ == limit) {
      review.says.push_back("    ... and " + std::to_string(entries.size() - limit) + " more");
      return;
    }
    review.says.push_back("    " + key_of(entry) + ", " + quoted(entry.value("size", Json())) +
                          " bytes, " + quoted(entry.value("root", Json())));
  }
}

// What is overlooked when the model is verified.
void flag_ignored(const Json& value, const std::string& path, Review& review) {
  for (const auto& [member, part] : value.items()) {
    if (member == "ignore" && part.is_array() && !part.empty()) {
      review.flags.push_back("files that match " + list_text(part, SIZE_MAX) +
                             " are not looked at (" + path + member + ")");
    } else if (member == "follow_symlinks" && part == Json(true)) {
      review.flags.push_back("symbolic links are followed (" + path + member + ")");
    } else if (member == "parameters" && part.is_object()) {
      flag_ignored(part, path + "parameters.", review);
    }
  }
}

void compare_entries(const Json& before, const Json& after, Review& review) {
  const auto old_entries = entries_of(before);
  const auto new_entries = entries_of(after);
  for (const auto& [key, entry] : old_entries) {
    const auto now = new_entries.find(key);
    if (now == new_entries.end()) {
      review.changes.push_back({"entries[" + key + "]", entry, nullptr, ""});
    } else if (now->second != entry) {
      review.changes.push_back({"entries[" + key + "]", entry, now->second, ""});
    }
  }
  for (const auto& [key, entry] : new_entries) {
    if (!old_entries.contains(key)) {
      review.changes.push_back({"entries[" + key + "]", nullptr, entry, ""});
    }
  }
}

std::string statement_flag(const Difference& one) {
  const std::string member = last_member(one.path);
  if (member == "locations" && one.before.is_null()) {
    return "pods that mount this place may run it";
  }
  if (member == "ignore" && one.before.is_null()) {
    return "files of these names are not looked at";
  }
  return member == "follow_symlinks" ? "symbolic links" : "";
}

void compare(const Json& document, const InForce& in_force, const std::string& what,
             Review& review) {
  if (!in_force.statement) {
    return;
  }
  if (in_force.statement->is_null()) {
    review.against = "nothing: there is no earlier " + what + ", says " + in_force.source;
    return;
  }
  review.against = "the newest " + what + " before, says " + in_force.source;
  Json before = predicate_of(*in_force.statement);
  Json after = predicate_of(document);
  const Json old_entries = before;
  const Json new_entries = after;
  before.erase("entries");
  after.erase("entries");
  for (const Difference& one : differences(before, after)) {
    review.changes.push_back({one.path, one.before, one.after, statement_flag(one)});
  }
  for (const Difference& one : differences(list_of(*in_force.statement, "subject"),
                                           list_of(document, "subject"), "subject")) {
    review.changes.push_back({one.path, one.before, one.after, ""});
  }
  compare_entries(old_entries, new_entries, review);
}

void review_manifest(const Json& document, const Json& predicate, std::size_t limit,
                     Review& review) {
  review.title = "manifest of the model " + quoted(predicate.value("name", Json()));
  say_subjects(document, limit, review);
  say_entries(predicate, limit, review);
  const Json& locations = list_of(predicate, "locations");
  review.says.push_back(locations.empty() ? "names no place where it is kept"
                                          : "kept at " + list_text(locations, limit) +
                                                ": pods that mount these places may run it");
  say_members(predicate, {"name", "entries", "locations"}, limit, review);
  flag_ignored(predicate, "", review);
}

void review_lifecycle(const Json& document, const Json& predicate, std::size_t limit,
                      Review& review) {
  review.title = "statement of the stage " + quoted(predicate.value("stage", Json()));
  say_subjects(document, limit, review);
  say_members(predicate, {"stage"}, limit, review);
}

void review_release(const Json& document, const Json& predicate, std::size_t limit,
                    Review& review) {
  review.title = "release " + quoted(predicate.value("version", Json())) + " of the model " +
                 quoted(predicate.value("name", Json()));
  say_subjects(document, limit, review);
  review.says.push_back(predicate.contains("supersedes")
                            ? "follows the release " + quoted(predicate["supersedes"])
                            : "is the first release of the name: a second first one is a fork");
  review.says.push_back("policies that take a name for its newest release mean it from now on");
  say_members(predicate, {"name", "version", "supersedes"}, limit, review);
}

// --- bills of materials of others

std::string described(const bom::BomComponent& component) {
  std::string line = component.type + " " + quoted(Json(component.full_name()));
  line += component.version.empty() ? "" : " " + quoted(Json(component.version));
  line += component.artifact ? ", " + component.artifact->text() : "";
  for (const auto& [algorithm, value] : component.digests) {
    line += ", " + algorithm + ":" + value;
  }
  return line + (component.licences.empty()
                     ? ""
                     : ", licence " + list_text(Json(component.licences), kShownItems));
}

void review_bom(const Json& document, const Json& predicate, std::size_t limit, Review& review) {
  review.title = "bill of materials in CycloneDX, all of it the claim of whoever signs this";
  say_subjects(document, limit, review);
  const Result<bom::ReadBom> bill = bom::read_bom(predicate);
  if (!bill) {
    review.flags.push_back("the document cannot be read: " + to_string(bill.error()));
    say_members(predicate, {}, limit, review);
    return;
  }
  review.says.push_back("claims " + counted(bill->components.size(), "component"));
  std::size_t number = 0;
  for (const bom::BomComponent& component : bill->components) {
    if (number++ == limit) {
      review.says.push_back("    ... and " + std::to_string(bill->components.size() - limit) +
                            " more");
      break;
    }
    review.says.push_back("    " + described(component));
    if (component.digests.empty() && !component.artifact) {
      review.says.back() += ", without a hash";
    }
  }
  say_members(predicate, {"components"}, limit, review);
}

}  // namespace

Review review_statement(const Json& document, const InForce& in_force, bool all) {
  const std::size_t limit = all ? SIZE_MAX : kShownItems;
  const Json predicate = predicate_of(document);
  const std::string type = text_of(document, "predicateType");
  Review review;
  if (type == kManifestPredicateType) {
    review_manifest(document, predicate, limit, review);
    compare(document, in_force, "manifest of that name", review);
    return review;
  }
  if (type == kPlacementPredicateType) {
    review.title = "placement of the model " + quoted(predicate.value("name", Json()));
    say_subjects(document, limit, review);
    review.says.push_back("lies at " + list_text(list_of(predicate, "locations"), limit) +
                          ": pods that mount these places may run it");
    say_members(predicate, {"name", "locations"}, limit, review);
    compare(document, in_force, "placement of it", review);
    return review;
  }
  if (type == kReleasePredicateType) {
    review_release(document, predicate, limit, review);
    compare(document, in_force, "release of it", review);
    return review;
  }
  if (type == kLifecyclePredicateType) {
    review_lifecycle(document, predicate, limit, review);
  } else if (type == bom::kCycloneDxPredicateType) {
    review_bom(document, predicate, limit, review);
  } else {
    review.title = "statement of type " + quoted(Json(type));
    say_subjects(document, limit, review);
    say_members(predicate, {}, limit, review);
  }
  compare(document, in_force, "statement", review);
  return review;
}

namespace {

Review review_withdrawal(const Json& document) {
  Review review;
  review.title = "withdrawal of the statement " + quoted(document.value("statement", Json()));
  review.says.push_back("it never counts again: no pass, no name, no location comes of it");
  say_members(document, {"statement"}, kShownItems, review);
  review.flags.push_back("nothing undoes a withdrawal");
  return review;
}

}  // namespace

Result<Review> review(const Payload& payload, const InForce& in_force, bool all) {
  Review made;
  if (payload.kind == PayloadKind::kOther || payload.kind == PayloadKind::kDecision ||
      payload.kind == PayloadKind::kStageEvidence) {
    made.title = "document of type " + quoted(Json(payload.type)) + ", " +
                 counted(payload.bytes.size(), "byte");
    if (payload.kind == PayloadKind::kOther) {
      made.flags.push_back("assay does not know what such a document says");
      return made;
    }
  }
  JsonLimits limits;
  limits.max_bytes = payload.bytes.size();
  ASSAY_ASSIGN(const Json document, parse_exact_json(payload.bytes, limits));
  switch (payload.kind) {
    case PayloadKind::kPolicy:
    case PayloadKind::kReferenceSet:
      made = review_policy(document, in_force, all);
      break;
    case PayloadKind::kPolicyApproval:
      made = review_approval(document, in_force, all);
      break;
    case PayloadKind::kTrustChange:
      made = review_trust_change(document, in_force, all);
      break;
    case PayloadKind::kManifest:
    case PayloadKind::kAttestation:
      made = review_statement(document, in_force, all);
      break;
    case PayloadKind::kWithdrawal:
      made = review_withdrawal(document);
      break;
    case PayloadKind::kEndorsements:
      made = review_endorsements(document, in_force, all);
      break;
    case PayloadKind::kStageEvidence:
    case PayloadKind::kDecision:
    case PayloadKind::kOther:
      made.says = leaves(document, "", all ? SIZE_MAX : kShownItems);
      break;
  }
  for (const std::string& member : dangerous_members(document)) {
    made.flags.push_back(member + " is set");
  }
  return made;
}

}  // namespace assay::cli
