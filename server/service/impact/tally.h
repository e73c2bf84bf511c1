// SPDX-License-Identifier: Apache-2.0
// Counts answers that change, lists the first of them, and sums up why.
#pragma once

#include <map>
#include <set>
#include <string>

#include "server/service/impact/answer.h"

namespace assay::server {

// Limit on the different causes that one answer names, and on the nodes and the models. Whoever
// counts over several answers needs all names, and so many never come of the pods or decisions of
// one; only a hypothesis about more enrolled nodes than this goes beyond.
inline constexpr std::size_t kMaxNamed = 100'000;

class Tally {
 public:
  // `limit`: most listed items.
  explicit Tally(std::size_t limit) : limit_(limit) {}

  // Notes one question. `item` describes it, and is listed with both answers when the verdict
  // changes. Returns true when the verdict changes.
  bool note(const Answer& before, const Answer& after, Json item);
  // Notes a question whose answer under the hypothesis nobody can know.
  void undecided(std::string_view code) {
    ++examined_;
    ++undecided_[std::string(code)];
  }
  // Notes a node or model that a changed answer is about.
  void name_node(const std::string& node) { name(nodes_, node); }
  void name_model(const std::string& model) { name(models_, model); }

  // Returns {"examined", "denied", "allowed", "other_reasons", "undecided": {code: count}, "why",
  // "nodes", "models", "items", "left_out"}, and how many different causes, nodes and models are
  // beyond kMaxNamed: "why_left_out", "nodes_left_out" and "models_left_out".
  [[nodiscard]] Json to_json() const;
  [[nodiscard]] std::uint64_t examined() const { return examined_; }

 private:
  static void name(std::set<std::string>& names, const std::string& text) {
    if (!text.empty()) {
      names.insert(text);
    }
  }

  std::size_t limit_;
  std::uint64_t examined_ = 0;
  std::uint64_t denied_ = 0;   // were allowed, and would be denied
  std::uint64_t allowed_ = 0;  // were denied, and would be allowed
  std::uint64_t other_reasons_ = 0;
  std::uint64_t left_out_ = 0;
  std::map<std::string, std::uint64_t> undecided_;
  std::map<Cause, std::uint64_t> why_;
  std::set<std::string> nodes_;
  std::set<std::string> models_;
  Json items_ = Json::array();
};

}  // namespace assay::server
