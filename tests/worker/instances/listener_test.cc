// SPDX-License-Identifier: Apache-2.0
// The socket in the file system, its connections, and budgets of what they share.
#include "worker/instances/listener.h"

#include <filesystem>
#include <fstream>
#include <list>
#include <sys/stat.h>
#include <sys/un.h>

#include "tests/support/vectors.h"
#include "tests/worker/instances/owner_end.h"

namespace assay::worker {
namespace {

using assay::test::code_of;
using test::Agent;
using test::host_registration;
using test::memory_file;
using test::open_descriptors;

class ListenerTest : public testing::Test {
 protected:
  ListenerTest() { std::filesystem::create_directory(dir_); }
  ~ListenerTest() override { std::filesystem::remove_all(dir_); }

  [[nodiscard]] Descriptor connect() const {
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(static_cast<char*>(address.sun_path), path_.c_str());
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
        0) {
      return {};
    }
    return socket;
  }

  std::filesystem::path dir_ =
      std::filesystem::temp_directory_path() / ("assay-listener-" + std::to_string(::getpid()));
  std::string path_ = dir_ / "register.sock";
};

// Speaks for an owner at a socket.
class Caller {
 public:
  explicit Caller(Descriptor socket) : channel_(std::move(socket)) {}
  void send(const OwnerMessage& message, const std::vector<int>& files = {}) {
    (void)channel_.send(as_bytes(to_json(message).dump()), files);
  }
  std::string next_type() {
    const auto frame =
        channel_.receive({.bytes = kMaxAgentFrame, .end = Steady::now() + test::kPatience});
    if (!frame) {
      return "end";
    }
    const Json json = Json::parse(as_text(frame->body));
    return json["type"] == "refused" ? "refused " + json["code"].get<std::string>()
                                     : json["type"].get<std::string>();
  }
  void hang_up() { channel_.shut_down(); }

