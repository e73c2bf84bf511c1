// SPDX-License-Identifier: Apache-2.0
#include "server/service/impact/decision_impact.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "schemas/core/bytes.h"
#include "server/service/impact/case_judge.h"
#include "server/service/impact/tally.h"
#include "server/service/references/resolve.h"

namespace assay::server {
namespace {

// Decisions that are grouped by their cases at a time.
constexpr std::size_t kBatch = 1000;

// What is read of a stored decision.
struct Decided {
  const storage::DecisionRow* row;
  std::optional<DocumentId> facts;  // nullopt: the decision cannot be read
  bool admission = false;           // asked by a webhook, which lets pass what no policy selects
};

// The text of a member `"name":"..."` of canonical JSON that has one such member at any level; a
// text inside of JSON has its quotes escaped, so it never looks like a member. Nothing when there
// are several.
std::optional<std::string_view> only_text(std::string_view json, std::string_view name) {
  const std::string start = '"' + std::string(name) + "\":\"";
  const std::size_t found = json.find(start);
  if (found == std::string_view::npos ||
      json.find(start, found + start.size()) != std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t from = found + start.size();
  return json.substr(from, json.find('"', from) - from);
}

// Of the thousands of decisions that one call looks at only two members are needed, so their
// documents are searched and not parsed.
Result<Decided> read(storage::Snapshot& snapshot, const storage::DecisionRow& row) {
  ASSAY_ASSIGN(const storage::Document document, snapshot.document(row.envelope));
  const auto encoded = only_text(as_text(document.bytes), "payload");
  const auto decoded =
      encoded ? base64_decode(*encoded) : Result<Bytes>(fail(ErrorCode::kDataLoss, "no payload"));
  const std::string_view payload = decoded ? as_text(*decoded) : std::string_view();
  const auto facts = only_text(payload, "facts");
  if (!facts) {
    return fail(ErrorCode::kDataLoss, "a stored decision cannot be read");
  }
  ASSAY_ASSIGN(DocumentId id, DocumentId::parse(*facts));
  return Decided{&row, std::move(id), only_text(payload, "via").has_value()};
}

Json item_of(const storage::DecisionRow& row, const std::string& node) {
  Json item = {{"id", row.id},
               {"point", row.point},
               {"namespace", row.name_space},
               {"subjects", row.subjects},
               {"evaluated_at", to_rfc3339(row.evaluated_at)}};
  if (!node.empty()) {
    item["node"] = node;
  }
  return item;
}

void note(const Decided& one, const std::string& node, const Answer& supposed, Tally& tally) {
  const Answer before{true, one.row->allowed, one.row->reasons, {}};
  Answer after = supposed;
  // An orchestrator that asks about a workload of no policy is told deny.
  if (!after.selected && !one.admission) {
    after = {true, false, {std::string(info(Reason::kNoMatchingPolicy).code)}, {}};
  }
  if (tally.note(before, after, item_of(*one.row, node))) {
    tally.name_node(node);
    for (const std::string& subject : one.row->subjects) {
      tally.name_model(subject);
    }
  }
}

// What is known of one decision: an answer, or why there is none; neither when the time was over.
struct Outlook {
  std::optional<Decided> decided{};
  std::string node{};  // empty: the decision is about none, or there is no answer
  std::shared_ptr<const Answer> supposed{};
  std::string undecided{};

  [[nodiscard]] bool is_open() const { return !supposed && undecided.empty(); }
};

// Decisions of one case. What is wrong with a case is wrong with all of them.
Status judge_group(CaseJudge& judge, std::vector<Outlook*>& group) {
  const auto time_of = [](const Outlook* one) { return one->decided->row->evaluated_at; };
  std::ranges::sort(group, {}, time_of);
  std::vector<Timestamp> times;
  std::ranges::transform(group, std::back_inserter(times), time_of);
  const auto judged = judge.judge(*group.front()->decided->facts, times);
  if (!judged) {
    const ErrorCode code = judged.error().code;
    if (code != ErrorCode::kCaseUnsupported && code != ErrorCode::kLimitExceeded &&
        code != ErrorCode::kDataLoss) {
      return std::unexpected(judged.error());
    }
    for (Outlook* const one : group) {
      one->undecided = code == ErrorCode::kLimitExceeded ? "case-incomplete" : info(code).code;
    }
    return {};
  }
  for (std::size_t i = 0; i < judged->answers.size(); ++i) {
    group[i]->node = judged->node;
    group[i]->supposed = judged->answers[i];
  }
  return judged->answers.size() == group.size()
             ? Status()
             : fail(ErrorCode::kEvaluationDeadline, "there was no time for all decisions");
}

// Judges the decisions until the time is over.
Status judge_all(CaseJudge& judge, std::vector<Outlook>& outlooks) {
  std::map<DocumentId, std::vector<Outlook*>> groups;
  std::vector<DocumentId> order;  // of the first decision of each
  for (Outlook& one : outlooks) {
    if (!one.decided) {
      continue;
    }
    std::vector<Outlook*>& group = groups[*one.decided->facts];
    if (group.empty()) {
      order.push_back(*one.decided->facts);
    }
    group.push_back(&one);
  }
  for (const DocumentId& facts : order) {
    const Status judged = judge_group(judge, groups.at(facts));
    if (!judged) {
      return judged.error().code == ErrorCode::kEvaluationDeadline ? Status() : judged;
    }
  }
  return {};
}

// Notes the decisions up to the first one for which there was no time; returns how many. When that
// is the first of a call, it counts as undecided: else no call would come past it.
Result<std::size_t> judge_batch(storage::Snapshot& snapshot, CaseJudge& judge,
                                const std::vector<storage::DecisionRow>& rows, Tally& tally) {
  std::vector<Outlook> outlooks(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto one = read(snapshot, rows[i]);
    if (one) {
      outlooks[i].decided = *std::move(one);
    } else {
      outlooks[i].undecided = info(ErrorCode::kDataLoss).code;
    }
  }
  ASSAY_TRY(judge_all(judge, outlooks));
  if (tally.examined() == 0 && !rows.empty() && outlooks.front().is_open()) {
    outlooks.front().undecided = info(ErrorCode::kEvaluationDeadline).code;
  }
  std::size_t noted = 0;
  for (const Outlook& one : outlooks) {
    if (one.is_open()) {
      break;
    }
    if (one.supposed) {
      note(*one.decided, one.node, *one.supposed, tally);
    } else {
      tally.undecided(one.undecided);
    }
    ++noted;
  }
  return noted;
}

Result<std::optional<LeafIndex>> index_after(const std::string& text) {
  if (text.empty()) {
    return std::nullopt;
  }
  LeafIndex index = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, index);
  if (error != std::errc() || stop != end || index > static_cast<LeafIndex>(kMaxSafeInteger)) {
    return fail(ErrorCode::kInvalidParameter, "not the `next` of an answer", "after");
  }
  return index;
}

}  // namespace

Result<Json> decision_impact(Services& services, const ImpactRequest& request,
                             std::optional<Timestamp> deadline) {
  storage::DecisionQuery query;
  query.since = request.since;
  query.until = request.until;
  query.bounds.limit = kBatch;
  ASSAY_ASSIGN(query.bounds.after, index_after(request.after));
  const auto turn = services.impact_turn.try_take();
  if (!turn) {
    return fail(ErrorCode::kBusy, "another question about impact is being answered");
  }
  const Timestamp end = services.clock.now() + kImpactTime;
  const Timestamp until = deadline ? std::min(end, *deadline) : end;
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  CaseJudge judge(*snapshot, request.hypothesis,
                  [&services, until] { return check_deadline(services, until); });
  ASSAY_TRY(can_spread(judge.inputs(), request.hypothesis.without_artifacts));
  Tally tally(request.limit);
  std::size_t examined = 0;
  do {
    ASSAY_ASSIGN(const auto page, snapshot->decisions(query));
    ASSAY_ASSIGN(const std::size_t noted, judge_batch(*snapshot, judge, page.items, tally));
    examined += noted;
    if (noted < page.items.size()) {
      if (noted > 0) {
        query.bounds.after = page.items[noted - 1].log_index;
      }
      break;
    }
    query.bounds.after = page.next;
  } while (query.bounds.after && examined < kMaxDecisionsExamined && services.clock.now() < until);
  Json answer = tally.to_json();
  answer["cases"] = judge.evaluations();
  if (query.bounds.after) {
    answer["next"] = std::to_string(*query.bounds.after);
  }
  return answer;
}

}  // namespace assay::server
