// SPDX-License-Identifier: Apache-2.0
// Timestamps of RFC 3161: an authority signs that bytes were there at a time.
#pragma once

#include <span>
#include <string>

#include "attestation/sigstore/trusted_root.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::attestation::sigstore {

struct VerifiedTimestamp {
  Timestamp time;         // genTime, in whole seconds
  std::string authority;  // its uri
};

// Verifies a TimeStampResp in DER over `message` by one of `authorities` whose validity contains
// the time of the timestamp. The certificate of the authority must be the one that the trusted root
// names; where the root names CAs alone, one that came with the timestamp, under a path of the
// root's certificates. That path is judged at the time of the timestamp, for the purpose
// timeStamping. Hashes are SHA-256, SHA-384 or SHA-512. Errors: timestamp-invalid.
[[nodiscard]] Result<VerifiedTimestamp> verify_timestamp(ByteView response, ByteView message,
                                                         std::span<const Authority> authorities);

}  // namespace assay::attestation::sigstore
