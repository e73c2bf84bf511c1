// SPDX-License-Identifier: Apache-2.0
// long-file: one evaluator, whose steps read the same sets
// The second evaluator: what a model was made from. Sets of texts, looked through again and again
// until nothing changes; paths are enumerated one by one.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <regex>

#include "policy/lineage.h"
#include "schemas/lifecycle.h"
#include "schemas/spdx.h"
#include "schemas/stages.h"
#include "tests/support/policy_reference_manifests.h"

namespace assay::policy::reference {
namespace {

using Texts = std::set<std::string>;
using Stages = std::vector<std::string>;

bool fits(const std::string& pattern, const std::string& text) {
  std::string expression;
  for (const char c : pattern) {
    expression +=
        c == '*' ? "[^]*" : std::string("[") + (c == '^' ? "\\^" : std::string(1, c)) + "]";
  }
  return std::regex_match(text, std::regex(expression));
}

bool is_among(const std::vector<std::string>& list, const std::string& text) {
  return std::count(list.begin(), list.end(), text) > 0;
}

// A name in one spelling; none when it can be read in two ways.
std::optional<std::string> one_spelling(const std::string& name) {
  static const std::regex kEscape("%([0-9A-Fa-f]{2})");
  std::string text;
  std::smatch found;
  std::string rest = name;
  while (std::regex_search(rest, found, kEscape)) {
    text += found.prefix();
    if (text.find('%') != std::string::npos) {
      return std::nullopt;
    }
    text += static_cast<char>(std::stoi(found[1], nullptr, 16));
    rest = found.suffix();
  }
  text += rest;
  Stages parts;
  std::string part;
  for (char c : text + "/") {
    if (c == '%' || c == '\\' || static_cast<unsigned char>(c) <= ' ' || c == '\x7f') {
      return std::nullopt;
    }
    if (c != '/') {
      part += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
      continue;
    }
    if (part == ".." && parts.empty()) {
      return std::nullopt;
    }
    if (part == "..") {
      parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    part.clear();
  }
  std::string joined;
  for (const std::string& one : parts) {
    joined += (joined.empty() ? "" : "/") + one;
  }
  return joined;
}

// Whether the pattern fits the name in one spelling of both.
bool fits_plainly(const std::string& pattern, const std::string& name) {
  const auto one = one_spelling(pattern);
  const auto other = one_spelling(name);
  return one && other && fits(*one, *other);
}

bool strong(const std::string& digest) {
  static const std::regex kForm(
      "(assay-tree-v1-sha(256|384)|sha(256|384|512)|sha3_(256|384|512)):[^]*");
  return std::regex_match(digest, kForm);
}

bool is_making(const LineageStatement& one) {
  const std::string& type = one.fact.predicate_type;
  const std::string& stage = one.fact.stage;
  return !one.manifest &&
         (type == "https://slsa.dev/provenance/v1" ||
          (type == kLifecyclePredicateType && effect_of(stage) != StageEffect::kDescribes));
}

// What made a thing, and did not only say something of it.
bool is_stage_that_makes(const LineageStatement& one) {
  return is_making(one) && (one.fact.predicate_type != kLifecyclePredicateType ||
                            effect_of(one.fact.stage).has_value());
}

// One thing: its digests, and what is believed of it.
struct Thing {
  Texts digests;
  Texts names;   // under which its makers must be trusted
  Texts called;  // by inputs that count
  std::vector<const LineageStatement*> believed;
};

class Questioner {
 public:
  // `before`: what was withdrawn is taken as if it had not been.
  Questioner(const LineageCondition& condition, const Case& one_case, bool before = false)
      : condition_(condition), case_(one_case), before_(before), manifests_(one_case, before) {
    do {
      things_.clear();
      reached_.clear();
      merge();
      start_ = thing_of(case_.facts.lineage->start());
      reached_.insert(start_);
      things_[start_].names = case_.names();
      while (look()) {
      }
    } while (manifests_.drop(called()));
  }

  std::vector<Tested> demands() {
    const bool cyclic = std::any_of(reached_.begin(), reached_.end(), [&](std::size_t thing) {
      return ancestors_of(thing).contains(thing);
    });
    std::vector<Tested> list = {{truth(!denied()), Reason::kAncestorDenied}};
    const Truth once = !denied() ? once_allowed() : Truth::kYes;
    const Truth edges = edges_signed();
    // What lies in the future may be what is missing; that is said once, below.
    list.push_back({truth(edges != Truth::kNo || later_), Reason::kSignersInsufficient});
    const bool waiting = evidence(list);
    list.push_back({licences(false), Reason::kLicenceNotAllowed});
    if (!cyclic) {
      const std::set<Stages> paths = paths_to(start_);
      const bool stages = std::any_of(paths.begin(), paths.end(), [&](const Stages& path) {
        return in_order(path) == condition_.stages.size();
      });
      list.push_back({truth(stages || later_), Reason::kStageMissing});
      list.push_back({truth(!condition_.max_depth || longest(start_) <= *condition_.max_depth),
                      Reason::kLineageTooDeep});
    }
    const bool open = later_ || waiting || edges == Truth::kUnknown || once_later();
    list.push_back({open ? Truth::kUnknown : Truth::kYes, Reason::kConditionUndecided});
    list.push_back({once, Reason::kAncestorDenied});
    list.push_back({once_readable(), Reason::kAncestorUnknown});
    list.push_back({once_whole(), Reason::kLineageIncomplete});
    list.push_back(
        {all_known() && !unreadable() ? Truth::kYes : Truth::kUnknown, Reason::kAncestorUnknown});
    list.push_back({licences(true), Reason::kLicenceUnknown});
    list.push_back({cyclic ? Truth::kUnknown : Truth::kYes, Reason::kLineageCycle});
    list.push_back({whole(), Reason::kLineageIncomplete});
    return list;
  }

 private:
  [[nodiscard]] const Lineage::Statements& all() const { return case_.facts.lineage->statements(); }

  Called called() const {
    Called called;
    for (const std::size_t number : reached_) {
      for (const LineageStatement* one : things_[number].believed) {
        for (const LineageSubject& subject : one->subjects) {
          if (things_[number].digests.contains(subject.digest)) {
            called.subjects[subject.digest].insert(subject.names.begin(), subject.names.end());
          }
        }
        for (const LineageInput* input : inputs_of(*one)) {
          for (const std::string& digest : input->digests) {
            called.inputs[digest].insert(input->name);
          }
        }
      }
    }
    return called;
  }

  void merge() {
    Texts digests = {case_.facts.lineage->start()};
    for (const auto& one : all()) {
      for (const LineageSubject& subject : one->subjects) {
        digests.insert(subject.digest);
      }
      for (const LineageInput& input : one->inputs) {
        digests.insert(input.digests.begin(), input.digests.end());
      }
    }
    std::set<Texts> things;
    for (const std::string& digest : digests) {
      if (strong(digest)) {
        things.insert(manifests_.one_with(digest));
      }
    }
    for (const Texts& thing : things) {
      things_.push_back({thing, {}, {}, {}});
    }
  }

  std::size_t thing_of(const std::string& digest) const {
    for (std::size_t i = 0; i < things_.size(); ++i) {
      if (things_[i].digests.contains(digest)) {
        return i;
      }
    }
    std::abort();
  }

  static bool is_about(const LineageStatement& one, const Thing& thing) {
    return std::any_of(one.subjects.begin(), one.subjects.end(),
                       [&](const auto& subject) { return thing.digests.contains(subject.digest); });
  }

  Truth counts(const SignerFact& signer, const LineageStatement& one, const Thing& thing) const {
    if (taken_back(one.fact, signer) && !before_) {
      return Truth::kNo;
    }
    Texts own;
    for (const LineageSubject& subject : one.subjects) {
      if (thing.digests.contains(subject.digest)) {
        for (const std::string& name : subject.names) {
          own.insert(name.empty() ? "!" : name);
        }
      }
    }
    const auto under = [&](const std::string& name) {
      return case_.counts(signer,
                          {KeyPurpose::kSigner, one.fact.stage, one.fact.predicate_type, name});
    };
    Truth best = Truth::kNo;
    for (const std::string& name : Case::or_none(thing.names)) {
      best = under(name) == Truth::kNo ? best : under(name);
    }
    for (const std::string& name : Case::or_none(own)) {
      best = under(name) == Truth::kNo ? Truth::kNo : best;
    }
    return best;
  }

  [[nodiscard]] bool followed(const LineageInput& input) const {
    return condition_.roles.empty() || input.role == kDependencyRole ||
           is_among(condition_.roles, input.role);
  }

  std::vector<const LineageInput*> inputs_of(const LineageStatement& one) const {
    std::vector<const LineageInput*> inputs;
    for (const LineageInput& input : one.inputs) {
      if (is_making(one) && followed(input)) {
        inputs.push_back(&input);
      }
    }
    return inputs;
  }

  std::set<std::size_t> things_in(const LineageInput& input) const {
    std::set<std::size_t> found;
    for (const std::string& digest : input.digests) {
      if (strong(digest)) {
        found.insert(thing_of(digest));
      }
    }
    return found;
  }

  // One look at everything that was reached; true when something new came up.
  bool look() {
    bool changed = false;
    later_ = false;
    for (const std::size_t number : std::set<std::size_t>(reached_)) {
      Thing& thing = things_[number];
      thing.believed.clear();
      for (const auto& one : all()) {
        if (!is_about(*one, thing)) {
          continue;
        }
        if (one->manifest) {
          later_ = later_ || manifests_.names(*one) == Truth::kUnknown ||
                   manifests_.joins(*one) == Truth::kUnknown;
          continue;
        }
        Truth best = Truth::kNo;
        for (const SignerFact& signer : one->fact.signers) {
          const Truth truth = counts(signer, *one, thing);
          best = best == Truth::kYes || truth == Truth::kNo ? best : truth;
        }
        later_ = later_ || best == Truth::kUnknown;
        if (best == Truth::kYes) {
          thing.believed.push_back(one.get());
        }
      }
      for (const LineageStatement* one : things_[number].believed) {
        for (const LineageInput* input : inputs_of(*one)) {
          for (const std::size_t parent : things_in(*input)) {
            changed = reached_.insert(parent).second || changed;
            changed = name(parent, input->name) || changed;
          }
        }
      }
    }
    return changed;
  }

  bool name(std::size_t number, const std::string& given) {
    Thing& thing = things_[number];
    bool changed = false;
    const auto add = [&](Texts& to, const std::string& one) {
      changed = to.insert(one).second || changed;
    };
    if (!given.empty()) {
      add(thing.called, given);
    }
    if (number == start_) {
      return changed;
    }
    if (!given.empty()) {
      add(thing.names, given);
      return changed;
    }
    for (const auto& one : all()) {
      if (one->manifest && is_about(*one, thing) && manifests_.names(*one) == Truth::kYes) {
        add(thing.names, one->subjects.front().names.front());
      }
    }
    return changed;
  }

  std::set<std::size_t> parents_of(std::size_t number) const {
    std::set<std::size_t> parents;
    for (const LineageStatement* one : things_[number].believed) {
      for (const LineageInput* input : inputs_of(*one)) {
        const auto found = things_in(*input);
        parents.insert(found.begin(), found.end());
      }
    }
    return parents;
  }

  std::set<std::size_t> ancestors_of(std::size_t number) const {
    std::set<std::size_t> found = parents_of(number);
    for (bool again = true; again;) {
      const std::size_t before = found.size();
      for (const std::size_t one : std::set<std::size_t>(found)) {
        const auto more = parents_of(one);
        found.insert(more.begin(), more.end());
      }
      again = found.size() > before;
    }
    return found;
  }

  // Every name that is compared with the deny list.
  Texts names_compared() const {
    Texts names;
    for (const std::size_t number : reached_) {
      for (const LineageStatement* one : things_[number].believed) {
        for (const LineageInput* input : inputs_of(*one)) {
          names.insert(input->name);
          names.insert(input->also.begin(), input->also.end());
        }
      }
      for (const LineageAside& aside : case_.facts.lineage->rest().aside) {
        if (things_[number].digests.contains(aside.digest)) {
          names.insert(aside.names.begin(), aside.names.end());
        }
      }
      for (const auto& one : all()) {
        for (const LineageSubject& subject : one->subjects) {
          if (things_[number].digests.contains(subject.digest)) {
            names.insert(subject.names.begin(), subject.names.end());
          }
        }
      }
    }
    names.erase("");
    return names;
  }

  [[nodiscard]] bool is_denied_name(const std::string& name) const {
    const auto& patterns = condition_.deny.names;
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
      return fits(pattern, name) || fits_plainly(pattern, name);
    });
  }

