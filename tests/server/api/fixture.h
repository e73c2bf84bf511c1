// SPDX-License-Identifier: Apache-2.0
// The whole API over a real store, without sockets: a request is driven as a session would.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/api/dispatch.h"
#include "tests/server/service/fixture.h"

namespace assay::server::test {

struct ApiAnswer {
  int status = 0;
  std::string content_type;
  std::map<std::string, std::string> headers;
  std::string body;

  [[nodiscard]] Json json() const { return Json::parse(body, nullptr, false); }
  [[nodiscard]] std::string code() const { return json().value("code", ""); }
  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

class Recording final : public Observer {
 public:
  void on_request(const RequestRecord& record) override { requests.push_back(record); }
  void on_connection(Listener /*listener*/, ConnectionEvent /*event*/) override {}
  void on_defect(std::string_view what) override { ADD_FAILURE() << what; }

  std::vector<RequestRecord> requests;
};

// Principals are named like their one role and hold the token "assay_<role>".
class ApiTest : public ServiceTest {
 protected:
  ApiTest();

  // `role` empty: no credential. A body implies Content-Length, and the media type of an envelope
  // unless `headers` say otherwise.
  ApiAnswer call(Method method, const std::string& target, const std::string& role,
                 std::string_view body = "", Headers headers = {});
  ApiAnswer get(const std::string& target, const std::string& role = "auditor",
                Headers headers = {});
  ApiAnswer post(const std::string& target, const std::string& role, ByteView body);
  ApiAnswer post_json(const std::string& target, const std::string& role, const Json& body);
  ApiAnswer drive(Listener listener, Head head, std::string_view body,
                  std::optional<Digest> client_key = {});
  static Head head(Method method, const std::string& target, const std::string& role,
                   std::string_view body, Headers headers);
  // Every item of a list, page by page.
  std::vector<Json> pages(const std::string& target, std::size_t limit);

  void put_principal(const Principal& principal);
  void put_principals(const std::vector<Principal>& principals);
  // In one write, with its record.
  void change_trust(const std::function<Status(storage::Transaction&)>& work);
  void make_dispatcher(DispatchOptions options, const std::vector<Route>& table = routes());

  std::unique_ptr<Api> api_;
  Recording recording_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::vector<bool> decided_;
  std::chrono::seconds body_takes_{0};  // from the header to the last byte
};

inline const std::vector<std::string>& role_names() {
  static const std::vector<std::string> names = {
      "reader",  "submitter", "worker",  "policy-author", "policy-approver",
      "decider", "admission", "auditor", "monitor",       "admin"};
  return names;
}

}  // namespace assay::server::test
