from __future__ import annotations

import subprocess
import sys

import pytest

from barnabas.base.settings import BrokerConfig
from barnabas.broker.zookeeper_session import NoZooKeeper, ZooKeeperSettings, _hosts


def settings(**given: str) -> ZooKeeperSettings:
    texts = {name.replace("_", "."): text for name, text in given.items()}
    return ZooKeeperSettings.of(BrokerConfig.from_properties({"node.id": "1", **texts}))


@pytest.mark.parametrize(
    ("connect", "servers", "root"),
    [
        ("zk:2181", "zk:2181", ""),
        ("zk", "zk", ""),
        ("a:1,b:2,c:3", "a:1,b:2,c:3", ""),
        ("a:1,b:2/kafka", "a:1,b:2", "/kafka"),
        ("a:1/kafka/two/", "a:1", "/kafka/two"),
        ("a:1/", "a:1", ""),
    ],
)
def test_zookeeper_connect_names_servers_and_a_path(connect: str, servers: str, root: str) -> None:
    found = settings(zookeeper_connect=connect)
    assert (found.servers, found.root) == (servers, root)


@pytest.mark.parametrize("connect", ["a:b", "a:1,", ":", "/kafka"])
def test_a_bad_zookeeper_connect_is_refused(connect: str) -> None:
    with pytest.raises(NoZooKeeper, match=r"zookeeper\.connect"):
        settings(zookeeper_connect=connect)


def test_connecting_may_take_as_long_as_a_session_unless_told_otherwise() -> None:
    found = settings(zookeeper_connect="a", zookeeper_session_timeout_ms="6000")
    assert (found.session_timeout_s, found.connection_timeout_s) == (6, 6)
    found = settings(zookeeper_connect="a", zookeeper_connection_timeout_ms="1500")
    assert (found.session_timeout_s, found.connection_timeout_s) == (18, 1.5)


@pytest.mark.parametrize(
    ("servers", "session_s", "tries"),
    [("a:1", 18, 6), ("a:1,b:2,c:3", 18, 6), ("a:1,b:2,c:3,d:4,e:5,f:6,g:7", 18, 7), ("a:1", 1, 1)],
)
def test_one_handshake_that_is_not_answered_takes_a_part_of_the_session_only(
    servers: str, session_s: float, tries: int
) -> None:
    hosts = _hosts(ZooKeeperSettings(servers=servers, session_timeout_s=session_s)).split(",")
    assert len(hosts) == tries
    assert set(hosts) == set(servers.split(","))


def test_credentials_are_a_name_and_a_password_and_access_lists_need_them() -> None:
    found = settings(
        zookeeper_connect="a", zookeeper_digest_auth="me:secret", zookeeper_set_acl="true"
    )
    assert (found.digest, found.set_acl) == ("me:secret", True)
    assert "secret" not in repr(found)
    with pytest.raises(NoZooKeeper, match="name:password"):
        settings(zookeeper_connect="a", zookeeper_digest_auth="me")
    with pytest.raises(NoZooKeeper, match=r"zookeeper\.digest\.auth"):
        settings(zookeeper_connect="a", zookeeper_set_acl="true")


def test_kazoo_is_not_loaded_before_a_session_is_made() -> None:
    code = (
        "import sys, barnabas.broker.zookeeper_session, barnabas.broker.node\n"
        "sys.exit(any(name.split('.')[0] == 'kazoo' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
