// SPDX-License-Identifier: Apache-2.0
// Finding and reading stored vectors in tests. Needs ASSAY_SOURCE_DIR, which assay_test defines.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/json.h"
#include "tests/support/seen_codes.h"

namespace assay::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.is_open()) << "cannot read " << path.filename();
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// tests/vectors/<file>, as the lenient library parser reads it. Null (and a failure) when broken.
inline Json load_vectors(const std::string& file) {
  const std::string text =
      read_file(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests" / "vectors" / file);
  Json json = Json::parse(text, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << file;
  return json.is_discarded() ? Json() : json;
}

// Vectors collected from other projects: ASSAY_SHARED_VECTORS, or shared/vectors beside the
// repository. They are too many to carry here; tests that want them skip where they are absent.
inline std::optional<std::filesystem::path> shared_vectors(const std::string& topic) {
  const char* set = std::getenv("ASSAY_SHARED_VECTORS");
  const std::filesystem::path root =
      set != nullptr ? std::filesystem::path(set)
                     : std::filesystem::path(ASSAY_SOURCE_DIR) / ".." / "shared" / "vectors";
  std::error_code ignored;
  if (!std::filesystem::is_directory(root / topic, ignored)) {
    return std::nullopt;
  }
  return root / topic;
}

#define ASSAY_SHARED_VECTORS_OR_SKIP(variable, topic)                      \
  const auto variable##_found = assay::test::shared_vectors(topic);        \
  if (!variable##_found) {                                                 \
    GTEST_SKIP() << "no shared/vectors/" << (topic) << " on this machine"; \
  }                                                                        \
  const std::filesystem::path& variable = *variable##_found

inline Bytes from_base64(const Json& text) {
  auto bytes = base64_decode(text.get<std::string>());
  EXPECT_TRUE(bytes.has_value()) << text;
  return bytes ? *std::move(bytes) : Bytes();
}

inline std::string text_from_base64(const Json& text) {
  const Bytes bytes = from_base64(text);
  return std::string(as_text(bytes));
}

inline Bytes from_hex(const Json& text) {
  auto bytes = hex_decode(text.get<std::string>());
  EXPECT_TRUE(bytes.has_value()) << text;
  return bytes ? *std::move(bytes) : Bytes();
}

inline Digest sha256_from_hex(const Json& text) {
  return *Digest::from_hex(HashAlgorithm::kSha256, text.get<std::string>());
}

// EXPECT_EQ(code_of(result), "schema-violation"); "ok" when there is no error.
template <typename T>
std::string code_of(const Result<T>& result) {
  if (!result) {
    note_seen("error", std::to_underlying(result.error().code));
  }
  return result ? "ok" : std::string(info(result.error().code).code);
}

template <typename T>
std::string where_of(const Result<T>& result) {
  return result ? "" : result.error().where;
}

}  // namespace assay::test
