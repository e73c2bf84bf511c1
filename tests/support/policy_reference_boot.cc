// SPDX-License-Identifier: Apache-2.0
#include "tests/support/policy_reference_boot.h"

#include <map>
#include <set>
#include <string>

#include "schemas/core/sha.h"

namespace assay::policy::reference {
namespace {

using Digests = std::set<std::string>;

std::string sha384(const std::string& bytes) {
  return sha(HashAlgorithm::kSha384, as_bytes(bytes)).hex();
}

// As a boot loader hashes the text, and as the kernel does: two bytes a letter, with or without the
// two that end it.
Digests forms_of(const std::string& line) {
  std::string wide(2 * line.size(), '\0');
  for (std::size_t i = 0; i < line.size(); ++i) {
    wide.at(2 * i) = line[i];
  }
  std::string ended = wide;
  ended.append(2, '\0');
  return {sha384(line), sha384(wide), sha384(ended)};
}

}  // namespace

Started started_as(const BootDemands& demands, const std::optional<MeasuredBoot>& boot) {
  if (!boot) {
    return {false, true};
  }
  std::map<std::string, Digests> lists;
  lists["kernels"] = {demands.kernels.begin(), demands.kernels.end()};
  lists["initrds"] = {demands.initrds.begin(), demands.initrds.end()};
  for (const std::string& line : demands.command_lines) {
    lists["command lines"].merge(forms_of(line));
  }
  lists["others"] = {demands.others.begin(), demands.others.end()};
  Digests named;
  for (const auto& [name, list] : lists) {
    named.insert(list.begin(), list.end());
  }
  Started started{true, true};
  if (demands.secure_boot) {
    started.said = boot->secure_boot.has_value();
    started.as_asked = boot->secure_boot.value_or(true);
  }
  if (named.empty()) {
    return {started.said || !started.as_asked, started.as_asked};
  }
  if (!boot->rtmr1 || !boot->rtmr2) {
    return {!started.as_asked, started.as_asked};
  }
  Digests measured(boot->rtmr1->begin(), boot->rtmr1->end());
  measured.insert(boot->rtmr2->begin(), boot->rtmr2->end());
  for (const auto& [name, list] : lists) {
    bool any = list.empty() || name == "others";
    for (const std::string& digest : list) {
      any = any || measured.contains(digest);
    }
    started.as_asked = started.as_asked && any;
  }
  for (const std::string& digest : measured) {
    started.as_asked = started.as_asked && (demands.allow_others || named.contains(digest));
  }
  // What is wrong is wrong, whatever else is not said.
  return {started.said || !started.as_asked, started.as_asked};
}

}  // namespace assay::policy::reference
