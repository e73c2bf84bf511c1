// SPDX-License-Identifier: Apache-2.0
// Verbs with their options and help. Only command.cc uses the argument parser. The headers of the
// parser are therefore compiled once, and the help of all verbs looks the same.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/verb_help.h"
#include "schemas/core/error.h"

namespace assay::cli {

// A verb or a group of verbs. Options are bound to variables that must outlive parsing. A verb
// keeps these variables in a shared struct, which its action also owns. A Command is a cheap handle
// and may be copied.
class Command {
 public:
  // Adds a verb below this one.
  [[nodiscard]] Command add(const std::string& name, const std::string& about) const;

  // Add a required argument, an optional argument, or a list of at least one argument, or
  // of any number.
  void argument(const std::string& name, std::string& into, const std::string& about) const;
  void argument(const std::string& name, std::uint64_t& into, const std::string& about) const;
  void optional_argument(const std::string& name, std::string& into,
                         const std::string& about) const;
  void arguments(const std::string& name, std::vector<std::string>& into,
                 const std::string& about) const;

  void optional_arguments(const std::string& name, std::vector<std::string>& into,
                          const std::string& about) const;

  // Add options with a value: "--name,-n". `value` is the name of the value in the help. A vector
  // receives one value each time the option is given.
  void option(const std::string& flags, std::string& into, const std::string& value,
              const std::string& about) const;
  void option(const std::string& flags, std::vector<std::string>& into, const std::string& value,
              const std::string& about) const;
  void option(const std::string& flags, std::uint64_t& into, const std::string& value,
              const std::string& about) const;
  void option(const std::string& flags, std::optional<std::uint64_t>& into,
              const std::string& value, const std::string& about) const;
  // Adds an option whose value must be one of `values`.
  void choice(const std::string& flags, std::string& into, const std::vector<std::string>& values,
              const std::string& about) const;
  void flag(const std::string& flags, bool& into, const std::string& about) const;

  // Makes the last declared option or argument a required one.
  void required() const;

  // Add to the end of the help: a paragraph, or a command line with an explanation.
  void note(const std::string& text) const;
  void example(const std::string& line, const std::string& what) const;

  // Sets the heading under which the verbs that are added next are listed.
  void task(const std::string& heading) const;
  // Returns what was declared so far of this verb and of those below it.
  [[nodiscard]] const VerbHelp& described() const;

  // Leaves the verb out of the help: only this program itself calls it.
  void hide() const;

  // Sets the action of the verb. Also adds the options that every verb has; `outputs` are the
  // values of --output.
  void action(std::function<Result<Exit>()> run,
              const std::vector<std::string>& outputs = {"text", "json"}) const;

 private:
  friend class CommandLine;
  struct State;
  struct Node;
  Command(std::shared_ptr<State> state, Node* node) : state_(std::move(state)), node_(node) {}

  std::shared_ptr<State> state_;
  Node* node_;
};

// The whole program: parses the arguments, runs one verb and reports its error.
class CommandLine {
 public:
  CommandLine(Context& context, const std::string& name, const std::string& about);

  [[nodiscard]] Command root() const;
  // Parses, runs and returns the exit status of the program. Never throws.
  [[nodiscard]] int run(int argc, const char* const* argv);

 private:
  [[nodiscard]] int parse(int argc, const char* const* argv);

  Context& context_;
  std::shared_ptr<Command::State> state_;
};

}  // namespace assay::cli
