// SPDX-License-Identifier: Apache-2.0
#include "server/http/router.h"

#include <algorithm>

namespace assay::server {
namespace {

// "/a/b" is {"a", "b"}; an empty segment matches nothing, so "/a/" and "//a" have no route.
std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);
    parts.push_back(path.substr(0, path.find('/')));
    path.remove_prefix(parts.back().size());
  }
  return parts;
}

}  // namespace

std::vector<Router::Segment> Router::parse(std::string_view path) {
  std::vector<Segment> segments;
  for (const std::string_view part : split(path)) {
    const auto close = part.find('}');
    if (part.empty() || part.front() != '{' || close == std::string_view::npos) {
      segments.push_back({Segment::Kind::kLiteral, std::string(part), ""});
      continue;
    }
    const std::string_view name = part.substr(1, close - 1);
    if (name.ends_with("...")) {
      const std::string rest(name.substr(0, name.size() - 3));
      segments.push_back({Segment::Kind::kRest, rest, ""});
    } else if (close + 1 < part.size()) {
      const std::string verb(part.substr(close + 1));
      segments.push_back({Segment::Kind::kVerb, std::string(name), verb});
    } else {
      segments.push_back({Segment::Kind::kCapture, std::string(name), ""});
    }
  }
  return segments;
}

Router::Router(std::span<const RoutePattern> patterns) {
  for (const RoutePattern& pattern : patterns) {
    templates_.push_back({pattern, parse(pattern.path)});
  }
}

bool Router::matches(const Template& candidate, std::span<const std::string_view> parts,
                     std::map<std::string, std::string>& captures) {
  const std::vector<Segment>& segments = candidate.segments;
  const bool rest = !segments.empty() && segments.back().kind == Segment::Kind::kRest;
  if (rest ? parts.size() < segments.size() : parts.size() != segments.size()) {
    return false;
  }
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Segment& segment = segments[i];
    std::string_view part = parts[i];
    switch (segment.kind) {
      case Segment::Kind::kLiteral:
        if (part != segment.text) {
          return false;
        }
        continue;
      case Segment::Kind::kRest:
        part = std::string_view(part.data(), parts.back().data() + parts.back().size());
        break;
      case Segment::Kind::kVerb:
        if (!part.ends_with(segment.verb)) {
          return false;
        }
        part.remove_suffix(segment.verb.size());
        break;
      case Segment::Kind::kCapture:
        break;
    }
    if (part.empty()) {
      return false;
    }
    captures[segment.text] = part;
  }
  return true;
}

bool Router::better(const Template& a, const Template& b) {
  return std::ranges::lexicographical_compare(a.segments, b.segments, std::ranges::less(),
                                              &Segment::kind, &Segment::kind);
}

Router::Match Router::find(Listener listener, std::optional<Method> method,
                           std::string_view path) const {
  const std::vector<std::string_view> parts = split(path);
  const Template* best = nullptr;
  Match match;
  for (const Template& candidate : templates_) {
    std::map<std::string, std::string> captures;
    if (candidate.pattern.listener != listener || !matches(candidate, parts, captures)) {
      continue;
    }
    // Templates of the same shape are one resource; a more specific shape hides the others.
    if (best != nullptr && better(*best, candidate)) {
      continue;
    }
    if (best == nullptr || better(candidate, *best)) {
      match = {Match::Kind::kMethodNotAllowed, 0, {}, {}, {}};
    }
    best = &candidate;
    const auto index = static_cast<std::size_t>(&candidate - templates_.data());
    const Method own = candidate.pattern.method;
    match.others.push_back(index);
    match.allowed.push_back(own);
    if (own == Method::kGet) {
      match.allowed.push_back(Method::kHead);
    }
    if (method == own || (method == Method::kHead && own == Method::kGet)) {
      match.kind = Match::Kind::kFound;
      match.route = index;
      match.captures = std::move(captures);
    }
  }
  if (best != nullptr) {
    match.allowed.push_back(Method::kOptions);
  }
  return match;
}

std::string allow_header(std::span<const Method> methods) {
  std::string text;
  for (const Method method : methods) {
    text += text.empty() ? "" : ", ";
    text += name(method);
  }
  return text;
}

}  // namespace assay::server
