// SPDX-License-Identifier: Apache-2.0
// Canary: the same work as canary_bad.cc in the form that the coroutine rules ask for. Both
// balances must be zero; a compiler for which they are not cannot build the server.

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

Task named_lambda() {
  Probe probe;
  auto function = [probe] { static_cast<void>(probe); };
  co_await call(std::move(function));
}

Task named_aggregate() {
  Options options = {Probe(), 1};
  co_await take(std::move(options));
}

}  // namespace
}  // namespace canary

int main() {
  canary::print_balance(canary::named_lambda());
  canary::print_balance(canary::named_aggregate());
}
