// SPDX-License-Identifier: Apache-2.0
// The simulator: same input, same bytes; and what it makes is what other software takes for real.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "attestation/tdx/certificate.h"
#include "attestation/tdx/crl.h"
#include "attestation/tdx/ecdsa.h"
#include "tests/attestation/tdx/shared_vectors.h"
#include "tests/attestation/tdx/simulation.h"

namespace assay::attestation::tdx {
namespace {

using testing::valid_v4;

using StoreHandle = Handle<X509_STORE, X509_STORE_free>;
using StoreContextHandle = Handle<X509_STORE_CTX, X509_STORE_CTX_free>;

TEST(TdxSimulate, SameSpecification_GivesTheSameBytes) {
  const Simulation first = simulate(valid_v4());
  const Simulation second = simulate(valid_v4());
  EXPECT_EQ(first.quote, second.quote);
  EXPECT_EQ(first.root, second.root);
  EXPECT_EQ(digest_of(first.collateral), digest_of(second.collateral));
}

TEST(TdxSimulate, Root_FollowsFromTheSeedAlone) {
  const Bytes root = simulate(valid_v4()).root;
  const Timestamp later = testing::now() + std::chrono::days(400);
  EXPECT_EQ(simulate(valid_simulation(testing::seed(), later)).root, root);
  EXPECT_NE(simulate(valid_simulation(to_bytes("other"), testing::now())).root, root);
}

TEST(TdxSimulate, Measurements_AreThoseAskedFor) {
  SimulationSpec spec = valid_v4();
  spec.quote.report.mrtd.fill(0x11);
  spec.quote.report.rtmr[2].fill(0x22);
  spec.quote.report.report_data.fill(0x33);
  const AppraisalResult result = testing::run(simulate(spec));
  ASSERT_TRUE(result.report.has_value());
  EXPECT_EQ(result.report->mrtd, spec.quote.report.mrtd);
  EXPECT_EQ(result.report->rtmr, spec.quote.report.rtmr);
  EXPECT_EQ(result.report->report_data, spec.quote.report.report_data);
}

// Seeds of the fuzz targets are simulations; with ASSAY_WRITE_CORPUS set they are written anew.
TEST(TdxCorpus, Files_AreTheSimulators) {
  const auto folder = std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/fuzz/corpus";
  const SimulationSpec v4 = valid_simulation(as_bytes("fuzz"), testing::now());
  const Simulation simulation = simulate(v4);
  const std::pair<const char*, Bytes> files[] = {
      {"tdx_quote/v4", simulation.quote},
      {"tdx_quote/v5", simulate(valid_simulation_v5(as_bytes("fuzz"), testing::now())).quote},
      {"event_log/simulated", simulation.event_log},
      {"tdx_collateral/bundle", to_bytes(to_json(simulation.collateral).dump())},
      {"tdx_collateral/tcb_info", to_bytes(simulation.collateral.tcb_info)},
      {"tdx_collateral/qe_identity", to_bytes(simulation.collateral.qe_identity)},
      {"tdx_collateral/pck_crl", hex_decode(simulation.collateral.pck_crl).value()},
      {"tdx_collateral/pck_chain", to_bytes(make_pck_chain(v4))},
      {"tdx_collateral/sgx_extension", make_sgx_extension(v4.platform)},
  };
  for (const auto& [path, bytes] : files) {
    if (std::getenv("ASSAY_WRITE_CORPUS") != nullptr) {
      std::filesystem::create_directories((folder / path).parent_path());
      std::ofstream(folder / path, std::ios::binary) << as_text(bytes);
    }
    EXPECT_EQ(testing::read_file(folder / path), bytes) << path;
  }
}

TEST(TdxSimulateKey, Signature_VerifiesForItsMessageOnly) {
  const SimulatedKey key(testing::seed(), "any");
  const PkeyHandle imported = import_p256(key.point());
  ASSERT_NE(imported, nullptr);
  const Bytes message = to_bytes("message");
  const auto signature = key.sign(message);
  EXPECT_TRUE(verify_raw(imported.get(), message, signature));
  EXPECT_FALSE(verify_raw(imported.get(), to_bytes("massage"), signature));
  EXPECT_FALSE(verify_raw(imported.get(), message, ByteView(signature).first(63)));
  EXPECT_NE(key.point(), SimulatedKey(testing::seed(), "other").point());
}

X509Handle decoded(const Bytes& der) {
  const unsigned char* next = der.data();
  return X509Handle(d2i_X509(nullptr, &next, static_cast<long>(der.size())));
}

// What OpenSSL's own path validation says of a PCK chain, with CRLs and strict checks.
int openssl_verdict(const std::vector<Bytes>& chain, const Bytes& root_crl, const Bytes& pck_crl,
                    Timestamp now) {
  const StoreHandle store(X509_STORE_new());
  const X509Handle leaf = decoded(chain[0]);
  const X509Handle ca = decoded(chain[1]);
  const X509Handle root = decoded(chain[2]);
  X509_STORE_add_cert(store.get(), root.get());
  for (const Bytes* der : {&root_crl, &pck_crl}) {
    const unsigned char* next = der->data();
    const X509CrlHandle crl(d2i_X509_CRL(nullptr, &next, static_cast<long>(der->size())));
    X509_STORE_add_crl(store.get(), crl.get());
  }
  X509_STORE_set_flags(store.get(), X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  STACK_OF(X509)* untrusted = sk_X509_new_null();
  sk_X509_push(untrusted, ca.get());
  const StoreContextHandle context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), leaf.get(), untrusted);
  X509_VERIFY_PARAM_set_time(
      X509_STORE_CTX_get0_param(context.get()),
      std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count());
  X509_verify_cert(context.get());
  sk_X509_free(untrusted);
  return X509_STORE_CTX_get_error(context.get());
}

int openssl_verdict(ByteView quote, const Collateral& collateral, Timestamp now) {
  const auto chain = split_pem_chain(as_text(parse_quote(quote).value().pck_chain)).value();
  return openssl_verdict(chain, hex_decode(collateral.root_ca_crl).value(),
                         hex_decode(collateral.pck_crl).value(), now);
}

TEST(TdxSimulate, OpensslPathValidation_Agrees) {
  SimulationSpec spec = valid_v4();
  Simulation simulation = simulate(spec);
  const auto judge = [&](Timestamp now) {
    return openssl_verdict(simulation.quote, simulation.collateral, now);
  };
  EXPECT_EQ(judge(testing::now()), X509_V_OK);
  EXPECT_EQ(judge(testing::now() + std::chrono::days(400)), X509_V_ERR_CRL_HAS_EXPIRED);
  spec.pck_crl.revoked = {spec.pck.serial};
  simulation = simulate(spec);
  EXPECT_EQ(judge(testing::now()), X509_V_ERR_CERT_REVOKED);
  spec = valid_v4();
  spec.pck.signer = "attacker";
  simulation = simulate(spec);
  EXPECT_EQ(judge(testing::now()), X509_V_ERR_CERT_SIGNATURE_FAILURE);
}

// RFC 5280 section 4.1.2.5: from 2050 on times are written in another form.
TEST(TdxSimulate, RootThatEndsAfter2049_IsAccepted) {
  SimulationSpec spec = valid_v4();
  const auto end = [&](const char* time) {
    spec.root.not_after = parse_rfc3339(time).value();
    const Simulation simulation = simulate(spec);
    EXPECT_EQ(openssl_verdict(simulation.quote, simulation.collateral, testing::now()), X509_V_OK);
    EXPECT_EQ(testing::verdict(simulation), "OK:UpToDate") << time;
    return parse_certificate(simulation.root)->not_after;
  };
  for (const char* time :
       {"2049-12-31T23:59:59Z", "2050-01-01T00:00:00Z", "2051-06-01T00:00:00Z"}) {
    EXPECT_EQ(end(time), parse_rfc3339(time).value()) << time;
  }
}

TEST(TdxRealChains, OpensslPathValidation_Agrees) {
  const auto folder = testing::vectors_folder() / "mutations";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "no vectors at " << folder;
  }
  const Json manifest = testing::read_json(folder / "manifest.json");
  std::size_t bases = 0;
  for (const Json& entry : manifest.at("cases")) {
    if (!entry.at("id").get<std::string>().starts_with("base_")) {
      continue;
    }
    const Bytes quote = testing::read_file(folder / entry.at("quote").get<std::string>());
    const Collateral collateral =
        parse_collateral(testing::read_file(folder / entry.at("collateral").get<std::string>()))
            .value();
    EXPECT_EQ(openssl_verdict(quote, collateral,
                              parse_rfc3339(entry.at("time").get<std::string>()).value()),
              X509_V_OK)
        << entry.at("id");
    ++bases;
  }
  EXPECT_GE(bases, 3U);
}

}  // namespace
}  // namespace assay::attestation::tdx
