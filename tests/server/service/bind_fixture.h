// SPDX-License-Identifier: Apache-2.0
// A service with a node that enrolled and verified a model, a policy that asks for both, and the
// reviews that the API server sends on a pod's way to its node.
#pragma once

#include "server/service/admission.h"
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
  void put(storage::NodeRow row);
  void put(storage::JobRow row);

  // Puts a policy in force.
  void put_policy(const Json& document);
  static Json bind_policy();

  // Reviews of the creation of pod llm-0 (namespace inference, one GPU) with this uid, and of its
  // binding.
  static Json pod_review(const std::string& uid, const std::string& model,
                         const std::string& claim = "good");
  static Json binding_review(const std::string& uid, const std::string& node = "gpu-1");
  Json ask(const Json& review_json, AdmissionCall call = AdmissionCall::kValidate);
  static Json patch_of(const Json& response);

  // Creates the pod and binds it: the answer to the binding.
  Json create_and_bind(const std::string& node = "gpu-1");
  // Stored decision that an answer cites, as its payload.
  Json decision_of(const Json& response);

  Manifest model_ = manifest("good");

 private:
  DocumentId document(const std::string& text);

  std::uint64_t policy_epoch_ = 0;
  std::uint64_t jobs_ = 0;
};

}  // namespace assay::server::test
