// SPDX-License-Identifier: Apache-2.0
#include "server/service/impact/tally.h"

#include <algorithm>

namespace assay::server {
namespace {

// The first kMaxNamed; how many there are besides becomes `left_out`.
Json first_of(const std::set<std::string>& names, Json& left_out) {
  const std::size_t count = std::min(names.size(), kMaxNamed);
  left_out = names.size() - count;
  return std::vector(names.begin(), std::next(names.begin(), static_cast<std::ptrdiff_t>(count)));
}

}  // namespace

bool Tally::note(const Answer& before, const Answer& after, Json item) {
  ++examined_;
  const bool was = before.allowed || !before.selected;
  const bool is = after.allowed || !after.selected;
  if (was == is) {
    other_reasons_ += !is && before.reasons != after.reasons ? 1U : 0U;
    return false;
  }
  ++(is ? allowed_ : denied_);
  for (const Cause& cause : is ? before.causes : after.causes) {
    ++why_[cause];
  }
  if (items_.size() >= limit_) {
    ++left_out_;
    return true;
  }
  item["before"] = server::to_json(before);
  item["after"] = server::to_json(after);
  item["why"] = server::to_json(is ? before.causes : after.causes);
  items_.push_back(std::move(item));
  return true;
}

Json Tally::to_json() const {
  Json why = Json::array();
  for (const auto& [cause, count] : why_) {
    if (why.size() >= kMaxNamed) {
      break;
    }
    why.push_back(server::to_json(cause));
    why.back()["count"] = count;
  }
  Json undecided = Json::object();
  for (const auto& [code, count] : undecided_) {
    undecided[code] = count;
  }
  Json json = {{"examined", examined_},
               {"denied", denied_},
               {"allowed", allowed_},
               {"other_reasons", other_reasons_},
               {"undecided", std::move(undecided)},
               {"why_left_out", why_.size() - why.size()},
               {"items", items_},
               {"left_out", left_out_}};
  json["why"] = std::move(why);
  json["nodes"] = first_of(nodes_, json["nodes_left_out"]);
  json["models"] = first_of(models_, json["models_left_out"]);
  return json;
}

}  // namespace assay::server
