// SPDX-License-Identifier: Apache-2.0
// The worst document of each kind that its route takes, from a caller who has the role and no key:
// what it costs before it is refused, or answered.

#include <algorithm>
#include <ctime>

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>

#include "schemas/heartbeat.h"
#include "schemas/policy_document.h"
#include "schemas/statement.h"
#include "schemas/trust.h"
#include "schemas/withdrawal.h"
#include "tests/server/api/fixture.h"

namespace assay::server {
namespace {

// Processor time of a document, on a machine that verifies this many P-256 signatures a second.
constexpr double kMostMilliseconds = 100;
constexpr double kSignaturesASecond = 21'400;

double processor_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Least of several, because others use the processor's caches.
template <typename Work>
double least_ms(int times, const Work& work) {
  double least = 1e9;
  for (int i = 0; i < times; ++i) {
    const double begin = processor_ms();
    work();
    least = std::min(least, processor_ms() - begin);
  }
  return least;
}

// How much slower this machine is, 1 at least.
double slowness() {
  constexpr int kSignatures = 200;
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  const Bytes text(32, 7);
  Bytes signature(128);
  std::size_t length = signature.size();
  EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, key);
  EVP_DigestSign(context, signature.data(), &length, text.data(), text.size());
  const double took = least_ms(5, [&] {
    for (int i = 0; i < kSignatures; ++i) {
      EVP_MD_CTX_reset(context);
      EVP_DigestVerifyInit(context, nullptr, EVP_sha256(), nullptr, key);
      EXPECT_EQ(EVP_DigestVerify(context, signature.data(), length, text.data(), text.size()), 1);
    }
  });
  EVP_MD_CTX_free(context);
  EVP_PKEY_free(key);
  return std::max(1.0, took / 1e3 * kSignaturesASecond / kSignatures);
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) {
    all += text;
  }
  return all;
}

Json policy_of(Json require) {
  return {{"name", "worst"},
          {"version", 1},
          {"mode", "enforce"},
          {"match", Json::object()},
          {"require", std::move(require)}};
}

Json statement(std::size_t number, Json where) {
  return {{"id", "s" + std::to_string(number)},
          {"statement", {{"predicate_type", "https://x.example/v1"}, {"where", std::move(where)}}}};
}

// A policy that matches `pattern` so many times, 16 in each list of tests over items.
Json matching(const std::string& pattern, std::size_t times) {
  const Json match = {{"pointer", "/a"}, {"op", "matches"}, {"value", pattern}};
  Json groups = Json::array();
  for (; times > 0; times -= std::min<std::size_t>(times, 16)) {
    groups.push_back(
        {{"any", "/l"}, {"where", std::vector<Json>(std::min<std::size_t>(times, 16), match)}});
  }
  Json require = Json::array();
  for (std::size_t i = 0; i < groups.size(); i += 16) {
    const auto end = std::min(i + 16, groups.size());
    require.push_back(
        statement(i, Json(std::vector<Json>(groups.begin() + static_cast<std::ptrdiff_t>(i),
                                            groups.begin() + static_cast<std::ptrdiff_t>(end)))));
  }
  return policy_of(std::move(require));
}

// Nearly as many conditions as there may be, nearly as deep as JSON may be.
Json deep() {
  constexpr int kChains = 42;
  constexpr int kLevels = 24;
  Json require = Json::array();
  for (int chain = 0; chain < kChains; ++chain) {
    const std::string name = "c" + std::to_string(chain) + "-";
    Json inner = {{"id", name + "0"}, {"manifest", Json::object()}};
    for (int level = 1; level < kLevels; ++level) {
      inner = {{"id", name + std::to_string(level)}, {"all", Json::array({inner})}};
    }
    require.push_back(std::move(inner));
  }
  return policy_of(std::move(require));
}

// Tests with many values, 256 in each list.
Json values(const Json& value, std::size_t statements) {
  const Json test = {{"pointer", "/a"}, {"op", "in"}, {"value", std::vector<Json>(256, value)}};
  Json require = Json::array();
  for (std::size_t i = 0; i < statements; ++i) {
    require.push_back(statement(i, Json::array({test})));
  }
  return policy_of(std::move(require));
}

// Each of many conditions lists values of which another test takes the last one alone.
Json nearly_excluding() {
  std::vector<Json> numbers(1023, 1);
  numbers.push_back(2);
  Json tests = Json::array({{{"pointer", "/a"}, {"op", "in"}, {"value", numbers}}});
  for (int i = 0; i < 15; ++i) {
    tests.push_back({{"pointer", "/a"}, {"op", "=="}, {"value", 2}});
  }
  Json require = Json::array();
  for (std::size_t i = 0; i < 56; ++i) {
    require.push_back(statement(i, tests));
    require.back()["statement"]["quantifier"] = "every";
  }
  return policy_of(std::move(require));
}

// Every list of conditions leads to the same long one, and has something that is negated.
Json deep_list() {
  Json inner = values("a", 130)["require"];
  for (int level = 0; level < 25; ++level) {
    const std::string id = "l" + std::to_string(level);
    inner = Json::array(
        {{{"id", id}, {"all", inner}},
         {{"id", id + "n"}, {"not", {{"id", id + "m"}, {"manifest", Json::object()}}}}});
  }
  return policy_of(std::move(inner));
}

