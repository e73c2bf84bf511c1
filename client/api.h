// SPDX-License-Identifier: Apache-2.0
// Calls of the service's REST interface as verbs use them (schemas/openapi.yaml).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/documents/documents.h"
#include "client/http_client.h"
#include "schemas/core/json.h"

namespace assay::cli {

// "?name=value&...", percent-encoded; parameters without a value are left out.
class Query {
 public:
  void add(std::string_view name, std::string_view value);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

[[nodiscard]] std::string percent_encode(std::string_view text);

class Api {
 public:
  // Settings, credential and client in one.
  [[nodiscard]] static Result<Api> open(const Context& context, const ConnectionFlags& flags,
                                        Endpoint endpoint = Endpoint::kApi);

  [[nodiscard]] Result<Json> get(const std::string& path);
  [[nodiscard]] Result<Bytes> get_bytes(const std::string& path, std::string_view accept,
                                        bool authenticated = true);
  [[nodiscard]] Result<Json> post(const std::string& path, ByteView body,
                                  std::string_view content_type, bool repeatable = true);
  [[nodiscard]] Result<Json> put(const std::string& path, ByteView body,
                                 std::string_view content_type);

  // Pages of a list with `limit` items together (all when absent), one call of `take` for each. The
  // last page comes back; its "next_cursor" or "next" says that there are more.
  [[nodiscard]] Result<Json> each_page(const std::string& path, const Query& query,
                                       std::optional<std::uint64_t> limit,
                                       const std::function<void(const Json& items)>& take);
  // The same as one page with all items.
  [[nodiscard]] Result<Json> list(const std::string& path, const Query& query,
                                  std::optional<std::uint64_t> limit);

  // Where an envelope with this payload goes, and what came back.
  [[nodiscard]] Result<Json> push(const LoadedDocument& document, ByteView envelope);

 private:
  explicit Api(HttpClient client) : client_(std::move(client)) {}

  [[nodiscard]] Result<Json> send(const char* method, const std::string& path, ByteView body,
                                  std::string_view content_type, bool repeatable);

  HttpClient client_;
};

// --- members of answers, which need not be there: an empty text, 0, or an empty list then

[[nodiscard]] std::string text_at(const Json& json, const char* member);
[[nodiscard]] std::uint64_t number_at(const Json& json, const char* member);
[[nodiscard]] const Json& list_at(const Json& json, const char* member);
// Texts of a list, joined by ", ".
[[nodiscard]] std::string joined_at(const Json& json, const char* member);

}  // namespace assay::cli
