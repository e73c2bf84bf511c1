// SPDX-License-Identifier: Apache-2.0
// Licence expressions.
#include "schemas/spdx.h"

#include <set>

#include <gtest/gtest.h>

namespace assay {
namespace {

bool may_use(std::string_view text, const std::set<std::string>& licences) {
  const auto expression = SpdxExpression::parse(text);
  EXPECT_TRUE(expression) << text;
  return expression &&
         expression->satisfied_by([&](const std::string& one) { return licences.contains(one); });
}

std::string normal(std::string_view text) {
  const auto expression = SpdxExpression::parse(text);
  return expression ? expression->text() : "refused";
}

TEST(Spdx, OperatorsBindAsSpecified) {
  EXPECT_TRUE(may_use("MIT", {"MIT"}));
  EXPECT_FALSE(may_use("MIT", {"Apache-2.0"}));
  EXPECT_TRUE(may_use("MIT OR Apache-2.0 AND BSD-3-Clause", {"MIT"}));
  EXPECT_FALSE(may_use("MIT OR Apache-2.0 AND BSD-3-Clause", {"Apache-2.0"}));
  EXPECT_TRUE(may_use("MIT OR Apache-2.0 AND BSD-3-Clause", {"Apache-2.0", "BSD-3-Clause"}));
  EXPECT_FALSE(may_use("(MIT OR Apache-2.0) AND BSD-3-Clause", {"MIT"}));
  EXPECT_TRUE(may_use("(MIT or Apache-2.0) and BSD-3-Clause", {"MIT", "BSD-3-Clause"}));
}

TEST(Spdx, PlusAndWithMakeAnotherLicence) {
  EXPECT_FALSE(may_use("GPL-2.0+", {"GPL-2.0"}));
  EXPECT_TRUE(may_use("GPL-2.0+", {"GPL-2.0+"}));
  EXPECT_FALSE(may_use("GPL-2.0-only WITH Classpath-exception-2.0", {"GPL-2.0-only"}));
  EXPECT_TRUE(may_use("GPL-2.0-only  with Classpath-exception-2.0",
                      {"GPL-2.0-only WITH Classpath-exception-2.0"}));
}

TEST(Spdx, NormalForm) {
  EXPECT_EQ(normal(" ( MIT ) "), "MIT");
  EXPECT_EQ(normal("A or (B or C)"), "A OR B OR C");
  EXPECT_EQ(normal("(A OR B)AND(C)"), "(A OR B) AND C");
  EXPECT_EQ(normal("A AND B OR C"), "A AND B OR C");
  EXPECT_EQ(normal("DocumentRef-x:LicenseRef-y"), "DocumentRef-x:LicenseRef-y");
}

TEST(Spdx, RefusesWhatIsNoExpression) {
  for (const char* text : {"",
                           " ",
                           "()",
                           "(MIT",
                           "MIT)",
                           "MIT Apache-2.0",
                           "AND",
                           "MIT AND",
                           "OR MIT",
                           "MIT WITH",
                           "MIT WITH AND",
                           "NONE",
                           "NOASSERTION",
                           "noassertion",
                           "MIT And BSD",
                           "MIT++",
                           "a_b",
                           "x:LicenseRef-y",
                           "DocumentRef-:LicenseRef-y",
                           "MIT, Apache-2.0",
                           "MIT/Apache-2.0"}) {
    EXPECT_EQ(normal(text), "refused") << text;
  }
}

TEST(Spdx, IsBounded) {
  EXPECT_EQ(SpdxExpression::parse(std::string(kMaxSpdxBytes + 1, 'A')).error().code,
            ErrorCode::kLimitExceeded);
  EXPECT_TRUE(SpdxExpression::parse(std::string(kMaxSpdxBytes, 'A')));
  const auto nested = [](std::size_t depth) {
    return SpdxExpression::parse(std::string(depth, '(') + "MIT" + std::string(depth, ')'));
  };
  EXPECT_TRUE(nested(kMaxSpdxDepth));
  EXPECT_EQ(nested(kMaxSpdxDepth + 1).error().code, ErrorCode::kLimitExceeded);
}

TEST(Spdx, OneLicence) {
  EXPECT_TRUE(is_spdx_id("Apache-2.0"));
  EXPECT_TRUE(is_spdx_id("GPL-2.0-only WITH Classpath-exception-2.0"));
  EXPECT_FALSE(is_spdx_id("MIT OR MIT"));
  EXPECT_FALSE(is_spdx_id("(MIT)"));
  EXPECT_FALSE(is_spdx_id("MIT "));
  EXPECT_FALSE(is_spdx_id("NONE"));
  EXPECT_TRUE(same_spdx_id("mit", "MIT"));
  EXPECT_FALSE(same_spdx_id("MIT", "MIT-0"));
}

}  // namespace
}  // namespace assay
