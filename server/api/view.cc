// SPDX-License-Identifier: Apache-2.0
#include "server/api/view.h"

#include "schemas/placement.h"
#include "schemas/release.h"
#include "server/service/governance/policies.h"
#include "server/service/nodes/stage_evidence.h"

namespace assay::server {
namespace {

template <typename Ids>
Json texts(const Ids& ids) {
  Json list = Json::array();
  for (const auto& id : ids) {
    list.push_back(id.text());
  }
  return list;
}

Result<Json> signers_view(storage::Snapshot& snapshot,
                          const std::vector<storage::SignerRow>& signers) {
  Json list = Json::array();
  for (const storage::SignerRow& signer : signers) {
    ASSAY_ASSIGN(const TrustedKey key, snapshot.key(signer.key));
    list.push_back(Json{{"key_id", signer.key.text()},
                        {"identity", key.identity},
                        {"signed_at", to_rfc3339(signer.signed_at)},
                        {"log_index", signer.log_index}});
    if (signer.certificate) {
      list.back()["certificate"] = to_json(*signer.certificate);
    }
    if (is_revoked(key, signer.signed_at)) {
      list.back()["revoked_at"] = to_rfc3339(key.revoked->at);
    }
  }
  return list;
}

}  // namespace

std::string_view name(storage::StatementKind kind) {
  switch (kind) {
    case storage::StatementKind::kManifest:
      return "manifest";
    case storage::StatementKind::kAttestation:
      return "attestation";
    case storage::StatementKind::kPolicy:
      return "policy";
  }
  return "";
}

Result<Json> statement_view(storage::Snapshot& snapshot, const storage::StatementRow& row) {
  Json view = {{"id", row.id.text()},
               {"kind", name(row.kind)},
               {"payload_type", row.payload_type},
               {"subjects", row.subjects},
               {"envelopes", texts(row.envelopes)},
               {"accepted_at", to_rfc3339(row.accepted_at)},
               {"log_index", row.log_index}};
  ASSAY_ASSIGN(view["signers"], signers_view(snapshot, row.signers));
  if (!row.predicate_type.empty()) {
    view["predicate_type"] = row.predicate_type;
  }
  if (!row.stage.empty()) {
    view["stage"] = row.stage;
  }
  if (row.kind == storage::StatementKind::kAttestation) {
    ASSAY_ASSIGN(Json evidence, stage_evidence_view(snapshot, row.id));
    if (!evidence.empty()) {
      view["evidence"] = std::move(evidence);
    }
  }
  if (!row.name.empty()) {
    view["name"] = row.name;
  }
  if (row.kind == storage::StatementKind::kPolicy) {
    view["version"] = row.version;
    ASSAY_ASSIGN(const auto activation, last_activation(snapshot, row.id));
    if (activation) {
      view["last_activation"] = {{"policy_epoch", activation->policy_epoch},
                                 {"time", to_rfc3339(activation->time)},
                                 {"by", activation->by}};
    }
  }
  if (row.predicate_type == kPlacementPredicateType) {
    view["locations"] = row.locations;
    view["artifact"] = row.subjects.front();
  }
  if (row.predicate_type == kReleasePredicateType) {
    ASSAY_ASSIGN(view["release"], parse_json(row.contents));
    view["artifact"] = row.subjects.front();
  }
  ASSAY_ASSIGN(const std::optional<Withdrawn> withdrawn, snapshot.withdrawal(row.id));
  if (withdrawn) {
    view["withdrawn"] = to_json(*withdrawn);
  }
  if (row.kind == storage::StatementKind::kManifest) {
    view["locations"] = row.locations;
    view["artifact"] = row.subjects.front();  // its own root (accept_manifest)
  }
  return view;
}

Result<Json> statement_views(storage::Snapshot& snapshot,
                             const std::vector<storage::StatementRow>& rows) {
  Json list = Json::array();
  for (const storage::StatementRow& row : rows) {
    ASSAY_ASSIGN(Json view, statement_view(snapshot, row));
    list.push_back(std::move(view));
  }
  return list;
}

Json decision_view(const storage::DecisionRow& row) {
  return {{"id", row.id},
          {"verdict", row.allowed ? "allow" : "deny"},
          {"point", row.point},
          {"subjects", row.subjects},
          {"namespace", row.name_space},
          {"reasons", row.reasons},
          {"envelope", row.envelope.text()},
          {"evaluated_at", to_rfc3339(row.evaluated_at)},
          {"log_index", row.log_index}};
}

Json event_view(const storage::EventRow& row) {
  return {{"index", row.index},
          {"type", row.record.type},
          {"time", to_rfc3339(row.record.time)},
          {"actor", row.record.actor},
          {"subject", row.record.subjects},
          {"documents", texts(row.record.documents)},
          {"detail", row.record.detail}};
}

Json epochs_view(const storage::Epochs& epochs) {
  return {{"trust", epochs.trust.trust},
          {"revocation", epochs.trust.revocation},
          {"policy", epochs.policy}};
}

Json hex_list(const std::vector<Digest>& digests) {
  Json list = Json::array();
  for (const Digest& digest : digests) {
    list.push_back(digest.hex());
  }
  return list;
}

}  // namespace assay::server
