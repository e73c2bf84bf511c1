// SPDX-License-Identifier: Apache-2.0
// PKCS#11 URIs: what is read names the same key when it is written and read again.
#include <cstdlib>

#include "attestation/pkcs11/uri.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  namespace pkcs11 = attestation::pkcs11;
  auto uri = pkcs11::parse_uri(as_text(ByteView(data, size)));
  if (!uri) {
    return 0;
  }
  uri->module_path.clear();  // not in the path of the URI
  uri->pin_source.clear();
  const auto again = pkcs11::parse_uri(pkcs11::path_of(*uri));
  if (pkcs11::path_of(*uri).size() <= pkcs11::kMaxUri && (!again || *again != *uri)) {
    std::abort();
  }
  return 0;
}
