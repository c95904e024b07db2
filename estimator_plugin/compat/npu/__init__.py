"""NPUEstimator and what belongs to it, on a CPU: for programs written for Ascend NPUs, and tests.

The rules that a program and a hook meet are those of the real classes; the device is this host, and
there is one of it. docs/npu.md says what is the same and what is not.
"""
