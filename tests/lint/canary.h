// SPDX-License-Identifier: Apache-2.0
// What the two canaries share: the smallest coroutine type, and a probe that counts its
// destructions.

#pragma once

#include <coroutine>
#include <cstdio>
#include <exception>
#include <utility>

namespace canary {

inline int alive = 0;

// Each construction adds one, each destruction takes one: a balance below zero is a double
// destruction.
struct Probe {
  Probe() { ++alive; }
  Probe(const Probe&) { ++alive; }
  Probe(Probe&&) noexcept { ++alive; }
  Probe& operator=(const Probe&) = default;
  Probe& operator=(Probe&&) noexcept = default;
  ~Probe() { --alive; }
};

// Lazily started coroutine without a value; awaiting it runs it to its end.
class Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct Final {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(Handle self) const noexcept;
    void await_resume() const noexcept {}
  };

  struct promise_type {
    std::coroutine_handle<> waiter = std::noop_coroutine();
    Task get_return_object() { return Task(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    Final final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) {
      handle_.destroy();
    }
  }

  void run() const { handle_.resume(); }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter) const noexcept {
    handle_.promise().waiter = waiter;
    return handle_;
  }
  void await_resume() const noexcept {}

 private:
  Handle handle_;
};

inline std::coroutine_handle<> Task::Final::await_suspend(Handle self) const noexcept {
  return self.promise().waiter;
}

// Runs the task to its end and prints the balance of the probes that it left.
inline void print_balance(Task task) {
  const int before = alive;
  {
    const Task owned = std::move(task);
    owned.run();
  }
  std::printf("%d\n", alive - before);
}

}  // namespace canary
