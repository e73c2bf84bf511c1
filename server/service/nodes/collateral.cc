// SPDX-License-Identifier: Apache-2.0
// long-file: choosing collateral and moving it forward read parts and marks alike.
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
constexpr std::string_view kVouched = "vouched/";
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
          {"asks", part.asks},
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
  const auto asks = json::get<std::vector<std::string>>(member_at(*json, "asks"));
  if (!asks || !issued || !next_update || !brought_at || !substance || !anchor ||
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
                  members,
                  *asks};
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

// Two people stand for a RIM that only one did before. Of other parts nothing depends on that.
bool is_vouched_now(const KeptPart& kept, std::string_view way) {
  return kept.kind == "rim" && way == kByBundle && kept.way != kByBundle;
}

// Of two that were issued at once, the one that lasts longer is newer: an ended RIM does not keep
// out the same RIM under a signer that is valid.
bool is_newer(const CollateralPart& part, const KeptPart& kept) {
  return std::pair(order_of(part), part.next_update) > std::pair(order_of(kept), kept.next_update);
}

// Whether `part` is to take the place of `kept`.
bool moves(const CollateralPart& part, const KeptPart& kept, std::string_view way) {
  if (is_vouched_now(kept, way) && part.substance == kept.substance) {
    return true;  // the very same file
  }
  return is_newer(part, kept) && (way != kWithEvidence || part.substance != kept.substance ||
                                  part.issued - kept.issued >= kCollateralStep);
}

// --- the collateral for evidence

// The ids of all parts that evidence asks for; nothing when one is missing that it needs.
std::optional<std::string> key_of(const std::string& type, const std::vector<std::string>& names,
                                  const std::map<std::string, DocumentId>& kept) {
  std::string key = type;
  for (const std::string& name : names) {
    const auto found = kept.find(name);
    if (found != kept.end()) {
      key += " " + found->second.text();
    } else if (attestation::needs_all_parts(type)) {
      return std::nullopt;
    }
  }
  return key;
}

// The texts of a part. With a RIM that two people signed goes the word that it counts beyond its
// end.
void add_members(const KeptPart& part, Json& bundle) {
  constexpr std::string_view kRim = "rim/";
  bundle.update(part.members);
  if (part.way != kByBundle) {
    return;
  }
  for (const auto& [member, text] : part.members.items()) {
    if (member.starts_with(kRim)) {
      bundle[std::string(kVouched) + member.substr(kRim.size())] = part.substance.text();
    }
  }
}

// The set that is kept, from memory if it is there; null unless all parts are kept that it needs.
// Errors: collateral-refused when they contradict each other; data-loss.
Result<CollateralSetPtr> kept_set(Services& services, storage::Snapshot& snapshot,
                                  const std::vector<std::string>& names,
                                  const std::map<std::string, DocumentId>& kept,
                                  const Evidence& evidence, const Appraisal& appraisal) {
  const auto key = key_of(evidence.type, names, kept);
  if (!key) {
    return nullptr;
  }
  if (auto found = services.collateral.find(*key)) {
    return *std::move(found);
  }
  Json bundle = Json::object();
  for (const std::string& name : names) {
    if (const auto id = kept.find(name); id != kept.end()) {
      ASSAY_ASSIGN(const KeptPart part, read_part(snapshot, name, id->second));
      add_members(part, bundle);
    }
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

Result<std::vector<std::string>> asks_of(Services& services, storage::Snapshot& snapshot,
                                         const std::string& name, const DocumentId& id) {
  if (auto known = services.asks_of_parts.find(id.text())) {
    return *std::move(known);
  }
  ASSAY_ASSIGN(KeptPart part, read_part(snapshot, name, id));
  services.asks_of_parts.put(id.text(), part.asks);
  return std::move(part.asks);
}

// Notes the marks of all parts that are asked for, and what is kept of them. Returns their names,
// with those that the parts themselves ask for.
Result<std::vector<std::string>> look_up(Services& services, storage::Snapshot& snapshot,
                                         const std::string& type, std::vector<std::string> names,
                                         ChosenCollateral& chosen) {
  const bool may_ask = !attestation::needs_all_parts(type);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = names[i];  // `names` grows
    ASSAY_ASSIGN(chosen.seen[name], snapshot.high_water(name));
    ASSAY_ASSIGN(const auto id, if_found(snapshot.high_water_collateral(name)));
    if (!id) {
      continue;
    }
    chosen.kept.emplace(name, *id);
    if (!may_ask) {
      continue;
    }
    ASSAY_ASSIGN(const auto asks, asks_of(services, snapshot, name, *id));
    for (const std::string& asked : asks) {
      if (std::ranges::find(names, asked) == names.end()) {
        names.push_back(asked);
      }
    }
  }
  return names;
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
  const bool says_the_same = mark.part && mark.part->substance == part.substance &&
                             !is_vouched_now(*mark.part, bringer.way);
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
    // With the same text, a RIM may have gained or lost the word of two people since it was chosen.
    const bool is_other_word = part.kind == "rim" && kept != chosen.kept.end();
    if (mark.part && (mark.part->substance != part.substance || is_other_word) &&
        !moves(part, *mark.part, bringer.way)) {
      // A row that is put now would not count as stale, and nobody would appraise it again.
      return fail(ErrorCode::kUnavailable,
                  "newer collateral came meanwhile; begin again with a new challenge");
    }
    others.emplace(part.name, std::move(mark));
  }
  return others;
}

