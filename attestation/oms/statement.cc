// SPDX-License-Identifier: Apache-2.0
// Section numbers are those of OMS v1.0.
#include "attestation/oms/statement.h"

#include <algorithm>
#include <cmath>

#include "attestation/oms/resources.h"
#include "schemas/core/artifact.h"
#include "schemas/core/json.h"
#include "schemas/core/json_at.h"
#include "schemas/core/names.h"
#include "schemas/core/sha.h"
#include "schemas/document_size.h"
#include "schemas/statement.h"

namespace assay::attestation::oms {
namespace {

constexpr JsonLimits kLimits{.max_bytes = kMaxStatementBytes, .max_memory = kMaxStatementMemory};
constexpr Names<Method, 2> kMethods = {{{{Method::kFiles, "files"}, {Method::kShards, "shards"}}}};
constexpr std::string_view kSha256Name = "sha256";

std::unexpected<Error> violation(std::string why, std::string where) {
  return fail(ErrorCode::kSchemaViolation, std::move(why), std::move(where));
}

Status check_members(const Json& json, const std::vector<std::string_view>& known,
                     const std::string& where) {
  if (!json.is_object()) {
    return violation("not an object", where);
  }
  for (const auto& [member, value] : json.items()) {
    if (std::ranges::find(known, member) == known.end()) {
      return fail(ErrorCode::kUnknownMember, "OMS does not define this member",
                  where + "/" + member);
    }
  }
  return {};
}

Result<std::string> text_in(const Json& json, std::string_view member, const std::string& where) {
  const Json& value = member_at(json, member);
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    return violation("text that is not empty is needed", where + "/" + std::string(member));
  }
  return value.get<std::string>();
}

Result<const Json*> list_in(const Json& json, std::string_view member, std::size_t most,
                            const std::string& where) {
  const Json& list = member_at(json, member);
  const std::string place = where + "/" + std::string(member);
  if (!list.is_array()) {
    return violation("a list is needed", place);
  }
  if (list.size() > most) {
    return fail(ErrorCode::kLimitExceeded, "at most " + std::to_string(most) + " are read", place);
  }
  return &list;
}

// The digest of a subject: one SHA-256.
Result<Bytes> subject_digest(const Json& subject, const std::string& where) {
  const Json& set = member_at(subject, "digest");
  if (!set.is_object() || set.size() != 1 || !set.contains(kSha256Name)) {
    return violation("a subject has one digest, by sha256", where + "/digest");
  }
  ASSAY_ASSIGN(const std::string hex, text_in(set, kSha256Name, where + "/digest"));
  return read_digest(hex, FlatHash::kSha256, where + "/digest/sha256");
}

Result<std::vector<std::string>> read_ignored(const Json& json, const std::string& where) {
  std::vector<std::string> paths;
  if (!json.contains("ignore_paths")) {
    return paths;
  }
  ASSAY_ASSIGN(const Json* list, list_in(json, "ignore_paths", kMaxIgnorePaths, where));
  for (const Json& item : *list) {
    const std::string place = where + "/ignore_paths/" + std::to_string(paths.size());
    if (!item.is_string()) {
      return violation("a path is text", place);
    }
    std::string path = item.get<std::string>();
    ASSAY_TRY(check_name(path, place));
    paths.push_back(std::move(path));
  }
  return paths;
}

// model_signing writes "1000000000.0".
Result<std::uint64_t> read_shard_size(const Json& json, const std::string& where) {
  const double value = json.is_number() ? json.get<double>() : 0;
  if (value < 1 || value > static_cast<double>(kMaxSafeInteger) || std::trunc(value) != value) {
    return violation("a whole number of bytes above 0 is needed", where);
  }
  return static_cast<std::uint64_t>(value);
}

Result<Serialization> read_serialization(const Json& json, const std::string& where) {
  Serialization made;
  ASSAY_ASSIGN(const std::string method, text_in(json, "method", where));
  ASSAY_ASSIGN(made.method, kMethods.parse(method, "the method is files or shards",
                                           ErrorCode::kSchemaViolation));
  std::vector<std::string_view> known = {"method", "hash_type", "allow_symlinks", "ignore_paths"};
  if (made.method == Method::kShards) {
    known.emplace_back("shard_size");
  }
  ASSAY_TRY(check_members(json, known, where));
  ASSAY_ASSIGN(const std::string hash, text_in(json, "hash_type", where));
  ASSAY_ASSIGN(made.hash, flat_hash_from(hash));
  if (made.method == Method::kShards) {
    ASSAY_ASSIGN(made.shard_size,
                 read_shard_size(member_at(json, "shard_size"), where + "/shard_size"));
  }
  const Json& links = member_at(json, "allow_symlinks");
  if (!links.is_boolean()) {
    return violation("true or false is needed", where + "/allow_symlinks");
  }
  made.allow_symlinks = links.get<bool>();
  ASSAY_ASSIGN(made.ignore_paths, read_ignored(json, where));
  return made;
}

// Members beside these three are allowed (section 5.2.1).
Result<Resource> read_resource(const Json& json, const Serialization& how,
                               const std::string& where) {
  if (!json.is_object()) {
    return violation("a resource is an object", where);
  }
  ASSAY_ASSIGN(const std::string text, text_in(json, "name", where));
  ASSAY_ASSIGN(Resource resource, read_name(text, how, where + "/name"));
  ASSAY_ASSIGN(const std::string algorithm, text_in(json, "algorithm", where));
  if (algorithm != name(how.hash) && algorithm != shard_algorithm(how)) {
    return fail(
        ErrorCode::kInvalidDigest,
        "the algorithm of a resource is that of the serialization, " + std::string(name(how.hash)),
        where + "/algorithm");
  }
  ASSAY_ASSIGN(const std::string hex, text_in(json, "digest", where));
  ASSAY_ASSIGN(resource.digest, read_digest(hex, how.hash, where + "/digest"));
  return resource;
}

Status read_predicate(const Json& predicate, Statement& statement) {
  const std::string where = "/predicate";
  ASSAY_TRY(check_members(predicate, {"resources", "serialization"}, where));
  ASSAY_ASSIGN(statement.serialization,
               read_serialization(member_at(predicate, "serialization"), where + "/serialization"));
  ASSAY_ASSIGN(const Json* list, list_in(predicate, "resources", kMaxResources, where));
  if (list->empty()) {
    return violation("a model has at least one file", where + "/resources");
  }
  for (const Json& item : *list) {
    const std::string place = where + "/resources/" + std::to_string(statement.resources.size());
    ASSAY_ASSIGN(Resource resource, read_resource(item, statement.serialization, place));
    statement.resources.push_back(std::move(resource));
  }
  return check_resources(statement);
}

Status read_new(const Json& json, Statement& statement) {
  const Json& subjects = member_at(json, "subject");
  if (!subjects.is_array() || subjects.size() != 1 || !subjects.front().is_object()) {
    return violation("a statement has one subject", "/subject");
  }
  const Json& subject = subjects.front();
  ASSAY_ASSIGN(statement.subject_name, text_in(subject, "name", "/subject/0"));
  ASSAY_ASSIGN(const Bytes root, subject_digest(subject, "/subject/0"));
  ASSAY_TRY(read_predicate(member_at(json, "predicate"), statement));
  const Digest computed = oms_root(statement.resources);
  if (!std::ranges::equal(root, computed.bytes())) {
    return fail(ErrorCode::kRootMismatch, "the root is not that of the resources",
                "/subject/0/digest/sha256");
  }
  return {};
}

// Release 0.2: files with SHA-256, one subject each; the predicate holds nothing that is read.
Status read_old(const Json& json, Statement& statement) {
  statement.old_form = true;
  ASSAY_ASSIGN(const Json* subjects, list_in(json, "subject", kMaxResources, ""));
  if (subjects->empty()) {
    return violation("a model has at least one file", "/subject");
  }
  for (const Json& item : *subjects) {
    const std::string place = "/subject/" + std::to_string(statement.resources.size());
    ASSAY_ASSIGN(const std::string text, text_in(item, "name", place));
    ASSAY_ASSIGN(Resource resource, read_name(text, statement.serialization, place + "/name"));
    ASSAY_ASSIGN(resource.digest, subject_digest(item, place));
    statement.resources.push_back(std::move(resource));
  }
  return check_resources(statement);
}

Json resource_json(const Resource& resource, const Serialization& how) {
  const bool shards = how.method == Method::kShards;
  return {{"name", shards ? resource.path + ":" + std::to_string(resource.begin) + ":" +
                                std::to_string(resource.end)
                          : resource.path},
          {"algorithm", shards ? shard_algorithm(how) : std::string(name(how.hash))},
          {"digest", hex_encode(resource.digest)}};
}

Json serialization_json(const Serialization& how) {
  Json json = {{"method", name(how.method)},
               {"hash_type", name(how.hash)},
               {"allow_symlinks", how.allow_symlinks}};
  if (how.method == Method::kShards) {
    json["shard_size"] = how.shard_size;
  }
  if (!how.ignore_paths.empty()) {
    json["ignore_paths"] = how.ignore_paths;
  }
  return json;
}

}  // namespace

