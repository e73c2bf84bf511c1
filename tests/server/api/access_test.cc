// SPDX-License-Identifier: Apache-2.0
// Who may call what, and what every route refuses in the same way.

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "schemas/document_size.h"
#include "schemas/report_size.h"
#include "tests/server/api/fixture.h"

namespace assay::server {
namespace {

using AccessTest = test::ApiTest;
using test::role_names;

constexpr const char* kId =
    "sha256:0000000000000000000000000000000000000000000000000000000000000000";

// A path that the route's template matches.
std::string sample(const Route& route) {
  std::string path = route.pattern.path;
  for (std::size_t open = 0; (open = path.find('{')) != std::string::npos;) {
    const std::size_t close = path.find('}', open);
    const std::string name = path.substr(open + 1, close - open - 1);
    const std::string value = name == "id"         ? kId
                              : name == "artifact" ? "assay-tree-v1-" + std::string(kId)
                              : name == "index..." ? "000"
                                                   : "0";
    path.replace(open, close - open + 1, value);
  }
  return path;
}

TEST_F(AccessTest, EveryRouteAndRole_FollowTheTable) {
  for (const Route& route : routes()) {
    for (const std::string& role : role_names()) {
      Head head = AccessTest::head(route.pattern.method, sample(route), role, "", {});
      const auto answer = drive(route.pattern.listener, std::move(head), "");
      const bool allowed = route.access.kind != Access::Kind::kRoles ||
                           route.access.roles.contains(access_role_from(role).value());
      // Other codes with this status say that the node may not act.
      const bool forbidden = answer.status == 403 && answer.code() == "forbidden";
      EXPECT_EQ(forbidden, !allowed) << route.pattern.path << " " << role;
      EXPECT_NE(answer.status, 401) << route.pattern.path << " " << role;
      EXPECT_LT(answer.status, 500) << route.pattern.path << " " << role;
    }
  }
}

TEST_F(AccessTest, WithoutCredential_OnlyPublicRoutesAnswer) {
  std::set<std::string> open;
  for (const Route& route : routes()) {
    const auto answer =
        drive(route.pattern.listener, head(route.pattern.method, sample(route), "", "", {}), "");
    if (answer.status != 401) {
      open.insert(route.pattern.path);
      continue;
    }
    EXPECT_EQ(answer.code(), "unauthenticated");
    EXPECT_EQ(answer.header("WWW-Authenticate"), "Bearer realm=\"assay\"");
  }
  EXPECT_EQ(open,
            (std::set<std::string>{"/livez", "/openapi.json", "/.well-known/jwks.json", "/readyz",
                                   "/log/checkpoint", "/log/tile/{level}/{index...}"}));
}

TEST_F(AccessTest, EntryBundles_NeedAuditorUnlessTheConfigurationSaysPublic) {
  const std::string bundle = "/log/tile/entries/000.p/1";
  EXPECT_EQ(get(bundle, "").status, 401);
  EXPECT_EQ(get(bundle, "reader").code(), "forbidden");
  // Another spelling leads to the same route, not to the public one of the hash tiles.
  EXPECT_EQ(get("/log/tile/%65ntries/000.p/1", "").status, 401);
  EXPECT_EQ(get("/log/tile/0%2fx001/000", "").status, 400);
  const auto closed = get(bundle, "auditor");
  EXPECT_EQ(closed.status, 200);
  EXPECT_EQ(closed.header("Cache-Control"), kRevalidate);
  make_dispatcher({}, routes_with_public_entries());
  const auto open = get(bundle, "");
  EXPECT_EQ(open.status, 200);
  EXPECT_TRUE(open.header("Cache-Control").starts_with("public"));
  EXPECT_EQ(get("/v1/audit/events", "").status, 401);
}

TEST_F(AccessTest, UnknownToken_IsUnauthenticated) {
  EXPECT_EQ(get("/version", "nobody").status, 401);
  EXPECT_EQ(get("/version", "", {{"authorization", "Basic YTpi"}}).status, 401);
}

TEST_F(AccessTest, PrincipalWhoseTimeIsOver_IsUnauthenticatedAlsoFromMemory) {
  put_principal({"brief",
                 {AccessRole::kReader},
                 {{CredentialKind::kToken, sha256(as_bytes("assay_brief"))}},
                 clock_.now() + std::chrono::milliseconds(500)});
  EXPECT_EQ(get("/version", "brief").status, 200);
  clock_.advance(std::chrono::milliseconds(501));
  EXPECT_EQ(get("/version", "brief").status, 401);
  clock_.advance(std::chrono::seconds(10));
  EXPECT_EQ(get("/version", "brief").status, 401);
}

TEST_F(AccessTest, RemovedPrincipal_IsRememberedForASecondAtMost) {
  EXPECT_EQ(get("/version", "worker").status, 200);
  change_trust(
      [](storage::Transaction& transaction) { return transaction.remove_principal("worker"); });
  clock_.advance(std::chrono::milliseconds(1001));
  EXPECT_EQ(get("/version", "worker").status, 401);
}

TEST_F(AccessTest, ClientKey_IsAPrincipalsCredential) {
  const Digest key = sha256(as_bytes("spki"));
  put_principal({"mtls", {AccessRole::kReader}, {{CredentialKind::kClientCertificate, key}}, {}});
  EXPECT_EQ(drive(Listener::kApi, head(Method::kGet, "/version", "", "", {}), "", key).status, 200);
  EXPECT_EQ(drive(Listener::kApi, head(Method::kGet, "/version", "", "", {}), "",
                  sha256(as_bytes("other")))
                .status,
            401);
  // The digest of a key is no token, and the other way round.
  EXPECT_EQ(get("/version", "", {{"authorization", "Bearer spki"}}).status, 401);
}

TEST_F(AccessTest, UnknownRoute_IsNotFound) {
  for (const char* target : {"/", "/v1", "/v2/manifests", "/v1/manifests/", "/v1/manifests/a/b"}) {
    const auto answer = get(target);
    EXPECT_EQ(answer.status, 404) << target;
    EXPECT_EQ(answer.content_type, "application/problem+json");
    EXPECT_EQ(answer.json()["instance"], target);
  }
}

TEST_F(AccessTest, OtherListenersRoutes_AreNotFound) {
  EXPECT_EQ(call(Method::kPost, "/v1/admission/validate", "admission", "{}").status, 404);
  EXPECT_EQ(
      drive(Listener::kAdmission, head(Method::kGet, "/version", "auditor", "", {}), "").status,
      404);
}

// An orchestrator asks for decisions; it must not make up pods that an API server admitted. And an
// API server asks for nothing else.
TEST_F(AccessTest, OnlyTheRoleAdmission_SpeaksForPods) {
  const auto review = [this](const std::string& verb, const std::string& role) {
    Head made = head(Method::kPost, "/v1/admission/" + verb, role, "{}",
                     {{"content-type", "application/json"}});
    return drive(Listener::kAdmission, std::move(made), "{}");
  };
  for (const char* verb : {"validate", "mutate"}) {
    for (const std::string& role : role_names()) {
      const auto answer = review(verb, role);
      EXPECT_EQ(answer.status, role == "admission" ? 400 : 403) << verb << " " << role;
      EXPECT_EQ(answer.code(), role == "admission" ? "malformed-admission-review" : "forbidden");
    }
  }
  EXPECT_EQ(post_json("/v1/decisions", "admission", {{"point", "create"}}).code(), "forbidden");
  EXPECT_NE(post_json("/v1/decisions", "decider", {{"point", "create"}}).code(), "forbidden");
}

TEST_F(AccessTest, WrongMethod_NamesTheRightOnes) {
  const auto answer = call(Method::kDelete, "/v1/manifests", "auditor");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.header("Allow"), "POST, GET, HEAD, OPTIONS");
  Head brew = head(Method::kGet, "/livez", "", "", {});
  brew.method = std::nullopt;
  const auto unknown = drive(Listener::kApi, std::move(brew), "");
  EXPECT_EQ(unknown.status, 405);
  EXPECT_EQ(unknown.header("Allow"), "GET, HEAD, OPTIONS");
}

TEST_F(AccessTest, BodyOfAMethodThatThePathDoesNotHave_IsMethodNotAllowed) {
  for (const Method method : {Method::kDelete, Method::kPut, Method::kPost}) {
    const auto answer = call(method, "/livez", "", "{}");
    EXPECT_EQ(answer.status, 405) << name(method);
    EXPECT_EQ(answer.header("Allow"), "GET, HEAD, OPTIONS") << name(method);
  }
  Head patch = head(Method::kGet, "/v1/manifests", "", "{}", {});
  patch.method = std::nullopt;
  EXPECT_EQ(drive(Listener::kApi, std::move(patch), "{}").status, 405);
  // A method that the path has, and that takes none.
  for (const Method method : {Method::kGet, Method::kHead, Method::kOptions}) {
    EXPECT_EQ(call(method, "/livez", "", "{}").code(), "bad-request") << name(method);
  }
  EXPECT_EQ(call(Method::kDelete, "/nothing", "", "{}").status, 404);
}

TEST_F(AccessTest, Options_AnswersAllow) {
  const auto answer = call(Method::kOptions, "/v1/manifests", "worker");
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.header("Allow"), "POST, GET, HEAD, OPTIONS");
  EXPECT_EQ(call(Method::kOptions, "/v1/manifests", "").status, 401);
  EXPECT_EQ(call(Method::kOptions, "/livez", "").status, 204);
  EXPECT_EQ(call(Method::kOptions, "/nothing", "worker").status, 404);
}

