// SPDX-License-Identifier: Apache-2.0
// Layouts without a signature: the closed table takes what servers do to every model, and refuses
// each way to give a tensor the meaning of another one although every byte is right.
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "schemas/layout_check.h"
#include "tests/schemas/layouts.h"

namespace assay {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): short expressions

// A toy Mixtral: two layers, two experts.
Artifact mixtral() {
  std::vector<ToyTensor> toys = {{"lm_head.weight", "F32", {6, 4}},
                                 {"model.embed_tokens.weight", "F32", {6, 4}},
                                 {"model.norm.weight", "F32", {4}}};
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    toys.push_back({layer + "input_layernorm.weight", "F32", {4}});
    toys.push_back({layer + "self_attn.q_proj.weight", "F32", {4, 4}});
    toys.push_back({layer + "self_attn.k_proj.weight", "F32", {2, 4}});
    toys.push_back({layer + "self_attn.v_proj.weight", "F32", {2, 4}});
    toys.push_back({layer + "block_sparse_moe.gate.weight", "F32", {2, 4}});
    for (const std::string expert : {"0", "1"}) {
      const std::string of = layer + "block_sparse_moe.experts." + expert + ".";
      toys.push_back({of + "w1.weight", "F32", {3, 4}});
      toys.push_back({of + "w2.weight", "F32", {4, 3}});
      toys.push_back({of + "w3.weight", "F32", {3, 4}});
    }
  }
  return toy_artifact(toys);
}

using Tensors = std::map<std::string, LayoutTensor>;

void add(Tensors& tensors, const std::string& name, const std::string& dtype, Shape shape,
         LayoutExpression from) {
  tensors[name] = {name, dtype, std::move(shape), std::move(from)};
}

LayoutExpression experts(const std::string& layer, const std::string& module) {
  const std::string of = layer + "block_sparse_moe.experts.";
  return stack({entry(of + "0." + module + ".weight"), entry(of + "1." + module + ".weight")}, 0);
}

// Cast, joined and stacked as a server does.
Tensors served() {
  Tensors tensors;
  const auto whole = [&](const std::string& name, const std::string& own, Shape shape) {
    add(tensors, own, "BF16", std::move(shape), cast(entry(name), "BF16"));
  };
  whole("lm_head.weight", "lm_head.weight", {6, 4});
  whole("model.embed_tokens.weight", "model.embed_tokens.weight", {6, 4});
  whole("model.norm.weight", "model.norm.weight", {4});
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    whole(layer + "input_layernorm.weight", layer + "input_layernorm.weight", {4});
    whole(layer + "block_sparse_moe.gate.weight", layer + "mlp.gate.weight", {2, 4});
    const std::string attention = layer + "self_attn.";
    add(tensors, attention + "qkv_proj.weight", "BF16", {8, 4},
        cast(concat({entry(attention + "q_proj.weight"), entry(attention + "k_proj.weight"),
                     entry(attention + "v_proj.weight")},
                    0),
             "BF16"));
    add(tensors, layer + "mlp.experts.gate_up_proj", "BF16", {2, 6, 4},
        cast(concat({experts(layer, "w1"), experts(layer, "w3")}, 1), "BF16"));
    add(tensors, layer + "mlp.experts.down_proj", "BF16", {2, 4, 3},
        cast(experts(layer, "w2"), "BF16"));
  }
  return tensors;
}

Layout layout_of(const Tensors& tensors) {
  std::vector<LayoutTensor> list;
  for (const auto& [name, tensor] : tensors) {
    list.push_back(tensor);
  }
  return toy_layout(mixtral(), list);
}

// The layout must be right in every byte, so that the table alone stands against it.
void expect_faultless(const Layout& layout, const Artifact& artifact) {
  const auto faults = check_layout(layout, artifact_id(artifact).value(), artifact);
  EXPECT_TRUE(faults.empty()) << to_string(faults.front());
}

TEST(LayoutTable, WorkOfServers_IsByTable) {
  const Layout layout = layout_of(served());
  expect_faultless(layout, mixtral());
  const auto status = is_by_table(layout, mixtral());
  EXPECT_TRUE(status) << to_string(status.error());
}

