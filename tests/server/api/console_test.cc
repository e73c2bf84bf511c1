// SPDX-License-Identifier: Apache-2.0
// The console's files, and pages of other sites in a browser that shows a client certificate.

#include "server/api/console.h"

#include <set>

#include <gtest/gtest.h>

#include "embedded/console.h"
#include "schemas/core/sha.h"
#include "schemas/reason.h"
#include "tests/server/api/fixture.h"

namespace assay::server {
namespace {

class ConsoleTest : public test::ApiTest {
 protected:
  ConsoleTest() { make_dispatcher({}, table_); }

  const std::vector<Route> table_ = with_console(routes());
};

// The files that a file of the console names: imports, and what the page loads.
std::set<std::string> named_in(std::string_view text) {
  std::set<std::string> names;
  for (const std::string_view start :
       {std::string_view(" from \"./"), std::string_view("\"console/")}) {
    for (std::size_t at = text.find(start); at != std::string_view::npos;
         at = text.find(start, at + 1)) {
      const std::string_view rest = text.substr(at + start.size());
      names.emplace(rest.substr(0, rest.find('"')));
    }
  }
  return names;
}

TEST_F(ConsoleTest, WithoutTheSwitch_ThereIsNone) {
  make_dispatcher({}, routes());
  for (const char* const path : {"/console", "/console/main.js"}) {
    EXPECT_EQ(get(path, "").status, 404) << path;
    EXPECT_EQ(get(path).code(), "not-found") << path;
  }
}

TEST_F(ConsoleTest, Page_NeedsNoCredentialAndAllowsNothingForeign) {
  const auto page = get("/console", "");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(page.header("Cache-Control"), "no-cache");
  EXPECT_EQ(page.header("Referrer-Policy"), "no-referrer");
  EXPECT_EQ(page.header("Cross-Origin-Opener-Policy"), "same-origin");
  EXPECT_EQ(page.header("Cross-Origin-Resource-Policy"), "same-origin");
  const std::string policy = page.header("Content-Security-Policy");
  for (const char* const part : {"default-src 'none'", "script-src 'self'", "style-src 'self'",
                                 "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
                                 "frame-ancestors 'none'", "require-trusted-types-for 'script'"}) {
    EXPECT_TRUE(policy.contains(part)) << part;
  }
  for (const char* const word : {"unsafe", "http", "*", "data:"}) {
    EXPECT_FALSE(policy.contains(word)) << word;
  }
}

TEST_F(ConsoleTest, EveryFileThatIsNamed_IsServedWithItsTypeAndTheSamePolicy) {
  std::set<std::string> wanted = {"index.html"};
  std::set<std::string> seen;
  while (!wanted.empty()) {
    const std::string name = wanted.extract(wanted.begin()).value();
    if (!seen.insert(name).second) {
      continue;
    }
    const auto file = get("/console/" + name, "");
    ASSERT_EQ(file.status, 200) << name;
    EXPECT_EQ(file.header("Content-Security-Policy"),
              get("/console", "").header("Content-Security-Policy"));
    EXPECT_NE(file.content_type, kBinary) << name;
    if (name.ends_with(".js")) {
      EXPECT_EQ(file.content_type, "text/javascript; charset=utf-8") << name;
    }
    wanted.merge(named_in(file.body));
  }
  for (const auto& [name, text] : embedded::kConsoleFiles) {
    EXPECT_TRUE(seen.contains(std::string(name))) << name << " is in the program for nothing";
  }
}

TEST_F(ConsoleTest, Etag_SavesTheSecondDownload) {
  const auto first = get("/console/main.js", "");
  const auto second =
      get("/console/main.js", "", {{"if-none-match", first.header("ETag")}, {"accept", "*/*"}});
  EXPECT_EQ(second.status, 304);
  EXPECT_EQ(second.body, "");
  EXPECT_EQ(get("/console/main.js", "", {{"if-none-match", "\"other\""}}).status, 200);
}

TEST_F(ConsoleTest, OtherNamesAndMethods_AreRefused) {
  for (const char* const name : {"none.js", "README.md", "index.htm", "%2e%2e", "main.js%00"}) {
    const auto answer = get("/console/" + std::string(name), "");
    EXPECT_TRUE(answer.status == 404 || answer.status == 400) << name << " " << answer.status;
  }
  EXPECT_EQ(get("/console/", "").status, 404);
  EXPECT_EQ(get("/console/a/b.js", "").status, 404);
  EXPECT_EQ(get("/console?token=assay_auditor", "").code(), "unknown-parameter");
  EXPECT_EQ(call(Method::kPost, "/console", "").status, 405);
  EXPECT_EQ(call(Method::kHead, "/console", "").status, 200);
}

TEST_F(ConsoleTest, Reasons_AreThoseOfTheTable) {
  const Json table = get("/console/reasons.json", "").json();
  ASSERT_EQ(table.size(), reason_count());
  const ReasonInfo& missing = info(Reason::kManifestMissing);
  EXPECT_EQ(table[std::string(missing.code)]["title"], missing.title);
  EXPECT_EQ(table[std::string(missing.code)]["next"], missing.next);
}

// --- pages of other sites

class OtherSites : public ConsoleTest {
 protected:
  OtherSites() {
    AccessRoles every;
    for (const std::string& role : test::role_names()) {
      every.insert(access_role_from(role).value());
    }
    put_principal({"browser", every, {{CredentialKind::kClientCertificate, certificate_}}, {}});
  }

