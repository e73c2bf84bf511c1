// SPDX-License-Identifier: Apache-2.0
#include "policy/conditions/boot.h"

#include <algorithm>
#include <string_view>

#include "schemas/core/sha.h"

namespace assay::policy {
namespace {

using Texts = std::vector<std::string>;

constexpr std::size_t kMaxShown = 4;

bool contains(const Texts& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

// ASCII text as UTF-16LE.
std::string widened(std::string_view text) {
  std::string wide;
  wide.reserve(2 * text.size());
  for (const char letter : text) {
    wide += letter;
    wide += '\0';
  }
  return wide;
}

// The digests that stand for a command line: GRUB hashes the text, the EFI stub of Linux hashes the
// load options that it was given, with or without the character that ends them.
void add_digests(const std::string& command_line, Texts& digests) {
  const std::string wide = widened(command_line);
  for (const std::string& bytes : {command_line, wide, wide + std::string(2, '\0')}) {
    digests.push_back(sha(HashAlgorithm::kSha384, as_bytes(bytes)).hex());
  }
}

class Judged {
 public:
  Judged(const BootDemands& demands, const MeasuredBoot& boot) : demands_(demands), boot_(boot) {
    actual_ = {{"event_log", true}};
    secure_boot();
    if (!demands.kernels.empty() || !demands.initrds.empty() || !demands.command_lines.empty() ||
        !demands.others.empty()) {
      measured();
    }
  }
  [[nodiscard]] JudgedBoot result() && {
    const BootOutcome outcome = mismatch_  ? BootOutcome::kMismatch
                                : unknown_ ? BootOutcome::kUnknown
                                           : BootOutcome::kPass;
    return {outcome, std::move(actual_)};
  }

 private:
  void secure_boot() {
    if (!demands_.secure_boot) {
      return;
    }
    actual_["secure_boot"] = boot_.secure_boot ? Json(*boot_.secure_boot) : Json(nullptr);
    unknown_ = unknown_ || !boot_.secure_boot;
    mismatch_ = mismatch_ || boot_.secure_boot == false;
  }

  void measured() {
    if (!boot_.rtmr1 || !boot_.rtmr2) {
      unknown_ = true;
      return;
    }
    Texts all = *boot_.rtmr1;
    all.insert(all.end(), boot_.rtmr2->begin(), boot_.rtmr2->end());
    Texts command_lines;
    for (const std::string& line : demands_.command_lines) {
      add_digests(line, command_lines);
    }
    one_of("kernels", demands_.kernels, all);
    one_of("initrds", demands_.initrds, all);
    one_of("command_lines", command_lines, all);
    if (!demands_.allow_others) {
      nothing_but({&demands_.kernels, &demands_.initrds, &command_lines, &demands_.others}, all);
    }
  }

  void one_of(const char* name, const Texts& wanted, const Texts& all) {
    const bool found =
        wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const std::string& digest) {
          return contains(all, digest);
        });
    if (!found) {
      mismatch_ = true;
      actual_["missing"].push_back(name);
    }
  }

  void nothing_but(const std::vector<const Texts*>& listed, const Texts& all) {
    for (const std::string& digest : all) {
      const bool known = std::any_of(listed.begin(), listed.end(),
                                     [&](const Texts* list) { return contains(*list, digest); });
      if (known) {
        continue;
      }
      mismatch_ = true;
      Json& unexpected = actual_["unexpected"];
      if (unexpected.size() < kMaxShown) {
        unexpected.push_back(digest);
      }
    }
  }

  const BootDemands& demands_;
  const MeasuredBoot& boot_;
  Json actual_;
  bool unknown_ = false;
  bool mismatch_ = false;
};

}  // namespace

JudgedBoot judge_boot(const BootDemands& demands, const std::optional<MeasuredBoot>& boot) {
  if (!boot) {
    return {BootOutcome::kUnknown, {{"event_log", false}}};
  }
  return Judged(demands, *boot).result();
}

std::vector<std::string> lint_boot(const std::optional<BootDemands>& demands) {
  std::vector<std::string> warnings;
  if (!demands) {
    return warnings;
  }
  const bool names_software =
      !demands->kernels.empty() || !demands->initrds.empty() || !demands->command_lines.empty();
  if (demands->allow_others) {
    warnings.emplace_back(
        "accepts whatever else was measured at the start: who starts a kernel of his own can have "
        "the digests of another one measured as well");
  }
  if (names_software && demands->kernels.empty()) {
    warnings.emplace_back(
        "names no kernel: any kernel says of itself which command line and initrd it has");
  }
  return warnings;
}

}  // namespace assay::policy
