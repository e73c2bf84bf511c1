// SPDX-License-Identifier: Apache-2.0
#include "policy/lineage/deny.h"

#include <algorithm>
#include <optional>
#include <string>

#include "policy/glob.h"
#include "schemas/name_form.h"

namespace assay::policy {
namespace {

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// The patterns in the spelling of normalised_name(), which leaves a '*' as it is.
std::vector<std::string> in_one_spelling(const std::vector<std::string>& patterns) {
  std::vector<std::string> spelled;
  for (const std::string& pattern : patterns) {
    if (auto one = normalised_name(pattern)) {
      spelled.push_back(*std::move(one));
    }
  }
  return spelled;
}

class Denier {
 public:
  Denier(const LineageDeny& deny, const Lineage& lineage, Patience& patience,
         const std::function<Json(const WalkedNode&)>& name_of)
      : deny_(deny),
        lineage_(lineage),
        patience_(patience),
        patterns_(in_one_spelling(deny.names)),
        name_of_(name_of) {}

  void judge(const WalkedNode& node) {
    const LineageIndex& index = lineage_.index();
    for (const std::size_t digest : node.digests) {
      look_at_digest(node, index.digests[digest]);
      look_at_asides(node, index.digests[digest]);
      const LineageIndex::About& about = index.about[digest];
      for (const std::span<const std::size_t> list : {about.statements, about.manifests}) {
        for (const std::size_t s : list) {
          if (patience_.ends()) {
            return;
          }
          look_at_statement(node, s, digest);
        }
      }
    }
    for (const std::string_view digest : node.beside) {
      look_at_digest(node, digest);
    }
    for (const WalkedStatement& statement : node.statements) {
      if (patience_.ends()) {
        return;
      }
      look_at_counted(node, statement);
    }
  }

  JudgedDenied take() { return std::move(judged_); }

 private:
  void add(const WalkedNode& node, const char* by, std::string_view what) {
    Json finding = name_of_(node);
    finding["by"] = by;
    finding["value"] = what;
    judged_.denied.add(std::move(finding));
  }

  void look_at_digest(const WalkedNode& node, std::string_view digest) {
    if (contains(deny_.digests, digest)) {
      add(node, "digest", digest);
    }
  }

  // A character beyond ASCII can be invisible or look like another one: such a name may be one that
  // the list denies.
  void look_at_name(const WalkedNode& node, std::string_view name) {
    if (deny_.names.empty() || name.empty() || patience_.ends()) {
      return;
    }
    const auto plain = normalised_name(name);
    if (any_glob_matches(deny_.names, name) || (plain && any_glob_matches(patterns_, *plain))) {
      add(node, "name", name);
    } else if (!plain || !is_ascii(*plain)) {
      judged_.unreadable.add({{"child", name_of_(node)}, {"name", name}});
    }
  }

  void look_at_signer(const WalkedNode& node, const std::string& identity, const KeyId& id) {
    if (contains(deny_.identities, identity)) {
      add(node, "identity", identity);
    }
    if (deny_.keys.empty()) {
      return;
    }
    if (const std::string key = id.text(); contains(deny_.keys, key)) {
      add(node, "key", key);
    }
  }

  void look_at_asides(const WalkedNode& node, std::string_view digest) {
    const std::vector<LineageAside>& asides = lineage_.rest().aside;
    const auto first = std::partition_point(
        asides.begin(), asides.end(), [&](const LineageAside& one) { return one.digest < digest; });
    for (auto aside = first; aside != asides.end() && aside->digest == digest; ++aside) {
      for (const std::string& name : aside->names) {
        look_at_name(node, name);
      }
      if (aside->makes) {
        look_at_signer(node, aside->identity, aside->key);
      }
    }
  }

  void look_at_statement(const WalkedNode& node, std::size_t s, std::size_t digest) {
    for (const std::string& name : lineage_.index().names(s, digest)) {
      look_at_name(node, name);
    }
    const LineageIndex::Statement& statement = lineage_.index().statements[s];
    if (statement.makes || statement.statement->manifest) {
      for (const SignerFact& signer : statement.statement->fact.signers) {
        look_at_signer(node, signer.key.identity, signer.key.id);
      }
    }
  }

  // Of an input that leads to no node, the node that was made from it is shown.
  void look_at_counted(const WalkedNode& node, const WalkedStatement& counted) {
    for (const WalkedInput& input : counted.inputs) {
      look_at_name(node, input.input->name);
      for (const std::string& name : input.input->also) {
        look_at_name(node, name);
      }
      for (const std::string& digest : input.input->digests) {
        look_at_digest(node, digest);
      }
    }
    for (const std::vector<std::string>& together : counted.statement->statement->together) {
      if (std::any_of(together.begin(), together.end(),
                      [&](const std::string& digest) { return is_of(node, digest); })) {
        for (const std::string& digest : together) {
          look_at_digest(node, digest);
        }
      }
    }
  }

  bool is_of(const WalkedNode& node, std::string_view digest) const {
    const auto number = lineage_.index().number_of.find(digest);
    return number != lineage_.index().number_of.end() &&
           std::find(node.digests.begin(), node.digests.end(), number->second) !=
               node.digests.end();
  }

  const LineageDeny& deny_;
  const Lineage& lineage_;
  Patience& patience_;
  std::vector<std::string> patterns_;
  const std::function<Json(const WalkedNode&)>& name_of_;
  JudgedDenied judged_;
};

}  // namespace

JudgedDenied judge_denied(const LineageDeny& deny, const Lineage& lineage, const LineageWalk& walk,
                          Patience& patience,
                          const std::function<Json(const WalkedNode&)>& name_of) {
  Denier denier(deny, lineage, patience, name_of);
  for (const auto& [number, node] : walk.nodes) {
    if (patience.ends()) {
      break;
    }
    denier.judge(node);
  }
  return denier.take();
}

}  // namespace assay::policy
