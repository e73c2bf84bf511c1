// SPDX-License-Identifier: Apache-2.0
// Any bytes as the start of a connection: what the gate lets in has one reading. Written out again
// it is let in again and means the same; its path holds nothing that climbs; every route lookup
// ends.
#include <cstdlib>

#include "server/http/io_head.h"
#include "server/http/router.h"
#include "server/http/target.h"

namespace {

using namespace assay;
using namespace assay::server;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

std::optional<Head> judge(std::string_view bytes) {
  const auto end = find_head_end(bytes);
  if (!end || !*end) {
    return std::nullopt;
  }
  require(**end <= bytes.size() && **end <= kMaxHeadBytes);
  const Result<RawHead> raw = parse_head(bytes.substr(0, **end));
  if (!raw) {
    return std::nullopt;
  }
  const Result<Head> head = check_head(*raw);
  return head ? std::optional<Head>(*head) : std::nullopt;
}

std::string written(const Head& head) {
  std::string text(head.method ? name(*head.method) : "OTHER");
  text += " " + head.target + " HTTP/1.1\r\n";
  for (const auto& [field, value] : head.headers) {
    text += field + ": " + value + "\r\n";
  }
  return text + "\r\n";
}

void check(const Head& head) {
  require(!head.headers.contains("transfer-encoding"));
  require(head.headers.contains("host"));
  const std::string text = written(head);
  if (text.size() <= kMaxHeadBytes) {
    const std::optional<Head> again = judge(text);
    require(again.has_value());
    require(again->method == head.method && again->target == head.target);
    require(again->headers == head.headers && again->content_length == head.content_length);
    require(again->keep_alive == head.keep_alive);
  }
  const Result<Target> target = parse_target(head.target);
  if (target) {
    static const RoutePattern kPatterns[] = {{Method::kGet, Listener::kApi, "/v1/{a}/{b}:c"},
                                             {Method::kGet, Listener::kApi, "/v1/{rest...}"}};
    static const Router kRouter(kPatterns);
    require(!target->path.contains("/../") && !target->path.contains('\0'));
    (void)kRouter.find(Listener::kApi, head.method, target->path);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::optional<Head> head = judge(as_text({data, size}));
  if (head) {
    check(*head);
  }
  return 0;
}
