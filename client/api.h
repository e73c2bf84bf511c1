// SPDX-License-Identifier: Apache-2.0
// Calls of the service's REST interface (schemas/openapi.yaml) with JSON in and out. Lists are read
// page by page.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "client/http_client.h"
#include "schemas/core/json.h"

namespace assay::client {

// A query string "?name=value&...", percent-encoded. Parameters with an empty value are left out.
class Query {
 public:
  void add(std::string_view name, std::string_view value);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

[[nodiscard]] std::string percent_encode(std::string_view text);

// Sends a GET for one page of a list and returns the page.
using FetchPage = std::function<Result<Json>(const std::string& path)>;
// Receives the items of one page.
using TakeItems = std::function<void(const Json& items)>;

// Follows the pages of a list until it has `limit` items, or all items when `limit` is absent.
// Calls `take` once for each page. Returns the last page; its "next_cursor" or "next" says that
// more items exist. Errors: schema-violation for an answer that is not a list; those of `fetch`.
[[nodiscard]] Result<Json> each_page(const FetchPage& fetch, const std::string& path,
                                     const Query& query, std::optional<std::uint64_t> limit,
                                     const TakeItems& take);

class Api {
 public:
  explicit Api(HttpClient client) : client_(std::move(client)) {}

  [[nodiscard]] Result<Json> get(const std::string& path);
  [[nodiscard]] Result<Bytes> get_bytes(const std::string& path, std::string_view accept,
                                        bool authenticated = true);
  [[nodiscard]] Result<Json> post(const std::string& path, ByteView body,
                                  std::string_view content_type, bool repeatable = true);
  [[nodiscard]] Result<Json> put(const std::string& path, ByteView body,
                                 std::string_view content_type);

  [[nodiscard]] Result<Json> each_page(const std::string& path, const Query& query,
                                       std::optional<std::uint64_t> limit, const TakeItems& take);
  // Returns the last page with the items of all pages.
  [[nodiscard]] Result<Json> list(const std::string& path, const Query& query,
                                  std::optional<std::uint64_t> limit);

 private:
  [[nodiscard]] Result<Json> send(const char* method, const std::string& path, ByteView body,
                                  std::string_view content_type, bool repeatable);

  HttpClient client_;
};

}  // namespace assay::client
