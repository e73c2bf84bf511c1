// SPDX-License-Identifier: Apache-2.0
// The canonical document of facts.
#include "policy/facts.h"

#include "policy/facts/fact_codec.h"
#include "policy/lineage.h"
#include "schemas/manifest.h"
#include "schemas/placement.h"

namespace assay::policy {
namespace {

constexpr auto kLogOrder =
    json::sorted_by([](const Json& one) -> const Json& { return one["log_index"]; });
constexpr auto kByKey = json::sorted_by([](const Json& one) -> const Json& { return one["key"]; });
constexpr auto kByRole = json::sorted_by([](const Json& one) {
  return Json::array({one["predicate_type"], one["stage"], one["namespace"]});
});
constexpr auto kByClaim =
    json::sorted_by([](const Json& one) -> const Json& { return one["claim"]; });
constexpr auto kByInstance =
    json::sorted_by([](const Json& one) -> const Json& { return one["instance"]; });
constexpr auto kByScopeAndTime = json::sorted_by(
    [](const Json& one) { return Json::array({one["scope"], one["reported_at"], one["job"]}); });
constexpr auto kLineage =
    json::by(lineage_from_json,
             [](const std::shared_ptr<const Lineage>& lineage) { return to_json(*lineage); });

// A flag that the document has the other way round.
constexpr auto kInverse = json::by(
    [](const Json& json) -> Result<bool> {
      ASSAY_ASSIGN(const bool inverse, json::flag(json));
      return !inverse;
    },
    [](bool flag) { return Json(!flag); });

// --- statements

// Public keys are left out.
auto of_key() {
  using T = TrustedKey;
  return std::tuple(json::always("key", &T::id),
                    json::if_set("algorithm", &T::algorithm, json::named(signature_algorithm_from)),
                    json::if_set("identity_by", &T::certificate),
                    json::always("purpose", &T::purpose, json::named(key_purpose_from)),
                    json::always("identity", &T::identity),
                    json::always("roles", &T::roles, kByRole),
                    json::always("not_before", &T::not_before),
                    json::always("not_after", &T::not_after), json::if_set("revoked", &T::revoked));
}

// What manifests and other statements share.
auto of_statement() {
  using T = StatementFact;
  return std::tuple(json::always("id", &T::id), json::always("signers", &T::signers, kByKey),
                    json::always("accepted_at", &T::accepted_at),
                    json::always("log_index", &T::log_index),
                    json::if_set("withdrawn", &T::withdrawn));
}

StatementFact no_statement() { return {json::unread<StatementId>(), {}, {}, nullptr, {}, {}, {}}; }

}  // namespace

static auto members_of(json::As<SignerFact>) {
  return std::tuple(json::among(&SignerFact::key, of_key()),
                    json::always("signed_at", &SignerFact::signed_at),
                    json::if_set("certificate", &SignerFact::certificate));
}
// The fact of a key names its algorithm, that of an identity by certificate what it stands for.
static Status together(const SignerFact& fact) {
  return fact.key.algorithm.has_value() != fact.key.certificate.has_value() &&
                 fact.key.certificate.has_value() == fact.certificate.has_value()
             ? Status()
             : fail(ErrorCode::kSchemaViolation,
                    "a signer is a key, or an identity by certificate");
}
static SignerFact start(json::As<SignerFact>) {
  return {{json::unread<KeyId>(), {}, {}, {}, {}, {}, {}, {}, {}}, {}};
}

static auto members_of(json::As<WithdrawnFact>) {
  using T = WithdrawnFact;
  return std::tuple(json::always("reason", &T::reason), json::always("since", &T::since),
                    json::always("by", &T::by, kSorted),
                    json::unless_default("signers_only", &T::whole, kInverse));
}

static auto members_of(json::As<StatementFact>) {
  using T = StatementFact;
  return std::tuple_cat(
      of_statement(),
      std::tuple(json::always("predicate_type", &T::predicate_type),
                 json::always("stage", &T::stage), json::always("names", &T::names, kSorted),
                 json::always("predicate", &T::predicate),
                 json::if_set("evidence", &T::evidence, kSorted),
                 json::if_set("joined_by", &T::joined_by, kSorted)));
}
static StatementFact start(json::As<StatementFact>) { return no_statement(); }
Json to_json(const StatementFact& fact) { return json::write(fact); }
Result<StatementFact> read_json(json::As<StatementFact> /*type*/, const Json& json) {
  return json::read<StatementFact>(json);
}

static auto members_of(json::As<ManifestFact>) {
  using T = ManifestFact;
  return std::tuple(json::among(&T::statement, of_statement()), json::always("name", &T::name),
                    json::always("parameters", &T::parameters, json::by(tree_parameters_from_json)),
                    json::always("locations", &T::locations, kSorted),
                    json::always("objects", &T::objects, json::named(parse_objects)),
                    json::if_set("formats", &T::formats, json::each_named(model_format_from)));
}
static ManifestFact start(json::As<ManifestFact>) {
  ManifestFact manifest{no_statement(), {}, {}, {}};
  manifest.statement.predicate_type = kManifestPredicateType;
  return manifest;
}

static auto members_of(json::As<PlacementFact>) {
  using T = PlacementFact;
  return std::tuple(json::among(&T::statement, of_statement()), json::always("name", &T::name),
                    json::always("locations", &T::locations, kSorted));
}
static PlacementFact start(json::As<PlacementFact>) {
  PlacementFact placement{no_statement(), {}, {}};
  placement.statement.predicate_type = kPlacementPredicateType;
  return placement;
}

// --- the node and what it reported

static auto members_of(json::As<NodeFact>) {
  using T = NodeFact;
  const auto evidence = std::tuple(
      json::always("type", &T::evidence_type), json::always("appraised_at", &T::appraised_at),
      json::always("tcb_status", &T::tcb_status),
      json::always("anchor_is_vendor", &T::anchor_is_vendor), json::if_set("anchor", &T::anchor),
      json::if_set("appraisal", &T::appraisal), json::if_set("policy", &T::appraisal_policy),
      json::always("current", &T::appraisal_current), json::if_set("error", &T::appraisal_error),
      json::if_set("reference_values", &T::matched, kMatched),
      json::if_set("boot", &T::boot, json::by(measured_boot_from_json)));
  const auto has_evidence = [](const T& node) { return node.appraised_at.has_value(); };
  return std::tuple(
      json::always("name", &T::name), json::always("enrolled_at", &T::enrolled_at),
      json::always("expires_at", &T::expires_at), json::if_set("revoked", &T::revoked),
      json::always("worker_measured", &T::worker_measured),
      json::group("evidence", has_evidence, evidence), json::if_set("devices", &T::devices),
      json::if_set("devices_registered", &T::devices_registered));
}

static auto members_of(json::As<ReportFact>) {
  using T = ReportFact;
  const auto of_instance = [](const T& report) { return !report.instance.empty(); };
  const auto of_pod = [](const T& report) {
    return report.instance.empty() && !report.pod.empty();
  };
  return std::tuple(
      json::always("job", &T::job), json::always("scope", &T::scope),
      json::always("location", &T::location), json::if_set("volume", &T::volume),
      json::group("pod", of_pod,
                  std::tuple(json::always("uid", &T::pod), json::always("volume", &T::pod_volume))),
      json::group("instance", of_instance,
                  std::tuple(json::always("pod", &T::pod), json::always("name", &T::instance))),
      json::if_set("memory", &T::memory), json::always("result", &T::result),
      json::if_set("differing", &T::differing), json::always("reported_at", &T::reported_at),
      json::always("read_since", &T::read_since),
      json::always("worker_measured", &T::worker_measured),
      json::always("appraisal_current", &T::appraisal_current),
      json::if_set("evidence_valid_until", &T::evidence_valid_until),
      json::always("device_attested", &T::device_attested),
      json::if_set("devices_valid_until", &T::devices_valid_until),
      json::if_set("device_anchors", &T::device_anchors),
      json::always("spot_checks", &T::spot_checks), json::if_set("report", &T::report));
}

static auto members_of(json::As<ClaimFact>) {
  using T = ClaimFact;
  return std::tuple(json::always("claim", &T::claim), json::always("uid", &T::uid),
                    json::always("volume", &T::volume));
}

// --- the whole

static auto members_of(json::As<Facts>) {
  using T = Facts;
  return std::tuple(
      json::constant("format", kFactsFormat), json::if_set("artifact", &T::artifact),
      json::if_set("name", &T::name), json::always("manifests", &T::manifests, kLogOrder),
      json::always("statements", &T::statements, kLogOrder),
      json::if_set("placements", &T::placements, kLogOrder), json::if_set("node", &T::node),
      json::if_set("reports", &T::reports, kByScopeAndTime),
      json::if_set("claims", &T::claims, kByClaim),
      json::if_set("asked_locations", &T::asked_locations), json::if_set("pod", &T::pod),
      json::if_set("instances", &T::instances, kByInstance),
      json::if_set("lineage", &T::lineage, kLineage));
}
Json to_json(const Facts& facts) { return json::write(facts); }
Result<Facts> facts_from_json(const Json& json) { return json::read<Facts>(json); }

}  // namespace assay::policy
