// SPDX-License-Identifier: Apache-2.0
#include "cli/client/lists.h"

#include <optional>
#include <utility>

#include "cli/output.h"

namespace assay::cli {

namespace {

bool has_more(const Json& answer) {
  const auto said = answer.find("more");
  if (said != answer.end() && said->is_boolean()) {
    return said->get<bool>();
  }
  return !text_at(answer, "next_cursor").empty() || !text_at(answer, "next").empty();
}

// "3 nodes", "100 of 148 decisions; see --limit and --all".
std::string shown_of(const ListView& view, const Json& answer, bool more) {
  const std::size_t shown = list_at(answer, "items").size();
  const bool exact = answer.contains("total");
  const std::uint64_t total = number_at(answer, exact ? "total" : "total_at_least");
  if (!more) {
    return counted(shown, view.noun) + view.origin;
  }
  if (total > 0) {
    return std::to_string(shown) + (exact ? " of " : " of at least ") + counted(total, view.noun) +
           view.origin + "; see --limit and --all";
  }
  return counted(shown, view.noun) + view.origin + "; there are more: see --limit and --all";
}

}  // namespace

void add_list_options(const Command& verb, ListFlags& flags) {
  verb.option("--limit", flags.limit, "N", "print at most N items (default 100)");
  verb.flag("--all", flags.all, "print all items, however many");
  add_connection_options(verb, flags.connection);
}

Result<Json> fetch_list(Api& api, const std::string& path, const Query& query,
                        const ListFlags& flags) {
  return api.list(path, query, flags.all ? std::nullopt : std::optional(flags.limit));
}

void print_list(const Context& context, const ListView& view, Json answer) {
  const bool more = has_more(answer);
  message(context, shown_of(view, answer, more));
  if (context.json()) {
    answer["more"] = more;
    print_json(answer);
    return;
  }
  Table table(view.heads, view.least);
  for (const Json& item : list_at(answer, "items")) {
    table.row(view.cells(item));
  }
  if (!table.empty()) {
    print_table(context, table);
  }
}

}  // namespace assay::cli
