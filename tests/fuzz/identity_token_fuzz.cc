// SPDX-License-Identifier: Apache-2.0
// ServiceAccount tokens under a key that signed one alone, corpus/identity_token/good.txt: of all
// other bytes none is accepted, whatever is made of them.
#include "attestation/identity_token.h"

#include <cstdlib>

#include "schemas/core/sha.h"

namespace {

using namespace assay;

const ServiceAccountIssuer& issuer() {
  static const ServiceAccountIssuer kIssuer{
      "https://kube",
      "system:serviceaccount:a:b",
      {{"keys",
        {{{"kty", "EC"},
          {"kid", "fuzz"},
          {"crv", "P-256"},
          {"x", "-evkZBR8wQLZIyTQmdknwaUOQtV6CKEW_-wKKYGdjGU"},
          {"y", "cLr30SiIkCpqDB1nrdEDEjyFmrab-OlDHJOEkw1Lfu4"}}}}}};
  return kIssuer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string kGood =
      "a81d868597a4aae173cdf94492297a1e76ddefdbfd6708a4d008dc31e172c532";
  const ByteView bytes(data, size);
  const Timestamp now{std::chrono::seconds(1'900'000'001)};
  const auto node = attestation::verify_identity_token(as_text(bytes), issuer(), "fuzz/log", now);
  if (node.has_value() != (sha256(bytes).hex() == kGood)) {
    std::abort();
  }
  return 0;
}
