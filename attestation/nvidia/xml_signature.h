// SPDX-License-Identifier: Apache-2.0
// The one form of XML signature that RIMs have: enveloped, ECDSA P-384 with SHA-384 over Canonical
// XML 1.1 of the whole document (W3C XML Signature 1.1; RFC 6931 section 2.3.6). libxmlsec1
// verifies it, with a key that was found before, and never looks for one. Internal to this folder.
#pragma once

#include <string>
#include <vector>

#include <libxml/tree.h>

#include "attestation/nvidia/error.h"
#include "attestation/x509/certificate.h"
#include "schemas/core/bytes.h"

namespace assay::attestation::nvidia {

inline constexpr std::size_t kMaxRimCertificates = 8;

// The parts of a signature whose form was checked.
struct XmlSignature {
  xmlNode* element;                             // borrowed from the document
  std::vector<x509::Certificate> certificates;  // of its X509Data, in their order
};

// Finds the one Signature of the document, a child of the root, and checks that it has exactly the
// elements and attributes of this form, with the algorithms of this form. Errors:
// RIM_SIGNATURE_FORM.
[[nodiscard]] Checked<XmlSignature> read_signature(xmlNode* root);

// Verifies the signature with the key of `leaf`. Returns the canonical bytes over which the digest
// was taken: nothing else of the document is signed. Errors: RIM_SIGNATURE.
[[nodiscard]] Checked<Bytes> verified_bytes(const XmlSignature& signature,
                                            const x509::Certificate& leaf);

}  // namespace assay::attestation::nvidia