std::string envelope_of(std::string_view type, const std::string& payload) {
  return Json{{"payloadType", type},
              {"payload", base64_encode(as_bytes(payload))},
              {"signatures", {{{"keyid", ""}, {"sig", base64_encode(Bytes(64, 1))}}}}}
      .dump();
}

struct Worst {
  std::string name;
  std::string path;
  std::string role;
  std::string body;
};

constexpr const char* kValidate = "/v1/policies:validate";

std::vector<Worst> policies() {
  std::vector<Worst> list;
  const auto add = [&list](const std::string& name, const Json& policy) {
    std::string body = policy.dump();
    EXPECT_LE(body.size(), 1U << 20) << name;
    list.push_back({name, kValidate, "policy-author", std::move(body)});
  };
  add("1008 patterns of 1,000 copies", matching("(.{0,999}N)", 1008));
  add("patterns of 1,000 copies, all that are compiled", matching("(.{0,999}N)", 5));
  add("1008 patterns of empty copies", matching("(|||){0,999}", 1008));
  add("copies of copies", matching(repeated("((a{0,9}){0,9}){0,9}", 40), 64));
  add("long lists of copies", matching(repeated("[(]{0,99}?", 50), 64));
  add("classes of Unicode", matching("(?i)" + repeated("\\PL", 200), 1));
  add("more classes of Unicode", matching("(?i)" + repeated("\\PL", 340), 1008 / 3));
  add("ranges of Unicode", matching("(?i)" + repeated("[\\x{80}-\\x{10FFFF}]", 50), 512));
  add("1024 short patterns", matching("sha256:[0-9a-f]{64}", 1008));
  add("deep conditions", deep());
  add("lists of numbers", values(1, 256));
  add("lists of texts", values("a", 128));
  add("tests that nearly exclude each other", nearly_excluding());
  add("a long list below many levels", deep_list());
  return list;
}

std::vector<Worst> others() {
  const std::string payload(600'000, '[');
  Json question = {{"hypothesis", {{"activate", Json::array()}}}};
  for (int i = 0; i < 16; ++i) {
    Json policy = matching("(.{0,999}N)", 5);
    policy["name"] = "p" + std::to_string(i);
    question["hypothesis"]["activate"].push_back(policy);
  }
  const std::string deep_workload =
      Json{{"point", "create"}, {"workload", {{"namespace", std::string(200'000, 'x')}}}}.dump();
  return {
      {"policy in an envelope that nobody trusts", "/v1/policies", "policy-author",
       envelope_of(kPolicyPayloadType, matching("(.{0,999}N)", 1008).dump())},
      {"attestation", "/v1/attestations", "submitter", envelope_of(kStatementPayloadType, payload)},
      {"withdrawal", "/v1/withdrawals", "submitter",
       envelope_of(kWithdrawalPayloadType, std::string(40'000, '['))},
      {"change of trust", "/v1/trust/changes", "admin",
       envelope_of(kTrustChangePayloadType, payload)},
      {"heartbeat", "/v1/nodes/n/heartbeat", "worker",
       envelope_of(kHeartbeatPayloadType, std::string(90'000, '['))},
      {"question about impact", "/v1/impact/pods", "auditor", question.dump()},
      {"decision", "/v1/decisions", "decider", deep_workload},
      {"job", "/v1/jobs", "submitter", "[" + repeated("[],", 300'000) + "[]]"},
      {"challenge", "/v1/challenges", "worker", "[" + repeated("[],", 20'000) + "[]]"}};
}

class WorstDocuments : public test::ApiTest {
 protected:
  // The status, and the milliseconds of processor time of its handler.
  std::pair<int, double> post(const Worst& worst) {
    int status = 0;
    const double took = least_ms(3, [&] {
      const bool plain = worst.body.find("payloadType") == std::string::npos;
      const auto exchange = dispatcher_->open(
          Listener::kApi,
          head(Method::kPost, worst.path, worst.role, worst.body,
               {{"content-type", plain ? "application/json" : std::string(kDsse)}}),
          {});
      auto admission = exchange->admit_now();
      if (admission == Exchange::Admission::kAskPool) {
        admission = exchange->admit();
      }
      EXPECT_EQ(admission, Exchange::Admission::kAdmitted) << worst.name;
      exchange->received();
      status = exchange->handle(to_bytes(worst.body)).status;
    });
    return {status, took};
  }
};

TEST_F(WorstDocuments, CostATenthOfASecondAtMost) {
  std::vector<Worst> all = policies();
  std::ranges::move(others(), std::back_inserter(all));
  const double most = kMostMilliseconds * slowness();
  for (const Worst& worst : all) {
    const auto [status, took] = post(worst);
    RecordProperty(worst.name, std::to_string(took));
    std::printf("%7.1f ms (of %.0f)  %d  %s\n", took, most, status, worst.name.c_str());
    EXPECT_LE(took, most) << worst.name;
    EXPECT_NE(status, 500) << worst.name;
  }
}

}  // namespace
}  // namespace assay::server
