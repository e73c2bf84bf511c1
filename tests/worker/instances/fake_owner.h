// SPDX-License-Identifier: Apache-2.0
// An owner of host memory without a socket: real memory files, which it can flip, replace and take
// back.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "schemas/manifest.h"
#include "worker/instances/hints.h"
#include "worker/instances/instances.h"
#include "worker/instances/owner.h"

namespace assay::worker::test {

// A memory file that its owner has mapped shared.
class MemoryFile {
 public:
  explicit MemoryFile(ByteView bytes, int seals = -1);
  explicit MemoryFile(std::size_t size, int seals = -1);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] Descriptor share() const;
  [[nodiscard]] std::uint8_t* memory() const { return memory_; }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  Descriptor fd_;
  std::size_t size_;
  std::uint8_t* memory_ = nullptr;
};

class FakeOwner final : public Owner {
 public:
  explicit FakeOwner(const ArtifactId& artifact, std::uint64_t rank = 0, std::uint64_t world = 1);

  // Before anybody reads it.
  std::uint64_t add_piece(PieceKind kind, ByteView bytes);
  void add_tensor(const std::string& name, const std::vector<InstancePart>& parts);
  // One piece, one tensor of type U8.
  void add(const std::string& name, ByteView bytes, PieceKind kind = PieceKind::kHost);
  InstanceRegistration& edit() { return registration_; }
  Peer& edit_peer() { return peer_; }
  void edit_storage_changed() { storage_changed_ = true; }

  void flip(std::uint64_t piece, std::uint64_t offset);
  // Other memory with these bytes, under the same number: exports made before show the old one.
  void replace(std::uint64_t piece, ByteView bytes);
  // What export_pieces() hands out for this piece from now on.
  void hand_out(std::uint64_t piece, std::function<Descriptor()> make);
  // Takes the memory back.
  void end() { ended_.request_stop(); }
  // Called at the begin of each export and copy.
  void on_call(std::function<void()> call) { on_call_ = std::move(call); }
  // Called at the end of each tell().
  void on_told(std::function<void(InstanceState)> call) { on_told_ = std::move(call); }

  [[nodiscard]] std::uint64_t exported();
  [[nodiscard]] std::size_t largest_export();
  // Waits until this is the last state that was told.
  void await(InstanceState state);
  [[nodiscard]] std::vector<Finding> told();

  [[nodiscard]] const std::string& id() const override { return id_; }
  [[nodiscard]] const Peer& peer() const override { return peer_; }
  [[nodiscard]] const InstanceRegistration& registration() const override { return registration_; }
  [[nodiscard]] std::stop_token ended() const override { return ended_.get_token(); }
  [[nodiscard]] Result<std::vector<Descriptor>> export_pieces(
      std::span<const std::uint64_t> pieces) override;
  [[nodiscard]] Status stage(std::uint64_t piece, std::uint64_t offset, std::uint64_t size,
                             const std::function<Status()>& use) override;
  [[nodiscard]] bool storage_changed() const override { return storage_changed_; }
  [[nodiscard]] int window() const override { return window_ ? window_->fd() : -1; }
  void begin_check() override {}
  void tell(InstanceState state, std::span<const Finding> findings) override;
  [[nodiscard]] std::shared_ptr<const HintsPage> hints() const override { return hints_; }
  void yielded(std::uint64_t slices, std::chrono::milliseconds next) override;

  // Shares a page with these words. Returns the words.
  std::uint64_t* share_hints();
  // Waits for the answer to a yield: slices, and when another one makes sense.
  std::pair<std::uint64_t, std::chrono::milliseconds> await_yielded();

 private:
  bool storage_changed_ = false;
  struct Memory {
    std::unique_ptr<MemoryFile> file{};  // of kinds with descriptors
    Bytes bytes{};                       // staged
    std::function<Descriptor()> make{};
  };

  std::string id_ = "0198f0a2-7c3e-7bbb-8123-456789abcdef";
  Peer peer_{1, 1000, "", ""};
  InstanceRegistration registration_;
  std::stop_source ended_;
  std::function<void()> on_call_ = [] {};
  std::function<void(InstanceState)> on_told_ = [](InstanceState) {};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<MemoryFile> window_;
  std::mutex staging_;          // while the window is used
  std::vector<Memory> memory_;  // guarded by mutex_, as what follows
  std::uint64_t exported_ = 0;
  std::size_t largest_ = 0;
  InstanceState state_ = InstanceState::kPending;
  std::vector<Finding> findings_;
  std::vector<std::pair<std::uint64_t, std::chrono::milliseconds>> yielded_;
  std::unique_ptr<MemoryFile> page_;
  std::shared_ptr<const HintsPage> hints_;
};

class FakeInstances final : public Instances {
 public:
  explicit FakeInstances(std::vector<std::shared_ptr<Owner>> owners) : owners_(std::move(owners)) {}
  [[nodiscard]] std::vector<std::shared_ptr<Owner>> find(std::string_view pod,
                                                         std::string_view instance) override;
  [[nodiscard]] std::optional<Refusal> refused(std::string_view, std::string_view) override {
    return std::nullopt;
  }

 private:
  std::vector<std::shared_ptr<Owner>> owners_;
};

// Bytes that differ from place to place and from seed to seed.
[[nodiscard]] Bytes some_bytes(std::size_t size, std::uint64_t seed);

// A manifest of tensors of type U8 in one file, in the order of their names.
struct NamedBytes {
  std::string name;
  Bytes bytes;
};
[[nodiscard]] Manifest manifest_of(const std::vector<NamedBytes>& tensors);

// Descriptors that this process has open.
[[nodiscard]] std::size_t open_descriptors();

}  // namespace assay::worker::test