  // A name that can be read in two ways may be a denied one.
  bool unreadable() const {
    const Texts names = names_compared();
    return !condition_.deny.names.empty() &&
           std::any_of(names.begin(), names.end(), [&](const std::string& name) {
             return !one_spelling(name) && !is_denied_name(name);
           });
  }

  bool denied() const {
    const Texts names = names_compared();
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return is_denied_name(name); }) ||
           std::any_of(reached_.begin(), reached_.end(),
                       [&](std::size_t number) { return is_denied(things_[number]); });
  }

  // By its digests, and by who made or published it.
  bool is_denied(const Thing& thing) const {
    const LineageDeny& deny = condition_.deny;
    const auto bad_digest = [&](const std::string& digest) {
      return is_among(deny.digests, digest);
    };
    const auto bad_key = [&](const std::string& identity, const KeyId& key) {
      return is_among(deny.identities, identity) || is_among(deny.keys, key.text());
    };
    Texts digests = manifests_.beside(thing.digests);
    digests.insert(thing.digests.begin(), thing.digests.end());
    for (const LineageStatement* one : thing.believed) {
      for (const LineageInput* input : inputs_of(*one)) {
        digests.insert(input->digests.begin(), input->digests.end());
      }
      if (beside_denied(*one, thing)) {
        return true;
      }
    }
    if (std::any_of(digests.begin(), digests.end(), bad_digest)) {
      return true;
    }
    for (const LineageAside& aside : case_.facts.lineage->rest().aside) {
      if (aside.makes && thing.digests.contains(aside.digest) &&
          bad_key(aside.identity, aside.key)) {
        return true;
      }
    }
    for (const auto& one : all()) {
      for (const SignerFact& signer : one->fact.signers) {
        if (is_about(*one, thing) && (one->manifest || is_making(*one)) &&
            bad_key(signer.key.identity, signer.key.id)) {
          return true;
        }
      }
    }
    return false;
  }

  // What one statement says are digests of one subject.
  bool beside_denied(const LineageStatement& one, const Thing& thing) const {
    return std::any_of(one.together.begin(), one.together.end(), [&](const auto& together) {
      const bool here = std::any_of(together.begin(), together.end(), [&](const auto& digest) {
        return thing.digests.contains(digest);
      });
      return here && std::any_of(together.begin(), together.end(), [&](const auto& digest) {
               return is_among(condition_.deny.digests, digest);
             });
    });
  }

  // Where the search ended, but for what was never reached. Without places it may be anywhere.
  Truth whole() const {
    const auto& cut = case_.facts.lineage->rest().cut;
    const bool here = std::any_of(reached_.begin(), reached_.end(), [&](std::size_t number) {
      return std::any_of(cut.begin(), cut.end(), [&](const std::string& digest) {
        return things_[number].digests.contains(digest);
      });
    });
    return !case_.facts.lineage->reached().empty() && (cut.empty() || here) ? Truth::kUnknown
                                                                            : Truth::kYes;
  }

  Truth once_whole() const {
    return any_withdrawn() && any_denied_at_all() ? Questioner(condition_, case_, true).whole()
                                                  : Truth::kYes;
  }

  bool any_withdrawn() const {
    return std::any_of(all().begin(), all().end(),
                       [](const auto& one) { return one->fact.withdrawn.has_value(); });
  }

  bool any_denied_at_all() const { return !(condition_.deny == LineageDeny{}); }

  // What somebody took back still speaks against a model, without proving anything.
  Truth once_allowed() const {
    return any_denied_at_all() && Questioner(condition_, case_, true).denied() ? Truth::kUnknown
                                                                               : Truth::kYes;
  }

  Truth once_readable() const {
    const bool asked = any_withdrawn() && any_denied_at_all();
    return asked && Questioner(condition_, case_, true).unreadable() ? Truth::kUnknown
                                                                     : Truth::kYes;
  }

  bool once_later() const {
    return any_withdrawn() && any_denied_at_all() && Questioner(condition_, case_, true).later_;
  }

  bool accepted(const Texts& digests, const Texts& names) const {
    for (const std::string& leaf : condition_.leaves) {
      const bool named = leaf.find(':') == std::string::npos;
      for (const std::string& text : named ? names : digests) {
        if (!text.empty() && fits(leaf, text) && (!named || fits_plainly(leaf, text))) {
          return true;
        }
      }
    }
    return false;
  }

  bool made_by(const LineageStatement& one) const {
    return is_stage_that_makes(one) ||
           (is_making(one) &&
            (is_among(condition_.stages, one.fact.stage) ||
             std::any_of(condition_.edges.begin(), condition_.edges.end(),
                         [&](const auto& edge) { return edge.stage == one.fact.stage; })));
  }

  bool has_inputs(const Thing& thing) const {
    return std::any_of(
        thing.believed.begin(), thing.believed.end(),
        [&](const LineageStatement* one) { return made_by(*one) && !inputs_of(*one).empty(); });
  }

  bool known(std::size_t number) const {
    const Thing& thing = things_[number];
    return has_inputs(thing) ||
           accepted(thing.digests, number == start_ ? Texts() : thing.called) ||
           std::any_of(thing.believed.begin(), thing.believed.end(), [](const auto* one) {
             return is_making(*one) && effect_of(one->fact.stage) == StageEffect::kBegins;
           });
  }

  bool all_known() const {
    if (!known(start_)) {
      return false;
    }
    for (const std::size_t number : reached_) {
      for (const LineageStatement* one : things_[number].believed) {
        for (const LineageInput* input : inputs_of(*one)) {
          const auto things = things_in(*input);
          const bool good =
              things.empty()
                  ? !input->digests.empty() &&
                        accepted({input->digests.begin(), input->digests.end()}, {input->name})
                  : std::all_of(things.begin(), things.end(),
                                [&](std::size_t thing) { return known(thing); });
          if (!good) {
            return false;
          }
        }
        if (one->unread) {
          return false;
        }
      }
    }
    return true;
  }

  bool is_meant(const LineageEdgeRule& rule, const LineageStatement& one) const {
    const auto inputs = inputs_of(one);
    const bool of_role =
        rule.role.empty() || std::any_of(inputs.begin(), inputs.end(),
                                         [&](const auto* in) { return in->role == rule.role; });
    return is_making(one) && of_role && (rule.stage.empty() || one.fact.stage == rule.stage);
  }

  // Adds what does not hold of the evidence of the steps that rules are about; true when something
  // of it is not known.
  bool evidence(std::vector<Tested>& list) const {
    std::map<Truth, std::set<Reason>> found;
    for (const LineageEdgeRule& rule : condition_.edges) {
      for (const std::size_t number : reached_) {
        for (const LineageStatement* one : things_[number].believed) {
          const auto stands = [&](const SignerFact& signer) {
            const std::string& who = signer.key.identity;
            const bool asked = rule.identities.empty() || is_among(rule.identities, who);
            return asked ? counts(signer, *one, things_[number]) : Truth::kNo;
          };
          if (rule.evidence && is_meant(rule, *one)) {
            const Tested tested = case_.evidence_of(*rule.evidence, one->fact, stands);
            found[tested.holds].insert(tested.code);
          }
        }
      }
    }
    for (const Reason code : later_ ? std::set<Reason>() : found[Truth::kNo]) {
      list.push_back({Truth::kNo, code});
    }
    return found.contains(Truth::kUnknown);
  }

  // What went in, as the explanations of edges tell it apart: a thing, or what it is called.
  std::set<std::string> sources_of(const LineageEdgeRule& rule, const LineageStatement& one) const {
    std::set<std::string> sources;
    for (const LineageInput* input : inputs_of(one)) {
      if (!rule.role.empty() && input->role != rule.role) {
        continue;
      }
      const auto things = things_in(*input);
      for (const std::size_t thing : things) {
        sources.insert(std::to_string(thing));
      }
      if (things.empty()) {
        sources.insert(Json({input->name, input->digests}).dump());
      }
    }
    return sources.empty() ? std::set<std::string>{"nothing"} : sources;
  }

  Truth edge_signed(const LineageEdgeRule& rule, std::size_t number,
                    const std::string& source) const {
    Texts surely;
    Texts perhaps;
    for (const LineageStatement* one : things_[number].believed) {
      if (!is_meant(rule, *one) || !sources_of(rule, *one).contains(source)) {
        continue;
      }
      for (const SignerFact& signer : one->fact.signers) {
        const Truth truth = counts(signer, *one, things_[number]);
        if (!rule.identities.empty() && !is_among(rule.identities, signer.key.identity)) {
          continue;
        }
        if (truth == Truth::kYes) {
          surely.insert(signer.key.identity);
        }
        if (truth != Truth::kNo) {
          perhaps.insert(signer.key.identity);
        }
      }
    }
    if (perhaps.size() < rule.at_least) {
      return Truth::kNo;
    }
    return surely.size() < rule.at_least ? Truth::kUnknown : Truth::kYes;
  }

  Truth edges_signed() const {
    std::set<Truth> found = {Truth::kYes};
    for (const LineageEdgeRule& rule : condition_.edges) {
      for (const std::size_t number : reached_) {
        for (const LineageStatement* one : things_[number].believed) {
          for (const std::string& source :
               is_meant(rule, *one) ? sources_of(rule, *one) : std::set<std::string>()) {
            found.insert(edge_signed(rule, number, source));
          }
        }
      }
    }
    return found.contains(Truth::kNo)        ? Truth::kNo
           : found.contains(Truth::kUnknown) ? Truth::kUnknown
                                             : Truth::kYes;
  }

  bool accepts(const std::string& licence) const {
    const auto is_in = [&](const std::vector<std::string>& list) {
      return std::any_of(list.begin(), list.end(),
                         [&](const auto& one) { return same_spdx_id(one, licence); });
    };
    if (is_in(condition_.licences->allow)) {
      return !is_in(condition_.licences->deny);
    }
    static const std::regex kMore("[+]?( .*)?$");
    const std::string plain =
        std::regex_replace(licence, kMore, "", std::regex_constants::format_first_only);
    const auto& deny = condition_.licences->deny;
    return condition_.licences->allow.empty() && !is_in(deny) &&
           std::none_of(deny.begin(), deny.end(),
                        [&](const auto& one) { return same_spdx_id(one, plain); });
  }

  // Whether all licences are accepted; or, when `asked_known`, known.
  Truth licences(bool asked_known) const {
    bool accepted_all = true;
    bool known_all = true;
    for (const std::size_t number : condition_.licences ? reached_ : std::set<std::size_t>()) {
      bool any = false;
      for (const LineageStatement* one : things_[number].believed) {
        if (is_making(*one) && one->licence) {
          any = true;
          const auto expression = SpdxExpression::parse(*one->licence);
          known_all = known_all && expression;
          accepted_all =
              accepted_all && (!expression || expression->satisfied_by([&](const std::string& id) {
                return accepts(id);
              }));
        }
        for (const LineageInput* input : inputs_of(*one)) {
          known_all = known_all && !things_in(*input).empty();
        }
      }
      known_all = known_all && (any || has_inputs(things_[number]));
    }
    return asked_known ? (known_all ? Truth::kYes : Truth::kUnknown) : truth(accepted_all);
  }

  std::uint64_t longest(std::size_t number) const {
    std::uint64_t steps = 0;
    for (const LineageStatement* one : things_[number].believed) {
      for (const LineageInput* input : inputs_of(*one)) {
        steps = std::max<std::uint64_t>(steps, 1);
        for (const std::size_t parent : things_in(*input)) {
          steps = std::max(steps, longest(parent) + 1);
        }
      }
    }
    return steps;
  }

  // The stages on every way to a thing.
  std::set<Stages> paths_to(std::size_t number) const {
    std::set<Stages> paths = {{}};
    std::vector<const LineageStatement*> in_order = things_[number].believed;
    for (const LineageStatement* one : in_order) {
      if (!is_making(*one)) {
        continue;
      }
      std::set<Stages> before = {{}};
      for (const LineageInput* input : inputs_of(*one)) {
        for (const std::size_t parent : things_in(*input)) {
          const auto more = paths_to(parent);
          before.insert(more.begin(), more.end());
        }
      }
      for (Stages path : before) {
        path.push_back(one->fact.stage);
        paths.insert(std::move(path));
      }
    }
    for (const LineageStatement* one : in_order) {
      if (!is_making(*one)) {
        std::set<Stages> longer;
        for (Stages path : paths) {
          path.push_back(one->fact.stage);
          longer.insert(std::move(path));
        }
        paths = std::move(longer);
      }
    }
    return paths;
  }

  std::size_t in_order(const Stages& path) const {
    std::size_t found = 0;
    for (const std::string& stage : path) {
      found += found < condition_.stages.size() && stage == condition_.stages[found] ? 1U : 0U;
    }
    return found;
  }

  const LineageCondition& condition_;
  const Case& case_;
  bool before_;
  Manifests manifests_;
  std::vector<Thing> things_;
  std::size_t start_ = 0;
  std::set<std::size_t> reached_;
  bool later_ = false;  // a signature that would count lies in the future
};

}  // namespace

Answer Case::judge(const LineageCondition& condition, bool below_not) const {
  if (!facts.lineage || !facts.artifact || facts.lineage->start() != facts.artifact->text()) {
    return answer(Outcome::kError, Reason::kAncestorUnknown);
  }
  const std::vector<Tested> demands = Questioner(condition, *this).demands();
  Answer plain = all_of(demands);
  if (plain.outcome == Outcome::kError) {
    plain.code = first(demands, Truth::kUnknown)->code;
  }
  return below_not ? turned_demands(demands, plain) : plain;
}

}  // namespace assay::policy::reference