TEST_F(AccessTest, Head_IsAnsweredLikeGet) {
  EXPECT_EQ(call(Method::kHead, "/livez", "").status, 200);
  EXPECT_EQ(call(Method::kHead, "/v1/manifests", "reader").status, 200);
}

TEST_F(AccessTest, UnknownParameter_IsAnError) {
  const auto answer = get("/v1/manifests?singer=" + std::string(kId));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.code(), "unknown-parameter");
  EXPECT_EQ(answer.json()["where"], "singer");
  EXPECT_EQ(get("/livez?verbose", "").code(), "unknown-parameter");
}

TEST_F(AccessTest, RepeatedParameter_IsAnError) {
  EXPECT_EQ(get("/v1/manifests?name=a&name=b").code(), "invalid-parameter");
}

TEST_F(AccessTest, Accept_IsNegotiated) {
  EXPECT_EQ(get("/version", "reader", {{"accept", "text/html"}}).status, 406);
  EXPECT_EQ(get("/version", "reader", {{"accept", "text/html, */*;q=0.1"}}).status, 200);
}

TEST_F(AccessTest, OtherMediaType_IsUnsupported) {
  for (const std::string& type : {std::string("text/plain"), std::string(), std::string("json")}) {
    EXPECT_EQ(
        call(Method::kPost, "/v1/manifests", "submitter", "{}", {{"content-type", type}}).status,
        415)
        << type;
  }
  EXPECT_EQ(call(Method::kPost, "/v1/manifests", "submitter", "{}",
                 {{"content-type", "application/json; charset=utf-8"}})
                .status,
            400);
}

