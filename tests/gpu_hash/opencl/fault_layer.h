// SPDX-License-Identifier: Apache-2.0
// A layer of the OpenCL loader (CL/cl_layer.h) that stands between a program and its real driver,
// passes everything on, and now and then does not. The loader takes it from OPENCL_LAYERS; a test
// that links to it steers it from inside, other programs by their environment:
//   FAULT_LAYER_PLAN  what assay_fault_plan() takes
//   FAULT_LAYER_LOG   file with a line "CALL NUMBER" for each call of the table, written at each
//   call,
//                     because processes that call drivers end without their destructors
#pragma once

#define ASSAY_FAULT_API extern "C" __attribute__((visibility("default")))

// "CALL:N:ERROR:HOW": the N-th call of CALL from here on, counted from 1, goes wrong with ERROR,
// such as CL_OUT_OF_RESOURCES.
//   once  the call is refused, and the next one is right again
//   late  the command is accepted, not done, and its event tells so; behind a write that was not
//         done, nothing runs in its queue, as drivers have it
//   gone  this call and all later ones are refused; nothing runs any more
//   slow  the call takes 1.5 s longer and is right
//   dies  the call ends the process, as a driver's assertion does
//   hangs the call does not return
//   flip  clEnqueueReadBuffer: nothing is refused, but a bit is wrong, in this and all later ones
// An empty text: no faults. Counts begin anew. Not 0: the text is no plan, and there is none.
ASSAY_FAULT_API int assay_fault_plan(const char* text);
// Calls that were made since, and faults.
ASSAY_FAULT_API unsigned long assay_fault_calls(const char* call);
ASSAY_FAULT_API unsigned long assay_fault_made();
// Commands that the driver has not finished.
ASSAY_FAULT_API unsigned long assay_fault_in_flight();
// Contexts, queues, buffers, programs, kernels and events that were made and not released.
ASSAY_FAULT_API long assay_fault_objects();
