// SPDX-License-Identifier: Apache-2.0
// The rules of trust that hold whatever the caller does, and the digests of the state.
#include "storage/governance.h"

#include <algorithm>
#include <set>

#include "schemas/core/json_values.h"
#include "schemas/core/sha.h"
#include "schemas/log_chain.h"

namespace assay::storage {
namespace {

std::unexpected<Error> no_link() {
  return fail(ErrorCode::kDataLoss, "a record of trust or policy names no place in their chain");
}

Result<Digest> digest_at(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_string()) {
    return no_link();
  }
  auto digest = Digest::parse(found->get<std::string>());
  if (!digest) {
    return no_link();
  }
  return digest;
}

template <typename T>
std::vector<T> values(const auto& map) {
  std::vector<T> list;
  list.reserve(map.size());
  for (const auto& [name, value] : map) {
    list.push_back(value);
  }
  return list;
}

Json list_of(const auto& map) {
  Json list = Json::array();
  for (const auto& [name, value] : map) {
    list.push_back(to_json(value));
  }
  return list;
}

Result<std::string> bounded(const Json& json) {
  ASSAY_ASSIGN(std::string text, canonical_json(json));
  return text.size() <= kMaxGovernanceBytes
             ? Result<std::string>(std::move(text))
             : fail(ErrorCode::kLimitExceeded, "trust and policies are limited to 64 MiB each");
}

// Calls `put` with each value of a list.
template <typename T>
Status each(const Json& json, const char* list, const auto& put) {
  for (const Json& value : json.at(list)) {
    ASSAY_ASSIGN(const T read, json::get<T>(value));
    ASSAY_TRY(put(read));
  }
  return {};
}

// What a withdrawal by signers takes up of the document.
std::size_t bytes_of(const Withdrawn& withdrawn) {
  return withdrawn.by_operators ? 0 : to_json(withdrawn).dump().size();
}

}  // namespace

GovernanceDigests digests_of(const GovernanceDocuments& documents) {
  return {sha256(as_bytes(documents.trust)), sha256(as_bytes(documents.policies))};
}

Json link_to_json(const GovernanceDigests& state, const std::optional<ChainHead>& previous) {
  Json json = {{"trust", state.trust.text()}, {"policies", state.policies.text()}};
  if (previous) {
    json["previous"] = {{"index", previous->index}, {"leaf", previous->leaf.text()}};
  }
  return json;
}

Result<ChainLink> link_of(const LogRecord& record) {
  const auto found = record.detail.is_object() ? record.detail.find("chain") : record.detail.end();
  if (!is_chained(record.type) || found == record.detail.end() || !found->is_object()) {
    return no_link();
  }
  const Json& json = *found;
  ASSAY_ASSIGN(Digest trust, digest_at(json, "trust"));
  ASSAY_ASSIGN(Digest policies, digest_at(json, "policies"));
  ChainLink link{{std::move(trust), std::move(policies)}, std::nullopt};
  const auto previous = json.find("previous");
  if (previous == json.end()) {
    return link;
  }
  if (!previous->is_object() || !previous->contains("index") ||
      !(*previous)["index"].is_number_unsigned()) {
    return no_link();
  }
  ASSAY_ASSIGN(Digest leaf, digest_at(*previous, "leaf"));
  link.previous.emplace((*previous)["index"].get<LeafIndex>(), std::move(leaf));
  return link;
}

Status Governance::put_key(const TrustedKey& key) {
  const auto known = keys_.find(key.id);
  const std::optional<Revocation> before =
      known != keys_.end() ? known->second.revoked : std::nullopt;
  if (before && before != key.revoked && !(key.revoked && is_stricter(*key.revoked, *before))) {
    return fail(ErrorCode::kConflict, "a revoked key stays revoked", key.id.text());
  }
  keys_.insert_or_assign(key.id, key);
  return {};
}

