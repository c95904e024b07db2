# Builds the tests of ops/core into one program, build/core/$(MODE)/core_test, and runs it. From the
# repository's root: make -f tests/core/core.mk MODE=plain run
#
# MODE is plain (optimised as the op library is, assertions on), address (with the address and the
# undefined-behaviour sanitizer) or thread (with the thread sanitizer).

MODE ?= plain
PYTHON ?= python3
OUT := build/core/$(MODE)
# The core has to stay C++14 for the oldest TensorFlow; recent GoogleTests want C++17.
CORE_STANDARD := -std=c++14
TEST_STANDARD := -std=c++17

FLAGS_plain := -O3
FLAGS_address := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined \
	-fno-sanitize-recover=all
FLAGS_thread := -O1 -g -fsanitize=thread
FLAGS := $(FLAGS_$(MODE)) -Wall -Wextra -Werror -pthread -MMD -MP \
	-fno-math-errno -fno-trapping-math -ffp-contract=off -iquote ops -iquote ops/core

GTEST := $(shell $(PYTHON) tests/core/get_googletest.py)
GTEST_OBJECTS := build/core/gtest/gtest-all.o build/core/gtest/gtest_main.o
CORE_OBJECTS := $(patsubst %.cc,$(OUT)/%.o,$(shell find ops/core -name '*.cc'))
TEST_OBJECTS := $(patsubst %.cc,$(OUT)/%.o,$(wildcard tests/core/*_test.cc))

FUZZ_TARGETS := $(patsubst tests/core/fuzz/%_fuzz.cc,%,$(wildcard tests/core/fuzz/*_fuzz.cc))
FUZZ_SECONDS ?= 4
FUZZ_OBJECTS := $(FUZZ_TARGETS:%=$(OUT)/tests/core/fuzz/%_fuzz.o) $(OUT)/tests/core/fuzz/driver.o

ifeq ($(GTEST),)
$(error GoogleTest was not found)
endif

.PHONY: run fuzz
run: $(OUT)/core_test
	$< --gtest_brief=1

# Each fuzz target for FUZZ_SECONDS; part of `run` where the sanitizers see what goes wrong.
fuzz: $(FUZZ_TARGETS:%=$(OUT)/fuzz/%)
	@for target in $(FUZZ_TARGETS); do \
		$(OUT)/fuzz/$$target $(FUZZ_SECONDS) \
			$$(find tests/core/fuzz/corpus/$$target -type f 2>/dev/null) || exit 1; \
	done

ifeq ($(MODE),address)
run: fuzz
endif

$(OUT)/core_test: $(CORE_OBJECTS) $(TEST_OBJECTS) $(GTEST_OBJECTS)
	@echo "Linking $@"
	@$(CXX) $(FLAGS) $^ -o $@

# What admission and eviction cost; see benchmarks/usage/usage.cc.
.PHONY: usage
usage: $(OUT)/usage

$(OUT)/usage: benchmarks/usage/usage.cc benchmarks/usage/timing.h benchmarks/usage/bench_table.h \
		$(CORE_OBJECTS)
	@echo "Linking $@"
	@$(CXX) $(TEST_STANDARD) $(FLAGS) -iquote tests/core $< $(CORE_OBJECTS) -o $@

$(OUT)/fuzz/%: $(OUT)/tests/core/fuzz/%_fuzz.o $(OUT)/tests/core/fuzz/driver.o $(CORE_OBJECTS)
	@mkdir -p $(@D)
	@echo "Linking $@"
	@$(CXX) $(FLAGS) $^ -o $@

.SECONDARY: $(FUZZ_OBJECTS)

$(OUT)/ops/%.o: ops/%.cc
	@mkdir -p $(@D)
	@echo "Compiling $< ($(MODE))"
	@$(CXX) $(CORE_STANDARD) $(FLAGS) -c $< -o $@

$(OUT)/tests/%.o: tests/%.cc
	@mkdir -p $(@D)
	@echo "Compiling $< ($(MODE))"
	@$(CXX) $(TEST_STANDARD) $(FLAGS) -isystem $(GTEST)/include -c $< -o $@

build/core/gtest/%.o: $(GTEST)/src/%.cc
	@mkdir -p $(@D)
	@echo "Compiling $< ($(MODE))"
	@$(CXX) $(TEST_STANDARD) -O1 -w -I $(GTEST) -I $(GTEST)/include -c $< -o $@

-include $(CORE_OBJECTS:.o=.d) $(TEST_OBJECTS:.o=.d) $(FUZZ_OBJECTS:.o=.d)
