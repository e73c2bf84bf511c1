# SPDX-License-Identifier: Apache-2.0
"""Hints and yields: what the node agent gets to see of them, and how they are misused."""
import os
import threading
import time

import pytest

import assay
from conftest import ARTIFACT, needs_torch, torch
from fake_agent import PATIENCE


def register(model, agent, **options):
    return assay.register(model, **{"artifact": ARTIFACT, "socket": agent.path, "period": 0.05, **options})


def test_hints_that_mean_nothing():
    hints = assay.Hints()
    with pytest.raises(assay.HintsError, match="begin"):
        hints.end()
    for until in (-1, 1.5, 1 << 63, "soon"):
        with pytest.raises(assay.HintsError, match="monotonic_ns"):
            hints.idle_until(until)
    for seconds in (-0.1, 3601, float("inf"), float("nan")):
        with pytest.raises(assay.HintsError, match="seconds"):
            hints.idle_for(seconds)
    hints.begin()
    with hints:  # a step within a step
        assert hints.in_step
    assert hints.in_step
    hints.end()
    assert not hints.in_step
    assert os.pread(hints.fileno(), 40, 0)[16:] == (2).to_bytes(8, "little") * 2 + bytes(8)
    hints.close()
    for call in (hints.begin, hints.end, hints.fileno, lambda: hints.idle_for(1), lambda: hints.idle_until(1),
                 lambda: hints.in_step):
        with pytest.raises(assay.HintsError, match="closed"):
            call()