// Parts of one record. Those of devices take 550 bytes each, and a record has kMaxLogRecordBytes.
constexpr std::size_t kPartsOfRecord = 16;

// Returns the index of the last record; nothing when nothing moved.
Result<std::optional<LeafIndex>> append_moved(storage::Transaction& transaction,
                                              const Bringer& bringer, Json detail,
                                              const Moved& moved) {
  detail["by"] = bringer.way;
  if (!bringer.bundle.empty()) {
    detail["bundle"] = bringer.bundle;
  }
  std::optional<LeafIndex> index;
  for (std::size_t from = 0; from < moved.names.size(); from += kPartsOfRecord) {
    const auto begin = static_cast<std::ptrdiff_t>(from);
    const auto end =
        static_cast<std::ptrdiff_t>(std::min(from + kPartsOfRecord, moved.names.size()));
    detail["parts"] =
        Json(std::vector<Json>(moved.parts.begin() + begin, moved.parts.begin() + end));
    ASSAY_ASSIGN(index,
                 transaction.append(
                     {.type = std::string(event::kCollateralAccepted),
                      .time = transaction.now(),
                      .actor = bringer.actor,
                      .subjects = {moved.names.begin() + begin, moved.names.begin() + end},
                      .documents = {moved.documents.begin() + begin, moved.documents.begin() + end},
                      .detail = detail}));
  }
  return index;
}

Result<std::optional<LeafIndex>> log_moved(storage::Transaction& transaction,
                                           const CollateralSet& set, const Bringer& bringer,
                                           const Moved& moved) {
  return append_moved(transaction, bringer,
                      {{"evidence_type", set.type()},
                       {"collateral", set.digest().text()},
                       {"anchor", set.anchor().text()},
                       {"anchor_is_vendor", set.anchor_is_vendor()}},
                      moved);
}

