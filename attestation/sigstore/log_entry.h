// SPDX-License-Identifier: Apache-2.0
// Whether a log has an entry: the promise (SET) of Rekor v1, and the inclusion proof with its
// checkpoint. What the entry is about is entry_body.h's concern.
// Source: https://github.com/sigstore/architecture-docs, client-spec.md section 4.2.2 and
// rekor-v2-spec.md
#pragma once

#include <optional>
#include <span>

#include "attestation/sigstore/bundle.h"
#include "attestation/sigstore/trusted_root.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::attestation::sigstore {

struct ProvenEntry {
  const Log* log;  // of the trusted root
  // When the log took the entry; nothing unless a promise proves it.
  std::optional<Timestamp> integrated;
};

// Returns true for the entries of Rekor v2, which have neither promise nor time.
[[nodiscard]] bool is_rekor2(const LogEntry& entry);

// Verifies the promise of an entry and its proof, whichever are there, by the log of `logs` that
// has the entry's log id. Whether the log counts at that time is the caller's concern, as an entry
// without a promise has none. Errors: log-untrusted; log-entry-missing when there is neither
// promise nor proof; malformed-bundle for an entry of Rekor v2 with a promise, a time or another
// index than its proof, and for one with a promise and no time; signature-invalid; proof-invalid;
// those of parse_log_checkpoint() and verify_log_checkpoint().
[[nodiscard]] Result<ProvenEntry> verify_log_entry(const LogEntry& entry,
                                                   std::span<const Log> logs);

}  // namespace assay::attestation::sigstore