def in_child(work):
    """What work() returned, or the error it raised, in a process that is forked now."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, str(work()).encode())
        except BaseException as error:
            os.write(write, repr(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        answer = told.read()
    os.waitpid(child, 0)
    return answer


def test_a_child_process_does_not_write_its_parents_page():
    hints, page = assay.Hints(), lambda: os.pread(hints.fileno(), 40, 0)[16:]

    def steps():
        hints.end()  # of the step in which the process was forked
        for _ in range(3):
            with hints:
                hints.idle_for(1)
        assert not hints.in_step
        return "done"

    with hints:
        before = page()
        assert in_child(steps) == "done"
        assert page() == before == (1).to_bytes(8, "little") + bytes(16)
    assert page() == (1).to_bytes(8, "little") * 2 + bytes(8)
    assert "that of the parent" in in_child(hints.fileno)
    assert "closed" in in_child(lambda: hints.close() or hints.begin())
    assert in_child(lambda: assay.Hints().fileno() >= 0) == "True"  # one of its own
    hints.close()
    assert "closed" in in_child(hints.begin)


def test_what_nobody_registered():
    with pytest.raises(assay.NotRegistered):
        assay.yield_slice()


@needs_torch
def test_each_registration_hands_a_page_over(model, agent):
    with register(model, agent) as registration:
        (connection,) = agent.connections
        assert agent.of("register")[0]["hints"] == 4096
        assert connection.read_hints() == (0, 0, 0)
        with registration.hints:
            assert connection.read_hints() == (1, 0, 0)
        registration.hints.idle_until(7)
        assert connection.read_hints() == (1, 1, 7)
        registration.update(ARTIFACT)
        assert len(agent.of("register")) == 2 and connection.read_hints() == (1, 1, 7)
    with pytest.raises(assay.HintsError, match="closed"):
        registration.hints.begin()


@needs_torch
def test_one_page_for_several_registrations(model, agent):
    hints = assay.Hints()
    with register(model, agent, instance="a", hints=hints), register(model, agent, instance="b", hints=hints):
        with hints:
            assert [connection.read_hints() for connection in agent.connections] == [(1, 0, 0)] * 2
    hints.begin()  # it is the caller's
    hints.close()
    with pytest.raises(assay.HintsError, match="closed"):
        register(model, agent, hints=hints)


@needs_torch
def test_a_child_process_registers_with_hints_of_its_own(model, agent):
    with register(model, agent) as registration:
        hints = registration.hints
        hints.begin()
        assert "that of the parent" in in_child(lambda: register(model, agent, hints=hints))
        assert in_child(hints.end) == "None"
        assert agent.connections[0].read_hints() == (1, 0, 0)
        hints.end()


@needs_torch
def test_a_page_beside_the_window(agent):
    model = torch.nn.Linear(4, 4)
    model.weight.data = torch.from_numpy(model.weight.detach().numpy().copy())  # NumPy's memory is staged
    agent.manifest = {}
    with register(model, agent) as registration:
        frame = agent.of("register")[0]
        assert frame["window"] and frame["hints"]
        registration.hints.begin()
        assert agent.connections[0].read_hints() == (1, 0, 0)
        registration.hints.end()


@needs_torch
def test_guard_follows_the_calls_of_its_model(model, agent):
    x, seen = torch.ones(2, 33), []
    hook = model.first.register_forward_hook(lambda *_: seen.append(agent.connections[0].read_hints()[:2]))
    with assay.guard(model, artifact=ARTIFACT, socket=agent.path) as registration:
        model(x)
        model(x)
        assert seen == [(1, 0), (2, 1)] and agent.connections[0].read_hints() == (2, 2, 0)
        with pytest.raises(RuntimeError):
            model(torch.ones(1))
        assert not registration.hints.in_step  # a call that failed has ended
    hook.remove()
    model(x)  # no longer followed
    hints = assay.Hints()  # the caller says when steps run
    with assay.guard(model, artifact=ARTIFACT, socket=agent.path, hints=hints):
        model(x)
        assert not hints.in_step and os.pread(hints.fileno(), 8, 16) == bytes(8)
    hints.close()


@needs_torch
def test_calls_from_many_threads_are_counted(model, agent):
    x = torch.ones(1, 33)
    with assay.guard(model, artifact=ARTIFACT, socket=agent.path):
        threads = [threading.Thread(target=lambda: [model(x) for _ in range(20)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert agent.connections[0].read_hints() == (80, 80, 0)


@needs_torch
def test_yield_slice(model, agent):
    agent.runs, agent.next_ms = 3, 60_000
    with register(model, agent) as registration:
        assert registration.yield_slice(10_000) == 3
        assert agent.of("yield") == [{"type": "yield", "request": 1, "max_ms": 10_000}]
        rounds, best = 2000, []
        for _ in range(5):  # nothing is due for a minute: no frame is sent, and no system call made
            start = time.perf_counter()
            for _ in range(rounds):
                assert registration.yield_slice() == 0
            best.append((time.perf_counter() - start) / rounds)
        print(f"a yield_slice() that is not due: {min(best) * 1e9:.0f} ns")
        assert len(agent.of("yield")) == 1 and min(best) < 5e-6
        registration.update(ARTIFACT)  # a new plan
        assert assay.yield_slice(10_000) == 3
        for wrong in (0, 10_001, -5):
            with pytest.raises(ValueError, match="max_ms"):
                registration.yield_slice(wrong)
        with registration.hints, pytest.raises(assay.HintsError, match="within a step"):
            registration.yield_slice()
        registration.release()
        with pytest.raises(assay.NotRegistered):
            registration.yield_slice()
    with pytest.raises(assay.NotRegistered):
        registration.yield_slice()


@needs_torch
def test_ranks_in_one_process_yield_at_once(model, agent):
    agent.runs, agent.next_ms, agent.together = 3, 60_000, threading.Barrier(2)
    with register(model, agent, rank=0, world=2), register(model, agent, rank=1, world=2):
        assert assay.yield_slice(10_000) == 3  # slices of the one instance count once
        assert len(agent.of("yield")) == 2
    assert not agent.errors


@needs_torch
def test_a_yield_that_is_not_answered(model, agent):
    agent.runs = None
    with register(model, agent) as registration:
        start = time.monotonic()
        assert registration.yield_slice(30) == 0
        assert 0.03 <= time.monotonic() - start < PATIENCE
        assert registration.yield_slice(30) == 0  # the one before may still be answered: none is sent
        assert len(agent.of("yield")) == 1
        assert registration.verify_now() == "verified"


@needs_torch
def test_without_a_node_agent_a_yield_returns(model, agent):
    with register(model, agent) as registration:
        agent.close()
        with registration._link.lock:
            assert registration._link.changed.wait_for(lambda: registration._link.state == "unknown", PATIENCE)
        assert registration.yield_slice(1000) == 0
