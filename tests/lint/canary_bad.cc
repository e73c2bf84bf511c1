// SPDX-License-Identifier: Apache-2.0
// Canary: forms that the coroutine rules forbid. GCC 12.2 destroys a probe of each twice, so both
// balances are below zero. A compiler for which they are zero no longer needs check_coroutines.py.

#include "tests/lint/canary.h"

namespace canary {
namespace {

struct Options {
  Probe probe;
  int value = 0;
};

template <class F>
Task call(F function) {
  function();
  co_return;
}

Task take(Options options) {
  static_cast<void>(options);
  co_return;
}

Task capturing_lambda() {
  Probe probe;
  co_await call([probe] { static_cast<void>(probe); });
}

Task aggregate_temporary() { co_await take(Options{Probe(), 1}); }

}  // namespace
}  // namespace canary

int main() {
  canary::print_balance(canary::capturing_lambda());
  canary::print_balance(canary::aggregate_temporary());
}
