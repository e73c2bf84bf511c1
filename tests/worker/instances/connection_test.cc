// SPDX-License-Identifier: Apache-2.0
// Registering over a real socket: the honest way, each way to break the rules, and what stays of
// it.
#include "worker/instances/connection.h"

#include <array>
#include <cstring>
#include <fcntl.h>
#include <future>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tests/support/vectors.h"
#include "tests/worker/instances/fake_proc.h"
#include "tests/worker/instances/owner_end.h"

namespace assay::worker {
namespace {

using assay::test::code_of;
using test::Agent;
using test::FakeProc;
using test::host_registration;
using test::LingeringSocket;
using test::MappedFile;
using test::memory_file;
using test::open_descriptors;
using test::OwnerEnd;
using test::sparse_file;

// A window and one staged piece of 100 bytes.
InstanceRegistration staged_registration() {
  InstanceRegistration registration = host_registration(0);
  registration.pieces = {{100, PieceKind::kStaged, "cudaMalloc"}};
  registration.tensors = {{{"s"}, "U8", {100}, {{0, 0, 100}}}};
  registration.window = kStagingWindow;
  return registration;
}

TEST(Connection, HonestOwner_IsRegisteredAndGone) {
  Agent agent;
  const Descriptor file = memory_file(64);
  const std::size_t before = open_descriptors();
  {
    OwnerEnd owner(agent);
    owner.send(OwnerHello{"test"});
    EXPECT_EQ(owner.next(),
              Json({{"type", "welcome"}, {"protocol", 1}, {"pod", ""}, {"container", ""}}));
    EXPECT_EQ(owner.enrol(host_registration(1), {file.get()}), "registered");
    EXPECT_EQ(agent.recorder.next(), "came a");
    const auto found = agent.registry.find("", "a");
    ASSERT_EQ(found.size(), 1);
    EXPECT_TRUE(is_uuid_v7(found[0]->id()));
    EXPECT_EQ(found[0]->registration(), host_registration(1));
    EXPECT_EQ(found[0]->peer().pid, ::getpid());
    EXPECT_TRUE(agent.registry.find("", "b").empty());
    EXPECT_TRUE(agent.registry.find("x", "a").empty());
    owner.hang_up();
    EXPECT_EQ(agent.recorder.next(), "gone a");
    EXPECT_TRUE(agent.registry.all().empty());
    EXPECT_TRUE(found[0]->ended().stop_requested());
    EXPECT_EQ(code_of(found[0]->export_pieces(std::vector<std::uint64_t>{0})), "cancelled");
    (void)agent.recorder.owner();
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Connection, SameRankTwice_IsRefusedWhileTheFirstLives) {
  Agent agent;
  const Descriptor file = memory_file(64);
  {
    OwnerEnd first(agent);
    ASSERT_EQ(first.enter(host_registration(1, "a", 0, 2), {file.get()}), "registered");
    OwnerEnd second(agent);
    EXPECT_EQ(second.enter(host_registration(1, "a", 0, 2), {file.get()}),
              "refused already-registered");
    EXPECT_EQ(second.next_type(), "end");
    OwnerEnd other_rank(agent);
    EXPECT_EQ(other_rank.enter(host_registration(1, "a", 1, 2), {file.get()}), "registered");
    EXPECT_TRUE(is_whole(agent.registry.find("", "a")));
    OwnerEnd other_instance(agent);
    EXPECT_EQ(other_instance.enter(host_registration(1, "b", 0, 2), {file.get()}), "registered");
    EXPECT_FALSE(is_whole(agent.registry.find("", "b")));
    // The one that was refused took nothing from the one that lives.
    second.hang_up();
    EXPECT_TRUE(is_whole(agent.registry.find("", "a")));
  }
  OwnerEnd third(agent);
  EXPECT_EQ(third.enter(host_registration(1, "a", 0, 2), {file.get()}), "registered");
  EXPECT_FALSE(is_whole(agent.registry.find("", "a")));
}

// Pods do not share names: what one registers takes nothing from another, and adds nothing to it.
TEST(Connection, SameInstanceInTwoPods_IsTwo) {
  const std::string id(64, 'c');
  const FakeProc proc("0::/kubepods/poduid-1/" + id + "\n");
  Agent agent({}, {{}, proc.path()});
  const Descriptor file = memory_file(64);
  OwnerEnd first(agent);
  ASSERT_EQ(first.enter(host_registration(1, "a", 0, 2), {file.get()}), "registered");
  {
    OwnerEnd again(agent);
    EXPECT_EQ(again.enter(host_registration(1, "a", 0, 2), {file.get()}),
              "refused already-registered");
  }
  proc.set_groups("0::/kubepods/poduid-2/" + id + "\n");
  OwnerEnd rank_of_another(agent);
  ASSERT_EQ(rank_of_another.enter(host_registration(1, "a", 1, 2), {file.get()}), "registered");
  EXPECT_FALSE(is_whole(agent.registry.find("uid-1", "a")));
  EXPECT_FALSE(is_whole(agent.registry.find("uid-2", "a")));
  OwnerEnd same_rank(agent);
  ASSERT_EQ(same_rank.enter(host_registration(1, "a", 0, 2), {file.get()}), "registered");
  ASSERT_EQ(agent.registry.find("uid-1", "a").size(), 1U);
  EXPECT_EQ(agent.registry.find("uid-1", "a")[0]->peer().pod, "uid-1");
  EXPECT_TRUE(is_whole(agent.registry.find("uid-2", "a")));
  for (const auto& owner : agent.registry.find("uid-2", "a")) {
    EXPECT_EQ(owner->peer().pod, "uid-2");
  }
  EXPECT_TRUE(agent.registry.find("", "a").empty());
  same_rank.hang_up();
  EXPECT_EQ(agent.registry.find("uid-1", "a").size(), 1U);
  EXPECT_EQ(agent.registry.find("uid-2", "a").size(), 1U);
}

// A server that starts again: its registration may be read before the end of the one before.
TEST(Connection, SameRankWhileTheFirstEnds_WaitsForThatEnd) {
  Agent agent;
  const Descriptor file = memory_file(64);
  OwnerEnd second(agent);
  {
    OwnerEnd first(agent);
    ASSERT_EQ(first.enter(host_registration(1), {file.get()}), "registered");
    second.send(OwnerHello{""});
    second.send(host_registration(1));
    ASSERT_EQ(second.next_type(), "welcome");
  }
  second.send(OwnerPieces{0, 0, 1}, {file.get()});
  EXPECT_EQ(second.next_type(), "registered");
}

// A claim holds from the frame on, not from its last descriptor.
TEST(Connection, SameRankTwice_IsRefusedBeforeTheFirstIsComplete) {
  Agent agent;
  const Descriptor file = memory_file(64);
  OwnerEnd first(agent);
  first.send(OwnerHello{""});
  first.send(host_registration(1));
  ASSERT_EQ(first.next_type(), "welcome");
  while (agent.registry.claim("", "a", 0, Steady::now())) {
    std::this_thread::yield();  // until the frame was read
  }
  OwnerEnd second(agent);
  EXPECT_EQ(second.enter(host_registration(1), {file.get()}), "refused already-registered");
  EXPECT_TRUE(agent.registry.find("", "a").empty());
}

TEST(Connection, WorldsAndArtifactsThatDiffer_AreNotWhole) {
  Agent agent;
  const Descriptor file = memory_file(64);
  OwnerEnd first(agent);
  ASSERT_EQ(first.enter(host_registration(1, "a", 0, 2), {file.get()}), "registered");
  {
    OwnerEnd second(agent);
    ASSERT_EQ(second.enter(host_registration(1, "a", 1, 3), {file.get()}), "registered");
    EXPECT_FALSE(is_whole(agent.registry.find("", "a")));
  }
  InstanceRegistration other = host_registration(1, "a", 1, 2);
  other.artifact = ArtifactId(sha256(as_bytes("another")));
  OwnerEnd third(agent);
  ASSERT_EQ(third.enter(other, {file.get()}), "registered");
  EXPECT_FALSE(is_whole(agent.registry.find("", "a")));
  EXPECT_FALSE(is_whole({}));
}

// More pieces than one message carries.
TEST(Connection, ManyPieces_ComeMessageByMessage) {
  Agent agent;
  constexpr std::size_t kPieces = 600;
  const Descriptor file = memory_file(64);
  const std::size_t before = open_descriptors();
  OwnerEnd owner(agent);
  owner.send(OwnerHello{""});
  owner.send(host_registration(kPieces));
  for (std::size_t at = 0; at < kPieces;) {
    const std::size_t count = std::min(kMaxFrameDescriptors, kPieces - at);
    owner.send(OwnerPieces{0, at, count}, std::vector<int>(count, file.get()));
    at += count;
  }
  EXPECT_EQ(owner.next_type(), "welcome");
  EXPECT_EQ(owner.next_type(), "registered");
  // The two ends of the socket, and the process behind it.
  EXPECT_EQ(open_descriptors(), before + 3);
}

// --- what is refused

InstanceRegistration device_registration() {
  InstanceRegistration registration = host_registration(1);
  registration.device = "GPU-00000000-0000-0000-0000-000000000001";
  registration.pieces[0].kind = PieceKind::kDevice;
  return registration;
}

TEST(Connection, DescriptorsThatNoDriverExports_AreNoMemoryOfADevice) {
  Agent agent;
  const LingeringSocket socket;
  const Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const Descriptor sealed = memory_file(64);
  for (const int file : {socket.socket.get(), null.get(), sealed.get()}) {
    OwnerEnd owner(agent);
    EXPECT_EQ(owner.enter(device_registration(), {file}), "refused invalid-parameter");
  }
}

// A path to a device node is enough to be of its kind, also without a driver.
TEST(Connection, ControlDeviceOfADriver_IsMemoryOfADevice) {
  const std::string path = testing::TempDir() + "control-" + std::to_string(::getpid());
  if (::mknod(path.c_str(), S_IFCHR | 0600, makedev(195, 255)) != 0) {
    GTEST_SKIP() << "this user makes no device nodes";
  }
  const Descriptor node(::open(path.c_str(), O_PATH | O_CLOEXEC));
  (void)::unlink(path.c_str());
  Agent agent;
  OwnerEnd owner(agent);
  EXPECT_EQ(owner.enter(device_registration(), {node.get()}), "registered");
}

// --- descriptors that make whoever closes them wait

// Sends a frame with this descriptor, which is then open nowhere else.
void send_away(Descriptor& file, const Descriptor& socket, const OwnerMessage& message) {
  const Bytes frame = frame_of(as_bytes(to_json(message).dump()));
  const int number = file.get();
  EXPECT_EQ(send_some(socket.get(), frame, {&number, 1}), std::ssize(frame));
  (void)file.close();
}

TEST(Connection, SocketsThatLinger_HoldNobodyUp) {
  Agent agent;
  const auto begun = Steady::now();
  std::array<LingeringSocket, 4> sockets;
  {
    auto pair = test::socket_pair();  // beside a frame that has none
    send_away(sockets[0].socket, pair.first, OwnerHello{""});
    OwnerEnd owner(agent, std::move(pair));
    EXPECT_EQ(owner.next_type(), "refused invalid-parameter");
  }
  {
    auto pair = test::socket_pair();  // behind the frame that ends the connection
    const Bytes frame = frame_of(as_bytes(to_json(OwnerCopied{1}).dump()));
    EXPECT_EQ(send_some(pair.first.get(), frame, {}), std::ssize(frame));
    send_away(sockets[1].socket, pair.first, OwnerHello{""});
    OwnerEnd owner(agent, std::move(pair));
    EXPECT_EQ(owner.next_type(), "refused conflict");
  }
  {
    OwnerEnd owner(agent);  // in the place of a piece
    owner.send(OwnerHello{""});
    EXPECT_EQ(owner.next_type(), "welcome");
    owner.send(host_registration(1));
    owner.send(OwnerPieces{0, 0, 1}, {sockets[2].socket.get()});
    sockets[2].let_go();
    EXPECT_EQ(owner.next_type(), "refused invalid-parameter");
  }
  {
    OwnerEnd owner(agent);  // beside an answer that crossed a release
    const Descriptor file = memory_file(64);
    ASSERT_EQ(owner.enter(host_registration(1), {file.get()}), "registered");
    ASSERT_EQ(agent.recorder.next(), "came a");
    auto asked = std::async(std::launch::async, [memory = agent.recorder.owner()] {
      return memory->export_pieces(std::vector<std::uint64_t>{0});
    });
    ASSERT_EQ(owner.next()["type"], "export");
    owner.send(OwnerRelease{5});
    owner.send(OwnerPieces{1, 0, 1}, {sockets[3].socket.get()});
    sockets[3].let_go();
    EXPECT_EQ(code_of(asked.get()), "cancelled");
    EXPECT_EQ(owner.next_type(), "released");
    EXPECT_EQ(owner.enrol(host_registration(1), {file.get()}), "registered");
  }
  EXPECT_LT(Steady::now() - begun, LingeringSocket::kLinger / 2);
}

TEST(Connection, OtherDescriptorsThanAnnounced_AreRefusedAndClosed) {
  const Descriptor file = memory_file(64);
  const std::size_t before = open_descriptors();
  for (const OwnerPieces& pieces :
       {OwnerPieces{0, 0, 1}, OwnerPieces{0, 0, 3}, OwnerPieces{0, 1, 2}, OwnerPieces{0, 5, 2}}) {
    Agent agent;
    OwnerEnd owner(agent);
    owner.send(OwnerHello{""});
    owner.send(host_registration(2));
    owner.send(pieces, {file.get(), file.get()});
    EXPECT_EQ(owner.next_type(), "welcome");
    EXPECT_EQ(owner.next_type(), "refused invalid-parameter");
    EXPECT_EQ(owner.next_type(), "end");
  }
  for (const OwnerMessage& message :
       {OwnerMessage(OwnerPieces{7, 0, 2}), OwnerMessage(OwnerVerify{1})}) {
    Agent agent;
    OwnerEnd owner(agent);
    owner.send(OwnerHello{""});
    owner.send(host_registration(2));
    owner.send(message, {file.get(), file.get()});
    EXPECT_EQ(owner.next_type(), "welcome");
    EXPECT_EQ(owner.next_type(), "refused conflict");
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Connection, FramesOutOfTurn_AreRefused) {
  const Descriptor file = memory_file(64);
  for (const OwnerMessage& message :
       {OwnerMessage(host_registration(0)), OwnerMessage(OwnerVerify{1}),
        OwnerMessage(OwnerRelease{1})}) {
    Agent agent;
    OwnerEnd owner(agent);
    owner.send(message);
    EXPECT_EQ(owner.next_type(), "refused conflict");
  }
  for (const OwnerMessage& message : {OwnerMessage(OwnerHello{""}), OwnerMessage(OwnerCopied{1}),
                                      OwnerMessage(OwnerPieces{0, 0, 1})}) {
    Agent agent;
    OwnerEnd owner(agent);
    owner.send(OwnerHello{""});
    owner.send(message);
    EXPECT_EQ(owner.next_type(), "welcome");
    EXPECT_EQ(owner.next_type(), "refused conflict");
  }
  Agent agent;
  OwnerEnd owner(agent);
  ASSERT_EQ(owner.enter(host_registration(1), {file.get()}), "registered");
  owner.send(host_registration(1, "b"));
  EXPECT_EQ(owner.next_type(), "refused conflict");
}

TEST(Connection, BytesThatAreNoFrame_AreRefused) {
  Agent agent;
  OwnerEnd text(agent);
  (void)text.channel().send(as_bytes("hello"));
  EXPECT_EQ(text.next_type(), "refused malformed-json");
  OwnerEnd large(agent);
  (void)::send(large.channel().socket(), "GET / HTTP/1.1\r\n", 16, 0);
  EXPECT_EQ(large.next_type(), "refused limit-exceeded");
  OwnerEnd version(agent);
  (void)version.channel().send(as_bytes(R"({"type":"hello","protocol":2,"client":""})"));
  const Json refused = version.next();
  EXPECT_EQ(refused["code"], "schema-violation");
  EXPECT_NE(refused["detail"].get<std::string>().find("another version"), std::string::npos);
}

TEST(Connection, Strangers_AreToldWhy) {
  Agent agent({}, PeerRules{{::getuid() + 1}});
  OwnerEnd owner(agent);
  EXPECT_EQ(owner.next_type(), "refused forbidden");
  EXPECT_EQ(owner.next_type(), "end");
}

// --- limits

TEST(Connection, OnePod_HasSoManyConnections) {
  Agent agent({.connections_of_one_pod = 2});
  OwnerEnd first(agent);
  first.send(OwnerHello{""});
  EXPECT_EQ(first.next_type(), "welcome");
  {
    OwnerEnd second(agent);
    second.send(OwnerHello{""});
    EXPECT_EQ(second.next_type(), "welcome");
    OwnerEnd third(agent);
    EXPECT_EQ(third.next_type(), "refused overloaded");
  }
  OwnerEnd fourth(agent);
  fourth.send(OwnerHello{""});
  EXPECT_EQ(fourth.next_type(), "welcome");
}

InstanceRegistration large_registration() {
  InstanceRegistration large = host_registration(1);
  for (int i = 0; i < 1000; ++i) {
    large.tensors.push_back({{"empty" + std::to_string(i) + std::string(80, 'x')}, "U8", {0}, {}});
  }
  return large;
}

// Memory for large registrations is counted as long as they live.
TEST(Connection, LargeRegistrations_AreCountedAsLongAsTheyLive) {
  const Descriptor file = memory_file(64);
  InstanceRegistration large = large_registration();
  const std::size_t size = to_json(large).dump().size();
  ASSERT_GT(size, kMaxSmallFrame);
  const auto soon = std::chrono::milliseconds(1);
  Agent agent({.frames = size, .frames_of_one_pod = size, .replace = soon});
  OwnerEnd first(agent);
  ASSERT_EQ(first.enter(large, {file.get()}), "registered");
  large.instance = "b";
  OwnerEnd second(agent);
  EXPECT_EQ(second.enter(large, {}), "refused overloaded");
  OwnerEnd small(agent);
  EXPECT_EQ(small.enter(host_registration(1, "c"), {file.get()}), "registered");
}

// An owner hears of its end before its memory is given back: whoever comes then waits for it.
TEST(Connection, LargeRegistration_WaitsForTheMemoryOfTheOneThatEnds) {
  const Descriptor file = memory_file(64);
  const InstanceRegistration large = large_registration();
  const std::size_t size = to_json(large).dump().size();
  Agent agent({.frames = size, .frames_of_one_pod = size, .replace = test::kPatience});
  OwnerEnd second(agent);
  second.send(OwnerHello{""});
  ASSERT_EQ(second.next_type(), "welcome");
  {
    OwnerEnd first(agent);
    ASSERT_EQ(first.enter(large, {file.get()}), "registered");
    second.send(large);
    second.send(OwnerPieces{0, 0, 1}, {file.get()});
  }
  EXPECT_EQ(second.next_type(), "registered");
}

// An answer may still cross an owner's release, so its next registration may bring descriptors, and
// no other pod can send any meanwhile.
TEST(Connection, WaitForMemory_KeepsDescriptorsFromOtherPodsNoLongerThanAFrameMayTake) {
  const std::string id(64, 'c');
  const FakeProc proc("0::/kubepods/poduid-1/" + id + "\n");
  const Descriptor file = memory_file(64);
  InstanceRegistration large = large_registration();
  const std::size_t size = to_json(large).dump().size();
  Agent agent({.frames = size,
               .frames_of_one_pod = size,
               .descriptors = kMaxFrameDescriptors,
               .idle = test::kPatience / 2,
               .replace = test::kPatience},
              {{::getuid()}, proc.path()});
  OwnerEnd holder(agent);
  ASSERT_EQ(holder.enter(large, {file.get()}), "registered");
  ASSERT_EQ(agent.recorder.next(), "came a");

  OwnerEnd waiting(agent);
  ASSERT_EQ(waiting.enter(host_registration(1, "b"), {file.get()}), "registered");
  ASSERT_EQ(agent.recorder.next(), "came b");
  auto asked = std::async(std::launch::async, [memory = agent.recorder.owner()] {
    return memory->export_pieces(std::vector<std::uint64_t>{0});
  });
  ASSERT_EQ(waiting.next()["type"], "export");
  waiting.send(OwnerRelease{5});
  EXPECT_EQ(code_of(asked.get()), "cancelled");
  ASSERT_EQ(waiting.next_type(), "released");

  proc.set_groups("0::/kubepods/poduid-2/" + id + "\n");
  OwnerEnd other(agent);
  other.send(OwnerHello{""});
  ASSERT_EQ(other.next_type(), "welcome");
  other.send(host_registration(1, "c"));
  large.instance = "b";
  waiting.send(large);
  // Until `waiting` may send descriptors and waits for memory, or has its answer already.
  while (agent.shared.descriptors.take("", 1) && !waiting.channel().wait(Steady::now())) {
    std::this_thread::yield();
  }
  other.send(OwnerPieces{0, 0, 1}, {file.get()});
  EXPECT_EQ(other.next_type(), "registered");
  const Json refused = waiting.next();
  EXPECT_EQ(refused.value("code", ""), "overloaded");
  EXPECT_EQ(refused.value("detail", ""), "registrations take too much memory");
  EXPECT_EQ(agent.registry.find("uid-1", "a").size(), 1U);
}

TEST(Connection, WhoeverRegistersTooSlowly_IsCutOff) {
  using std::chrono::milliseconds;
  Agent silent({.idle = milliseconds(1)});
  OwnerEnd first(silent);
  EXPECT_EQ(first.next_type(), "refused request-timeout");
  Agent slow({.to_register = milliseconds(1)});
  OwnerEnd second(slow);
  EXPECT_EQ(second.next_type(), "refused request-timeout");
}

// A frame with descriptors comes whole: nobody keeps others from sending theirs.
TEST(Connection, PartOfAFrameWithDescriptors_IsCutOffSoon) {
  Agent agent({.with_descriptors = std::chrono::milliseconds(1)});
  OwnerEnd owner(agent);
  owner.send(OwnerHello{""});
  owner.send(host_registration(1));
  ASSERT_EQ(owner.next_type(), "welcome");
  (void)::send(owner.channel().socket(), "\x09", 1, 0);
  EXPECT_EQ(owner.next_type(), "refused request-timeout");
}

// A registered owner may be silent for as long as it likes.
TEST(Connection, SilenceOfARegisteredOwner_IsNoFault) {
  Agent agent({.to_register = std::chrono::seconds(20), .idle = std::chrono::seconds(20)});
  const Descriptor file = memory_file(64);
  OwnerEnd owner(agent);
  ASSERT_EQ(owner.enter(host_registration(1), {file.get()}), "registered");
  EXPECT_FALSE(owner.channel().wait(Steady::now() + std::chrono::milliseconds(50)));
  owner.send(OwnerVerify{1});
  EXPECT_EQ(agent.recorder.next(), "came a");
  EXPECT_EQ(agent.recorder.next(), "asked a");
}

TEST(Connection, StagedPieces_NeedASealedWindow) {
  Agent agent;
  OwnerEnd wrong(agent);
  EXPECT_EQ(wrong.enter(staged_registration(), {memory_file(4096).get()}),
            "refused invalid-parameter");
  OwnerEnd other(agent);
  other.send(OwnerHello{""});
  other.send(staged_registration());
  other.send(OwnerPieces{0, 0, 1}, {sparse_file(kStagingWindow).get()});
  EXPECT_EQ(other.next_type(), "welcome");
  EXPECT_EQ(other.next_type(), "refused invalid-parameter");
}

TEST(Connection, PageOfHints_ComesLast_AndIsRead) {
  Agent agent;
  const std::size_t before = open_descriptors();
  {
    InstanceRegistration registration = host_registration(2);
    registration.hints = kHintsPage;
    const MappedFile shared(kHintsPage);
    const Descriptor& page = shared.file;
    const auto write = [&shared](std::size_t word, std::uint64_t value) {
      std::memcpy(shared.bytes + 8 * word, &value, sizeof(value));
    };
    write(0, kHintsMagic);
    write(1, kHintsVersion);
    OwnerEnd owner(agent);
    const Descriptor file = memory_file(64);
    ASSERT_EQ(owner.enter(registration, {file.get(), file.get(), page.get()}), "registered");
    EXPECT_EQ(agent.recorder.next(), "came a");
    const auto hints = agent.recorder.owner()->hints();
    ASSERT_NE(hints, nullptr);
    EXPECT_EQ(hints->read(Steady::now()), std::nullopt);  // nothing was said yet
    write(2, 1);
    EXPECT_EQ(hints->read(Steady::now()), (WatchHints{true, {}}));
    write(3, 1);
    EXPECT_EQ(hints->read(Steady::now()), WatchHints{});
    InstanceRegistration staged = staged_registration();
    staged.hints = kHintsPage;
    staged.instance = "b";
    OwnerEnd both(agent);
    both.send(OwnerHello{""});
    both.send(staged);
    both.send(OwnerPieces{0, 1, 2}, {sparse_file(kStagingWindow).get(), page.get()});
    EXPECT_EQ(both.next_type(), "welcome");
    EXPECT_EQ(both.next_type(), "registered");
    EXPECT_EQ(agent.recorder.next(), "came b");
    EXPECT_NE(agent.recorder.owner()->hints(), nullptr);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Connection, PageOfHints_IsSealedMemoryOfItsSize_WithoutHoles) {
  Agent agent;
  InstanceRegistration registration = host_registration(1);
  registration.hints = kHintsPage;
  const Descriptor file = memory_file(64);
  const std::size_t before = open_descriptors();
  const Descriptor large = memory_file(2 * kHintsPage);
  const Descriptor open = memory_file(kHintsPage, 0);
  const Descriptor hole = sparse_file(kHintsPage);
  for (const Descriptor* const page : {&large, &open, &hole}) {
    OwnerEnd owner(agent);
    EXPECT_EQ(owner.enter(registration, {file.get(), page->get()}), "refused invalid-parameter");
  }
  EXPECT_EQ(open_descriptors(), before + 3);
  OwnerEnd none(agent);  // one descriptor too few is waited for, another one is refused
  EXPECT_EQ(none.enter(host_registration(1), {file.get(), file.get()}),
            "refused invalid-parameter");
}

}  // namespace
}  // namespace assay::worker
