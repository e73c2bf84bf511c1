// SPDX-License-Identifier: Apache-2.0
// The table of stages, and the places that repeat it.
#include "schemas/stages.h"

#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "embedded/json_schemas.h"
#include "tests/schemas/samples.h"

namespace assay {
namespace {

std::string docs_row(const Stage& stage) {
  const std::string_view effect = stage.effect == StageEffect::kBegins  ? "begins"
                                  : stage.effect == StageEffect::kMakes ? "makes"
                                                                        : "describes";
  return "| `" + std::string(stage.name) + "` | " + std::string(stage.meaning) + " | " +
         std::string(effect) + " |\n";
}

TEST(Stages, Names_AreStagesOfStatements_EachOnce) {
  std::set<std::string_view> names;
  for (const Stage& stage : kStages) {
    Lifecycle lifecycle = test::sample_lifecycle();
    lifecycle.stage = stage.name;
    EXPECT_TRUE(to_statement(lifecycle, test::sample_subjects())) << stage.name;
    EXPECT_TRUE(names.insert(stage.name).second) << stage.name;
    EXPECT_EQ(effect_of(stage.name), stage.effect) << stage.name;
  }
}

TEST(Stages, NamesOfTheirOwn_HaveNoKnownEffect) {
  for (const char* name : {"", "distill", "Train", "train "}) {
    EXPECT_EQ(effect_of(name), std::nullopt) << name;
  }
}

TEST(Stages, Schema_NamesThem) {
  const Json common = Json::parse(embedded::kCommonSchemaJson);
  EXPECT_EQ(common["definitions"]["stage"]["description"],
            "Lifecycle stage: " + stage_names() + ", or an own kebab-case name.");
}

TEST(Stages, PageOnLineages_HasTheTable) {
  std::ifstream in(std::string(ASSAY_SOURCE_DIR) + "/docs/lineage.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  std::string table = "| --- | --- | --- |\n";
  for (const Stage& stage : kStages) {
    table += docs_row(stage);
  }
  EXPECT_NE(page.find("in a lineage, it |\n" + table + "\n"), std::string::npos)
      << "docs/lineage.md, \"Stages\", is to have\n"
      << table;
}

}  // namespace
}  // namespace assay
