// SPDX-License-Identifier: Apache-2.0
// Memory files: bytes that are handed to another process and that nobody can change any more.
#pragma once

#include <initializer_list>
#include <span>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"

namespace assay {

// Whether code in the file may be run.
enum class Executable : bool { kNo, kYes };

// Makes a memory file of these bytes, one after the other, and seals it: it is never written, grown
// or shrunk again. `name` appears in lists of the system. Errors: unavailable when the system has
// no room.
[[nodiscard]] Result<Descriptor> sealed_memory(const char* name, std::span<const ByteView> bytes,
                                               Executable executable);
[[nodiscard]] inline Result<Descriptor> sealed_memory(const char* name,
                                                      std::initializer_list<ByteView> bytes,
                                                      Executable executable) {
  return sealed_memory(name, std::span(bytes.begin(), bytes.size()), executable);
}

}  // namespace assay
