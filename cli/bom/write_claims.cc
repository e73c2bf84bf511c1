// SPDX-License-Identifier: Apache-2.0
// The model card, and who says what.
#include <map>
#include <set>
#include <utility>

#include "cli/bom/write_things.h"
#include "schemas/core/json_at.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"
#include "schemas/placement.h"
#include "schemas/release.h"

namespace assay::bom {
namespace {

// What the statement says, in the words of CycloneDX's `claim.predicate`.
std::string claim_text(const Statement& statement) {
  const std::string& type = statement.predicate_type;
  if (type == kManifestPredicateType) {
    return "manifest: the files and tensors that are the model";
  }
  if (type == kPlacementPredicateType) {
    return "placement: where the model is kept";
  }
  if (type == kReleasePredicateType) {
    return "release: " + text_at(statement.predicate, "version");
  }
  if (type == kLifecyclePredicateType) {
    return "stage: " + text_at(statement.predicate, "stage");
  }
  return "statement: " + type;
}

std::string evidence_text(const BomStatement& one) {
  std::string text = "in-toto statement " + one.id + ", " + one.statement.predicate_type;
  for (const BomSigner& signer : one.signers) {
    text += "; signed by " + signer.identity + " with key " + signer.key_id;
    text += signer.signed_at.empty() ? "" : " at " + signer.signed_at;
  }
  return text + (one.log_index.empty() ? "" : "; log entry " + one.log_index);
}

Json evidence_of(const BomStatement& one) {
  Json evidence = {{"bom-ref", "evidence:" + one.id},
                   {"propertyName", "assay:statement"},
                   {"description", evidence_text(one)},
                   {"author", {{"name", one.signers.front().identity}}},
                   {"data", Json::array({Json{{"name", one.id}}})}};
  if (!one.accepted_at.empty()) {
    evidence["created"] = one.accepted_at;
  }
  return evidence;
}

// The dataset or other thing that an evaluation was made with: CycloneDX has `slice` for it.
std::string slice_of(const Lifecycle& evaluation) {
  std::string slice;
  for (const LifecycleInput& input : evaluation.inputs) {
    if (input.role == "dataset" && !input.name.empty()) {
      slice += (slice.empty() ? "" : ", ") + input.name;
    }
  }
  return slice;
}

void add_metrics(const BomStatement& one, Json& metrics, Json& properties) {
  if (one.statement.predicate_type != kLifecyclePredicateType) {
    return;
  }
  const Result<Lifecycle> lifecycle = lifecycle_from(one.statement);
  if (!lifecycle || lifecycle->metrics.empty()) {
    return;
  }
  const std::string slice = slice_of(*lifecycle);
  for (const auto& [name, metric] : lifecycle->metrics) {
    const std::string unit = metric.unit.empty() || metric.unit == "1" ? "" : " " + metric.unit;
    Json row = {{"type", name}, {"value", Json(metric.value).dump() + unit}};
    if (!slice.empty()) {
      row["slice"] = slice;
    }
    metrics.push_back(std::move(row));
    // CycloneDX has no field for who measured.
    std::string who;
    for (const BomSigner& signer : one.signers) {
      who += (who.empty() ? "" : ", ") + signer.identity;
    }
    add_property(properties, "metric",
                 name + " = " + Json(metric.value).dump() + unit + ": " + lifecycle->stage +
                     " by " + who + ", " + one.id);
  }
}

}  // namespace

Json model_card(const Trace& trace, const std::vector<std::string>& refs,
                std::span<const BomStatement> statements) {
  const Thing& model = trace.things.front();
  Json card = Json::object();
  Json datasets = Json::array();
  for (const std::size_t from : model.made_from) {
    if (trace.things[from].role == "dataset") {
      datasets.push_back({{"ref", refs[from]}});
    }
  }
  if (!datasets.empty()) {
    card["modelParameters"] = {{"datasets", std::move(datasets)}};
  }
  Json metrics = Json::array();
  Json properties = Json::array();
  for (const std::size_t s : model.statements) {
    add_metrics(statements[s], metrics, properties);
  }
  if (!metrics.empty()) {
    card["quantitativeAnalysis"] = {{"performanceMetrics", std::move(metrics)}};
    card["properties"] = std::move(properties);
  }
  return card;
}

Json declarations(const Trace& trace, const std::vector<std::string>& refs,
                  std::span<const BomStatement> statements) {
  Json claims = Json::array();
  std::set<std::size_t> used;
  std::map<std::string, Json> claims_by;  // identity to references of claims
  for (std::size_t i = 0; i < trace.things.size(); ++i) {
    for (const std::size_t s : trace.things[i].statements) {
      const BomStatement& one = statements[s];
      const std::string ref = "claim:" + std::to_string(claims.size());
      claims.push_back({{"bom-ref", ref},
                        {"target", refs[i]},
                        {"predicate", claim_text(one.statement)},
                        {"evidence", Json::array({"evidence:" + one.id})}});
      used.insert(s);
      std::set<std::string> identities;
      for (const BomSigner& signer : one.signers) {
        if (identities.insert(signer.identity).second) {
          claims_by[signer.identity].push_back(ref);
        }
      }
    }
  }
  Json evidence = Json::array();
  for (const std::size_t s : used) {
    evidence.push_back(evidence_of(statements[s]));
  }
  Json assessors = Json::array();
  Json attestations = Json::array();
  for (auto& [identity, theirs] : claims_by) {
    assessors.push_back(
        {{"bom-ref", "identity:" + identity}, {"organization", {{"name", identity}}}});
    attestations.push_back({{"summary", "What " + identity + " signed"},
                            {"assessor", "identity:" + identity},
                            {"map", Json::array({Json{{"claims", std::move(theirs)}}})}});
  }
  return {{"assessors", std::move(assessors)},
          {"attestations", std::move(attestations)},
          {"claims", std::move(claims)},
          {"evidence", std::move(evidence)}};
}

}  // namespace assay::bom
