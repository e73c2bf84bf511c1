// SPDX-License-Identifier: Apache-2.0
// A verifier plug-in as an EvidenceVerifier.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "attestation/evidence_verifier.h"
#include "attestation/plugin/host.h"

namespace assay::attestation::plugin {

// The high-water mark that evidence verified by plug-ins has: the number of the set of plug-ins
// that a service has. With another set, such evidence is stale.
inline constexpr std::string_view kVerifiersMark = "verifiers";

struct PluginSettings {
  std::string type;              // of evidence; kebab-case
  std::string media_type;        // of that evidence
  std::uint64_t generation = 0;  // for kVerifiersMark; 0: the evidence has no such mark
};

// Makes a verifier for one type of evidence of the plug-in that `host` calls. `file_sha256` is the
// digest of the plug-in: the anchor of all that it verifies.
//
// The verifier, not the plug-in, decides about reference values (
// schemas/json/plugin-policy.schema.json), about the end of validity, and about what the evidence
// is called. appraise() waits for the plug-in. Errors of appraise(): those of Host::call(), and
// verifier-failed for an answer that is none.
[[nodiscard]] std::unique_ptr<const EvidenceVerifier> make_plugin_verifier(
    PluginSettings settings, const Digest& file_sha256, std::unique_ptr<Host> host);

// Loads the pinned plug-in in `path` and makes a verifier of it. The host is started at the first
// call. Errors: plugin-unusable.
[[nodiscard]] Result<std::unique_ptr<const EvidenceVerifier>> load_plugin_verifier(
    PluginSettings settings, const std::string& path, const Digest& pin, HostOptions options);

}  // namespace assay::attestation::plugin
