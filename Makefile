# SPDX-License-Identifier: Apache-2.0
# The few commands that people type. Everything else: CONTRIBUTING.md.

.DEFAULT_GOAL := help
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
export JOBS
# Folder of the model that `make demo` verifies; empty: the demo makes a small one.
MODEL ?=
# Seconds for each fuzz target.
SECONDS_EACH ?= 60

install := deploy/install-packages.sh
cmake_build = cmake --build build/$(1) --parallel $(JOBS) --target $(2)

# A preset is configured once, and again when presets change (build files notice CMakeLists.txt
# themselves). Tests need packages that `make demo` does not install, hence a stamp of their own.
build/%/.configured: CMakePresets.json
	@cmake --preset $* >build/$*.log 2>&1 || { cat build/$*.log; exit 1; }
	@touch $@

build/%/.configured-tests: CMakePresets.json
	@mkdir -p build
	@cmake --preset $* >build/$*.log 2>&1 || { cat build/$*.log; exit 1; }
	@touch build/$*/.configured $@

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' Makefile

.PHONY: demo
demo: ## install what is missing, build the programs, show the whole path (MODEL=DIR: with your model; KEEP=1: leave the service with its console)
	@$(install) build
	@mkdir -p build
	@$(MAKE) -s build/release/.configured
	@$(call cmake_build,release,programs)
	@ASSAY_DEMO_KEEP=$(KEEP) deploy/demo/run.sh $(if $(MODEL),"$(MODEL)")

.PHONY: build
build: ## install what is missing, build programs and tests (build/release)
	@$(install) build test
	@$(MAKE) -s build/release/.configured-tests
	@$(call cmake_build,release,all)

PREFIX ?= /usr/local
.PHONY: install
install: ## programs, man pages, completion and systemd units below PREFIX (/usr/local; DESTDIR=DIR before it)
	@$(install) build
	@mkdir -p build
	@$(MAKE) -s build/release/.configured
	@$(call cmake_build,release,packages)
	@cmake --install build/release --prefix "$(PREFIX)" --strip >build/install.log
	@echo "installed below $(DESTDIR)$(PREFIX)"

