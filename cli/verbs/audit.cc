// SPDX-License-Identifier: Apache-2.0
// assay audit: what happened, from the log.
#include <memory>
#include <utility>

#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "client/api.h"

namespace assay::cli {

namespace {

struct EventOptions {
  std::string type;
  std::string actor;
  std::string subject;
  std::string since;
  std::string until;
  std::uint64_t limit = 100;
  bool all = false;
  ConnectionFlags connection;
};

void add_filters(const Command& verb, EventOptions& options) {
  verb.option("--type", options.type, "TYPE", "such as decision.made or trust.changed");
  verb.option("--actor", options.actor, "NAME", "caused by this caller");
  verb.option("--subject", options.subject, "ID",
              "about this artifact, statement, policy or decision");
  verb.option("--since", options.since, "TIME", "at this RFC 3339 time or later");
  verb.option("--until", options.until, "TIME", "at this RFC 3339 time or before");
}

Query query_of(const EventOptions& options) {
  Query query;
  query.add("type", options.type);
  query.add("actor", options.actor);
  query.add("subject", options.subject);
  query.add("since", options.since);
  query.add("until", options.until);
  return query;
}

Result<Exit> events(const Context& context, const EventOptions& options) {
  ASSAY_ASSIGN(Api api, Api::open(context, options.connection));
  const auto limit = options.all ? std::nullopt : std::optional(options.limit);
  ASSAY_ASSIGN(const Json answer, api.list("/v1/audit/events", query_of(options), limit));
  if (context.json()) {
    print_json(answer);
    return Exit::kYes;
  }
  Table table({"INDEX", "TIME", "TYPE", "ACTOR", "SUBJECT"});
  for (const Json& item : list_at(answer, "items")) {
    table.row({std::to_string(number_at(item, "index")), text_at(item, "time"),
               text_at(item, "type"), text_at(item, "actor"), joined_at(item, "subjects")});
  }
  print_text(table.text());
  const bool more = !text_at(answer, "next_cursor").empty();
  message(context, counted(list_at(answer, "items").size(), "event") + " of a log of " +
                       counted(number_at(answer, "tree_size"), "entry") +
                       (more ? "; there are more: see --limit and --all" : ""));
  return Exit::kYes;
}

// One line for each event, page by page: a log of any length fits.
Result<Exit> export_events(const Context& context, const EventOptions& options) {
  ASSAY_ASSIGN(Api api, Api::open(context, options.connection));
  std::uint64_t count = 0;
  ASSAY_ASSIGN(const Json last, api.each_page("/v1/audit/events", query_of(options), std::nullopt,
                                              [&count](const Json& items) {
                                                for (const Json& item : items) {
                                                  print_json_line(item);
                                                  ++count;
                                                }
                                              }));
  message(context, "exported " + counted(count, "event") + " of the log at size " +
                       std::to_string(number_at(last, "tree_size")) + ", root " +
                       text_at(last, "root"));
  return Exit::kYes;
}

}  // namespace

void add_audit(const Command& root, Context& context) {
  const Command group = root.add("audit", "What happened: accepted, decided, changed");
  auto listed = std::make_shared<EventOptions>();
  const Command list_verb = group.add("events", "List events");
  add_filters(list_verb, *listed);
  list_verb.option("--limit", listed->limit, "N", "at most so many (default 100)");
  list_verb.flag("--all", listed->all, "all of them");
  add_connection_options(list_verb, listed->connection);
  list_verb.example("assay audit events --type trust.changed --since 2026-11-01T00:00:00Z",
                    "who changed what is trusted");
  list_verb.action([listed, &context] { return events(context, *listed); });

  auto exported = std::make_shared<EventOptions>();
  const Command export_verb = group.add("export", "Write all events as lines of JSON");
  add_filters(export_verb, *exported);
  add_connection_options(export_verb, exported->connection);
  export_verb.note(
      "For evidence that can be verified without the service, use 'assay log mirror'.");
  export_verb.example("assay audit export > events.ndjson", "for another system");
  export_verb.action([exported, &context] { return export_events(context, *exported); });
}

}  // namespace assay::cli
