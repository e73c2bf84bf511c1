// SPDX-License-Identifier: Apache-2.0
#include "tests/support/allocations.h"

#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ASSAY_HAS_ALLOCATION_HOOKS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ASSAY_HAS_ALLOCATION_HOOKS
#endif
#endif

namespace {

thread_local assay::test::Allocations so_far;

void note(std::size_t size) {
  ++so_far.count;
  so_far.bytes += size;
}

}  // namespace

#ifdef ASSAY_HAS_ALLOCATION_HOOKS

// Of the sanitizers' own interface, whose header not every compiler has. They keep their operators.
extern "C" int __sanitizer_install_malloc_and_free_hooks(
    void (*on_malloc)(const volatile void* block, std::size_t size),
    void (*on_free)(const volatile void* block));

namespace {
const int hooks = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void* /*block*/, std::size_t size) { note(size); },
    [](const volatile void* /*block*/) {});
}  // namespace

#else

namespace {

void* counted(std::size_t size) noexcept {
  note(size);
  return std::malloc(size);  // NOLINT(cppcoreguidelines-owning-memory): operator new is made of it
}

void release(void* block) noexcept {
  std::free(block);  // NOLINT(cppcoreguidelines-owning-memory): operator delete is made of it
}

}  // namespace

void* operator new(std::size_t size) {
  void* const block = counted(size);
  if (block == nullptr) {
    throw std::bad_alloc();
  }
  return block;
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return counted(size);
}
void operator delete(void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t /*size*/) noexcept { release(block); }
void operator delete(void* block, const std::nothrow_t& /*tag*/) noexcept { release(block); }

#endif

namespace assay::test {

Allocations allocations_of(const std::function<void()>& work) {
  const Allocations before = so_far;
  work();
  return {so_far.count - before.count, so_far.bytes - before.bytes};
}

}  // namespace assay::test
