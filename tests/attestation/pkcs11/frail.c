/* SPDX-License-Identifier: Apache-2.0
 * A PKCS#11 module for tests: SoftHSM, which fails as a token that was pulled out does while the
 * file that ASSAY_FRAIL_GONE names is there. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <p11-kit/pkcs11.h>

static CK_FUNCTION_LIST own;
static CK_FUNCTION_LIST* real;

static int gone(void) {
  const char* file = getenv("ASSAY_FRAIL_GONE");
  return file != NULL && access(file, F_OK) == 0;
}

/* Counts itself in the file that ASSAY_FRAIL_PIN names, when that is there, and refuses the PIN. */
static CK_RV login(CK_SESSION_HANDLE session, CK_USER_TYPE user, CK_UTF8CHAR_PTR pin,
                   CK_ULONG size) {
  const char* file = getenv("ASSAY_FRAIL_PIN");
  int log = file == NULL ? -1 : open(file, O_WRONLY | O_APPEND);
  if (log < 0) {
    return real->C_Login(session, user, pin, size);
  }
  ssize_t written = write(log, "x", 1);
  close(log);
  return written == 1 ? CKR_PIN_INCORRECT : CKR_GENERAL_ERROR;
}

static CK_RV get_token_info(CK_SLOT_ID slot, CK_TOKEN_INFO_PTR info) {
  return gone() ? CKR_DEVICE_REMOVED : real->C_GetTokenInfo(slot, info);
}

static CK_RV get_session_info(CK_SESSION_HANDLE session, CK_SESSION_INFO_PTR info) {
  return gone() ? CKR_DEVICE_REMOVED : real->C_GetSessionInfo(session, info);
}

static CK_RV sign_init(CK_SESSION_HANDLE session, CK_MECHANISM_PTR how, CK_OBJECT_HANDLE key) {
  return gone() ? CKR_DEVICE_REMOVED : real->C_SignInit(session, how, key);
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST_PTR_PTR list) {
  void* library = dlopen(ASSAY_SOFTHSM, RTLD_NOW | RTLD_LOCAL);
  CK_C_GetFunctionList get =
      library == NULL ? NULL : (CK_C_GetFunctionList)dlsym(library, "C_GetFunctionList");
  if (get == NULL || get(&real) != CKR_OK) {
    return CKR_GENERAL_ERROR;
  }
  own = *real;
  own.C_Login = login;
  own.C_GetTokenInfo = get_token_info;
  own.C_GetSessionInfo = get_session_info;
  own.C_SignInit = sign_init;
  *list = &own;
  return CKR_OK;
}
