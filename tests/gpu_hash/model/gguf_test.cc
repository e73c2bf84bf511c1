// SPDX-License-Identifier: Apache-2.0
// The GGUF reader against the vectors and against hostile files.
#include "gpu_hash/gguf.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "schemas/core/dtype.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

// Reads a file that consists of `head` and then zeros. Counts what was asked for, and notes whether
// that was outside of the file.
class GgufBytes {
 public:
  GgufBytes(Bytes head, std::uint64_t file_size) : head_(std::move(head)), size_(file_size) {}

  Status operator()(std::uint64_t offset, std::span<std::uint8_t> out) {
    outside_ = outside_ || offset > size_ || out.size() > size_ - offset;
    largest_ = std::max<std::uint64_t>(largest_, out.size());
    total_ += out.size();
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = offset + i < head_.size() ? head_[offset + i] : std::uint8_t{0};
    }
    return {};
  }
  [[nodiscard]] bool outside() const { return outside_; }
  [[nodiscard]] std::uint64_t largest() const { return largest_; }
  [[nodiscard]] std::uint64_t total() const { return total_; }

 private:
  Bytes head_;
  std::uint64_t size_;
  bool outside_ = false;
  std::uint64_t largest_ = 0;
  std::uint64_t total_ = 0;
};

Json json_of(const Gguf& file) {
  Json json = {{"tensors", Json::array()},
               {"header_size", file.header_size},
               {"data_start", file.data_start},
               {"alignment", file.alignment}};
  for (const Tensor& tensor : file.tensors) {
    json["tensors"].push_back({{"name", tensor.name},
                               {"dtype", tensor.dtype},
                               {"shape", tensor.shape},
                               {"offset", tensor.offset},
                               {"size", tensor.size}});
  }
  if (file.split) {
    json["split"] = {
        {"no", file.split->no}, {"count", file.split->count}, {"tensors", file.split->tensors}};
  }
  return json;
}

Json case_named(const std::string& name) {
  const Json vectors = load_vectors("gguf");
  for (const Json& item : vectors["cases"]) {
    if (item["name"] == name) {
      return item;
    }
  }
  ADD_FAILURE() << name;
  return {};
}

Bytes head_of(const Json& item) { return *base64_decode(item["head"].get<std::string>()); }

void put(Bytes& file, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    file.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
}

Bytes gguf_start(std::uint64_t tensors, std::uint64_t keys) {
  Bytes file = {'G', 'G', 'U', 'F'};
  put(file, 3, 4);
  put(file, tensors, 8);
  put(file, keys, 8);
  return file;
}

TEST(Gguf, Vectors_AreAcceptedOrRefusedForTheirReason) {
  const Json vectors = load_vectors("gguf");
  ASSERT_GE(vectors["cases"].size(), 110U);
  for (const Json& item : vectors["cases"]) {
    SCOPED_TRACE(item["name"].get<std::string>());
    const auto size = item["file_size"].get<std::uint64_t>();
    GgufBytes reader(head_of(item), size);
    const auto result = read_gguf(size, std::ref(reader));
    EXPECT_FALSE(reader.outside());
    EXPECT_LE(reader.largest(), 65536U);
    if (item["want"] == "reject") {
      ASSERT_FALSE(result.has_value());
      EXPECT_EQ(result.error().code, ErrorCode::kMalformedGguf);
      EXPECT_TRUE(result.error().detail.starts_with(item["reason"].get<std::string>() + ":"))
          << result.error().detail;
      continue;
    }
    ASSERT_TRUE(result.has_value()) << to_string(result.error());
    Json want = item;
    for (const char* member : {"name", "head", "file_size", "want"}) {
      want.erase(member);
    }
    EXPECT_EQ(json_of(*result), want);
  }
}

TEST(Gguf, EveryTruncation_IsRefused) {
  const Json item = case_named("version 3");
  Bytes file = head_of(item);
  file.resize(item["file_size"].get<std::size_t>());
  for (std::size_t size = 0; size < file.size(); ++size) {
    GgufBytes reader(file, size);
    EXPECT_FALSE(read_gguf(size, std::ref(reader)).has_value()) << size;
    EXPECT_FALSE(reader.outside()) << size;
  }
}

