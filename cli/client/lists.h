// SPDX-License-Identifier: Apache-2.0
// Lists of the service: the number of items to fetch, and the printing of lists.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/client/connect.h"
#include "cli/command.h"
#include "cli/context.h"
#include "schemas/core/json.h"

namespace assay::cli {

struct ListFlags {
  std::uint64_t limit = 100;
  bool all = false;
  ConnectionFlags connection;
};

// Adds --limit, --all and the options of the connection.
void add_list_options(const Command& verb, ListFlags& flags);

// Fetches the items that the flags ask for, page by page, and returns them as one answer.
[[nodiscard]] Result<Json> fetch_list(Api& api, const std::string& path, const Query& query,
                                      const ListFlags& flags);

// The text form of a list.
struct ListView {
  std::string noun;                // name of one item: "node"
  std::vector<std::string> heads;  // heads of the columns
  std::function<std::vector<std::string>(const Json& item)> cells;
  std::vector<std::string> least{};  // columns to leave out first (Table)
  std::string origin{};              // follows the number of items: " of a log of 9 entries"
};

// Prints a list. With -o json prints the answer with "more" added, which says whether more items
// exist. Otherwise prints a table. Also prints the number of items, such as "100 of 148 decisions",
// on standard error.
void print_list(const Context& context, const ListView& view, Json answer);

}  // namespace assay::cli
