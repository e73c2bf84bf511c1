// SPDX-License-Identifier: Apache-2.0
// A check of memory that a separate process makes (reader.h). This side sends the questions, passes
// on what the process needs from the owner (owner.h), and refuses answers that do not fit the
// questions.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "worker/instances/checks.h"
#include "worker/reader/reader.h"

namespace assay::worker {

class ReaderCheck final : public MemoryCheck {
 public:
  // Does what Checks::start() does. `reader` must be a process that reads the device of the owner's
  // registration. Errors also: unavailable when this process is about to end.
  [[nodiscard]] static Result<std::unique_ptr<MemoryCheck>> start(std::shared_ptr<Reader> reader,
                                                                  std::shared_ptr<Owner> owner,
                                                                  std::vector<std::size_t> tensors,
                                                                  const CheckOptions& options);
  // Waits until the memory is released (Reader::close()).
  ~ReaderCheck() override;

  [[nodiscard]] const std::vector<Digest>& roots() const override { return roots_; }
  [[nodiscard]] const Reached& reached() const override { return reached_; }
  [[nodiscard]] const gpu_hash::EngineInfo& engine() const override { return reader_->engine(); }
  [[nodiscard]] const PassTimes& times() const override { return times_; }
  [[nodiscard]] unsigned slices() const override { return static_cast<unsigned>(slices_.size()); }
  [[nodiscard]] std::uint64_t bytes_of(unsigned slice) const override { return slices_.at(slice); }
  using MemoryCheck::look;
  [[nodiscard]] Result<Looked> look(std::span<const unsigned> slices, std::uint64_t count,
                                    ExportTime* exports) override;
  [[nodiscard]] Status draw(std::uint64_t count, ExportTime* exports) override;
  [[nodiscard]] Result<Redraw> redraw(std::uint64_t count, ExportTime* exports) override;
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> outline(
      std::span<const std::size_t> tensors, std::uint64_t span) override;
  [[nodiscard]] bool is_over() const override { return stop_.stop_requested(); }

 private:
  // What the process may ask of the owner during one call.
  struct Allowance {
    std::uint64_t pieces = 0;  // exports
    std::uint64_t staged = 0;  // bytes
    ExportTime* exports = nullptr;
  };

  ReaderCheck(std::shared_ptr<Reader> reader, std::shared_ptr<Owner> owner,
              std::vector<std::size_t> tensors, const CheckOptions& options);
  [[nodiscard]] wire::Start start_message(const CheckOptions& options) const;
  [[nodiscard]] Status full_pass(const CheckOptions& options);
  // Sends a question and returns the answer. An answer of another type than `Answer` is an error.
  template <typename Answer>
  [[nodiscard]] Result<Answer> ask(const wire::ToReader& question, Allowance allowance,
                                   std::span<const int> descriptors = {});
  [[nodiscard]] Result<wire::FromReader> answer(Allowance& allowance);
  [[nodiscard]] Status serve(const wire::Export& wanted, Allowance& allowance);
  [[nodiscard]] Status serve(const wire::Stage& wanted, Allowance& allowance);
  [[nodiscard]] Result<std::vector<std::size_t>> numbers(const wire::Numbers& tensors);
  [[nodiscard]] Result<Redraw> redraw_of(std::uint64_t count, std::uint64_t drawn,
                                         std::uint64_t pieces, const wire::Numbers& changed);
  [[nodiscard]] std::unexpected<Error> nonsense(const std::string& what);
  [[nodiscard]] const InstanceTensor& tensor(std::size_t number) const;

  std::shared_ptr<Reader> reader_;
  std::shared_ptr<Owner> owner_;
  std::vector<std::size_t> tensors_;  // positions in the registration
  HashAlgorithm hash_;
  Reached reached_;
  std::vector<bool> exported_;  // pieces that the tensors lie in and that can be exported
  std::uint64_t pieces_ = 0;    // number of pieces with true in exported_
  std::optional<std::uint64_t> check_;
  std::vector<Digest> roots_;
  std::vector<std::uint64_t> slices_;  // bytes
  PassTimes times_;                    // as the process says
  // A stop is requested by on_stop_ or by on_ended_.
  std::stop_source stop_;
  struct Forward {
    std::stop_source& to;
    void operator()() const { to.request_stop(); }
  };
  std::stop_callback<Forward> on_stop_;
  std::stop_callback<Forward> on_ended_;
};

}  // namespace assay::worker
