// SPDX-License-Identifier: Apache-2.0
#include "tests/support/policy_reference_pod.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <regex>
#include <utility>

#include "policy/filler.h"

namespace assay::policy::reference {
namespace {

bool glob(const std::string& pattern, const std::string& text) {
  std::string regex;
  for (const char c : pattern) {
    regex += c == '*' ? std::string(".*") : std::string("[") + c + "]";
  }
  return std::regex_match(text, std::regex(regex));
}

bool one_of(const std::vector<std::string>& patterns, const std::string& text) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return glob(pattern, text); });
}

void gather(const std::vector<Condition>& list, std::vector<SignerRequirement>& found) {
  for (const Condition& condition : list) {
    if (const auto* manifest = std::get_if<ManifestCondition>(&condition.kind)) {
      found.push_back(manifest->signers);
    } else if (const auto* all = std::get_if<AllCondition>(&condition.kind)) {
      gather(all->of, found);
    } else if (const auto* any = std::get_if<AnyCondition>(&condition.kind)) {
      gather(any->of, found);
    } else if (const auto* some = std::get_if<AtLeastCondition>(&condition.kind)) {
      gather(some->of, found);
    }
  }
}

bool meets(const std::set<std::string>& identities, const SignerRequirement& asked) {
  std::size_t listed = 0;
  for (const std::string& one : identities) {
    const auto& list = asked.identities;
    listed += list.empty() || std::count(list.begin(), list.end(), one) > 0 ? 1U : 0U;
  }
  return listed >= std::max<std::size_t>(asked.at_least, 1);
}

using Texts = std::set<std::string>;

// Without "." and empty parts, and with a slash behind it.
std::string plain(const std::string& path) {
  std::string text =
      ("/" / std::filesystem::path(path).relative_path()).lexically_normal().string();
  return text + (text.ends_with('/') ? "" : "/");
}

// `below` lies in `above`, or is it.
bool in(const std::string& below, const std::string& above) { return below.starts_with(above); }

// With a slash behind it; nothing when only the running container knows it.
std::optional<std::string> real(const std::string& path) {
  static const std::pair<std::string, std::string> links[] = {{"/var/run/", "/run/"},
                                                              {"/var/lock/", "/run/lock/"},
                                                              {"/var/spool/lock/", "/run/lock/"},
                                                              {"/bin/", "/usr/bin/"},
                                                              {"/sbin/", "/usr/sbin/"},
                                                              {"/lib/", "/usr/lib/"},
                                                              {"/lib32/", "/usr/lib32/"},
                                                              {"/lib64/", "/usr/lib64/"},
                                                              {"/libx32/", "/usr/libx32/"},
                                                              {"/usr/tmp/", "/var/tmp/"},
                                                              {"/var/mail/", "/var/spool/mail/"},
                                                              {"/dev/fd/", "/proc/self/fd/"},
                                                              {"/dev/stdin/", "/proc/self/fd/0/"},
                                                              {"/dev/stdout/", "/proc/self/fd/1/"},
                                                              {"/dev/stderr/", "/proc/self/fd/2/"}};
  const std::filesystem::path below = std::filesystem::path(path).relative_path();
  if (std::find(below.begin(), below.end(), "..") != below.end() || path.size() > 4096) {
    return std::nullopt;
  }
  std::string text = plain(path);
  for (const auto& [link, target] : links) {
    if (text.starts_with(link)) {
      text = target + text.substr(link.size());
      break;
    }
  }
  const bool deep = text.starts_with("/proc/") && std::count(text.begin(), text.end(), '/') > 3;
  const bool self = text == "/proc/self/" || text == "/proc/thread-self/";
  return deep || self ? std::nullopt : std::optional(text);
}

bool believes(const PolicyDocument& policy, const Placed& model, const Said& said, bool optimist) {
  std::vector<SignerRequirement> asked;
  gather(policy.require, asked);
  bool counts = !asked.empty() && (model.name.empty() || model.name == said.name);
  for (const SignerRequirement& one : asked) {
    counts = counts && meets(optimist ? said.perhaps : said.surely, one);
  }
  return counts;
}

