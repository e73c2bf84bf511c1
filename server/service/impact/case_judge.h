// SPDX-License-Identifier: Apache-2.0
// Judges stored cases again under a hypothesis. Decisions that share a case are judged together.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/service/decisions/judge_case.h"
#include "server/service/impact/answer.h"
#include "server/service/impact/case_gaps.h"
#include "server/service/impact/suppose.h"

namespace assay::server {

class CaseJudge {
 public:
  // What is answered about one case.
  struct Judged {
    std::string node;  // for which it was asked; empty: for none
    std::vector<std::shared_ptr<const Answer>> answers;
  };
  // Limit on cases that are kept loaded.
  static constexpr std::size_t kMaxCases = 512;
  // Limit on the statements, with those of lineages, of all models that are kept. Beyond it, models
  // and cases are forgotten.
  static constexpr std::size_t kMaxStatements = 50'000;

  // The references must outlive the object. `check` is called again and again; its error ends the
  // work.
  CaseJudge(storage::Snapshot& snapshot, const Hypothesis& hypothesis,
            std::function<Status()> check)
      : snapshot_(snapshot),
        hypothesis_(hypothesis),
        check_(std::move(check)),
        inputs_(snapshot, check_),
        levels_(snapshot, check_),
        gaps_(snapshot, hypothesis) {}

  // Returns the answers to one case at `times` (ascending), in their order. The case is evaluated
  // at the first time, and again at the first time at which the answer before may not hold any more
  // (Answer::valid_until). Fewer answers than times: `check` ended the work. Errors:
  // case-unsupported for a case of another format; limit-exceeded when the case lacks something
  // that the answer rests on (case_gaps.h); those of `check`; data-loss.
  [[nodiscard]] Result<Judged> judge(const DocumentId& facts, std::span<const Timestamp> times);

  [[nodiscard]] StatementInputs& inputs() { return inputs_; }
  // Evaluations so far.
  [[nodiscard]] std::uint64_t evaluations() const { return evaluations_; }

 private:
  // The policies of cases, and what would be in force in their place.
  struct InForce {
    Policies given{};
    Policies supposed{};
  };
  // A model that cases name, and how it would be.
  struct Model {
    CaseModel given;
    std::optional<CaseModel> supposed{};
    bool sure = false;  // of `supposed`: suppose_model()
  };
  using Models = std::vector<std::shared_ptr<Model>>;
  struct Case {
    CaseFile file;
    std::shared_ptr<const InForce> policies;
    bool selected = false;
    // A name may stand for other models, or a statement be about something that must not be used:
    // only a denial is sure.
    bool unsure = false;
    std::map<Timestamp, std::shared_ptr<const Answer>> judged{};
  };

  [[nodiscard]] Result<Case*> find(const DocumentId& facts);
  [[nodiscard]] Result<Case> load(const DocumentId& facts);
  [[nodiscard]] Result<std::shared_ptr<Model>> model_of(const Json& member);
  [[nodiscard]] Result<bool> suppose(const Models& models, CaseFile& file);
  [[nodiscard]] Result<policy::ReferenceSets> sets_of(const CaseFile& file);
  [[nodiscard]] Result<std::shared_ptr<const InForce>> policies_of(const CaseFile& file);
  [[nodiscard]] Result<std::shared_ptr<const Answer>> answer_at(Case& known, Timestamp time);

  storage::Snapshot& snapshot_;
  const Hypothesis& hypothesis_;
  std::function<Status()> check_;
  StatementInputs inputs_;
  TcbLevels levels_;
  CaseGaps gaps_;
  DecisionCache cache_;  // of its own: hypotheses displace nothing that decisions use
  std::map<DocumentId, Case> cases_;
  // The key is the text of the member that names the model in its cases. Cases of many pods name
  // the same model.
  std::map<std::string, std::shared_ptr<Model>> models_;
  std::size_t model_statements_ = 0;  // of models_
  // By the policies and the reference sets of the case.
  std::map<std::pair<std::vector<StatementId>, std::vector<StatementId>>,
           std::shared_ptr<const InForce>>
      policies_;
  std::uint64_t evaluations_ = 0;
};

}  // namespace assay::server
