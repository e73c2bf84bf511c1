// SPDX-License-Identifier: Apache-2.0
#include "server/service/impact/decision_impact.h"

#include <algorithm>
#include <charconv>

#include "schemas/core/bytes.h"
#include "server/service/impact/case_judge.h"
#include "server/service/impact/tally.h"

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

Json item_of(const storage::DecisionRow& row) {
  return {{"id", row.id},
          {"point", row.point},
          {"namespace", row.name_space},
          {"subjects", row.subjects},
          {"evaluated_at", to_rfc3339(row.evaluated_at)}};
}

void note(const Decided& one, const Answer& supposed, Tally& tally) {
  const Answer before{true, one.row->allowed, one.row->reasons, {}};
  Answer after = supposed;
  // An orchestrator that asks about a workload of no policy is told deny.
  if (!after.selected && !one.admission) {
    after = {true, false, {std::string(info(Reason::kNoMatchingPolicy).code)}, {}};
  }
  if (tally.note(before, after, item_of(*one.row))) {
    for (const std::string& subject : one.row->subjects) {
      tally.name_model(subject);
    }
  }
}

// Decisions of one case, ascending by time. What is wrong with a case is wrong with all of them.
Status judge_group(CaseJudge& judge, std::vector<Decided>& group, Tally& tally) {
  std::ranges::sort(group, {}, [](const Decided& one) { return one.row->evaluated_at; });
  std::vector<Timestamp> times;
  for (const Decided& one : group) {
    times.push_back(one.row->evaluated_at);
  }
  const auto answers = judge.judge(*group.front().facts, times);
  if (!answers) {
    const ErrorCode code = answers.error().code;
    if (code != ErrorCode::kCaseUnsupported && code != ErrorCode::kLimitExceeded &&
        code != ErrorCode::kDataLoss) {
      return std::unexpected(answers.error());
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      tally.undecided(code == ErrorCode::kLimitExceeded ? "case-incomplete" : info(code).code);
    }
    return {};
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    note(group[i], *(*answers)[i], tally);
  }
  return {};
}

Status judge_batch(storage::Snapshot& snapshot, CaseJudge& judge,
                   const std::vector<storage::DecisionRow>& rows, Tally& tally) {
  std::map<DocumentId, std::vector<Decided>> groups;
  std::vector<DocumentId> order;  // of the first decision of each
  for (const storage::DecisionRow& row : rows) {
    auto one = read(snapshot, row);
    if (!one) {
      tally.undecided(info(ErrorCode::kDataLoss).code);
      continue;
    }
    std::vector<Decided>& group = groups[*one->facts];
    if (group.empty()) {
      order.push_back(*one->facts);
    }
    group.push_back(*std::move(one));
  }
  for (const DocumentId& facts : order) {
    ASSAY_TRY(judge_group(judge, groups.at(facts), tally));
  }
  return {};
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
    return fail(ErrorCode::kOverloaded, "another question about impact is being answered");
  }
  const Timestamp end = services.clock.now() + kImpactTime;
  const Timestamp until = deadline ? std::min(end, *deadline) : end;
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  CaseJudge judge(*snapshot, request.hypothesis);
  Tally tally(request.limit);
  std::size_t examined = 0;
  do {
    ASSAY_ASSIGN(const auto page, snapshot->decisions(query));
    ASSAY_TRY(judge_batch(*snapshot, judge, page.items, tally));
    examined += page.items.size();
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
