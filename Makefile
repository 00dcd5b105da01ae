# SPDX-License-Identifier: Apache-2.0
# A thin front for the CMake presets: `make run` and `make test` are all a new user needs.
.PHONY: run test asan tsan release install package docs deps format tidy clean
.DEFAULT_GOAL := run

JOBS ?= $(shell nproc)
# ON: warnings are errors, as in CI.
WERROR ?= OFF
CLANG_TIDY ?= clang-tidy
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
	ctest --preset $(PRESET) -j $(JOBS); status=$$?; python3 tests/skipped.py build/$(PRESET); exit $$status

release: deps
	cmake --preset release
	cmake --build --preset release -j $(JOBS)

# What the .tar.gz of `make package` contains, in PREFIX.
install: deps
	cmake --preset package-archive
	cmake --build --preset package-archive -j $(JOBS)
	cmake --install build/package-archive --prefix $(PREFIX) --strip

# build/packages/xtune_*.deb and xtune-*.tar.gz: packaging/README.md.
package:
	@./cmake/install-deps file dpkg-dev
	for preset in package-deb package-archive; do \
	  cmake --preset $$preset && cmake --build --preset $$preset -j $(JOBS) || exit 1; \
	done
	cpack --config build/package-deb/CPackConfig.cmake -G DEB -B build/packages
	cpack --config build/package-archive/CPackConfig.cmake -G TGZ -B build/packages
	rm -rf build/packages/_CPack_Packages

# The documentation as a site, in build/site.
docs:
	@./cmake/install-deps mkdocs-material
	mkdocs build

deps:
	@./cmake/install-deps

format:
	git ls-files '*.cpp' '*.hpp' | xargs clang-format -i

tidy:
	cmake --preset dev
	git ls-files 'src/*.cpp' | xargs -P $(JOBS) -n 1 $(CLANG_TIDY) -p build/dev --quiet

clean:
	rm -rf build