Status put_bundle(storage::Transaction& transaction, const CollateralSet& set) {
  if (!set.is_kept_whole()) {
    return {};
  }
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

// OCSP answers may end while somebody carries them: the policy of an appraisal says how long they
// count (ocsp_grace_seconds).
Status require_valid_now(const CollateralSet& set, std::string_view way, Timestamp now) {
  const bool may_have_ended = way == kByBundle && set.type() == kNvidiaEvidence;
  if (now >= set.valid_from() && (may_have_ended || now <= set.valid_until())) {
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
  return open_collateral(services, members::text(json, "type"), json.at("collateral"), kByImport);
}

// One part of an import against what is kept.
Result<std::string_view> import_part(storage::Transaction& transaction, const CollateralSet& set,
                                     const CollateralPart& part, const Bringer& bringer,
                                     Moved& moved) {
  ASSAY_ASSIGN(const Mark mark, read_mark(transaction, part.name));
  if (mark.part && mark.part->members == members_of(set, part) &&
      !is_vouched_now(*mark.part, bringer.way)) {
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

// Notes that two people do not stand for a part any more. All evidence that asks for it is stale.
Status unvouch(storage::Transaction& transaction, const std::string& name, Moved& moved) {
  ASSAY_ASSIGN(const DocumentId id, transaction.high_water_collateral(name));
  ASSAY_ASSIGN(const std::uint64_t before, transaction.high_water(name));
  ASSAY_ASSIGN(const storage::Document document, transaction.document(id));
  ASSAY_ASSIGN(Json json, parse_json(document.bytes));
  json["way"] = kByImport;
  ASSAY_ASSIGN(const std::string text, canonical_json(json));
  ASSAY_ASSIGN(DocumentId now, transaction.put_document(kPartMediaType, as_bytes(text)));
  ASSAY_TRY(transaction.raise_high_water(name, before + 1, now));
  moved.names.push_back(name);
  moved.documents.push_back(std::move(now));
  moved.parts.push_back({{"name", name},
                         {"number", json.at("number")},
                         {"issued", json.at("issued")},
                         {"next_update", json.at("next_update")},
                         {"mark", before + 1}});
  return {};
}

}  // namespace

Result<std::optional<KeptPart>> kept_part(storage::Snapshot& snapshot, const std::string& name) {
  ASSAY_ASSIGN(auto found, find_part(snapshot, name));
  return found ? std::optional(std::move(found->part)) : std::nullopt;
}

Result<ChosenCollateral> choose_collateral(Services& services, storage::Snapshot& snapshot,
                                           const Evidence& evidence, const Appraisal& appraisal) {
  ChosenCollateral chosen;
  ASSAY_ASSIGN(const std::vector<std::string> names,
               look_up(services, snapshot, evidence.type,
                       attestation::collateral_names(evidence, appraisal), chosen));
  if (names.empty()) {
    return chosen;
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
  ASSAY_TRY(log_moved(transaction, set, bringer, moved));
  return marks;
}

Result<CollateralSetPtr> open_collateral(Services& services, const std::string& type,
                                         const Json& collateral, std::string_view way) {
  for (const auto& [member, text] : collateral.items()) {
    if (member.starts_with(kVouched)) {
      return fail(ErrorCode::kUnknownMember, "only the service says so", "/collateral/" + member);
    }
  }
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  ASSAY_ASSIGN(const std::vector<Bytes> anchors, anchors_of(*snapshot, type));
  ASSAY_ASSIGN(CollateralSetPtr set,
               attestation::authenticate_collateral(type, collateral, anchors));
  ASSAY_TRY(require_valid_now(*set, way, services.clock.now()));
  return set;
}

Result<KeptParts> keep_collateral(storage::Transaction& transaction, const CollateralSet& set,
                                  const Bringer& bringer) {
  KeptParts kept;
  Moved moved;
  for (const CollateralPart& part : set.parts()) {
    ASSAY_ASSIGN(const std::string_view outcome,
                 import_part(transaction, set, part, bringer, moved));
    kept.parts.push_back({part.name, outcome});
  }
  if (!moved.names.empty()) {
    ASSAY_TRY(put_bundle(transaction, set));
  }
  ASSAY_ASSIGN(kept.index, log_moved(transaction, set, bringer, moved));
  return kept;
}

Result<KeptParts> end_vouching(storage::Transaction& transaction,
                               const std::set<std::string>& names, const Bringer& bringer) {
  constexpr std::size_t kPage = 1000;
  KeptParts ended;
  Moved moved;
  std::string after = std::string(kNvidiaEvidence) + "/";
  for (std::vector<std::string> page;; after = page.back()) {
    ASSAY_ASSIGN(page, transaction.high_waters(after, kPage));
    for (const std::string& name : page) {
      if (!name.starts_with(kNvidiaEvidence) || names.contains(name)) {
        continue;
      }
      ASSAY_ASSIGN(const Mark mark, read_mark(transaction, name));
      if (mark.part && mark.part->kind == "rim" && mark.part->way == kByBundle) {
        ASSAY_TRY(unvouch(transaction, name, moved));
        ended.parts.push_back({name, "unvouched"});
      }
    }
    if (page.size() < kPage) {
      break;
    }
  }
  ASSAY_ASSIGN(ended.index,
               append_moved(transaction, bringer,
                            {{"evidence_type", kNvidiaEvidence}, {"vouched", false}}, moved));
  return ended;
}

Result<CollateralImported> import_collateral(Services& services, ByteView body,
                                             const Principal& actor) {
  ASSAY_ASSIGN(const CollateralSetPtr set, read_import(services, body));
  CollateralImported imported{set->digest(), {}, false, Json()};
  std::optional<LeafIndex> index;
  const auto work = [&](storage::Transaction& transaction) -> Status {
    ASSAY_ASSIGN(KeptParts kept, keep_collateral(transaction, *set, {actor.name, kByImport}));
    imported.parts = std::move(kept.parts);
    index = kept.index;
    const auto older = std::ranges::find(imported.parts, "kept", &ImportedPart::outcome);
    if (!index && older != imported.parts.end()) {
      return fail(ErrorCode::kCollateralRollback, "what is kept is not older: " + older->name,
                  "/collateral");
    }
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
