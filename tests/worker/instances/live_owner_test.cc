// SPDX-License-Identifier: Apache-2.0
// A live registration: fresh descriptors, staged bytes, verify, release. Right and wrong answers.
#include "worker/instances/live_owner.h"

#include <cstring>
#include <fcntl.h>
#include <future>
#include <sys/stat.h>

#include "tests/support/vectors.h"
#include "tests/worker/instances/owner_end.h"

namespace assay::worker {
namespace {

using assay::test::code_of;
using test::Agent;
using test::host_registration;
using test::LingeringSocket;
using test::MappedFile;
using test::memory_file;
using test::open_descriptors;
using test::OwnerEnd;
using test::sparse_file;
using Numbers = std::vector<std::uint64_t>;

// A registered owner of three host pieces.
struct Registered {
  explicit Registered(InstanceLimits limits = {}) : agent(limits), end(agent) {
    const int file = files[0].get();
    EXPECT_EQ(end.enter(host_registration(3), {file, file, file}), "registered");
    EXPECT_EQ(agent.recorder.next(), "came a");
    owner = agent.recorder.owner();
  }
  // Asks for pieces in another thread.
  std::future<Result<std::vector<Descriptor>>> ask(Numbers pieces) {
    return std::async(std::launch::async,
                      [owner = owner, pieces] { return owner->export_pieces(pieces); });
  }

