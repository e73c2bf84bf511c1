// SPDX-License-Identifier: Apache-2.0
// The chain of changes: whole, with records left out, and named wrongly.
#include "schemas/log_chain.h"

#include <functional>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;

struct Entry {
  LeafIndex index;
  LogRecord record;
  Digest leaf;
};

Entry entry(LeafIndex index, std::string_view type, const Json& chain) {
  LogRecord record{
      .type = std::string(type), .time = {}, .actor = "a", .subjects = {}, .documents = {}};
  if (!chain.is_null()) {
    record.detail["chain"] = chain;
  }
  return {index, std::move(record), sha256(as_bytes(std::to_string(index)))};
}

Json link(LeafIndex index) {
  return {{"index", index}, {"leaf", sha256(as_bytes(std::to_string(index))).text()}};
}

// Trust, a manifest, a policy, a decision, a withdrawal, a decision.
std::vector<Entry> log() {
  return {entry(0, event::kTrustBootstrapped, {{"trust", "t"}}),
          entry(1, event::kManifestAccepted, {}),
          entry(2, event::kPolicyActivated, {{"previous", link(0)}}),
          entry(3, event::kDecisionMade, {{"newest", link(2)}}),
          entry(4, event::kStatementWithdrawn, {{"previous", link(2)}}),
          entry(5, event::kDecisionMade, {{"newest", link(4)}})};
}

std::string verdict(const std::vector<Entry>& entries) {
  LogChain chain;
  for (const Entry& one : entries) {
    if (const Status taken = chain.take(one.index, one.record, one.leaf); !taken) {
      return code_of(taken) + " " + taken.error().where;
    }
  }
  return "ok";
}

TEST(LogChain, EachChangeNamesTheOneBefore_EachDecisionTheNewest) {
  EXPECT_EQ(verdict(log()), "ok");
}

TEST(LogChain, RecordsOfOtherTypes_MayBeLeftOut) {
  auto entries = log();
  entries.erase(entries.begin() + 3);
  entries.erase(entries.begin() + 1);
  EXPECT_EQ(verdict(entries), "ok");
}

TEST(LogChain, RecordsLeftOutOrNamedWrongly_AreInconsistent) {
  const std::pair<std::function<void(std::vector<Entry>&)>, const char*> cases[] = {
      {[](auto& e) { e.erase(e.begin()); }, "log entry 2"},
      {[](auto& e) { e.erase(e.begin() + 2); }, "log entry 3"},
      {[](auto& e) { e.erase(e.begin() + 4); }, "log entry 5"},
      {[](auto& e) { e[2].record.detail["chain"].erase("previous"); }, "log entry 2"},
      {[](auto& e) { e[0].record.detail["chain"]["previous"] = link(7); }, "log entry 0"},
      {[](auto& e) { e[4].leaf = e[2].leaf; }, "log entry 5"},
      {[](auto& e) { e[4].index = 6; }, "log entry 5"},
      {[](auto& e) { e[5].record.detail["chain"]["newest"] = link(2); }, "log entry 5"},
      {[](auto& e) { e[5].record.detail.erase("chain"); }, "log entry 5"},
      {[](auto& e) { e[5].record.detail["chain"]["newest"]["more"] = 1; }, "log entry 5"},
  };
  for (const auto& [change, where] : cases) {
    auto entries = log();
    change(entries);
    EXPECT_EQ(verdict(entries), std::string("log-inconsistent ") + where);
  }
}

}  // namespace
}  // namespace assay