std::string_view name(Method method) { return kMethods.of(method); }

Digest oms_root(const std::vector<Resource>& resources) {
  ShaStream stream(HashAlgorithm::kSha256);
  for (const Resource& resource : resources) {
    stream.update(resource.digest);
  }
  return stream.finish();
}

Result<Statement> parse_oms_statement(ByteView payload, OldForm old_form) {
  ASSAY_ASSIGN(const Json json, parse_json(payload, kLimits));
  ASSAY_TRY(check_members(json, {"_type", "subject", "predicateType", "predicate"}, ""));
  if (text_at(json, "_type") != kStatementType) {
    return violation("an in-toto statement has the type " + std::string(kStatementType), "/_type");
  }
  Statement statement;
  const std::string type = text_at(json, "predicateType");
  if (type == kPredicateType) {
    ASSAY_TRY(read_new(json, statement));
  } else if (type == kOldPredicateType && old_form == OldForm::kAccepted) {
    ASSAY_TRY(read_old(json, statement));
  } else {
    return fail(ErrorCode::kPredicateTypeUnknown,
                type == kOldPredicateType
                    ? "a signature of model_signing 0.2, which does not bind how files were "
                      "chosen; sign the model again, or accept it with --accept-v02"
                    : "not a signature of a model by OMS",
                "/predicateType");
  }
  return statement;
}

Result<std::string> encode_oms_statement(const Statement& statement) {
  Json resources = Json::array();
  for (const Resource& resource : statement.resources) {
    resources.push_back(resource_json(resource, statement.serialization));
  }
  const Json json = {
      {"_type", kStatementType},
      {"subject",
       Json::array({{{"name", statement.subject_name},
                     {"digest", {{kSha256Name, oms_root(statement.resources).hex()}}}}})},
      {"predicateType", kPredicateType},
      {"predicate",
       {{"serialization", serialization_json(statement.serialization)},
        {"resources", std::move(resources)}}}};
  ASSAY_ASSIGN(std::string text, canonical_json(json));
  // Nothing is signed that the reader above refuses.
  ASSAY_TRY(parse_oms_statement(as_bytes(text), OldForm::kRefused));
  return text;
}

}  // namespace assay::attestation::oms
