// SPDX-License-Identifier: Apache-2.0
#include "tests/support/policy_reference_manifests.h"

#include <algorithm>

namespace assay::policy::reference {
namespace {

using Texts = std::set<std::string>;

bool is_tree(const std::string& digest) { return digest.rfind("assay-tree-v1-", 0) == 0; }

std::string algorithm(const std::string& digest) { return digest.substr(0, digest.find(':')); }

Texts strong_subjects(const LineageStatement& one) {
  Texts found;
  for (const LineageSubject& subject : one.subjects) {
    if (is_strong_digest(subject.digest)) {
      found.insert(subject.digest);
    }
  }
  return found;
}

// Of two the one that says less.
Truth less(Truth a, Truth b) {
  if (a == Truth::kNo || b == Truth::kNo) {
    return Truth::kNo;
  }
  return a == Truth::kUnknown ? a : b;
}

}  // namespace

Manifests::Manifests(const Case& one_case, bool before) : case_(one_case), before_(before) {
  if (one_case.conditions != nullptr) {
    policy_.require = *one_case.conditions;
  }
  for (const auto& one : case_.facts.lineage->statements()) {
    if (one->manifest) {
      const Texts subjects = strong_subjects(*one);
      const Truth truth = believed(*one, {});
      const bool one_tree = std::count_if(subjects.begin(), subjects.end(), is_tree) == 1;
      counts_[one.get()] = {truth, one_tree && subjects.size() > 1 ? truth : Truth::kNo};
    }
  }
}

Truth Manifests::names(const LineageStatement& manifest) const {
  return counts_.at(&manifest).first;
}
Truth Manifests::joins(const LineageStatement& manifest) const {
  return counts_.at(&manifest).second;
}

Truth Manifests::believed(const LineageStatement& one, const Texts& names) {
  if ((taken_back(one.fact) && !before_) || one.subjects.empty()) {
    return Truth::kNo;
  }
  Texts all = names;
  all.insert(one.subjects.front().names.front());
  Said said{{}, {}, {}, {}, true};
  for (const SignerFact& signer : one.fact.signers) {
    Truth truth = taken_back(one.fact, signer) && !before_ ? Truth::kNo : Truth::kYes;
    for (const std::string& name : all) {
      truth = less(truth, case_.counts(signer, {KeyPurpose::kPublisher, "",
                                                std::string(kManifestPredicateType), name}));
    }
    if (truth == Truth::kYes) {
      said.surely.insert(signer.key.identity);
    }
    if (truth != Truth::kNo) {
      said.perhaps.insert(signer.key.identity);
    }
  }
  said.name = "x";
  if (!believed_names(policy_, {"", {said}, false}).empty()) {
    return Truth::kYes;
  }
  said.surely = said.perhaps;
  return believed_names(policy_, {"", {said}, false}).empty() ? Truth::kNo : Truth::kUnknown;
}

std::set<std::string> Manifests::one_with(const std::string& digest) const {
  // What each tree is, as far as nothing speaks against it.
  std::map<std::string, Texts> trees;
  for (const auto& [manifest, counts] : counts_) {
    if (counts.second == Truth::kYes) {
      const Texts subjects = strong_subjects(*manifest);
      const auto tree = std::find_if(subjects.begin(), subjects.end(), is_tree);
      trees[*tree].insert(subjects.begin(), subjects.end());
    }
  }
  const auto belongs = [&](const std::string& one, const std::string& tree) {
    for (const auto& [other, digests] : trees) {
      for (const std::string& second : digests) {
        const bool here = other == tree;
        const bool clash = here && second != one && algorithm(second) == algorithm(one);
        if (one != tree && (clash || (!here && second == one))) {
          return false;
        }
      }
    }
    return trees[tree].contains(one);
  };
  for (const auto& [tree, digests] : trees) {
    if (belongs(digest, tree)) {
      Texts found;
      for (const std::string& one : digests) {
        if (belongs(one, tree)) {
          found.insert(one);
        }
      }
      return found;
    }
  }
  return {digest};
}

std::set<std::string> Manifests::beside(Texts digests) const {
  Texts found;
  for (bool again = true; again;) {
    const std::size_t before = digests.size() + found.size();
    for (const auto& [manifest, counts] : counts_) {
      const Texts subjects = strong_subjects(*manifest);
      const bool about = std::any_of(subjects.begin(), subjects.end(),
                                     [&](const auto& one) { return digests.contains(one); });
      if (counts.second != Truth::kNo && about) {
        digests.insert(subjects.begin(), subjects.end());
        for (const LineageSubject& subject : manifest->subjects) {
          found.insert(subject.digest);
        }
      }
    }
    again = digests.size() + found.size() > before;
  }
  return found;
}

bool Manifests::drop(const Called& called) {
  const auto before = counts_;
  for (auto& [manifest, counts] : counts_) {
    const Texts subjects = strong_subjects(*manifest);
    Texts names;
    const auto add = [&](const auto& from) {
      for (const std::string& digest : subjects) {
        if (const auto found = from.find(digest); found != from.end()) {
          names.insert(found->second.begin(), found->second.end());
        }
      }
      names.erase("");
    };
    add(called.inputs);
    counts.first = less(counts.first, believed(*manifest, names));
    add(called.subjects);
    counts.second = less(counts.second, believed(*manifest, names));
    if (subjects.contains(case_.facts.lineage->start())) {
      const bool any = std::any_of(
          case_.believed.begin(), case_.believed.end(),
          [&](const std::string& name) { return believed(*manifest, {name}) != Truth::kNo; });
      counts.second = any ? counts.second : Truth::kNo;
    }
  }
  return counts_ != before;
}

}  // namespace assay::policy::reference
