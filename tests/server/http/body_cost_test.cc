// SPDX-License-Identifier: Apache-2.0
// What it costs to receive a body, counted in bytes of memory that the program asks for: each
// larger buffer is one more copy of what has arrived.

#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "tests/server/http/server_fixture.h"

namespace {

constexpr std::size_t kLarge = 65536;  // nothing but a body needs as much here
std::atomic<std::size_t> large_blocks = 0;
std::atomic<std::size_t> large_bytes = 0;

void* counted(std::size_t size) noexcept {
  if (size >= kLarge) {
    ++large_blocks;
    large_bytes += size;
  }
  return std::malloc(size);  // NOLINT(cppcoreguidelines-owning-memory): operator new is made of it
}

void release_counted(void* block) noexcept {
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
void operator delete(void* block) noexcept { release_counted(block); }
void operator delete(void* block, std::size_t /*size*/) noexcept { release_counted(block); }
void operator delete(void* block, const std::nothrow_t& /*tag*/) noexcept {
  release_counted(block);
}

namespace assay::server {
namespace {

class BodyCostTest : public test::ServerTest {};

// A record of TLS has 16 KiB, so a body of 8 MiB comes in at least 512 pieces.
TEST_F(BodyCostTest, BuffersOfABody_AreTwiceItsLengthTogether) {
  constexpr std::size_t kLength = 8U << 20;
  app_.body_limit = kLength;
  std::size_t blocks = 0;
  std::size_t bytes = 0;
  std::size_t held = 0;
  app_.handler = [&](const Head&, const Bytes& body) {
    blocks = large_blocks;
    bytes = large_bytes;
    held = body.capacity();
    return Response();
  };
  serve();
  const auto connection = client();
  const std::string request =
      "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(kLength) + "\r\n\r\n" +
      std::string(kLength, 'x');
  large_blocks = 0;
  large_bytes = 0;
  EXPECT_EQ(connection->exchange(request)->status, 200);
  EXPECT_LE(blocks, 8U) << "64 KiB, doubled seven times";
  EXPECT_LT(bytes, 2 * kLength);
  EXPECT_EQ(held, kLength) << "no more than was announced";
}

TEST_F(BodyCostTest, BodyThatIsAnnounced_HasNoMemoryBeforeItComes) {
  constexpr std::size_t kLength = 8U << 20;
  app_.body_limit = kLength;
  serve();
  const auto connection = client();
  const std::string begun =
      "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(kLength) + "\r\n\r\n" +
      std::string(100'000, 'x');
  large_bytes = 0;
  ASSERT_TRUE(connection->send(begun));
  wait_until([] { return large_bytes >= 128U << 10; });
  connection->close();
  wait_until([this] { return app_.closed == 1; });
  EXPECT_LE(large_bytes, (64U + 128U) << 10);
}

}  // namespace
}  // namespace assay::server