TEST_F(AccessTest, Bodies_AreTakenUpToTheLimitOfTheirRouteAndNotOnePast) {
  std::map<std::string, std::uint64_t> limits;
  for (const Route& route : routes()) {
    const Method method = route.pattern.method;
    if (method != Method::kPost && method != Method::kPut) {
      continue;
    }
    limits[route.pattern.path] = route.body_limit;
    const std::string role = route.access.kind == Access::Kind::kRoles
                                 ? std::string(name(*route.access.roles.begin()))
                                 : "worker";
    const std::string type(route.consumes.empty() ? kJson : route.consumes.front());
    for (const bool over : {false, true}) {
      Head sent = head(method, sample(route), role, "", {{"content-type", type}});
      sent.content_length = route.body_limit + (over ? 1 : 0);
      const auto answer = drive(route.pattern.listener, std::move(sent), "");
      EXPECT_EQ(answer.code() == "payload-too-large", over) << route.pattern.path;
      EXPECT_EQ(answer.status == 413, over) << route.pattern.path;
    }
  }
  EXPECT_EQ(limits["/v1/manifests"], kMaxEnvelopeBytes);
  EXPECT_EQ(limits["/v1/attestations"], kMaxOtherEnvelopeBytes);
  EXPECT_EQ(limits["/v1/decisions"], std::uint64_t{256} << 10);
  EXPECT_EQ(limits["/v1/jobs/{id}/report"], kMaxReportBody);
  EXPECT_EQ(limits["/v1/nodes/{node}/heartbeat"], std::uint64_t{128} << 10);
  EXPECT_EQ(limits["/v1/models/{artifact}/outline"], std::uint64_t{64} << 20);
}