// The pod under one policy in one world.
struct Pod {
  const PolicyDocument& policy;
  const Workload& workload;
  const std::vector<Placed>& models;
  bool optimist;

  [[nodiscard]] Texts places(const Placed& model) const {
    Texts found;
    for (const Said& said : model.said) {
      if (believes(policy, model, said, optimist)) {
        found.insert(said.locations.begin(), said.locations.end());
      }
    }
    return found;
  }
  static bool can_hold(const Mount& mount) {
    return mount.device || mount.kind == VolumeKind::kModel;
  }
  // A model of a Hugging Face cache is one directory with links in it.
  static bool is_cache(const std::string& place) {
    return std::regex_match(place, std::regex(".*/(models|datasets)--[^/]+"));
  }
  // The locations of `model` that the mount shows.
  [[nodiscard]] Texts shown(const Mount& mount, const Placed& model) const {
    Texts found;
    for (const std::string& place : places(model)) {
      const bool inside = mount.location.starts_with(place + "/");
      if (can_hold(mount) && !mount.location.empty() &&
          (mount.location == place ||
           (inside && policy.mounts == MountRule::kWithin && !model.links && !is_cache(place)))) {
        found.insert(place);
      }
    }
    return found;
  }
  [[nodiscard]] bool is_judged(const Mount& mount) const {
    return std::any_of(models.begin(), models.end(),
                       [&](const Placed& model) { return !shown(mount, model).empty(); });
  }
  // Of places inside each other the innermost is meant.
  [[nodiscard]] Texts bound(const Placed& model) const {
    Texts found;
    for (const Mount& mount : workload.mounts) {
      const Texts all = shown(mount, model);
      const auto longest = std::max_element(
          all.begin(), all.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
      if (!mount.device && longest != all.end()) {
        found.insert(*longest);
      }
    }
    return found;
  }
  // Of the entries about the image, one has both lists, or there is no entry.
  [[nodiscard]] bool runs_what_it_may(const ContainerImage& image) const {
    bool any = false;
    bool right = false;
    for (const Filler& filler : policy.fillers) {
      if (image.image.ends_with("@" + filler.image)) {
        any = true;
        const bool same_command =
            !filler.command || image.command == run_list_digest(*filler.command);
        const bool same_args = !filler.args || image.args == run_list_digest(*filler.args);
        right = right || (same_command && same_args);
      }
    }
    return right || !any;
  }
  [[nodiscard]] bool is_init(const std::string& container, bool allowed) const {
    const auto fills = [&](const ContainerImage& image) {
      bool listed = false;
      for (const std::string& digest : policy.fill_at_run) {
        listed = listed || image.image.ends_with("@" + digest);
      }
      return image.init && listed && runs_what_it_may(image) &&
             image.image.find('@') == image.image.rfind('@');
    };
    const auto end = workload.images.end();
    const auto first = std::find_if(workload.images.begin(), end, fills);
    const auto last = std::find_if_not(first, end, fills);  // fillers stand together
    return std::any_of(
        allowed ? first : workload.images.begin(), allowed ? last : end,
        [&](const auto& image) { return image.init && image.container == container; });
  }
  [[nodiscard]] bool is_filled(const std::string& volume) const {
    Texts containers;
    bool filler = false;
    for (const Mount& mount : workload.mounts) {
      if (mount.volume == volume && mount.kind == VolumeKind::kScratch && !mount.device) {
        containers.insert(mount.container);
        filler = filler || is_init(mount.container, true);
      }
    }
    return filler && containers.size() > 1;
  }
  [[nodiscard]] bool is_filled(const Mount& mount) const {
    return mount.kind == VolumeKind::kScratch && is_filled(mount.volume);
  }

  [[nodiscard]] bool accounted() const {
    return std::all_of(workload.mounts.begin(), workload.mounts.end(), [&](const Mount& mount) {
      return !can_hold(mount) || is_judged(mount) || one_of(policy.other_volumes, mount.source) ||
             (!mount.location.empty() && one_of(policy.other_volumes, mount.location));
    });
  }
  // Whoever fills no volume has whole ones, or a known part where no link leads out of it.
  [[nodiscard]] bool parts_are_right() const {
    const bool all_mounted = std::none_of(models.begin(), models.end(),
                                          [&](const Placed& one) { return bound(one).empty(); });
    const bool links = std::any_of(models.begin(), models.end(), [&](const Placed& one) {
      return one.links && (all_mounted || bound(one).empty());
    });
    const bool parts = policy.mounts == MountRule::kWithin && !links;
    return std::all_of(workload.mounts.begin(), workload.mounts.end(), [&](const Mount& mount) {
      const bool whole = mount.part.has_value() && mount.part->empty();
      return !is_filled(mount) || is_init(mount.container, true) || whole ||
             (parts && mount.part.has_value());
    });
  }
  // Nobody knows that it is something else than a model of the pod.
  [[nodiscard]] static bool anything(const Mount& mount) {
    const std::string place = mount.location + mount.volume_location;
    if (place.empty()) {
      return mount.source != "ephemeral";
    }
    const std::string scheme = "hostpath://";
    const std::optional<std::string> path =
        place.starts_with(scheme) ? real(place.substr(scheme.size())) : "//";
    const Texts places = {"/var/lib/kubelet/",
                          "/var/lib/k0s/",
                          "/var/lib/rancher/",
                          "/var/lib/containerd/",
                          "/var/lib/containers/",
                          "/var/lib/crio/",
                          "/var/lib/docker/",
                          "/var/lib/cni/",
                          "/var/lib/nerdctl/",
                          "/var/snap/",
                          "/run/",
                          "/proc/",
                          "/sys/",
                          "/dev/"};
    return !path || path->find("/kubelet/") != std::string::npos ||
           std::any_of(places.begin(), places.end(),
                       [&](const std::string& one) { return in(*path, one) || in(one, *path); });
  }
  // What the node has mounted below a directory stays writable, unless the pod says otherwise. In
  // the directory of the agent's socket is nothing.
  [[nodiscard]] static bool read_only_below(const Mount& mount) {
    const std::string place = mount.location + mount.volume_location;
    const bool of_node = mount.source == "hostPath" || place.rfind("hostpath:", 0) == 0;
    return mount.read_only_below || !of_node || place == "hostpath:///run/assay" ||
           place == "hostpath:///var/run/assay";
  }
  [[nodiscard]] bool is_model(const Mount& mount) const {
    return is_judged(mount) || is_filled(mount);
  }
  // Nothing but models is mounted where the policy lets models be mounted.
  [[nodiscard]] bool reserved(const Mount& mount) const {
    if (policy.mount_paths.empty()) {
      return false;
    }
    const std::optional<std::string> path = real(mount.path);
    return path && !is_model(mount) &&
           std::any_of(policy.mount_paths.begin(), policy.mount_paths.end(),
                       [&](const std::string& pattern) {
                         const std::string before = pattern.substr(0, pattern.find('*'));
                         return path->starts_with(before + (before == pattern ? "/" : "")) ||
                                in(before + (before == pattern ? "/" : ""), *path);
                       });
  }
  // Something of the runtime is there, around it or in it.
  [[nodiscard]] static bool at_runtime(const Mount& mount) {
    const std::string path = real(mount.path).value_or("/");
    const Texts places = {"/dev/",       "/proc/",         "/sys/",
                          "/etc/hosts/", "/etc/hostname/", "/etc/resolv.conf/"};
    return !mount.device && std::any_of(places.begin(), places.end(), [&](const auto& place) {
      return in(path, place) || in(place, path);
    });
  }
  // A directory above `below` is that of `above`, by either spelling.
  [[nodiscard]] static bool under(const Mount& below, const Mount& above) {
    const auto lower = real(below.path);
    const auto upper = real(above.path);
    if (!lower || !upper) {
      return true;
    }
    return (*lower != *upper && in(*lower, *upper)) ||
           (plain(below.path) != plain(above.path) && in(plain(below.path), plain(above.path)));
  }
  // Neither moves the model away, nor can be led to it by a link.
  [[nodiscard]] bool out_of_the_way(const Mount& other, const Mount& model) const {
    return is_model(other) ||
           (!under(model, other) &&
            std::none_of(workload.mounts.begin(), workload.mounts.end(), [&](const Mount& third) {
              return third.container == other.container && !is_model(third) &&
                     third.kind != VolumeKind::kConfig && under(other, third) && &third != &other;
            }));
  }
  [[nodiscard]] bool apart() const {
    for (const Mount& other : workload.mounts) {
      if (other.volume.empty() && other.path == "/proc") {
        continue;  // the container's own
      }
      if (reserved(other)) {
        return false;
      }
      for (const Mount& model : workload.mounts) {
        if (model.container != other.container || !is_model(model)) {
          continue;
        }
        const auto above = real(model.path);
        const auto below = real(other.path);
        if (!below || (&other != &model && (!above || below->starts_with(*above)))) {
          return false;
        }
        if (at_runtime(model) || !out_of_the_way(other, model)) {
          return false;
        }
      }
    }
    return true;
  }
  [[nodiscard]] bool in_place() const {
    return policy.mount_paths.empty() ||
           std::all_of(workload.mounts.begin(), workload.mounts.end(), [&](const Mount& mount) {
             const std::optional<std::string> path = real(mount.path);
             return mount.device || !is_model(mount) ||
                    (path && one_of(policy.mount_paths, path->substr(0, path->size() - 1)));
           });
  }
  // Somebody else sees the process that fills a volume.
  [[nodiscard]] bool filler_is_seen() const {
    const auto sees = [&](const Mount& mount) {
      return mount.path == "/proc" && mount.volume.empty() && !is_init(mount.container, true) &&
             (mount.source == "shareProcessNamespace" || mount.source == "targetContainerName");
    };
    return std::any_of(workload.mounts.begin(), workload.mounts.end(), sees) &&
           std::any_of(workload.mounts.begin(), workload.mounts.end(),
                       [&](const Mount& mount) { return is_filled(mount); });
  }
  [[nodiscard]] bool kept() const {
    Texts all;
    for (const Placed& model : models) {
      all.merge(bound(model));
    }
    const bool again = std::any_of(workload.images.begin(), workload.images.end(),
                                   [](const ContainerImage& image) { return image.remounts; }) &&
                       std::any_of(workload.mounts.begin(), workload.mounts.end(),
                                   [&](const Mount& mount) { return is_model(mount); });
    const bool any_filled = std::any_of(workload.mounts.begin(), workload.mounts.end(),
                                        [&](const Mount& mount) { return is_filled(mount); });
    return policy.writable_mounts ||
           (!again && !filler_is_seen() &&
            std::all_of(workload.mounts.begin(), workload.mounts.end(), [&](const Mount& mount) {
              const std::string whole =
                  mount.location.empty() ? mount.volume_location : mount.location;
              const bool touches =
                  can_hold(mount) &&
                  ((anything(mount) && (any_filled || !all.empty())) ||
                   (!whole.empty() &&
                    std::any_of(all.begin(), all.end(), [&](const std::string& place) {
                      return (place + "/").starts_with(whole + "/") ||
                             (whole + "/").starts_with(place + "/");
                    })));
              const bool fills = is_init(mount.container, true);
              if (mount.read_only && (is_model(mount) || !touches || read_only_below(mount))) {
                return true;
              }
              return is_filled(mount) ? fills : !is_judged(mount) && !touches;
            }));
  }
};

Answer make(const char* id, Outcome outcome, Reason code) {
  return {id, outcome, outcome == Outcome::kPass ? std::nullopt : std::optional(code), {}};
}

bool has_report_at_serve(const std::vector<Condition>& list) {
  return std::any_of(list.begin(), list.end(), [](const Condition& condition) {
    const auto* all = std::get_if<AllCondition>(&condition.kind);
    const auto* report = std::get_if<ReportCondition>(&condition.kind);
    return (report != nullptr && (report->at_serve || report->scope != "files")) ||
           (all != nullptr && has_report_at_serve(all->of));
  });
}

Answer bound(const Pod& no, const Pod& yes, const Placed& model, DecisionPoint point) {
  constexpr const char* kId = "reference-bound";
  if (!no.bound(model).empty()) {
    return make(kId, Outcome::kPass, Reason::kConditionDeferred);
  }
  const bool filled =
      std::any_of(no.workload.mounts.begin(), no.workload.mounts.end(),
                  [&](const Mount& mount) { return !mount.device && no.is_filled(mount); });
  if (filled && point != DecisionPoint::kServe) {
    return make(kId, Outcome::kDeferred, Reason::kConditionDeferred);
  }
  if (filled && has_report_at_serve(no.policy.require)) {
    return make(kId, Outcome::kPass, Reason::kConditionDeferred);
  }
  return yes.bound(model).empty() ? make(kId, Outcome::kFail, Reason::kReferenceUnbound)
                                  : make(kId, Outcome::kError, Reason::kConditionUndecided);
}

Answer volumes(const Pod& no, const Pod& yes) {
  constexpr const char* kId = "volumes";
  if (!yes.accounted() || !no.parts_are_right()) {
    return make(kId, Outcome::kFail, Reason::kVolumeUnaccounted);
  }
  if (!no.apart()) {
    return make(kId, Outcome::kFail, Reason::kMountOverlaps);
  }
  if (!no.in_place()) {
    return make(kId, Outcome::kFail, Reason::kMountPathNotAllowed);
  }
  if (!no.kept()) {
    return make(kId, Outcome::kFail, Reason::kMountWritable);
  }
  return no.accounted() ? make(kId, Outcome::kPass, Reason::kConditionDeferred)
                        : make(kId, Outcome::kError, Reason::kConditionUndecided);
}

Answer images(const PolicyDocument& policy, const Workload& workload) {
  const bool good =
      std::all_of(workload.images.begin(), workload.images.end(), [&](const auto& one) {
        return one.image.find('@') == one.image.rfind('@') && one_of(policy.images, one.image);
      });
  if (!good) {
    return make("images", Outcome::kFail, Reason::kImageNotAllowed);
  }
  return make("images", workload.images.empty() ? Outcome::kError : Outcome::kPass,
              Reason::kConditionUndecided);
}

}  // namespace

