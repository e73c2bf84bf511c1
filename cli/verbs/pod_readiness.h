// SPDX-License-Identifier: Apache-2.0
// The part of `assay worker run` that sets conditions of pods (worker/readiness.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "worker/parts.h"
#include "worker/readiness.h"
#include "worker/service.h"

namespace assay::cli {

struct ReadinessOptions {
  std::string cluster;  // name of the cluster's principal; empty: no conditions are set
  std::string server;   // these three: empty as a pod finds them
  std::string ca;
  std::string token_file;
  std::optional<std::uint64_t> period{};  // seconds
  std::optional<std::uint64_t> hold{};    // seconds
};

void add_readiness_options(const Command& verb, ReadinessOptions& options);
// Checks the options. Errors: usage.
[[nodiscard]] Status check(const ReadinessOptions& options);

// Sets conditions from its creation to its destruction.
struct PodReadiness {
  PodReadiness(const Context& context, const ReadinessOptions& options, const worker::Parts& parts,
               worker::Service sender);

  worker::Service service;  // for decisions alone
  worker::ClusterPods pods;
  worker::Readiness rules;
  worker::ReadinessLoop loop;  // last: it uses the others
};
// Returns null when the options name no cluster. Errors: those of HttpClient::open for the token
// and the certificate.
[[nodiscard]] Result<std::unique_ptr<PodReadiness>> open_pod_readiness(
    const Context& context, const ReadinessOptions& options, const worker::Parts& parts,
    worker::Service service);

}  // namespace assay::cli
