// SPDX-License-Identifier: Apache-2.0
// Results of an outside verifier whose key signed one alone, corpus/ear/good.txt: what is accepted
// has the header and the claims of that one, whatever its signature looks like.
#include <cstdlib>

#include "attestation/outside_verifier.h"
#include "schemas/core/sha.h"
#include "schemas/report_data.h"

namespace {

using namespace assay;
using namespace assay::attestation;

struct World {
  OutsideVerifier verifier =
      parse_outside_verifier({{"issuer", "v"},
                              {"profile", "tag:ietf.org,2026:rats/ear#04"},
                              {"algorithm", "ES256"},
                              {"jwks",
                               {{"keys",
                                 {{{"kty", "EC"},
                                   {"kid", "v"},
                                   {"crv", "P-256"},
                                   {"x", "ded21cSj0VSWp49zof6bA56brq3OQC2PQxj2Jz2XHr4"},
                                   {"y", "xHi1mBS_nZUm4UIvHa7l9PkiK9MdyqNjW8jEdV3FQAY"}}}}}},
                              {"submods", {"cpu"}},
                              {"report_data", "/submods/cpu/ear_attester_claims/report_data"}})
          .value();
  Digest key = sha256(as_bytes("key"));
  Digest request = sha256(as_bytes("request"));
  ReportDataBytes expected;
  World() {
    Nonce nonce{};
    nonce.fill(7);
    expected = report_data_of(kChallengeDomains[0], {nonce, key, request});
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const World world;
  // SHA-256 of header and claims.
  static const std::string kSigned =
      "87cd3f2af1898f7079eef972d9251a2c4082dde63a7496e6dae75bc24e45e8be";
  const std::string token(as_text(ByteView(data, size)));
  const Timestamp now{std::chrono::seconds(1'900'000'001)};
  const EarVerdict verdict =
      verify_outside_ear({token, world.key, world.request}, world.verifier, world.expected, now);
  const std::string covered = token.substr(0, token.rfind('.'));
  if (verdict.error.empty() && sha256(as_bytes(covered)).hex() != kSigned) {
    std::abort();
  }
  if (const auto evidence = parse_ear_evidence(ByteView(data, size))) {
    if (parse_ear_evidence(as_bytes(to_json(*evidence).dump()))->token != evidence->token) {
      std::abort();
    }
  }
  if (const auto policy = parse_json(token)) {
    static_cast<void>(parse_outside_verifier(*policy));
  }
  return 0;
}
