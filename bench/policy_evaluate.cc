// SPDX-License-Identifier: Apache-2.0
// What one evaluation of policies costs when all facts are known: the ready policy with the three
// stages of Atlas (docs/policies) over a lineage of 12 statements, warm as in a service, which
// keeps what lineage conditions came to, and with these conditions judged anew; growth against the
// policies that match, the statements about the model, and the conditions of a policy, all of it
// judged anew. Growth against nodes of a lineage: lineage_store.cc. Words: policy=FILE rounds=N
// json=FILE ("-": to standard output alone). Exits with 1 when a warm evaluation takes longer than
// its limit.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

#include "bench/measure.h"
#include "bench/options.h"
#include "policy/evaluate.h"
#include "policy/lineage.h"
#include "policy/statement_index.h"
#include "schemas/core/sha.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"
#include "server/service/lineage/kept_results.h"

namespace {

using namespace assay;
using policy::Lineage;

constexpr double kMaxUs = 50;
constexpr std::string_view kModel = "acme/demo";

Timestamp now() { return parse_rfc3339("2026-06-01T12:00:00Z").value(); }

TrustedKey key(const std::string& identity, KeyPurpose purpose = KeyPurpose::kSigner) {
  return {KeyId(sha256(as_bytes(identity))),
          SignatureAlgorithm::kEd25519,
          {},
          purpose,
          identity,
          {{"*",
            std::string(purpose == KeyPurpose::kSigner ? kLifecyclePredicateType
                                                       : kManifestPredicateType),
            "acme"}},
          now() - std::chrono::hours(1000),
          now() + std::chrono::hours(1000),
          std::nullopt};
}

std::string digest_of(const std::string& thing) {
  return ArtifactId(sha256(as_bytes(thing))).text();
}

// The people that the policy expects, by stage.
std::string signer_of(const std::string& stage) {
  static const std::map<std::string, std::string> people = {
      {"collect", "data@acme.example"},      {"preprocess", "data@acme.example"},
      {"train", "train@acme.example"},       {"finetune", "train@acme.example"},
      {"merge", "train@acme.example"},       {"quantize", "release-build@acme.example"},
      {"evaluate", "lab@institute.example"}, {"approve", "approver@acme.example"}};
  return people.at(stage);
}

policy::StageEvidenceFact evidence_of(const std::string& identity) {
  policy::StageEvidenceFact made{key(identity).id, "tdx", now() - std::chrono::hours(1)};
  made.anchor = Anchor::root(sha256(as_bytes("root")));
  made.anchor_is_vendor = true;
  made.status_then = made.status_now = "UpToDate";
  made.current = made.has_reference_values = true;
  for (const char* name : {"mrtd", "rtmr0", "rtmr1", "rtmr2"}) {
    made.measurements[name] = sha(HashAlgorithm::kSha384, as_bytes(std::string_view(name))).hex();
  }
  return made;
}

// Signed an hour ago, on a machine that showed evidence.
policy::StatementFact fact(const std::string& stage, std::uint64_t number, Json predicate) {
  policy::StatementFact made{StatementId(sha256(as_bytes(stage + std::to_string(number)))),
                             std::string(kLifecyclePredicateType),
                             stage,
                             std::move(predicate),
                             {{key(signer_of(stage)), now() - std::chrono::hours(1)}},
                             now() - std::chrono::hours(1),
                             number,
                             {std::string(kModel)}};
  made.evidence = {evidence_of(signer_of(stage))};
  return made;
}

struct Step {
  const char* stage;
  const char* made;
  std::vector<std::pair<const char*, const char*>> from;  // role and thing
};

// Ten statements that make something; an evaluation and an approval of the model come on top.
std::vector<Step> pipeline() {
  return {{"collect", "web", {}},
          {"collect", "books", {}},
          {"collect", "talks", {}},
          {"preprocess", "web-clean", {{"dataset", "web"}}},
          {"preprocess", "books-clean", {{"dataset", "books"}}},
          {"train", "base", {{"dataset", "web-clean"}, {"dataset", "books-clean"}}},
          {"preprocess", "talks-clean", {{"dataset", "talks"}}},
          {"finetune", "adapter", {{"base-model", "base"}, {"dataset", "talks-clean"}}},
          {"merge", "merged", {{"base-model", "base"}, {"adapter", "adapter"}}},
          {"quantize", "model", {{"base-model", "merged"}}}};
}

Json evaluation() { return {{"metrics", {{"accuracy", {{"value", 0.95}, {"unit", "1"}}}}}}; }

// The model with `statements` about it: the last step, approvals, and evaluations.
policy::Facts facts(std::size_t statements) {
  policy::Facts known;
  known.artifact = ArtifactId(sha256(as_bytes("model")));
  policy::StatementFact signed_manifest = fact("approve", 1'000'000, nullptr);
  signed_manifest.predicate_type = kManifestPredicateType;
  signed_manifest.stage.clear();
  signed_manifest.evidence.clear();
  signed_manifest.signers.front().key = key("release@acme.example", KeyPurpose::kPublisher);
  known.manifests = {policy::ManifestFact{
      std::move(signed_manifest), std::string(kModel), {}, {}, Objects::kFiles}};
  std::vector<policy::StatementFact> list = {fact("quantize", 9, {{"stage", "quantize"}})};
  for (std::uint64_t i = 2; i < statements; ++i) {
    list.push_back(fact("evaluate", 8 + i, evaluation()));
  }
  list.push_back(fact("approve", 9 + statements, {{"stage", "approve"}}));
  Lineage::Statements lineage;
  std::uint64_t number = 0;
  const auto add = [&](policy::StatementFact one, const std::string& made) {
    one.predicate = nullptr;
    one.names.clear();
    lineage.push_back(std::make_shared<policy::LineageStatement>(policy::LineageStatement{
        std::move(one), false, {{digest_of(made), {std::string(kModel)}}}, {}}));
  };
  for (const Step& step : pipeline()) {
    add(fact(step.stage, number++, nullptr), step.made);
    auto made = std::make_shared<policy::LineageStatement>(*lineage.back());
    made->licence = "Apache-2.0";
    for (const auto& [role, thing] : step.from) {
      made->inputs.push_back({role, std::string(kModel), {digest_of(thing)}});
    }
    lineage.back() = std::move(made);
  }
  for (std::size_t i = 1; i < list.size(); ++i) {
    add(list[i], "model");
  }
  known.lineage = Lineage::make(known.artifact->text(), std::move(lineage));
  known.statements = std::move(list);
  known.index = policy::index_statements(known.statements);
  return known;
}

Json read_policy(const std::string& file) {
  std::ifstream in(file);
  Json document = Json::parse(in, nullptr, false);
  if (document.is_discarded()) {
    std::fprintf(stderr, "policy_evaluate_bench: %s cannot be read\n", file.c_str());
    std::exit(2);
  }
  return document;
}

policy::ActivePolicy active(const Json& document) {
  const std::string text = document.dump();
  auto parsed = parse_policy(as_bytes(text));
  if (!parsed) {
    std::fprintf(stderr, "policy_evaluate_bench: %s\n", to_string(parsed.error()).c_str());
    std::exit(2);
  }
  return {StatementId(sha256(as_bytes(text))), *std::move(parsed)};
}

bench::Times measure(std::size_t rounds, const std::vector<policy::ActivePolicy>& policies,
                     const policy::Facts& known) {
  policy::Workload workload{"prod-eu", {}, {"nvidia.com/gpu"}};
  workload.accelerators = {"resource:nvidia.com/gpu"};
  return bench::measure(rounds, [&] {
    const Verdict verdict = policy::evaluate(policies, workload, std::span(&known, 1), {},
                                             DecisionPoint::kCreate, now());
    if (!verdict.allowed) {
      std::fprintf(stderr, "%s\n", to_json(verdict).dump(1).c_str());
      std::exit(2);
    }
  });
}

class Growth {
 public:
  explicit Growth(std::FILE* out) : out_(out) {}

