// SPDX-License-Identifier: Apache-2.0
// A valid statement of OMS to be changed, and keys to sign it with.
#pragma once

#include <string>

#include "attestation/oms/verify.h"
#include "schemas/core/json.h"
#include "schemas/core/sha.h"

namespace assay::test {

inline Json oms_resource(const std::string& name, const std::string& content = "x") {
  return {{"name", name}, {"algorithm", "sha256"}, {"digest", sha256(as_bytes(content)).hex()}};
}

// Sets the root to that of the resources as they stand.
inline Json with_root(Json statement) {
  Bytes digests;
  for (const Json& resource : statement["predicate"]["resources"]) {
    const Bytes digest = hex_decode(resource.value("digest", "")).value_or(Bytes());
    digests.insert(digests.end(), digest.begin(), digest.end());
  }
  statement["subject"][0]["digest"]["sha256"] = sha256(digests).hex();
  return statement;
}

inline Json oms_statement(Json resources = Json::array({oms_resource("a"), oms_resource("d/b")})) {
  return with_root({{"_type", "https://in-toto.io/Statement/v1"},
                    {"predicateType", "https://model_signing/signature/v1.0"},
                    {"subject", Json::array({{{"name", "model"}, {"digest", Json::object()}}})},
                    {"predicate",
                     {{"serialization",
                       {{"method", "files"},
                        {"hash_type", "sha256"},
                        {"allow_symlinks", false},
                        {"ignore_paths", Json::array({".git", "model.sig"})}}},
                      {"resources", std::move(resources)}}}});
}

// The same with shards of 10 bytes.
inline Json oms_shards(Json resources) {
  Json statement = oms_statement(std::move(resources));
  Json& how = statement["predicate"]["serialization"];
  how["method"] = "shards";
  how["shard_size"] = 10;
  return statement;
}

}  // namespace assay::test
