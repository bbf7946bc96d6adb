"""The words of the API's document: every field of a workload, a plan and a problem, with examples. Pure."""

from __future__ import annotations

from typing import Any

from floodplain.service.workloads import MOST_WORKLOADS
from floodplain.sizing.odm.options import KINDS
from floodplain.sizing.plan import MonthlyCost, Plan
from floodplain.sizing.workload import LONGEST_ESTIMATE, MOST_IMAGES, CapacityType, Engine

SUMMARY = "Sizes batch jobs by what they will need at their peak."
DESCRIPTION = (
    "From the count of a job's images, or the estimated peak of a raster task, to memory limit and request, the swap"
    " that kubelet will grant, and the instance types that hold it. All sizes are bytes; CPU is a Kubernetes quantity."
    " Keys of requests may be snake_case or camelCase. Whatever is wrong is answered as a list of problems: where, what"
    " value, which rule, what to do."
)

_WORKLOAD: dict[str, dict[str, Any]] = {
    "engine": {
        "type": "string",
        "enum": [engine.value for engine in Engine],
        "default": "odm",
        "description": "The program that runs.",
    },
    "images": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_IMAGES,
        "description": "How many images the job reads. Required of odm, and of odm alone.",
    },
    "options": {
        "oneOf": [
            {"type": "array", "items": {"type": "string"}},
            {"type": "string"},
            {"type": "object", "additionalProperties": True},
        ],
        "default": [],
        "description": "The engine's own options as a list, one text with commas, or a map;"
        f" any of ODM's {len(KINDS)}, with or without dashes in front.",
        "examples": [["dsm", "pc-quality=high"], "dsm,pc-quality=high"],
    },
    "megapixels": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "maximum": 1000,
        "default": None,
        "description": "Megapixels of one image; null if unknown.",
    },
    "peak": {
        "type": "string",
        "description": "Of a raster task: the most its container will hold, baseline of the process included, as a"
        " Kubernetes quantity. Required of raster, and of raster alone.",
        "examples": ["1536Mi"],
    },
    "estimate": {
        "type": ["string", "null"],
        "maxLength": LONGEST_ESTIMATE,
        "default": None,
        "description": "How that peak was found, in a few words. Only shown.",
    },
    "capacity_type": {
        "type": ["string", "null"],
        "enum": [*(one.value for one in CapacityType), None],
        "default": None,
        "description": "Capacity type that the job asks for; null leaves it to the plan.",
    },
    "deadline_seconds": {
        "type": ["integer", "null"],
        "exclusiveMinimum": 0,
        "default": None,
        "description": "Seconds after which the job is ended anyway.",
    },
}

_PLAN = {
    "schema_version": "Version of this shape.",
    "engine": "The program that runs.",
    "images": "How many images the job reads, or null for an engine that has no such count.",
    "options": "The options as they were understood, in alphabetical order.",
    "compatibility": "Another planner whose rules were followed, or null.",
    "peak_bytes": "Predicted peak, memory and swap together.",
    "peak_source": "What the prediction rests on.",
    "confidence": "How far the prediction can be trusted.",
    "confidence_reason": "Why it has this confidence.",
    "hot_bytes": "The part of the peak that must stay in memory.",
    "hot_source": "Where the hot part's size is from.",
    "pool": "The pool that takes the job for the least memory.",
    "runtime_class": "RuntimeClass of that pool: brings node selector, toleration and overhead.",
    "capacity_type": "Capacity type that the pod asks for.",
    "request_bytes": "Memory request of the container.",
    "limit_bytes": "Memory limit of the container.",
    "swap_grant_bytes": "Swap that kubelet will grant (memory.swap.max) on the least of the instance types.",
    "cpu": "CPU request.",
    "cpu_limit": "CPU limit, or null for none.",
    "max_concurrency": "ODM's max-concurrency where a CPU limit makes it necessary, or null.",
    "ephemeral_bytes": "Request and limit of ephemeral storage.",
    "instance_types": "Types that the pod fits, smallest memory first.",
    "smallest_allocatable_bytes": "Memory for pods on the smallest of them, or null if the pod fits none.",
    "containment_margin_bytes": "What the smallest node has left beside DaemonSets and pod; negative: what it lacks.",
    "completion_margin_bytes": "Limit and swap beyond the predicted peak.",
    "feasible": "Whether a pool takes the job as it is.",
    "reasons": "Why none does.",
    "advice": "What to change, the smallest change first.",
    "notes": "What was assumed, changed or left alone.",
    "monthly_cost": "What the place costs for a month, or null without prices.",
    "peak_as_ram_cost": "What the whole peak in memory would cost, or null without prices.",
}
_COST = {
    "instance_type": "The cheapest type that fits.",
    "capacity_type": "Whose price was taken.",
    "usd": "US dollars for 730 hours of the share of the type that the pod takes.",
    "priced": "Region and day of the price.",
}
_PROBLEM = {
    "path": "Where: a key such as `images`, in a list `[3].images`.",
    "value": "What was found there, shortened; left out where there is nothing.",
    "rule": "The rule that it breaks.",
    "remedy": "What to do.",
}

