// SPDX-License-Identifier: Apache-2.0
// From method and path to a route. A template is a path of literal segments and captures:
//   /v1/policies/{id}              one segment
//   /v1/policies/{id}:activate     one segment that ends in ":activate"
//   /log/tile/{level}/{rest...}    everything that is left, at least one segment; last only
// Literal segments win over captures with a verb, those over plain captures. No regular
// expressions, no order of registration.
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
  // Two patterns with the same listener, method and template are a programming error.
  explicit Router(std::span<const RoutePattern> patterns);

  struct Match {
    enum class Kind { kFound, kNotFound, kMethodNotAllowed };
    Kind kind = Kind::kNotFound;
    std::size_t route = 0;                        // index into the patterns when found
    std::map<std::string, std::string> captures;  // when found
    std::vector<Method> allowed;                  // methods of the path, with HEAD and OPTIONS
    std::vector<std::size_t> others;              // routes of the path by any method
  };
  // HEAD finds the route of GET. `path` is decoded. OPTIONS finds nothing: the caller answers it
  // from `allowed`.
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

// "GET, HEAD, OPTIONS": the value of an Allow header.
[[nodiscard]] std::string allow_header(std::span<const Method> methods);

}  // namespace assay::server
