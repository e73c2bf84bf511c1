// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/stored_policies.h"

#include <utility>

#include "attestation/dsse.h"
#include "client/answers.h"
#include "client/files.h"
#include "schemas/policy_document.h"

namespace assay::cli {

Result<LoadedDocument> stored_document(Api& api, const StatementId& id) {
  const std::string text = id.text();
  ASSAY_ASSIGN(const Bytes bytes, api.get_bytes("/v1/policies/" + text, client::kEnvelopeType));
  ASSAY_ASSIGN(attestation::Envelope envelope, envelope_for(bytes, text));
  ASSAY_ASSIGN(const PayloadKind kind, check_payload(envelope.payload_type, envelope.payload));
  if (kind != PayloadKind::kPolicy && kind != PayloadKind::kReferenceSet) {
    return fail(ErrorCode::kPayloadTypeUnknown,
                "This is no policy but a document of type " + envelope.payload_type, text);
  }
  Payload payload{kind, envelope.payload_type, envelope.payload};
  return LoadedDocument{std::move(payload), std::move(envelope)};
}

Result<policy::ReferenceSets> sets_in_force(Api& api, const PolicyDocument& policy) {
  policy::ReferenceSets sets;
  for (const std::string& name : policy::sets_named_in(policy)) {
    Query query;
    query.add("name", set_entry(name));
    query.add("active", "true");
    ASSAY_ASSIGN(const Json page, api.list("/v1/policies", query, std::nullopt));
    for (const Json& item : list_at(page, "items")) {
      ASSAY_ASSIGN(const StatementId id, StatementId::parse(text_at(item, "id")));
      ASSAY_ASSIGN(const LoadedDocument stored, stored_document(api, id));
      ASSAY_ASSIGN(ReferenceSet set, parse_reference_set(stored.payload.bytes));
      sets.insert_or_assign(name, policy::ActiveSet{id, std::move(set)});
    }
  }
  return sets;
}

Result<std::vector<policy::ActivePolicy>> policies_in_force(Api& api) {
  Query query;
  query.add("active", "true");
  ASSAY_ASSIGN(const Json page, api.list("/v1/policies", query, std::nullopt));
  std::vector<policy::ActivePolicy> policies;
  for (const Json& item : list_at(page, "items")) {
    ASSAY_ASSIGN(StatementId id, StatementId::parse(text_at(item, "id")));
    ASSAY_ASSIGN(const LoadedDocument stored, stored_document(api, id));
    if (stored.payload.kind != PayloadKind::kPolicy) {
      continue;
    }
    ASSAY_ASSIGN(PolicyDocument policy, parse_policy(stored.payload.bytes));
    ASSAY_ASSIGN(const policy::ReferenceSets sets, sets_in_force(api, policy));
    policies.push_back(policy::with_sets(std::move(id), std::move(policy), sets));
  }
  return policies;
}

}  // namespace assay::cli
