// SPDX-License-Identifier: Apache-2.0
#include "cli/client/impact.h"

#include <algorithm>
#include <map>
#include <set>

#include "cli/output.h"

namespace assay::cli {

namespace {

constexpr const char* kCounts[] = {"examined",     "denied",         "allowed",
                                   "cases",        "left_out",       "other_reasons",
                                   "why_left_out", "nodes_left_out", "models_left_out"};

// The sums of several pages.
class Sums {
 public:
  explicit Sums(std::uint64_t limit) : limit_(limit) {}

  void add(const Json& page) {
    for (const char* const member : kCounts) {
      counts_[member] += number_at(page, member);
    }
    for (const Json& cause : list_at(page, "why")) {
      Json key = cause;
      key.erase("count");
      why_[key] += number_at(cause, "count");
    }
    if (const auto undecided = page.find("undecided");
        undecided != page.end() && undecided->is_object()) {
      for (const auto& [code, count] : undecided->items()) {
        undecided_[code] += count.is_number_unsigned() ? count.get<std::uint64_t>() : 0;
      }
    }
    take_names(page, "nodes", nodes_);
    take_names(page, "models", models_);
    for (const Json& item : list_at(page, "items")) {
      if (items_.size() < limit_) {
        items_.push_back(item);
      } else {
        ++counts_["left_out"];
      }
    }
  }

  [[nodiscard]] Json to_json() const {
    Json json = {{"nodes", nodes_}, {"models", models_}, {"items", items_}};
    for (const auto& [member, count] : counts_) {
      json[member] = count;
    }
    std::vector<std::pair<std::uint64_t, const Json*>> ranked;
    for (const auto& [cause, count] : why_) {
      ranked.emplace_back(count, &cause);
    }
    std::ranges::stable_sort(ranked, std::greater(), &std::pair<std::uint64_t, const Json*>::first);
    json["why"] = Json::array();
    for (const auto& [count, cause] : ranked) {
      json["why"].push_back(*cause);
      json["why"].back()["count"] = count;
    }
    json["undecided"] = Json::object();
    for (const auto& [code, count] : undecided_) {
      json["undecided"][code] = count;
    }
    return json;
  }

  [[nodiscard]] std::uint64_t examined() const { return counts_.at("examined"); }

 private:
  static void take_names(const Json& page, const char* member, std::set<std::string>& names) {
    for (const Json& name : list_at(page, member)) {
      if (name.is_string()) {
        names.insert(name.get<std::string>());
      }
    }
  }

