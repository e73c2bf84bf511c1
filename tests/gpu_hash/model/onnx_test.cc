// SPDX-License-Identifier: Apache-2.0
// The scanner of ONNX models, on messages made here.
#include "gpu_hash/model/onnx.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

std::string onnx_number(std::uint64_t value) {
  std::string text;
  for (; value > 0x7F; value >>= 7U) {
    text += static_cast<char>(0x80U | (value & 0x7FU));
  }
  return text + static_cast<char>(value);
}
std::string sized(std::uint64_t field, const std::string& content) {
  return onnx_number(field << 3U | 2U) + onnx_number(content.size()) + content;
}
std::string number_field(std::uint64_t field, std::uint64_t value) {
  return onnx_number(field << 3U) + onnx_number(value);
}
std::string entry(const std::string& key, const std::string& value) {
  return sized(13, sized(1, key) + sized(2, value));
}
std::string external_tensor(const std::string& location, const std::string& more = "") {
  return sized(8, "w") + entry("location", location) + more + number_field(14, 1);
}
// A model with one graph.
std::string with_graph(const std::string& graph) { return number_field(1, 8) + sized(7, graph); }

Result<OnnxLocations> scan(const std::string& file) {
  return read_onnx_locations(file.size(), [&](std::uint64_t offset, std::span<std::uint8_t> out) {
    EXPECT_LE(out.size(), file.size() - offset);
    std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return Status();
  });
}

std::vector<std::string> names_of(const Result<OnnxLocations>& found) {
  std::vector<std::string> names;
  for (const auto& [name, size] : found.value_or(OnnxLocations())) {
    names.push_back(name);
  }
  return names;
}

TEST(Onnx, LocationsOfEveryTensor_AreFound) {
  const auto graph_in = [](const std::string& graph) {  // attribute g of a node of a graph
    return sized(1, sized(5, sized(6, graph)));
  };
  const std::vector<std::pair<const char*, std::string>> places = {
      {"initializer", with_graph(sized(5, external_tensor("w")))},
      {"sparse values", with_graph(sized(15, sized(1, external_tensor("w"))))},
      {"sparse indices", with_graph(sized(15, sized(2, external_tensor("w"))))},
      {"attribute", with_graph(sized(1, sized(5, sized(5, external_tensor("w")))))},
      {"list of an attribute", with_graph(sized(1, sized(5, sized(10, external_tensor("w")))))},
      {"graph in a graph", with_graph(graph_in(sized(5, external_tensor("w"))))},
      {"graph in a graph in a graph",
       with_graph(graph_in(graph_in(sized(5, external_tensor("w")))))},
      {"list of graphs", with_graph(sized(1, sized(5, sized(11, sized(5, external_tensor("w"))))))},
      {"sparse attribute",
       with_graph(sized(1, sized(5, sized(22, sized(1, external_tensor("w"))))))},
      {"function", sized(25, sized(7, sized(5, sized(5, external_tensor("w")))))},
      {"default of a function", sized(25, sized(11, sized(5, external_tensor("w"))))},
      {"training", sized(20, sized(1, sized(5, external_tensor("w"))))},
      {"second graph field", with_graph("") + sized(7, sized(5, external_tensor("w")))},
  };
  for (const auto& [name, file] : places) {
    const auto found = scan(file);
    ASSERT_TRUE(found) << name << ": " << to_string(found.error());
    EXPECT_EQ(names_of(found), std::vector<std::string>{"w"}) << name;
  }
  EXPECT_EQ(names_of(scan(with_graph(sized(5, sized(9, "location")) + sized(10, "text")))),
            std::vector<std::string>())
      << "data of a tensor are skipped";
  EXPECT_TRUE(scan("")) << "no field at all";
}

TEST(Onnx, BytesThatAFileMustHave_AreTheLargestEnd) {
  const auto found = scan(
      with_graph(sized(5, external_tensor("w", entry("offset", "4096") + entry("length", "100"))) +
                 sized(5, external_tensor("w", entry("length", "200") + entry("checksum", "x")))));
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(*found, (OnnxLocations{{"w", 4196}}));
}

