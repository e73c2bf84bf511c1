// SPDX-License-Identifier: Apache-2.0
// assay status: whether the service works, and what ends next, in one table.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "cli/client/connect.h"
#include "cli/output.h"
#include "cli/times.h"
#include "cli/verbs/verbs.h"

namespace assay::cli {

namespace {

struct StatusOptions {
  std::string within = "14d";
  ConnectionFlags connection;
};

struct Ending {
  std::string what;
  std::string name;
  Timestamp at;
  bool renewed = false;  // as usual: its end is no trouble
};

struct Health {
  std::string trouble{};  // empty: the service takes writes and decides
  std::vector<Ending> ends{};
  std::vector<std::string> left_out{};  // sources that the caller may not read
};

// Nothing of a source that the caller's roles do not show.
Result<std::optional<Json>> unless_forbidden(Result<Json> answer) {
  if (answer) {
    return std::optional<Json>(*std::move(answer));
  }
  return answer.error().code == ErrorCode::kForbidden ? Result<std::optional<Json>>(std::nullopt)
                                                      : std::unexpected(std::move(answer).error());
}

Status add(Health& status, std::string what, const Json& item, const char* name, const char* at) {
  const std::string text = text_at(item, at);
  if (text.empty()) {
    return {};  // it has no end
  }
  ASSAY_ASSIGN(const Timestamp time, parse_rfc3339(text));
  status.ends.push_back({std::move(what), text_at(item, name), time});
  return {};
}

Status add_trust(Api& api, Health& status) {
  ASSAY_ASSIGN(const auto trust, unless_forbidden(api.get("/v1/trust")));
  if (!trust) {
    status.left_out.insert(status.left_out.end(), {"keys", "principals"});
    return {};
  }
  for (const Json& key : list_at(*trust, "keys")) {
    if (!key.contains("revoked")) {
      ASSAY_TRY(add(status, "key (" + text_at(key, "purpose") + ")", key, "identity", "not_after"));
    }
  }
  if (!trust->contains("principals")) {
    status.left_out.emplace_back("principals");
  }
  for (const Json& principal : list_at(*trust, "principals")) {
    ASSAY_TRY(add(status, "principal", principal, "name", "not_after"));
  }
  return {};
}

// A worker renews its enrolment when a half to three quarters of it are over.
bool is_renewed(Timestamp from, Timestamp until, Timestamp now) {
  return 4 * (until - now) >= until - from;
}

// Whether somebody must act.
bool is_trouble(const Ending& end, Timestamp limit) { return end.at <= limit && !end.renewed; }

Status add_nodes(Api& api, Timestamp now, Health& status) {
  ASSAY_ASSIGN(const auto nodes, unless_forbidden(api.list("/v1/nodes", Query(), std::nullopt)));
  if (!nodes) {
    status.left_out.emplace_back("enrolments");
    return {};
  }
  for (const Json& node : list_at(*nodes, "items")) {
    const std::string state = text_at(node, "state");
    if (state == "enrolled" || state == "violated") {
      ASSAY_TRY(add(status, "enrolment", node, "node", "expires_at"));
      ASSAY_ASSIGN(const Timestamp from, parse_rfc3339(text_at(node, "enrolled_at")));
      Ending& end = status.ends.back();
      end.renewed = is_renewed(from, end.at, now);
    }
  }
  return {};
}

Status add_collateral(Api& api, Health& status) {
  ASSAY_ASSIGN(const auto parts,
               unless_forbidden(api.list("/v1/collateral", Query(), std::nullopt)));
  if (!parts) {
    status.left_out.emplace_back("collateral");
    return {};
  }
  for (const Json& part : list_at(*parts, "items")) {
    if (text_at(part, "kind") == "rim" && text_at(part, "way") == "bundle") {
      continue;  // two people signed that it counts beyond its end
    }
    ASSAY_TRY(add(status, "collateral", part, "name", "next_update"));
  }
  return {};
}

// The value of a metric without labels; nothing without it.
std::optional<double> metric(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::string_view rest = text.substr(at + name.size());
    double value = 0;
    const bool starts_line = at == 0 || text[at - 1] == '\n';
    if (starts_line && rest.starts_with(' ') &&
        std::from_chars(rest.data() + 1, rest.data() + rest.size(), value).ec == std::errc()) {
      return value;
    }
  }
  return std::nullopt;
}

Status add_tls(Api& api, Health& status) {
  const Result<Bytes> metrics = api.get_bytes("/metrics", "text/plain");
  if (!metrics && metrics.error().code != ErrorCode::kForbidden) {
    return std::unexpected(metrics.error());
  }
  const auto seconds = metrics
                           ? metric(as_text(*metrics), "tls_certificate_expiry_timestamp_seconds")
                           : std::nullopt;
  if (!seconds || !std::isfinite(*seconds) || *seconds < 0) {
    status.left_out.emplace_back("TLS certificate");
    return {};
  }
  status.ends.push_back({"TLS certificate", "of the listeners",
                         Timestamp(std::chrono::seconds(static_cast<std::int64_t>(*seconds)))});
  return {};
}

Result<Health> look(Api& api, Timestamp now) {
  Health status;
  if (const auto ready = api.get_bytes("/readyz", "text/plain", false); !ready) {
    if (ready.error().code != ErrorCode::kUnavailable) {
      return std::unexpected(ready.error());
    }
    status.trouble = ready.error().detail;
  }
  ASSAY_TRY(add_trust(api, status));
  ASSAY_TRY(add_nodes(api, now, status));
  ASSAY_TRY(add_collateral(api, status));
  ASSAY_TRY(add_tls(api, status));
  std::ranges::stable_sort(status.ends, {}, &Ending::at);
  return status;
}

// Such as "in 3 days" or "5 hours ago".
std::string distance(Timestamp at, Timestamp now) {
  const auto minutes = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::minutes>(at > now ? at - now : now - at).count());
  constexpr std::uint64_t kHour = 60;
  constexpr std::uint64_t kDay = 24 * kHour;
  const std::string span = minutes >= 2 * kDay ? counted(minutes / kDay, "day")
                           : minutes >= kHour  ? counted(minutes / kHour, "hour")
                                               : counted(minutes, "minute");
  return at > now ? "in " + span : span + " ago";
}

