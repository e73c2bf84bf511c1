// SPDX-License-Identifier: Apache-2.0
#include "server/service/impact/pod_impact.h"

#include <algorithm>
#include <functional>

#include "policy/lineage.h"
#include "server/service/if_found.h"
#include "server/service/impact/decision_impact.h"
#include "server/service/impact/pod_judge.h"
#include "server/service/impact/pod_list.h"
#include "server/service/impact/revoked.h"
#include "server/service/impact/tally.h"
#include "server/service/nodes/node_view.h"

namespace assay::server {
namespace {

constexpr std::size_t kBatch = 100;

// What takes the pods one by one. Returns false when it has enough. Of errors that are one pod's it
// takes note itself.
using TakePod = std::function<Result<bool>(const storage::PodRow& row)>;
// What takes note of a pod that nobody can judge in the time of a whole call.
using Undecided = std::function<void(ErrorCode)>;

// Returns where to go on behind a pod; nullopt when it is the last one.
Result<std::optional<std::string>> rest_behind(storage::Snapshot& snapshot,
                                               const storage::PodKey& last) {
  ASSAY_ASSIGN(const auto rest, snapshot.pods(last, 1));
  return rest.empty() ? std::nullopt : std::optional(pod_place(last));
}

// Gives `take` at most `most` pods behind `after`, until the time is over. Returns where to go on;
// nullopt at the end. A pod at which the time ends is the first of the next call; the first of a
// call goes to `undecided`, else no call would come past it.
Result<std::optional<std::string>> each_pod(Services& services, storage::Snapshot& snapshot,
                                            storage::PodKey after, std::size_t most,
                                            Timestamp until, const TakePod& take,
                                            const Undecided& undecided) {
  std::size_t examined = 0;
  while (true) {
    ASSAY_ASSIGN(const auto pods, snapshot.pods(after, kBatch));
    for (const storage::PodRow& row : pods) {
      Result<bool> more = take(row);
      if (!more && more.error().code == ErrorCode::kEvaluationDeadline) {
        if (examined > 0) {
          return pod_place(after);
        }
        undecided(more.error().code);
        more = true;
      }
      if (!more) {
        return std::unexpected(more.error());
      }
      after = {row.cluster, row.uid};
      ++examined;
      if (!*more || examined >= most || services.clock.now() >= until) {
        return rest_behind(snapshot, after);
      }
    }
    if (pods.size() < kBatch) {
      return std::nullopt;
    }
  }
}

Timestamp end_of(const Services& services, std::optional<Timestamp> deadline) {
  const Timestamp end = services.clock.now() + kImpactTime;
  return deadline ? std::min(end, *deadline) : end;
}

// What is wrong with one pod or node must not hide the others.
bool only_this_one(const Error& error) {
  return error.code == ErrorCode::kDataLoss || error.code == ErrorCode::kLimitExceeded;
}

// Whether the evidence of an enrolment is refused by the hypothesis itself, as it was appraised
// last.
Result<bool> loses_evidence(storage::Snapshot& snapshot, const Hypothesis& hypothesis,
                            TcbLevels& levels, const storage::NodeRow& node) {
  if (!node.measured) {
    return false;
  }
  ASSAY_ASSIGN(const auto evidence, if_found(snapshot.evidence(node_subject(node.name))));
  const std::string& status = evidence ? evidence->tcb_status : node.measured->tcb_status;
  if (std::ranges::find(hypothesis.tcb_status_lost, status) != hypothesis.tcb_status_lost.end()) {
    return true;
  }
  if (!asks_for_levels(hypothesis)) {
    return false;
  }
  const auto tcb = levels.of(evidence ? evidence->appraisal : node.measured->appraisal);
  if (!tcb && !only_this_one(tcb.error())) {
    return std::unexpected(tcb.error());
  }
  return tcb && tcb->known && !lost_by_level(hypothesis, *tcb).empty();
}

// Enrolled nodes that lose what they have by the hypothesis itself.
Status name_nodes(storage::Snapshot& snapshot, const Hypothesis& hypothesis, TcbLevels& levels,
                  Timestamp now, Tally& tally) {
  if (hypothesis.revoke_nodes.empty() && hypothesis.tcb_status_lost.empty() &&
      !asks_for_levels(hypothesis)) {
    return {};
  }
  constexpr std::size_t kPage = 1000;
  std::string after;
  while (true) {
    ASSAY_ASSIGN(const auto nodes, snapshot.nodes(after, kPage));
    for (const storage::NodeRow& node : nodes) {
      if (node.revoked || node.ended || node.expires_at <= now) {
        continue;
      }
      ASSAY_ASSIGN(const bool lost, loses_evidence(snapshot, hypothesis, levels, node));
      if (lost ||
          std::ranges::find(hypothesis.revoke_nodes, node.name) != hypothesis.revoke_nodes.end()) {
        tally.name_node(node.name);
      }
    }
    if (nodes.size() < kPage) {
      return {};
    }
    after = nodes.back().name;
  }
}

bool has_key(const policy::StatementFact& statement, const KeyId& key) {
  return std::ranges::any_of(
      statement.signers, [&key](const policy::SignerFact& signer) { return signer.key.id == key; });
}

// Whether one statement about a model is what the query looks for.
Result<bool> is_wanted(const AffectedQuery& query, PodJudge& judge, const CaseModel& model,
                       const policy::StatementFact& statement, bool attestation) {
  if ((query.key && has_key(statement, *query.key)) ||
      (query.statement && statement.id == *query.statement)) {
    return true;
  }
  if (query.artifact.empty() || !attestation) {
    return false;
  }
  ASSAY_ASSIGN(const NamedInputs* inputs, judge.inputs().of(model, statement));
  ASSAY_ASSIGN(const MadeFrom* made, judge.inputs().made_from({query.artifact}));
  return made->has_any(*inputs).value_or(true);  // rather named than forgotten
}

// Whether what the query looks for belongs to what the model was made from; only where a policy
// asks for a lineage.
Result<bool> is_in_lineage(const AffectedQuery& query, PodJudge& judge,
                           const policy::Facts& facts) {
  if (!facts.lineage || !facts.artifact) {
    return false;
  }
  ASSAY_ASSIGN(const auto lineage, judge.whole_lineage(*facts.artifact));
  if (!lineage->reached().empty()) {
    return true;  // nobody can hide a pod behind more statements than are looked at
  }
  return (!query.artifact.empty() && lineage->mentions(query.artifact)) ||
         std::ranges::any_of(lineage->statements(), [&](const auto& one) {
           return (query.key && has_key(one->fact, *query.key)) ||
                  (query.statement && one->fact.id == *query.statement);
         });
}

Result<bool> is_about(const AffectedQuery& query, PodJudge& judge, const JudgedPod& pod) {
  if (!query.key && !query.statement && query.artifact.empty()) {
    return true;
  }
  if (std::ranges::find(pod.models, query.artifact) != pod.models.end()) {
    return true;
  }
  for (const CaseModel& model : pod.file.models) {
    ASSAY_ASSIGN(const bool ancestor, is_in_lineage(query, judge, model.facts));
    if (ancestor) {
      return true;
    }
    for (const policy::ManifestFact& one : std::as_const(model.facts.manifests)) {
      ASSAY_ASSIGN(const bool wanted, is_wanted(query, judge, model, one.statement, false));
      if (wanted) {
        return true;
      }
    }
    for (const policy::PlacementFact& one : std::as_const(model.facts.placements)) {
      ASSAY_ASSIGN(const bool wanted, is_wanted(query, judge, model, one.statement, false));
      if (wanted) {
        return true;
      }
    }
    for (const policy::StatementFact& one : std::as_const(model.facts.statements)) {
      ASSAY_ASSIGN(const bool wanted, is_wanted(query, judge, model, one, true));
      if (wanted) {
        return true;
      }
    }
  }
  return false;
}

// The pods behind `after`.
Result<Json> affected_behind(Services& services, const AffectedQuery& query,
                             const storage::PodKey& after, std::optional<Timestamp> deadline) {
  ASSAY_TRY(require_time(services));
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  const Timestamp now = services.clock.now();
  const Timestamp until = end_of(services, deadline);
  PodJudge judge(services, *snapshot, nullptr, until);
  if (!query.artifact.empty()) {
    ASSAY_TRY(can_spread(judge.inputs(), {query.artifact}));
  }
  Json items = Json::array();
  std::uint64_t examined = 0;
  std::uint64_t undecided = 0;
  const auto take = [&](const storage::PodRow& row) -> Result<bool> {
    const auto judged = judge.judge(row, now);
    if (!judged && !only_this_one(judged.error())) {
      return std::unexpected(judged.error());
    }
    if (!judged || !judged->present.selected || judged->present.allowed) {
      ++examined;
      undecided += judged ? 0U : 1U;
      return true;
    }
    ASSAY_ASSIGN(bool about, is_about(query, judge, *judged));
    if (about && query.by_revocation) {
      ASSAY_ASSIGN(const Answer without, judge.without_revocations(*judged, now));
      about = is_by_revocation(judged->present, without);
    }
    ++examined;
    if (about) {
      items.push_back(pod_view(services, row, *judged));
      items.back()["reasons"] = judged->present.reasons;
      items.back()["why"] = to_json(judged->present.causes);
    }
    return items.size() < query.limit;
  };
  const auto too_late = [&](ErrorCode) {
    ++examined;
    ++undecided;
  };
  ASSAY_ASSIGN(const auto next,
               each_pod(services, *snapshot, after, std::min(query.examine, kMaxPodsExamined),
                        until, take, too_late));
  Json answer = {{"examined", examined}, {"undecided", undecided}, {"items", std::move(items)}};
  if (next) {
    answer["next"] = *next;
  }
  return answer;
}

}  // namespace

Result<Json> pod_impact(Services& services, const ImpactRequest& request,
                        std::optional<Timestamp> deadline) {
  if (request.since || request.until) {
    return fail(ErrorCode::kInvalidParameter, "pods are judged as they stand now",
                request.since ? "since" : "until");
  }
  ASSAY_ASSIGN(const storage::PodKey after, pod_behind(request.after));
  ASSAY_TRY(require_time(services));
  const auto turn = services.impact_turn.try_take();
  if (!turn) {
    return fail(ErrorCode::kBusy, "another question about impact is being answered");
  }
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  const Timestamp now = services.clock.now();
  const Timestamp until = end_of(services, deadline);
  PodJudge judge(services, *snapshot, &request.hypothesis, until);
  ASSAY_TRY(can_spread(judge.inputs(), request.hypothesis.without_artifacts));
  Tally tally(request.limit);
  if (request.after.empty()) {
    ASSAY_TRY(name_nodes(*snapshot, request.hypothesis, judge.levels(), now, tally));
  }
  const auto undecided = [&tally](ErrorCode code) { tally.undecided(info(code).code); };
  const auto take = [&](const storage::PodRow& row) -> Result<bool> {
    const auto judged = judge.judge(row, now);
    if (!judged) {
      if (!only_this_one(judged.error())) {
        return std::unexpected(judged.error());
      }
      undecided(judged.error().code);
      return true;
    }
    if (tally.note(judged->present, judged->supposed, pod_view(services, row, *judged))) {
      tally.name_node(judged->node);
      std::ranges::for_each(judged->models, [&](const auto& model) { tally.name_model(model); });
    }
    return true;
  };
  ASSAY_ASSIGN(const auto next,
               each_pod(services, *snapshot, after, kMaxPodsExamined, until, take, undecided));
  Json answer = tally.to_json();
  if (next) {
    answer["next"] = *next;
  }
  return answer;
}

Result<Json> affected_pods(Services& services, const AffectedQuery& query,
                           std::optional<Timestamp> deadline) {
  // Before the turn: a question that is malformed is refused as such, whatever goes on.
  ASSAY_ASSIGN(const storage::PodKey after, pod_behind(query.after));
  const auto turn = services.impact_turn.try_take();
  if (!turn) {
    return fail(ErrorCode::kBusy, "another question about impact is being answered");
  }
  return affected_behind(services, query, after, deadline);
}

Result<Json> affected_pods_out_of_turn(Services& services, const AffectedQuery& query,
                                       std::optional<Timestamp> deadline) {
  ASSAY_ASSIGN(const storage::PodKey after, pod_behind(query.after));
  return affected_behind(services, query, after, deadline);
}

}  // namespace assay::server
