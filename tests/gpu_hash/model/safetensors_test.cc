// SPDX-License-Identifier: Apache-2.0
// The safetensors reader against the vectors and against hostile files.
#include "gpu_hash/safetensors.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

// Reads a file that consists of `head` and then zeros, and counts what was asked for.
class Reader {
 public:
  explicit Reader(Bytes head) : head_(std::move(head)) {}

  Status operator()(std::uint64_t offset, std::span<std::uint8_t> out) {
    largest_ = std::max<std::uint64_t>(largest_, out.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = offset + i < head_.size() ? head_[offset + i] : std::uint8_t{0};
    }
    return {};
  }
  [[nodiscard]] std::uint64_t largest() const { return largest_; }

 private:
  Bytes head_;
  std::uint64_t largest_ = 0;
};

Result<Safetensors> read(const Bytes& file) {
  Reader reader(file);
  return read_safetensors(file.size(), std::ref(reader));
}

Json to_json(const Tensor& tensor) {
  return {{"name", tensor.name},
          {"dtype", tensor.dtype},
          {"shape", tensor.shape},
          {"offset", tensor.offset},
          {"size", tensor.size}};
}

TEST(Safetensors, Vectors_AreAcceptedOrRefused) {
  const Json vectors = load_vectors("safetensors");
  for (const Json& item : vectors["cases"]) {
    SCOPED_TRACE(item["name"].get<std::string>());
    Reader reader(*base64_decode(item["head"].get<std::string>()));
    const auto result = read_safetensors(item["file_size"].get<std::uint64_t>(), std::ref(reader));
    if (item["want"] == "reject") {
      ASSERT_FALSE(result.has_value());
      EXPECT_EQ(result.error().code, ErrorCode::kMalformedSafetensors);
      continue;
    }
    ASSERT_TRUE(result.has_value()) << to_string(result.error());
    Json tensors = Json::array();
    for (const Tensor& tensor : result->tensors) {
      tensors.push_back(to_json(tensor));
    }
    EXPECT_EQ(tensors, item["tensors"]);
  }
}

// 100,000,000, and one more in a file that has room for it.
TEST(Safetensors, HeaderOfTheLargestSize_IsReadAndALongerOneIsNot) {
  const auto read = [](std::uint64_t offset, std::span<std::uint8_t> out) -> Status {
    const std::uint8_t prefix[] = {0x00, 0xE1, 0xF5, 0x05, 0, 0, 0, 0};
    if (offset != 0) {
      return fail(ErrorCode::kFileUnreadable, "behind the prefix");
    }
    std::copy_n(prefix, out.size(), out.begin());
    return {};
  };
  const auto largest = read_safetensors(std::uint64_t{1} << 40, read);
  ASSERT_FALSE(largest.has_value());
  EXPECT_EQ(largest.error().code, ErrorCode::kFileUnreadable) << to_string(largest.error());
  Reader reader(Bytes{0x01, 0xE1, 0xF5, 0x05, 0, 0, 0, 0});
  const auto longer = read_safetensors(std::uint64_t{1} << 40, std::ref(reader));
  ASSERT_FALSE(longer.has_value());
  EXPECT_EQ(longer.error().code, ErrorCode::kMalformedSafetensors);
  EXPECT_EQ(reader.largest(), 8U) << "refused before it is read";
}

TEST(Safetensors, NulBehindTheHeader_IsRefused) {
  const std::string header = R"({"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
  for (const std::string& tail : {std::string("\0}", 2), std::string("\0 }", 3)}) {
    EXPECT_FALSE(read(safetensors_file(header + tail, {})).has_value());
  }
}

TEST(Safetensors, EveryTruncation_IsRefused) {
  const Bytes file =
      safetensors_file(R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})", pattern(16));
  ASSERT_TRUE(read(file).has_value());
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(read(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size))))
        << size;
  }
}

std::string repeated(std::size_t count, const std::function<std::string(std::size_t)>& item) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ",") + item(i);
  }
  return text;
}

TEST(Safetensors, Rank_IsBounded) {
  const auto file = [](std::size_t rank) {
    return safetensors_file(R"({"t":{"dtype":"U8","shape":[)" +
                                repeated(rank, [](std::size_t) { return "1"; }) +
                                R"(],"data_offsets":[0,1]}})",
                            pattern(1));
  };
  EXPECT_TRUE(read(file(64)));
  const auto refused = read(file(65));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().detail.starts_with("shape:"));
}

TEST(Safetensors, Metadata_IsBounded) {
  const auto file = [](std::size_t members) {
    return safetensors_file(
        R"({"__metadata__":{)" +
            repeated(members, [](std::size_t i) { return "\"" + std::to_string(i) + "\":\"\""; }) +
            R"(},"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
        pattern(1));
  };
  EXPECT_TRUE(read(file(65536)));
  const auto refused = read(file(65537));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().detail.starts_with("metadata:"));
}

TEST(Safetensors, OneNameForTwoTensors_IsRefusedHoweverFarApart) {
  const std::string header = R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                             R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
                             R"("\u0074":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})";
  const auto refused = read(safetensors_file(header, pattern(3)));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().detail.starts_with("duplicate-key:"));
}

TEST(Safetensors, ReadError_PassesThrough) {
  const auto result = read_safetensors(100, [](std::uint64_t, std::span<std::uint8_t>) -> Status {
    return fail(ErrorCode::kFileChanged, "gone");
  });
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kFileChanged);
}

TEST(Safetensors, File_ErrorNamesFileAndTensor) {
  const TempDir dir;
  const auto path =
      dir.write("x.safetensors",
                safetensors_file(R"({"w":{"dtype":"F31","shape":[],"data_offsets":[0,0]}})", {}));
  const auto source = SourceFile::find(path);
  ASSERT_TRUE(source.has_value());
  const auto result = read_safetensors(**source);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().where, "x.safetensors#w");
}

TEST(Safetensors, Path_IsRecognisedByItsLowerCaseEnding) {
  EXPECT_TRUE(is_safetensors_path("a/b.safetensors"));
  EXPECT_TRUE(is_safetensors_path(".safetensors"));
  EXPECT_FALSE(is_safetensors_path("b.SAFETENSORS"));
  EXPECT_FALSE(is_safetensors_path("safetensors"));
  EXPECT_FALSE(is_safetensors_path("b.safetensors.bak"));
}

}  // namespace
}  // namespace assay::gpu_hash::test
