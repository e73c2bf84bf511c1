// SPDX-License-Identifier: Apache-2.0
// A service with a node that enrolled and verified a model, a policy that asks for both, and the
// reviews that the API server sends on a pod's way to its node.
#pragma once

#include "server/service/kubernetes/admission.h"
#include "tests/server/service/fixture.h"

namespace assay::server::test {

class BindTest : public ServiceTest {
 protected:
  // Policy in force: published, evidence and a verified report at most an hour old, labels of the
  // node. gpu-1 enrolled and verified `model_` just now.
  BindTest();

  // Rows as they are written after a real enrolment or report; each changes one thing.
  storage::NodeRow node_row(const std::string& name = "gpu-1") const;
  storage::JobRow report_row(const ArtifactId& artifact, const std::string& node = "gpu-1");
  // What a measured node or report stands on, accepted and current.
  storage::EvidenceRow evidence_row(const std::string& subject, const storage::NodeRow& node) const;
  // With their evidence, when they are measured.
  void put(storage::NodeRow row);
  void put(storage::JobRow row);
  // What the API server said of a claim in the namespace of the reviews.
  void put_claim(const std::string& name, const std::string& volume,
                 const std::string& cluster = "kube-apiserver");

  // Puts a policy in force.
  void put_policy(const Json& document);
  static Json bind_policy();

  // Reviews of the creation of pod llm-0 (namespace inference, one GPU) with this uid, and of its
  // binding.
  static Json pod_review(const std::string& uid, const std::string& model,
                         const std::string& claim = "good");
  static Json binding_review(const std::string& uid, const std::string& node = "gpu-1");
  // Reviews of an update of that pod, and of one of its claims.
  static Json update_review(const Json& before, const Json& after);
  static Json claim_review(const std::string& operation, const std::string& uid,
                           const std::string& volume);
  Json ask(const Json& review_json, AdmissionCall call = AdmissionCall::kValidate,
           const std::string& cluster = "kube-apiserver");
  static bool denied_with(const Json& response, std::string_view code);
  // The row of a pod that is known; nothing otherwise.
  std::optional<storage::PodRow> pod_row(const std::string& uid = "uid-1",
                                         const std::string& cluster = "kube-apiserver");
  void revoke(const TestKey& key);
  void change_trust(std::vector<TrustOperation> operations);
  static Json patch_of(const Json& response);

  // Creates the pod and binds it: the answer to the binding.
  Json create_and_bind(const std::string& node = "gpu-1");
  // Stored decision that an answer cites, as its payload.
  Json decision_of(const Json& response);

  Manifest model_ = manifest("good");
  Timestamp held_since_ = clock_.now();  // of every node: the same machines all the time

 private:
  DocumentId document(const std::string& text);

  std::uint64_t policy_epoch_ = 0;
  std::uint64_t trust_epoch_ = 0;
  std::uint64_t jobs_ = 0;
};

}  // namespace assay::server::test