Status Governance::put_principal(const Principal& principal) {
  for (auto it = principal.credentials.begin(); it != principal.credentials.end(); ++it) {
    const auto owner = owners_.find({it->kind, it->sha256});
    if ((owner != owners_.end() && owner->second != principal.name) ||
        std::find(principal.credentials.begin(), it, *it) != it) {
      return fail(ErrorCode::kConflict, "a credential belongs to one principal, once");
    }
  }
  std::erase_if(owners_, [&](const auto& entry) { return entry.second == principal.name; });
  for (const Credential& credential : principal.credentials) {
    owners_.insert_or_assign({credential.kind, credential.sha256}, principal.name);
  }
  principals_.insert_or_assign(principal.name, principal);
  return {};
}

Status Governance::remove_principal(const std::string& name) {
  if (principals_.erase(name) == 0) {
    return fail(ErrorCode::kNotFound, "there is no principal of this name", name);
  }
  std::erase_if(owners_, [&](const auto& entry) { return entry.second == name; });
  return {};
}

Status Governance::put_appraisal(const Appraisal& appraisal) {
  const std::string name = appraisal_name(appraisal.evidence_type, appraisal.stage);
  appraisals_.insert_or_assign(name, appraisal);
  return compose(name);
}

Status Governance::put_reference_tag(const ReferenceTag& tag) {
  reference_tags_.insert_or_assign({tag.appraisal, tag.tag_id}, tag);
  return compose(tag.appraisal);
}

// A tag that was removed brings no values, and constrains all the same.
Status Governance::compose(const std::string& appraisal) {
  const auto own = appraisals_.find(appraisal);
  if (own == appraisals_.end()) {
    return fail(ErrorCode::kNotFound, "no appraisal is stored under this name", appraisal);
  }
  Appraisal whole = own->second;
  std::set<std::string> constrained;
  for (auto it = reference_tags_.lower_bound({appraisal, {}});
       it != reference_tags_.end() && it->first.first == appraisal; ++it) {
    const ReferenceTag& tag = it->second;
    constrained.insert(tag.constrains.begin(), tag.constrains.end());
    if (tag.removed.empty()) {
      whole.imported.insert(whole.imported.end(), tag.sets.begin(), tag.sets.end());
    }
  }
  whole.constrained.assign(constrained.begin(), constrained.end());
  ASSAY_ASSIGN(const std::string text, appraisal_in_full(whole));
  in_force_.insert_or_assign(appraisal,
                             std::pair(std::move(whole), DocumentId(sha256(as_bytes(text)))));
  return {};
}

Status Governance::put_registration(const Registration& registration) {
  for (const auto& [id, known] : registrations_) {
    if (known.node == registration.node && id != registration.id) {
      return fail(ErrorCode::kConflict, "another registration has this name", registration.node);
    }
  }
  registrations_.insert_or_assign(registration.id, registration);
  return {};
}

Status Governance::remove_registration(const std::string& id) {
  return registrations_.erase(id) > 0
             ? Status()
             : fail(ErrorCode::kNotFound, "there is no registration of this name", id);
}

void Governance::put_trusted_root(const TrustedRootRow& root) {
  trusted_roots_.insert_or_assign(root.root.name, root);
}

std::vector<TrustedRootRow> Governance::trusted_roots() const {
  return values<TrustedRootRow>(trusted_roots_);
}

Status Governance::set_epochs(const Epochs& epochs) {
  if (epochs.trust.trust < epochs_.trust.trust ||
      epochs.trust.revocation < epochs_.trust.revocation || epochs.policy < epochs_.policy) {
    return fail(ErrorCode::kTrustSequence, "epochs never go back");
  }
  epochs_ = epochs;
  return {};
}

Status Governance::activate_policy(const ActivePolicyRow& policy) {
  policies_.insert_or_assign(policy.name, policy);
  return {};
}

Status Governance::deactivate_policy(const std::string& name) {
  return policies_.erase(name) > 0
             ? Status()
             : fail(ErrorCode::kNotFound, "no policy of this name is in force", name);
}

void Governance::revoke_node(const std::string& name, const Revocation& revocation) {
  revoked_nodes_.insert_or_assign(name, revocation);
}

