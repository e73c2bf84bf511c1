// SPDX-License-Identifier: Apache-2.0
// Receipts in COSE (RFC 9942) for our log: a proof of inclusion of RFC 9162 with SHA-256, in the
// unprotected header of a COSE_Sign1 over the root, which is its detached payload.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/keys.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/core/signer.h"

namespace assay::attestation::scitt {

inline constexpr std::string_view kReceiptMediaType = "application/scitt-receipt+cose";

// Header parameters, and the values that receipts of our log have.
inline constexpr std::int64_t kProofType = 395;       // vds
inline constexpr std::int64_t kProofs = 396;          // vdp, unprotected
inline constexpr std::int64_t kRfc9162Sha256 = 1;     // of vds
inline constexpr std::int64_t kInclusionProofs = -1;  // of vdp

struct InclusionProof {
  std::uint64_t tree_size = 0;
  std::uint64_t leaf_index = 0;
  std::vector<Digest> path;  // SHA-256
};

// Makes a receipt of the log `origin`, which is its claim iss. `root` is that of the tree, which
// the caller knows to be the log's. Errors: proof-invalid when the proof does not lead from `leaf`
// to `root`; those of cose::sign1().
[[nodiscard]] Result<Bytes> make_receipt(std::string_view origin, const InclusionProof& proof,
                                         const Digest& leaf, const Digest& root,
                                         const Signer& log_key);

// A receipt that was verified. The signature covers root and issuer. RFC 9942 leaves tree size and
// index unsigned, and a tree of another size can have a path of the same form: they tell where to
// look, and prove nothing beyond the root.
struct VerifiedReceipt {
  std::string issuer;
  std::uint64_t tree_size = 0;
  std::uint64_t leaf_index = 0;
  Digest root;
};

// Verifies that the log with `key` signed a tree that has `leaf`. Errors: malformed-cose,
// malformed-cbor; proof-invalid; signature-invalid.
[[nodiscard]] Result<VerifiedReceipt> verify_receipt(ByteView receipt, const Digest& leaf,
                                                     const PublicKey& key);

}  // namespace assay::attestation::scitt
