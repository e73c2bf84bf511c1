// SPDX-License-Identifier: Apache-2.0
// Parts of the API that need no store: problems, cursors, credentials.

#include <set>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "server/api/authenticate.h"
#include "server/api/cursor.h"
#include "server/api/problem_details.h"
#include "tests/support/vectors.h"

namespace assay::server {
namespace {

using test::code_of;

Json body_of(const Response& response) { return Json::parse(response.body); }

TEST(Problem, Error_BecomesAProblemDocument) {
  const Response response =
      problem({ErrorCode::kSchemaViolation, "no name", "/name"}, "/v1/manifests", "id-1");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_EQ(body_of(response), Json({{"type", "https://assay.dev/problems/schema-violation"},
                                     {"title", "The document does not follow its schema"},
                                     {"status", 400},
                                     {"code", "schema-violation"},
                                     {"detail", "no name"},
                                     {"where", "/name"},
                                     {"instance", "/v1/manifests"},
                                     {"request_id", "id-1"},
                                     {"retryable", false}}));
}

TEST(Problem, EveryCode_HasItsStatus) {
  for (std::size_t i = 0; i < error_code_count(); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    const Response response = problem({code, "secret detail", "secret place"}, "", "id");
    EXPECT_EQ(response.status, info(code).http_status);
    EXPECT_EQ(body_of(response)["code"], info(code).code);
    // What went wrong inside is nobody's business.
    EXPECT_EQ(response.body.find("secret") == std::string::npos, response.status == 500);
  }
}

TEST(Problem, RetryLater_IsSaid) {
  const auto has = [](const Response& response, const char* name) {
    return std::ranges::any_of(response.headers,
                               [name](const auto& field) { return field.first == name; });
  };
  EXPECT_TRUE(has(problem({ErrorCode::kOverloaded, "", ""}, "", ""), "Retry-After"));
  EXPECT_TRUE(has(problem({ErrorCode::kUnauthenticated, "", ""}, "", ""), "WWW-Authenticate"));
  EXPECT_FALSE(has(problem({ErrorCode::kForbidden, "", ""}, "", ""), "WWW-Authenticate"));
}

TEST(Problem, DetailThatIsNotUtf8_IsReplaced) {
  const Response response = problem({ErrorCode::kBadRequest, "a\xFF", ""}, "", "");
  EXPECT_EQ(body_of(response)["detail"], "a\xEF\xBF\xBD");
}

class CursorTest : public testing::Test {
 protected:
  CursorCodec codec_{SecretBytes(Bytes(32, 7))};
  Digest query_ = sha256(as_bytes("query"));
  Cursor cursor_{5, 1'000'000'000'000};
};

TEST_F(CursorTest, OwnCursor_IsRead) {
  EXPECT_EQ(codec_.decode(codec_.encode(cursor_, query_), query_), cursor_);
}

TEST_F(CursorTest, OtherQuery_IsRefused) {
  EXPECT_EQ(code_of(codec_.decode(codec_.encode(cursor_, query_), sha256(as_bytes("other")))),
            "invalid-cursor");
}

TEST_F(CursorTest, OtherKey_IsRefused) {
  const CursorCodec other(SecretBytes(Bytes(32, 8)));
  EXPECT_EQ(code_of(other.decode(codec_.encode(cursor_, query_), query_)), "invalid-cursor");
}

TEST_F(CursorTest, EveryChangedCharacter_IsRefused) {
  const std::string text = codec_.encode(cursor_, query_);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(code_of(codec_.decode(changed, query_)), "invalid-cursor") << i;
  }
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(code_of(codec_.decode(text.substr(0, size), query_)), "invalid-cursor") << size;
  }
  EXPECT_EQ(code_of(codec_.decode(text + "A", query_)), "invalid-cursor");
  EXPECT_EQ(code_of(codec_.decode(text + "=", query_)), "invalid-cursor");
}

Result<Credential> shown(const std::string& authorization, std::optional<Digest> key = {}) {
  Request request{};
  if (!authorization.empty()) {
    request.headers["authorization"] = authorization;
  }
  request.client_key = std::move(key);
  return credential_of(request);
}

TEST(CredentialOf, Token_IsHashed) {
  const auto credential = shown("Bearer assay_abc");
  ASSERT_TRUE(credential);
  EXPECT_EQ(credential->kind, CredentialKind::kToken);
  EXPECT_EQ(credential->sha256, sha256(as_bytes("assay_abc")));
  EXPECT_EQ(shown("bearer   assay_abc")->sha256, credential->sha256);
}

TEST(CredentialOf, ClientKey_IsTheSecondChoice) {
  const Digest key = sha256(as_bytes("spki"));
  EXPECT_EQ(shown("", key)->kind, CredentialKind::kClientCertificate);
  EXPECT_EQ(shown("", key)->sha256, key);
  EXPECT_EQ(shown("Bearer a", key)->kind, CredentialKind::kToken);
}

TEST(CredentialOf, AnythingElse_IsUnauthenticated) {
  const Digest key = sha256(as_bytes("spki"));
  EXPECT_EQ(code_of(shown("")), "unauthenticated");
  for (const std::string& header :
       {std::string("Basic YTpi"), std::string("Bearer"), std::string("Bearer "),
        std::string("Bearer a b"), std::string("Bearer a\"b"), std::string("assay_abc"),
        "Bearer " + std::string(513, 'a')}) {
    // A header that is no token never falls back to the certificate.
    EXPECT_EQ(code_of(shown(header, key)), "unauthenticated") << header;
  }
}

}  // namespace
}  // namespace assay::server
