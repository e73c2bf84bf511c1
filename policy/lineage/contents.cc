// SPDX-License-Identifier: Apache-2.0
// Contents of statements, made from their documents and read back.
#include <algorithm>
#include <set>

#include "policy/statement_contents.h"
#include "schemas/core/json_at.h"
#include "schemas/digest_set.h"
#include "schemas/lifecycle.h"
#include "schemas/spdx.h"

namespace assay::policy {
namespace {

constexpr std::size_t kMaxDependencies = 1024;
constexpr std::size_t kMaxDependencyName = 4096;

std::unexpected<Error> broken_contents() {
  return fail(ErrorCode::kDataLoss, "a stored statement does not say what lineages read of it");
}

Json input_json(const std::string& role, const std::string& name,
                const std::map<std::string, std::string>& digests) {
  Json input = {{"role", role}, {"digests", Json::array()}};
  if (!name.empty()) {
    input["name"] = name;
  }
  for (const auto& [algorithm, value] : digests) {
    input["digests"].push_back(algorithm + ":" + value);
  }
  return input;
}

void add_lifecycle(const Statement& statement, Json& contents) {
  const auto lifecycle = lifecycle_from(statement);
  if (!lifecycle) {
    contents["unread"] = true;
    return;
  }
  for (const LifecycleInput& input : lifecycle->inputs) {
    contents["inputs"].push_back(input_json(input.role, input.name, input.digest));
  }
  const Json& licence = member_at(lifecycle->parameters, "license");
  if (licence.is_string() && licence.get_ref<const std::string&>().size() <= kMaxSpdxBytes) {
    contents["licence"] = licence;
  } else if (lifecycle->parameters.contains("license")) {
    contents["licence"] = "";
  }
}

// The name of a resource descriptor of in-toto is its name, else its uri. Other members that say
// where it comes from are `also`. False when one of them cannot be read.
bool read_names(const Json& dependency, std::string& name, std::vector<std::string>& also) {
  for (const char* member : {"name", "uri", "downloadLocation"}) {
    const Json& named = member_at(dependency, member);
    if (named.is_null()) {
      continue;
    }
    if (!named.is_string() || named.get_ref<const std::string&>().size() > kMaxDependencyName) {
      return false;
    }
    const std::string& text = named.get_ref<const std::string&>();
    if (name.empty() && std::string_view(member) != "downloadLocation") {
      name = text;
    } else if (!text.empty()) {
      also.push_back(text);
    }
  }
  return true;
}

// A dependency with a digest of another form than that of its algorithm is kept as it is, for deny
// lists, and counts as one that could not be read.
bool add_dependency(const Json& dependency, Json& contents) {
  std::string name;
  std::vector<std::string> also;
  const Json& digest = member_at(dependency, "digest");
  if (!dependency.is_object() || !read_names(dependency, name, also) ||
      !(digest.is_null() || digest.is_object())) {
    return false;
  }
  bool read = true;
  std::map<std::string, std::string> digests;
  for (const auto& one : digest.items()) {
    if (!one.value().is_string()) {
      return false;
    }
    digests[one.key()] = one.value().get<std::string>();
    read = check_digest(one.key(), digests[one.key()]) && read;
  }
  Json input = input_json(std::string(kDependencyRole), name, digests);
  if (!also.empty()) {
    input["also"] = also;
  }
  contents["inputs"].push_back(std::move(input));
  return read;
}

void add_slsa(const Json& predicate, Json& contents) {
  const Json& list = member_at(member_at(predicate, "buildDefinition"), "resolvedDependencies");
  bool read = list.is_null() || (list.is_array() && list.size() <= kMaxDependencies);
  if (read && list.is_array()) {
    for (const Json& dependency : list) {
      read = add_dependency(dependency, contents) && read;
    }
  }
  if (!read) {
    contents["unread"] = true;
  }
}

Result<std::string> text_in(const Json& json) {
  return json.is_string() ? Result<std::string>(json.get<std::string>())
                          : Result<std::string>(broken_contents());
}

Result<std::vector<std::string>> texts_in(const Json& json) {
  if (!json.is_array()) {
    return broken_contents();
  }
  std::vector<std::string> texts;
  for (const Json& one : json) {
    ASSAY_ASSIGN(std::string text, text_in(one));
    texts.push_back(std::move(text));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

}  // namespace

Json contents_of(const Statement& statement, bool nameless) {
  std::map<std::string, std::set<std::string>> names;
  for (const Subject& subject : statement.subjects) {
    for (const auto& [algorithm, value] : subject.digest) {
      names[algorithm + ":" + value].insert(nameless ? std::string() : subject.name);
    }
  }
  Json contents = {{"names", std::move(names)}};
  for (const Subject& subject : statement.subjects) {
    if (subject.digest.size() > 1) {
      Json& together = contents["together"].emplace_back(Json::array());
      for (const auto& [algorithm, value] : subject.digest) {
        together.push_back(algorithm + ":" + value);
      }
    }
  }
  return contents;
}

std::vector<std::string> add_lineage(const Statement& statement, Json& contents) {
  if (statement.predicate_type == kLifecyclePredicateType) {
    add_lifecycle(statement, contents);
  } else if (statement.predicate_type == kSlsaProvenance) {
    add_slsa(statement.predicate, contents);
  }
  std::set<std::string> digests;
  for (const Json& input : member_at(contents, "inputs")) {
    for (const Json& digest : input["digests"]) {
      digests.insert(digest.get<std::string>());
    }
  }
  return {digests.begin(), digests.end()};
}

Result<LineageStatement> lineage_in(StatementFact fact, const Json& contents) {
  LineageStatement statement{std::move(fact), false, {}, {}};
  for (const auto& [digest, names] : member_at(contents, "names").items()) {
    LineageSubject subject{digest, {}};
    ASSAY_ASSIGN(subject.names, texts_in(names));
    statement.subjects.push_back(std::move(subject));
  }
  for (const Json& one : member_at(contents, "inputs")) {
    LineageInput input;
    ASSAY_ASSIGN(input.role, text_in(member_at(one, "role")));
    ASSAY_ASSIGN(input.digests, texts_in(member_at(one, "digests")));
    if (one.contains("name")) {
      ASSAY_ASSIGN(input.name, text_in(one["name"]));
    }
    if (one.contains("also")) {
      ASSAY_ASSIGN(input.also, texts_in(one["also"]));
    }
    statement.inputs.push_back(std::move(input));
  }
  for (const Json& one : member_at(contents, "together")) {
    ASSAY_ASSIGN(std::vector<std::string> digests, texts_in(one));
    statement.together.push_back(std::move(digests));
  }
  statement.unread = contents.contains("unread");
  if (contents.contains("licence")) {
    ASSAY_ASSIGN(statement.licence, text_in(contents["licence"]));
  }
  return statement;
}

}  // namespace assay::policy