EXAMPLES = {
    "one": {
        "summary": "One job",
        "value": {"engine": "odm", "images": 5000, "options": ["dsm"], "megapixels": 20, "capacity_type": "spot"},
    },
    "raster": {
        "summary": "A raster task of a known peak",
        "value": {"engine": "raster", "peak": "1536Mi", "estimate": "warp chunk 1160Mi, block cache 256Mi"},
    },
    "several": {"summary": "Several jobs", "value": [{"images": 250}, {"images": 1200, "options": "fast-orthophoto"}]},
}


def request_body() -> dict[str, Any]:
    """Of POST /v1/plans, which reads its body itself so that what is wrong is told in our words."""
    one = {"$ref": "#/components/schemas/Workload"}
    several = {"type": "array", "items": one, "minItems": 1, "maxItems": MOST_WORKLOADS}
    return {
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"oneOf": [one, several]}, "examples": EXAMPLES}},
        }
    }


def refused(description: str) -> dict[str, Any]:
    """A response that lists problems."""
    return {
        "description": description,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problems"}}},
    }


def planned() -> dict[str, Any]:
    """The response that carries a plan, or a list as long as the one that was sent."""
    one = {"$ref": "#/components/schemas/Plan"}
    schema = {"oneOf": [one, {"type": "array", "items": one}]}
    return {"description": "One plan, or one for each workload.", "content": {"application/json": {"schema": schema}}}


def schemas() -> dict[str, Any]:
    """The schemas that the responses and the request name."""
    plan = Plan.model_json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
    parts = plan.pop("$defs", {})
    cost = MonthlyCost.model_json_schema(mode="serialization")
    parts["MonthlyCost"] = cost
    _describe(plan, _PLAN)
    _describe(cost, _COST)
    problem = {
        "type": "object",
        "description": "One thing wrong at one place.",
        "required": ["path", "rule", "remedy"],
        "properties": {
            name: {"description": told, **({} if name == "value" else {"type": "string"})}
            for name, told in _PROBLEM.items()
        },
    }
    return {
        **parts,
        "Plan": plan,
        "Problem": problem,
        "Problems": {
            "type": "object",
            "description": "Everything that is wrong.",
            "required": ["problems"],
            "properties": {
                "problems": {
                    "type": "array",
                    "items": {"$ref": "#/components/schemas/Problem"},
                    "description": "In the order of the request.",
                }
            },
        },
        "Workload": {
            "type": "object",
            "description": "One job. Of odm `images` is required, of raster `peak`.",
            "anyOf": [
                {"required": ["images"]},
                {"required": ["engine", "peak"], "properties": {"engine": {"const": Engine.RASTER.value}}},
            ],
            "additionalProperties": False,
            "properties": _WORKLOAD,
        },
    }


def _describe(schema: dict[str, Any], words: dict[str, str]) -> None:
    for name, told in words.items():
        schema["properties"][name] = {**schema["properties"][name], "description": told}
