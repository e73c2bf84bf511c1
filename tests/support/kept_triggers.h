// SPDX-License-Identifier: Apache-2.0
// Damages rows of a database past its triggers, and leaves the schema as it was: what a service
// that checks the schema cannot see.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace assay::test {

// Remembers the triggers of a database. put_back() makes those again that are gone or changed.
class KeptTriggers {
 public:
  explicit KeptTriggers(sqlite3* database) : database_(database), before_(load()) {}

  void put_back() const {
    const auto now = load();
    for (const auto& [name, sql] : before_) {
      if (std::find(now.begin(), now.end(), Trigger{name, sql}) == now.end()) {
        run("DROP TRIGGER IF EXISTS " + name);
        run(sql);
      }
    }
  }

 private:
  struct Trigger {
    std::string name;
    std::string sql;
    bool operator==(const Trigger&) const = default;
  };

  [[nodiscard]] std::vector<Trigger> load() const {
    std::vector<Trigger> triggers;
    const auto take = [](void* out, int, char** columns, char**) {
      static_cast<std::vector<Trigger>*>(out)->push_back({columns[0], columns[1]});
      return 0;
    };
    // Of a file that is no database there are none.
    sqlite3_exec(database_, "SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger'", take,
                 &triggers, nullptr);
    return triggers;
  }
  void run(const std::string& sql) const {
    EXPECT_EQ(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database_) << ": " << sql;
  }

  sqlite3* database_;
  std::vector<Trigger> before_;
};

}  // namespace assay::test
