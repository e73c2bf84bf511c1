// SPDX-License-Identifier: Apache-2.0
// Widths: wrapping, cutting, short ids, tables that are made to fit.
#include "cli/layout.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

const std::string kId = "sha256:" + std::string(64, 'a');

TEST(Layout, Columns_CountWideCharactersTwice) {
  EXPECT_EQ(columns_of("abc"), 3U);
  EXPECT_EQ(columns_of("\xe5\x90\x8d\xe5\x89\x8d"), 4U);
  EXPECT_EQ(columns_of("e\xcc\x81"), 1U) << "a combining accent takes none";
}

TEST(Layout, Wrapped_BreaksAtWordsOnly) {
  EXPECT_EQ(wrapped("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrapped("a " + kId, 10), (std::vector<std::string>{"a", kId}));
  EXPECT_EQ(wrapped("", 10), std::vector<std::string>{""});
}

TEST(Layout, Cut_EndsWithDots) {
  EXPECT_EQ(cut("abcdef", 6), "abcdef");
  EXPECT_EQ(cut("abcdefg", 6), "abc...");
  EXPECT_EQ(cut("\xe5\x90\x8d\xe5\x89\x8d\xe5\x90\x8d", 5), "\xe5\x90\x8d...");
  EXPECT_EQ(cut("abc", 2), "..");
}

TEST(Layout, ShortIds_AreDigestsAlone) {
  EXPECT_EQ(with_short_ids(kId + ", deadbeef"), "sha256:aaaaaaaa..., deadbeef");
  EXPECT_EQ(with_short_ids("0198f0c2-6f0e-7c1a-9d3e-0b8f3a5d2c11"),
            "0198f0c2-6f0e-7c1a-9d3e-0b8f3a5d2c11");
}

TEST(Layout, Table_FitsWhateverTheWidth) {
  Table table({"ID", "NAME", "WHEN", "WHY"}, {"WHEN"});
  table.row({kId, "prod", "2027-01-31T12:00:00Z", "because of this and that, and that again"});
  table.row({"x"});
  for (std::size_t columns = 20; columns < 220; ++columns) {
    const std::string text = table.fit(columns).text;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      EXPECT_LE(columns_of(std::string_view(text).substr(at, end - at)), columns) << text;
      at = end + 1;
    }
  }
  EXPECT_EQ(table.fit(200).left_out, std::vector<std::string>());
  EXPECT_EQ(table.fit(80).left_out, std::vector<std::string>{"WHEN"});
  EXPECT_NE(table.fit(0).text.find(kId), std::string::npos);
}

TEST(Layout, Fields_WrapTheirValues) {
  Table table({"name", "one two three"});
  table.row({"n", "v"});
  EXPECT_EQ(table.fields(13), "name  one two\n      three\nn     v\n");
  EXPECT_EQ(table.fields(0), "name  one two three\nn     v\n");
  Table ids({"id", "sha256:" + std::string(64, 'a')});
  EXPECT_EQ(ids.fields(75), "id  sha256:" + std::string(64, 'a') + "\n");
  EXPECT_EQ(ids.fields(74), "id  sha256:aaaaaaaa...\n");
}

}  // namespace
}  // namespace assay::cli
