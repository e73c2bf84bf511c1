// SPDX-License-Identifier: Apache-2.0
#include "server/api/console.h"

#include <algorithm>
#include <array>

#include "embedded/console.h"
#include "schemas/reason.h"

namespace assay::server {
namespace {

constexpr std::string_view kPage = "index.html";
constexpr std::string_view kReasons = "reasons.json";

// Nothing is loaded from elsewhere, nothing inline runs, no other page frames this one, and the
// browser itself refuses assignments of text to HTML (Trusted Types) where it can.
constexpr std::string_view kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

std::string_view type_of(std::string_view file) {
  using Row = std::pair<std::string_view, std::string_view>;
  static constexpr std::array kTypes = {
      Row{".html", "text/html; charset=utf-8"},
      Row{".css", "text/css; charset=utf-8"},
      Row{".js", "text/javascript; charset=utf-8"},
      Row{".json", kJson},
      Row{".svg", "image/svg+xml"},
  };
  const auto* const found =
      std::ranges::find_if(kTypes, [file](const Row& row) { return file.ends_with(row.first); });
  return found == kTypes.end() ? kBinary : found->second;
}

// The texts of schemas/reason_codes.def, so that a screen says why in a sentence.
const std::string& reasons() {
  static const std::string text = [] {
    Json table = Json::object();
    for (std::size_t row = 0; row < reason_count(); ++row) {
      const ReasonInfo& reason = info(static_cast<Reason>(row));
      table[std::string(reason.code)] = {{"title", reason.title}, {"next", reason.next}};
    }
    return table.dump();
  }();
  return text;
}

Result<std::string_view> text_of(std::string_view file) {
  if (file == kReasons) {
    return reasons();
  }
  const auto* const found =
      std::ranges::find(embedded::kConsoleFiles, file, [](const auto& row) { return row.first; });
  if (found == embedded::kConsoleFiles.end()) {
    return fail(ErrorCode::kNotFound, "the console has no such file");
  }
  return found->second;
}

Result<Response> file_response(const Call& call, std::string_view file) {
  ASSAY_ASSIGN(const std::string_view text, text_of(file));
  Response response;
  response.content_type = type_of(file);
  response.body = std::string(text);
  response = with_etag(call, std::move(response), "no-cache");
  response.headers.emplace_back("Content-Security-Policy", kContentPolicy);
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  return response;
}

Result<Response> get_console(Api& /*api*/, const Call& call) { return file_response(call, kPage); }

Result<Response> get_console_file(Api& /*api*/, const Call& call) {
  return file_response(call, call.capture("file"));
}

Route file_route(std::string path, Handler handler) {
  Route route{{Method::kGet, Listener::kApi, std::move(path)},
              {Access::Kind::kPublic, {}},
              {},
              0,
              {},
              {},
              handler};
  // Memory alone is read, so that a busy service shows its console.
  route.at_once = true;
  return route;
}

}  // namespace

std::vector<Route> with_console(std::vector<Route> table) {
  table.push_back(file_route("/console", get_console));
  table.push_back(file_route("/console/{file}", get_console_file));
  return table;
}

}  // namespace assay::server