Json to_json(const Health& status, Timestamp limit, bool well) {
  Json ends = Json::array();
  for (const Ending& one : status.ends) {
    ends.push_back({{"what", one.what},
                    {"name", one.name},
                    {"at", to_rfc3339(one.at)},
                    {"soon", is_trouble(one, limit)}});
  }
  return {{"ready", status.trouble.empty()},
          {"trouble", status.trouble},
          {"well", well && status.left_out.empty()},
          {"ends", std::move(ends)},
          {"left_out", status.left_out}};
}

void print(const Context& context, const Health& status, Timestamp now, Timestamp limit) {
  print_line(status.trouble.empty() ? "ready" : "not ready: " + status.trouble);
  Table table({"", "ENDS", "AT", "WHAT", "NAME"}, {"AT"});
  for (const Ending& one : status.ends) {
    table.row({is_trouble(one, limit) ? "!" : "", distance(one.at, now), to_rfc3339(one.at),
               one.what, one.name});
  }
  if (!table.empty()) {
    print_table(context, table);
  }
  std::string missing;
  for (const std::string& one : status.left_out) {
    missing += (missing.empty() ? "" : ", ") + one;
  }
  if (!missing.empty()) {
    warning("left out, because your roles do not show them: " + missing);
  }
}

Result<Exit> status(const Context& context, const StatusOptions& options) {
  const Timestamp now = context.clock.now();
  ASSAY_ASSIGN(const Timestamp limit, read_time(options.within, now, Span::kAhead));
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const Health found, look(api, now));
  const bool well = found.trouble.empty() && std::ranges::none_of(found.ends, [&](const Ending& e) {
                      return is_trouble(e, limit);
                    });
  if (context.json()) {
    print_json(to_json(found, limit, well));
  } else {
    print(context, found, now, limit);
  }
  // No yes about what was not looked at.
  return !well ? Exit::kNo : found.left_out.empty() ? Exit::kYes : Exit::kTrouble;
}

}  // namespace

void add_status(const Command& root, Context& context) {
  auto options = std::make_shared<StatusOptions>();
  const Command verb = root.add("status", "Say whether the service works, and what ends next");
  verb.option("--within", options->within, "SPAN",
              "what ends so soon counts as trouble: 14d, 12h, or a date (default 14d)");
  add_connection_options(verb, options->connection);
  verb.note(
      "Looks at the service, its TLS certificate, keys, principals, enrolments of nodes, and\n"
      "collateral with its revocation lists. Exits with 1 when the service is not ready, or when\n"
      "something has ended or ends within the span, and with 2 when nothing has, but your roles "
      "did\n"
      "not show everything. An auditor sees all. An enrolment counts from the last quarter of its\n"
      "time on: until then its node renews it.");
  verb.example("assay status", "what needs attention in the next two weeks");
  verb.example("assay status --within 30d -o json", "the same for a monitor");
  verb.action([options, &context] { return status(context, *options); });
}

}  // namespace assay::cli