// A header of 100,000,000 bytes is accepted; a longer one is refused at the length that says so.
TEST(Gguf, HeaderOfTheLargestSize_IsReadAndALongerOneIsNot) {
  const auto file = [](std::uint64_t text) {
    Bytes head = gguf_start(0, 1);
    put(head, 1, 8);
    put(head, 'k', 1);
    put(head, 8, 4);
    put(head, text, 8);
    return head;
  };
  const std::uint64_t rest = 100'000'000 - file(0).size();
  GgufBytes largest(file(rest), 100'000'000);
  const auto read = read_gguf(100'000'000, std::ref(largest));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->header_size, 100'000'000U);
  EXPECT_LE(largest.total(), 65536U) << "the text is skipped";
  GgufBytes longer(file(rest + 1), 100'000'001);
  const auto refused = read_gguf(100'000'001, std::ref(longer));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().detail.starts_with("header-too-large:")) << refused.error().detail;
}

TEST(Gguf, NumberOfKeys_IsBounded) {
  const auto read = [](std::uint64_t keys) {
    Bytes file = gguf_start(0, keys);
    for (std::uint64_t i = 0; i < keys; ++i) {
      put(file, 3, 8);
      for (const unsigned shift : {0U, 6U, 12U}) {
        put(file, '!' + ((i >> shift) & 63U), 1);
      }
      put(file, 0, 4);
      put(file, 1, 1);
    }
    GgufBytes reader(file, file.size());
    return read_gguf(file.size(), std::ref(reader));
  };
  const auto most = read(65536);
  EXPECT_TRUE(most) << to_string(most.error());
  const auto more = read(65537);
  ASSERT_FALSE(more);
  EXPECT_TRUE(more.error().detail.starts_with("too-many-keys:"));
}

TEST(Gguf, ReadError_PassesThrough) {
  const auto result = read_gguf(100, [](std::uint64_t, std::span<std::uint8_t>) -> Status {
    return fail(ErrorCode::kFileChanged, "gone");
  });
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kFileChanged);
}

TEST(Gguf, File_ErrorNamesFileAndTensor) {
  const TempDir dir;
  const Json item = case_named("half a block");
  Bytes file = head_of(item);
  file.resize(item["file_size"].get<std::size_t>());
  const auto source = SourceFile::find(dir.write("x.gguf", file));
  ASSERT_TRUE(source.has_value());
  const auto result = read_gguf(**source);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().where, "x.gguf#t");
}

TEST(Gguf, PointerOfGitLfs_SaysSo) {
  const std::string text = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
  GgufBytes reader(Bytes(text.begin(), text.end()), text.size());
  const auto result = read_gguf(text.size(), std::ref(reader));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().detail.find("git lfs pull"), std::string::npos);
}

TEST(Gguf, Path_IsRecognisedByItsLowerCaseEnding) {
  EXPECT_TRUE(is_gguf_path("a/b.gguf"));
  EXPECT_FALSE(is_gguf_path("b.GGUF"));
  EXPECT_FALSE(is_gguf_path("b.gguf.part"));
}

TEST(TensorSize, RowsOfBlocks_AreWhole) {
  using Shape = std::vector<std::uint64_t>;
  EXPECT_EQ(tensor_size("Q4_0", Shape{2, 64}), 72U);
  EXPECT_EQ(tensor_size("Q4_0", Shape{64, 2}), std::nullopt) << "two elements are no block";
  EXPECT_EQ(tensor_size("Q4_0", Shape{}), std::nullopt);
  EXPECT_EQ(tensor_size("Q4_0", Shape{3, 0}), 0U);
  EXPECT_EQ(tensor_size("BF16", Shape{3, 5}), 30U);
  EXPECT_EQ(tensor_size("F4", Shape{3, 2}), 3U);
  EXPECT_EQ(tensor_size("F4", Shape{3}), std::nullopt) << "no whole byte";
  EXPECT_EQ(tensor_size("Q8_1", Shape{32}), std::nullopt) << "its size is not agreed on";
  EXPECT_EQ(tensor_size("q4_0", Shape{32}), std::nullopt);
}

}  // namespace
}  // namespace assay::gpu_hash::test
