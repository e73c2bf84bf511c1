// SPDX-License-Identifier: Apache-2.0
// Files of a model that do not fit each other. What users read: tests/cli/verbs/test_formats.py.
#include <gtest/gtest.h>

#include "gpu_hash/model/gguf_parts.h"
#include "gpu_hash/model/missing_files.h"
#include "gpu_hash/model/shard_index.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

Bytes shard_of(std::string_view tensor) {
  return safetensors_file(
      "{\"" + std::string(tensor) + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
      pattern(1));
}

TEST(Lacks, HeadersOfShards_AreBoundedForAllIndexes) {
  const TempDir dir;
  dir.write("a.safetensors", shard_of("a"));
  dir.write("b.safetensors", shard_of("b"));
  dir.write("m.safetensors.index.json",
            R"({"weight_map":{"a":"a.safetensors","b":"b.safetensors"}})");
  const auto files = walk(dir.path());
  ASSERT_TRUE(files);
  const WalkedFile& index = files->back();
  EXPECT_EQ(ShardIndexes(*files).lack_of(index), "");
  const std::string lack = ShardIndexes(*files, 10).lack_of(index);
  EXPECT_NE(lack.find("b.safetensors (too many headers)"), std::string::npos) << lack;
  EXPECT_EQ(lack.find("a.safetensors"), std::string::npos) << lack;
}

TEST(Lacks, LongNames_AreCutAndFewAreListed) {
  const TempDir dir;
  dir.write("a.safetensors", shard_of("a"));
  std::string map;
  for (int i = 0; i < 5; ++i) {
    map += (i > 0 ? ",\"" : "\"") + std::string(100'000, static_cast<char>('b' + i)) +
           "\":\"a.safetensors\"";
  }
  dir.write("m.safetensors.index.json", "{\"weight_map\":{" + map + "}}");
  const auto lacks = find_lacks(*walk(dir.path()));
  ASSERT_EQ(lacks.size(), 1U);
  EXPECT_LT(lacks[0].detail.size(), 1000U);
  EXPECT_TRUE(lacks[0].detail.ends_with(" and 2 more")) << lacks[0].detail;
}

TEST(GgufPartName, IsReadFromTheEnd) {
  const auto name = gguf_part_name("a/llm-00001-of-00009-00002-of-00003.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->prefix, "a/llm-00001-of-00009");
  EXPECT_EQ(name->no, 1U);
  EXPECT_EQ(name->count, 3U);
  for (const char* path :
       {"llm.gguf", "llm-2-of-3.gguf", "llm-00002-of-00003.bin", "llm-00004-of-00003.gguf",
        "llm-00000-of-00003.gguf", "llm-00002of-00003.gguf", "00002-of-00003.gguf",
        "llm-0000x-of-00003.gguf", "llm-+0002-of-00003.gguf", ".gguf"}) {
    EXPECT_FALSE(gguf_part_name(path)) << path;
  }
}

// 24 bytes are a file without keys and tensors; its name says that it is one of 99,999 parts.
TEST(GgufParts, ManyMissingParts_AreCountedWithoutLookingForEach) {
  const TempDir dir;
  Bytes file(24, 0);
  const std::string start = "GGUF\x03";
  std::ranges::copy(start, file.begin());
  for (int i = 0; i < 300; ++i) {
    dir.write("m" + std::to_string(i) + "-00002-of-99999.gguf", file);
  }
  const auto lacks = find_lacks(*walk(dir.path()));
  ASSERT_EQ(lacks.size(), 300U);
  EXPECT_NE(lacks[0].detail.find("missing or ignored: 1, 3, 4 and 99995 more"), std::string::npos)
      << lacks[0].detail;
}

}  // namespace
}  // namespace assay::gpu_hash::test
