// SPDX-License-Identifier: Apache-2.0
#include "server/service/nodes/collateral.h"

#include <algorithm>

#include "schemas/core/json_at.h"
#include "schemas/log_record.h"
#include "schemas/members.h"
#include "schemas/validate.h"
#include "server/service/documents/receipt.h"
#include "server/service/if_found.h"
#include "server/service/write_change.h"

namespace assay::server {
namespace {

using attestation::CollateralPart;
using attestation::CollateralSet;
using attestation::CollateralSetPtr;

constexpr std::string_view kPartMediaType = "application/vnd.assay.collateral-part+json";
constexpr std::string_view kCollateralMediaType = "application/vnd.assay.collateral+json";
constexpr std::size_t kMaxBundleBytes = kMaxEvidenceCollateralBytes;

std::uint64_t order_of(const CollateralPart& part) {
  return attestation::collateral_order(part.number, part.issued);
}
std::uint64_t order_of(const KeptPart& part) {
  return attestation::collateral_order(part.number, part.issued);
}

Json document_of(const CollateralSet& set, const CollateralPart& part, const Bringer& bringer,
                 Timestamp now) {
  return {{"v", 1},
          {"name", part.name},
          {"kind", part.kind},
          {"evidence_type", set.type()},
          {"number", part.number},
          {"issued", to_rfc3339(part.issued)},
          {"next_update", to_rfc3339(part.next_update)},
          {"substance", part.substance.text()},
          {"anchor", set.anchor().text()},
          {"anchor_is_vendor", set.anchor_is_vendor()},
          {"brought_by", bringer.actor},
          {"way", bringer.way},
          {"brought_at", to_rfc3339(now)},
          {"members", members_of(set, part)}};
}

std::unexpected<Error> unreadable(const std::string& name) {
  return fail(ErrorCode::kDataLoss, "a stored part of collateral cannot be read", name);
}

Result<KeptPart> read_part(storage::Snapshot& snapshot, const std::string& name,
                           const DocumentId& id) {
  ASSAY_ASSIGN(const storage::Document document, snapshot.document(id));
  const auto json = parse_json(document.bytes);
  if (!json || !json->is_object() || text_at(*json, "name") != name) {
    return unreadable(name);
  }
  const auto issued = parse_rfc3339(text_at(*json, "issued"));
  const auto next_update = parse_rfc3339(text_at(*json, "next_update"));
  const auto brought_at = parse_rfc3339(text_at(*json, "brought_at"));
  const auto substance = Digest::parse(text_at(*json, "substance"));
  const auto anchor = Digest::parse(text_at(*json, "anchor"));
  const Json& number = member_at(*json, "number");
  const Json& members = member_at(*json, "members");
  if (!issued || !next_update || !brought_at || !substance || !anchor ||
      !number.is_number_unsigned() || !members.is_object()) {
    return unreadable(name);
  }
  return KeptPart{name,
                  text_at(*json, "kind"),
                  text_at(*json, "evidence_type"),
                  number.get<std::uint64_t>(),
                  *issued,
                  *next_update,
                  *substance,
                  *anchor,
                  member_at(*json, "anchor_is_vendor") == Json(true),
                  text_at(*json, "brought_by"),
                  text_at(*json, "way"),
                  *brought_at,
                  members};
}

// A part and where it lies; nothing when none is kept.
struct LocatedPart {
  DocumentId id;
  KeptPart part;
};
Result<std::optional<LocatedPart>> find_part(storage::Snapshot& snapshot, const std::string& name) {
  ASSAY_ASSIGN(auto id, if_found(snapshot.high_water_collateral(name)));
  if (!id) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(KeptPart part, read_part(snapshot, name, *id));
  return LocatedPart{*std::move(id), std::move(part)};
}

// Whether `part` is to take the place of `kept`.
bool moves(const CollateralPart& part, const KeptPart& kept, std::string_view way) {
  return order_of(part) > order_of(kept) && (way == kByImport || part.substance != kept.substance ||
                                             part.issued - kept.issued >= kCollateralStep);
}

// --- the collateral for evidence

// The ids of all parts that evidence asks for; nothing unless all are kept.
std::optional<std::string> key_of(const std::vector<std::string>& names,
                                  const std::map<std::string, DocumentId>& kept) {
  std::string key;
  for (const std::string& name : names) {
    const auto found = kept.find(name);
    if (found == kept.end()) {
      return std::nullopt;
    }
    key += found->second.text() + " ";
  }
  return key;
}

// The set that is kept, from memory if it is there; null unless all parts are kept. Errors:
// collateral-refused when they contradict each other; data-loss.
Result<CollateralSetPtr> kept_set(Services& services, storage::Snapshot& snapshot,
                                  const std::vector<std::string>& names,
                                  const std::map<std::string, DocumentId>& kept,
                                  const Evidence& evidence, const Appraisal& appraisal) {
  const auto key = key_of(names, kept);
  if (!key) {
    return nullptr;
  }
  if (auto found = services.collateral.find(*key)) {
    return *std::move(found);
  }
  Json bundle = Json::object();
  for (const std::string& name : names) {
    ASSAY_ASSIGN(const KeptPart part, read_part(snapshot, name, kept.at(name)));
    bundle.update(part.members);
  }
  auto set =
      attestation::authenticate_collateral(evidence.type, bundle, appraisal.dangerous_anchors);
  if (!set) {
    return fail(ErrorCode::kCollateralRefused,
                "what is kept does not go together: " + set.error().detail, names.front());
  }
  services.collateral.put(*key, *set, (*set)->memory_bytes());
  return *std::move(set);
}

bool brings_the_same(const Json& own, const CollateralSet& set) {
  return std::ranges::all_of(set.bundle().items(), [&](const auto& member) {
    const auto found = own.find(member.key());
    return found != own.end() && *found == member.value();
  });
}

// The evidence's own collateral with the parts that are kept and not older, and with those that it
// lacks. Returns null when what the evidence brings is not authentic. Errors: collateral-refused
// when the parts do not go together; data-loss.
Result<CollateralSetPtr> merged_set(storage::Snapshot& snapshot,
                                    const std::vector<std::string>& names, const Evidence& evidence,
                                    const Appraisal& appraisal,
                                    std::map<std::string, DocumentId>& kept) {
  auto own = attestation::authenticate_collateral(evidence.type, evidence.collateral,
                                                  appraisal.dangerous_anchors);
  if (!own) {
    return nullptr;
  }
  Json bundle = (*own)->bundle();
  bool mixed = false;
  for (const std::string& name : names) {
    const auto& parts = (*own)->parts();
    const auto part = std::ranges::find(parts, name, &CollateralPart::name);
    ASSAY_ASSIGN(const auto found, find_part(snapshot, name));
    if (!found || (part != parts.end() && moves(*part, found->part, kWithEvidence))) {
      kept.erase(name);
      continue;
    }
    // Another family's document is no older one of this family.
    if (part == parts.end() && name.find("/tcb-info/") != std::string::npos) {
      kept.erase(name);
      continue;
    }
    bundle.update(found->part.members);
    mixed = true;
  }
  if (!mixed) {
    return *std::move(own);
  }
  // Both are authentic, but one contradicts the other, as when the CRL that is kept revokes who
  // signed the evidence's TCB info. Alone, the evidence's parts would pass for the newest.
  return attestation::authenticate_collateral(evidence.type, bundle, appraisal.dangerous_anchors);
}

// --- moving forward

// The state of one name in a transaction.
struct Mark {
  std::uint64_t value = 0;
  std::optional<DocumentId> id;
  std::optional<KeptPart> part;  // also empty when it cannot be read: a newer one mends it
};
Result<Mark> read_mark(storage::Transaction& transaction, const std::string& name) {
  Mark mark;
  ASSAY_ASSIGN(mark.value, transaction.high_water(name));
  ASSAY_ASSIGN(mark.id, if_found(transaction.high_water_collateral(name)));
  if (mark.id) {
    auto part = read_part(transaction, name, *mark.id);
    if (part) {
      mark.part = *std::move(part);
    } else if (part.error().code != ErrorCode::kDataLoss) {
      return std::unexpected(std::move(part).error());
    }
  }
  return mark;
}

struct Moved {
  std::vector<std::string> names;
  std::vector<DocumentId> documents;
  Json parts = Json::array();
};

Status keep_part(storage::Transaction& transaction, const CollateralSet& set,
                 const CollateralPart& part, const Mark& mark, const Bringer& bringer,
                 Moved& moved) {
  const bool says_the_same = mark.part && mark.part->substance == part.substance;
  const std::uint64_t value = says_the_same ? mark.value : std::max(order_of(part), mark.value + 1);
  ASSAY_ASSIGN(const std::string text,
               canonical_json(document_of(set, part, bringer, transaction.now())));
  ASSAY_ASSIGN(DocumentId id, transaction.put_document(kPartMediaType, as_bytes(text)));
  ASSAY_TRY(transaction.raise_high_water(part.name, value, id));
  moved.names.push_back(part.name);
  moved.documents.push_back(std::move(id));
  moved.parts.push_back({{"name", part.name},
                         {"number", part.number},
                         {"issued", to_rfc3339(part.issued)},
                         {"next_update", to_rfc3339(part.next_update)},
                         {"mark", value}});
  return {};
}

// The parts of the chosen set that are not kept as they were when it was chosen, by name. Refuses
// before anything is written: a caller may write on. Errors: collateral-rollback; unavailable.
Result<std::map<std::string, Mark>> not_as_chosen(storage::Transaction& transaction,
                                                  const ChosenCollateral& chosen,
                                                  const Bringer& bringer) {
  std::map<std::string, Mark> others;
  for (const CollateralPart& part : chosen.set->parts()) {
    ASSAY_ASSIGN(const auto id, if_found(transaction.high_water_collateral(part.name)));
    const auto kept = chosen.kept.find(part.name);
    if (id && kept != chosen.kept.end() && kept->second == *id) {
      continue;
    }
    ASSAY_ASSIGN(Mark mark, read_mark(transaction, part.name));
    if (!mark.part && order_of(part) < mark.value) {
      return fail(ErrorCode::kCollateralRollback, "newer collateral was seen for " + part.name);
    }
    if (mark.part && mark.part->substance != part.substance &&
        !moves(part, *mark.part, bringer.way)) {
      // A row that is put now would not count as stale, and nobody would appraise it again.
      return fail(ErrorCode::kUnavailable,
                  "newer collateral came meanwhile; begin again with a new challenge");
    }
    others.emplace(part.name, std::move(mark));
  }
  return others;
}

Result<std::optional<LeafIndex>> log_moved(storage::Transaction& transaction,
                                           const CollateralSet& set, const Bringer& bringer,
                                           Moved moved) {
  if (moved.names.empty()) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(const LeafIndex index,
               transaction.append({.type = std::string(event::kCollateralAccepted),
                                   .time = transaction.now(),
                                   .actor = bringer.actor,
                                   .subjects = std::move(moved.names),
                                   .documents = std::move(moved.documents),
                                   .detail = {{"evidence_type", set.type()},
                                              {"by", bringer.way},
                                              {"collateral", set.digest().text()},
                                              {"anchor", set.anchor().text()},
                                              {"anchor_is_vendor", set.anchor_is_vendor()},
                                              {"parts", std::move(moved.parts)}}}));
  return index;
}

Status put_bundle(storage::Transaction& transaction, const CollateralSet& set) {
  ASSAY_ASSIGN(const std::string text, canonical_json(set.bundle()));
  ASSAY_TRY(transaction.put_document(kCollateralMediaType, as_bytes(text)));
  return {};
}

// All anchors that any appraisal of this type accepts.
Result<std::vector<Bytes>> anchors_of(storage::Snapshot& snapshot, const std::string& type) {
  std::vector<Bytes> anchors;
  ASSAY_ASSIGN(const auto appraisals, snapshot.appraisals());
  for (const Appraisal& appraisal : appraisals) {
    if (appraisal.evidence_type == type) {
      anchors.insert(anchors.end(), appraisal.dangerous_anchors.begin(),
                     appraisal.dangerous_anchors.end());
    }
  }
  return anchors;
}

Status require_valid_now(const CollateralSet& set, Timestamp now) {
  if (now >= set.valid_from() && now <= set.valid_until()) {
    return {};
  }
  return fail(ErrorCode::kCollateralRefused,
              "all of the set is valid from " + to_rfc3339(set.valid_from()) + " to " +
                  to_rfc3339(set.valid_until()) + "; it is " + to_rfc3339(now),
              "/collateral");
}

Result<CollateralSetPtr> read_import(Services& services, ByteView body) {
  ASSAY_ASSIGN(const Json json,
               parse_json(body, JsonLimits{.max_bytes = 2 * kMaxBundleBytes, .max_depth = 8}));
  ASSAY_TRY(validate("collateral", json));
  const std::string type = members::text(json, "type");
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  ASSAY_ASSIGN(const std::vector<Bytes> anchors, anchors_of(*snapshot, type));
  ASSAY_ASSIGN(CollateralSetPtr set,
               attestation::authenticate_collateral(type, json.at("collateral"), anchors));
  ASSAY_TRY(require_valid_now(*set, services.clock.now()));
  return set;
}

// One part of an import against what is kept.
Result<std::string_view> import_part(storage::Transaction& transaction, const CollateralSet& set,
                                     const CollateralPart& part, const Bringer& bringer,
                                     Moved& moved) {
  ASSAY_ASSIGN(const Mark mark, read_mark(transaction, part.name));
  if (mark.part && mark.part->members == members_of(set, part)) {
    return "same";
  }
  const bool newer =
      mark.part ? moves(part, *mark.part, bringer.way) : order_of(part) >= mark.value;
  if (!newer) {
    return "kept";
  }
  ASSAY_TRY(keep_part(transaction, set, part, mark, bringer, moved));
  return "moved";
}

}  // namespace

Result<std::optional<KeptPart>> kept_part(storage::Snapshot& snapshot, const std::string& name) {
  ASSAY_ASSIGN(auto found, find_part(snapshot, name));
  return found ? std::optional(std::move(found->part)) : std::nullopt;
}

Result<ChosenCollateral> choose_collateral(Services& services, storage::Snapshot& snapshot,
                                           const Evidence& evidence, const Appraisal& appraisal) {
  ChosenCollateral chosen;
  const std::vector<std::string> names = attestation::collateral_names(evidence, appraisal);
  if (names.empty()) {
    return chosen;
  }
  for (const std::string& name : names) {
    ASSAY_ASSIGN(chosen.seen[name], snapshot.high_water(name));
    ASSAY_ASSIGN(auto id, if_found(snapshot.high_water_collateral(name)));
    if (id) {
      chosen.kept.emplace(name, *std::move(id));
    }
  }
  auto kept = kept_set(services, snapshot, names, chosen.kept, evidence, appraisal);
  const bool mendable = !kept && kept.error().code == ErrorCode::kCollateralRefused;
  if (!kept && (!mendable || evidence.collateral.is_null())) {
    return std::unexpected(std::move(kept).error());
  }
  CollateralSetPtr set = kept ? *std::move(kept) : nullptr;
  const bool enough = evidence.collateral.is_null() ||
                      (set != nullptr && brings_the_same(evidence.collateral, *set));
  if (enough) {
    chosen.set = std::move(set);
    return chosen;
  }
  ASSAY_ASSIGN(chosen.set, merged_set(snapshot, names, evidence, appraisal, chosen.kept));
  // What is kept already lies in memory: evidence that brings an older set shares it.
  if (set != nullptr && chosen.set != nullptr && chosen.set->digest() == set->digest()) {
    chosen.set = std::move(set);
  }
  return chosen;
}

Result<attestation::AppraisedEvidence> appraise_chosen(
    const Services& services, const ChosenCollateral& chosen, const Evidence& evidence,
    const Appraisal& appraisal, attestation::Purpose purpose, const ReportDataBytes& expected,
    Timestamp now) {
  if (chosen.set != nullptr) {
    return attestation::appraise_under(*chosen.set, evidence, appraisal, purpose, expected, now);
  }
  auto appraised = services.verifiers.appraise(evidence, appraisal, purpose, expected, now);
  const auto types = attestation::types_with_collateral();
  if (appraised && appraised->accepted && appraised->collateral &&
      std::ranges::find(types, evidence.type) != types.end()) {
    // Accepted like that it would escape every mark.
    return fail(ErrorCode::kInternal, "evidence was accepted under collateral that was not chosen");
  }
  return appraised;
}

Result<Json> advance_collateral(storage::Transaction& transaction, const ChosenCollateral& chosen,
                                const Bringer& bringer) {
  Json marks = chosen.seen;
  if (chosen.set == nullptr) {
    return marks;
  }
  const CollateralSet& set = *chosen.set;
  ASSAY_ASSIGN(const auto others, not_as_chosen(transaction, chosen, bringer));
  Moved moved;
  for (const auto& [name, mark] : others) {
    const CollateralPart& part = *std::ranges::find(set.parts(), name, &CollateralPart::name);
    if (!mark.part || moves(part, *mark.part, bringer.way)) {
      ASSAY_TRY(keep_part(transaction, set, part, mark, bringer, moved));
      ASSAY_ASSIGN(marks[part.name], transaction.high_water(part.name));
    } else {
      marks[part.name] = mark.value;  // what is kept says the same
    }
  }
  ASSAY_TRY(put_bundle(transaction, set));
  ASSAY_TRY(log_moved(transaction, set, bringer, std::move(moved)));
  return marks;
}

Result<CollateralImported> import_collateral(Services& services, ByteView body,
                                             const Principal& actor) {
  ASSAY_ASSIGN(const CollateralSetPtr set, read_import(services, body));
  const Bringer bringer{actor.name, kByImport};
  CollateralImported imported{set->digest(), {}, false, Json()};
  std::optional<LeafIndex> index;
  const auto work = [&](storage::Transaction& transaction) -> Status {
    Moved moved;
    imported.parts.clear();
    for (const CollateralPart& part : set->parts()) {
      ASSAY_ASSIGN(const std::string_view outcome,
                   import_part(transaction, *set, part, bringer, moved));
      imported.parts.push_back({part.name, outcome});
    }
    const auto older = std::ranges::find(imported.parts, "kept", &ImportedPart::outcome);
    if (moved.names.empty() && older != imported.parts.end()) {
      return fail(ErrorCode::kCollateralRollback, "what is kept is not older: " + older->name,
                  "/collateral");
    }
    if (!moved.names.empty()) {
      ASSAY_TRY(put_bundle(transaction, *set));
    }
    ASSAY_ASSIGN(index, log_moved(transaction, *set, bringer, std::move(moved)));
    return {};
  };
  ASSAY_TRY(write_change(services, work));
  imported.moved = index.has_value();
  if (index) {
    evidence_moved(services);
    ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
    ASSAY_ASSIGN(imported.receipt, log_receipt(*snapshot, *index));
  }
  return imported;
}

}  // namespace assay::server
