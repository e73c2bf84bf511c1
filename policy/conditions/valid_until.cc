// SPDX-License-Identifier: Apache-2.0
#include "policy/conditions/valid_until.h"

#include "policy/conditions/memory.h"
#include "policy/lineage_condition.h"

namespace assay::policy {
namespace {

void note_revocation(const TrustedKey& key, Horizon& horizon) {
  if (key.revoked) {
    horizon.changes_at(key.revoked->at);
  }
}

template <typename Documents>
void note_all(const Documents& documents, Horizon& horizon) {
  for (const auto& document : documents) {
    for (const SignerFact& signer : document.statement.signers) {
      horizon.changes_at(signer.signed_at);
      note_revocation(signer.key, horizon);
    }
  }
}

void note(const StageEvidenceFact& evidence, const std::optional<EvidenceDemands>& demands,
          Horizon& horizon) {
  horizon.changes_at(evidence.accepted_at);
  if (evidence.made_after) {
    horizon.changes_at(*evidence.made_after);
  }
  if (evidence.valid_until) {
    horizon.changes_at(*evidence.valid_until);
  }
  if (demands && demands->max_age_seconds) {
    horizon.ages_from(evidence.accepted_at, *demands->max_age_seconds);
  }
}

void note_one(const StatementCondition& condition, const Scope& scope, Horizon& horizon) {
  const auto* group = scope.facts.index->group(condition.predicate_type, condition.stage);
  if (group == nullptr) {
    return;
  }
  const StatementIndex& index = *scope.facts.index;
  for (const std::size_t i : group->members) {
    for (std::size_t k = i == 0 ? 0 : index.ends[i - 1]; k < index.ends[i]; ++k) {
      const StatementIndex::Signature& signature = index.signatures[k];
      horizon.changes_at(signature.signed_at);
      note_revocation(index.alike[signature.alike].signer->key, horizon);
    }
    const StatementFact& statement = *index.in_order[i];
    horizon.changes_at(statement.accepted_at);
    if (condition.max_age_seconds) {
      horizon.ages_from(statement.accepted_at, *condition.max_age_seconds);
    }
    for (const StageEvidenceFact& evidence : statement.evidence) {
      note(evidence, condition.evidence, horizon);
    }
  }
}

void note_one(const NodeCondition& condition, const Scope& scope, Horizon& horizon) {
  if (!scope.known.node) {
    return;
  }
  const NodeFact& node = *scope.known.node;
  horizon.changes_at(node.enrolled_at);
  horizon.changes_at(node.expires_at);
  if (node.appraised_at) {
    horizon.changes_at(*node.appraised_at);
    if (condition.max_evidence_age_seconds) {
      horizon.ages_from(*node.appraised_at, *condition.max_evidence_age_seconds);
    }
  }
  for (const DeviceFact& device : condition.device ? node.devices : std::vector<DeviceFact>()) {
    horizon.changes_at(device.appraised_at);
    if (device.valid_until) {
      horizon.changes_at(*device.valid_until);
    }
    if (condition.device->max_age_seconds) {
      horizon.ages_from(device.appraised_at, *condition.device->max_age_seconds);
    }
  }
}

void note_one(const ReportCondition& condition, const Scope& scope, Horizon& horizon) {
  for (const ReportFact& report : scope.known.reports) {
    horizon.changes_at(report.reported_at);
    horizon.changes_at(report.read_since);
    if (report.evidence_valid_until) {
      horizon.changes_at(*report.evidence_valid_until);
    }
    if (report.devices_valid_until) {
      horizon.changes_at(*report.devices_valid_until);
    }
    if (condition.max_age_seconds) {
      horizon.ages_from(report.read_since, *condition.max_age_seconds);
    }
  }
  for (const InstanceFact& instance : scope.known.instances) {
    horizon.changes_at(instance.heard_at);
    horizon.ages_from(instance.heard_at, kMaxHeartbeatAgeSeconds);
  }
}

void note_leaf(const Condition& condition, const Scope& scope) {
  Horizon& horizon = scope.facts.horizon;
  if (point_of_leaf(scope.points, condition) > scope.point) {
    return;
  }
  if (const auto* statement = std::get_if<StatementCondition>(&condition.kind)) {
    note_one(*statement, scope, horizon);
  } else if (const auto* node = std::get_if<NodeCondition>(&condition.kind)) {
    note_one(*node, scope, horizon);
  } else if (const auto* report = std::get_if<ReportCondition>(&condition.kind)) {
    note_one(*report, scope, horizon);
  } else if (const auto* lineage = std::get_if<LineageCondition>(&condition.kind)) {
    if (scope.known.lineage) {
      note_changes(*lineage, *scope.known.lineage, horizon);
    }
  } else if (const auto* window = std::get_if<WindowCondition>(&condition.kind)) {
    if (const auto change = next_change(window->window, scope.now)) {
      horizon.changes_at(*change);
    }
  }
}

void note_at(const std::vector<Condition>& conditions, const Scope& scope, int depth) {
  for (const Condition& condition : conditions) {
    const std::vector<Condition>* parts = parts_of(condition);
    if (parts == nullptr) {
      note_leaf(condition, scope);
    } else if (depth < kMaxConditionDepth) {
      note_at(*parts, scope, depth + 1);
    }
  }
}

}  // namespace

void note_changes(const std::vector<Condition>& require, const Scope& scope) {
  note_at(require, scope, 1);
}

void note_publishers(const Facts& facts, const JudgedFacts& judged) {
  Horizon& horizon = judged.horizon;
  note_all(facts.manifests, horizon);
  note_all(facts.placements, horizon);
}

}  // namespace assay::policy
