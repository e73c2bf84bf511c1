// SPDX-License-Identifier: Apache-2.0
#include "worker/renewal_and_backoff.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>

namespace assay::worker {

double random_fraction(Random& random) {
  std::array<std::uint8_t, 4> bytes{};
  if (!random.fill(bytes)) {
    return 0.5;
  }
  std::uint64_t number = 0;
  for (const std::uint8_t byte : bytes) {
    number = number << 8U | byte;
  }
  return static_cast<double>(number) / 4294967296.0;
}

std::chrono::milliseconds Backoff::next() {
  constexpr unsigned kMaxDoublings = 20;  // further ones would only overflow
  const auto bound = std::min(longest_, first_ * (std::int64_t{1} << failures_));
  failures_ = std::min(failures_ + 1, kMaxDoublings);
  const auto drawn = random_fraction(random_) * static_cast<double>(bound.count());
  return std::chrono::milliseconds(std::max<std::int64_t>(1, static_cast<std::int64_t>(drawn)));
}

Term::Term(Steady::time_point from, std::chrono::milliseconds length, double share)
    : end_(from + length) {
  const auto part = std::clamp(share, 0.0, 1.0) * static_cast<double>(length.count());
  due_ = from + std::chrono::milliseconds(static_cast<std::int64_t>(part));
}

double renewal_share(Random& random) { return 0.5 + random_fraction(random) / 4; }

bool pause(Steady::duration length, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, length, [] { return false; });
  return !stop.stop_requested();
}

bool may_pass(const Error& error) {
  switch (error.code) {
    case ErrorCode::kConnectionFailed:
    case ErrorCode::kRequestTimeout:
    case ErrorCode::kBusy:
    case ErrorCode::kOverloaded:
    case ErrorCode::kUnavailable:
    case ErrorCode::kStorage:
    case ErrorCode::kStoreBehindAnchor:
    case ErrorCode::kInternal:       // also a proxy's 502
    case ErrorCode::kMalformedJson:  // a proxy's page
      return true;
    default:
      return false;
  }
}

}  // namespace assay::worker
