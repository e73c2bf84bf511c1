// SPDX-License-Identifier: Apache-2.0
#include "cli/bom/hashes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "policy/lineage.h"
#include "schemas/core/bytes.h"
#include "schemas/core/json_at.h"

namespace assay::bom {
namespace {

struct HashForm {
  std::string_view cyclonedx;
  std::string_view in_toto;
  std::size_t digits;
};
// in-toto lists blake2b for 512 bits alone and no BLAKE3; the names of the others are ours.
constexpr std::array kHashForms = {
    HashForm{"MD5", "md5", 32},
    HashForm{"SHA-1", "sha1", 40},
    HashForm{"SHA-256", "sha256", 64},
    HashForm{"SHA-384", "sha384", 96},
    HashForm{"SHA-512", "sha512", 128},
    HashForm{"SHA3-256", "sha3_256", 64},
    HashForm{"SHA3-384", "sha3_384", 96},
    HashForm{"SHA3-512", "sha3_512", 128},
    HashForm{"BLAKE2b-256", "blake2b_256", 64},
    HashForm{"BLAKE2b-384", "blake2b_384", 96},
    HashForm{"BLAKE2b-512", "blake2b", 128},
    HashForm{"BLAKE3", "blake3", 64},
};

const HashForm* form_of(std::string_view HashForm::* name, std::string_view text) {
  const auto found = std::ranges::find(kHashForms, text, name);
  return found == kHashForms.end() ? nullptr : &*found;
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<std::pair<std::string, std::string>> read_hash(const Json& hash) {
  const Json& algorithm = member_at(hash, "alg");
  const Json& content = member_at(hash, "content");
  if (!algorithm.is_string() || !content.is_string() || hash.size() != 2) {
    return fail(ErrorCode::kSchemaViolation, "a hash has the texts alg and content, nothing else");
  }
  const std::string& name = algorithm.get_ref<const std::string&>();
  const HashForm* form = form_of(&HashForm::cyclonedx, name);
  if (form == nullptr) {
    return fail(ErrorCode::kInvalidDigest, "CycloneDX has no such hash algorithm");
  }
  std::string value = lower_case(content.get_ref<const std::string&>());
  if (value.size() != form->digits || !is_hex(value)) {
    return fail(ErrorCode::kInvalidDigest,
                "a " + name + " is " + std::to_string(form->digits) + " digits of hex");
  }
  return std::pair(std::string(form->in_toto), std::move(value));
}

bool is_strong(const std::string& algorithm, const std::string& value) {
  return policy::is_strong_digest(algorithm + ":" + value);
}

}  // namespace

Result<Digests> read_hashes(const Json& list) {
  if (!list.is_array() || list.size() > kHashForms.size()) {
    return fail(ErrorCode::kSchemaViolation,
                "hashes are a list with at most one hash of each algorithm");
  }
  Digests digests;
  for (const Json& hash : list) {
    ASSAY_ASSIGN(auto read, read_hash(hash));
    if (!digests.insert(std::move(read)).second) {
      return fail(ErrorCode::kInvalidDigest, "two hashes are of one algorithm");
    }
  }
  return digests;
}

Json hashes_of(const Digests& digests) {
  Json list = Json::array();
  for (const HashForm& form : kHashForms) {
    const auto found = digests.find(std::string(form.in_toto));
    if (found != digests.end() && has_hash_form(found->first, found->second)) {
      list.push_back({{"alg", form.cyclonedx}, {"content", found->second}});
    }
  }
  return list;
}

bool has_hash_form(std::string_view algorithm, std::string_view value) {
  const HashForm* form = form_of(&HashForm::in_toto, algorithm);
  return form != nullptr && value.size() == form->digits && is_hex(value);
}

std::string main_digest(const Digests& digests) {
  std::string best;
  std::size_t best_rank = 0;
  for (const auto& [algorithm, value] : digests) {
    constexpr std::size_t kTree = 1000;  // before every length
    const std::size_t rank = value.size() + (algorithm.starts_with("assay-tree-") ? kTree : 0);
    if (is_strong(algorithm, value) && rank > best_rank) {
      best = algorithm + ":" + value;
      best_rank = rank;
    }
  }
  return best;
}

bool disagree(const Digests& a, const Digests& b) {
  return std::ranges::any_of(a, [&b](const auto& one) {
    const auto other = b.find(one.first);
    return other != b.end() && other->second != one.second;
  });
}

bool same_thing(const Digests& a, const Digests& b) {
  const bool shared = std::ranges::any_of(a, [&b](const auto& one) {
    const auto other = b.find(one.first);
    return other != b.end() && other->second == one.second && is_strong(one.first, one.second);
  });
  return shared && !disagree(a, b);
}

}  // namespace assay::bom
