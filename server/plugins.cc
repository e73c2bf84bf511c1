// SPDX-License-Identifier: Apache-2.0
#include "server/plugins.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <utility>

#include "attestation/plugin/plugin_verifier.h"
#include "schemas/core/json.h"
#include "schemas/core/sha.h"
#include "server/thread_shares.h"

namespace assay::server {
namespace {

using attestation::plugin::kVerifiersMark;

// The name of the mark for exactly these plug-ins, in whatever order they are configured.
Result<std::string> mark_of(const Config& config) {
  std::set<Json> plugins;
  for (const PluginConfig& plugin : config.plugins) {
    plugins.insert(Json::array({plugin.type, plugin.media_type, plugin.sha256}));
  }
  ASSAY_ASSIGN(const std::string text, canonical_json(Json(plugins)));
  return std::string(kVerifiersMark) + "/" + sha256(as_bytes(text)).hex();
}

}  // namespace

Result<attestation::VerifierRegistry> load_verifiers(const Config& config,
                                                     std::uint64_t generation) {
  attestation::VerifierRegistry verifiers;
  const auto under_way = std::make_shared<std::atomic<std::size_t>>(0);  // of all plug-ins
  for (const PluginConfig& plugin : config.plugins) {
    ASSAY_ASSIGN(const Digest pin, Digest::parse(plugin.sha256));
    attestation::plugin::HostOptions options;
    options.program = config.plugin_host.empty() ? attestation::plugin::default_host_program()
                                                 : config.plugin_host;
    options.deadline = plugin.deadline;
    options.max_calls = thread_shares(config.limits.worker_threads, true).plugins;
    options.under_way = under_way;
    ASSAY_ASSIGN(auto verifier, attestation::plugin::load_plugin_verifier(
                                    {plugin.type, plugin.media_type, generation}, plugin.path, pin,
                                    std::move(options)));
    if (!verifiers.add(std::move(verifier))) {
      return fail(ErrorCode::kInvalidConfig,
                  "there are two verifiers for the type " + plugin.type + " or for its media type",
                  "/attestation/plugins");
    }
  }
  return verifiers;
}

Result<std::uint64_t> note_plugins(const Config& config, storage::Store& store) {
  ASSAY_ASSIGN(const std::string mark, mark_of(config));
  std::uint64_t newest = 0;
  std::uint64_t own = 0;
  {
    ASSAY_ASSIGN(const auto snapshot, store.snapshot());
    ASSAY_ASSIGN(newest, snapshot->high_water(std::string(kVerifiersMark)));
    ASSAY_ASSIGN(own, snapshot->high_water(mark));
  }
  if (own == newest && (newest > 0 || config.plugins.empty())) {
    return newest;
  }
  const std::uint64_t next = newest + 1;
  const auto note = [&](storage::Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.raise_high_water(mark, next, std::nullopt));
    return transaction.raise_high_water(std::string(kVerifiersMark), next, std::nullopt);
  };
  ASSAY_TRY(store.write(note));
  return next;
}

}  // namespace assay::server
