// SPDX-License-Identifier: Apache-2.0
// Calls a plug-in in the processes of assay-verifier-host.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "attestation/evidence_verifier.h"
#include "attestation/plugin/plugin_file.h"

namespace assay::attestation::plugin {

struct HostOptions {
  std::string program;                        // path of assay-verifier-host
  std::chrono::milliseconds deadline{2'000};  // of one call; then its process is killed
  // How much longer than the deadline an answer is waited for. The host ends the process at the
  // deadline; a host that does not is broken itself.
  std::chrono::milliseconds grace{5'000};
  std::size_t max_calls = 8;  // at a time; another one is turned away
  // The calls under way, which several hosts may count together; null: each counts its own.
  std::shared_ptr<std::atomic<std::size_t>> under_way = nullptr;
};

// What one call hands to the plug-in. Borrowed.
struct PluginCall {
  std::string_view type;
  std::string_view media_type;
  Purpose purpose;
  std::int64_t now;  // seconds since 1970
  ByteView report_data;
  ByteView evidence;
  ByteView event_log;
  std::string_view endorsements;  // JSON
  std::string_view policy;        // JSON
};

// The host of one plug-in. Starts its process at the first call, and again when it has ended.
// Thread-safe.
class Host {
 public:
  // Keeps the plug-in; it is not read again.
  [[nodiscard]] static std::unique_ptr<Host> make(PluginFile file, HostOptions options);
  virtual ~Host() = default;

  // Returns the bytes that the plug-in answered, of which nothing is known but that they are at
  // most kMaxAnswerBytes. Waits up to the deadline. Errors: verifier-failed when the plug-in
  // crashed, took too long, cannot be loaded or did not decide; limit-exceeded for a request of
  // more than kMaxRequestBytes; unavailable when too many calls are under way, or the host cannot
  // be started.
  [[nodiscard]] virtual Result<Bytes> call(const PluginCall& call) = 0;
};

// Returns the path of assay-verifier-host beside the program that runs now.
[[nodiscard]] std::string default_host_program();

}  // namespace assay::attestation::plugin