  std::array<Descriptor, 3> files = {memory_file(64), memory_file(64), memory_file(64)};
  Agent agent;
  OwnerEnd end;
  std::shared_ptr<Owner> owner;
};

ino_t inode(const Descriptor& file) {
  struct stat status{};
  EXPECT_EQ(::fstat(file.get(), &status), 0);
  return status.st_ino;
}

TEST(LiveOwner, Export_GivesFreshDescriptorsInOrder) {
  Registered side;
  const std::size_t before = open_descriptors();
  auto answer = side.ask({0, 2});
  EXPECT_EQ(side.end.next(), Json({{"type", "export"}, {"request", 1}, {"pieces", Numbers{0, 2}}}));
  side.end.send(OwnerPieces{1, 0, 1}, {side.files[0].get()});
  side.end.send(OwnerPieces{1, 2, 1}, {side.files[2].get()});
  {
    const auto got = answer.get();
    ASSERT_TRUE(got) << to_string(got.error());
    ASSERT_EQ(got->size(), 2);
    EXPECT_EQ(inode((*got)[0]), inode(side.files[0]));
    EXPECT_EQ(inode((*got)[1]), inode(side.files[2]));
  }
  EXPECT_EQ(open_descriptors(), before);
  auto more = side.ask({0, 1, 2});
  EXPECT_EQ(side.end.next()["request"], 2);
  side.end.send(OwnerPieces{2, 0, 3}, std::vector<int>(3, side.files[1].get()));
  EXPECT_EQ(more.get()->size(), 3);
}

TEST(LiveOwner, WhatCannotBeAskedFor_IsNotAsked) {
  Registered side;
  for (const Numbers& pieces : {Numbers{}, Numbers{3}, Numbers{1, 0}, Numbers{1, 1}}) {
    EXPECT_EQ(code_of(side.owner->export_pieces(pieces)), "invalid-parameter");
  }
  Bytes out(8);
  EXPECT_EQ(code_of(side.owner->read_staged(0, 0, out)), "invalid-parameter");
}

TEST(LiveOwner, OtherPiecesThanAskedFor_EndTheConnection) {
  const std::size_t before = open_descriptors();
  for (const OwnerPieces& wrong : {OwnerPieces{1, 0, 1}, OwnerPieces{1, 1, 2}}) {
    Registered side;
    auto answer = side.ask({1});
    EXPECT_EQ(side.end.next()["type"], "export");
    side.end.send(wrong, std::vector<int>(wrong.count, side.files[0].get()));
    EXPECT_EQ(code_of(answer.get()), "file-unreadable");
    EXPECT_EQ(side.end.next_type(), "refused invalid-parameter");
    EXPECT_EQ(side.agent.recorder.next(), "gone a");
    side.owner.reset();
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(LiveOwner, AnswersThatNobodyAskedFor_EndTheConnection) {
  const std::size_t before = open_descriptors();
  {
    Registered pieces;
    pieces.end.send(OwnerPieces{1, 0, 1}, {pieces.files[0].get()});
    EXPECT_EQ(pieces.end.next_type(), "refused invalid-parameter");
    Registered copied;
    copied.end.send(OwnerCopied{1});
    EXPECT_EQ(copied.end.next_type(), "refused invalid-parameter");
    Registered failed;
    failed.end.send(OwnerFailed{1, ""});
    EXPECT_EQ(failed.end.next_type(), "refused invalid-parameter");
    Registered kind;
    auto answer = kind.ask({0});
    EXPECT_EQ(kind.end.next()["type"], "export");
    kind.end.send(OwnerCopied{1});
    EXPECT_EQ(kind.end.next_type(), "refused invalid-parameter");
    EXPECT_EQ(code_of(answer.get()), "cancelled");
    for (Registered* side : {&pieces, &copied, &failed, &kind}) {
      side->end.hang_up();
    }
  }
  EXPECT_EQ(open_descriptors(), before);
}

// Descriptors beside a frame that has none to bring.
TEST(LiveOwner, DescriptorsBesideAnotherAnswer_EndTheConnection) {
  Registered side;
  auto answer = side.ask({0});
  EXPECT_EQ(side.end.next()["type"], "export");
  side.end.send(OwnerFailed{1, ""}, {side.files[0].get()});
  EXPECT_EQ(side.end.next_type(), "refused invalid-parameter");
  EXPECT_EQ(code_of(answer.get()), "cancelled");
}

TEST(LiveOwner, OwnerThatCannot_SaysWhy) {
  Registered side;
  auto answer = side.ask({0});
  EXPECT_EQ(side.end.next()["type"], "export");
  side.end.send(OwnerFailed{1, "the storage was freed"});
  const auto got = answer.get();
  EXPECT_EQ(code_of(got), "file-unreadable");
  EXPECT_NE(got.error().detail.find("the storage was freed"), std::string::npos);
  auto again = side.ask({0});
  EXPECT_EQ(side.end.next()["request"], 2);
  side.end.send(OwnerPieces{2, 0, 1}, {side.files[0].get()});
  EXPECT_EQ(code_of(again.get()), "ok");
}

// An answer that comes too late is not used, and its descriptors do not stay; then the next request
// may go out.
TEST(LiveOwner, LateAnswer_IsDropped) {
  Registered side({.answer = std::chrono::milliseconds(1)});
  const std::size_t before = open_descriptors();
  EXPECT_EQ(code_of(side.owner->export_pieces(Numbers{0, 1})), "file-unreadable");
  EXPECT_EQ(code_of(side.owner->export_pieces(Numbers{2})), "file-unreadable");
  EXPECT_EQ(side.end.next()["request"], 1);
  side.end.send(OwnerPieces{1, 0, 2}, {side.files[0].get(), side.files[0].get()});
  // Answered in order: when the verify has been seen, so has the answer.
  side.end.send(OwnerVerify{9});
  EXPECT_EQ(side.agent.recorder.next(), "asked a");
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(code_of(side.owner->export_pieces(Numbers{2})), "file-unreadable");
  EXPECT_EQ(side.end.next()["request"], 2);  // it went out
}

// --- descriptors that make whoever closes them wait

// Answers the request for these pieces with a socket as the first of them, and nothing more.
void answer_with_a_socket(const Numbers& pieces) {
  Registered side({.answer = std::chrono::milliseconds(500)});
  LingeringSocket socket;
  const auto begun = Steady::now();
  auto answer = side.ask(pieces);
  EXPECT_EQ(side.end.next()["type"], "export");
  side.end.send(OwnerPieces{1, pieces[0], 1}, {socket.socket.get()});
  socket.let_go();
  EXPECT_EQ(code_of(answer.get()), "invalid-parameter");
  EXPECT_EQ(side.end.next_type(), "refused invalid-parameter");
  EXPECT_EQ(side.agent.recorder.next(), "gone a");
  side.owner.reset();
  side.end.hang_up();
  // Nothing of the agent waits: another owner is served.
  OwnerEnd other(side.agent);
  EXPECT_EQ(other.enter(host_registration(1, "b"), {side.files[0].get()}), "registered");
  EXPECT_EQ(side.agent.recorder.next(), "came b");
  const auto owner = side.agent.recorder.owner();
  auto more = std::async(std::launch::async, [owner] { return owner->export_pieces(Numbers{0}); });
  EXPECT_EQ(other.next()["type"], "export");
  other.send(OwnerPieces{1, 0, 1}, {side.files[0].get()});
  EXPECT_EQ(code_of(more.get()), "ok");
  EXPECT_LT(Steady::now() - begun, LingeringSocket::kLinger / 2);
}

TEST(LiveOwner, SocketForAPiece_EndsTheConnection_AndNobodyWaits) {
  const std::size_t before = open_descriptors();
  answer_with_a_socket({1});
  answer_with_a_socket({0, 1});  // the rest of the answer does not come
  EXPECT_EQ(open_descriptors(), before);
}

TEST(LiveOwner, AnswerOfAnotherKind_EndsTheConnection) {
  const std::size_t before = open_descriptors();
  const Descriptor unsealed = memory_file(64, 0);
  const Descriptor hole = sparse_file(64);
  const Descriptor device(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int wrong : {unsealed.get(), hole.get(), device.get()}) {
    Registered side;
    auto answer = side.ask({0, 1});
    EXPECT_EQ(side.end.next()["type"], "export");
    side.end.send(OwnerPieces{1, 0, 2}, {side.files[0].get(), wrong});
    EXPECT_EQ(code_of(answer.get()), "invalid-parameter");
    EXPECT_EQ(side.end.next_type(), "refused invalid-parameter");
  }
  EXPECT_EQ(open_descriptors(), before + 3);
}

TEST(LiveOwner, StagedBytes_ComeThroughTheWindow) {
  Agent agent;
  OwnerEnd end(agent);
  InstanceRegistration registration = host_registration(0);
  registration.pieces = {{100, PieceKind::kStaged, "cudaMalloc"}};
  registration.tensors = {{{"s"}, "U8", {100}, {{0, 0, 100}}}};
  registration.window = kStagingWindow;
  const MappedFile window(kStagingWindow);
  end.send(OwnerHello{""});
  end.send(registration);
  end.send(OwnerPieces{0, 1, 1}, {window.file.get()});
  EXPECT_EQ(end.next_type(), "welcome");
  ASSERT_EQ(end.next_type(), "registered");
  EXPECT_EQ(agent.recorder.next(), "came a");
  const auto owner = agent.recorder.owner();
  EXPECT_EQ(code_of(owner->export_pieces(Numbers{0})), "invalid-parameter");
  Bytes out(20);
  EXPECT_EQ(code_of(owner->read_staged(0, 81, out)), "invalid-parameter");
  auto answer = std::async(std::launch::async, [&] { return owner->read_staged(0, 80, out); });
  EXPECT_EQ(end.next(),
            Json({{"type", "read"}, {"request", 1}, {"piece", 0}, {"offset", 80}, {"size", 20}}));
  std::memcpy(window.bytes, "twenty bytes are here", 20);
  end.send(OwnerCopied{1});
  EXPECT_EQ(code_of(answer.get()), "ok");
  EXPECT_EQ(as_text(out), "twenty bytes are her");
}

TEST(LiveOwner, EndOfTheConnection_EndsWhatWaits) {
  Registered side;
  auto answer = side.ask({0});
  EXPECT_EQ(side.end.next()["type"], "export");
  side.end.hang_up();
  EXPECT_EQ(code_of(answer.get()), "cancelled");
  EXPECT_TRUE(side.owner->ended().stop_requested());
}

// --- states

TEST(LiveOwner, States_TravelWhenTheyChange) {
  Registered side;
  const std::vector<Finding> findings = {{Finding::Kind::kMismatch, "t1", "bytes 0 to 64"}};
  side.owner->tell(InstanceState::kPending, {});
  side.owner->tell(InstanceState::kVerified, {});
  side.owner->tell(InstanceState::kVerified, {});
  side.agent.clock.advance(std::chrono::seconds(1));
  side.owner->tell(InstanceState::kViolated, findings);
  side.owner->tell(InstanceState::kUnknown, {});
  EXPECT_EQ(side.end.next(), Json({{"type", "state"},
                                   {"request", 0},
                                   {"state", "pending"},
                                   {"checked_at", nullptr},
                                   {"findings", Json::array()}}));
  Json told = side.end.next();
  EXPECT_EQ(told["state"], "verified");
  EXPECT_EQ(told["checked_at"], "2026-01-02T03:04:05.678Z");
  told = side.end.next();
  EXPECT_EQ(told["state"], "violated");
  EXPECT_EQ(told["checked_at"], "2026-01-02T03:04:06.678Z");
  EXPECT_EQ(told["findings"],
            Json::array({{{"kind", "mismatch"}, {"tensor", "t1"}, {"detail", "bytes 0 to 64"}}}));
  told = side.end.next();
  EXPECT_EQ(told["state"], "unknown");
  EXPECT_EQ(told["checked_at"], "2026-01-02T03:04:06.678Z");
}

// A check that was under way when the owner asked saw the memory before: it does not answer.
TEST(LiveOwner, Verify_IsAnsweredByACheckThatBeganLater) {
  Registered side;
  side.owner->begin_check();
  side.end.send(OwnerVerify{77});
  EXPECT_EQ(side.agent.recorder.next(), "asked a");
  side.owner->tell(InstanceState::kVerified, {});
  EXPECT_EQ(side.end.next()["request"], 0);
  side.owner->begin_check();
  side.owner->tell(InstanceState::kVerified, {});
  EXPECT_EQ(side.end.next()["request"], 77);  // although nothing changed
  side.owner->tell(InstanceState::kUnknown, {});
  EXPECT_EQ(side.end.next()["request"], 0);
  side.end.send(OwnerVerify{78});
  EXPECT_EQ(side.agent.recorder.next(), "asked a");
}

TEST(LiveOwner, SecondVerify_EndsTheConnection) {
  Registered side;
  side.end.send(OwnerVerify{1});
  side.end.send(OwnerVerify{2});
  EXPECT_EQ(side.end.next_type(), "refused conflict");
}

TEST(LiveOwner, WhatTheOwnerSawItself_IsPassedOnOnce) {
  Registered side;
  side.end.send(OwnerChanged{{"t0", "t2"}});
  side.end.send(OwnerChanged{{"t1"}});
  side.end.send(OwnerVerify{1});
  EXPECT_EQ(side.agent.recorder.next(), "changed t0 t2");
  EXPECT_EQ(side.agent.recorder.next(), "asked a");  // the second one is not told
}

// --- yield

TEST(LiveOwner, Yield_IsPassedOn_AndAnsweredOnce) {
  Registered side;
  side.end.send(OwnerYield{3, std::chrono::milliseconds(50)});
  EXPECT_EQ(side.agent.recorder.next(), "yields a 50");
  side.owner->yielded(2, std::chrono::milliseconds(70));
  side.owner->yielded(1, std::chrono::milliseconds(70));
  EXPECT_EQ(side.end.next(),
            Json({{"type", "yielded"}, {"request", 3}, {"slices", 2}, {"next_ms", 70}}));
  side.end.send(OwnerYield{4, std::chrono::milliseconds(50)});
  EXPECT_EQ(side.agent.recorder.next(), "yields a 50");
  side.owner->yielded(0, std::chrono::hours(9));  // brought within the limit of the frame
  EXPECT_EQ(side.end.next(),
            Json({{"type", "yielded"}, {"request", 4}, {"slices", 0}, {"next_ms", 60'000}}));
}

TEST(LiveOwner, SecondYield_EndsTheConnection_WhileTheFirstHasTime) {
  Registered side;
  side.end.send(OwnerYield{1, std::chrono::milliseconds(10'000)});
  side.end.send(OwnerYield{2, std::chrono::milliseconds(1)});
  EXPECT_EQ(side.end.next_type(), "refused conflict");
  Registered late;  // nobody answered in time
  for (int i = 0; i < 3; ++i) {
    late.end.send(OwnerYield{1, std::chrono::milliseconds(1)});
    EXPECT_EQ(late.agent.recorder.next(), "yields a 1");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // its time is over then
  }
}

TEST(LiveOwner, FloodOfYields_EndsTheConnection) {
  Registered side;
  std::string answer;
  for (unsigned i = 1; answer != "refused limit-exceeded"; ++i) {
    ASSERT_LT(i, 10'000U);  // a slow machine sends few a second
    side.end.send(OwnerYield{i, std::chrono::milliseconds(1'000)});
    if (side.agent.recorder.next() != "yields a 1000") {
      break;
    }
    side.owner->yielded(0, std::chrono::milliseconds(1));
    answer = side.end.next_type();
    EXPECT_TRUE(answer == "yielded" || i > LiveOwner::kYieldsASecond) << i;
  }
  EXPECT_EQ(side.end.next_type(), "refused limit-exceeded");
}

TEST(LiveOwner, FloodOfStates_EndsTheConnectionOfAnOwnerThatDoesNotRead) {
  Registered side;
  std::vector<Finding> findings(16, {Finding::Kind::kMismatch, "t1", std::string(512, 'x')});
  for (int i = 0; !side.owner->ended().stop_requested(); ++i) {
    ASSERT_LT(i, 1'000'000);
    findings[0].detail = std::to_string(i);
    side.owner->tell(InstanceState::kViolated, findings);
  }
  EXPECT_EQ(side.agent.recorder.next(), "gone a");
}

// --- release

TEST(LiveOwner, Release_IsAnsweredWhenNobodyHoldsTheMemory) {
  Registered side;
  side.end.send(OwnerRelease{5});
  EXPECT_EQ(side.agent.recorder.next(), "gone a");
  EXPECT_TRUE(side.owner->ended().stop_requested());
  EXPECT_EQ(code_of(side.owner->export_pieces(Numbers{0})), "cancelled");
  EXPECT_TRUE(side.agent.registry.all().empty());
  EXPECT_FALSE(side.end.channel().wait(Steady::now() + std::chrono::milliseconds(20)));
  side.owner.reset();
  EXPECT_EQ(side.end.next(), Json({{"type", "released"}, {"request", 5}}));
}

TEST(LiveOwner, AfterRelease_AnotherSetOfWeights) {
  Registered side;
  const std::size_t before = open_descriptors();
  side.owner.reset();
  side.end.send(OwnerRelease{5});
  EXPECT_EQ(side.end.next_type(), "released");
  EXPECT_EQ(side.end.enrol(host_registration(1, "b"), {side.files[0].get()}), "registered");
  EXPECT_EQ(side.agent.recorder.next(), "gone a");
  EXPECT_EQ(side.agent.recorder.next(), "came b");
  EXPECT_EQ(side.agent.registry.all().size(), 1);
  EXPECT_EQ(open_descriptors(), before);
}

// The owner answers a request that it got before it knew that it was released.
TEST(LiveOwner, AnswerThatCrossedTheRelease_IsDropped) {
  for (const bool fails : {true, false}) {
    Registered side;
    const std::size_t before = open_descriptors();
    auto answer = side.ask({0});
    EXPECT_EQ(side.end.next()["type"], "export");
    side.owner.reset();
    side.end.send(OwnerRelease{5});
    if (fails) {
      side.end.send(OwnerFailed{1, "released"});
    } else {
      side.end.send(OwnerPieces{1, 0, 1}, {side.files[0].get()});
    }
    EXPECT_EQ(code_of(answer.get()), "cancelled");
    EXPECT_EQ(side.end.next_type(), "released");
    EXPECT_EQ(side.end.enrol(host_registration(1, "b"), {side.files[0].get()}), "registered");
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_EQ(side.agent.recorder.next(), "gone a");
    EXPECT_EQ(side.agent.recorder.next(), "came b");
    const auto owner = side.agent.recorder.owner();
    auto next =
        std::async(std::launch::async, [owner] { return owner->export_pieces(Numbers{0}); });
    EXPECT_EQ(side.end.next()["request"], 2);  // no number twice on one connection
    side.end.send(OwnerPieces{2, 0, 1}, {side.files[0].get()});
    EXPECT_EQ(code_of(next.get()), "ok");
  }
}

TEST(LiveOwner, AnswerAfterTheReleaseThatNobodyAskedFor_EndsTheConnection) {
  Registered side;
  side.owner.reset();
  side.end.send(OwnerRelease{5});
  EXPECT_EQ(side.end.next_type(), "released");
  side.end.send(OwnerFailed{1, "released"});
  EXPECT_EQ(side.end.next_type(), "refused conflict");
}

TEST(LiveOwner, MemoryThatIsStillHeld_IsNeverCalledReleased) {
  Registered side({.release = std::chrono::milliseconds(1)});
  side.end.send(OwnerRelease{5});
  EXPECT_EQ(side.end.next_type(), "refused unavailable");
  EXPECT_EQ(side.end.next_type(), "end");
}

}  // namespace
}  // namespace assay::worker
