// SPDX-License-Identifier: Apache-2.0
// The text of --help.
#include <algorithm>

#include "cli/layout.h"
#include "cli/verb_help.h"

namespace assay::cli {
namespace {

constexpr std::size_t kNameColumns = 28;  // columns of names, before what they mean

void add_lines(std::string& out, const std::vector<std::string>& lines, std::string_view indent) {
  for (const std::string& line : lines) {
    out += std::string(indent) + line + "\n";
  }
}

// A name and what it means, side by side where the name is short.
void add_entry(std::string& out, const std::string& name, const std::string& about,
               std::size_t columns) {
  const std::string indent(kNameColumns, ' ');
  const std::size_t room = columns > kNameColumns + 20 ? columns - kNameColumns : 20;
  const auto lines = wrapped(about, room);
  std::string head = "  " + name;
  std::size_t first = 0;
  if (columns_of(head) + 2 <= kNameColumns) {
    head.append(kNameColumns - columns_of(head), ' ');
    head += lines.front();
    first = 1;
  }
  out += head + "\n";
  add_lines(out, {lines.begin() + static_cast<std::ptrdiff_t>(first), lines.end()}, indent);
}

void add_verbs(std::string& out, const VerbHelp& verb, std::size_t columns) {
  std::vector<std::string> tasks;
  for (const VerbHelp* one : verb.verbs) {
    if (!one->hidden && std::ranges::find(tasks, one->task) == tasks.end()) {
      tasks.push_back(one->task);
    }
  }
  for (const std::string& task : tasks) {
    out += "\n" + (task.empty() ? std::string("Verbs") : task) + ":\n";
    for (const VerbHelp* one : verb.verbs) {
      if (!one->hidden && one->task == task) {
        add_entry(out, std::string(one->name()), one->about, columns);
      }
    }
  }
}

void add_options(std::string& out, const std::vector<OptionHelp>& options, const char* heading,
                 std::size_t columns) {
  if (options.empty()) {
    return;
  }
  out += std::string("\n") + heading + ":\n";
  for (const OptionHelp& option : options) {
    std::string name = option.flags;
    std::ranges::replace(name, ',', ' ');
    name += option.value.empty() ? "" : " " + option.value;
    const bool flag = option.flags.starts_with('-');
    add_entry(out, name, option.about + (flag && option.required ? " (required)" : ""), columns);
  }
}

// Words of a command, where quoted text is one word. Line breaks that a shell takes are gone.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool breaks = line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '\n';
    quoted = line[i] == '\'' ? !quoted : quoted;
    if (!quoted && (breaks || line[i] == ' ' || line[i] == '\n')) {
      if (!words.back().empty()) {
        words.emplace_back();
      }
      i += breaks ? 1 : 0;
    } else {
      words.back() += line[i];
    }
  }
  return words;
}

// A command in lines of at most `columns`, each but the last with a backslash at its end.
void add_command(std::string& out, const std::string& line, std::size_t columns) {
  constexpr std::string_view kFirst = "  ";
  constexpr std::string_view kNext = "      ";
  std::string text(kFirst);
  std::size_t used = 0;  // words on this line
  for (const std::string& word : words_of(line)) {
    // An option keeps its value: the words of one option break before it alone.
    if (used > 0 && columns_of(text) + 1 + columns_of(word) + 2 > columns) {
      out += text + " \\\n";
      text = kNext;
      used = 0;
    }
    text += (used > 0 ? " " : "") + word;
    ++used;
  }
  out += text + "\n";
}

void add_examples(std::string& out, const VerbHelp& verb, std::size_t columns) {
  if (verb.examples.empty()) {
    return;
  }
  out += "\nExamples:\n";
  for (const ExampleHelp& example : verb.examples) {
    add_lines(out, wrapped(example.what, columns - 4), "  # ");
    add_command(out, example.line, columns);
  }
}

// Paragraphs are apart by an empty line; a line that begins with two spaces stays as it is.
void add_note(std::string& out, std::string_view note, std::size_t columns) {
  std::string paragraph;
  const auto flush = [&] {
    if (!paragraph.empty()) {
      add_lines(out, wrapped(paragraph, columns), "");
      paragraph.clear();
    }
  };
  while (!note.empty()) {
    const std::string_view line = note.substr(0, note.find('\n'));
    note.remove_prefix(std::min(line.size() + 1, note.size()));
    if (line.empty() || line.starts_with("  ")) {
      flush();
      out += std::string(line) + "\n";
    } else {
      paragraph += (paragraph.empty() ? "" : " ") + std::string(line);
    }
  }
  flush();
}

}  // namespace

std::string_view VerbHelp::name() const {
  return std::string_view(path).substr(path.rfind(' ') + 1);
}

const VerbHelp* VerbHelp::below(std::string_view name) const {
  const auto found =
      std::ranges::find(verbs, name, [](const VerbHelp* one) { return one->name(); });
  return found == verbs.end() ? nullptr : *found;
}

std::string synopsis(const VerbHelp& verb) {
  std::string text = verb.options.empty() ? "" : "[OPTIONS]";
  for (const OptionHelp& argument : verb.arguments) {
    const std::string name = argument.flags + (argument.many ? "..." : "");
    text += (text.empty() ? "" : " ") + (argument.required ? name : "[" + name + "]");
  }
  if (!verb.verbs.empty()) {
    text += (text.empty() ? "" : " ") + std::string(verb.runs ? "[VERB]" : "VERB");
  }
  return text;
}

std::string help_text(const VerbHelp& verb, std::size_t columns) {
  std::string out;
  add_lines(out, wrapped(verb.about, columns), "");
  add_lines(out, wrapped("Usage: " + verb.path + " " + synopsis(verb), columns), "");
  add_options(out, verb.arguments, "Arguments", columns);
  add_verbs(out, verb, columns);
  add_options(out, verb.options, "Options", columns);
  for (const std::string& note : verb.notes) {
    out += "\n";
    add_note(out, note, columns);
  }
  add_examples(out, verb, columns);
  return out;
}

}  // namespace assay::cli
