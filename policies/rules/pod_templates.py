"""Which pods does a Kubernetes object make? The pod specs of the built-in kinds, and the images in them.

Objects of operators (Workflows, Prometheus, ...) and what a Helm release makes are out of sight.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .kinds import is_kubernetes_object, kind_of
from .proxies import Path, Unknowns, each, get, mapping, text

_TEMPLATES: Mapping[str, Path] = {
    "Pod": ("spec",),
    "PodTemplate": ("template", "spec"),
    "Deployment": ("spec", "template", "spec"),
    "DaemonSet": ("spec", "template", "spec"),
    "StatefulSet": ("spec", "template", "spec"),
    "ReplicaSet": ("spec", "template", "spec"),
    "ReplicationController": ("spec", "template", "spec"),
    "Job": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}
_GROUPS = ("core", "apps", "batch", "extensions")
_CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def makes_pods(resource_type: str) -> bool:
    """Whether objects of this type hold a pod template (a patch of one counts)."""
    kind = kind_of(resource_type)
    return is_kubernetes_object(resource_type) and kind.group in _GROUPS and _template(kind.name) is not None


def _template(name: str) -> Path | None:
    return _TEMPLATES.get(name.removesuffix("Patch"))


def pod_spec(resource_type: str, props: object) -> Mapping[str, object]:
    """The pod spec in an object's properties, empty if there is none."""
    path = _template(kind_of(resource_type).name)
    return mapping(get(props, *path)) if path else {}


def pod_labels(resource_type: str, props: object) -> Mapping[str, object]:
    """The labels of the pods that an object makes, empty if there are none."""
    path = _template(kind_of(resource_type).name)
    return mapping(get(props, *path[:-1], "metadata", "labels")) if path else {}


def containers(spec: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Name and body of every container, init and ephemeral ones included; unknowns raise last."""
    unknowns = Unknowns()
    for key in _CONTAINER_LISTS:
        with unknowns:
            for position, container in enumerate(each(get(spec, key))):
                yield _name(container) or f"{key}[{position}]", mapping(container)
    unknowns.raise_first()


def _name(item: object) -> str | None:
    """A name for a message; that it is unknown does not matter."""
    with Unknowns():
        return text(get(item, "name"))
    return None


def images(spec: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Where an image is used and its reference: containers and image volumes; unknowns raise last."""
    unknowns = Unknowns()
    with unknowns:
        for name, container in containers(spec):
            with unknowns:
                image = text(get(container, "image"))
                if image is not None:
                    yield f"container {name}", image
    with unknowns:
        for volume in each(get(spec, "volumes")):
            with unknowns:
                reference = text(get(volume, "image", "reference"))
                if reference is not None:
                    yield f"volume {_name(volume) or '?'}", reference
    unknowns.raise_first()


@dataclass(frozen=True)
class ImageReference:
    """An image reference in parts. `tag` and `digest` are None where they are not given."""

    repository: str
    tag: str | None
    digest: str | None

    @property
    def has_valid_digest(self) -> bool:
        """Whether the image is named by a whole sha256 digest."""
        return self.digest is not None and _DIGEST.fullmatch(self.digest) is not None


def read_image(reference: str) -> ImageReference:
    """`registry:5000/a/b:tag@sha256:...` in parts. A colon before the last slash is a port, not a tag."""
    name, _, digest = reference.partition("@")
    head, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    return ImageReference(head + slash + last, tag or None, digest or None)
