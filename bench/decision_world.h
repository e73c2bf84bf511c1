// SPDX-License-Identifier: Apache-2.0
// One service over one database, with a model, its signers and a policy in force.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/signing.h"
#include "schemas/core/sha.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"
#include "schemas/policy_document.h"
#include "server/service/decisions/decide.h"
#include "server/service/documents/accept.h"
#include "server/service/governance/policies.h"
#include "server/service/jobs/precedence.h"
#include "storage/store.h"

namespace assay::bench {

inline constexpr std::size_t kPerSigner = 250;  // statements; the limit is 256

// One service over one database, and everybody who signs.
class World {
 public:
  World(const std::string& folder, std::uint64_t entries, std::size_t signers)
      : folder_(folder),
        publisher_(make_key(assay::KeyPurpose::kPublisher, "release",
                            {{"*", std::string(assay::kManifestPredicateType), "acme"}},
                            clock_.now())),
        author_(make_key(assay::KeyPurpose::kAuthor, "paula", {}, clock_.now())),
        approver_(make_key(assay::KeyPurpose::kApprover, "quentin", {}, clock_.now())) {
    std::filesystem::create_directories(folder);
    log_key_ = must(assay::attestation::generate_key(assay::SignatureAlgorithm::kEd25519));
    service_key_ = must(assay::attestation::generate_key(assay::SignatureAlgorithm::kEd25519));
    for (std::size_t i = 0; i < signers; ++i) {
      signers_.push_back(make_key(assay::KeyPurpose::kSigner, "signer-" + std::to_string(i),
                                  {role("*")}, clock_.now()));
    }
    model_.name = "acme/demo";
    for (std::uint64_t i = 0; i < entries; ++i) {
      char path[32];
      std::snprintf(path, sizeof(path), "part-%08llu", static_cast<unsigned long long>(i));
      model_.artifact.entries.push_back(
          assay::FileEntry{path, 4096, assay::sha256(assay::as_bytes(std::string(path)))});
    }
    open();
    trust();
    put_policy();
  }
  ~World() {
    services_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  void open() {
    services_.reset();
    store_.reset();
    assay::storage::SqliteOptions options;
    options.rules = &assay::server::kReportRules;
    options.path = folder_ + "/assay.db";
    options.create = true;
    options.origin = "bench.example.com/log";
    options.anchor_path = folder_ + "/anchor";
    store_ = must(assay::storage::open_sqlite(options, *log_key_, clock_));
    services_.reset(new assay::server::Services{*store_, *service_key_, clock_, random_,
                                                "bench.example.com/log"});
  }
  // Of the closed database.
  std::uintmax_t file_bytes() {
    services_.reset();
    store_.reset();
    const auto bytes = std::filesystem::file_size(folder_ + "/assay.db");
    open();
    return bytes;
  }
  void add_manifest(std::size_t number) {
    model_.locations = {"pvc://inference/place-" + std::to_string(number)};
    const auto payload = must(assay::encode_statement(must(assay::to_statement(model_))));
    must(assay::server::accept_manifest(
        *services_, sign(assay::kStatementPayloadType, payload, publisher_), actor_));
  }
  // Every second one an evaluation that is as required, the others approvals.
  void add_statement(std::size_t number) {
    assay::Lifecycle lifecycle;
    lifecycle.stage = number % 2 == 0 ? "evaluate" : "approve";
    lifecycle.comment = "statement " + std::to_string(number);
    if (number % 2 == 0) {
      lifecycle.metrics["accuracy"] = {0.95, "1"};
    }
    add_lifecycle(lifecycle, must(artifact()), number / kPerSigner);
  }
  assay::StatementId add_lifecycle(const assay::Lifecycle& lifecycle,
                                   const assay::ArtifactId& about, std::size_t signer) {
    const Subject subject{model_.name, {{std::string(about.digest_name()), about.root().hex()}}};
    const auto payload = must(encode_statement(must(to_statement(lifecycle, {subject}))));
    return must(assay::server::accept_attestation(
                    *services_, sign(assay::kStatementPayloadType, payload, signers_.at(signer)),
                    actor_))
        .row.id;
  }
  // Puts a policy in force.
  void activate(const assay::Json& document) {
    const auto payload = must(assay::canonical_json(document));
    const auto accepted = must(assay::server::accept_policy(
        *services_, sign(assay::kPolicyPayloadType, payload, author_), actor_));
    const assay::PolicyApproval approval{assay::PolicyApproval::Action::kActivate, accepted.row.id,
                                         ++policies_};
    must(assay::server::apply_policy_approval(
        *services_, approval.action, accepted.row.id,
        sign(assay::kPolicyApprovalPayloadType, must(assay::canonical_json(to_json(approval))),
             approver_),
        actor_));
  }
  assay::server::Services& services() { return *services_; }
  [[nodiscard]] assay::Timestamp now() const { return clock_.now(); }
  [[nodiscard]] const Key& signer(std::size_t number) const { return signers_.at(number); }
  [[nodiscard]] const assay::Principal& actor() const { return actor_; }
  assay::ArtifactId model() { return must(artifact()); }
  assay::server::DecisionAnswer decide(bool good, bool dry_run, std::size_t number,
                                       const std::string& volume = "model") {
    assay::server::DecisionRequest request{
        .point = assay::DecisionPoint::kCreate,
        .models = {must(artifact()).text()},
        .workload = {"inference", {{"pod-template-hash", std::to_string(number)}}, {"gpu"}},
        .context = {{"via", "admission-validate"},
                    {"uid", "0198f0a2-7c3e-7bbb-8123-" + std::to_string(100'000'000'000 + number)},
                    {"kind", "Pod"},
                    {"namespace", "inference"},
                    {"name", "server-" + std::to_string(number)},
                    {"operation", "CREATE"},
                    {"user", "system:serviceaccount:kube-system:replicaset-controller"},
                    {"principal", "cluster-a"}},
        .principal = "cluster-a",
        .dry_run = dry_run};
    request.workload.pod = true;
    request.workload.images = {{"server", "registry.example/server@sha256:0", false}};
    request.workload.mounts = {{.container = "server",
                                .path = "/models",
                                .volume = volume,
                                .source = "persistentVolumeClaim",
                                .location = good ? "pvc://inference/place-0" : "pvc://x/elsewhere",
                                .read_only = true}};
    auto answer = must(assay::server::decide(*services_, request));
    if (answer.decision->verdict.allowed != good) {
      std::fprintf(stderr, "%s\n", to_json(answer.decision->verdict).dump(1).c_str());
      stop({assay::ErrorCode::kInternal, "the verdict is not the expected one", {}});
    }
    return answer;
  }

 private:
  assay::Result<assay::ArtifactId> artifact() {
    if (!id_) {
      ASSAY_ASSIGN(id_, assay::artifact_id(model_.artifact));
    }
    return *id_;
  }
  void trust() {
    const auto work = [&](assay::storage::Transaction& transaction) -> assay::Status {
      for (const Key* key : {&publisher_, &author_, &approver_}) {
        ASSAY_TRY(transaction.put_key(key->record));
      }
      for (const Key& key : signers_) {
        ASSAY_TRY(transaction.put_key(key.record));
      }
      return {};
    };
    must(store_->write(work));
  }
  void put_policy() {
    const std::string type(assay::kLifecyclePredicateType);
    const assay::Json document = {
        {"name", "gpu-models"},
        {"version", 1},
        {"mode", "enforce"},
        {"match", {{"resources", {"gpu"}}}},
        {"require",
         {{{"id", "published"}, {"manifest", {{"signers", {{"at_least", 1}}}}}},
          {{"id", "evaluated"},
           {"statement",
            {{"predicate_type", type},
             {"stage", "evaluate"},
             {"quantifier", "every"},
             {"where", {{{"pointer", "/metrics/accuracy/value"}, {"op", ">="}, {"value", 0.9}}}}}}},
          {{"id", "approved"},
           {"statement",
            {{"predicate_type", type}, {"stage", "approve"}, {"signers", {{"at_least", 1}}}}}}}}};
    activate(document);
  }

  assay::SystemClock clock_;
  assay::SystemRandom random_;
  std::string folder_;
  Key publisher_;
  Key author_;
  Key approver_;
  std::vector<Key> signers_;
  std::unique_ptr<assay::Signer> log_key_;
  std::unique_ptr<assay::Signer> service_key_;
  assay::Manifest model_;
  std::optional<assay::ArtifactId> id_;
  std::uint64_t policies_ = 0;  // put in force so far
  std::unique_ptr<assay::storage::Store> store_;
  std::unique_ptr<assay::server::Services> services_;
  assay::Principal actor_{"bench", {}, {}, {}};
};

}  // namespace assay::bench