TEST_F(AccessTest, RequestId_IsTakenOverWhenItIsSafe) {
  EXPECT_EQ(get("/livez", "", {{"x-request-id", "abc-1.2_3"}}).header("X-Request-Id"), "abc-1.2_3");
  const auto answer = get("/nothing", "", {{"x-request-id", "a b\"c"}});
  EXPECT_TRUE(is_uuid_v7(answer.header("X-Request-Id")));
  EXPECT_EQ(answer.json()["request_id"], answer.header("X-Request-Id"));
}

TEST_F(AccessTest, RequestThatWaitedTooLong_IsNotHandled) {
  const auto exchange =
      dispatcher_->open(Listener::kApi, head(Method::kGet, "/openapi.json", "", "", {}), {});
  ASSERT_EQ(exchange->admit_now(), Exchange::Admission::kAdmitted);
  clock_.advance(std::chrono::minutes(1));
  const Response response = exchange->handle({});
  EXPECT_EQ(response.status, 503);
}

// Whose connection ends when there are too many.
TEST_F(AccessTest, Sender_IsKnownByAGoodCredentialAlone) {
  const auto is_identified = [this](const std::string& target, const std::string& role) {
    const auto exchange =
        dispatcher_->open(Listener::kApi, head(Method::kGet, target, role, "", {}), {});
    if (exchange->admit_now() == Exchange::Admission::kAskPool) {
      static_cast<void>(exchange->admit());
    }
    return exchange->is_identified();
  };
  EXPECT_TRUE(is_identified("/v1/manifests", "reader"));
  EXPECT_TRUE(is_identified("/v1/trust", "reader")) << "without the role, but known";
  EXPECT_FALSE(is_identified("/v1/manifests", ""));
  EXPECT_FALSE(is_identified("/v1/manifests", "nobody"));
  EXPECT_FALSE(is_identified("/nothing", ""));
  EXPECT_FALSE(is_identified("/openapi.json", "reader")) << "nobody looks";
}

// For whom places and memory are counted: a known credential stays its holder's when the principal
// must be read again.
TEST_F(AccessTest, Sender_IsWhoeverHeldTheCredentialLast) {
  const auto asked = [this](const std::string& target, const std::string& role) {
    auto exchange = dispatcher_->open(Listener::kApi, head(Method::kGet, target, role, "", {}), {});
    const auto admission = exchange->admit_now();
    const std::string caller = exchange->caller();
    if (admission == Exchange::Admission::kAskPool) {
      static_cast<void>(exchange->admit());
    }
    return std::pair(admission, caller);
  };
  using enum Exchange::Admission;
  EXPECT_EQ(asked("/v1/manifests", "reader"), std::pair(kAskPool, std::string())) << "never seen";
  EXPECT_EQ(asked("/v1/manifests", "reader"), std::pair(kAdmitted, std::string("reader")));
  clock_.advance(std::chrono::minutes(1));
  EXPECT_EQ(asked("/v1/manifests", "reader"), std::pair(kAskPool, std::string("reader")));
  dispatcher_->forget_principals();
  EXPECT_EQ(asked("/v1/manifests", "reader"), std::pair(kAskPool, std::string("reader")));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(asked("/v1/manifests", "nobody"), std::pair(kAskPool, std::string()));
  }
  EXPECT_EQ(asked("/openapi.json", "reader"), std::pair(kAdmitted, std::string()))
      << "nobody looks";
}

// The io thread answers what needs no other one, and nothing else.
TEST_F(AccessTest, Probes_WaitForNoThreadAndAreTheOnlyOnes) {
  const std::set<std::string> probes = {"/livez", "/readyz"};
  for (const Route& route : routes()) {
    EXPECT_EQ(route.at_once, probes.contains(route.pattern.path)) << route.pattern.path;
  }
  for (const Method method : {Method::kGet, Method::kHead}) {
    for (const std::string& probe : probes) {
      const auto exchange = dispatcher_->open(Listener::kApi, head(method, probe, "", "", {}), {});
      EXPECT_EQ(exchange->admit_now(), Exchange::Admission::kAtOnce) << probe;
      EXPECT_EQ(exchange->handle({}).body, "ok\n") << probe;
    }
  }
  const auto wrong =
      dispatcher_->open(Listener::kApi, head(Method::kGet, "/livez?a=b", "", "", {}), {});
  EXPECT_EQ(wrong->admit_now(), Exchange::Admission::kRefused);
}