TEST(LayoutTable, OtherNamesOfServers_AreByTable) {
  const Artifact artifact = toy_artifact({{"experts.0.gate_proj.weight", "BF16", {3, 4}},
                                          {"experts.0.up_proj.weight", "BF16", {3, 4}},
                                          {"experts.0.down_proj.weight", "BF16", {4, 3}},
                                          {"mlp.gate_proj.bias", "BF16", {3}},
                                          {"mlp.up_proj.bias", "BF16", {3}},
                                          {"a.query.bias", "BF16", {3}},
                                          {"a.key.bias", "BF16", {3}},
                                          {"a.value.bias", "BF16", {3}},
                                          {"norm", "BF16", {3}}});
  const Layout layout = toy_layout(
      artifact, {{"model.experts.w13_weight",
                  "BF16",
                  {1, 6, 4},
                  concat({stack({entry("experts.0.gate_proj.weight")}, 0),
                          stack({entry("experts.0.up_proj.weight")}, 0)},
                         1)},
                 {"model.experts.w2_weight",
                  "BF16",
                  {1, 4, 3},
                  stack({entry("experts.0.down_proj.weight")}, 0)},
                 {"model.mlp.gate_up_proj.bias",
                  "BF16",
                  {6},
                  concat({entry("mlp.gate_proj.bias"), entry("mlp.up_proj.bias")}, 0)},
                 {"a.qkv_proj.bias",
                  "BF16",
                  {9},
                  concat({entry("a.query.bias"), entry("a.key.bias"), entry("a.value.bias")}, 0)},
                 {"model.norm", "BF16", {3}, entry("norm")}});
  expect_faultless(layout, artifact);
  const auto status = is_by_table(layout, artifact);
  EXPECT_TRUE(status) << to_string(status.error());
}

struct Attack {
  const char* about;
  std::function<void(Layout&)> change;
  bool faultless = true;  // every byte is in one place, or named
};

LayoutTensor& tensor(Layout& layout, const std::string& name) {
  return *std::ranges::find(layout.ranks.front().tensors, name, &LayoutTensor::name);
}

