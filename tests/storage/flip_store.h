// SPDX-License-Identifier: Apache-2.0
// A store with something in each table that answers come from, and all that it is asked: before a
// bit turns on the disk, and after it (flip_rounds.h).
#pragma once

#include <map>
#include <string>

#include "storage/store.h"
#include "tests/support/manual_clock.h"

namespace assay::storage {

// Writes over some hours of the clock, which must be that of the store.
[[nodiscard]] Status fill_for_flips(Store& store, ManualClock& clock);

// A statement of that store, which has this many, and an artifact that it is about.
inline constexpr int kFlipStatements = 40;
[[nodiscard]] StatementId flip_statement(int number);
[[nodiscard]] std::string flip_artifact(int number);

// A question that failed begins with kFailed and has the code; a row that is not there is kGone; a
// list has a line for each of its items, also for each one that it only counts.
using Answers = std::map<std::string, std::string>;  // by the question
inline constexpr const char* kFailed = "error ";
inline constexpr const char* kGone = "gone";
// All answers of a store that fill_for_flips() filled. As whoever asks must, takes what an index
// finds for an error when it does not fit the question.
[[nodiscard]] Answers ask(Store& store);

}  // namespace assay::storage
