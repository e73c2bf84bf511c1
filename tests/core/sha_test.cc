// SPDX-License-Identifier: Apache-2.0
// SHA-2 against the examples of FIPS 180-4.
#include "schemas/core/sha.h"

#include <thread>

#include <gtest/gtest.h>

namespace assay {
namespace {

constexpr std::string_view kAbc256 =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view kAbc384 =
    "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
    "8086072ba1e7cc2358baeca134c825a7";

TEST(Sha, KnownAnswers) {
  EXPECT_EQ(sha256(as_bytes("abc")).hex(), kAbc256);
  EXPECT_EQ(sha(HashAlgorithm::kSha384, as_bytes("abc")).hex(), kAbc384);
  EXPECT_EQ(sha256(as_bytes("")).hex(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256(as_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")).hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha, Parts_AreConcatenated) {
  EXPECT_EQ(sha(HashAlgorithm::kSha256, {as_bytes("a"), as_bytes(""), as_bytes("bc")}).hex(),
            kAbc256);
}

TEST(ShaStream, Finish_StartsANewMessage) {
  ShaStream stream(HashAlgorithm::kSha256);
  for (int i = 0; i < 1000; ++i) {
    stream.update(Bytes(1000, 'a'));
  }
  EXPECT_EQ(stream.finish().hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  stream.update(as_bytes("abc"));
  EXPECT_EQ(stream.finish().hex(), kAbc256);
}

TEST(Sha, ManyThreads_AgreeWithOne) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&wrong, t] {
      for (int i = 0; i < 500; ++i) {
        wrong[t] += sha256(as_bytes("abc")).hex() == kAbc256 ? 0 : 1;
        wrong[t] += sha(HashAlgorithm::kSha384, as_bytes("abc")).hex() == kAbc384 ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace assay