std::set<std::string> believed_names(const PolicyDocument& policy, const Placed& model) {
  std::set<std::string> names;
  for (const Said& said : model.said) {
    if (said.manifest && believes(policy, model, said, false)) {
      names.insert(said.name);
    }
  }
  return names;
}

std::set<std::string> bound_places(const PolicyDocument& policy, const Workload& workload,
                                   const std::vector<Placed>& models, std::size_t index) {
  return workload.pod ? Pod{policy, workload, models, false}.bound(models[index])
                      : std::set<std::string>();
}

std::set<std::string> filled_volumes(const PolicyDocument& policy, const Workload& workload) {
  std::set<std::string> found;
  const std::vector<Placed> none;
  const Pod pod{policy, workload, none, false};
  for (const Mount& mount : workload.mounts) {
    if (workload.pod && !mount.device && pod.is_filled(mount)) {
      found.insert(mount.volume);
    }
  }
  return found;
}

std::vector<Answer> implied(const PolicyDocument& policy, const Workload& workload,
                            const std::vector<Placed>& models, std::size_t index,
                            DecisionPoint point) {
  if (!workload.pod) {
    return {};
  }
  const Pod no{policy, workload, models, false};
  const Pod yes{policy, workload, models, true};
  std::vector<Answer> answers = {bound(no, yes, models[index], point)};
  if (index == 0) {
    answers.push_back(volumes(no, yes));
    if (!policy.images.empty()) {
      answers.push_back(images(policy, workload));
    }
  }
  return answers;
}

}  // namespace assay::policy::reference