.PHONY: deb
deb: ## Debian packages assay and assayd (build/deb)
	@$(install) build packages
	@mkdir -p build
	@$(MAKE) -s build/release/.configured
	@$(call cmake_build,release,packages)
	@cpack --config build/release/CPackConfig.cmake -B build/deb >build/deb.log || { cat build/deb.log; exit 1; }
	@ls build/deb/*.deb

.PHONY: test
test: build ## build everything and run the tests
	@tests/run.sh build/release

.PHONY: lint
lint: ## format, includes, coroutine forms, files, schemas, headers alone
	@$(install) build test lint
	@$(MAKE) -s build/release/.configured-tests
	@tests/lint/check.sh
	@/usr/bin/python3 -B tests/lint/check_headers.py build/release

.PHONY: format
format: ## rewrite C++ files in the project's format
	@$(install) lint
	@tests/lint/check.sh -f

.PHONY: asan
asan: ## all tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(install) build test
	@$(MAKE) -s build/asan/.configured-tests
	@$(call cmake_build,asan,all)
	@tests/run.sh build/asan

.PHONY: asan-libraries
asan-libraries:
	@$(install) build test
	@$(MAKE) -s build/asan-libraries/.configured-tests
	@$(call cmake_build,asan-libraries,library-tests)
	@tests/run.sh build/asan-libraries -L '^library$$' -LE '^(slow|torture|analysis)$$'

.PHONY: tsan
tsan: ## all tests under ThreadSanitizer
	@$(install) build test analysis
	@$(MAKE) -s build/tsan/.configured-tests
	@$(call cmake_build,tsan,all)
	@tests/run.sh build/tsan

.PHONY: tidy
tidy: ## clang-tidy over all sources (FILES='a.cc b.cc': over these)
	@$(install) build test analysis
	@$(MAKE) -s build/tidy/.configured-tests
	@tests/lint/tidy.sh build/tidy $(FILES)

.PHONY: fuzz
fuzz: ## each fuzz target for SECONDS_EACH=60 (TARGETS='a b': these)
	@$(install) build test analysis
	@$(MAKE) -s build/fuzz/.configured-tests
	@$(call cmake_build,fuzz,fuzzers)
	@tests/fuzz/run.sh build/fuzz $(SECONDS_EACH) $(TARGETS)

.PHONY: coverage
coverage: ## branches of attestation/ that its tests take: at least 95 %, the others have a reason
	@$(install) build test analysis
	@$(MAKE) -s build/coverage/.configured-tests
	@$(call cmake_build,coverage,attestation-tests)
	@/usr/bin/python3 -B tests/attestation/coverage.py build/coverage --json build/coverage.json

# A processor like AMD's of 2021: AVX2 and SHA instructions, no AVX-512.
HIDE ?= avx512,gfni
masked = env HIDE_INSTRUCTIONS=$(HIDE) LD_PRELOAD=$(CURDIR)/build/release/tests/gpu_hash/libmasked_processor.so

.PHONY: test-processors
test-processors: build ## demo and tests with instructions of this processor hidden (HIDE=avx512,gfni; also sha, avx2)
	@$(masked) deploy/demo/run.sh
	@$(masked) tests/run.sh build/release -LE '^(slow|torture|analysis|lint)$$' \
		-E '^gpu_hash\.on_'  # these hide and emulate themselves

.PHONY: torture
torture: build ## crash, power-loss and load tests of storage and server (minutes)
	@tests/run.sh build/release -L '^torture$$' --parallel 1

.PHONY: test-kubernetes
test-kubernetes: ## tests against a real Kubernetes control plane (needs Go 1.25; BUILD=build/fast: these programs)
	@$(if $(BUILD),,$(install) build test)
	@$(if $(BUILD),,$(MAKE) -s build/release/.configured-tests)
	@$(if $(BUILD),,$(call cmake_build,release,programs))
	@tests/kubernetes/run.sh $(or $(BUILD),build/release) $(TESTS)

.PHONY: test-differential
test-differential: ## TDX quotes beside go-tdx-guest, signatures given to stock DSSE verifiers and model_signing (needs Go 1.23; BUILD=build/fast: these programs)
	@$(if $(BUILD),,$(install) build test)
	@$(if $(BUILD),,$(MAKE) -s build/release/.configured-tests)
	@$(if $(BUILD),,$(call cmake_build,release,assay))
	@tests/attestation/differential/run.sh $(or $(BUILD),build/release)
	@tests/attestation/stock_dsse/run.sh $(or $(BUILD),build/release)
	@tests/attestation/stock_model_signing/run.sh $(or $(BUILD),build/release)

.PHONY: test-devices
test-devices: ## engine tests on each OpenCL platform without a GPU (BUILD=build/fast: these programs)
	@$(if $(BUILD),,$(install) build test)
	@$(install) devices || true
	@$(if $(BUILD),,$(MAKE) -s build/release/.configured-tests)
	@$(if $(BUILD),,$(call cmake_build,release,gpu_hash_tests))
	@tests/gpu_hash/devices.sh $(or $(BUILD),build/release)

.PHONY: test-python
test-python: ## tests of the Python package; takes pytest and PyTorch from PyPI (ASSAY_TORCH=no: without; BUILD=build/fast: there)
	@$(if $(BUILD),,$(install) test)
	@python/tests/run.sh $(or $(BUILD),build/release) $(TESTS)

.PHONY: test-console
test-console: ## the console in a headless Chromium (Debian: chromium; Playwright from PyPI, axe-core from npm; BUILD=build/fast: these programs)
	@$(if $(BUILD),,$(install) build test)
	@$(if $(BUILD),,$(MAKE) -s build/release/.configured-tests)
	@$(if $(BUILD),,$(call cmake_build,release,programs))
	@tests/console/run.sh $(or $(BUILD),build/release) $(TESTS)

.PHONY: schemathesis
schemathesis: ## requests made from schemas/openapi.yaml for SECONDS=60 (BUILD=build/fast: these programs)
	@$(if $(BUILD),,$(install) build test)
	@$(if $(BUILD),,$(MAKE) -s build/release/.configured-tests)
	@$(if $(BUILD),,$(call cmake_build,release,programs))
	@tests/e2e/schemathesis.sh $(or $(BUILD),build/release) $(or $(SECONDS),60)

.PHONY: limits
limits: ## what a review and a decision cost and store, against the limits of docs/limits.md (minutes)
	@$(install) build test analysis
	@$(MAKE) -s build/release/.configured-tests
	@$(call cmake_build,release,limits_review_bench limits_decision_bench)
	@build/release/bin/limits_review_bench
	@build/release/bin/limits_decision_bench statements=4000 decisions=50

.PHONY: limits-load
limits-load: ## what a service does beside a load and after it, against the bars of docs/limits.md (minutes, on a quiet machine; PRINT_ONLY=1: only figures)
	@$(install) build test
	@$(MAKE) -s build/release/.configured-tests
	@$(call cmake_build,release,programs)
	@bench/limits_load.py $(if $(PRINT_ONLY),--print-only)

.PHONY: bench
bench: ## build and run the benchmarks
	@$(install) build test analysis
	@$(MAKE) -s build/release/.configured-tests
	@$(call cmake_build,release,programs benches)
	@bench/run.sh build/release

.PHONY: bundle
bundle: ## programs and benchmarks with their libraries, to copy to another machine (build/bundle)
	@$(install) build test analysis
	@$(MAKE) -s build/release/.configured-tests
	@$(call cmake_build,release,programs benches)
	@deploy/bundle.sh build/release build/bundle

.PHONY: fresh
fresh: ## docs/getting-started.md, make demo, make test and docs/installing.md on a bare Debian 12 (needs root)
	@$(install) fresh
	@deploy/fresh.sh

.PHONY: arm64
arm64: ## build everything for arm64 (build/arm64), run its unit tests and half the demo under QEMU
	@$(install) build test arm64
	@mkdir -p build
	@deploy/arm64-root.sh build/arm64-root
	@$(MAKE) -s build/arm64/.configured-tests
	@$(call cmake_build,arm64,all)
	@tests/arm64/run.sh build/arm64

.PHONY: ci-long
ci-long: ## what CI does once a day: slow tests, sanitizers, clang-tidy, fuzzing, coverage, torture, limits of cost, OpenCL platforms, arm64, Kubernetes, Python package, Schemathesis
	@$(MAKE) -s build
	@$(install) analysis lint
	@tests/run.sh build/release -L '^(slow|analysis)$$'
	@$(MAKE) test-processors
	@$(MAKE) asan
	@$(MAKE) tsan
	@$(MAKE) tidy
	@$(MAKE) fuzz
	@$(MAKE) coverage
	@$(MAKE) torture
	@$(MAKE) limits
	@$(MAKE) limits-load PRINT_ONLY=1
	@$(MAKE) test-devices
	@$(MAKE) arm64
	@$(MAKE) test-kubernetes
	@$(MAKE) test-differential
	@$(MAKE) test-python
	@$(MAKE) schemathesis
	@$(MAKE) test-console

.PHONY: clean
clean: ## remove the build folder
	@rm -rf build
