# SPDX-License-Identifier: Apache-2.0
# A thin front for the CMake presets: `make run` and `make test` are all a new user needs.
.PHONY: run test asan tsan coverage fuzz aarch64 release install package docs deps format tidy clean
.DEFAULT_GOAL := run

JOBS ?= $(shell nproc)
# Tests wait for workers, jobs and files half of their time.
TEST_JOBS ?= $(shell expr $(JOBS) + 1)
# ON: warnings are errors, as in CI.
WERROR ?= OFF
CLANG_TIDY ?= clang-tidy-19
FUZZ_SECONDS ?= 60
PREFIX ?= /usr/local

# One tree for both: what `make run` has built, `make test` need not.
run: deps
	cmake --preset dev -DXTUNE_WERROR=$(WERROR)
	cmake --build --preset dev -j $(JOBS) --target xtune
	./build/dev/src/cli/xtune run configs/gemm.toml

test: PRESET = dev
asan tsan: PRESET = $@
test asan tsan: deps
	cmake --preset $(PRESET) -DXTUNE_WERROR=$(WERROR)
	cmake --build --preset $(PRESET) -j $(JOBS)
	ctest --preset $(PRESET) -j $(TEST_JOBS); status=$$?; python3 tests/skipped.py build/$(PRESET); exit $$status

# Lines that the tests execute, by directory. A failed test does not change them.
coverage:
	@./cmake/install-deps tests gcovr
	cmake --preset coverage
	cmake --build --preset coverage -j $(JOBS)
	find build/coverage -name '*.gcda' -delete
	ctest --preset coverage -j $(JOBS); status=$$?; python3 tests/coverage.py -j $(JOBS) build/coverage; exit $$status

# Each target for FUZZ_SECONDS; what it has found remains in build/fuzz/found, for the next time.
fuzz:
	@./cmake/install-deps clang-19 libclang-rt-19-dev
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)
	for name in import expression spec; do \
	  mkdir -p build/fuzz/found/$$name; \
	  build/fuzz/tests/fuzz/fuzz_$$name -max_len=4096 -timeout=10 -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=build/fuzz/$$name- \
	    build/fuzz/found/$$name tests/fuzz/corpus/$$name || exit 1; \
	done

# Cross-built for 64-bit Arm, with a share of the tests and a tuning under qemu.
aarch64:
	@./cmake/install-deps aarch64
	cmake --preset aarch64 -DXTUNE_WERROR=$(WERROR)
	cmake --build --preset aarch64 -j $(JOBS)
	ctest --preset aarch64 -j $(JOBS)
	cmake/qemu-aarch64 build/aarch64/src/cli/xtune run examples/row_sum/row_sum.toml --evals 4 --store build/aarch64/store

release: deps
	cmake --preset release
	cmake --build --preset release -j $(JOBS)

# What the .tar.gz of `make package` contains, in PREFIX.
install: deps
	cmake --preset package-archive
	cmake --build --preset package-archive -j $(JOBS)
	cmake --install build/package-archive --prefix $(PREFIX) --strip

# Debian packages and the .tar.gz in build/packages, as a release has them: packaging/README.md.
package:
	@./cmake/install-deps debhelper dpkg-dev
	tools/release --built --only source,archive,deb --jobs $(JOBS)

# The documentation as a site, in build/site; the reference of the C++ API in build/site/cpp.
docs:
	@./cmake/install-deps doxygen mkdocs-material mkdocstrings mkdocstrings-python-handlers
	mkdocs build
	cmake --preset dev
	cmake --build --preset dev --target reference
	cp -r build/dev/reference/html build/site/cpp

deps:
	@./cmake/install-deps

format:
	git ls-files '*.cpp' '*.hpp' | xargs clang-format-14 -i
	black --quiet .

# As the compiler sees single files, with the headers that a build generates.
tidy:
	cmake --preset dev -B build/tidy -DXTUNE_UNITY=OFF
	git ls-files 'src/*.cpp' 'emulator/*.cpp' 'tools/*.cpp' | grep -v /tests/ | xargs -P $(JOBS) -n 1 $(CLANG_TIDY) -p build/tidy --quiet

clean:
	rm -rf build
