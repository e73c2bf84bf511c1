// SPDX-License-Identifier: Apache-2.0
// The inputs that every verb gets besides its own options.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/core/clock.h"
#include "schemas/core/random.h"

namespace assay::cli {

// Exit status. kYes: the answer is yes. kNo: the answer is no (verification failed, denied).
// kTrouble: there is no answer (wrong usage, or a file or the service cannot be reached).
enum class Exit : std::uint8_t { kYes = 0, kNo = 1, kTrouble = 2 };

enum class Format : std::uint8_t { kText, kJson };

struct Context {
  Clock& clock;
  Random& random;
  std::string version;
  std::string output = "text";  // value of --output
  bool quiet = false;
  bool wide = false;  // tables are printed whole, however wide the terminal is

  [[nodiscard]] Format format() const { return output == "json" ? Format::kJson : Format::kText; }
  [[nodiscard]] bool json() const { return format() == Format::kJson; }
};

}  // namespace assay::cli
