// SPDX-License-Identifier: Apache-2.0
#include "tests/server/api/fixture.h"

#include "schemas/core/sha.h"
#include "tests/server/api/documented.h"
#include "tests/support/seen_codes.h"

namespace assay::server::test {

ApiTest::ApiTest() {
  api_.reset(new Api{*services_, CursorCodec(SecretBytes(Bytes(32, 1))), "1.2.3",
                     "example.com/log+00000000+AA==", Json{{"keys", Json::array()}},
                     [] { return std::string("metrics\n"); },
                     [this] { dispatcher_->forget_principals(); },
                     [this](bool allowed) { decided_.push_back(allowed); }});
  make_dispatcher({});
  std::vector<Principal> principals;
  for (const std::string& role : role_names()) {
    principals.push_back({role,
                          {access_role_from(role).value()},
                          {{CredentialKind::kToken, sha256(as_bytes("assay_" + role))}},
                          {}});
  }
  put_principals(principals);
}

void ApiTest::make_dispatcher(DispatchOptions options, const std::vector<Route>& table) {
  dispatcher_ = std::make_unique<Dispatcher>(*api_, table, std::move(options), recording_);
}

void ApiTest::change_trust(const std::function<Status(storage::Transaction&)>& work) {
  const auto done = store_->write([&](storage::Transaction& transaction) -> Status {
    ASSAY_TRY(work(transaction));
    ASSAY_TRY(transaction.append({.type = "trust.changed",
                                  .time = transaction.now(),
                                  .actor = "test",
                                  .subjects = {},
                                  .documents = {},
                                  .detail = Json::object()}));
    return {};
  });
  ASSERT_TRUE(done) << to_string(done.error());
}

void ApiTest::put_principals(const std::vector<Principal>& principals) {
  change_trust([&](storage::Transaction& transaction) -> Status {
    for (const Principal& principal : principals) {
      ASSAY_TRY(transaction.put_principal(principal));
    }
    return {};
  });
}

void ApiTest::put_principal(const Principal& principal) { put_principals({principal}); }

Head ApiTest::head(Method method, const std::string& target, const std::string& role,
                   std::string_view body, Headers headers) {
  Head made;
  made.method = method;
  made.target = target;
  made.headers = std::move(headers);
  made.headers.try_emplace("host", "localhost");
  made.content_length = body.size();
  if (!role.empty()) {
    made.headers.try_emplace("authorization", "Bearer assay_" + role);
  }
  if (method == Method::kPost) {
    made.headers.try_emplace("content-type", "application/vnd.dsse.envelope.v1+json");
  }
  return made;
}

// Every answer is as schemas/openapi.yaml says.
ApiAnswer ApiTest::drive(Listener listener, Head head, std::string_view body,
                         std::optional<Digest> client_key) {
  const std::optional<Method> method = head.method;
  const std::string target = head.target;
  const auto exchange = dispatcher_->open(listener, std::move(head), std::move(client_key));
  auto admission = exchange->admit_now();
  if (admission == Exchange::Admission::kAskPool) {
    admission = exchange->admit();
  }
  Response response;
  if (admission == Exchange::Admission::kAtOnce) {
    response = exchange->handle({});
  } else if (admission == Exchange::Admission::kAdmitted) {
    clock_.advance(body_takes_);
    exchange->received();
    response = exchange->handle(to_bytes(body));
  } else {
    response = exchange->refusal();
  }
  exchange->close(response.status, response.body.size());
  ApiAnswer answer{response.status, response.content_type, {}, response.body};
  answer.headers.insert(response.headers.begin(), response.headers.end());
  if (answer.status >= 400) {
    assay::test::note_seen_line("text " + answer.code());
  }
  if (method) {
    EXPECT_EQ(not_documented(listener, *method, target, answer), "")
        << name(*method) << " " << target;
  }
  return answer;
}

ApiAnswer ApiTest::call(Method method, const std::string& target, const std::string& role,
                        std::string_view body, Headers headers) {
  return drive(Listener::kApi, head(method, target, role, body, std::move(headers)), body);
}

ApiAnswer ApiTest::get(const std::string& target, const std::string& role, Headers headers) {
  return call(Method::kGet, target, role, "", std::move(headers));
}

ApiAnswer ApiTest::post(const std::string& target, const std::string& role, ByteView body) {
  return call(Method::kPost, target, role, as_text(body));
}

ApiAnswer ApiTest::post_json(const std::string& target, const std::string& role, const Json& body) {
  return call(Method::kPost, target, role, body.dump(), {{"content-type", "application/json"}});
}

std::vector<Json> ApiTest::pages(const std::string& target, std::size_t limit) {
  std::vector<Json> items;
  std::string next = target + (target.contains('?') ? "&" : "?") + "limit=" + std::to_string(limit);
  const std::string first = next;
  for (int page = 0; page < 100 && !next.empty(); ++page) {
    const Json body = get(next).json();
    EXPECT_TRUE(body.contains("items")) << body;
    if (!body.contains("items")) {
      break;
    }
    EXPECT_LE(body["items"].size(), limit);
    items.insert(items.end(), body["items"].begin(), body["items"].end());
    next = body.contains("next_cursor")
               ? first + "&cursor=" + body["next_cursor"].get<std::string>()
               : "";
  }
  return items;
}

}  // namespace assay::server::test
