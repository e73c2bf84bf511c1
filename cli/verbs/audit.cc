// SPDX-License-Identifier: Apache-2.0
// assay audit: what happened, from the log.
#include <memory>
#include <utility>

#include "cli/client/lists.h"
#include "cli/client/model_meant.h"
#include "cli/client/names.h"
#include "cli/output.h"
#include "cli/times.h"
#include "cli/verbs/verbs.h"
#include "schemas/core/json_at.h"
#include "schemas/manifest.h"

namespace assay::cli {

namespace {

struct EventOptions {
  std::string type;
  std::string actor;
  std::string subject;
  std::string since;
  std::string until;
  ListFlags list{};
};

void add_filters(const Command& verb, EventOptions& options) {
  verb.option("--type", options.type, "TYPE",
              "only events of this type, such as decision.made or trust.changed");
  verb.option("--actor", options.actor, "NAME", "only events that this caller caused");
  verb.option("--subject", options.subject, "MODEL|ID",
              "only events about this model, artifact, statement, policy or decision");
  verb.option("--since", options.since, "TIME|AGE",
              "only events at this time or later: 2026-11-01, 7d, 12h");
  verb.option("--until", options.until, "TIME|AGE", "only events at this time or before");
}

// The log names artifacts by their ids, and parts of collateral by names that look like those of
// models.
Result<std::string> subject_in_log(Api& api, const std::string& text) {
  if (text.find('/') == std::string::npos || !check_model_name(text)) {
    return text;
  }
  auto artifact = artifact_meant(api, text);
  if (artifact || artifact.error().code != ErrorCode::kNotFound) {
    return artifact;
  }
  Query query;
  query.add("subject", text);
  query.add("limit", "1");
  ASSAY_ASSIGN(const Json page, api.get("/v1/audit/events" + query.text()));
  return list_at(page, "items").empty() ? artifact : text;
}

Result<Query> query_of(Api& api, const EventOptions& options, Timestamp now) {
  ASSAY_ASSIGN(const std::string since, past_time(options.since, now));
  ASSAY_ASSIGN(const std::string until, past_time(options.until, now));
  Query query;
  query.add("type", options.type);
  query.add("actor", options.actor);
  ASSAY_ASSIGN(const std::string subject, subject_in_log(api, options.subject));
  query.add("subject", subject);
  query.add("since", since);
  query.add("until", until);
  return query;
}

ListView event_view(const Json& answer) {
  return {.noun = "event",
          .heads = {"INDEX", "TIME", "TYPE", "ACTOR", "SIGNED BY", "SUBJECT"},
          .cells = [](const Json& item) -> std::vector<std::string> {
            return {std::to_string(number_at(item, "index")),
                    text_at(item, "time"),
                    text_at(item, "type"),
                    text_at(item, "actor"),
                    joined_at(object_at(item, "detail"), "by"),
                    joined_at(item, "subject")};
          },
          .origin = " of a log of " + counted(number_at(answer, "tree_size"), "entry")};
}

Result<Exit> events(const Context& context, const EventOptions& options) {
  ASSAY_ASSIGN(Api api, open_api(context, options.list.connection));
  ASSAY_ASSIGN(const Query query, query_of(api, options, context.clock.now()));
  ASSAY_ASSIGN(Json answer, fetch_list(api, "/v1/audit/events", query, options.list));
  const ListView view = event_view(answer);
  print_list(context, view, std::move(answer));
  return Exit::kYes;
}

// One line for each event, page by page: a log of any length fits.
Result<Exit> export_events(const Context& context, const EventOptions& options) {
  ASSAY_ASSIGN(Api api, open_api(context, options.list.connection));
  ASSAY_ASSIGN(const Query query, query_of(api, options, context.clock.now()));
  std::uint64_t count = 0;
  ASSAY_ASSIGN(const Json last,
               api.each_page("/v1/audit/events", query, std::nullopt, [&count](const Json& items) {
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

struct AffectedOptions {
  std::string key;
  std::string statement;
  std::string artifact;
  ListFlags list;
};

ListView pod_view() {
  return {.noun = "affected pod",
          .heads = {"POD", "UID", "NODE", "STATE", "LAST SEEN", "REASONS", "MODELS"},
          .cells = [](const Json& item) -> std::vector<std::string> {
            return {text_at(item, "cluster") + "/" + text_at(item, "namespace") + "/" +
                        text_at(item, "name"),
                    text_at(item, "uid"),
                    text_at(item, "node"),
                    text_at(item, "state"),
                    text_at(item, "last_seen"),
                    joined_at(item, "reasons"),
                    joined_at(item, "models")};
          }};
}

Result<Exit> affected(const Context& context, const AffectedOptions& options) {
  ASSAY_ASSIGN(Api api, open_api(context, options.list.connection));
  Query query;
  if (!options.key.empty()) {
    ASSAY_ASSIGN(const std::string key, key_meant(api, options.key));
    query.add("key", key);
  }
  query.add("statement", options.statement);
  ASSAY_ASSIGN(const std::string artifact, subject_meant(api, options.artifact));
  query.add("artifact", artifact);
  std::uint64_t undecided = 0;
  std::uint64_t examined = 0;
  Json items = Json::array();
  const std::uint64_t limit = options.list.all ? UINT64_MAX : options.list.limit;
  std::string after;
  do {
    Query page_query = query;
    page_query.add("after", after);
    ASSAY_ASSIGN(const Json page, api.get("/v1/pods/affected" + page_query.text()));
    undecided += number_at(page, "undecided");
    examined += number_at(page, "examined");
    const Json& found = list_at(page, "items");
    items.insert(items.end(), found.begin(), found.end());
    after = text_at(page, "next");
  } while (!after.empty() && items.size() < limit);
  const bool none = items.empty() && undecided == 0;
  if (undecided > 0) {
    message(context, counted(undecided, "pod") + " could not be judged");
  }
  message(context, "looked at " + counted(examined, "pod") +
                       (examined == 0 ? ": no pod is known that fits" : ""));
  Json answer = {{"items", std::move(items)}, {"undecided", undecided}, {"examined", examined}};
  if (!after.empty()) {
    answer["next"] = after;
  }
  print_list(context, pod_view(), std::move(answer));
  return none ? Exit::kYes : Exit::kNo;
}

void add_affected(const Command& group, Context& context) {
  auto options = std::make_shared<AffectedOptions>();
  const Command verb = group.add("affected", "List admitted pods that would be denied now");
  verb.option("--key", options->key, "PERSON|KEY_ID",
              "only pods with a model about which this identity's one key, or this key, signed");
  verb.option("--statement", options->statement, "ID",
              "only pods with a model that this statement or manifest is about");
  verb.option(
      "--artifact", options->artifact, "MODEL|ID",
      "only pods with this model, or with a model that was made directly from this artifact "
      "(a name, an artifact id, or ALGORITHM:HEX)");
  add_list_options(verb, options->list);
  verb.note(
      "Judges every pod that is known as it was admitted, with what is known now. Exits with 1\n"
      "when there is one that would be denied, or that could not be judged.");
  verb.example("assay audit affected --key sha256:9f86...",
               "after a revocation, see what still runs on the word of the key");
  verb.example("assay audit affected --all -o json", "hand everything to a script");
  verb.action([options, &context] { return affected(context, *options); });
}

}  // namespace

void add_audit(const Command& root, Context& context) {
  const Command group = root.add("audit", "What happened: accepted, decided, changed");
  auto listed = std::make_shared<EventOptions>();
  const Command list_verb = group.add("events", "List events");
  add_filters(list_verb, *listed);
  add_list_options(list_verb, listed->list);
  list_verb.example("assay audit events --type trust.changed --since 2026-11-01",
                    "see who changed what is trusted");
  list_verb.action([listed, &context] { return events(context, *listed); });

  auto exported = std::make_shared<EventOptions>();
  const Command export_verb = group.add("export", "Write all events as lines of JSON");
  add_filters(export_verb, *exported);
  add_connection_options(export_verb, exported->list.connection);
  export_verb.note(
      "For evidence that can be verified without the service, use 'assay log mirror'.");
  export_verb.example("assay audit export > events.ndjson",
                      "write every event to a file for another system");
  export_verb.action([exported, &context] { return export_events(context, *exported); });
  add_affected(group, context);
}

}  // namespace assay::cli
