// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/marks.h"

#include <map>
#include <optional>
#include <utility>

#include "schemas/log_record.h"
#include "storage/sqlite/events.h"
#include "storage/sqlite/evidence_tables.h"
#include "storage/sqlite/sealed_rows.h"
#include "storage/sqlite/seals.h"

namespace assay::storage::sqlite {
namespace {

struct SaidMark {
  std::uint64_t value = 0;
  std::optional<DocumentId> collateral;  // kept with this value
};
using SaidMarks = std::map<std::string, SaidMark>;

void say(SaidMarks& marks, const std::string& name, const Json& value,
         const std::optional<DocumentId>& collateral) {
  if (!value.is_number_unsigned()) {
    return;
  }
  SaidMark& mark = marks[name];
  const auto number = value.get<std::uint64_t>();
  if (number > mark.value || (number == mark.value && collateral)) {
    mark = {number, collateral};
  }
}

// Names, parts and documents of these records are in the same order (schemas/log.md).
void say(SaidMarks& marks, const LogRecord& record) {
  const auto parts = record.detail.find("parts");
  if (parts == record.detail.end() || !parts->is_array() ||
      parts->size() != record.documents.size()) {
    return;
  }
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const Json& part = (*parts)[i];
    if (part.is_object() && part.contains("name") && part["name"].is_string() &&
        part.contains("mark")) {
      say(marks, part["name"].get<std::string>(), part["mark"], record.documents[i]);
    }
  }
}

Status say_records(Connection& connection, SaidMarks& marks) {
  for (LeafIndex from = 0;;) {
    LeafIndex index = 0;
    {
      Query query = connection.query(Sql::kEventByType);
      ASSAY_ASSIGN(const bool found, query.bind(event::kCollateralAccepted).bind(from).next());
      index = found ? query.count(0) : 0;
      if (!found || index < from) {  // only a damaged index leads back
        return {};
      }
    }
    const auto row = load_event(connection, index);
    if (row) {
      say(marks, row->record);
    } else if (!is_damage(row.error())) {
      return std::unexpected(row.error());
    }
    from = index + 1;
  }
}

Status say_evidence(Connection& connection, SaidMarks& marks) {
  ASSAY_ASSIGN(const auto subjects, sealed_names(connection, Sealed::kEvidence));
  for (const std::string& subject : subjects) {
    const auto row = load_evidence(connection, subject);
    if (row) {
      for (const auto& [name, value] : row->marks.items()) {
        say(marks, name, value, {});
      }
    } else if (!is_damage(row.error()) && row.error().code != ErrorCode::kNotFound) {
      return std::unexpected(row.error());
    }
  }
  return {};
}

Result<SaidMarks> said_marks(Connection& connection) {
  SaidMarks marks;
  ASSAY_TRY(say_records(connection, marks));
  ASSAY_TRY(say_evidence(connection, marks));
  return marks;
}

}  // namespace

Result<std::uint64_t> remake_marks(Connection& connection) {
  ASSAY_ASSIGN(const SaidMarks marks, said_marks(connection));
  std::uint64_t made = 0;
  for (const auto& [name, mark] : marks) {
    ASSAY_ASSIGN(const std::uint64_t stored, load_high_water(connection, name));
    if (stored < mark.value) {
      ASSAY_TRY(raise_high_water(connection, name, mark.value, mark.collateral));
      ++made;
    }
  }
  return made;
}

}  // namespace assay::storage::sqlite