// long-function: a table of attacks
TEST(LayoutTable, EveryByteRightAndAnotherMeaning_IsRefused) {
  const auto exchange = [](const std::string& one, const std::string& other) {
    return [=](Layout& l) { std::swap(tensor(l, one).from, tensor(l, other).from); };
  };
  const std::string qkv = "model.layers.0.self_attn.qkv_proj.weight";
  const auto operands = [&](std::size_t one, std::size_t other, const std::string& name) {
    return [=](Layout& l) {
      std::vector<LayoutExpression>& of = tensor(l, name).from.of.at(0).of;
      std::swap(of.at(one), of.at(other));
    };
  };
  const std::vector<Attack> attacks = {
      {"two rows of the head exchanged",
       [](Layout& l) {
         LayoutTensor& head = tensor(l, "lm_head.weight");
         head.from = permute(head.from, 0, {1, 0, 2, 3, 4, 5});
       }},
      {"two rows of the head exchanged by slices",
       [](Layout& l) {
         LayoutTensor& head = tensor(l, "lm_head.weight");
         head.from = concat(
             {slice(head.from, 0, 1, 1), slice(head.from, 0, 0, 1), slice(head.from, 0, 2, 4)}, 0);
       }},
      {"head and embedding exchanged", exchange("lm_head.weight", "model.embed_tokens.weight")},
      {"the attention of two layers exchanged",
       exchange(qkv, "model.layers.1.self_attn.qkv_proj.weight")},
      {"the norms of two layers exchanged",
       exchange("model.layers.0.input_layernorm.weight", "model.layers.1.input_layernorm.weight")},
      {"a norm of a layer and the last one exchanged",
       exchange("model.norm.weight", "model.layers.1.input_layernorm.weight")},
      {"the experts of two layers exchanged",
       exchange("model.layers.0.mlp.experts.down_proj", "model.layers.1.mlp.experts.down_proj")},
      {"keys and values exchanged", operands(1, 2, qkv)},
      {"keys before queries", operands(0, 1, qkv)},
      {"gate and up exchanged", operands(0, 1, "model.layers.0.mlp.experts.gate_up_proj")},
      {"experts in another order", operands(0, 1, "model.layers.0.mlp.experts.down_proj")},
      {"keys of another layer",
       [&](Layout& l) {
         std::swap(tensor(l, qkv).from.of.at(0).of.at(1),
                   tensor(l, "model.layers.1.self_attn.qkv_proj.weight").from.of.at(0).of.at(1));
       }},
      {"a gate of another layer's expert",
       [](Layout& l) {
         std::swap(tensor(l, "model.layers.0.mlp.experts.gate_up_proj").from.of.at(0).of.at(0),
                   tensor(l, "model.layers.1.mlp.experts.gate_up_proj").from.of.at(0).of.at(0));
       }},
      {"the head left out",
       [](Layout& l) {
         std::erase_if(l.ranks[0].tensors,
                       [](const LayoutTensor& t) { return t.name == "lm_head.weight"; });
         l.dropped = {{"lm_head.weight"}};
       }},
      {"an expert left out",
       [](Layout& l) {
         LayoutTensor& down = tensor(l, "model.layers.0.mlp.experts.down_proj");
         down.from.of.at(0).of.pop_back();
         down.shape[0] = 1;
         l.dropped = {{"model.layers.0.block_sparse_moe.experts.1.w2.weight"}};
       }},
      {"one norm replicated instead of another",
       [](Layout& l) {
         tensor(l, "model.norm.weight").from =
             tensor(l, "model.layers.0.input_layernorm.weight").from;
         l.dropped = {{"model.norm.weight"}};
         l.replicated = {{"model.layers.0.input_layernorm.weight"}};
       }},
      {"zeros behind the head",
       [](Layout& l) {
         LayoutTensor& head = tensor(l, "lm_head.weight");
         head.from = pad(head.from, 0, 0, 2);
         head.shape[0] = 8;
       }},
      {"a square matrix transposed",
       [](Layout& l) {
         LayoutTensor& gate = tensor(l, "model.layers.0.mlp.gate.weight");
         gate.from = reshape(transpose(gate.from, {1, 0}), {2, 4});
       }},
      {"parts of the head on two ranks",
       [](Layout& l) {
         LayoutTensor& head = tensor(l, "lm_head.weight");
         LayoutTensor rest = head;
         head.from = slice(head.from, 0, 0, 3);
         rest.from = slice(rest.from, 0, 3, 3);
         head.shape[0] = rest.shape[0] = 3;
         l.ranks.push_back({{rest}});
       }},
      {"two tensors whose names differ by model. alone",
       [](Layout& l) {
         tensor(l, "model.norm.weight").name = "model.lm_head.weight";
         std::ranges::sort(l.ranks[0].tensors, {}, &LayoutTensor::name);
       }},
      {"stacked along another axis",
       [](Layout& l) {
         LayoutTensor& down = tensor(l, "model.layers.0.mlp.experts.down_proj");
         down.from.of.at(0).axis = 1;
         down.shape = {4, 2, 3};
       }},
  };
  for (const Attack& attack : attacks) {
    Layout layout = layout_of(served());
    attack.change(layout);
    SCOPED_TRACE(attack.about);
    expect_faultless(layout, mixtral());
    EXPECT_EQ(is_by_table(layout, mixtral()).error().code, ErrorCode::kLayoutNotByTable);
    EXPECT_FALSE(where_of(is_by_table(layout, mixtral())).empty());
  }
}

TEST(LayoutTable, ExpertLeftForAnotherName_IsRefused) {
  Layout layout = layout_of(served());
  LayoutTensor& down = tensor(layout, "model.layers.0.mlp.experts.down_proj");
  const std::string last = "model.layers.0.block_sparse_moe.experts.1.w2.weight";
  down.from.of.at(0).of.pop_back();
  down.shape[0] = 1;
  layout.ranks[0].tensors.push_back({last, "BF16", {4, 3}, cast(entry(last), "BF16")});
  std::ranges::sort(layout.ranks[0].tensors, {}, &LayoutTensor::name);
  expect_faultless(layout, mixtral());
  EXPECT_EQ(is_by_table(layout, mixtral()).error().code, ErrorCode::kLayoutNotByTable);
}

// With a tensor of each name, a program that adds "model." could exchange them.
TEST(LayoutTable, NamesThatTheTableCannotTellApart_AreRefused) {
  const Artifact artifact =
      toy_artifact({{"model.norm.weight", "F32", {4}}, {"norm.weight", "F32", {4}}});
  Layout layout = toy_layout(artifact, {{"model.norm.weight", "F32", {4}, entry("norm.weight")},
                                        {"norm.weight", "F32", {4}, entry("model.norm.weight")}});
  expect_faultless(layout, artifact);
  EXPECT_EQ(code_of(is_by_table(layout, artifact)), "layout-not-by-table");
  EXPECT_EQ(where_of(is_by_table(layout, artifact)), "m.safetensors#norm.weight");
}

}  // namespace
}  // namespace assay
