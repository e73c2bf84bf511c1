// SPDX-License-Identifier: Apache-2.0
// SHA-512 against FIPS 180-4 examples, HMAC-SHA-256 against RFC 4231.
#include "schemas/core/hmac.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Sha512, KnownMessages) {
  EXPECT_EQ(hex_encode(sha512({})),
            "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
            "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e");
  const std::string abc =
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
      "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";
  EXPECT_EQ(hex_encode(sha512({as_bytes("abc")})), abc);
  EXPECT_EQ(hex_encode(sha512({as_bytes("a"), as_bytes(""), as_bytes("bc")})), abc);
}

TEST(HmacSha256, KnownMessages) {
  EXPECT_EQ(hmac_sha256(Bytes(20, 0x0b), {as_bytes("Hi There")}).hex(),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(
      hmac_sha256(as_bytes("Jefe"), {as_bytes("what do ya want "), as_bytes("for nothing?")}).hex(),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_sha256(Bytes(131, 0xaa),
                        {as_bytes("Test Using Larger Than Block-Size Key - Hash Key First")})
                .hex(),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(HmacSha256, EmptyKeyAndMessage) {
  EXPECT_EQ(hmac_sha256({}, {}).hex(),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

}  // namespace
}  // namespace assay
