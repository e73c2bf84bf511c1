// SPDX-License-Identifier: Apache-2.0
// Locks the calling process in before foreign code runs in it.
#pragma once

#include <cstdint>

namespace assay::attestation::verifier_host {

// The file name by which dlopen() gets the plug-in. No other name can be opened.
inline constexpr const char* kPluginName = "/proc/self/fd/4";

// From now on this process can read and write the descriptors that it has, use memory up to a
// limit, and end. It opens nothing but kPluginName, once, which gives `plugin`: a descriptor of its
// own, at the beginning of the file. A dangerous system call ends the process; a harmless one
// fails. Limits of resources hold as well: `cpu_seconds` of processor time. Returns false when the
// system does not allow this; then no foreign code may run. Linux, x86-64 and AArch64.
[[nodiscard]] bool lock_in(int plugin, std::uint32_t cpu_seconds);

}  // namespace assay::attestation::verifier_host
