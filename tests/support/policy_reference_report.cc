// SPDX-License-Identifier: Apache-2.0
#include "tests/support/policy_reference_report.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace assay::policy::reference {
namespace {

using Found = std::optional<ReportFact>;

// The volume that was seen behind the claim of a location.
std::optional<std::string> volume_behind(const Facts& facts, const std::string& location) {
  for (const ClaimFact& claim : facts.claims) {
    if (location == claim.claim || location.starts_with(claim.claim + "/")) {
      return claim.volume;
    }
  }
  return std::nullopt;
}

// What one report says, or that there is none.
struct Judge {
  const ReportCondition& condition;
  const ReportQuestion& question;
  std::vector<Reason> wrong{};
  bool unknown = false;          // something contradicts itself, or lies in the future
  std::vector<Reason> unsaid{};  // what nobody says, but would have to

  void want(bool holds, Reason code) {
    if (!holds) {
      wrong.push_back(code);
    }
  }
  void look_at_volume(const ReportFact& report) {
    const std::string volume =
        volume_behind(question.facts, report.location).value_or(std::string());
    want(!volume.empty(), Reason::kClaimUnknown);
    want(volume.empty() || volume == report.volume, Reason::kVolumeChanged);
  }
  void look_at_share(std::uint64_t percent, const MemoryFact& memory) {
    const double part = static_cast<double>(memory.on_devices);
    const double whole = static_cast<double>(memory.device_bytes.value_or(0));
    if (whole == 0 || part > whole) {
      unsaid.push_back(Reason::kDeviceBytesUnknown);
    }
    want(whole == 0 || part / whole >= static_cast<double>(percent) / 100, Reason::kDeviceShareLow);
  }
  void look_at_memory(const ReportFact& report) {
    unknown = unknown || !report.memory;
    if (!report.memory) {
      return;
    }
    const MemoryDemands& asked = condition.memory;
    const auto& layout = report.memory->layout;
    const auto accepts = [&](LayoutKind kind) {
      return std::ranges::count(asked.layouts, kind) > 0;
    };
    want(layout ? accepts(layout->kind) : accepts(LayoutKind::kExact), Reason::kLayoutKindRefused);
    if (layout && !layout->by_table) {
      want(std::ranges::count(asked.layout_digests, layout->digest) > 0, Reason::kLayoutNotPinned);
    }
    want(!asked.in_place || report.memory->staged == 0, Reason::kMemoryStaged);
    want(!(asked.max_uncovered_bytes < report.memory->uncovered && asked.max_uncovered_bytes),
         Reason::kMemoryUncovered);
    if (asked.min_device_percent) {
      look_at_share(*asked.min_device_percent, *report.memory);
    }
    want(!asked.min_redrawn || report.memory->redrawn >= *asked.min_redrawn,
         Reason::kRedrawsMissing);
    if (!asked.watched) {
      return;
    }
    std::map<std::string, InstanceFact> heard;
    for (const InstanceFact& one : question.facts.instances) {
      heard[one.instance] = one;
    }
    const auto own = heard.find(report.instance);
    if (own != heard.end()) {
      want(own->second.state != "violated", Reason::kInstanceViolated);
      unknown = unknown || own->second.heard_at > question.now;
    }
    if (own == heard.end() || own->second.state != "verified" ||
        question.now - own->second.heard_at > std::chrono::seconds(10)) {
      unsaid.push_back(Reason::kInstanceUnwatched);
    }
  }
  void look_at(const ReportFact& report) {
    if (question.pod && condition.scope == "files" && report.location.starts_with("pvc://")) {
      look_at_volume(report);
    }
    want(report.result == "verified",
         report.result == "mismatch" ? Reason::kModelMismatch : Reason::kReportMissing);
    unknown = unknown || report.reported_at > question.now || report.read_since > question.now;
    if (condition.max_age_seconds) {
      const auto limit = std::chrono::seconds(*condition.max_age_seconds);
      want(question.now - report.read_since <= limit, Reason::kReportStale);
    }
    want(report.worker_measured || !condition.worker_measured, Reason::kWorkerNotMeasured);
    const bool needs_current = condition.worker_measured && report.worker_measured;
    const auto& end = report.evidence_valid_until;
    const bool ended = end && *end <= question.now;
    want((report.appraisal_current && !ended) || !needs_current, Reason::kEvidenceStale);
    want(report.device_attested || !condition.device_attested, Reason::kDeviceNotAttested);
    want(!condition.min_spot_checks || report.spot_checks >= *condition.min_spot_checks,
         Reason::kSpotCheckMissing);
    if (condition.scope == "device-memory") {
      look_at_memory(report);
    }
  }
  // A known mismatch is the worst, then one of which something else is in doubt, then what fails,
  // then what cannot be decided.
  [[nodiscard]] int badness() const {
    const bool mismatch = !wrong.empty() && wrong.front() == Reason::kModelMismatch;
    const bool alone = wrong.size() == 1 && !unknown && unsaid.empty();
    return mismatch ? (alone ? 4 : 3) : !wrong.empty() ? 2 : unknown || !unsaid.empty() ? 1 : 0;
  }
  // Only a mismatch is about the model itself, and only when nothing else is in doubt.
  [[nodiscard]] Answer turned(Answer plain) const {
    if (plain.outcome == Outcome::kFail && badness() < 4) {
      plain.outcome = Outcome::kError;
      plain.code = badness() == 3 ? Reason::kConditionUndecided : plain.code;
    }
    return plain;
  }
  Answer answer(const Found& report) {
    unknown = question.facts.node->name != question.node;
    want(!question.facts.node->revoked, Reason::kNodeRevoked);
    if (report) {
      look_at(*report);
    } else {
      want(false, Reason::kReportMissing);
    }
    Answer result;
    result.outcome = !wrong.empty()               ? Outcome::kFail
                     : unknown || !unsaid.empty() ? Outcome::kError
                                                  : Outcome::kPass;
    if (!wrong.empty()) {
      result.code = wrong.front();
    } else if (unknown) {
      result.code = Reason::kConditionUndecided;
    } else if (!unsaid.empty()) {
      result.code = unsaid.front();
    }
    return question.below_not ? turned(result) : result;
  }
};

using Place = std::tuple<std::string, std::string, std::string, std::string>;
using Places = std::map<Place, ReportFact>;

// By place; of each only the newest.
Places places_of(const ReportCondition& condition, const Facts& facts, bool pod) {
  Places places;
  for (const ReportFact& report : facts.reports) {
    const bool own = report.pod == facts.pod;
    const bool fits = condition.scope == "device-memory" ? own && (!pod || !facts.pod.empty())
                      : condition.at_serve               ? own && !report.pod.empty()
                                                         : report.pod.empty();
    if (report.scope != condition.scope || !fits) {
      continue;
    }
    const Place place{report.location, report.pod, report.pod_volume, report.instance};
    const auto known = places.find(place);
    if (known == places.end() || std::tie(known->second.reported_at, known->second.job) <
                                     std::tie(report.reported_at, report.job)) {
      places.insert_or_assign(place, report);
    }
  }
  return places;
}

// Of the volume behind the claim, if there are any; of these one that is not right.
Found report_at(const Places& places, const Facts& facts, const std::string& location) {
  const std::optional<std::string> volume = volume_behind(facts, location);
  std::vector<ReportFact> there;
  std::vector<ReportFact> behind;
  for (const auto& [place, report] : places) {
    if (report.location == location) {
      there.push_back(report);
      if (volume && report.volume == *volume) {
        behind.push_back(report);
      }
    }
  }
  std::vector<ReportFact>& pick = behind.empty() ? there : behind;
  std::stable_partition(pick.begin(), pick.end(),
                        [](const ReportFact& one) { return one.result == "verified"; });
  return pick.empty() ? Found() : Found(pick.back());
}

Found report_in(const ReportCondition& condition, const Facts& facts, const std::string& volume) {
  const Places places = places_of(condition, facts, true);
  const auto at = places.find(Place{"", facts.pod, volume, ""});
  return at == places.end() ? Found() : Found(at->second);
}

bool is_right(const ReportCondition& condition, const ReportQuestion& question,
              const Found& report) {
  ReportQuestion plain = question;
  plain.below_not = false;
  return Judge{condition, plain}.answer(report).outcome == Outcome::kPass;
}

// As this model, or else as another one.
bool holds_only_another(const ReportCondition& condition, const ReportQuestion& question,
                        const std::string& volume) {
  return !is_right(condition, question, report_in(condition, question.facts, volume)) &&
         std::any_of(question.others.begin(), question.others.end(), [&](const Facts* other) {
           const ReportQuestion theirs{*other,       question.node,  question.now,
                                       question.pod, question.bound, question.filled,
                                       false,        question.others};
           return other->node && is_right(condition, theirs, report_in(condition, *other, volume));
         });
}

// Whether all that was heard of the instance is that it had ended.
bool is_over(const Facts& facts, const std::string& instance) {
  std::set<std::string> states;
  for (const InstanceFact& one : facts.instances) {
    if (one.instance == instance) {
      states.insert(one.state);
    }
  }
  return states == std::set<std::string>{"ended"};
}

// For each instance that was heard of and that no report is about.
void add_unreported(const Places& places, const Facts& facts, std::vector<Found>& found) {
  std::set<std::string> reported;
  for (const auto& [place, report] : places) {
    reported.insert(report.instance);
  }
  for (const InstanceFact& one : facts.instances) {
    if (!reported.contains(one.instance) && !is_over(facts, one.instance)) {
      found.emplace_back(std::nullopt);
    }
  }
}

// Beside one that is there and right, those that ended well are forgotten.
void forget_ended(const ReportCondition& condition, const ReportQuestion& question,
                  std::vector<Found>& found) {
  std::vector<Found> there;
  std::vector<Found> bad_end;
  bool right = false;
  for (const Found& one : found) {
    if (!one || !is_over(question.facts, one->instance)) {
      there.push_back(one);
      right = right || is_right(condition, question, one);
    } else if (one->result != "verified") {
      bad_end.push_back(one);
    }
  }
  if (right) {
    there.insert(there.end(), bad_end.begin(), bad_end.end());
    found = there;
  }
}

// What has to be right.
std::vector<Found> asked_for(const ReportCondition& condition, const ReportQuestion& question) {
  const Places places = places_of(condition, question.facts, question.pod);
  const bool files = condition.scope == "files";
  std::vector<Found> found;
  if (files && question.pod) {
    for (const std::string& location : question.bound) {
      found.push_back(report_at(places, question.facts, location));
    }
    if (condition.at_serve) {
      for (const std::string& volume : question.filled) {
        if (!holds_only_another(condition, question, volume)) {
          found.push_back(report_in(condition, question.facts, volume));
        }
      }
    }
  } else if (files && !question.facts.asked_locations.empty()) {
    for (const std::string& location : question.facts.asked_locations) {
      found.push_back(report_at(places, question.facts, location));
    }
  } else {
    for (const auto& [place, report] : places) {
      found.emplace_back(report);
    }
  }
  if (!files && condition.memory.watched) {
    add_unreported(places, question.facts, found);
  }
  if (!files) {
    forget_ended(condition, question, found);
  }
  return found.empty() ? std::vector<Found>{std::nullopt} : found;
}

}  // namespace

Answer judge_reports(const ReportCondition& condition, const ReportQuestion& question) {
  Answer worst;
  int most = -1;
  for (const Found& report : asked_for(condition, question)) {
    Judge judge{condition, question};
    const Answer one = judge.answer(report);
    if (judge.badness() > most) {
      most = judge.badness();
      worst = one;
    }
  }
  return worst;
}

}  // namespace assay::policy::reference
