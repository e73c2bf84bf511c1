// SPDX-License-Identifier: Apache-2.0
// Finds the route for a method and a path. A template is a path of literal segments and captures:
//   /v1/policies/{id}              one segment
//   /v1/policies/{id}:activate     one segment that ends in ":activate" (a verb)
//   /log/tile/{level}/{rest...}    all remaining segments, at least one; only at the end
// Literal segments win over captures with a verb; captures with a verb win over plain captures.
// There are no regular expressions, and the order of registration does not matter.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"

namespace assay::server {

struct RoutePattern {
  Method method;
  Listener listener;
  std::string path;  // template
};

class Router {
 public:
  // Builds the router. Two patterns with the same listener, method and template are a programming
  // error.
  explicit Router(std::span<const RoutePattern> patterns);

  struct Match {
    enum class Kind { kFound, kNotFound, kMethodNotAllowed };
    Kind kind = Kind::kNotFound;
    std::size_t route = 0;                        // index into the patterns; only when found
    std::map<std::string, std::string> captures;  // only when found
    std::vector<Method> allowed;                  // methods of the path, HEAD and OPTIONS included
    std::vector<std::size_t> others;  // indexes of all routes with this path, for any method
  };
  // Finds the route for `method` and the decoded `path`. HEAD finds the route of GET. OPTIONS finds
  // no route: the caller answers OPTIONS from `allowed`.
  [[nodiscard]] Match find(Listener listener, std::optional<Method> method,
                           std::string_view path) const;

 private:
  struct Segment {
    enum class Kind { kLiteral, kVerb, kCapture, kRest };
    Kind kind;
    std::string text;  // literal text, or the capture's name
    std::string verb;  // ":activate"
  };
  struct Template {
    RoutePattern pattern;
    std::vector<Segment> segments;
  };
  static std::vector<Segment> parse(std::string_view path);
  static bool matches(const Template& candidate, std::span<const std::string_view> parts,
                      std::map<std::string, std::string>& captures);
  static bool better(const Template& a, const Template& b);

  std::vector<Template> templates_;
};

// Returns the value of an Allow header, such as "GET, HEAD, OPTIONS".
[[nodiscard]] std::string allow_header(std::span<const Method> methods);

}  // namespace assay::server