 private:
  FrameChannel channel_;
};

TEST_F(ListenerTest, AnyUserMayConnectAndTheFileGoesInTheEnd) {
  const std::size_t before = open_descriptors();
  {
    Agent agent;
    auto listener = InstanceListener::open(path_, agent.shared);
    ASSERT_TRUE(listener) << to_string(listener.error());
    struct stat status{};
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_TRUE(S_ISSOCK(status.st_mode));
    EXPECT_EQ(status.st_mode & 07777, 0666);
    const Descriptor file = memory_file(64);
    Caller caller(connect());
    caller.send(OwnerHello{""});
    caller.send(host_registration(1));
    caller.send(OwnerPieces{0, 0, 1}, {file.get()});
    EXPECT_EQ(caller.next_type(), "welcome");
    EXPECT_EQ(caller.next_type(), "registered");
    listener->reset();
    EXPECT_EQ(caller.next_type(), "end");
    EXPECT_FALSE(std::filesystem::exists(path_));
    EXPECT_TRUE(agent.registry.all().empty());
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(ListenerTest, SocketOfAnAgentThatDied_IsReplaced) {
  Agent agent;
  {
    const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(static_cast<char*>(address.sun_path), path_.c_str());
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
  }
  ASSERT_TRUE(std::filesystem::exists(path_));
  const auto listener = InstanceListener::open(path_, agent.shared);
  ASSERT_TRUE(listener) << to_string(listener.error());
  EXPECT_TRUE(connect());
}

TEST_F(ListenerTest, SocketOfAnotherAgent_IsLeftAlone) {
  Agent agent;
  const auto first = InstanceListener::open(path_, agent.shared);
  ASSERT_TRUE(first);
  EXPECT_EQ(code_of(InstanceListener::open(path_, agent.shared)), "usage");
  EXPECT_TRUE(connect());
}

TEST_F(ListenerTest, PathsThatCannotBe_AreNamed) {
  Agent agent;
  std::ofstream(path_) << "a file";
  EXPECT_EQ(code_of(InstanceListener::open(path_, agent.shared)), "usage");
  EXPECT_TRUE(std::filesystem::exists(path_));
  EXPECT_EQ(code_of(InstanceListener::open(dir_ / "no" / "socket", agent.shared)), "usage");
  EXPECT_EQ(code_of(InstanceListener::open(dir_ / std::string(108, 'a'), agent.shared)), "usage");
}

TEST_F(ListenerTest, SoManyConnectionsAndNoMore) {
  Agent agent({.connections = 2});
  const auto listener = InstanceListener::open(path_, agent.shared);
  ASSERT_TRUE(listener);
  Caller first(connect());
  Caller second(connect());
  for (Caller* caller : {&first, &second}) {
    caller->send(OwnerHello{""});
    EXPECT_EQ(caller->next_type(), "welcome");
  }
  Caller third(connect());
  EXPECT_EQ(third.next_type(), "refused overloaded");
  EXPECT_EQ(third.next_type(), "end");
}

// A connection that is over leaves nothing behind, also when nobody connects after it.
TEST_F(ListenerTest, ManyConnections_LeaveNothingBehind) {
  Agent agent;
  const auto listener = InstanceListener::open(path_, agent.shared);
  ASSERT_TRUE(listener);
  const Descriptor file = memory_file(64);
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 200; ++i) {
    Caller caller(connect());
    caller.send(OwnerHello{""});
    caller.send(host_registration(1, "n" + std::to_string(i)));
    caller.send(OwnerPieces{0, 0, 1}, {file.get()});
    ASSERT_EQ(caller.next_type(), "welcome");
    ASSERT_EQ(caller.next_type(), "registered");
    ASSERT_EQ(agent.recorder.next(), "came n" + std::to_string(i));
    (void)agent.recorder.owner();
    if (i % 2 == 0) {
      caller.send(OwnerCopied{1});
      ASSERT_EQ(caller.next_type(), "refused invalid-parameter");
      ASSERT_EQ(caller.next_type(), "end");
    } else {
      caller.hang_up();
    }
    ASSERT_EQ(agent.recorder.next(), "gone n" + std::to_string(i));
  }
  const auto deadline = Steady::now() + test::kPatience;
  while (open_descriptors() != before && Steady::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(open_descriptors(), before);
}

// What was sent and never received is closed with the connection: not by the thread that accepts.
TEST_F(ListenerTest, SocketsThatLinger_KeepNobodyFromConnecting) {
  for (const std::uint64_t connections : {64U, 0U}) {
    Agent agent({.connections = connections});
    const auto listener = InstanceListener::open(path_, agent.shared);
    ASSERT_TRUE(listener);
    test::LingeringSocket lingering;
    const auto begun = Steady::now();
    Caller first(connect());
    first.send(OwnerCopied{1});  // ends the connection
    first.send(OwnerHello{""}, {lingering.socket.get()});
    lingering.let_go();
    const std::string refused = connections == 0 ? "refused overloaded" : "refused conflict";
    EXPECT_EQ(first.next_type(), refused);
    EXPECT_EQ(first.next_type(), "end");
    for (int i = 0; i < 3; ++i) {
      Caller next(connect());
      next.send(OwnerCopied{1});
      EXPECT_EQ(next.next_type(), refused);
    }
    EXPECT_LT(Steady::now() - begun, test::LingeringSocket::kLinger / 2);
  }
}

TEST_F(ListenerTest, BeyondTheLimit_ConnectionsAreRefused_HoweverMany) {
  Agent agent({.connections = 1});
  const auto listener = InstanceListener::open(path_, agent.shared);
  ASSERT_TRUE(listener);
  Caller first(connect());
  first.send(OwnerHello{""});
  EXPECT_EQ(first.next_type(), "welcome");
  std::list<Caller> others;
  for (int i = 0; i < 40; ++i) {
    others.emplace_back(connect());
  }
  for (Caller& caller : others) {
    EXPECT_EQ(caller.next_type(), "refused overloaded");
  }
}

TEST(Budget, TotalAndOnePod) {
  Budget budget(10, 6);
  auto first = budget.take("a", 6);
  EXPECT_TRUE(first);
  EXPECT_FALSE(budget.take("a", 1));
  EXPECT_FALSE(budget.take("b", 5));
  EXPECT_FALSE(budget.take("b", 7));
  auto second = budget.take("b", 4);
  EXPECT_TRUE(second);
  EXPECT_FALSE(budget.take("c", 1));
  first.reset();
  EXPECT_TRUE(budget.take("c", 6));
  second->give_back();
  second->give_back();
  EXPECT_FALSE(budget.take("c", 11));
  EXPECT_TRUE(budget.take("a", 6));
  EXPECT_FALSE(budget.take("a", ~std::uint64_t{0}));
}

TEST(Budget, WhoWaits_GetsWhatOthersGiveBack) {
  Budget budget(1, 1);
  auto held = budget.take("a", 1);
  std::jthread other([&] { held.reset(); });
  EXPECT_TRUE(budget.take("a", 1, Steady::now() + test::kPatience));
}

}  // namespace
}  // namespace assay::worker
