// SPDX-License-Identifier: Apache-2.0
// The lifecycle stages that have a meaning here, from schemas/stages.def. Any other stage has a
// name of its own, and each policy says what it does.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

// What a statement of a stage says about how its subjects came to be.
enum class StageEffect : std::uint8_t {
  kBegins,     // the subjects come from outside: a lineage may begin with them
  kMakes,      // the subjects were made from the inputs
  kDescribes,  // nothing: the subjects stay as they were
};

struct Stage {
  std::string_view name;
  StageEffect effect;
  std::string_view meaning;  // what a statement of the stage says of its subjects ("they ...")
};

inline constexpr std::array kStages = {
#define ASSAY_STAGE(name, effect, meaning) Stage{name, StageEffect::effect, meaning},
#include "schemas/stages.def"
#undef ASSAY_STAGE
};

// Returns nullopt for a stage with a name of its own, and for "".
[[nodiscard]] constexpr std::optional<StageEffect> effect_of(std::string_view stage) {
  const auto found = std::ranges::find(kStages, stage, &Stage::name);
  return found == kStages.end() ? std::nullopt : std::optional(found->effect);
}

// Returns the names in the order of the table: "collect, preprocess, ...".
[[nodiscard]] inline std::string stage_names() {
  std::string names;
  for (const Stage& stage : kStages) {
    names.append(names.empty() ? "" : ", ").append(stage.name);
  }
  return names;
}

}  // namespace assay
