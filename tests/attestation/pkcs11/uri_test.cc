// SPDX-License-Identifier: Apache-2.0
// PKCS#11 URIs: what names a key, and what is refused because it could name another one.
#include "attestation/pkcs11/uri.h"

#include <gtest/gtest.h>

#include "tests/support/vectors.h"

namespace assay::attestation::pkcs11 {
namespace {

using assay::test::code_of;

TEST(Pkcs11Uri, EachAttribute_IsRead) {
  const auto uri = parse_uri(
      "pkcs11:token=Release%20Keys;manufacturer=Acme%3b;model=M1;serial=00ab;object=k:1;id=%01%fF"
      "a;type=private?module-path=/usr/lib/x.so&pin-source=file:/run/pin");
  ASSERT_TRUE(uri) << uri.error().detail;
  const Uri expected{.token = "Release Keys",
                     .manufacturer = "Acme;",
                     .model = "M1",
                     .serial = "00ab",
                     .object = "k:1",
                     .id = Bytes{0x01, 0xff, 'a'},
                     .module_path = "/usr/lib/x.so",
                     .pin_source = "/run/pin"};
  EXPECT_EQ(*uri, expected);
  EXPECT_EQ(path_of(*uri),
            "pkcs11:token=Release%20Keys;manufacturer=Acme%3b;model=M1;serial=00ab;object=k%3a1;"
            "id=%01%ffa");
  EXPECT_EQ(parse_uri(path_of(*uri))->id, expected.id);
}

TEST(Pkcs11Uri, PinSource_IsAFile) {
  for (const char* source : {"/run/pin", "file:/run/pin", "file:///run/pin"}) {
    EXPECT_EQ(parse_uri(std::string("pkcs11:id=1?pin-source=") + source)->pin_source, "/run/pin");
  }
}

TEST(Pkcs11Uri, WhatIsNotUsedHere_IsRefused) {
  for (const std::string& text :
       std::initializer_list<std::string>{"",
                                          "pkcs11",
                                          "pkcs11:",
                                          "PKCS11:object=a",
                                          "pkcs11:token=a",
                                          "pkcs11:object=",
                                          "pkcs11:object",
                                          "pkcs11:object=a;",
                                          "pkcs11:;object=a",
                                          "pkcs11:object=a;object=b",
                                          "pkcs11:object=a;token=b;token=b",
                                          "pkcs11:object=a;slot-id=1",
                                          "pkcs11:object=a;library-version=2",
                                          "pkcs11:object=a;x-vendor=1",
                                          "pkcs11:object=a;Token=b",
                                          "pkcs11:object=a;type=cert",
                                          "pkcs11:object=a;type=public",
                                          "pkcs11:object=a b",
                                          "pkcs11:object=a%",
                                          "pkcs11:object=a%2",
                                          "pkcs11:object=a%zz",
                                          "pkcs11:object=a%00",
                                          "pkcs11:object=a%0a",
                                          "pkcs11:object=%ff",
                                          "pkcs11:object=a/b",
                                          "pkcs11:object=a#b",
                                          "pkcs11:object=a?module-path=x.so",
                                          "pkcs11:object=a?module-name=x",
                                          "pkcs11:object=a?pin-source=pin",
                                          "pkcs11:object=a?pin-source=%7ccat",
                                          "pkcs11:object=a?pin-source=file://host/pin",
                                          "pkcs11:object=a?pin-source=/a&pin-source=/b",
                                          "pkcs11:object=a?pin-source=/a&token=b",
                                          "pkcs11:object=" + std::string(kMaxAttribute + 1, 'a'),
                                          "pkcs11:object=a;token=" + std::string(kMaxUri, 'a')}) {
    EXPECT_EQ(code_of(parse_uri(text)), "key-unusable") << text;
  }
}

TEST(Pkcs11Uri, PinInTheUri_IsRefusedWithoutBeingRepeated) {
  const auto uri = parse_uri("pkcs11:object=a?pin-value=hunter2");
  ASSERT_EQ(code_of(uri), "key-unusable");
  EXPECT_NE(uri.error().detail.find("pin-source"), std::string::npos);
  EXPECT_EQ(uri.error().detail.find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace assay::attestation::pkcs11