TEST_F(AccessTest, HeartbeatsAndLeases_HaveTurnsOfTheirOwnAndNothingElse) {
  const std::set<std::string> vital = {"/v1/nodes/{node}/heartbeat", "/v1/nodes/{node}/lease",
                                       "/v1/jobs/{id}:renew", "/v1/jobs/{id}:fail"};
  for (const Route& route : routes()) {
    EXPECT_EQ(route.vital, vital.contains(route.pattern.path)) << route.pattern.path;
  }
  const auto beat = dispatcher_->open(
      Listener::kApi, head(Method::kPost, "/v1/nodes/n/heartbeat", "worker", "{}", {}), {});
  EXPECT_TRUE(beat->is_vital());
  EXPECT_FALSE(
      dispatcher_->open(Listener::kApi, head(Method::kGet, "/v1/nodes", "worker", "", {}), {})
          ->is_vital());
}

TEST_F(AccessTest, Observer_SeesTemplatesAndNoValues) {
  get("/v1/manifests/" + std::string(kId) + "?secret=hush", "reader");
  get("/v1/manifests?name=hush", "reader");
  ASSERT_EQ(recording_.requests.size(), 2U);
  const RequestRecord& record = recording_.requests.front();
  EXPECT_EQ(record.route, "/v1/manifests/{id}");
  EXPECT_EQ(record.principal, "reader");
  EXPECT_EQ(record.method, "GET");
  EXPECT_EQ(record.status, 400);
  EXPECT_EQ(record.code, "unknown-parameter");
  EXPECT_EQ(record.why, "");
  EXPECT_EQ(recording_.requests.back().code, "");
}

TEST_F(AccessTest, AdmissionSecret_StandsForThePrincipal) {
  DispatchOptions options;
  options.admission_secret = "0123456789abcdef0123456789abcdef";
  options.admission_principal = {"webhook", {AccessRole::kAdmission}, {}, {}};
  make_dispatcher(options);
  const auto status = [this](const std::string& prefix, const std::string& role) {
    Head made = head(Method::kPost, prefix + "/v1/admission/validate", role, "{}",
                     {{"content-type", "application/json"}});
    return drive(Listener::kAdmission, std::move(made), "{}").status;
  };
  EXPECT_EQ(status("/" + options.admission_secret, ""), 400);
  EXPECT_EQ(recording_.requests.back().principal, "webhook");
  EXPECT_EQ(recording_.requests.back().route, "/v1/admission/validate");
  EXPECT_EQ(status("", "decider"), 404);
  EXPECT_EQ(status("", "admission"), 404);
  EXPECT_EQ(status("/", ""), 404);
  EXPECT_EQ(status("/0123456789abcdef0123456789abcdeF", ""), 404);
  EXPECT_EQ(status("/0123456789abcdef0123456789abcdef0", ""), 404);
  EXPECT_EQ(status("/0123456789abcdef0123456789abcde", ""), 404);
}

TEST_F(AccessTest, BadBodies_NeverGiveA5xx) {
  const std::vector<std::string> bodies = {
      "",
      "{",
      "null",
      "[]",
      "\"a\"",
      "{}",
      "{\"a\":1,\"a\":2}",
      "{\"payload\":1}",
      R"({"payload":"","payloadType":"","signatures":[]})",
      R"({"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[{"sig":"AA=="}]})",
      R"({"payload":"!!","payloadType":"x","signatures":[{"sig":"AA=="}]})",
      R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":""}})",
      R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":5}})",
      R"({"point":"create","model":"\u0000","workload":{"labels":{"a":1}}})",
      R"({"point":"create","model":"../../etc"})",
      R"({"point":"nowhere"})",
      R"({"name":"a","version":1e400})",
      "\xFF\xFE",
      std::string(70, '['),
      std::string("{\"a\":\"") + '\0' + "\"}"};
  for (const Route& route : routes()) {
    if (route.pattern.method != Method::kPost || route.consumes.empty()) {
      continue;
    }
    const std::string role = route.access.kind == Access::Kind::kRoles
                                 ? std::string(name(*route.access.roles.begin()))
                                 : "worker";
    for (const std::string& body : bodies) {
      Head made =
          head(Method::kPost, sample(route), role, body, {{"content-type", "application/json"}});
      const auto answer = drive(route.pattern.listener, std::move(made), body);
      EXPECT_LT(answer.status, 500) << route.pattern.path << " " << body;
      if (answer.status != 200) {
        EXPECT_EQ(answer.content_type, "application/problem+json");
      }
    }
  }
}

