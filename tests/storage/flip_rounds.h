// SPDX-License-Identifier: Apache-2.0
// Bits that turn on the disk: in pages of the database, and in the write-ahead log of a killed
// process. Whatever is read afterwards is as before, or an error.
#pragma once

#include <cstddef>

namespace assay::storage {

// Turns one bit `rounds` times, in a random table or index that answers come from, where its pages
// hold something, and compares every answer (flip_store.h) with that of before. Fails the test when
// one is another and no error. A row that is missing, or a list that is short, must be named by the
// deep inspection.
void page_flip_rounds(std::size_t rounds);

// Turns one bit of the write-ahead log, `rounds` times. Fails the test when a start loses what was
// acknowledged, or signs another root for a size that was signed.
void wal_flip_rounds(std::size_t rounds);

// Fills the disk for a moment, `rounds` times. Fails the test when the store does not become
// healthy again by itself.
void readiness_rounds(std::size_t rounds);

}  // namespace assay::storage
