// SPDX-License-Identifier: Apache-2.0
// What a document costs in processor time of the thread that handles it, and the bar for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>

#include "schemas/core/bytes.h"

namespace assay::server::test {

// Processor time of a document, on a machine that verifies this many P-256 signatures a second.
inline constexpr double kMostMilliseconds = 100;
inline constexpr double kSignaturesASecond = 21'400;
// Longer bodies may take as much for each of so many bytes: a principal has one handled at a time
// (server/api/dispatch.h).
inline constexpr std::size_t kLargeBytes = 32U << 20;

inline double processor_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Least of several, because others use the processor's caches.
template <typename Work>
double least_ms(int times, const Work& work) {
  double least = 1e9;
  for (int i = 0; i < times; ++i) {
    const double begin = processor_ms();
    work();
    least = std::min(least, processor_ms() - begin);
  }
  return least;
}

// How much slower this machine is, 1 at least.
inline double slowness() {
  constexpr int kSignatures = 200;
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  const Bytes text(32, 7);
  Bytes signature(128);
  std::size_t length = signature.size();
  EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, key);
  EVP_DigestSign(context, signature.data(), &length, text.data(), text.size());
  const double took = least_ms(5, [&] {
    for (int i = 0; i < kSignatures; ++i) {
      EVP_MD_CTX_reset(context);
      EVP_DigestVerifyInit(context, nullptr, EVP_sha256(), nullptr, key);
      EXPECT_EQ(EVP_DigestVerify(context, signature.data(), length, text.data(), text.size()), 1);
    }
  });
  EVP_MD_CTX_free(context);
  EVP_PKEY_free(key);
  return std::max(1.0, took / 1e3 * kSignaturesASecond / kSignatures);
}

// The bar for a document of so many bytes, `times` as much as usual, `slower` than the usual
// machine.
inline double most_ms(std::size_t bytes, double times, double slower) {
  const double share = static_cast<double>(bytes) / static_cast<double>(kLargeBytes);
  return kMostMilliseconds * slower * std::max(1.0, share) * times;
}

inline double most_ms(std::size_t bytes, double times = 1) {
  static const double slower = slowness();
  return most_ms(bytes, times, slower);
}

inline std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) {
    all += text;
  }
  return all;
}

// Values that take as much time as JSON can for its length, up to `bytes` of them.
inline std::vector<std::string> shapes(std::size_t bytes) {
  std::string members = "{";
  for (std::size_t i = 0; members.size() + 24 < bytes; ++i) {
    members += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":{}";
  }
  return {"[" + repeated("[],", bytes / 3 - 2) + "[]]", members + "}",
          "[" + repeated("1.5,", bytes / 4 - 2) + "1]",
          "\"" + repeated("\\u00e4", bytes / 6 - 2) + "\""};
}

}  // namespace assay::server::test
