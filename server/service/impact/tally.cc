// SPDX-License-Identifier: Apache-2.0
#include "server/service/impact/tally.h"

namespace assay::server {

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
    if (why_.size() < kMaxNamed || why_.contains(cause)) {
      ++why_[cause];
    }
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
    why.push_back(server::to_json(cause));
    why.back()["count"] = count;
  }
  Json undecided = Json::object();
  for (const auto& [code, count] : undecided_) {
    undecided[code] = count;
  }
  return {{"examined", examined_},
          {"denied", denied_},
          {"allowed", allowed_},
          {"other_reasons", other_reasons_},
          {"undecided", std::move(undecided)},
          {"why", std::move(why)},
          {"nodes", nodes_},
          {"models", models_},
          {"items", items_},
          {"left_out", left_out_}};
}

}  // namespace assay::server
