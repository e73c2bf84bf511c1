// SPDX-License-Identifier: Apache-2.0
// The role table, and the schemas that repeat its names.
#include "schemas/roles.h"

#include <gtest/gtest.h>

#include "embedded/json_schemas.h"
#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;

std::vector<std::string> access_roles() {
  return {
#define ASSAY_ACCESS_ROLE(enumerator, name, meaning) name,
#define ASSAY_KEY_PURPOSE(enumerator, name, meaning)
#include "schemas/roles.def"
#undef ASSAY_ACCESS_ROLE
#undef ASSAY_KEY_PURPOSE
  };
}

std::vector<std::string> key_purposes() {
  return {
#define ASSAY_ACCESS_ROLE(enumerator, name, meaning)
#define ASSAY_KEY_PURPOSE(enumerator, name, meaning) name,
#include "schemas/roles.def"
#undef ASSAY_ACCESS_ROLE
#undef ASSAY_KEY_PURPOSE
  };
}

TEST(Roles, Names_RoundTrip) {
  for (const std::string& text : access_roles()) {
    const auto role = access_role_from(text);
    ASSERT_TRUE(role) << text;
    EXPECT_EQ(name(*role), text);
  }
  for (const std::string& text : key_purposes()) {
    const auto purpose = key_purpose_from(text);
    ASSERT_TRUE(purpose) << text;
    EXPECT_EQ(name(*purpose), text);
  }
}

TEST(Roles, UnknownNames_AreRefused) {
  for (const char* text : {"", "root", "Reader", "reader ", "publisher"}) {
    EXPECT_EQ(code_of(access_role_from(text)), "invalid-parameter") << text;
  }
  for (const char* text : {"", "admin", "Signer"}) {
    EXPECT_EQ(code_of(key_purpose_from(text)), "invalid-parameter") << text;
  }
}

TEST(Roles, Schemas_ListTheSameNames) {
  const Json principal = Json::parse(embedded::kPrincipalSchemaJson);
  EXPECT_EQ(principal["properties"]["roles"]["items"]["enum"], Json(access_roles()));
  const Json key = Json::parse(embedded::kTrustedKeySchemaJson);
  EXPECT_EQ(key["properties"]["purpose"]["enum"], Json(key_purposes()));
}

}  // namespace
}  // namespace assay
