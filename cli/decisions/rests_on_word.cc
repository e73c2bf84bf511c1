// SPDX-License-Identifier: Apache-2.0
#include "cli/decisions/rests_on_word.h"

#include <algorithm>

#include "policy/lineage.h"
#include "schemas/reference_set.h"

namespace assay::cli {
namespace {

bool any_of(const std::vector<policy::Facts>& models, const auto& holds) {
  return std::ranges::any_of(models, holds);
}

bool has_stage_evidence(const policy::Facts& facts) {
  const auto has = [](const policy::StatementFact& fact) { return !fact.evidence.empty(); };
  return std::ranges::any_of(facts.statements, has) ||
         (facts.lineage && std::ranges::any_of(facts.lineage->statements(),
                                               [&](const auto& one) { return has(one->fact); }));
}

// Policies in force that the case leaves out, since they select another workload.
std::size_t left_out(const policy::CaseHead& head, const Governed& governed) {
  const auto policies = std::ranges::count_if(
      governed.in_force, [](const auto& one) { return !named_set(one.first).has_value(); });
  return static_cast<std::size_t>(policies) - head.policies.size();
}

}  // namespace

std::vector<RestsOnWord> rests_on_word(const policy::CaseHead& head,
                                       const std::vector<policy::Facts>& models,
                                       const Governed& governed) {
  std::vector<RestsOnWord> word = {
      {"one-log",
       "that the log shows everybody the same entries: compare its checkpoint with that "
       "of a mirror or of a witness"},
      {"first-trust",
       "that the first trust of the installation, which nobody signs, is the one that its "
       "operators "
       "wrote: " +
           (governed.first_trust ? governed.first_trust->text() : std::string("none"))},
      {"log-key",
       "that the key of the log was not replaced before this checkpoint, beyond what the "
       "file shows"},
      {"times", "when the decision was made, and when each entry of the log was written"},
      {"workload", "what was asked for: who asks, namespace, labels, devices, mounts"},
      {"reference",
       "which model the request stands for, and what else was checked before policies"},
      {"newest-change",
       "that no change of trust, policies or withdrawals came after the one that the log entry "
       "of the decision names: 'assay log verify' of a mirror shows it"},
      {"complete",
       "that no further statement was known then; the file shows those that the decision names"}};
  const auto add = [&word](bool holds, const char* what, std::string text) {
    if (holds) {
      word.push_back({what, std::move(text)});
    }
  };
  add(any_of(models, [](const policy::Facts& facts) { return facts.node.has_value(); }), "node",
      "what is said of the node: that its evidence was appraised so");
  add(any_of(models, [](const policy::Facts& facts) { return !facts.reports.empty(); }), "reports",
      "what the node reported of the model's bytes, and that its signature was verified");
  add(any_of(models, [](const policy::Facts& facts) { return !facts.instances.empty(); }),
      "instances", "what the node reported of models in memory");
  add(any_of(models, [](const policy::Facts& facts) { return !facts.claims.empty(); }), "claims",
      "which volume is behind each claim");
  add(any_of(models, has_stage_evidence), "stage-evidence",
      "that the evidence of statements was appraised so");
  const std::size_t others = left_out(head, governed);
  add(others > 0, "other-policies",
      "that " + std::to_string(others) + " more policies in force do not select this workload");
  return word;
}

}  // namespace assay::cli
