// SPDX-License-Identifier: Apache-2.0
// An example of a verifier plug-in: evidence with a shared secret. It shows the interface, and is
// worth as little as the secret that stands in its source.
//
//   cc -shared -fPIC -O2 -I . -o example_hmac.so PATH/example_hmac.c -lcrypto
//
// The evidence: 64 bytes of report data, 16 bytes that name the machine, 32 bytes that say what runs
// on it, and HMAC-SHA-256 over these 112 bytes.
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "attestation/plugin.h"

enum { kReportData = 64, kMachine = 16, kImage = 32, kTag = 32 };
enum { kSigned = kReportData + kMachine + kImage, kEvidence = kSigned + kTag };

static const char kSecret[] = "an example, known to everybody";

static void hex(const uint8_t* bytes, size_t size, char* out) {
  static const char kDigits[] = "0123456789abcdef";
  for (size_t i = 0; i < size; ++i) {
    out[2 * i] = kDigits[bytes[i] >> 4];
    out[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  out[2 * size] = '\0';
}

// snprintf() returns how long the text would have been.
static size_t checked(int length, size_t capacity) {
  return length > 0 && (size_t)length < capacity ? (size_t)length : 0;
}

static size_t reject(const char* nonce, const char* error, char* answer, size_t capacity) {
  return checked(snprintf(answer, capacity,
                          "{\"type\":\"example-hmac\",\"report_data\":\"%s\","
                          "\"verdict\":\"rejected\",\"error\":\"%s\"}",
                          nonce, error),
                 capacity);
}

static size_t appraise(const struct assay_call* call, char* answer, size_t capacity) {
  // Report data has 64 bytes in version 1 of the interface.
  char nonce[2 * kReportData + 1];
  if (call->report_data.size != kReportData) {
    return 0;
  }
  hex(call->report_data.data, kReportData, nonce);

  // Sizes first: the evidence is whatever a node sent.
  if (call->evidence.size != kEvidence) {
    return reject(nonce, "EVIDENCE_SIZE", answer, capacity);
  }
  const uint8_t* evidence = call->evidence.data;

  // Then who made it.
  uint8_t tag[kTag];
  unsigned int length = 0;
  if (HMAC(EVP_sha256(), kSecret, (int)strlen(kSecret), evidence, kSigned, tag, &length) == NULL ||
      length != kTag) {
    return 0;
  }
  if (CRYPTO_memcmp(tag, evidence + kSigned, kTag) != 0) {
    return reject(nonce, "SIGNATURE_MISMATCH", answer, capacity);
  }

  // Then whether it was made for this call.
  if (memcmp(evidence, call->report_data.data, kReportData) != 0) {
    return reject(nonce, "REPORT_DATA_MISMATCH", answer, capacity);
  }

  // What it says. Reference values for "image" are compared by the service.
  char machine[2 * kMachine + 1];
  char image[2 * kImage + 1];
  hex(evidence + kReportData, kMachine, machine);
  hex(evidence + kReportData + kMachine, kImage, image);
  return checked(snprintf(answer, capacity,
                          "{\"type\":\"example-hmac\",\"report_data\":\"%s\","
                          "\"verdict\":\"accepted\",\"tcb_status\":\"UpToDate\","
                          "\"platform\":\"%s\",\"measurements\":{\"image\":\"%s\"},"
                          "\"trustworthiness\":{\"executables\":3,\"hardware\":32}}",
                          nonce, machine, image),
                 capacity);
}

// The library that computes the tag sets itself up at its first use. Each call has a process of its
// own, so the first use is here, where the process waits for its call, and not in the call.
__attribute__((constructor)) static void warm_up(void) {
  uint8_t tag[kTag];
  unsigned int length = 0;
  (void)HMAC(EVP_sha256(), kSecret, (int)strlen(kSecret), tag, 0, tag, &length);
}

ASSAY_PLUGIN_EXPORT const struct assay_plugin assay_plugin_entry = {
    .abi_version = ASSAY_PLUGIN_ABI_VERSION,
    .type = "example-hmac",
    .media_type = "application/vnd.example.hmac",
    .appraise = appraise,
};
