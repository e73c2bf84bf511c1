// SPDX-License-Identifier: Apache-2.0
// Options of benchmarks: NAME=VALUE words.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace assay::bench {

using Options = std::map<std::string, std::string>;

// Exits with 2 when a word has no '='.
inline Options parse_options(int argc, char** argv, const char* program) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t at = word.find('=');
    if (at == std::string::npos) {
      std::fprintf(stderr, "usage: %s [NAME=VALUE...]\n", program);
      std::exit(2);
    }
    options[word.substr(0, at)] = word.substr(at + 1);
  }
  return options;
}

inline std::string text(const Options& options, const std::string& name,
                        const std::string& otherwise) {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : found->second;
}

inline std::uint64_t number(const Options& options, const std::string& name,
                            std::uint64_t otherwise) {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : std::strtoull(found->second.c_str(), nullptr, 10);
}

}  // namespace assay::bench
