// SPDX-License-Identifier: Apache-2.0
// Completion: each shell asks this program, which knows its verbs.
#include <algorithm>
#include <array>
#include <utility>

#include "cli/verb_help.h"

namespace assay::cli {
namespace {

constexpr std::string_view kFiles = ":files";

// Options have other names for what is no file.
bool is_file(std::string_view value) {
  constexpr std::array<std::string_view, 7> kParts = {"FILE",     "DIR",   "PATH", "CHECKPOINT",
                                                      "ENVELOPE", "QUOTE", "PROOF"};
  return std::ranges::any_of(kParts, [&](std::string_view part) { return value.contains(part); });
}

bool is_no_file(std::string_view argument) {
  constexpr std::array<std::string_view, 8> kNames = {"ID",      "NAME",  "NODE", "INDEX",
                                                      "VERSION", "SHELL", "CODE", "REFERENCE"};
  return std::ranges::any_of(kNames, [&](std::string_view name) { return argument == name; });
}

std::vector<std::string_view> names_in(std::string_view flags) {
  std::vector<std::string_view> names;
  while (!flags.empty()) {
    names.push_back(flags.substr(0, flags.find(',')));
    flags.remove_prefix(std::min(names.back().size() + 1, flags.size()));
  }
  return names;
}

const OptionHelp* option_named(const VerbHelp& verb, std::string_view word) {
  for (const OptionHelp& option : verb.options) {
    const auto names = names_in(option.flags);
    if (std::ranges::find(names, word) != names.end()) {
      return &option;
    }
  }
  return nullptr;
}

class Candidates {
 public:
  explicit Candidates(std::string_view begun) : begun_(begun) {}
  void add(std::string_view word, const std::string& about) {
    if (word.starts_with(begun_)) {
      lines_.push_back(std::string(word) + (about.empty() ? "" : "\t" + about));
    }
  }
  void add_files() { lines_.emplace_back(kFiles); }
  [[nodiscard]] std::vector<std::string> lines() && { return std::move(lines_); }

 private:
  std::string_view begun_;
  std::vector<std::string> lines_;
};

void add_values(const OptionHelp& option, Candidates& candidates) {
  for (const std::string& choice : option.choices) {
    candidates.add(choice, "");
  }
  if (option.choices.empty() && is_file(option.value)) {
    candidates.add_files();
  }
}

void add_verbs(const VerbHelp& verb, Candidates& candidates) {
  for (const VerbHelp* one : verb.verbs) {
    if (!one->hidden) {
      candidates.add(one->name(), one->about);
    }
  }
}

void add_argument(const VerbHelp& verb, std::size_t given, Candidates& candidates) {
  if (verb.arguments.empty()) {
    return;
  }
  const std::size_t place = std::min(given, verb.arguments.size() - 1);
  const OptionHelp& argument = verb.arguments[place];
  if (given >= verb.arguments.size() && !argument.many) {
    return;
  }
  if (!argument.choices.empty()) {
    add_values(argument, candidates);
  } else if (!is_no_file(argument.flags)) {
    candidates.add_files();
  }
}

}  // namespace

std::vector<std::string> completions(const VerbHelp& root,
                                     std::span<const std::string_view> words) {
  const VerbHelp* verb = &root;
  const std::string_view begun = words.empty() ? std::string_view() : words.back();
  Candidates candidates(begun);
  // `help` and `man` are followed by the words of any verb.
  const bool explains = !words.empty() && (words.front() == "help" || words.front() == "man");
  const OptionHelp* waits = nullptr;  // the option whose value comes next
  std::size_t given = 0;              // arguments
  for (std::size_t i = explains && words.size() > 1 ? 1 : 0; i + 1 < words.size(); ++i) {
    const std::string_view word = words[i];
    if (std::exchange(waits, nullptr) != nullptr) {
      continue;
    }
    if (word.starts_with('-')) {
      const OptionHelp* option = option_named(*verb, word);
      waits = option != nullptr && !option->value.empty() ? option : nullptr;
    } else if (const VerbHelp* next = verb->below(word); next != nullptr) {
      verb = next;
    } else {
      ++given;
    }
  }
  if (waits != nullptr) {
    add_values(*waits, candidates);
  } else if (begun.starts_with('-') && !explains) {
    for (const OptionHelp& option : verb->options) {
      candidates.add(names_in(option.flags).front(), option.about);
    }
  } else {
    add_verbs(*verb, candidates);
    if (!explains) {
      add_argument(*verb, given, candidates);
    }
  }
  return std::move(candidates).lines();
}

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") {
    return R"(# Completion of assay for bash: . <(assay completion bash)
_assay() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        if [ "$line" = ":files" ]; then
            compopt -o default
        else
            COMPREPLY+=("${line%%$'\t'*}")
        fi
    done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _assay assay
)";
  }
  if (shell == "zsh") {
    return R"(#compdef assay
# Completion of assay for zsh: source <(assay completion zsh)
_assay() {
    local line
    local -a found
    for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        if [[ $line == ":files" ]]; then
            _files
        elif [[ -n $line ]]; then
            found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
        fi
    done
    (( ${#found} )) && _describe assay found
}
compdef _assay assay
)";
  }
  if (shell == "fish") {
    return R"(# Completion of assay for fish: assay completion fish | source
function __assay_complete
    set -l begun (commandline -ct)
    set -l words (commandline -opc)
    for line in (command $words[1] __complete $words[2..-1] "$begun" 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path "$begun"
        else
            echo $line
        end
    end
end
complete -c assay -f -a '(__assay_complete)'
)";
  }
  return {};
}

}  // namespace assay::cli
