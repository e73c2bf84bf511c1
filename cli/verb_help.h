// SPDX-License-Identifier: Apache-2.0
// The description of a verb: the source of --help, of man pages and of what
// shells complete.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

struct OptionHelp {
  std::string flags;  // "--output,-o"; of an argument its name
  std::string value;  // name of the value; empty: there is none
  std::string about;
  std::vector<std::string> choices{};  // all values that there are; empty: any
  bool required = false;
  bool many = false;
};

struct ExampleHelp {
  std::string line;  // may have line breaks that a shell takes
  std::string what;
};

struct VerbHelp {
  std::string path;  // "assay manifest verify"
  std::string about;
  std::string task{};  // heading of the list of all verbs under which it stands
  bool runs = false;   // false: a group that only has verbs below it
  bool hidden = false;
  std::vector<OptionHelp> arguments{};
  std::vector<OptionHelp> options{};
  std::vector<std::string> notes{};  // paragraphs
  std::vector<ExampleHelp> examples{};
  std::vector<const VerbHelp*> verbs{};  // below it

  // Returns the last word of the path.
  [[nodiscard]] std::string_view name() const;
  // Returns the verb below that has the name; null when there is none.
  [[nodiscard]] const VerbHelp* below(std::string_view name) const;
};

// Returns "[OPTIONS] FILE [DIR]", or "VERB" for a group.
[[nodiscard]] std::string synopsis(const VerbHelp& verb);

// Returns the help in at most `columns`, except where a word is longer.
[[nodiscard]] std::string help_text(const VerbHelp& verb, std::size_t columns);

// Returns the page of section 1 in the format of man(7). `version` is that of the program.
[[nodiscard]] std::string man_page(const VerbHelp& verb, std::string_view version);
// Returns the file name of that page: "assay-manifest-verify.1".
[[nodiscard]] std::string man_file(const VerbHelp& verb);

// Returns what may stand in the place of the last of `words`, which may be empty: one line each,
// with an explanation behind a tab. The line ":files" stands for names of files. `words` are those
// behind the name of the program.
[[nodiscard]] std::vector<std::string> completions(const VerbHelp& root,
                                                   std::span<const std::string_view> words);
// Returns the script that makes the shell ask `assay __complete WORDS`. Empty for another shell
// than bash, zsh and fish.
[[nodiscard]] std::string_view completion_script(std::string_view shell);

}  // namespace assay::cli
