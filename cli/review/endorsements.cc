// SPDX-License-Identifier: Apache-2.0
// Bundles of endorsements in words, and what they would change at a service.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "attestation/corim/reference_document.h"
#include "cli/documents/endorsed.h"
#include "cli/output.h"
#include "cli/review/reference_values.h"
#include "cli/review/review.h"
#include "cli/review/text.h"
#include "schemas/core/sha.h"

namespace assay::cli {
namespace {

using attestation::CollateralPart;

void say_part(const CollateralPart& part, const Endorsements& bundle, Review& review) {
  const std::string name = quoted(Json(part.name));
  review.says.push_back("    " + name + ", number " + std::to_string(part.number) + ", issued " +
                        to_rfc3339(part.issued) + ", ends " + to_rfc3339(part.next_update));
  if (part.kind != "rim" && part.next_update <= bundle.made_at) {
    review.flags.push_back(name + " had ended when the bundle was made");
  } else if (part.kind == "rim" && part.next_update <= bundle.made_at) {
    review.flags.push_back("the certificates of " + name + " ended at " +
                           to_rfc3339(part.next_update) +
                           ": devices with its measurements are accepted all the same");
  }
}

// One line for all answers, of which there are many.
void say_answers(const attestation::CollateralSet& set, Review& review) {
  std::optional<Timestamp> end;
  std::size_t count = 0;
  for (const CollateralPart& part : set.parts()) {
    if (part.kind == "ocsp") {
      end = std::min(end.value_or(part.next_update), part.next_update);
      ++count;
    }
  }
  if (end) {
    review.says.push_back("    " + counted(count, "OCSP answer") + ", of which the first ends " +
                          to_rfc3339(*end));
  }
}

void say_collateral(const OpenedCollateral& one, std::size_t place, bool all,
                    const Endorsements& bundle, Review& review) {
  const std::string what =
      "collateral " + std::to_string(place) + ", for evidence of type " + quoted(Json(one.type));
  if (one.set == nullptr) {
    review.says.push_back(what + ": not authentic");
    review.flags.push_back(what + " is not authentic: " + quoted(Json(to_string(*one.error))));
    return;
  }
  review.says.push_back(what + ", under " +
                        (one.set->anchor_is_vendor() ? std::string("the vendor's root")
                                                     : "the root " + one.set->anchor().text()) +
                        ":");
  for (const CollateralPart& part : one.set->parts()) {
    if (all || part.kind != "ocsp") {
      say_part(part, bundle, review);
    }
  }
  if (!all) {
    say_answers(*one.set, review);
  }
}

void say_bytes(const Endorsements& bundle, Review& review) {
  for (const EndorsedBytes& root : bundle.roots) {
    review.says.push_back("root for evidence of type " + quoted(Json(root.type)) + ": " +
                          sha256(root.bytes).text());
    review.flags.push_back(
        "who holds the key of the root " + sha256(root.bytes).text() +
        " makes evidence of any machine, for those who verify with this bundle offline; a service "
        "takes no root of a bundle");
  }
  for (const EndorsedBytes& values : bundle.reference_values) {
    review.says.push_back("reference values for evidence of type " + quoted(Json(values.type)) +
                          ", for those who verify offline:");
    const auto document = attestation::corim::read_reference_document(values.bytes);
    if (!document) {
      review.flags.push_back("the reference values cannot be read: " + document.error().detail);
      continue;
    }
    for (const std::string& line : describe_references(*document)) {
      review.says.push_back("    " + line);
    }
  }
}

// The parts that the service keeps, by name.
std::map<std::string, Json> kept_parts(const Json& items) {
  std::map<std::string, Json> kept;
  for (const Json& item : items) {
    kept.emplace(text_of(item, "name"), item);
  }
  return kept;
}

bool is_vouched(const Json& item) {
  return text_of(item, "kind") == "rim" && text_of(item, "way") == "bundle";
}

void compare_part(const CollateralPart& part, const Json& before, Review& review) {
  const Json after = {{"number", part.number}, {"issued", to_rfc3339(part.issued)}};
  const bool is_new_word = part.kind == "rim" && !is_vouched(before);
  const std::string flag = is_new_word ? "counts beyond its end from now on" : "";
  const Json old = before.is_null() ? Json()
                                    : Json{{"number", before.value("number", Json())},
                                           {"issued", before.value("issued", Json())}};
  if (is_new_word || old != after) {
    review.changes.push_back({"parts[" + part.name + "]", old, after, flag});
  }
}

void compare_parts(const std::vector<OpenedCollateral>& opened, const Json& items, Review& review) {
  const auto kept = kept_parts(items);
  std::set<std::string> names;
  for (const OpenedCollateral& one : opened) {
    if (one.set == nullptr) {
      continue;
    }
    for (const CollateralPart& part : one.set->parts()) {
      const auto before = kept.find(part.name);
      names.insert(part.name);
      compare_part(part, before == kept.end() ? Json() : before->second, review);
    }
  }
  for (const auto& [name, item] : kept) {
    if (is_vouched(item) && !names.contains(name)) {
      review.changes.push_back({"beyond_its_end[" + name + "]", true, nullptr, ""});
    }
  }
}

}  // namespace

Review review_endorsements(const Json& document, const InForce& in_force, bool all) {
  Review review;
  const auto bundle = json::get<Endorsements>(document);
  if (!bundle) {
    review.title = "bundle that cannot be read";
    review.flags.push_back(to_string(bundle.error()));
    return review;
  }
  const auto opened = open_endorsed(*bundle);
  review.title = "bundle of endorsements, number " + std::to_string(bundle->number) + ", made at " +
                 to_rfc3339(bundle->made_at);
  if (const auto end = first_end(opened)) {
    review.says.push_back("the first part ends at " + to_rfc3339(end->at) + ": " +
                          quoted(Json(end->part)));
  }
  for (std::size_t i = 0; i < opened.size(); ++i) {
    say_collateral(opened[i], i, all, *bundle, review);
  }
  say_bytes(*bundle, review);
  if (in_force.endorsements) {
    review.against = "what " + in_force.source + " keeps";
    const Json newest = in_force.endorsements->value("number", Json());
    review.changes.push_back({"number", newest, bundle->number, ""});
    if (!newest.is_number_unsigned() || newest.get<std::uint64_t>() >= bundle->number) {
      review.flags.push_back("the service has bundle " + quoted(newest) +
                             " already: it will not take this one");
    }
    compare_parts(opened, list_of(*in_force.endorsements, "parts"), review);
  }
  return review;
}

}  // namespace assay::cli
