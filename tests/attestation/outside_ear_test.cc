// SPDX-License-Identifier: Apache-2.0
// Results of outside verifiers: one token of each generation of names that counts, and one change
// at a time that makes it count no more.
#include "tests/attestation/outside_ear.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/vectors.h"

namespace assay::attestation::outside {
namespace {

TEST(OutsideEar, BothGenerationsOfNames_Count) {
  const EarVerdict old_one = judge(old_claims(), old_policy());
  EXPECT_EQ(error_of(old_one), "OK:affirming");
  EXPECT_EQ(old_one.valid_until, at("2026-03-01T12:05:00Z"));
  // Only what every submodule says of itself is said of the whole, and the worst of it.
  EXPECT_EQ(old_one.aspects, Json({{"hardware", 2}}));
  const EarVerdict new_one = judge(new_claims(), new_policy());
  EXPECT_EQ(error_of(new_one), "OK:affirming") << new_one.detail;
  EXPECT_EQ(new_one.aspects, Json({{"executables", 3}}));
}

TEST(OutsideEar, Es384_Counts) {
  Json policy = old_policy();
  policy["algorithm"] = "ES384";
  policy["jwks"]["keys"] = Json::array({jwk_of(p384())});
  const auto verifier = parse_outside_verifier(policy).value();
  const Asked asked;
  const auto verdict = [&](const Json& head, const Signer& key) {
    return error_of(
        verify_outside_ear({token_of(head, old_claims(), key), asked.key, asked.request}, verifier,
                           asked.expected(), at(kNow)));
  };
  EXPECT_EQ(verdict({{"alg", "ES384"}}, p384()), "OK:affirming");
  EXPECT_EQ(verdict({{"alg", "ES256"}}, p384()), "EAR_ALG");
  EXPECT_EQ(verdict({{"alg", "ES384"}}, p256()), "EAR_SIGNATURE");
}

// Trustee writes no issuer and no nonce. What is bound to nobody's challenge is refused, whatever
// it says; with both it is judged by its report data, and then by its status.
TEST(OutsideEar, OfAnotherProject_LacksWhatBindsIt) {
  Json policy = old_policy();
  policy["report_data"] = "/submods/cpu0/ear.veraison.annotated-evidence/report_data";
  Json claims = test::load_vectors("ear/trustee.claims.json");
  const auto judged = [&] {
    return error_of(judge(claims, policy, {}, header(), "2025-10-14T07:15:34Z"));
  };
  EXPECT_EQ(judged(), "EAR_ISSUER");
  claims["iss"] = "https://verifier.example";
  EXPECT_EQ(judged(), "EAR_NONCE_MISMATCH");
  claims["eat_nonce"] = base64url_encode(Asked().nonce);
  EXPECT_EQ(judged(), "EAR_BINDING_MISMATCH");
  claims[Json::json_pointer(policy["report_data"].get<std::string>())] =
      hex_encode(Asked().expected());
  EXPECT_EQ(judged(), "EAR_STATUS_NOT_ACCEPTED:contraindicated");
  Json& submod = claims["submods"]["cpu0"];
  submod["ear.status"] = "affirming";
  EXPECT_EQ(judged(), "EAR_STATUS_INCONSISTENT");
  submod["ear.trustworthiness-vector"] = {{"executables", 3}, {"hardware", 2}};
  EXPECT_EQ(judged(), "OK:affirming");
}

// Verifiers write a 0 for each aspect of which they know nothing.
TEST(OutsideEar, PublishedResults_ComeToTheirVerdict) {
  const Json published = test::load_vectors("ear/veraison.json");
  ASSERT_EQ(published.size(), 16U);
  for (const Json& one : published) {
    const bool is_new = one["claims"]["eat_profile"] == "tag:ietf.org,2026:rats/ear#04";
    Json policy = old_policy();
    policy["profile"] =
        is_new ? "tag:ietf.org,2026:rats/ear#04" : "tag:github.com,2023:veraison/ear";
    policy["report_data"] = "/data";
    policy["submods"] = Json::array();
    const Json submods = one["claims"].value("submods", Json::object());
    for (const auto& [name, submod] : submods.items()) {
      policy["submods"].push_back(name);
    }
    if (policy["submods"].empty()) {
      policy["submods"].push_back("cpu0");
    }
    Json claims = old_claims();
    claims.erase("submods");
    claims.update(one["claims"]);
    claims["iat"] = kIssued;
    claims["data"] = hex_encode(Asked().expected());
    EXPECT_EQ(error_of(judge(claims, policy)), one["verdict"].get<std::string>()) << one["name"];
  }
}

TEST(OutsideEar, ClaimsOfTheTierNone_ClaimNothing) {
  const auto vector = [](const Json& values) {
    return old_changed([&](Json& c) {
      c["ear.status"] = "affirming";
      c["submods"]["gpu0"]["ear.trustworthiness-vector"] = values;
    });
  };
  EXPECT_EQ(vector({{"hardware", 2}, {"executables", 0}, {"configuration", 1}}), "OK:affirming");
  EXPECT_EQ(vector({{"hardware", 33}, {"executables", 0}}), "EAR_STATUS_INCONSISTENT");
  // Whoever affirms without a claim that does has appraised nothing.
  EXPECT_EQ(vector({{"hardware", 0}, {"executables", -1}}), "EAR_STATUS_INCONSISTENT");
  const auto without_whole = [](const Json& submod) {
    return old_changed([&](Json& c) { c["submods"]["gpu0"] = submod; });
  };
  EXPECT_EQ(without_whole({{"ear.status", "affirming"}}), "EAR_STATUS_NOT_ACCEPTED:none");
  EXPECT_EQ(without_whole(
                {{"ear.status", "affirming"}, {"ear.trustworthiness-vector", {{"hardware", 1}}}}),
            "EAR_STATUS_NOT_ACCEPTED:none");
}

// long-function: one table of cases
TEST(OutsideEar, OneClaimChanged_HasItsError) {
  struct Case {
    const char* what;
    Change change;
    const char* expected;
  };
  const Json other_nonce = base64url_encode(Bytes(32, 8));
  const std::vector<Case> cases = {
      {"profile", [](Json& c) { c["eat_profile"] = "tag:github.com,2023:veraison/ear"; },
       "EAR_PROFILE"},
      {"no profile", [](Json& c) { c.erase("eat_profile"); }, "EAR_PROFILE"},
      {"issuer", [](Json& c) { c["iss"] = "https://verifier.example/"; }, "EAR_ISSUER"},
      {"no issuer", [](Json& c) { c.erase("iss"); }, "EAR_ISSUER"},
      {"an issuer that is a list", [](Json& c) { c["iss"] = {"https://verifier.example"}; },
       "EAR_ISSUER"},
      {"for somebody else", [](Json& c) { c["aud"] = "somebody"; }, "EAR_AUDIENCE"},
      {"too old", [](Json& c) { c["iat"] = kIssued - 600; }, "EAR_EXPIRED"},
      {"expired", [](Json& c) { c["exp"] = kIssued; }, "EAR_EXPIRED"},
      {"from the future", [](Json& c) { c["iat"] = kIssued + 61; }, "EAR_NOT_YET_VALID"},
      {"not before", [](Json& c) { c["nbf"] = kIssued + 61; }, "EAR_NOT_YET_VALID"},
      {"no time", [](Json& c) { c.erase("iat"); }, "EAR_FORMAT"},
      {"negative time", [](Json& c) { c["iat"] = -1; }, "EAR_FORMAT"},
      {"time beyond all", [](Json& c) { c["exp"] = 9007199254740991; }, "EAR_FORMAT"},
      {"end as text", [](Json& c) { c["exp"] = "never"; }, "EAR_FORMAT"},
      {"begins in words", [](Json& c) { c["nbf"] = "now"; }, "EAR_FORMAT"},
      {"another nonce", [&](Json& c) { c["eat_nonce"] = other_nonce; }, "EAR_NONCE_MISMATCH"},
      {"no nonce", [](Json& c) { c.erase("eat_nonce"); }, "EAR_NONCE_MISMATCH"},
      {"a short nonce", [](Json& c) { c["eat_nonce"] = "0707"; }, "EAR_NONCE_MISMATCH"},
      {"two nonces",
       [&](Json& c) { c["eat_nonce"] = Json::array({hex_encode(Asked().nonce), other_nonce}); },
       "EAR_NONCE_MISMATCH"},
      {"other report data",
       [](Json& c) {
         c["submods"]["cpu0"]["ear.veraison.annotated-evidence"]["tdx"]["quote"]["report_data"] =
             std::string(128, '0');
       },
       "EAR_BINDING_MISMATCH"},
      {"no report data",
       [](Json& c) { c["submods"]["cpu0"].erase("ear.veraison.annotated-evidence"); },
       "EAR_BINDING_MISMATCH"},
      {"a submodule less", [](Json& c) { c["submods"].erase("cpu0"); }, "EAR_BINDING_MISMATCH"},
      {"warning", [](Json& c) { c["submods"]["gpu0"]["ear.status"] = "warning"; },
       "EAR_STATUS_NOT_ACCEPTED:warning"},
      {"contraindicated in a submodule that nobody asked for",
       [](Json& c) { c["submods"]["x"] = {{"ear.status", "contraindicated"}}; },
       "EAR_STATUS_NOT_ACCEPTED:contraindicated"},
      {"none", [](Json& c) { c["submods"]["gpu0"]["ear.status"] = "none"; },
       "EAR_STATUS_INCONSISTENT:"},
      {"an unknown tier", [](Json& c) { c["submods"]["gpu0"]["ear.status"] = "fine"; },
       "EAR_STATUS_UNKNOWN"},
      {"a number that is no tier", [](Json& c) { c["submods"]["gpu0"]["ear.status"] = 3; },
       "EAR_STATUS_UNKNOWN"},
      {"better than its aspects",
       [](Json& c) { c["submods"]["cpu0"]["ear.trustworthiness-vector"]["hardware"] = 96; },
       "EAR_STATUS_INCONSISTENT"},
      {"an aspect that is no number",
       [](Json& c) { c["submods"]["cpu0"]["ear.trustworthiness-vector"]["hardware"] = "good"; },
       "EAR_STATUS_UNKNOWN"},
      {"an aspect below all",
       [](Json& c) { c["submods"]["cpu0"]["ear.trustworthiness-vector"]["hardware"] = -129; },
       "EAR_STATUS_UNKNOWN"},
      {"an aspect above all",
       [](Json& c) { c["submods"]["cpu0"]["ear.trustworthiness-vector"]["hardware"] = 128; },
       "EAR_STATUS_UNKNOWN"},
      {"aspects that are a list",
       [](Json& c) { c["submods"]["cpu0"]["ear.trustworthiness-vector"] = {2, 3}; },
       "EAR_STATUS_UNKNOWN"},
      {"a submodule that is a text", [](Json& c) { c["submods"]["gpu0"] = "affirming"; },
       "EAR_PROFILE"},
      {"an overall status that is better",
       [](Json& c) {
         c["submods"]["gpu0"]["ear.status"] = "warning";
         c["ear.status"] = "affirming";
       },
       "EAR_STATUS_INCONSISTENT"},
      {"names of both generations", [](Json& c) { c["ear_status"] = "affirming"; }, "EAR_PROFILE"},
      {"names of both generations in a submodule",
       [](Json& c) { c["submods"]["cpu0"]["ear_status"] = "contraindicated"; }, "EAR_PROFILE"},
      {"a vector of the other generation",
       [](Json& c) { c["submods"]["cpu0"]["ear_trustworthiness_vector"] = {{"hardware", 96}}; },
       "EAR_PROFILE"},
      {"a vector of the other generation around the submodules",
       [](Json& c) { c["ear_trustworthiness_vector"] = {{"hardware", 96}}; }, "EAR_PROFILE"},
  };
  for (const Case& test : cases) {
    std::string expected = test.expected;
    if (expected.ends_with(':')) {  // a status without claim is no better than none
      expected = "EAR_STATUS_NOT_ACCEPTED:none";
    }
    EXPECT_EQ(old_changed(test.change), expected) << test.what;
  }
}

TEST(OutsideEar, StatusOfTheWhole_MayBeLeftOut) {
  EXPECT_EQ(new_changed([](Json& c) { c.erase("ear_status"); }), "OK:affirming");
  EXPECT_EQ(new_changed([](Json& c) { c["ear_status"] = nullptr; }), "EAR_STATUS_UNKNOWN");
  EXPECT_EQ(new_changed([](Json& c) { c["ear_status"] = "warning"; }), "EAR_STATUS_INCONSISTENT");
  EXPECT_EQ(new_changed([](Json& c) { c["submods"] = Json::object(); }), "EAR_BINDING_MISMATCH");
  EXPECT_EQ(new_changed([](Json& c) { c["ear.status"] = "affirming"; }), "EAR_PROFILE");
}

TEST(OutsideEar, MissingSubmodule_IsMissed) {
  Json policy = old_policy();
  policy["submods"] = {"cpu0", "gpu1"};
  EXPECT_EQ(error_of(judge(old_claims(), policy)), "EAR_SUBMOD_MISSING");
  policy["report_data"] = "/data";
  Json claims = old_claims();
  claims["data"] = hex_encode(Asked().expected());
  for (const Json& submods : {Json(), Json::array({"cpu0", "gpu1"}), Json("cpu0")}) {
    claims["submods"] = submods;
    EXPECT_EQ(error_of(judge(claims, policy)), "EAR_SUBMOD_MISSING") << submods;
  }
}

TEST(OutsideEar, KeyClaim_IsTheWorkersKey) {
  const auto with = [](const Json& value) {
    return new_changed(
        [&](Json& c) { c["submods"]["cpu0"]["ear_attester_claims"]["cnf"]["jwk"] = value; });
  };
  const Bytes& spki = p256().public_key();
  EXPECT_EQ(with(base64_encode(spki)), "OK:affirming");
  EXPECT_EQ(with(base64url_encode(spki)), "OK:affirming");
  EXPECT_EQ(with(sha256(spki).hex()), "OK:affirming");
  EXPECT_EQ(with(base64_encode(p384().public_key())), "EAR_BINDING_MISMATCH");
  EXPECT_EQ(with(jwk_of(p384())), "EAR_BINDING_MISMATCH");
  Json damaged = jwk_of(p256());
  damaged["x"] = damaged["y"];
  EXPECT_EQ(with(damaged), "EAR_BINDING_MISMATCH");
  EXPECT_EQ(with("?"), "EAR_BINDING_MISMATCH");
  EXPECT_EQ(with(nullptr), "EAR_BINDING_MISMATCH");
  EXPECT_EQ(with(7), "EAR_BINDING_MISMATCH");
}

// Both are asked for when both are configured: a token that fits one of them is about two machines.
TEST(OutsideEar, ReportDataAndKey_MustBothFit) {
  Json policy = old_policy();
  policy["key"] = "/submods/cpu0/key";
  EXPECT_EQ(error_of(judge(old_claims(), policy)), "EAR_BINDING_MISMATCH");
  Json claims = old_claims();
  claims["submods"]["cpu0"]["key"] = sha256(p256().public_key()).hex();
  EXPECT_EQ(error_of(judge(claims, policy)), "OK:affirming");
}

// Whoever hands the token in says which key and request belong to the challenge. Both lead to the
// expected report data or count for nothing.
TEST(OutsideEar, AnotherKeyOrRequest_AnswersNoChallenge) {
  const auto verifier = parse_outside_verifier(old_policy()).value();
  const std::string token = token_of(header(), old_claims(), p256());
  const Asked asked;
  const Digest other = sha256(as_bytes("other"));
  EXPECT_EQ(
      verify_outside_ear({token, other, asked.request}, verifier, asked.expected(), at(kNow)).error,
      "EAR_NONCE_MISMATCH");
  EXPECT_EQ(
      verify_outside_ear({token, asked.key, other}, verifier, asked.expected(), at(kNow)).error,
      "EAR_NONCE_MISMATCH");
  Asked again = asked;
  again.nonce.fill(9);
  EXPECT_EQ(
      verify_outside_ear({token, asked.key, asked.request}, verifier, again.expected(), at(kNow))
          .error,
      "EAR_NONCE_MISMATCH");
}

// Evidence of a stage answers no challenge.
TEST(OutsideEar, Domain_IsOneWithAChallenge) {
  Asked report;
  report.domain = kChallengeDomains[1];
  Json claims = old_claims();
  Json& place = claims["submods"]["cpu0"]["ear.veraison.annotated-evidence"]["tdx"]["quote"];
  place["report_data"] = hex_encode(report.expected());
  EXPECT_EQ(error_of(judge(claims, old_policy(), report)), "OK:affirming");
  Asked stage;
  stage.domain = "assay/statement/v1";
  place["report_data"] = hex_encode(stage.expected());
  EXPECT_EQ(error_of(judge(claims, old_policy(), stage)), "EAR_NONCE_MISMATCH");
}

TEST(OutsideEar, Header_IsNotBelieved) {
  const auto with = [](const Change& change) {
    Json head = header();
    change(head);
    return error_of(judge(old_claims(), old_policy(), {}, head));
  };
  EXPECT_EQ(with([](Json& h) { h["alg"] = "none"; }), "EAR_ALG");
  EXPECT_EQ(with([](Json& h) { h["alg"] = "HS256"; }), "EAR_ALG");
  EXPECT_EQ(with([](Json& h) { h.erase("alg"); }), "EAR_ALG");
  EXPECT_EQ(with([](Json& h) { h["kid"] = "verifier-2"; }), "EAR_KEY");
  EXPECT_EQ(with([](Json& h) { h["crit"] = {"b64"}; }), "EAR_FORMAT");
  EXPECT_EQ(with([](Json& h) { h.erase("kid"); }), "OK:affirming");  // there is one key
  EXPECT_EQ(with([](Json& h) { h["jwk"] = jwk_of(p384()); }), "OK:affirming");
  // A key that the token brings along signs nothing.
  Json head = header();
  head["jwk"] = jwk_of(signer(SignatureAlgorithm::kEcdsaP384));
  const auto verifier = parse_outside_verifier(old_policy()).value();
  const Asked asked;
  EXPECT_EQ(verify_outside_ear({token_of(head, old_claims(), p384()), asked.key, asked.request},
                               verifier, asked.expected(), at(kNow))
                .error,
            "EAR_SIGNATURE");
}

// Verifiers repeat the event log in what they say: those of real machines take 10 to 80 KB.
TEST(OutsideEar, Token_IsAsLongAsItsLimitAndNoLonger) {
  const auto verifier = parse_outside_verifier(old_policy()).value();
  const Asked asked;
  const auto verdict = [&](const std::string& token) {
    return verify_outside_ear({token, asked.key, asked.request}, verifier, asked.expected(),
                              at(kNow));
  };
  Json claims = old_claims();
  claims["log"] = std::string(150'000, 'x');
  const std::string token = token_of(header(), claims, p256());
  EXPECT_GT(token.size(), 200'000U);
  EXPECT_EQ(error_of(verdict(token)), "OK:affirming");
  const std::size_t more = (kMaxOutsideTokenBytes - token.size()) / 4 * 3;  // 4 digits are 3 bytes
  claims["log"] = std::string(150'000 + more, 'x');
  const std::string longest = token_of(header(), claims, p256());
  EXPECT_GT(longest.size(), kMaxOutsideTokenBytes - 4);
  EXPECT_EQ(error_of(verdict(longest)), "OK:affirming");
  claims["log"] = std::string(150'000 + more + 4, 'x');
  const EarVerdict beyond = verdict(token_of(header(), claims, p256()));
  EXPECT_EQ(error_of(beyond), "EAR_FORMAT");
  EXPECT_EQ(beyond.detail, "a token has at most 262144 bytes");
}

// RFC 7515 section 4.1.6, RFC 7517 section 4.7: chains, which are let through and not looked at.
TEST(OutsideEar, Header_HasRoomForChains) {
  const auto with = [](const Json& x5c, const char* place) {
    Json head = header();
    head["jwk"] = jwk_of(p384());
    head[Json::json_pointer(place)] = x5c;
    return judge(old_claims(), old_policy(), {}, head);
  };
  const Json chain = Json::array({std::string(4000, 'A'), std::string(4000, 'B'), "C"});
  EXPECT_EQ(error_of(with(chain, "/x5c")), "OK:affirming");
  EXPECT_EQ(error_of(with(chain, "/jwk/x5c")), "OK:affirming");
  EXPECT_EQ(error_of(with(Json::array({chain}), "/jwk/x5c")), "EAR_FORMAT") << "nested too deeply";
  Json head = header();
  head["x5c"] = "";
  const std::size_t room = kMaxOutsideHeaderBytes - head.dump().size();
  head["x5c"] = std::string(room, 'A');
  EXPECT_EQ(error_of(judge(old_claims(), old_policy(), {}, head)), "OK:affirming");
  head["x5c"] = std::string(room + 1, 'A');
  EXPECT_EQ(error_of(judge(old_claims(), old_policy(), {}, head)), "EAR_FORMAT");
}

TEST(OutsideEar, AnyByteOfTheToken_IsCovered) {
  const auto verifier = parse_outside_verifier(old_policy()).value();
  const Asked asked;
  const std::string token = token_of(header(), old_claims(), p256());
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(verify_outside_ear({changed, asked.key, asked.request}, verifier, asked.expected(),
                                    at(kNow))
                     .error.empty())
        << i;
  }
}

TEST(OutsideEar, Age_EndsAtItsSecond) {
  const auto when = [](const char* now) {
    Json claims = old_claims();
    claims.erase("exp");
    return error_of(judge(claims, old_policy(), {}, header(), now));
  };
  EXPECT_EQ(when("2026-03-01T12:09:59Z"), "OK:affirming");
  EXPECT_EQ(when("2026-03-01T12:10:00Z"), "EAR_EXPIRED");
  EXPECT_EQ(when("2026-03-01T11:59:00Z"), "OK:affirming");
  EXPECT_EQ(when("2026-03-01T11:58:59Z"), "EAR_NOT_YET_VALID");
}

TEST(OutsideEar, Audience_IsOurs) {
  Json policy = old_policy();
  policy["audience"] = "assay";
  EXPECT_EQ(error_of(judge(old_claims(), policy)), "EAR_AUDIENCE");
  for (const Json& audience : {Json("assay"), Json({"x", "assay"})}) {
    Json claims = old_claims();
    claims["aud"] = audience;
    EXPECT_EQ(error_of(judge(claims, policy)), "OK:affirming");
  }
  for (const Json& audience : {Json("assay2"), Json::array({"x"}), Json(7), Json{{"assay", 1}}}) {
    Json claims = old_claims();
    claims["aud"] = audience;
    EXPECT_EQ(error_of(judge(claims, policy)), "EAR_AUDIENCE") << audience;
  }
}

TEST(OutsideEar, Warning_CountsWhereItIsAccepted) {
  Json policy = old_policy();
  policy["accept_warning"] = true;
  Json claims = old_claims();
  claims["submods"]["gpu0"]["ear.status"] = 32;
  EXPECT_EQ(error_of(judge(claims, policy)), "OK:warning");
  claims["submods"]["gpu0"]["ear.status"] = 96;
  EXPECT_EQ(error_of(judge(claims, policy)), "EAR_STATUS_NOT_ACCEPTED:contraindicated");
  claims["submods"]["gpu0"] = {{"ear.status", "none"}};
  EXPECT_EQ(error_of(judge(claims, policy)), "EAR_STATUS_NOT_ACCEPTED:none");
}

// Else a machine of which nothing is known would pass as soon as another part of it has a warning.
TEST(OutsideEar, SubmoduleOfWhichNothingIsKnown_DoesNotHideBehindAWarning) {
  Json policy = old_policy();
  policy["accept_warning"] = true;
  Json claims = old_claims();
  claims["submods"]["cpu0"]["ear.status"] = "warning";
  EXPECT_EQ(error_of(judge(claims, policy)), "OK:warning");
  claims["submods"]["gpu0"]["ear.status"] = "none";
  EXPECT_EQ(error_of(judge(claims, policy)), "EAR_STATUS_NOT_ACCEPTED:none");
  claims["submods"]["gpu0"]["ear.trustworthiness-vector"] = {{"executables", 2}};
  EXPECT_EQ(error_of(judge(claims, policy)), "EAR_STATUS_NOT_ACCEPTED:none");
  claims["submods"]["accelerator"] = claims["submods"]["gpu0"];  // it comes first by its name
  claims["submods"].erase("gpu0");
  EXPECT_EQ(error_of(judge(claims, policy)), "EAR_STATUS_NOT_ACCEPTED:none");
}

TEST(OutsideEar, Platform_IsRead) {
  Json policy = old_policy();
  policy["platform"] = "/submods/cpu0/ppid";
  EXPECT_EQ(error_of(judge(old_claims(), policy)), "EAR_FORMAT");
  Json claims = old_claims();
  claims["submods"]["cpu0"]["ppid"] = "00aa";
  EXPECT_EQ(judge(claims, policy).platform, (Bytes{0x00, 0xaa}));
  const auto with = [&](const Json& platform) {
    claims["submods"]["cpu0"]["ppid"] = platform;
    return error_of(judge(claims, policy));
  };
  EXPECT_EQ(with(std::string(128, 'a')), "OK:affirming");
  EXPECT_EQ(with(std::string(130, 'a')), "EAR_FORMAT");
  EXPECT_EQ(with(""), "EAR_FORMAT");
  EXPECT_EQ(with("?"), "EAR_FORMAT");
  EXPECT_EQ(with(7), "EAR_FORMAT");
}

TEST(OutsideEar, Nonce_IsOneTextInEitherSpelling) {
  const auto with = [](const Json& nonce) {
    return old_changed([&](Json& c) { c["eat_nonce"] = nonce; });
  };
  const Nonce nonce = Asked().nonce;
  EXPECT_EQ(with(hex_encode(nonce)), "OK:affirming");
  EXPECT_EQ(with(base64_encode(nonce)), "OK:affirming");
  EXPECT_EQ(with(Json::array({hex_encode(nonce)})), "OK:affirming");
  for (const Json& other :
       {Json(""), Json("?"), Json(7), Json::array(), Json::array({7}), Json{{"a", "b"}}}) {
    EXPECT_EQ(with(other), "EAR_NONCE_MISMATCH") << other;
  }
}

// RFC 6901 section 4: "~1" is a slash, "~0" a tilde. Places inside of lists are not followed.
TEST(OutsideEar, Pointer_LeadsThroughObjectsAlone) {
  const std::string data = hex_encode(Asked().expected());
  const auto at_pointer = [](const char* pointer, const Json& place) {
    Json policy = old_policy();
    policy["report_data"] = pointer;
    Json claims = old_claims();
    claims["x"] = place;
    return error_of(judge(claims, policy));
  };
  EXPECT_EQ(at_pointer("/x/a~1b~0c~01", {{"a/b~c~1", data}}), "OK:affirming");
  EXPECT_EQ(at_pointer("/x/", {{"", data}}), "OK:affirming");
  EXPECT_EQ(at_pointer("/x/a/b", {{"a/b", data}}), "EAR_BINDING_MISMATCH");
  EXPECT_EQ(at_pointer("/x/0", Json::array({data})), "EAR_BINDING_MISMATCH");
  EXPECT_EQ(at_pointer("/x/y", data), "EAR_BINDING_MISMATCH");
  EXPECT_EQ(at_pointer("/x", Json::array({data})), "EAR_BINDING_MISMATCH");
  EXPECT_EQ(at_pointer("/x", "?"), "EAR_BINDING_MISMATCH");
  EXPECT_EQ(at_pointer("/x", data.substr(2)), "EAR_BINDING_MISMATCH");
}

// Of every aspect that all submodules claim the worst value counts, whoever comes first.
TEST(OutsideEar, Aspects_AreTheWorstOfAll) {
  Json policy = old_policy();
  policy["accept_warning"] = true;
  for (const auto& [cpu, gpu] : {std::pair(2, 33), {33, 2}}) {
    Json claims = old_claims();
    Json& submods = claims["submods"];
    submods["cpu0"]["ear.trustworthiness-vector"]["hardware"] = cpu;
    submods["gpu0"]["ear.trustworthiness-vector"] = {{"hardware", gpu}, {"configuration", 2}};
    for (const char* name : {"cpu0", "gpu0"}) {
      submods[name]["ear.status"] = "warning";
    }
    const EarVerdict verdict = judge(claims, policy);
    EXPECT_EQ(error_of(verdict), "OK:warning");
    EXPECT_EQ(verdict.aspects, Json({{"hardware", 33}}));
  }
}

TEST(OutsideEar, SignedTextThatIsNoObject_IsNoToken) {
  EXPECT_EQ(error_of(judge(Json::array(), old_policy())), "EAR_FORMAT");
  EXPECT_EQ(error_of(judge("claims", old_policy())), "EAR_FORMAT");
}

}  // namespace
}  // namespace assay::attestation::outside
