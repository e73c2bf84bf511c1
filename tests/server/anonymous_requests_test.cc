// SPDX-License-Identifier: Apache-2.0
// Lines of the log about callers that nobody identified.

#include "server/anonymous_requests.h"

#include <iterator>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/server/app_fixture.h"

namespace assay::server {
namespace {

constexpr std::string_view kToken = "Authorization: Bearer assay_root\r\n";

RequestRecord refused(int status, std::string code, std::string path, std::string address) {
  RequestRecord record{};
  record.method = "GET";
  record.route = "-";
  record.path = std::move(path);
  record.address = std::move(address);
  record.status = status;
  record.code = std::move(code);
  return record;
}

TEST(AnonymousRequests, EachKind_HasALineSoonAndThenOneAMinute) {
  AnonymousRequests requests;
  Timestamp now{};
  for (int i = 0; i < 1000; ++i) {
    requests.add(refused(404, "not-found", "/" + std::to_string(i), "192.0.2.1"), now);
  }
  requests.add(refused(401, "unauthenticated", "", "192.0.2.2"), now);
  EXPECT_TRUE(requests.take(now).empty());
  now += AnonymousRequests::kFirstLine;
  const std::vector<Json> first = requests.take(now);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0]["requests"], 1);
  EXPECT_EQ(first[0]["path"], "-");
  EXPECT_EQ(first[1], Json({{"listener", "api"},
                            {"status", 404},
                            {"code", "not-found"},
                            {"requests", 1000},
                            {"method", "GET"},
                            {"address", "192.0.2.1"},
                            {"path", "/0"}}));

  requests.add(refused(404, "not-found", "/again", "192.0.2.3"), now);
  now += AnonymousRequests::kInterval - std::chrono::seconds(1);
  EXPECT_TRUE(requests.take(now).empty());
  now += std::chrono::seconds(1);
  const std::vector<Json> second = requests.take(now);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0]["address"], "192.0.2.3");
  EXPECT_EQ(second[0]["requests"], 1);
}

// A stranger who comes back after a pause is not made to wait a minute.
TEST(AnonymousRequests, KindThatPaused_StartsAnew) {
  AnonymousRequests requests;
  Timestamp now{};
  for (int round = 0; round < 2; ++round) {
    requests.add(refused(404, "not-found", "/", "192.0.2.1"), now);
    now += AnonymousRequests::kFirstLine;
    EXPECT_EQ(requests.take(now).size(), 1U) << round;
    now += AnonymousRequests::kInterval;
    EXPECT_TRUE(requests.take(now).empty()) << round;
  }
}

TEST(AnonymousRequests, All_LeavesNothing) {
  AnonymousRequests requests;
  requests.add(refused(404, "not-found", "/", "192.0.2.1"), {});
  EXPECT_EQ(requests.take({}, true).size(), 1U);
  EXPECT_TRUE(requests.take({}, true).empty());
}

class AnonymousLines : public AppTest {
 protected:
  AnonymousLines() {
    EXPECT_TRUE(initialise(config_, bootstrap_document(), clock_, random_));
    start_app();
  }

  // Lines with this event, once the service has ended.
  std::vector<Json> lines(std::string_view event) {
    app_.reset();
    std::vector<Json> found;
    std::istringstream text(log_text());
    for (std::string line; std::getline(text, line);) {
      Json json = Json::parse(line);
      if (json["event"] == event) {
        found.push_back(std::move(json));
      }
    }
    return found;
  }
};

// 0.2 KB a request is 2 GB an hour.
TEST_F(AnonymousLines, StrangersByTheHundred_HaveFewLines) {
  TlsClient client({.port = app_->port(Listener::kApi)});
  ASSERT_TRUE(client.handshake());
  constexpr int kRounds = 300;
  const std::string paths[] = {"/nothing", "/v1/manifests", "/openapi.json"};
  const int statuses[] = {404, 401, 200};
  for (int i = 0; i < kRounds; ++i) {
    for (std::size_t p = 0; p < std::size(paths); ++p) {
      const auto answer = client.exchange("GET " + paths[p] + " HTTP/1.1\r\nHost: a\r\n\r\n");
      ASSERT_TRUE(answer);
      ASSERT_EQ(answer->status, statuses[p]);
    }
  }
  // Guessed tokens make no lines, and what the gate refuses makes none.
  for (int i = 0; i < 10; ++i) {
    const std::string fields = "Authorization: Bearer guess" + std::to_string(i) + "\r\n";
    EXPECT_EQ(ask("/v1/manifests", fields)->status, 401);
    EXPECT_EQ(ask("/nothing", fields)->status, 404);
    EXPECT_EQ(ask("no-path")->status, 400);
  }
  std::map<int, int> counted;
  std::vector<Json> all = lines("anonymous_requests");
  EXPECT_LE(all.size(), 12U);
  for (const Json& line : all) {
    counted[line["status"].get<int>()] += line["requests"].get<int>();
    EXPECT_EQ(line["address"], "127.0.0.1");
  }
  EXPECT_EQ(counted[404], kRounds + 10);
  EXPECT_EQ(counted[401], kRounds + 10);
  EXPECT_EQ(counted[200], kRounds);
  EXPECT_EQ(counted[400], 10);
  EXPECT_TRUE(lines("request").empty());
}

TEST_F(AnonymousLines, WhoeverShowsACredential_HasEachLine) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(ask("/nothing/here", std::string(kToken))->status, 404);
    EXPECT_EQ(ask("/v1/manifests?no=1", std::string(kToken))->status, 400);
    EXPECT_EQ(ask("/livez", std::string(kToken), Listener::kApi, "x")->status, 405);
  }
  const std::vector<Json> all = lines("request");
  ASSERT_EQ(all.size(), 60U);
  for (const Json& line : all) {
    EXPECT_EQ(line["principal"], "root");
  }
  EXPECT_TRUE(lines("anonymous_requests").empty());
}

// A path of the admission listener may be the secret, misspelt.
TEST_F(AnonymousLines, SecretOfThePath_IsNeverWritten) {
  const std::string almost = secret_.substr(0, secret_.size() - 1);
  EXPECT_EQ(ask("/" + almost + "/v1/admission/validate", "", Listener::kAdmission)->status, 404);
  EXPECT_EQ(ask("/" + secret_ + "/nothing", "", Listener::kAdmission)->status, 404);
  const std::vector<Json> counted = lines("anonymous_requests");
  ASSERT_EQ(counted.size(), 1U);
  EXPECT_EQ(counted[0]["path"], "-");
  EXPECT_EQ(counted[0]["listener"], "admission");
  EXPECT_EQ(lines("request").at(0)["principal"], "admission-webhook");
  EXPECT_EQ(log_text().find(almost), std::string::npos);
}

TEST_F(AnonymousLines, LongPath_IsCut) {
  EXPECT_EQ(ask("/" + std::string(3000, 'a'))->status, 404);
  EXPECT_EQ(lines("anonymous_requests").at(0)["path"].get<std::string>().size(), kMaxRecordedPath);
}

}  // namespace
}  // namespace assay::server
