// SPDX-License-Identifier: Apache-2.0
// The interface between Assay and a verifier plug-in: a shared library in C, or with a C interface,
// that verifies evidence of one type. docs/verifier-plugins.md teaches how to write one.
//
// A plug-in exports one object, `assay_plugin_entry`, of the type struct assay_plugin. It runs in a
// process that exists for one call: nothing that it changes in memory outlives the call. There it
// can read its input, compute, allocate memory within a limit, and write its answer. It cannot open
// files or sockets, start threads or processes, or load libraries other than the C and C++ run
// time, libm and libcrypto. A process that tries is ended.
//
// A plug-in must be a pure function of struct assay_call: the time is in the call.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The version of this interface. A plug-in for another one is not called.
#define ASSAY_PLUGIN_ABI_VERSION 1

// The name of the exported object.
#define ASSAY_PLUGIN_SYMBOL "assay_plugin_entry"

#define ASSAY_PLUGIN_EXPORT __attribute__((visibility("default")))

// NOLINTBEGIN(readability-identifier-naming): names of C

// Bytes that the plug-in may read until it returns. `data` is never null; it is not terminated.
struct assay_bytes {
  const uint8_t* data;
  size_t size;
};

enum assay_purpose {
  ASSAY_PURPOSE_INSPECT = 0,  // only to report what the evidence shows
  ASSAY_PURPOSE_ENROL = 1,    // a node enrols, or shows that it is still the same
  ASSAY_PURPOSE_STAGE = 2     // evidence of where a statement was signed
};

// One piece of evidence to appraise.
struct assay_call {
  uint32_t size;                    // of this structure in bytes; later versions append members
  uint32_t purpose;                 // enum assay_purpose
  int64_t now;                      // seconds since 1970-01-01T00:00:00Z
  struct assay_bytes report_data;   // 64 bytes that genuine evidence carries
  struct assay_bytes evidence;      // what the hardware signed, as the node sent it; hostile
  struct assay_bytes event_log;     // what the machine measured; empty: none; hostile
  struct assay_bytes endorsements;  // JSON object, the member "collateral"; "null": none; hostile
  struct assay_bytes policy;  // JSON object, the appraisal policy in force; from the operators
};

struct assay_plugin {
  uint32_t abi_version;    // ASSAY_PLUGIN_ABI_VERSION
  uint32_t reserved;       // 0
  const char* type;        // the one type of evidence that it verifies, kebab-case
  const char* media_type;  // of that evidence, in lower case

  // Appraises the evidence. Writes at most `capacity` bytes of JSON to `answer`, as
  // schemas/json/plugin-answer.schema.json describes it, and returns how many. Returns 0 when it
  // cannot decide: nothing is accepted then. Never accepts evidence that does not carry
  // `report_data`.
  size_t (*appraise)(const struct assay_call* call, char* answer, size_t capacity);
};

extern ASSAY_PLUGIN_EXPORT const struct assay_plugin assay_plugin_entry;

// NOLINTEND(readability-identifier-naming)

#ifdef __cplusplus
}
#endif
