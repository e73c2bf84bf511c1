// SPDX-License-Identifier: Apache-2.0
// Contract of storage/store.h: events of the log and decisions.
#include <algorithm>

#include "tests/storage/store_contract.h"

namespace assay::storage {
namespace {

std::vector<LeafIndex> events(Snapshot& view, const EventQuery& query) {
  return indexes_of(all_pages<EventRow>(view, &Snapshot::events, query));
}

TEST_P(StoreContract, Events_EveryFilter_FindsExactlyItsRows) {
  const std::vector<std::string> types = {"trust.changed", "trust.bootstrapped", "trustee.left",
                                          "decision.made", "trust.sub.deep"};
  const std::vector<std::string> actors = {"ann", "bob", "cy"};
  constexpr std::size_t kCount = 120;
  const auto type_of = [&](std::size_t i) { return types[i % types.size()]; };
  const auto actor_of = [&](std::size_t i) { return actors[(i / 5) % actors.size()]; };
  const auto has_subject = [](std::size_t i) { return i % 7 == 0; };
  write([&](Transaction& transaction) -> Status {
    for (std::size_t i = 0; i < kCount; ++i) {
      std::vector<std::string> subjects = {"s" + std::to_string(i), "common"};
      if (has_subject(i)) {
        subjects.push_back("seventh");
        subjects.push_back("seventh");
      }
      ASSAY_TRY(transaction.append(make_record(type_of(i), actor_of(i), subjects)));
    }
    return {};
  });
  const auto view = snapshot();
  for (const std::string type :
       {"", "trust.changed", "trust.", "decision.", "trust.sub.", "trust", "none.", "."}) {
    for (const std::string actor : {"", "bob", "nobody"}) {
      for (const std::string subject : {"", "seventh", "common", "s14", "none"}) {
        EventQuery query;
        query.type = type;
        query.actor = actor;
        query.subject = subject;
        query.bounds.limit = 9;
        std::vector<LeafIndex> expected;
        for (std::size_t i = 0; i < kCount; ++i) {
          const bool type_matches = type.empty() || type_of(i) == type ||
                                    (type.ends_with('.') && type_of(i).starts_with(type));
          const bool subject_matches = subject.empty() || subject == "common" ||
                                       (subject == "seventh" && has_subject(i)) ||
                                       subject == "s" + std::to_string(i);
          if (type_matches && subject_matches && (actor.empty() || actor_of(i) == actor)) {
            expected.push_back(i);
          }
        }
        EXPECT_EQ(events(*view, query), expected) << type << " " << actor << " " << subject;
        query.newest_first = true;
        std::ranges::reverse(expected);
        EXPECT_EQ(events(*view, query), expected) << type << " " << actor << " " << subject;
      }
    }
  }
}

TEST_P(StoreContract, Events_Rows_AreTheRecords) {
  LogRecord record = make_record("test.appended", "ann", {"a", "b"});
  record.documents = {DocumentId(digest_of("d"))};
  record.detail = {{"k", "v"}};
  write([&](Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.append(record));
    return {};
  });
  const auto page = snapshot()->events({}).value();
  ASSERT_EQ(page.items.size(), 1U);
  const LogRecord& row = page.items[0].record;
  EXPECT_EQ(row.type, record.type);
  EXPECT_EQ(row.time, clock_.now());
  EXPECT_EQ(row.actor, record.actor);
  EXPECT_EQ(row.subjects, record.subjects);
  EXPECT_EQ(row.documents, record.documents);
  EXPECT_EQ(row.detail, record.detail);
  EXPECT_EQ(page.tree_size, 1U);
}

// Clocks are set, and step back; the time of the log does not.
TEST_P(StoreContract, Events_TimeBoundsWithAClockThatWentBack_FindExactlyTheirRows) {
  const std::vector<int> seconds = {10, 11, 12, 5, 6, 13, 14, 3, 20, 19, 18, 21, 100, 22, 23, 24};
  const Timestamp start = clock_.now();
  for (const int second : seconds) {
    clock_.set(start + std::chrono::seconds(second));
    append(1);
  }
  const auto view = snapshot();
  for (int since = 0; since <= 26; ++since) {
    for (int until = since; until <= 26; ++until) {
      EventQuery query;
      query.since = start + std::chrono::seconds(since);
      query.until = start + std::chrono::seconds(until);
      query.bounds.limit = 3;
      std::vector<LeafIndex> expected;
      int latest = 0;
      for (std::size_t i = 0; i < seconds.size(); ++i) {
        latest = std::max(latest, seconds[i]);
        if (latest >= since && latest < until) {
          expected.push_back(i);
        }
      }
      EXPECT_EQ(events(*view, query), expected) << since << " " << until;
      query.newest_first = true;
      std::ranges::reverse(expected);
      EXPECT_EQ(events(*view, query), expected) << since << " " << until;
    }
  }
}

TEST_P(StoreContract, Events_FiltersThatHardlyMeet_ComeInShortPagesWithoutGaps) {
  // Two actors alternate with two types so that the pair asked for never occurs until the end.
  // Their turns are longer than a search goes from row to row.
  constexpr std::size_t kCount = 20000;
  write([&](Transaction& transaction) -> Status {
    for (std::size_t i = 0; i < kCount; ++i) {
      const bool even = i / 9 % 2 == 0;
      ASSAY_TRY(
          transaction.append(make_record(even ? "test.even" : "test.odd", even ? "ann" : "bob")));
    }
    ASSAY_TRY(transaction.append(make_record("test.even", "bob")));
    return {};
  });
  EventQuery query;
  query.type = "test.even";
  query.actor = "bob";
  const auto view = snapshot();
  EXPECT_EQ(events(*view, query), std::vector<LeafIndex>{kCount});
  const auto first = view->events(query).value();
  EXPECT_TRUE(first.items.empty()) << "a call ends before it has looked at everything";
  EXPECT_TRUE(first.next);
}

TEST_P(StoreContract, Decision_PutAndGet_EveryFieldKept) {
  DecisionRow row = make_decision("0193-1");
  row.allowed = false;
  row.reasons = {"no-matching-policy", "key-revoked"};
  write([&](Transaction& transaction) -> Status {
    ASSAY_ASSIGN(row, put(transaction, row));
    return {};
  });
  const auto stored = snapshot()->decision(row.id).value();
  EXPECT_EQ(stored.id, row.id);
  EXPECT_EQ(stored.envelope, row.envelope);
  EXPECT_EQ(stored.allowed, row.allowed);
  EXPECT_EQ(stored.point, row.point);
  EXPECT_EQ(stored.subjects, row.subjects);
  EXPECT_EQ(stored.name_space, row.name_space);
  EXPECT_EQ(stored.reasons, row.reasons);
  EXPECT_EQ(stored.evaluated_at, row.evaluated_at);
  EXPECT_EQ(stored.log_index, row.log_index);
  EXPECT_EQ(snapshot()->decision("none").error().code, ErrorCode::kNotFound);
}

TEST_P(StoreContract, Decision_BadRows_AreRefused) {
  DecisionRow row = make_decision("once");
  write([&](Transaction& transaction) -> Status {
    ASSAY_ASSIGN(row, put(transaction, row));
    return {};
  });
  EXPECT_EQ(write_error([&](Transaction& t) -> Status {
              ASSAY_TRY(put(t, make_decision("once")));
              return {};
            }),
            ErrorCode::kConflict);
  DecisionRow other = make_decision("other");
  other.envelope = row.envelope;
  EXPECT_EQ(write_error([&](Transaction& t) { return t.put_decision(other); }),
            ErrorCode::kConflict)
      << "the log index is taken";
  other.log_index = 5;
  EXPECT_EQ(write_error([&](Transaction& t) { return t.put_decision(other); }),
            ErrorCode::kInvalidParameter);
  EXPECT_EQ(write_error([&](Transaction& t) -> Status {
              ASSAY_ASSIGN(other.log_index, t.append(make_record("decision.made")));
              other.envelope = DocumentId(digest_of("nowhere"));
              return t.put_decision(other);
            }),
            ErrorCode::kNotFound);
}

TEST_P(StoreContract, Decisions_EveryFilter_FindsExactlyItsRows) {
  const Timestamp start = clock_.now();
  constexpr unsigned kFilters = 4;
  for (unsigned i = 0; i < (1U << kFilters); ++i) {
    clock_.set(start + std::chrono::seconds(i));
    DecisionRow row = make_decision("d" + std::to_string(i));
    row.subjects =
        (i & 1U) != 0 ? std::vector<std::string>{"other", "special"} : std::vector<std::string>{};
    row.name_space = (i & 2U) != 0 ? "special" : "prod";
    row.reasons = (i & 4U) != 0 ? std::vector<std::string>{"other", "special"}
                                : std::vector<std::string>{"other"};
    row.allowed = (i & 8U) != 0;
    write([&](Transaction& transaction) -> Status {
      ASSAY_TRY(put(transaction, row));
      return {};
    });
  }
  const auto view = snapshot();
  for (unsigned wanted = 0; wanted < (1U << kFilters); ++wanted) {
    DecisionQuery query;
    query.bounds.limit = 3;
    query.subject = (wanted & 1U) != 0 ? "special" : "";
    query.name_space = (wanted & 2U) != 0 ? "special" : "";
    query.reason = (wanted & 4U) != 0 ? "special" : "";
    query.since = start + std::chrono::seconds(2);
    query.until = start + std::chrono::seconds(14);
    if ((wanted & 8U) != 0) {
      query.allowed = true;
    }
    std::vector<LeafIndex> expected;
    for (unsigned i = 2; i < 14; ++i) {
      if ((i & wanted) == wanted) {
        expected.push_back(i);
      }
    }
    EXPECT_EQ(indexes_of(all_pages<DecisionRow>(*view, &Snapshot::decisions, query)), expected)
        << wanted;
    query.with_total = true;
    EXPECT_EQ(view->decisions(query)->total, (Total{expected.size(), true})) << wanted;
    query.newest_first = true;
    EXPECT_EQ(view->decisions(query)->total, (Total{expected.size(), true})) << wanted;
    std::ranges::reverse(expected);
    EXPECT_EQ(indexes_of(all_pages<DecisionRow>(*view, &Snapshot::decisions, query)), expected)
        << wanted;
  }
  // Pages of a list from its end stay as they were when newer rows come.
  DecisionQuery newest;
  newest.newest_first = true;
  newest.bounds.limit = 4;
  newest.bounds.below = 10;
  const auto first = view->decisions(newest);
  EXPECT_EQ(indexes_of(first->items), (std::vector<LeafIndex>{9, 8, 7, 6}));
  newest.bounds.after = first->next;
  EXPECT_EQ(indexes_of(view->decisions(newest)->items), (std::vector<LeafIndex>{5, 4, 3, 2}));
  newest.bounds.after = 0;
  EXPECT_TRUE(view->decisions(newest)->items.empty());
  DecisionQuery denied;
  denied.allowed = false;
  EXPECT_EQ(view->decisions(denied)->items.size(), 8U);
}

}  // namespace
}  // namespace assay::storage