  std::uint64_t limit_;
  std::map<std::string, std::uint64_t> counts_;
  std::map<std::string, std::uint64_t> undecided_;
  std::map<Json, std::uint64_t> why_;
  std::set<std::string> nodes_;
  std::set<std::string> models_;
  Json items_ = Json::array();
};

std::string noun_of(ImpactOver over) { return over == ImpactOver::kPods ? "pod" : "decision"; }

std::string why_not_judged(const std::string& code) {
  return code == "case-incomplete"       ? ", a stored case lacks what it rests on"
         : code == "case-unsupported"    ? ", decided by the rules of another version of assayd"
         : code == "limit-exceeded"      ? ", nobody can tell whether the answer is about this"
         : code == "evaluation-deadline" ? ", one alone takes longer than a whole call may"
                                         : "";
}

std::string cause_text(const Json& cause) {
  const std::string policy = text_at(cause, "policy");
  const std::string condition = text_at(cause, "condition") + ": " + text_at(cause, "code");
  return policy.empty() ? condition
                        : policy + " version " + std::to_string(number_at(cause, "version")) +
                              ", " + condition;
}

std::string causes_text(const Json& item) {
  std::string text;
  for (const Json& cause : list_at(item, "why")) {
    text += (text.empty() ? "" : "; ") + cause_text(cause);
  }
  return text;
}

std::string verdict_of(const Json& item, const char* member) {
  const auto answer = item.find(member);
  return answer == item.end() ? std::string() : text_at(*answer, "verdict");
}

Table items_table(ImpactOver over, const Json& answer) {
  const bool pods = over == ImpactOver::kPods;
  Table table(pods ? std::vector<std::string>{"POD", "NODE", "NOW", "WOULD BE", "SEEN", "WHY"}
                   : std::vector<std::string>{"DECISION", "NAMESPACE", "WAS", "WOULD BE",
                                              "EVALUATED", "WHY"});
  for (const Json& item : list_at(answer, "items")) {
    const std::string first = pods ? text_at(item, "cluster") + "/" + text_at(item, "namespace") +
                                         "/" + text_at(item, "name")
                                   : text_at(item, "id");
    table.row({first, text_at(item, pods ? "node" : "namespace"), verdict_of(item, "before"),
               verdict_of(item, "after"),
               pods ? text_at(item, "state") + " " + text_at(item, "last_seen")
                    : text_at(item, "evaluated_at"),
               causes_text(item)});
  }
  return table;
}

// "2 nodes"; "at least" where an answer left names out.
std::string named(const Json& answer, const std::string& noun) {
  const bool all = number_at(answer, (noun + "s_left_out").c_str()) == 0;
  return (all ? "" : "at least ") + counted(list_at(answer, (noun + "s").c_str()).size(), noun);
}

std::string summary(ImpactOver over, const Json& answer) {
  // At its creation nobody knows the node of a pod.
  const bool nodes = over == ImpactOver::kPods || !list_at(answer, "nodes").empty();
  return counted(number_at(answer, "examined"), noun_of(over)) + ": " +
         std::to_string(number_at(answer, "denied")) + " would be denied, " +
         std::to_string(number_at(answer, "allowed")) + " would be allowed, " +
         (nodes ? "on " + named(answer, "node") + ", " : "") + "with " + named(answer, "model");
}

}  // namespace

Result<Json> ask_impact(const Context& context, Api& api, ImpactOver over, Json request) {
  const std::string path = over == ImpactOver::kPods ? "/v1/impact/pods" : "/v1/impact/decisions";
  Sums sums(number_at(request, "limit"));
  while (true) {
    ASSAY_ASSIGN(const Json page, api.post(path, as_bytes(request.dump()), client::kJsonType));
    if (!page.is_object() || !page.contains("examined") || !page.contains("items")) {
      return fail(ErrorCode::kSchemaViolation, "The service's answer says nothing about impact");
    }
    sums.add(page);
    const std::string next = text_at(page, "next");
    if (next.empty()) {
      return sums.to_json();
    }
    if (next == text_at(request, "after")) {
      return fail(ErrorCode::kSchemaViolation, "The service's pages do not go on");
    }
    request["after"] = next;
    message(context, "looked at " + counted(sums.examined(), noun_of(over)) + " so far");
  }
}

bool denies(const Json& answer) {
  const auto undecided = answer.find("undecided");
  return number_at(answer, "denied") > 0 || undecided == answer.end() || !undecided->empty();
}

void print_impact(const Context& context, ImpactOver over, const Json& answer) {
  if (context.json()) {
    print_json(answer);
    return;
  }
  const Table items = items_table(over, answer);
  if (!items.empty()) {
    print_table(context, items);
  }
  if (const std::uint64_t left_out = number_at(answer, "left_out"); left_out > 0) {
    print_line("... and " + std::to_string(left_out) + " more; see --limit");
  }
  for (const Json& cause : list_at(answer, "why")) {
    print_line(std::to_string(number_at(cause, "count")) + " x " + cause_text(cause));
  }
  if (const auto undecided = answer.find("undecided"); undecided != answer.end()) {
    for (const auto& [code, count] : undecided->items()) {
      print_line(count.dump() + " not judged: " + code + why_not_judged(code));
    }
  }
  if (const std::uint64_t left_out = number_at(answer, "why_left_out"); left_out > 0) {
    print_line("... and other causes that the service's answers leave out");
  }
  print_line(summary(over, answer));
  if (number_at(answer, "examined") == 0) {
    message(context,
            over == ImpactOver::kPods
                ? "No pod is known: the webhooks admitted none. With --since 7d, decisions of "
                  "the last week are judged instead."
                : "No decision was made in this time, so nothing was compared.");
  }
}

}  // namespace assay::cli
