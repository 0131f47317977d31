"""The files in deploy/: they name settings, commands, ports and metrics that exist."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import generate_latest

from ledger.cli.doctor_command import known_variables
from ledger.server.traffic.metrics import Metrics

ROOT = Path(__file__).parents[2]
PARTS: list[dict[str, Any]] = list(yaml.safe_load_all((ROOT / "deploy/kubernetes.yaml").read_text()))
CONFIG: dict[str, str] = next(part["data"] for part in PARTS if part["kind"] == "ConfigMap")
PODS = {part["metadata"]["name"]: part["spec"]["template"] for part in PARTS if "template" in part.get("spec", {})}
RULES = yaml.safe_load((ROOT / "deploy/alerts.yaml").read_text())["groups"][0]["rules"]


def test_every_variable_is_a_setting() -> None:
    own = [entry["name"] for pod in PODS.values() for entry in pod["spec"]["containers"][0].get("env", ())]
    named = {name.removeprefix("MEMORY_LEDGER_") for name in (*CONFIG, *own) if name.startswith("MEMORY_LEDGER_")}
    assert named <= {name.removeprefix("MEMORY_LEDGER_") for name in known_variables()}
    assert CONFIG["AUTH_MODE"] == "token"


@pytest.mark.parametrize("name", PODS)
def test_every_pod_is_confined(name: str) -> None:
    spec = PODS[name]["spec"]
    (container,) = spec["containers"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "memory" in container["resources"]["limits"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in spec["volumes"]}


def test_only_the_migration_gets_the_secret_of_the_owner() -> None:
    having = {name for name, pod in PODS.items() if "owner-url" in str(pod)}
    assert having == {"memory-ledger-migrate"}


def test_probes_ask_on_the_management_port() -> None:
    for name, pod in PODS.items():
        (container,) = pod["spec"]["containers"]
        ports = {port["name"]: str(port["containerPort"]) for port in container.get("ports", ())}
        probes = [container[kind]["httpGet"] for kind in container if kind.endswith("Probe")]
        assert bool(probes) == (name != "memory-ledger-migrate")
        for probe in probes:
            assert ports[probe["port"]] == CONFIG["MEMORY_LEDGER_MANAGEMENT_PORT"]
            assert probe["path"] in {"/readyz", "/healthz"}
    # after the drain delay and the grace period of requests there is time to close
    grace_s = PODS["memory-ledger"]["spec"]["terminationGracePeriodSeconds"]
    assert grace_s >= float(CONFIG["MEMORY_LEDGER_DRAIN_S"]) + 30 + 15


def test_alerts_ask_for_labels_that_their_metrics_have() -> None:
    collectors = Metrics()._registry._collector_to_names.items()
    labels = {name: set(collector._labelnames) for collector, names in collectors for name in names}
    for rule in RULES:
        wanted = re.findall(r"(memory_ledger_\w+)\{([^}]*)\}", rule["expr"])
        for metric, matchers in wanted:
            assert set(re.findall(r"(\w+)(?:=~|!~|!=|=)\"", matchers)) <= labels[metric], rule["alert"]
        grouped = {label for group in re.findall(r"by \(([\w, ]+)\)", rule["expr"]) for label in group.split(", ")}
        assert grouped <= {"le"}.union(*labels.values()), rule["alert"]


def test_alerts_ask_for_metrics_that_there_are() -> None:
    declared = generate_latest(Metrics()._registry).decode()
    known = set(re.findall(r"^# TYPE (\w+)", declared, re.MULTILINE))
    known |= {f"{name}_bucket" for name in known}
    for rule in RULES:
        assert set(re.findall(r"memory_ledger_\w+", rule["expr"])) <= known, rule["alert"]
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert rule["annotations"]["summary"].endswith((".", "`.", "…"))
