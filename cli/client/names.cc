// SPDX-License-Identifier: Apache-2.0
#include "cli/client/names.h"

#include <set>
#include <string_view>

#include "cli/client/lists.h"
#include "schemas/core/ids.h"
#include "schemas/core/nearest.h"

namespace assay::cli {
namespace {

std::string suggestion(const std::string& name, const std::set<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string meant = did_you_mean(name, views);
  return meant.empty() ? "." : meant;
}

std::string listed(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) {
    text += (text.empty() ? "" : ", ") + one;
  }
  return text;
}

}  // namespace

Result<std::vector<std::string>> keys_meant(Api& api, const std::string& who) {
  if (KeyId::parse(who)) {
    return std::vector{who};
  }
  auto trust = api.get("/v1/trust");
  if (!trust) {
    trust.error().detail = "Whose keys are meant cannot be asked; give the id of a key: " +
                           std::move(trust.error().detail);
    return std::unexpected(std::move(trust).error());
  }
  std::vector<std::string> keys;
  std::set<std::string> identities;
  for (const Json& key : list_at(*trust, "keys")) {
    identities.insert(text_at(key, "identity"));
    if (text_at(key, "identity") == who) {
      keys.push_back(text_at(key, "id"));
    }
  }
  if (keys.empty()) {
    return fail(ErrorCode::kNotFound,
                "No key is trusted under this identity" + suggestion(who, identities) +
                    " 'assay trust show' lists all",
                who);
  }
  return keys;
}

Result<std::string> key_meant(Api& api, const std::string& who) {
  ASSAY_ASSIGN(const std::vector<std::string> keys, keys_meant(api, who));
  if (keys.size() > 1) {
    return fail(ErrorCode::kUsage, "Several keys have this identity; give one of " + listed(keys),
                who);
  }
  return keys.front();
}

bool is_policy_name(const std::string& text) {
  return text.find_first_of("./") == std::string::npos;
}

Result<std::string> policy_meant(Api& api, const std::string& policy, bool in_force) {
  if (StatementId::parse(policy)) {
    return policy;
  }
  Query query;
  query.add("active", in_force ? "true" : "");
  ASSAY_ASSIGN(const Json answer, api.list("/v1/policies", query, std::nullopt));
  std::vector<std::string> ids;
  std::vector<std::string> versions;
  std::set<std::string> names;
  for (const Json& item : list_at(answer, "items")) {
    names.insert(text_at(item, "name"));
    if (text_at(item, "name") == policy) {
      ids.push_back(text_at(item, "id"));
      versions.push_back("version " + std::to_string(number_at(item, "version")) + " " +
                         ids.back());
    }
  }
  if (ids.empty()) {
    return fail(ErrorCode::kNotFound,
                std::string("No policy ") + (in_force ? "in force " : "") + "has this name" +
                    suggestion(policy, names) + " 'assay policy list' lists all",
                policy);
  }
  if (ids.size() > 1) {
    return fail(ErrorCode::kUsage,
                "The policy has several versions; give the id of one: " + listed(versions), policy);
  }
  return ids.front();
}

}  // namespace assay::cli
