// SPDX-License-Identifier: Apache-2.0
// Verbs with their options and help. The only door to the argument parser, so that one file pays
// for its headers and all verbs explain themselves in the same way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "schemas/core/error.h"

namespace assay::cli {

// A verb or a group of verbs. Options are bound to variables that must outlive parsing; verbs keep
// them in a shared struct that their action owns too. A cheap handle: copy it freely.
class Command {
 public:
  // Another verb below this one.
  [[nodiscard]] Command add(const std::string& name, const std::string& about) const;

  // Positional arguments: one that is needed, one that may be left out, one or more.
  void argument(const std::string& name, std::string& into, const std::string& about) const;
  void argument(const std::string& name, std::uint64_t& into, const std::string& about) const;
  void optional_argument(const std::string& name, std::string& into,
                         const std::string& about) const;
  void arguments(const std::string& name, std::vector<std::string>& into,
                 const std::string& about) const;

  // Options with a value: "--name,-n". `value` is what the help calls it. A vector takes one value
  // each time the option is given.
  void option(const std::string& flags, std::string& into, const std::string& value,
              const std::string& about) const;
  void option(const std::string& flags, std::vector<std::string>& into, const std::string& value,
              const std::string& about) const;
  void option(const std::string& flags, std::uint64_t& into, const std::string& value,
              const std::string& about) const;
  void option(const std::string& flags, std::optional<std::uint64_t>& into,
              const std::string& value, const std::string& about) const;
  // One of `values`.
  void choice(const std::string& flags, std::string& into, const std::vector<std::string>& values,
              const std::string& about) const;
  void flag(const std::string& flags, bool& into, const std::string& about) const;

  // The option or argument declared last must be given.
  void required() const;

  // Ends the help: a paragraph, or a command line with what it does.
  void note(const std::string& text) const;
  void example(const std::string& line, const std::string& what) const;

  // What the verb does. Also gives it the options that every verb has.
  void action(std::function<Result<Exit>()> run) const;

 private:
  friend class CommandLine;
  struct State;
  struct Node;
  Command(std::shared_ptr<State> state, Node* node) : state_(std::move(state)), node_(node) {}

  std::shared_ptr<State> state_;
  Node* node_;
};

// The whole program: parses, runs one verb, reports its error.
class CommandLine {
 public:
  CommandLine(Context& context, const std::string& name, const std::string& about);

  [[nodiscard]] Command root() const;
  // The exit status of the program. Never throws.
  [[nodiscard]] int run(int argc, const char* const* argv);

 private:
  [[nodiscard]] int parse(int argc, const char* const* argv);

  Context& context_;
  std::shared_ptr<Command::State> state_;
};

}  // namespace assay::cli
