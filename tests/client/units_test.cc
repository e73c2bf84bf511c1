// SPDX-License-Identifier: Apache-2.0
// Parts of the HTTPS client that need no service. What it sends is tested by running the program:
// tests/cli/client.
#include <fstream>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "client/answers.h"
#include "client/api.h"
#include "client/http_client.h"
#include "client/web_fetch.h"
#include "schemas/core/random.h"

namespace assay::client {
namespace {

TEST(Queries, AreEncoded) {
  Query query;
  query.add("name", "acme/demo");
  query.add("empty", "");
  query.add("cursor", "a+b=&c d\xc3\xa9");
  EXPECT_EQ(query.text(), "?name=acme/demo&cursor=a%2Bb%3D%26c%20d%C3%A9");
}

TEST(LoopbackUrls, AreThoseOfThisMachine) {
  for (const char* url : {"http://localhost", "http://localhost:80/", "http://127.0.0.1:5000/v2/",
                          "http://127.1.2.3/?a", "http://[::1]:80/", "http://[::1]"}) {
    EXPECT_TRUE(is_loopback_url(url)) << url;
  }
  for (const char* url :
       {"https://localhost/", "http://localhost.example.com/", "http://127.0.0.1.example.com/",
        "http://localhost:80@example.com/", "http://127.0.0.1@example.com/", "http://localhost:/",
        "http://10.0.0.1/", "http://127.1/", "http://[::1]x/", "http://[::1]:80@example.com/",
        "http://localhost\\@example.com/", "http:///", "localhost", "HTTP://localhost/"}) {
    EXPECT_FALSE(is_loopback_url(url)) << url;
  }
}

// Ends the process: 0 when only opening the client made it undumpable. It refuses the file in the
// end, which is no key, and has read it by then.
void open_client(const std::string& key) {
  SystemRandom random;
  Connection connection;
  connection.cert = key;
  connection.cert_key = key;
  const bool before = ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0;
  const bool refused =
      !HttpClient::open({.random = random, .version = "test"}, connection).has_value();
  const bool after = ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0;
  ::_exit(before && refused && !after ? 0 : 1);
}

TEST(HttpClient, ProcessesWithAPrivateKeyMakeNoCoreDumps) {
  const std::string path = testing::TempDir() + "assay-client-" + std::to_string(::getpid());
  std::ofstream(path) << "-----BEGIN PRIVATE KEY-----\n";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  // In a process of its own: what it gives up is gone for good.
  EXPECT_EXIT(open_client(path), testing::ExitedWithCode(0), "");
  ::unlink(path.c_str());
}

// A service of two pages; the cursor of each is what its request must name.
class TwoPages {
 public:
  Result<Json> operator()(const std::string& path) {
    paths.push_back(path);
    return paths.size() == 1 ? Json{{"items", Json::array({1, 2})}, {"next_cursor", "b"}}
                             : Json{{"items", Json::array({3})}, {"tree_size", 9U}};
  }
  std::vector<std::string> paths{};
};

TEST(Pages, AreFollowedToTheEnd) {
  TwoPages pages;
  std::vector<Json> taken;
  const auto last = each_page(std::ref(pages), "/v1/x", Query(), std::nullopt,
                              [&taken](const Json& items) { taken.push_back(items); });
  ASSERT_TRUE(last);
  EXPECT_EQ(taken, (std::vector<Json>{Json::array({1, 2}), Json::array({3})}));
  EXPECT_EQ(number_at(*last, "tree_size"), 9U);
  EXPECT_EQ(pages.paths,
            (std::vector<std::string>{"/v1/x?limit=1000", "/v1/x?limit=1000&cursor=b"}));
}

TEST(Pages, EndWhenThereAreEnoughItems) {
  TwoPages pages;
  const auto last = each_page(std::ref(pages), "/v1/x", Query(), 2, [](const Json&) {});
  ASSERT_TRUE(last);
  EXPECT_EQ(pages.paths, (std::vector<std::string>{"/v1/x?limit=2"}));
  EXPECT_EQ(text_at(*last, "next_cursor"), "b");
}

TEST(Pages, AnAnswerThatIsNoListIsRefused) {
  for (const Json& answer : {Json(), Json::array(), Json::object(), Json{{"items", 1}}}) {
    const auto fetch = [&answer](const std::string&) -> Result<Json> { return answer; };
    const auto last = each_page(fetch, "/v1/x", Query(), std::nullopt, [](const Json&) {});
    ASSERT_FALSE(last) << answer;
    EXPECT_EQ(last.error().code, ErrorCode::kSchemaViolation);
  }
}

TEST(Answers, MembersOfAnotherTypeCountAsAbsent) {
  const Json answer = {{"text", 1}, {"number", -1}, {"list", "x"}, {"mixed", {"a", 2}}};
  EXPECT_EQ(text_at(answer, "text"), "");
  EXPECT_EQ(number_at(answer, "number"), 0U);
  EXPECT_EQ(list_at(answer, "list"), Json::array());
  EXPECT_EQ(joined_at(answer, "mixed"), "a, 2");
  EXPECT_EQ(text_at(Json("no object"), "text"), "");
}

}  // namespace
}  // namespace assay::client
