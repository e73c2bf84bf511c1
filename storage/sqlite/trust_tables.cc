// SPDX-License-Identifier: Apache-2.0
// Enumerations are stored by name: the names are stable, the numbers of roles and purposes are not.
#include "storage/sqlite/trust_tables.h"

#include <utility>

#include "schemas/core/json_values.h"
#include "storage/sqlite/columns.h"

namespace assay::storage::sqlite {
namespace {

// What a name in the database stands for; an unknown one means that the row was altered.
template <typename T>
Result<T> known_name(Result<T> parsed) {
  if (!parsed) {
    return fail(ErrorCode::kDataLoss, "a stored key or principal holds an unknown name");
  }
  return parsed;
}

Result<std::vector<SignerRole>> load_key_roles(Connection& connection, const KeyId& id) {
  std::vector<SignerRole> roles;
  Query query = connection.query(Sql::kKeyRoles);
  query.bind(id);
  while (true) {
    ASSAY_ASSIGN(const bool row, query.next());
    if (!row) {
      return roles;
    }
    roles.push_back({query.text(0), query.text(1), query.text(2)});
  }
}

Result<TrustedKey> key_from(Connection& connection, const Query& query) {
  ASSAY_ASSIGN(Digest digest, query.digest(0));
  KeyId id(std::move(digest));
  ASSAY_ASSIGN(const auto algorithm, known_name(signature_algorithm_from(query.text(1))));
  ASSAY_ASSIGN(const auto purpose, known_name(key_purpose_from(query.text(3))));
  ASSAY_ASSIGN(auto roles, load_key_roles(connection, id));
  std::optional<Revocation> revoked;
  if (!query.is_null(7)) {
    revoked = Revocation{query.time(7), query.text(8)};
  }
  return TrustedKey{.id = std::move(id),
                    .algorithm = algorithm,
                    .public_key = query.bytes(2),
                    .purpose = purpose,
                    .identity = query.text(4),
                    .roles = std::move(roles),
                    .not_before = query.time(5),
                    .not_after = query.time(6),
                    .revoked = std::move(revoked)};
}

Result<AccessRoles> load_roles(Connection& connection, const std::string& principal) {
  AccessRoles roles;
  Query query = connection.query(Sql::kPrincipalRoles);
  query.bind(principal);
  while (true) {
    ASSAY_ASSIGN(const bool row, query.next());
    if (!row) {
      return roles;
    }
    ASSAY_ASSIGN(const AccessRole role, known_name(access_role_from(query.text(0))));
    roles.insert(role);
  }
}

Result<std::vector<Credential>> load_credentials(Connection& connection,
                                                 const std::string& principal) {
  std::vector<Credential> credentials;
  Query query = connection.query(Sql::kCredentials);
  query.bind(principal);
  while (true) {
    ASSAY_ASSIGN(const bool row, query.next());
    if (!row) {
      return credentials;
    }
    const std::int64_t kind = query.integer(0);
    if (kind < 1 || kind > 2) {
      return fail(ErrorCode::kDataLoss, "a stored credential is of an unknown kind");
    }
    ASSAY_ASSIGN(Digest digest, query.digest(1));
    credentials.push_back({static_cast<CredentialKind>(kind), std::move(digest)});
  }
}

Result<Principal> load_principal(Connection& connection, const std::string& name) {
  Query query = connection.query(Sql::kPrincipalGet);
  ASSAY_ASSIGN(const bool found, query.bind(name).next());
  if (!found) {
    return fail(ErrorCode::kNotFound, "there is no principal of this name", name);
  }
  std::optional<Timestamp> not_after;
  if (!query.is_null(0)) {
    not_after = query.time(0);
  }
  ASSAY_ASSIGN(auto roles, load_roles(connection, name));
  ASSAY_ASSIGN(auto credentials, load_credentials(connection, name));
  return Principal{name, std::move(roles), std::move(credentials), not_after};
}

Status delete_parts(Connection& connection, const std::string& principal) {
  ASSAY_TRY(connection.query(Sql::kCredentialsDelete).bind(principal).run());
  return connection.query(Sql::kPrincipalRolesDelete).bind(principal).run();
}

Status insert_parts(Connection& connection, const Principal& principal) {
  for (const AccessRole role : principal.roles) {
    ASSAY_TRY(
        connection.query(Sql::kPrincipalRoleInsert).bind(principal.name).bind(name(role)).run());
  }
  std::size_t ordinal = 0;
  for (const Credential& credential : principal.credentials) {
    ASSAY_TRY(connection.query(Sql::kCredentialInsert)
                  .bind(std::to_underlying(credential.kind))
                  .bind(credential.sha256)
                  .bind(principal.name)
                  .bind(ordinal++)
                  .run());
  }
  return {};
}

}  // namespace

Result<std::vector<TrustedKey>> load_keys(Connection& connection) {
  std::vector<TrustedKey> keys;
  Query query = connection.query(Sql::kKeyList);
  while (true) {
    ASSAY_ASSIGN(const bool row, query.next());
    if (!row) {
      return keys;
    }
    ASSAY_ASSIGN(TrustedKey key, key_from(connection, query));
    keys.push_back(std::move(key));
  }
}

Status put_key(Connection& connection, const TrustedKey& key) {
  Query query = connection.query(Sql::kKeyPut);
  query.bind(key.id)
      .bind(name(key.algorithm))
      .bind(key.public_key)
      .bind(name(key.purpose))
      .bind(key.identity)
      .bind(key.not_before)
      .bind(key.not_after);
  if (key.revoked) {
    query.bind(key.revoked->at).bind(key.revoked->reason);
  } else {
    query.bind_null().bind_null();
  }
  ASSAY_TRY(query.run());
  ASSAY_TRY(connection.query(Sql::kKeyRolesDelete).bind(key.id).run());
  std::size_t ordinal = 0;
  for (const SignerRole& role : key.roles) {
    ASSAY_TRY(connection.query(Sql::kKeyRoleInsert)
                  .bind(key.id)
                  .bind(ordinal++)
                  .bind(role.stage)
                  .bind(role.predicate_type)
                  .bind(role.name_space)
                  .run());
  }
  return {};
}

Result<std::vector<Principal>> load_principals(Connection& connection) {
  std::vector<Principal> principals;
  Query query = connection.query(Sql::kPrincipalList);
  while (true) {
    ASSAY_ASSIGN(const bool row, query.next());
    if (!row) {
      return principals;
    }
    ASSAY_ASSIGN(Principal principal, load_principal(connection, query.text(0)));
    principals.push_back(std::move(principal));
  }
}

Status put_principal(Connection& connection, const Principal& principal) {
  Query query = connection.query(Sql::kPrincipalPut);
  query.bind(principal.name);
  if (principal.not_after) {
    query.bind(*principal.not_after);
  } else {
    query.bind_null();
  }
  ASSAY_TRY(query.run());
  ASSAY_TRY(delete_parts(connection, principal.name));
  return insert_parts(connection, principal);
}

Status remove_principal(Connection& connection, const std::string& name) {
  ASSAY_TRY(delete_parts(connection, name));
  return connection.query(Sql::kPrincipalDelete).bind(name).run();
}

Result<std::vector<Withdrawn>> load_withdrawals(Connection& connection) {
  std::vector<Withdrawn> withdrawals;
  Query query = connection.query(Sql::kWithdrawalList);
  while (true) {
    ASSAY_ASSIGN(const bool row, query.next());
    if (!row) {
      return withdrawals;
    }
    ASSAY_ASSIGN(const Json body, json_column(query, 0));
    ASSAY_ASSIGN(const Digest statement, query.digest(1));
    auto withdrawn = json::get<Withdrawn>(body);
    if (!withdrawn || withdrawn->statement.digest() != statement) {
      return fail(ErrorCode::kDataLoss, "a stored withdrawal cannot be read");
    }
    withdrawals.push_back(*std::move(withdrawn));
  }
}

Status put_withdrawal(Connection& connection, const Withdrawn& withdrawn) {
  ASSAY_ASSIGN(const std::string body, canonical_json(to_json(withdrawn)));
  return connection.query(Sql::kWithdrawalPut).bind(withdrawn.statement).bind(body).run();
}

Result<Epochs> load_epochs(Connection& connection) {
  Query query = connection.query(Sql::kEpochsGet);
  ASSAY_ASSIGN(const bool found, query.next());
  if (!found) {
    return fail(ErrorCode::kDataLoss, "the epochs are missing");
  }
  return Epochs{{query.count(0), query.count(1)}, query.count(2)};
}

Status set_epochs(Connection& connection, const Epochs& epochs) {
  return connection.query(Sql::kEpochsPut)
      .bind(epochs.trust.trust)
      .bind(epochs.trust.revocation)
      .bind(epochs.policy)
      .run();
}

}  // namespace assay::storage::sqlite
