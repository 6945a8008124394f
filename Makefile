# One command a task; each installs what it needs first (Debian 12 or newer, root or sudo).
# The packages by name: cmake/setup/packages.txt. `make` alone lists the targets.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
SUDO := $(shell [ "$$(id -u)" -eq 0 ] || echo sudo)
PACKAGES := cmake/setup/packages.sh
BUILD := build
ARGS ?=
# One compiler cache serves every clone: paths below the clone are hashed as relative ones.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

.DEFAULT_GOAL := help
.PHONY: help deps build everything run test verify asan tsan fuzz bench lint format clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## Install the Debian packages that building and testing need (only the missing ones)
	@$(PACKAGES) build page lint test

build: ## Build the program: build/stackray
	@$(PACKAGES) build page
	cmake --preset release
	cmake --build $(BUILD) --target stackray -j $(JOBS)

# The program with its page, the tests and the fixtures' programs.
everything:
	@$(PACKAGES) build page
	cmake --preset release
	cmake --build $(BUILD) -j $(JOBS)

run: build ## Build, then profile this host until Ctrl-C; prints the page's address (ARGS="...")
	$(SUDO) $(BUILD)/stackray agent $(ARGS)

test: ## Build everything, run every test but the long proofs; ends with N passed, N failed
	@$(PACKAGES) build page test
	@$(MAKE) --no-print-directory everything
	@tests/tools/run_tests.sh $(BUILD) test

verify: ## Run the long proofs (storms, outages, fuzzing, a fresh clone) and print one table
	@$(PACKAGES) build page lint test bench verify kernels arm64
	@$(MAKE) --no-print-directory everything
	@tests/tools/run_tests.sh $(BUILD) verify

asan: ## The tests that need no BPF, under AddressSanitizer and UBSan
tsan: ## Those tests under ThreadSanitizer
asan tsan:
	@$(PACKAGES) build page test
	cmake --preset $@
	cmake --build --preset $@ -j $(JOBS)
	@tests/tools/run_tests.sh build-$@ host

FUZZ_MINUTES ?= 30
fuzz: ## Every parser under libFuzzer with ASan and UBSan, FUZZ_MINUTES of CPU time each (30)
	@$(PACKAGES) build page test fuzz
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)
	@tests/fuzz/fuzz_all.py build-fuzz --minutes $(FUZZ_MINUTES)

bench: ## Measure: cost of the profiler and of its parts
	@$(PACKAGES) build page bench
	@$(MAKE) --no-print-directory build
	cmake --build $(BUILD) --target bench -j $(JOBS)

# clang-tidy reads the compile commands and the generated headers, so the tree is built first.
lint: ## Format, includes, sizes, prose, paths, chosen clang-tidy checks (ARGS=--all: every file)
	@$(PACKAGES) build page lint
	@$(MAKE) --no-print-directory everything
	@python3 tests/lint/lint.py --build $(BUILD) $(ARGS)

format: ## Wrap long comments and documents, format our C++ in place
	@$(PACKAGES) lint
	@python3 tests/lint/reflow.py
	@python3 tests/lint/lint.py --fix-format

clean: ## Remove every build folder and the page's npm packages
	rm -rf build build-dev build-asan build-tsan build-fuzz build-arm64 build-arm64-sysroot web/node_modules
