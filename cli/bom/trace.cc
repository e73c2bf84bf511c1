// SPDX-License-Identifier: Apache-2.0
#include "cli/bom/trace.h"

#include <algorithm>
#include <utility>

#include "schemas/core/json_at.h"
#include "schemas/digest_set.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"
#include "schemas/stages.h"

namespace assay::bom {
namespace {

constexpr std::string_view kSlsaProvenance = "https://slsa.dev/provenance/v1";
constexpr std::string_view kDependencyRole = "dependency";

// What a statement says went into its subjects.
struct Making {
  bool makes = false;
  bool unread = false;
  std::string licence;
  std::vector<LifecycleInput> inputs;
};

Making making_of_lifecycle(const Statement& statement) {
  Making making;
  const Result<Lifecycle> lifecycle = lifecycle_from(statement);
  if (!lifecycle) {
    making.unread = true;
    return making;
  }
  const auto effect = effect_of(lifecycle->stage);
  making.makes = effect && *effect != StageEffect::kDescribes;
  if (making.makes) {
    making.inputs = lifecycle->inputs;
    making.licence = text_at(lifecycle->parameters, "license");
  }
  return making;
}

// SLSA provenance v1: buildDefinition.resolvedDependencies are resource descriptors of in-toto.
Making making_of_provenance(const Statement& statement) {
  Making making;
  making.makes = true;
  const Json& list =
      member_at(member_at(statement.predicate, "buildDefinition"), "resolvedDependencies");
  making.unread = !list.is_null() && !list.is_array();
  for (const Json& dependency :
       array_at(object_at(statement.predicate, "buildDefinition"), "resolvedDependencies")) {
    LifecycleInput input;
    input.role = kDependencyRole;
    input.name = text_at(dependency, "name");
    if (input.name.empty()) {
      input.name = text_at(dependency, "uri");
    }
    for (const auto& [algorithm, value] : object_at(dependency, "digest").items()) {
      if (value.is_string() && check_digest(algorithm, value.get_ref<const std::string&>())) {
        input.digest[algorithm] = value.get<std::string>();
      } else {
        making.unread = true;
      }
    }
    making.inputs.push_back(std::move(input));
  }
  return making;
}

Making making_of(const Statement& statement) {
  if (statement.predicate_type == kLifecyclePredicateType) {
    return making_of_lifecycle(statement);
  }
  if (statement.predicate_type == kSlsaProvenance) {
    return making_of_provenance(statement);
  }
  return {};
}

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (!text.empty() && std::ranges::find(list, text) == list.end()) {
    list.push_back(text);
  }
}

class Tracer {
 public:
  explicit Tracer(std::span<const BomStatement> statements) : statements_(statements) {
    for (const BomStatement& one : statements) {
      makings_.push_back(making_of(one.statement));
    }
  }

  Result<Trace> run(const std::string& name, const ArtifactId& artifact) {
    const Digests root = {{artifact.digest_name(), artifact.root().hex()}};
    trace_.things.push_back({"model", {name}, root, root});
    steps_.push_back(0);
    // Things are appended in the order of their distance from the model, and have all of their
    // names when their turn comes.
    for (std::size_t thing = 0; thing < trace_.things.size(); ++thing) {
      // A digest that a manifest adds can make further statements count.
      for (std::size_t digests = 0; digests != trace_.things[thing].digests.size();) {
        digests = trace_.things[thing].digests.size();
        ASSAY_TRY(look_at(thing));
      }
    }
    return std::move(trace_);
  }

 private:
  // The subject of a statement that is this thing, by a name that the thing has.
  [[nodiscard]] const Subject* subject_of(std::size_t statement, const Thing& thing) const {
    for (const Subject& subject : statements_[statement].statement.subjects) {
      // Only signers who are trusted for every name may sign about a subject without one.
      if ((subject.name.empty() ||
           std::ranges::find(thing.names, subject.name) != thing.names.end()) &&
          same_thing(subject.digest, thing.digests)) {
        return &subject;
      }
    }
    return nullptr;
  }

  Status look_at(std::size_t thing) {
    for (std::size_t s = 0; s < statements_.size(); ++s) {
      const std::vector<std::size_t>& counted = trace_.things[thing].statements;
      if (std::ranges::find(counted, s) != counted.end()) {
        continue;
      }
      const Subject* subject = subject_of(s, trace_.things[thing]);
      if (subject != nullptr) {
        trace_.things[thing].statements.push_back(s);
        ASSAY_TRY(take(thing, s, *subject));
      }
    }
    return {};
  }

  Status take(std::size_t thing, std::size_t s, const Subject& subject) {
    // Only a manifest says that two digests are of one thing.
    if (statements_[s].statement.predicate_type == kManifestPredicateType) {
      trace_.things[thing].digests.insert(subject.digest.begin(), subject.digest.end());
    }
    const Making& making = makings_[s];
    if (making.unread && std::ranges::find(trace_.unread, s) == trace_.unread.end()) {
      trace_.unread.push_back(s);
    }
    if (!making.makes) {
      return {};
    }
    trace_.things[thing].known = true;
    add_once(trace_.things[thing].licences, making.licence);
    for (const LifecycleInput& input : making.inputs) {
      ASSAY_ASSIGN(const std::size_t from, thing_of(input, steps_[thing] + 1));
      std::vector<std::size_t>& made_from = trace_.things[thing].made_from;
      const auto at = std::ranges::lower_bound(made_from, from);
      if (at == made_from.end() || *at != from) {
        made_from.insert(at, from);
      }
    }
    return {};
  }

  // Whether the input is this thing: by what counted statements call it, or by a digest that a
  // manifest says is the same, and then by its name, too. A publisher of one name cannot say that
  // things of other names are one.
  [[nodiscard]] static bool is_same(const Thing& thing, const LifecycleInput& input, bool weak) {
    const bool named = std::ranges::find(thing.names, input.name) != thing.names.end();
    if (weak) {
      return thing.stated == input.digest && named;
    }
    return same_thing(thing.stated, input.digest) ||
           (named && same_thing(thing.digests, input.digest));
  }

  // The thing that went in, `steps` away from the model. The statements nearest to the model name
  // it: those who made an ancestor do not name what is known without them.
  Result<std::size_t> thing_of(const LifecycleInput& input, std::size_t steps) {
    const bool weak = main_digest(input.digest).empty();
    for (std::size_t i = 0; i < trace_.things.size(); ++i) {
      if (is_same(trace_.things[i], input, weak)) {
        if (steps_[i] == steps) {
          add_once(trace_.things[i].names, input.name);
        }
        return i;
      }
    }
    if (trace_.things.size() == kMaxBomThings) {
      return fail(ErrorCode::kLimitExceeded, "The model was made from more than " +
                                                 std::to_string(kMaxBomThings - 1) + " things");
    }
    Thing thing;
    thing.role = input.role;
    add_once(thing.names, input.name);
    thing.digests = input.digest;
    thing.stated = input.digest;
    trace_.things.push_back(std::move(thing));
    steps_.push_back(steps);
    return trace_.things.size() - 1;
  }

  std::span<const BomStatement> statements_;
  std::vector<Making> makings_;
  Trace trace_;
  std::vector<std::size_t> steps_;  // of each thing from the model
};

}  // namespace

Result<Trace> trace(const std::string& name, const ArtifactId& artifact,
                    std::span<const BomStatement> statements) {
  if (statements.size() > kMaxBomStatements) {
    return fail(ErrorCode::kLimitExceeded,
                "More than " + std::to_string(kMaxBomStatements) + " statements are about it");
  }
  return Tracer(statements).run(name, artifact);
}

}  // namespace assay::bom
