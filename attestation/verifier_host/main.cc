// SPDX-License-Identifier: Apache-2.0
// assay-verifier-host: runs a verifier plug-in for assayd and assay, which start it. It takes no
// arguments: descriptors 3 and 4 are its input (attestation/plugin/wire.h).
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <initializer_list>
#include <sys/prctl.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "attestation/plugin/wire.h"
#include "attestation/verifier_host/host.h"

namespace {

// What plug-ins with cryptography need of libcrypto is made ready once, and each child has it. No
// configuration is read: it could name libraries to load.
void prepare_crypto() {
  (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
  for (const char* name : {"SHA256", "SHA384", "SHA512"}) {
    EVP_MD_free(EVP_MD_fetch(nullptr, name, nullptr));
  }
}

}  // namespace

int main() {
  namespace plugin = assay::attestation::plugin;
  if (::fcntl(plugin::kHostSocket, F_GETFD) < 0 || ::fcntl(plugin::kHostPlugin, F_GETFD) < 0) {
    std::fputs("assay-verifier-host is started by assayd and assay\n", stderr);
    return 2;
  }
  (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  (void)std::signal(SIGPIPE, SIG_IGN);
  prepare_crypto();
  return assay::attestation::verifier_host::serve(plugin::kHostSocket, plugin::kHostPlugin);
}