  test::ApiAnswer browse(const Route& route, const std::string& path, Headers headers) {
    return drive(route.pattern.listener,
                 head(route.pattern.method, path, "", "", std::move(headers)), "", certificate_);
  }
  bool refused(Headers headers) {
    headers.try_emplace("host", "assay.example:8443");
    const auto answer =
        drive(Listener::kApi, head(Method::kGet, "/version", "", "", headers), "", certificate_);
    EXPECT_TRUE(answer.status == 200 || answer.code() == "forbidden") << answer.body;
    return answer.status != 200;
  }

  const Digest certificate_ = sha256(as_bytes("browser's key"));
};

TEST_F(OtherSites, AreRefusedOnEveryRouteThatTakesACertificate) {
  const std::string id = "assay-tree-v1-sha256:" + std::string(64, '0');
  for (const Route& route : table_) {
    if (route.access.kind == Access::Kind::kPublic) {
      continue;
    }
    std::string path = route.pattern.path;
    for (std::size_t open = 0; (open = path.find('{')) != std::string::npos;) {
      path.replace(open, path.find('}') - open + 1, id);
    }
    for (const auto& [name, value] :
         Headers{{"origin", "https://evil.example"}, {"sec-fetch-site", "cross-site"}}) {
      const auto answer = browse(route, path, {{name, value}});
      EXPECT_EQ(answer.status, 403) << path << " " << name;
      EXPECT_TRUE(answer.json()["detail"].get<std::string>().contains("another site")) << path;
    }
  }
}

TEST_F(OtherSites, OnlyTheOwnOriginIsOwn) {
  for (const char* const origin : {"https://assay.example:8443", "HTTPS://Assay.Example:8443"}) {
    EXPECT_FALSE(refused({{"origin", origin}})) << origin;
  }
  for (const char* const origin :
       {"null", "", "https://assay.example", "https://assay.example:8444",
        "http://assay.example:8443", "https://assay.example:8443.evil.example",
        "https://assay.example:8443/", "https://evil.assay.example:8443"}) {
    EXPECT_TRUE(refused({{"origin", origin}})) << origin;
  }
  for (const char* const site : {"same-origin", "none"}) {
    EXPECT_FALSE(refused({{"sec-fetch-site", site}})) << site;
  }
  for (const char* const site : {"same-site", "cross-site", "", "Same-Origin", "none, none"}) {
    EXPECT_TRUE(refused({{"sec-fetch-site", site}})) << site;
  }
  EXPECT_TRUE(refused({{"origin", "https://assay.example:8443"}, {"sec-fetch-site", "cross-site"}}))
      << "one foreign field is enough";
  EXPECT_FALSE(refused({})) << "programs send neither";
}

TEST_F(OtherSites, MayLinkToTheConsole_AndTokensAreSentByNobodyElse) {
  const Headers foreign = {{"origin", "https://evil.example"}, {"sec-fetch-site", "cross-site"}};
  EXPECT_EQ(drive(Listener::kApi, head(Method::kGet, "/console", "", "", foreign), "", certificate_)
                .status,
            200);
  EXPECT_EQ(get("/version", "reader", foreign).status, 200);
}

}  // namespace
}  // namespace assay::server
