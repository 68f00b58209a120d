"""Why there are no GPU records, in Kineto's words, and what helps."""

from __future__ import annotations

import pytest

from reportgen.capture import cupti

SAID = """INFO:2026-08-01 10:11:12 100:100 init.cpp:134] Logger observer
WARNING:2026-08-01 10:11:12 100:100 CuptiActivityApi.cpp:250] function cbapi_->getCuptiStatus() failed with error CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)
WARNING:2026-08-01 10:11:13 100:100 CuptiActivityApi.cpp:250] function cbapi_->getCuptiStatus() failed with error CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)
WARNING:2026-08-01 10:11:13 100:100 init.cpp:167] CUPTI initialization failed - CUDA profiler activities will be missing
something else on standard error
"""


def test_kinetos_words_without_time_stamps_each_once():
    assert cupti.complaints(SAID) == ("function cbapi_->getCuptiStatus() failed with error CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)",
                                      "CUPTI initialization failed - CUDA profiler activities will be missing")
    assert cupti.complaints("a line of nobody's\n") == ()


@pytest.mark.parametrize(("said", "cure"), [
    ("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", "stop whatever else profiles this GPU (Nsight, DCGM, another profiler)"),
    ("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", "allow profiling: in a container --cap-add=SYS_ADMIN, on the host the driver's option NVreg_RestrictProfilingToAdminUsers=0"),
    ("CUPTI_ERROR_NOT_INITIALIZED", "unset LD_LIBRARY_PATH, which may put another CUDA's libcupti before torch's own"),
])
def test_the_cure_fits_what_was_said(said, cure):
    assert cupti.cures((said,)) == cure


def test_where_nothing_was_said_there_are_the_three_usual_cures():
    assert [cure.split(" ")[0] for cure in cupti.cures(()).split("; or ")] == ["stop", "allow", "unset"]
