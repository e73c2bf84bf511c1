// SPDX-License-Identifier: Apache-2.0
// The pods of this node at the Kubernetes API server, as far as the node agent needs them: which
// have the readiness gate `assay.dev/verified`, and what their condition of this type says.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "client/http_client.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::worker {

// The type of the condition, and of the readiness gate that waits for it.
inline constexpr const char* kVerifiedCondition = "assay.dev/verified";
// More pods of one node with the gate are not looked at: the kubelet runs fewer.
inline constexpr std::size_t kMaxGatedPods = 1024;

struct PodCondition {
  std::string status;   // "True", "False"; another node agent may have written anything
  std::string reason;   // a word in CamelCase
  std::string message;  // for people; of True: the id of the decision
  bool operator==(const PodCondition&) const = default;
};

struct GatedPod {
  std::string uid;
  std::string name;
  std::string name_space;
  std::optional<PodCondition> shown{};  // absent: nobody set the condition
};

// Reads the answer to a list of pods. Leaves out pods of another node, without the gate, or that
// ended. Errors: schema-violation for what is no list of pods; limit-exceeded; those of
// parse_foreign_json().
[[nodiscard]] Result<std::vector<GatedPod>> gated_pods(ByteView list, const std::string& node);

// Returns the strategic merge patch of pods/status that sets the condition. `since`: when its
// status changed; absent: it did not. The API server refuses the patch for a pod of the same name
// with another uid.
[[nodiscard]] std::string condition_patch(const GatedPod& pod, const PodCondition& condition,
                                          std::optional<Timestamp> since);

class PodApi {
 public:
  virtual ~PodApi() = default;
  [[nodiscard]] virtual Result<std::vector<GatedPod>> pods() = 0;
  // Sets the condition. Errors: conflict or not-found when the pod is another one or gone.
  [[nodiscard]] virtual Status set(const GatedPod& pod, const PodCondition& condition,
                                   std::optional<Timestamp> since) = 0;
};

// The API server of a cluster. Reads the token of `connection` for each request, since the kubelet
// renews it.
class ClusterPods final : public PodApi {
 public:
  ClusterPods(client::Caller caller, client::Connection connection, std::string node,
              std::stop_token stop)
      : caller_(std::move(caller)),
        connection_(std::move(connection)),
        node_(std::move(node)),
        stop_(std::move(stop)) {}

  [[nodiscard]] Result<std::vector<GatedPod>> pods() override;
  [[nodiscard]] Status set(const GatedPod& pod, const PodCondition& condition,
                           std::optional<Timestamp> since) override;

 private:
  [[nodiscard]] Result<client::HttpResponse> send(client::HttpRequest request);

  client::Caller caller_;
  client::Connection connection_;
  std::string node_;
  std::stop_token stop_;
};

}  // namespace assay::worker