  void add(const char* what, std::size_t x, const bench::Times& measured) {
    std::fprintf(out_, "%-11s %8zu  %10.1f  %10.1f\n", what, x, measured.best, measured.p50);
    rows_.push_back({{"growth", what}, {"x", x}, {"us", measured.best}, {"p50_us", measured.p50}});
  }
  [[nodiscard]] Json rows() const { return rows_; }

 private:
  std::FILE* out_;
  Json rows_ = Json::array();
};

// Policies that match, each with all conditions.
std::vector<policy::ActivePolicy> copies(Json document, std::size_t count) {
  std::vector<policy::ActivePolicy> policies;
  for (std::size_t i = 0; i < count; ++i) {
    document["name"] = "copy-" + std::to_string(i);
    policies.push_back(active(document));
  }
  return policies;
}

// One policy with `count` conditions about evaluations, each with another threshold.
policy::ActivePolicy with_conditions(Json document, std::size_t count) {
  document["require"] = {{{"id", "published"}, {"manifest", Json::object()}}};
  for (std::size_t i = 1; i < count; ++i) {
    const Json test = {{"pointer", "/metrics/accuracy/value"},
                       {"op", ">="},
                       {"value", 0.9 - 0.0001 * static_cast<double>(i)}};
    document["require"].push_back({{"id", "evaluated-" + std::to_string(i)},
                                   {"statement",
                                    {{"predicate_type", std::string(kLifecyclePredicateType)},
                                     {"stage", "evaluate"},
                                     {"where", {test}}}}});
  }
  return active(document);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::parse_options(argc, argv, "policy_evaluate_bench");
  const std::size_t rounds = bench::number(options, "rounds", 1000);
  const std::string json = bench::text(options, "json", "");
  std::FILE* out = json == "-" ? stderr : stdout;
  const Json atlas = read_policy(
      bench::text(options, "policy", ASSAY_SOURCE_DIR "/docs/policies/atlas-three-stage.json"));
  const policy::Facts twelve = facts(3);
  const bench::Times anew = measure(rounds, {active(atlas)}, twelve);
  policy::Facts known = twelve;
  const server::KeptResults results(known.lineage);
  known.lineage_results = &results;
  const bench::Times warm = measure(rounds, {active(atlas)}, known);
  const bool kept = warm.p50 <= kMaxUs;
  std::fprintf(out,
               "one evaluation over a lineage of %zu statements: warm %.1f us (best %.1f); limit "
               "%.0f us: %s; its lineage conditions judged anew %.1f us (best %.1f)\n\n",
               twelve.lineage->statements().size(), warm.p50, warm.best, kMaxUs,
               kept ? "kept" : "NOT KEPT", anew.p50, anew.best);
  std::fprintf(out, "growth             x     best, us        median\n");
  Growth growth(out);
  const std::size_t few = std::max<std::size_t>(rounds / 20, 20);
  for (const std::size_t count : {1U, 4U, 16U, 64U}) {
    growth.add("policies", count, measure(few, copies(atlas, count), twelve));
  }
  for (const std::size_t count : {3U, 16U, 64U, 256U, 1024U, 4096U}) {
    growth.add("statements", count, measure(few, {active(atlas)}, facts(count)));
  }
  for (const std::size_t count : {1U, 4U, 16U, 64U, 256U}) {
    growth.add("conditions", count, measure(few, {with_conditions(atlas, count)}, twelve));
  }
  const Json result = {{"benchmark", "policy_evaluate"},
                       {"limits", {{"us", kMaxUs}}},
                       {"kept", kept},
                       {"us", warm.p50},
                       {"best_us", warm.best},
                       {"anew_us", anew.p50},
                       {"anew_best_us", anew.best},
                       {"figures", growth.rows()}};
  if (json == "-") {
    std::printf("%s\n", result.dump().c_str());
  } else if (!json.empty()) {
    std::ofstream(json) << result.dump(1) << "\n";
  }
  return kept ? 0 : 1;
}