Status Governance::put_withdrawal(const Withdrawn& withdrawn) {
  const auto known = withdrawn_.find(withdrawn.statement);
  std::size_t bytes = withdrawn_bytes_;
  if (known != withdrawn_.end()) {
    const Withdrawn& before = known->second;
    // Of several signers each withdraws for himself; two operators do so for all.
    const bool more = !before.by_operators &&
                      (withdrawn.by_operators || (withdrawn.by.size() > before.by.size() &&
                                                  std::ranges::includes(withdrawn.by, before.by)));
    if (!more) {
      return fail(ErrorCode::kConflict, "the statement is withdrawn already",
                  withdrawn.statement.text());
    }
    bytes -= bytes_of(before);
  }
  bytes += bytes_of(withdrawn);
  if (!withdrawn.by_operators && bytes > kMaxWithdrawnBytes) {
    return fail(ErrorCode::kLimitExceeded,
                "no further withdrawals by signers are kept; operators can withdraw the statement",
                withdrawn.statement.text());
  }
  withdrawn_bytes_ = bytes;
  withdrawn_.insert_or_assign(withdrawn.statement, withdrawn);
  return {};
}

Result<TrustedKey> Governance::key(const KeyId& id) const {
  const auto found = keys_.find(id);
  return found != keys_.end()
             ? Result<TrustedKey>(found->second)
             : fail(ErrorCode::kNotFound, "there is no key with this id", id.text());
}

std::vector<TrustedKey> Governance::keys() const { return values<TrustedKey>(keys_); }

std::vector<Principal> Governance::principals() const { return values<Principal>(principals_); }

Result<Principal> Governance::principal_by(const Credential& credential) const {
  const auto owner = owners_.find({credential.kind, credential.sha256});
  if (owner == owners_.end()) {
    return fail(ErrorCode::kNotFound, "no principal holds this credential");
  }
  return principals_.at(owner->second);
}

Result<Appraisal> Governance::appraisal(const std::string& evidence_type) const {
  const auto found = in_force_.find(evidence_type);
  if (found == in_force_.end()) {
    return fail(ErrorCode::kNotFound, "no appraisal is stored for this type of evidence",
                evidence_type);
  }
  return found->second.first;
}

std::vector<Appraisal> Governance::appraisals() const { return values<Appraisal>(appraisals_); }

Result<DocumentId> Governance::appraisal_id(const std::string& evidence_type) const {
  const auto found = in_force_.find(evidence_type);
  if (found == in_force_.end()) {
    return fail(ErrorCode::kNotFound, "no appraisal is stored for this type of evidence",
                evidence_type);
  }
  return found->second.second;
}

std::vector<ReferenceTag> Governance::reference_tags() const {
  return values<ReferenceTag>(reference_tags_);
}

Result<Registration> Governance::registration_of(const std::string& node) const {
  const Registration* pattern = nullptr;
  for (const auto& [id, registration] : registrations_) {
    if (registration.node == node && !is_pattern(node)) {
      return registration;
    }
    if (pattern == nullptr && is_pattern(registration.node) && covers(registration.node, node)) {
      pattern = &registration;
    }
  }
  return pattern != nullptr ? Result<Registration>(*pattern)
                            : fail(ErrorCode::kNotFound, "no registration covers this name", node);
}

std::vector<Registration> Governance::registrations() const {
  return values<Registration>(registrations_);
}

std::vector<ActivePolicyRow> Governance::policies() const {
  return values<ActivePolicyRow>(policies_);
}

