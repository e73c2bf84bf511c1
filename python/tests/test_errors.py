# SPDX-License-Identifier: Apache-2.0
"""No node agent, one that refuses, one that misbehaves: clear errors, never `verified`."""
import errno
import json
import os
import socket
import struct
import threading
import time

import pytest

import assay
from conftest import ARTIFACT, needs_torch, net, torch
from fake_agent import PATIENCE

pytestmark = needs_torch


def attempt(path, error):
    with pytest.raises(error) as caught:
        assay.register(net(), artifact=ARTIFACT, socket=str(path))
    return caught.value


def test_no_socket(tmp_path):
    assert "--register-socket" in str(attempt(tmp_path / "none", assay.NoWorker))


def test_no_listener(tmp_path):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "dead"))
    assert "nobody listens" in str(attempt(tmp_path / "dead", assay.NoWorker))


def test_no_socket_but_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    assert "is no socket" in str(attempt(tmp_path / "file", assay.NoWorker))


def test_refused(model, agent):
    agent.refuse = "already-registered", "rank 0 of main is there"
    error = attempt(agent.path, assay.Refused)
    assert (error.code, error.detail) == agent.refuse and "already-registered" in str(error)
    assert assay.registrations() == []


def test_refused_update(model, agent):
    registration = assay.register(model, artifact=ARTIFACT, socket=agent.path)
    agent.refuse = "limit-exceeded", "too many"
    with pytest.raises(assay.Refused):
        registration.update(ARTIFACT)
    assert registration.state == "released"
    agent.refuse = None
    registration.update(ARTIFACT)  # on a connection of its own
    assert registration.verify_now() == "verified"
    registration.close()


def test_an_impossible_update_leaves_it_released(model, agent):
    with assay.register(model, artifact=ARTIFACT, socket=agent.path) as registration:
        with pytest.raises(assay.ModelError):
            registration.update(ARTIFACT, model=torch.nn.ReLU())
        assert registration.state == "released"


def test_closed_registrations(model, agent):
    registration = assay.register(model, artifact=ARTIFACT, socket=agent.path)
    registration.close()
    registration.close()
    for call in (registration.verify_now, registration.release, lambda: registration.update(ARTIFACT)):
        with pytest.raises(assay.NotRegistered):
            call()


def test_verify_that_is_not_answered(model, agent):
    with assay.register(model, artifact=ARTIFACT, socket=agent.path) as registration:
        registration.wait()
        agent.answers_verify = False
        with pytest.raises(assay.AgentTimeout, match="verify"):
            registration.verify_now(timeout=0.01)
        agent.wait(lambda: agent.of("verify"))
        # At most one is unanswered: the next waits for the first.
        later = threading.Thread(target=lambda: registration.verify_now())
        later.start()
        agent.answers_verify = True
        owner, request = agent.connections[0], agent.of("verify")[0]["request"]
        owner.call(lambda: owner.check(request))
        later.join(PATIENCE)
        assert not later.is_alive() and [f["request"] for f in agent.of("verify")] == [1, 2]


def test_pending_until_all_ranks_are_there(model, agent):
    agent.checks_at_once = False
    with assay.register(model, artifact=ARTIFACT, socket=agent.path, rank=1, world=2) as registration:
        assert registration.state == "pending"
        with pytest.raises(assay.AgentTimeout, match="ranks"):
            registration.wait(timeout=0.01)


class Script:
    """An agent that sends these bytes after each frame that comes, then hangs up if it is told to."""

    def __init__(self, path, *answers, hang_up=False):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.answers, self.hang_up = answers, hang_up
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        peer, _ = self.listener.accept()
        for answer in self.answers:
            size = peer.recv(4, socket.MSG_WAITALL)
            if len(size) == 4:
                peer.recv(struct.unpack("<I", size)[0], socket.MSG_WAITALL)
            try:
                peer.sendall(answer)
            except OSError:
                break
        if not self.hang_up:
            self.done.wait(PATIENCE)
        peer.close()

    def close(self):
        self.done.set()
        self.thread.join()
        self.listener.close()


def message(**frame):
    body = json.dumps(frame).encode()
    return struct.pack("<I", len(body)) + body


WELCOME = message(type="welcome", protocol=1, pod="", container="")


@pytest.mark.parametrize("answers, hang_up, error", [
    ([], True, assay.NoWorker),
    ([WELCOME], True, assay.NoWorker),
    ([b"HTTP/1.1 400 Bad Request\r\n\r\n"], False, assay.ProtocolError),
    ([message(type="welcome", protocol=2, pod="", container="")], False, assay.ProtocolError),
    ([WELCOME, message(type="registered", registration="1")], False, assay.ProtocolError),
    ([message(type="refused", code="peer-unknown", detail="pid 0")], True, assay.Refused),
    ([WELCOME, message(type="released", request=7)], False, assay.ProtocolError),
], ids=["at once", "after welcome", "another protocol", "version", "bad id", "refused peer", "released"])
def test_agents_that_misbehave(tmp_path, answers, hang_up, error):
    script = Script(tmp_path / "s", *answers, hang_up=hang_up)
    try:
        attempt(tmp_path / "s", error)
    finally:
        script.close()


def test_silent_agents(tmp_path, monkeypatch):
    monkeypatch.setattr("assay._link.HANDSHAKE", 0.05)
    script = Script(tmp_path / "s", b"")
    try:
        assert "in time" in str(attempt(tmp_path / "s", assay.AgentTimeout))
    finally:
        script.close()


def test_refused_while_descriptors_are_still_sent(agent, monkeypatch):
    """The agent hangs up in the middle: its reason is still read."""
    monkeypatch.setattr("assay._move.ARENA", 0)
    agent.refuse = "limit-exceeded", "too many pieces"
    tensors = {f"t{n}": torch.zeros(16) for n in range(3000)}
    with pytest.raises(assay.Refused):
        assay.register(tensors, artifact=ARTIFACT, socket=agent.path)


def test_errors_of_the_thread_are_not_silent(model, agent, monkeypatch):
    with assay.register(model, artifact=ARTIFACT, socket=agent.path, reconnect=False) as registration:
        registration.wait()
        monkeypatch.setattr(registration._link._plan, "check", lambda: iter([1]))
        with pytest.raises(TypeError):
            registration.verify_now()
        assert registration.state == "unknown" and "TypeError" in registration.findings[0].detail


def test_without_memory_files_everything_is_staged(model, agent, monkeypatch):
    def fail(size):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    monkeypatch.setattr("assay._memory.new_arena", fail)
    with assay.register(model, artifact=ARTIFACT, socket=agent.path) as registration:
        assert registration.verify_now() == "verified"
        assert {p["cause"] for p in agent.of("register")[0]["pieces"]} == \
            {"no memory file: Too many open files"}


def test_looking_costs_little(model, agent):
    """A look at 1,000 tensors holds Python's lock for little."""
    tensors = {f"t{n}": torch.zeros(16) for n in range(1000)}
    with assay.register(tensors, artifact=ARTIFACT, socket=agent.path, period=3600) as registration:
        registration.wait()
        plan, best = registration._link._plan, []
        for _ in range(5):
            start = time.perf_counter()
            assert not any(list(plan.check()))
            best.append(time.perf_counter() - start)
        assert min(best) < 0.05, min(best)
