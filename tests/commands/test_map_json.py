"""A map as JSON for other tools."""

from __future__ import annotations

import json

from map_doubles import built, point, square

from reportgen.commands import map_json


def test_points_with_their_verdict_and_every_backend():
    told = map_json.to_json(built(point(square(128), "flash", flash=150.0, cudnn=100.0, efficient="wrong", math="refused"), point(square(512), "flash", flash=100.0, cudnn=150.0)))
    found = json.loads(json.dumps(told, allow_nan=False))
    first = found["points"][0]
    assert (first["id"], first["standing"], first["leaders"], first["torch_picks"], first["default"]) == ("b32-h16-q128-k128-d64-bf16-causal", "winner", ["cudnn"], "flash", "loses")
    assert first["margin"] == 0.5 and first["default_takes_longer"] == 0.5 and first["host_is_the_limit"] is False
    assert first["backends"]["cudnn"]["gpu_time_us"] == 100.0 and first["backends"]["cudnn"]["host_time_us"] == 20.0 and first["backends"]["cudnn"]["peak_memory_bytes"] == 1048576
    assert first["backends"]["efficient"] == {"state": "wrong", "reason": None, "gpu_time_us": None, "host_time_us": None, "rounds": 0, "first_us": None, "peak_memory_bytes": None,
                                              "relative_error": 0.4, "allowed_error": 0.005, "tensor": "gradient of q"}
    assert first["backends"]["math"]["reason"] == "math said why not"
    assert found["default_takes_longer"] == {"mean": 0.25, "worst": 0.5}
    assert [(one["from"], one["at"], one["to"], one["by"]) for one in found["crossovers"]] == [("cudnn", 128, "flash", 512)]
    assert found["policy"] == [{"calls": ["b32-h16-q128-k128-d64-bf16-causal"], "backends": ["cudnn", "flash", "math"]}, {"calls": ["b8-h16-q512-k512-d64-bf16-causal"], "backends": []}]


def test_a_map_without_a_point_has_no_numbers():
    found = map_json.to_json(built())
    assert found["points"] == [] and found["default_takes_longer"] == {"mean": None, "worst": None} and found["policy"] == []
