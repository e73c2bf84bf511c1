// SPDX-License-Identifier: Apache-2.0
// Whoever logs never waits for whoever reads the log: real pipes that nobody reads, a device that
// is always full, and what the log tells of the lines that it lost.

#include "server/line_writer.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "server/operational_log.h"
#include "tests/support/manual_clock.h"
#include "tests/support/vectors.h"

namespace assay::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::code_of;

class LineWriterTest : public testing::Test {
 protected:
  LineWriterTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reader_ = Descriptor(ends[0]);
    writer_ = Descriptor(ends[1]);
    std::string pattern = (std::filesystem::temp_directory_path() / "assay-lines-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~LineWriterTest() override { std::filesystem::remove_all(folder_); }

  static std::string lost_line(std::uint64_t lost) { return "lost " + std::to_string(lost) + "\n"; }
  Descriptor file(const std::string& name) {
    return Descriptor(::open((folder_ / name).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600));
  }
  // Lines from the pipe, until `last` is one of them.
  std::vector<std::string> read_until(const std::string& last) {
    std::vector<std::string> lines;
    std::string text;
    char piece[4096];
    while (lines.empty() || lines.back() != last) {
      const ssize_t got = ::read(reader_.get(), piece, sizeof piece);
      if (got <= 0) {
        ADD_FAILURE() << "the pipe ended";
        return lines;
      }
      text.append(piece, static_cast<std::size_t>(got));
      for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos;) {
        lines.push_back(text.substr(0, end));
        text.erase(0, end + 1);
      }
    }
    return lines;
  }

  Descriptor reader_;
  Descriptor writer_;
  std::filesystem::path folder_;
};

// Each number is there or among the lost, and a loss is told where the numbers jump.
TEST_F(LineWriterTest, PipeThatNobodyReads_LosesLinesAndTellsWhere) {
  LineWriter writer(std::move(writer_), lost_line);
  const std::string filler(200, '.');
  std::uint64_t written = 0;
  while (writer.lost() < 1000) {
    writer.write(std::to_string(written++) + filler + "\n");
  }
  EXPECT_FALSE(writer.flush(milliseconds(1)));
  EXPECT_GE(written - writer.lost(), kMaxQueuedLogLines);
  std::thread reading([&] {
    std::uint64_t next = 0;
    std::uint64_t told = 0;
    for (const std::string& line : read_until("end")) {
      if (line.starts_with("lost ")) {
        told += std::stoull(line.substr(5));
        next += std::stoull(line.substr(5));
      } else if (line != "end") {
        EXPECT_EQ(line, std::to_string(next) + filler);
        ++next;
      }
    }
    EXPECT_EQ(next, written);
    EXPECT_EQ(told, 1000U);
  });
  EXPECT_TRUE(writer.flush(seconds(30))) << "somebody reads now";
  writer.write("end\n");
  reading.join();
  EXPECT_EQ(writer.lost(), 1000U);
}

TEST_F(LineWriterTest, LongLines_AreBoundedByTheirBytes) {
  LineWriter writer(std::move(writer_), lost_line, milliseconds(1));
  const std::string line(1U << 20, 'x');
  for (std::size_t i = 0; i < 20; ++i) {
    writer.write(line + "\n");
  }
  EXPECT_GE(writer.lost(), 20 - kMaxQueuedLogBytes / line.size());
  LineWriter other(file("log"), lost_line);
  other.write(std::string(kMaxQueuedLogBytes + 1, 'x'));
  EXPECT_EQ(other.lost(), 1U);
  const auto deadline = std::chrono::steady_clock::now() + seconds(30);
  while (test::read_file(folder_ / "log") != "lost 1\n") {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline)
        << "a loss is told without a line after it";
    std::this_thread::yield();
  }
  other.write("next\n");
  EXPECT_TRUE(other.flush(seconds(30)));
  EXPECT_EQ(test::read_file(folder_ / "log"), "lost 1\nnext\n");
}

TEST_F(LineWriterTest, End_DoesNotWaitForAStalledReader) {
  const auto begin = std::chrono::steady_clock::now();
  {
    LineWriter writer(std::move(writer_), lost_line, milliseconds(20));
    for (std::size_t i = 0; i < kMaxQueuedLogLines; ++i) {
      writer.write(std::string(100, 'x') + "\n");
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(20));
}

TEST_F(LineWriterTest, AnotherFile_TakesWhatTheStalledOneDidNot) {
  LineWriter writer(std::move(writer_), lost_line);
  ASSERT_GT(::fcntl(reader_.get(), F_SETPIPE_SZ, 4096), 0);
  const std::string long_line(100'000, 'x');
  writer.write(long_line + "\n");
  writer.write("second\n");
  EXPECT_FALSE(writer.flush(milliseconds(1)));
  writer.change(file("log"));
  EXPECT_TRUE(writer.flush(seconds(30)));
  EXPECT_EQ(test::read_file(folder_ / "log"), long_line + "\nsecond\n");
  EXPECT_EQ(writer.lost(), 0U);
}

TEST_F(LineWriterTest, ReaderThatWentAndFullDisk_LoseLinesAndNothingElse) {
  LineWriter writer(std::move(writer_), lost_line);
  reader_ = {};
  writer.write("to nobody\n");
  EXPECT_TRUE(writer.flush(seconds(30)));
  EXPECT_EQ(writer.lost(), 1U);
  writer.change(Descriptor(::open("/dev/full", O_WRONLY)));
  writer.write("to a full disk\n");
  EXPECT_TRUE(writer.flush(seconds(30)));
  writer.change({});
  writer.write("to nothing\n");
  EXPECT_TRUE(writer.flush(seconds(30)));
  EXPECT_EQ(writer.lost(), 3U);
  writer.change(file("log"));
  writer.write("there is room\n");
  EXPECT_TRUE(writer.flush(seconds(30)));
  EXPECT_EQ(test::read_file(folder_ / "log"), "lost 3\nthere is room\n");
}

// As on a disk that fills up in the middle of a line: what comes later begins on a line of its own.
TEST_F(LineWriterTest, PartOfALine_StandsAlone) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{6000, before.rlim_max};
  LineWriter writer(file("log"), lost_line);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  writer.write(std::string(10'000, 'x') + "\n");
  EXPECT_TRUE(writer.flush(seconds(30)));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  writer.write("next\n");
  EXPECT_TRUE(writer.flush(seconds(30)));
  EXPECT_EQ(test::read_file(folder_ / "log"), std::string(6000, 'x') + "\nlost 1\nnext\n");
}

TEST_F(LineWriterTest, NamedPipeThatNobodyReads_IsNoLogFile) {
  const ManualClock clock;
  const std::string name = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
  EXPECT_EQ(code_of(Log::open(LogLevel::kInfo, name, clock)), "file-unreadable");
  const Descriptor reader(::open(name.c_str(), O_RDONLY | O_NONBLOCK));
  auto log = Log::open(LogLevel::kInfo, name, clock);
  ASSERT_TRUE(log);
  (*log)->info("said");
  EXPECT_TRUE((*log)->flush(seconds(30)));
  char text[100] = {};
  EXPECT_GT(::read(reader.get(), text, sizeof text), 0);
  EXPECT_NE(std::string(text).find(R"("event":"said")"), std::string::npos);
}

}  // namespace
}  // namespace assay::server
