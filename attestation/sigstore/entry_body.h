// SPDX-License-Identifier: Apache-2.0
// Whether the body of a log entry is about this signature, this signer and these bytes.
// Source: https://github.com/sigstore/rekor/tree/main/pkg/types;
// https://github.com/sigstore/rekor-tiles/tree/main/api/proto
#pragma once

#include "attestation/sigstore/artifact.h"
#include "attestation/sigstore/bundle.h"
#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::attestation::sigstore {

// What the entry must name: the certificate of the signer in DER, or the key as
// SubjectPublicKeyInfo.
struct SignerDer {
  ByteView der;
  bool is_certificate;
};

// Checks the body of an entry against signature, signer and digest. Kinds: hashedrekord 0.0.1 and
// 0.0.2 for a message signature (`artifact` must be there then); dsse 0.0.1 and 0.0.2, intoto 0.0.2
// and hashedrekord 0.0.2 (over the pre-authentication encoding) for an envelope. Kind and version
// are those that the bundle names, too. Errors: log-entry-mismatch, also for a body that cannot be
// read and for another kind.
[[nodiscard]] Status check_entry_body(const LogEntry& entry, const Bundle& bundle,
                                      const SignerDer& signer, const Artifact* artifact);

}  // namespace assay::attestation::sigstore
