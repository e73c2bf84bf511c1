// SPDX-License-Identifier: Apache-2.0
// Parts of the node agent that need no service and no model: pace, events, how a run ends.
#include "worker/agent.h"

#include <thread>

#include <gtest/gtest.h>

#include "worker/events.h"
#include "worker/renewal_and_backoff.h"
#include "worker/service.h"

namespace assay::worker {
namespace {

using std::chrono::milliseconds;

// Always the same byte, or none at all.
class FixedRandom final : public Random {
 public:
  explicit FixedRandom(std::optional<std::uint8_t> byte) : byte_(byte) {}
  [[nodiscard]] Status fill(std::span<std::uint8_t> out) override {
    if (!byte_) {
      return fail(ErrorCode::kInternal, "no randomness");
    }
    std::ranges::fill(out, *byte_);
    return {};
  }

 private:
  std::optional<std::uint8_t> byte_;
};

// --- pace

TEST(Pace, BackoffIsDrawnBelowADoublingBound) {
  FixedRandom random(0xff);
  Backoff backoff(random, milliseconds(100), milliseconds(1000));
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 6; ++i) {
    waits.push_back(backoff.next().count());
  }
  EXPECT_EQ(waits, (std::vector<std::int64_t>{99, 199, 399, 799, 999, 999}));
  backoff.reset();
  EXPECT_EQ(backoff.next().count(), 99);
}

TEST(Pace, BackoffReachesDownToNothingButNeverIsNothing) {
  FixedRandom zero(0);
  Backoff backoff(zero, milliseconds(100), milliseconds(1000));
  EXPECT_EQ(backoff.next(), milliseconds(1));
  FixedRandom half(0x80);
  Backoff middle(half, milliseconds(100), milliseconds(1000));
  EXPECT_EQ(middle.next(), milliseconds(50));
}

TEST(Pace, BackoffWithoutRandomnessAndAfterManyFailures) {
  FixedRandom none(std::nullopt);
  Backoff backoff(none, milliseconds(100), milliseconds(30'000));
  EXPECT_EQ(backoff.next(), milliseconds(50));
  for (int i = 0; i < 200; ++i) {
    EXPECT_LE(backoff.next(), milliseconds(15'000));
  }
}

TEST(Pace, TermsAreDueBeforeTheyEnd) {
  const Steady::time_point start = Steady::now();
  Term term(start, milliseconds(900), 1.0 / 3);
  EXPECT_FALSE(term.is_due(start + milliseconds(298)));
  EXPECT_TRUE(term.is_due(start + milliseconds(300)));
  EXPECT_FALSE(term.is_over(start + milliseconds(899)));
  EXPECT_TRUE(term.is_over(start + milliseconds(900)));
  term.postpone(start + milliseconds(500));
  EXPECT_FALSE(term.is_due(start + milliseconds(499)));
  EXPECT_TRUE(Term().is_over(start));
  EXPECT_TRUE(Term().is_due(start));
}

TEST(Pace, EnrolmentsAreRenewedInTheirThirdQuarter) {
  for (const int byte : {0, 1, 128, 255}) {
    FixedRandom random(static_cast<std::uint8_t>(byte));
    EXPECT_GE(renewal_share(random), 0.5);
    EXPECT_LT(renewal_share(random), 0.75);
  }
}

TEST(Pace, OnlyOutagesMayPass) {
  for (const ErrorCode code : {ErrorCode::kConnectionFailed, ErrorCode::kRequestTimeout,
                               ErrorCode::kUnavailable, ErrorCode::kOverloaded}) {
    EXPECT_TRUE(may_pass({code, "", ""})) << info(code).code;
  }
  for (const ErrorCode code :
       {ErrorCode::kLeaseLost, ErrorCode::kNodeRevoked, ErrorCode::kChallengeUsed,
        ErrorCode::kEvidenceRejected, ErrorCode::kReportMismatch, ErrorCode::kCancelled}) {
    EXPECT_FALSE(may_pass({code, "", ""})) << info(code).code;
  }
}

TEST(Pace, PausesEndWhenTheyAreStopped) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(pause(std::chrono::hours(1), stop.get_token()));
  EXPECT_TRUE(pause(milliseconds(1), {}));
}

// --- events, exit status, answers

TEST(Events, TextLinesQuoteWhatNeedsIt) {
  const Json event = {{"time", "2027-01-01T00:00:00.000Z"},
                      {"event", "leased"},
                      {"path", "my model"},
                      {"lease", 3},
                      {"job", "0198"},
                      {"empty", ""},
                      {"error", {{"code", "lease-lost"}}}};
  EXPECT_EQ(event_text(event),
            "2027-01-01T00:00:00.000Z leased empty=\"\" error={\"code\":\"lease-lost\"} job=0198 "
            "lease=3 path=\"my model\"");
}

// Strangers choose some words: no line break, control character or turn of the writing reaches a
// terminal.
TEST(EventText, IsOneLineThatTellsNoTerminalAnything) {
  const Json event = {{"event", "registration-refused"},
                      {"time", "2027-01-01T00:00:00.000Z"},
                      {"detail",
                       "a\xc2\x9b"
                       "2J\n\xe2\x80\xae"
                       "b"}};
  EXPECT_EQ(
      event_text(event),
      "2027-01-01T00:00:00.000Z registration-refused detail=\"a\\xc2\\x9b2J\\n\\xe2\\x80\\xaeb\"");
}

TEST(Outcome, ExitStatusOfOneJob) {
  const auto exit = [](const char* result) {
    return ending_of({result, Error{ErrorCode::kLeaseLost, "", ""}});
  };
  EXPECT_EQ(exit("verified").value(), Ending::kVerified);
  for (const char* no : {"mismatch", "incomplete", "refused"}) {
    EXPECT_EQ(exit(no).value(), Ending::kNotVerified) << no;
  }
  for (const char* trouble : {"lost", "failed", "stopped"}) {
    EXPECT_FALSE(exit(trouble)) << trouble;
  }
}

TEST(Outcome, WhatEndsTheAgent) {
  EXPECT_TRUE(is_final({ErrorCode::kNodeRevoked, "", ""}));
  EXPECT_TRUE(is_final({ErrorCode::kNodeTaken, "", ""}));
  EXPECT_TRUE(is_final({ErrorCode::kEnrolmentEnded, "", ""}));
  EXPECT_FALSE(is_final({ErrorCode::kEnrolmentExpired, "", ""}));
  EXPECT_NE(advice_on({ErrorCode::kEnrolmentEnded, "", ""}).find("newer enrolment"),
            std::string_view::npos);
  EXPECT_FALSE(is_final({ErrorCode::kConnectionFailed, "", ""}));
}

TEST(Enrolled, LengthCountsByTheServicesClock) {
  Json answer = {{"key_id", "sha256:00"},
                 {"enrolled_at", "2027-01-01T00:00:00.000Z"},
                 {"expires_at", "2027-01-01T01:00:00.000Z"},
                 {"worker_measured", true},
                 {"tcb_status", "UpToDate"}};
  const auto enrolled = enrolled_from_json(answer);
  ASSERT_TRUE(enrolled);
  EXPECT_EQ(enrolled->length, std::chrono::hours(1));
  EXPECT_TRUE(enrolled->worker_measured);
  EXPECT_EQ(enrolled->tcb_status, "UpToDate");
  answer["tcb_status"] = nullptr;
  EXPECT_EQ(enrolled_from_json(answer).value().tcb_status, "");
  EXPECT_EQ(enrolled_from_json(answer).value().superseded, "");
  answer["superseded"] = {{"key_id", "sha256:11"}, {"count", 1}};
  EXPECT_EQ(enrolled_from_json(answer).value().superseded, "sha256:11");
  answer["expires_at"] = "2026-01-01T01:00:00.000Z";
  EXPECT_FALSE(enrolled_from_json(answer));
  answer.erase("expires_at");
  EXPECT_FALSE(enrolled_from_json(answer));
}

}  // namespace
}  // namespace assay::worker
