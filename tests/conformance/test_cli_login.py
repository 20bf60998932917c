"""Our tools log in to an Apache Kafka broker that lets nobody in unasked: TLS, PLAIN and SCRAM."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import transcript as tools
from harness.apache import ApacheBroker
from harness.brokers import Broker
from harness.maven import need
from harness.processes import free_port
from harness.side_by_side import Outcome, ours

PASSWORD = "a, b = c"
MODULES = "org.apache.kafka.common.security"
SECURED = ("SASL_PLAINTEXT", "SSL", "SASL_SSL")


def openssl(folder: Path, line: str) -> None:
    subprocess.run(
        [need("openssl"), *line.split()], cwd=folder, check=True, capture_output=True, timeout=120
    )


def make_keys(folder: Path) -> None:
    """`ca.pem` is trusted; `server.pem` and `client.pem` have a key and a certificate by it."""
    openssl(folder, "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=ca")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name in ("server", "client"):
        openssl(
            folder,
            f"req -newkey rsa:2048 -nodes -keyout {name}.key -out {name}.csr -subj /CN={name}",
        )
        openssl(
            folder,
            f"x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial "
            f"-out {name}.crt -extfile names",
        )
        both = (folder / f"{name}.key").read_text() + (folder / f"{name}.crt").read_text()
        (folder / f"{name}.pem").write_text(both)


class SecuredBroker(ApacheBroker):
    """Beside its plain listener it has one of each other kind; `places` has their addresses."""

    places: dict[str, str]

    def _choose_ports(self) -> None:
        super()._choose_ports()
        self.places = {kind: f"127.0.0.1:{free_port()}" for kind in SECURED}
        added = "".join(f",{kind}://{place}" for kind, place in self.places.items())
        text = self._properties.read_text()
        lines = [
            line + added if line.startswith("listeners=") else line for line in text.splitlines()
        ]
        self._properties.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("keys")
    make_keys(made)
    return made


@pytest.fixture(scope="module")
def secured(folder: Path) -> Iterator[SecuredBroker]:
    protocols = ",".join(f"{kind}:{kind}" for kind in ("PLAINTEXT", *SECURED))
    settings = {
        "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,{protocols}",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "server.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "ca.pem"),
        "listener.name.ssl.ssl.client.auth": "required",
    }
    for kind in ("sasl_plaintext", "sasl_ssl"):
        name = f"listener.name.{kind}"
        settings[f"{name}.plain.sasl.jaas.config"] = (
            f'{MODULES}.plain.PlainLoginModule required user_alice="{PASSWORD}";'
        )
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            settings[f"{name}.{mechanism}.sasl.jaas.config"] = (
                f"{MODULES}.scram.ScramLoginModule required;"
            )
    broker = SecuredBroker(folder / "broker", settings)
    try:
        broker.start()
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            line = f"--alter --user bob --add-config {mechanism}=[iterations=8192,password=secret]"
            assert ours(tools.CONFIGS, broker, line).status == 0
        yield broker
    finally:
        broker.discard()


class At(Broker):
    """Another listener of a broker that runs."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        super().__init__(folder)
        self.bootstrap = bootstrap

    def start(self) -> None:
        raise AssertionError("it runs")


def asked(
    secured: SecuredBroker, folder: Path, kind: str, *properties: str, trusted: bool = True
) -> Outcome:
    """What our tool says that asks at that listener, with these properties."""
    file = folder / "client.properties"
    lines = [f"security.protocol={kind}", *properties]
    if trusted:
        lines.append(f"ssl.truststore.location={folder / 'ca.pem'}")
    file.write_text("\n".join(lines) + "\n")
    place = At(folder / "client", secured.places[kind])
    return ours(tools.CONFIGS, place, f"--describe --broker 1 --command-config {file}")


def jaas(mechanism: str, user: str, password: str) -> tuple[str, str]:
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    return (
        f"sasl.mechanism={mechanism}",
        f'sasl.jaas.config={MODULES}.{module} required username="{user}" password="{password}";',
    )


@pytest.mark.parametrize("kind", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize(
    "who",
    [
        ("PLAIN", "alice", PASSWORD),
        ("SCRAM-SHA-256", "bob", "secret"),
        ("SCRAM-SHA-512", "bob", "secret"),
    ],
)
def test_who_knows_the_password_is_let_in(
    secured: SecuredBroker, folder: Path, kind: str, who: tuple[str, str, str]
) -> None:
    done = asked(secured, folder, kind, *jaas(*who))
    assert done == Outcome(status=0, out="Dynamic configs for broker 1 are:\n", err="")


@pytest.mark.parametrize(
    "who",
    [
        ("PLAIN", "alice", "wrong"),
        ("SCRAM-SHA-256", "bob", "wrong"),
        ("SCRAM-SHA-512", "nobody", "secret"),
    ],
)
def test_who_does_not_is_told_in_one_line(
    secured: SecuredBroker, folder: Path, who: tuple[str, str, str]
) -> None:
    done = asked(secured, folder, "SASL_PLAINTEXT", *jaas(*who))
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert secured.places["SASL_PLAINTEXT"] in done.err
    assert "Authentication failed" in done.err


def test_a_certificate_lets_in_too(secured: SecuredBroker, folder: Path) -> None:
    done = asked(secured, folder, "SSL", f"ssl.keystore.location={folder / 'client.pem'}")
    assert (done.status, done.err) == (0, "")


def test_without_a_certificate_nobody_is_let_in(secured: SecuredBroker, folder: Path) -> None:
    done = asked(secured, folder, "SSL")
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)


def test_a_server_that_nobody_vouches_for_is_not_trusted(
    secured: SecuredBroker, folder: Path
) -> None:
    done = asked(secured, folder, "SASL_SSL", *jaas("PLAIN", "alice", PASSWORD), trusted=False)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert "no TLS connection: " in done.err
    assert "certificate" in done.err