std::optional<Revocation> Governance::revocation_of(const std::string& node) const {
  const auto found = revoked_nodes_.find(node);
  return found == revoked_nodes_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Withdrawn> Governance::withdrawal_of(const StatementId& statement) const {
  const auto found = withdrawn_.find(statement);
  return found == withdrawn_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Withdrawn> Governance::withdrawals() const { return values<Withdrawn>(withdrawn_); }

Result<GovernanceDocuments> Governance::documents() const {
  Json revoked = Json::array();
  for (const auto& [name, revocation] : revoked_nodes_) {
    revoked.push_back(
        {{"node", name}, {"at", to_rfc3339(revocation.at)}, {"reason", revocation.reason}});
  }
  Json trusted_roots = Json::array();
  for (const auto& [name, row] : trusted_roots_) {
    trusted_roots.push_back(
        {{"name", name}, {"version", row.version}, {"document", row.root.document}});
  }
  Json in_force = Json::array();
  for (const auto& [name, policy] : policies_) {
    in_force.push_back({{"id", policy.id.text()},
                        {"name", name},
                        {"version", policy.version},
                        {"payload", base64_encode(policy.payload)}});
  }
  GovernanceDocuments documents;
  ASSAY_ASSIGN(documents.trust,
               bounded({{"epochs", {epochs_.trust.trust, epochs_.trust.revocation}},
                        {"keys", list_of(keys_)},
                        {"principals", list_of(principals_)},
                        {"appraisals", list_of(appraisals_)},
                        {"reference_values", list_of(reference_tags_)},
                        {"registrations", list_of(registrations_)},
                        {"trusted_roots", std::move(trusted_roots)},
                        {"revoked_nodes", std::move(revoked)},
                        {"withdrawals", list_of(withdrawn_)}}));
  ASSAY_ASSIGN(documents.policies,
               bounded({{"epoch", epochs_.policy}, {"in_force", std::move(in_force)}}));
  return documents;
}

Status Governance::read_trust(const Json& json) {
  ASSAY_TRY(each<TrustedKey>(json, "keys", [this](const auto& key) { return put_key(key); }));
  ASSAY_TRY(each<Principal>(json, "principals",
                            [this](const auto& principal) { return put_principal(principal); }));
  ASSAY_TRY(each<Appraisal>(json, "appraisals",
                            [this](const auto& appraisal) { return put_appraisal(appraisal); }));
  for (const Json& one : json.at("reference_values")) {
    ASSAY_ASSIGN(const ReferenceTag tag, reference_tag_from_json(one));
    ASSAY_TRY(put_reference_tag(tag));
  }
  ASSAY_TRY(each<Registration>(json, "registrations",
                               [this](const auto& one) { return put_registration(one); }));
  ASSAY_TRY(each<Withdrawn>(json, "withdrawals",
                            [this](const auto& withdrawn) { return put_withdrawal(withdrawn); }));
  for (const Json& row : json.at("trusted_roots")) {
    put_trusted_root({{row.at("name"), row.at("document")}, row.at("version")});
  }
  for (const Json& node : json.at("revoked_nodes")) {
    ASSAY_ASSIGN(const Timestamp at, parse_rfc3339(node.at("at").get<std::string>()));
    revoke_node(node.at("node"), {at, node.at("reason")});
  }
  epochs_.trust = {json.at("epochs").at(0), json.at("epochs").at(1)};
  return {};
}

Status Governance::read_policies(const Json& json) {
  for (const Json& policy : json.at("in_force")) {
    ASSAY_ASSIGN(StatementId id, StatementId::parse(policy.at("id").get<std::string>()));
    ASSAY_ASSIGN(Bytes payload, base64_decode(policy.at("payload").get<std::string>()));
    ASSAY_TRY(activate_policy(
        {std::move(id), policy.at("name"), policy.at("version"), std::move(payload)}));
  }
  epochs_.policy = json.at("epoch");
  return {};
}

Result<Governance> Governance::from_documents(const GovernanceDocuments& documents) {
  const auto unreadable = [](std::string why) {
    return fail(ErrorCode::kDataLoss, "the documents of trust and policy cannot be read",
                std::move(why));
  };
  const JsonLimits limits{.max_bytes = kMaxGovernanceBytes};
  const auto trust = parse_json(as_bytes(documents.trust), limits);
  const auto policies = parse_json(as_bytes(documents.policies), limits);
  if (!trust || !policies) {
    return unreadable(!trust ? "trust" : "policies");
  }
  Governance state;
  try {
    Status read = state.read_trust(*trust);
    if (read) {
      read = state.read_policies(*policies);
    }
    return read ? Result<Governance>(std::move(state)) : unreadable(read.error().detail);
  } catch (const Json::exception& exception) {
    return unreadable(exception.what());
  }
}

}  // namespace assay::storage
