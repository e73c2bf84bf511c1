// SPDX-License-Identifier: Apache-2.0
// Small pure parts of the command line; the verbs are tested by running the program.
#include <gtest/gtest.h>

#include "cli/documents/trust_documents.h"
#include "cli/output.h"
#include "cli/verbs/policy_diff.h"
#include "schemas/core/json.h"

namespace assay::cli {
namespace {

TEST(Output, NothingMovesTheCursor) {
  EXPECT_EQ(printable("plain \xc3\xa9\xe5\x90\x8d"), "plain \xc3\xa9\xe5\x90\x8d");
  EXPECT_EQ(printable("a\nb\x1b[2J\x7f"), "a\\x0ab\\x1b[2J\\x7f");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");               // C1: control sequence
  EXPECT_EQ(printable("x\xe2\x80\xaey"), "x\\xe2\\x80\\xaey");  // right-to-left override
  EXPECT_EQ(printable("\xe2\x80\xa8"), "\\xe2\\x80\\xa8");      // line separator
  EXPECT_EQ(printable("\xef\xbf\xbf"), "\\xef\\xbf\\xbf");      // noncharacter
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(Output, Numbers) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1000), "1.00 kB");
  EXPECT_EQ(human_bytes(12345), "12.3 kB");
  EXPECT_EQ(human_bytes(123456789), "123 MB");
  EXPECT_EQ(human_bytes(999600), "1.00 MB");
  EXPECT_EQ(counted(1, "entry"), "1 entry");
  EXPECT_EQ(counted(2, "entry"), "2 entries");
  EXPECT_EQ(counted(2, "key"), "2 keys");
  EXPECT_EQ(counted(0, "file"), "0 files");
}

TEST(Output, Tables) {
  Table table({"A", "LONG"});
  table.row({"\xc3\xa9\xc3\xa9", "x"});
  table.row({"a", "b", "c"});
  EXPECT_EQ(table.fit(0).text, "A   LONG\n\xc3\xa9\xc3\xa9  x\na   b     c\n");
}

TEST(TrustDocuments, Roles) {
  const auto role = read_signer_role("evaluate:https://example.com:8443/x/v1:acme/llm");
  ASSERT_TRUE(role);
  EXPECT_EQ(*role, (SignerRole{"evaluate", "https://example.com:8443/x/v1", "acme/llm"}));
  EXPECT_EQ(read_signer_role("*:lifecycle:*")->predicate_type, "https://assay.dev/lifecycle/v1");
  for (const char* text : {"", "a", "a:b", ":b:c", "a:b:"}) {
    EXPECT_FALSE(read_signer_role(text)) << text;
  }
}

TEST(PolicyDiff, ConditionsAreMatchedById) {
  const Json one = {{"id", "a"}, {"x", 1}};
  const Json other = {{"id", "b"}, {"x", 2}};
  const Json before = {{"mode", "warn"}, {"require", {one, other}}};
  const Json moved = {{"mode", "warn"}, {"require", {other, one}}};
  EXPECT_TRUE(compare_policies(before, moved).empty());
  const auto changes = compare_policies(before, {{"mode", "enforce"}, {"require", {one}}});
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0], (PolicyChange{"mode", "warn", "enforce"}));
  EXPECT_EQ(changes[1], (PolicyChange{"require[b]", other, nullptr}));
  EXPECT_EQ(change_line(changes[0]), "~ mode \"warn\" -> \"enforce\"");
}

TEST(PolicyDiff, AChangeIsNamedByTheInnermostMember) {
  const Json before = Json::parse(
      R"({"require":[{"id":"both","all":[{"id":"in","node":{"anchors":["a"],"age":1}},{"id":"x"}]}]})");
  Json after = before;
  after["require"][0]["all"][0]["node"] = {{"anchors", {"a", "b"}}, {"age", 1}, {"more", true}};
  const auto changes = compare_policies(before, after);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0], (PolicyChange{"require[both].all[in].node.anchors", Json::array({"a"}),
                                      Json::array({"a", "b"})}));
  EXPECT_EQ(change_line(changes[1]), "+ require[both].all[in].node.more true");
}

}  // namespace
}  // namespace assay::cli
