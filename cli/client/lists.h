// SPDX-License-Identifier: Apache-2.0
// Lists of the service: how many items are asked for, and how they are printed.
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

// --limit, --all, and the options of the connection.
void add_list_options(const Command& verb, ListFlags& flags);

// What the flags ask for: the items of as many pages as that takes, in one answer.
[[nodiscard]] Result<Json> fetch_list(Api& api, const std::string& path, const Query& query,
                                      const ListFlags& flags);

// How a list is shown as text.
struct ListView {
  std::string noun;                // of one item: "node"
  std::vector<std::string> heads;  // of the columns
  std::function<std::vector<std::string>(const Json& item)> cells;
  std::string origin{};  // said after the number of items: " of a log of 9 entries"
};

// With -o json the answer with "more" added: whether there are more items than these. Otherwise a
// table, and on standard error the number of items, such as "100 of 148 decisions".
void print_list(const Context& context, const ListView& view, Json answer);

}  // namespace assay::cli
