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

ifeq ($(GTEST),)
$(error GoogleTest was not found)
endif

.PHONY: run
run: $(OUT)/core_test
	$< --gtest_brief=1

$(OUT)/core_test: $(CORE_OBJECTS) $(TEST_OBJECTS) $(GTEST_OBJECTS)
	@echo "Linking $@"
	@$(CXX) $(FLAGS) $^ -o $@

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

-include $(CORE_OBJECTS:.o=.d) $(TEST_OBJECTS:.o=.d)