// A mistyped filter is an error, and never an empty list that looks like good news.
TEST_F(AccessTest, FiltersWithAForm_AreChecked) {
  const std::string artifact = "assay-tree-v1-" + std::string(kId);
  const std::vector<std::pair<std::string, std::vector<std::string>>> wrong = {
      {"/v1/decisions",
       {"reason=report-mising", "reason=", "verdict=denied", "order=latest", "total=1",
        "namespace=", "subject=acme/demo", "since=yesterday"}},
      {"/v1/manifests", {"name=Acme/Demo", "name=acme/", "artifact=abc", "signer=ci"}},
      {"/v1/attestations",
       {"stage=Evaluate", "stage=-a", "predicate_type=slsa", "subject=abc", "subject=sha256:"}},
      {"/v1/policies", {"name=acme/prod", "name=a--b", "active=yes"}},
      {"/v1/jobs", {"node=GPU_1", "node=", "after=abc", "state=done", "artifact=abc"}},
      {"/v1/nodes", {"after=GPU_1", "after="}},
      {"/v1/audit/events",
       {"type=decision.maid", "type=decision", "actor=a%20b", "subject=", "order=latest"}}};
  for (const auto& [path, queries] : wrong) {
    for (const std::string& query : queries) {
      const auto answer = get(path + "?" + query, "auditor");
      EXPECT_EQ(answer.status, 400) << path << "?" << query;
      EXPECT_NE(answer.code(), "unknown-parameter") << path << "?" << query;
    }
  }
  for (const std::string& right :
       {std::string("/v1/decisions?reason=report-missing&verdict=deny&order=oldest"),
        "/v1/decisions?subject=" + artifact + "&namespace=Team%20A",
        std::string("/v1/manifests?name=acme/demo-llm_1.0"),
        std::string(
            "/v1/attestations?stage=own-stage2&predicate_type=https://slsa.dev/provenance/v1"),
        std::string("/v1/attestations?subject=sha512:00ff"),
        std::string("/v1/policies?name=9-prod"),
        std::string("/v1/jobs?node=gpu-1.example&state=open"), std::string("/v1/nodes?after=gpu-1"),
        std::string("/v1/audit/events?type=trust.&actor=system"),
        std::string("/v1/audit/events?type=decision.made&subject=node:a")}) {
    EXPECT_EQ(get(right, "auditor").status, 200) << right;
  }
}

TEST_F(AccessTest, LimitOfAnySize_CountsAsAThousand) {
  EXPECT_EQ(get("/v1/decisions?limit=999", "auditor").json()["limit"], 999);
  for (const char* limit :
       {"1000", "1001", "0001000", "9007199254740993", "99999999999999999999"}) {
    EXPECT_EQ(get("/v1/decisions?limit=" + std::string(limit), "auditor").json()["limit"], 1000)
        << limit;
  }
  for (const char* limit : {"0", "000", "-1", "1e3", "1.0", "", "%2B1"}) {
    EXPECT_EQ(get("/v1/decisions?limit=" + std::string(limit), "auditor").code(),
              "invalid-parameter")
        << limit;
  }
}

TEST_F(AccessTest, BadParameters_NeverGiveA5xx) {
  const std::vector<std::string> values = {
      "",       "0",      "-1", "1e3",          "99999999999999999999",
      "true",   "sha256", kId,  "%F0%9F%98%80", "2026-13-01T00:00:00Z",
      "'%3B--", "%25"};
  for (const Route& route : routes()) {
    if (route.pattern.method != Method::kGet) {
      continue;
    }
    for (const std::string_view parameter : route.parameters) {
      for (const std::string& value : values) {
        const std::string role = route.access.kind == Access::Kind::kRoles
                                     ? std::string(name(*route.access.roles.begin()))
                                     : "worker";
        const auto answer = get(sample(route) + "?" + std::string(parameter) + "=" + value, role);
        EXPECT_LT(answer.status, 500) << route.pattern.path << " " << parameter << "=" << value;
      }
    }
  }
}

}  // namespace
}  // namespace assay::server
