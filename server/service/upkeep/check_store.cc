// SPDX-License-Identifier: Apache-2.0
#include "server/service/upkeep/check_store.h"

#include <array>

#include "server/service/documents/outlines.h"
#include "server/service/upkeep/check_cases.h"
#include "storage/inspect.h"

namespace assay::server {
namespace {

using Findings = std::vector<Finding>;
using Check = Status (*)(storage::Snapshot&, Findings&);

// Manifests whose ignore rules stood beside the parameters: the root does not bind them, so they
// are kept for the record and count for nothing.
Status find_unbound_manifests(storage::Snapshot& snapshot, Findings& findings) {
  storage::StatementQuery query;
  query.kind = storage::StatementKind::kManifest;
  query.bounds.limit = 1000;
  for (;;) {
    ASSAY_ASSIGN(const auto page, snapshot.statements(query));
    for (const storage::StatementRow& row : page.items) {
      if (!is_current_manifest(row)) {
        findings.push_back({"unbound-manifest", row.id.text(),
                            "the manifest of " + row.name +
                                " has ignore rules that its root does not bind, so it counts for "
                                "nothing; make and sign a new one"});
      }
    }
    if (!page.next) {
      return {};
    }
    query.bounds.after = page.next;
  }
}

// The decision that a record speaks of, if it can be read.
std::optional<storage::DecisionRow> decision_at(storage::Snapshot& snapshot, LeafIndex index) {
  const auto bytes = snapshot.log_record(index);
  const auto record = bytes ? parse_log_record(*bytes) : std::unexpected(bytes.error());
  const auto id = record ? storage::decision_of(*record) : std::nullopt;
  auto row = id ? snapshot.decision(*id) : fail(ErrorCode::kNotFound, "no decision");
  return row ? std::optional(*std::move(row)) : std::nullopt;
}

// Goes through the log itself: no index hides a decision. A damaged record or row is for those to
// name who look at them; the others are gone on with.
Status find_lost_cases(storage::Snapshot& snapshot, Findings& findings) {
  CaseChecker checker(snapshot);
  ASSAY_ASSIGN(const storage::LogState state, snapshot.log_state());
  for (LeafIndex index = 0; index < state.size; ++index) {
    if (const auto row = decision_at(snapshot, index)) {
      ASSAY_TRY(checker.check(*row));
    }
  }
  const Findings found = checker.take();
  findings.insert(findings.end(), found.begin(), found.end());
  return {};
}

constexpr std::array<Check, 1> kChecks = {find_unbound_manifests};
constexpr std::array<Check, 1> kDeepChecks = {find_lost_cases};

}  // namespace

Json to_json(const Finding& finding) {
  return {{"check", finding.check}, {"id", finding.id}, {"detail", finding.detail}};
}

Result<Findings> check_store(storage::Snapshot& snapshot, bool deep) {
  Findings findings;
  for (const Check check : kChecks) {
    ASSAY_TRY(check(snapshot, findings));
  }
  if (deep) {
    for (const Check check : kDeepChecks) {
      ASSAY_TRY(check(snapshot, findings));
    }
  }
  return findings;
}

}  // namespace assay::server