TEST(Onnx, MalformedModels_AreRefused) {
  const std::vector<std::pair<const char*, std::string>> models = {
      {"text", "this is no model"},
      {"length behind the end", with_graph(sized(5, external_tensor("w"))) + "\x3A\x7F"},
      {"message longer than the one around it", sized(7, "\x2A\x05")},
      {"group", std::string("\x0B", 1)},
      {"number of 11 bytes", "\x08" + std::string(10, '\xFF') + "\x01"},
      {"number cut short", "\x08\x80"},
      {"no location", with_graph(sized(5, entry("offset", "0")))},
      {"external without any entry", with_graph(sized(5, number_field(14, 1)))},
      {"location is not UTF-8", with_graph(sized(5, external_tensor("\xFF")))},
      {"offset is no number", with_graph(sized(5, external_tensor("w", entry("offset", "-1"))))},
      {"end beyond 2^64",
       with_graph(sized(5, external_tensor("w", entry("offset", "18446744073709551615") +
                                                    entry("length", "1"))))},
  };
  for (const auto& [name, file] : models) {
    EXPECT_FALSE(scan(file)) << name;
  }
}

TEST(Onnx, EveryTruncation_IsRefusedOrHasNoTensor) {
  const std::string file = with_graph(sized(5, external_tensor("w")));
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto found = scan(file.substr(0, size));
    EXPECT_TRUE(!found || found->empty()) << size;
  }
}

TEST(Onnx, Nesting_IsBounded) {
  const auto nested = [](int graphs) {
    std::string graph = sized(5, external_tensor("w"));
    for (int i = 1; i < graphs; ++i) {
      graph = sized(1, sized(5, sized(6, graph)));
    }
    return scan(with_graph(graph));
  };
  EXPECT_TRUE(nested(33)) << "99 messages around the entry";
  const auto deeper = nested(34);
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().code, ErrorCode::kLimitExceeded);
}

TEST(Onnx, Locations_AreBounded) {
  EXPECT_TRUE(scan(with_graph(sized(5, external_tensor(std::string(4096, 'n'))))));
  EXPECT_FALSE(scan(with_graph(sized(5, external_tensor(std::string(4097, 'n'))))));
  const auto many = [](std::size_t count) {
    std::string graph;
    for (std::size_t i = 0; i < count; ++i) {
      graph += sized(5, external_tensor(std::to_string(i)));
    }
    return scan(with_graph(graph));
  };
  EXPECT_TRUE(many(65536));
  EXPECT_FALSE(many(65537));
}

// The file is a run of empty fields that nobody needs.
TEST(Onnx, Fields_AreBounded) {
  const auto read = [](std::uint64_t fields) {
    return read_onnx_locations(2 * fields, [](std::uint64_t, std::span<std::uint8_t> out) {
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = i % 2 == 0 ? 0x08 : 0x00;
      }
      return Status();
    });
  };
  EXPECT_TRUE(read(1000));
  const auto more = read(kMaxOnnxFields + 1);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kLimitExceeded);
}

TEST(Onnx, LongestFile_IsReadAndALongerOneIsNot) {
  std::uint64_t asked = 0;
  // One field of bytes that reaches to the end of the file.
  const std::string start = "\x12" + onnx_number(2'147'483'647 - 6);
  const auto read = [&](std::uint64_t offset, std::span<std::uint8_t> out) {
    asked += out.size();
    std::ranges::fill(out, std::uint8_t{0});
    if (offset == 0) {
      std::ranges::copy(start, out.begin());
    }
    return Status();
  };
  ASSERT_EQ(start.size(), 6U);
  EXPECT_TRUE(read_onnx_locations(2'147'483'647, read));
  EXPECT_LE(asked, 65536U) << "what is not needed is not read";
  EXPECT_FALSE(read_onnx_locations(2'147'483'648, read));
}

TEST(Onnx, Path_IsRecognisedByItsEnding) {
  EXPECT_TRUE(is_onnx_path("a/b.onnx"));
  EXPECT_TRUE(is_onnx_path("b.ONNX"));
  EXPECT_FALSE(is_onnx_path("b.onnx.data"));
  EXPECT_FALSE(is_onnx_path("onnx"));
}

}  // namespace
}  // namespace assay::gpu_hash::test
