# SPDX-License-Identifier: Apache-2.0
"""A model's life with the node agent: registered, verified, changed, released, updated."""
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import assay
from conftest import ARTIFACT, OTHER, manifest_of, needs_torch, net, torch
from fake_agent import PATIENCE

pytestmark = needs_torch


def register(model, agent, **options):
    return assay.register(model, **{"artifact": ARTIFACT, "socket": agent.path, "period": 0.05, **options})


def wait_state(registration, state):
    with registration._link.lock:
        assert registration._link.changed.wait_for(lambda: registration._link.state == state, PATIENCE), \
            registration._link.state


def test_registered_verified_in_place(model, agent):
    x = torch.randn(4, 33)
    with torch.no_grad():  # a graph that saved views of the weights would keep them where they are
        before, objects = model(x), dict(model.named_parameters())
    with register(model, agent, instance="chat-1") as registration:
        assert registration.verify_now() == "verified" == registration.state
        assert registration.findings == [] and registration.checked_at
        assert registration.seen_as["container"] == "ab"
        frame = agent.of("register")[0]
        assert (frame["artifact"], frame["instance"], frame["rank"], frame["world"]) == \
            (ARTIFACT, "chat-1", 0, 1)
        assert {p["kind"] for p in frame["pieces"]} == {"host"} and frame["window"] == 0
        # BatchNorm's three buffers are persistent, `cache` is not.
        assert {n for t in frame["tensors"] for n in t["names"]} == set(model.state_dict())
        assert frame["uncovered"] == {"count": 1, "bytes": 400}
    assert registration.state == "closed"
    # Moving changed no object and no result.
    assert torch.equal(model(x).detach(), before)
    assert all(objects[name] is tensor for name, tensor in model.named_parameters())
    assert agent.of("hello")[0]["client"] == f"assay-torch/{assay.__version__}"


def test_flipped_byte_is_found(model, agent):
    with register(model, agent) as registration:
        assert registration.verify_now() == "verified"
        with torch.no_grad():
            model.first.weight.view(torch.uint8)[3, 5] ^= 1
        assert registration.verify_now() == "violated"
        assert [(f.kind, f.tensor) for f in registration.findings] == [("mismatch", "first.weight")]
        with torch.no_grad():
            model.first.weight.view(torch.uint8)[3, 5] ^= 1
        assert registration.verify_now() == "verified"
        assert registration.violations == 1


def test_tied_weights_are_one_tensor(agent):
    model = torch.nn.ModuleDict({"embed": torch.nn.Embedding(11, 8), "head": torch.nn.Linear(8, 11, bias=False)})
    model["head"].weight = model["embed"].weight
    agent.manifest = manifest_of({"embed.weight": model["embed"].weight})
    with register(model, agent) as registration:
        assert registration.verify_now() == "verified"
        assert [t["names"] for t in agent.of("register")[0]["tensors"]] == [["embed.weight", "head.weight"]]


def test_several_arenas_and_empty_tensors(agent, monkeypatch):
    monkeypatch.setattr("assay._move.ARENA", 1 << 16)
    tensors = {f"t{n}": torch.randn(n * 1000) for n in range(40)}
    agent.manifest = manifest_of(tensors)
    with register(tensors, agent) as registration:
        assert registration.verify_now() == "verified"
        frame = agent.of("register")[0]
        assert len(frame["pieces"]) > 10
        assert frame["tensors"][0]["parts"] == []


def test_more_pieces_than_one_frame_takes(agent, monkeypatch):
    monkeypatch.setattr("assay._move.ARENA", 0)
    tensors = {f"t{n}": torch.full((16,), float(n)) for n in range(600)}
    agent.manifest = manifest_of(tensors)
    with register(tensors, agent) as registration:
        assert registration.verify_now() == "verified"
        # The page of hints comes last.
        assert [(f["first"], f["count"]) for f in agent.of("pieces")[:3]] == [(0, 253), (253, 253), (506, 95)]
        # Scattered pieces come in runs of neighbours, in order.
        numbers = [0, 1, 5, 7, 8, 599]
        fds = agent.connections[0].call(lambda: agent.connections[0].export(numbers))
        assert len(fds) == 6
        for fd in fds:
            os.close(fd)


def test_exports_show_the_live_memory(model, agent):
    with register(model, agent):
        owner = agent.connections[0]
        (fd,) = owner.call(lambda: owner.export([0]))
        part = next(t for t in agent.of("register")[0]["tensors"] if t["names"] == ["first.weight"])["parts"][0]
        assert os.pread(fd, 4, part[1]) == model.first.weight.detach().numpy().tobytes()[:4]
        with torch.no_grad():
            model.first.weight[0, 0] = 3.0
        assert os.pread(fd, 4, part[1]) == torch.tensor(3.0).numpy().tobytes()
        with pytest.raises(OSError):  # what is handed out cannot be written
            os.pwrite(fd, b"\0", 0)
        os.close(fd)


def test_replaced_storage_is_told(model, agent):
    with register(model, agent) as registration:
        assert registration.verify_now() == "verified"
        model.first.weight.data = model.first.weight.data.clone()
        agent.wait(lambda: agent.of("changed"))
        assert agent.of("changed")[0]["tensors"] == ["first.weight"]
        wait_state(registration, "violated")
        # The bytes that were registered are still right, and yet it stays violated.
        assert registration.verify_now() == "violated"
        assert ("changed", "first.weight") in {(f.kind, f.tensor) for f in registration.findings}


@pytest.mark.parametrize("change, told", [
    (lambda m: m.half(), {"first.weight", "norm.running_var"}),
    (lambda m: setattr(m, "first", torch.nn.Linear(33, 65)), {"first.weight", "first.bias"}),
    (lambda m: setattr(m.first, "bias", None), {"first.bias"}),
    (lambda m: m.norm.running_mean.resize_(0), {"norm.running_mean"}),
    (lambda m: m.first.weight.data.transpose_(0, 1), set()),
])
def test_what_counts_as_changed(model, agent, change, told):
    with register(model, agent) as registration:
        assert registration.verify_now() == "verified"
        change(model)
        if not told:  # .data is another tensor object over the same bytes
            assert registration.verify_now() == "verified"
            return
        assert registration.verify_now() == "violated"
        assert told <= {name for frame in agent.of("changed") for name in frame["tensors"]}


def test_new_tensors_are_told(model, agent):
    with register(model, agent) as registration:
        model.register_parameter("extra", torch.nn.Parameter(torch.zeros(2)))
        assert registration.verify_now() == "violated"
        model.cache = torch.zeros(5)  # a buffer that is not persistent may change
    # Names that were never registered travel, too.
    agent.strange.clear()


def test_remapped_memory_is_found(model, agent):
    """Another file at the same addresses: pointers and tensors are as they were."""
    import ctypes
    with register(model, agent) as registration:
        assert registration.verify_now() == "verified"
        piece = registration._link._plan.pieces[0]
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
        other = os.memfd_create("other")
        os.ftruncate(other, piece.size)
        os.pwrite(other, os.pread(piece.arena.fd, piece.size, 0), 0)
        # PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED
        assert libc.mmap(piece.start, piece.size, 3, 0x11, other, 0) == piece.start
        os.close(other)
        agent.wait(lambda: agent.of("changed"))
        assert registration.verify_now() == "violated"


def test_uses_outside_of_the_model_are_staged(model, agent):
    view = model.first.weight.detach()[1:]  # its storage must not move away from it
    agent.manifest = manifest_of(model.state_dict())
    with register(model, agent) as registration:
        assert registration.verify_now() == "verified"
        frame = agent.of("register")[0]
        staged = [p for p in frame["pieces"] if p["kind"] == "staged"]
        assert [(p["cause"], p["size"]) for p in staged] == \
            [("tensors outside of the model show it", 33 * 65 * 4)]
        assert frame["window"] == 64 << 20
        view[0, 0] = 1.25
        assert model.first.weight[1, 0] == 1.25
        assert registration.verify_now() == "violated"
        assert registration.findings[0].tensor == "first.weight"


def test_foreign_memory_is_staged(agent):
    import numpy
    array = numpy.arange(100000, dtype=numpy.float32)
    shared = torch.ones(10).share_memory_()
    tensors = {"numpy": torch.from_numpy(array), "shared": shared}
    agent.manifest = manifest_of(tensors)
    with register(tensors, agent) as registration:
        assert registration.verify_now() == "verified"
        assert {p["cause"] for p in agent.of("register")[0]["pieces"]} == \
            {"memory that PyTorch did not allocate", "shared with other processes"}
        array[5] = -1
        assert registration.verify_now() == "violated"


def test_staged_larger_than_the_window(agent):
    tensors = {"big": torch.randint(0, 255, (70 << 20,), dtype=torch.uint8)}
    view = tensors["big"][1:]
    agent.manifest = manifest_of(tensors)
    with register(tensors, agent) as registration:
        assert registration.verify_now() == "verified"
        view[-1] += 1
        assert registration.verify_now() == "violated"


def test_safetensors_that_are_mapped(tmp_path, agent):
    pytest.importorskip("safetensors")
    from safetensors.torch import load_file, save_file
    path = tmp_path / "model.safetensors"
    save_file({k: v.contiguous() for k, v in net().state_dict().items()}, path)
    agent.manifest = manifest_of(load_file(path))
    model = net()
    model.load_state_dict(load_file(path), assign=True)
    with register(model, agent) as registration:
        assert registration.verify_now() == "verified"
        assert {p["kind"] for p in agent.of("register")[0]["pieces"]} == {"host"}
    with register(load_file(path), agent) as registration:
        assert registration.verify_now() == "verified"


def test_staged_reads_outside_of_pieces_are_refused(model, agent):
    view = model.first.weight.detach()[1:]
    with register(model, agent) as registration:
        assert registration.verify_now() == "verified"
        owner = agent.connections[0]
        pieces = agent.of("register")[0]["pieces"]
        staged = next(n for n, p in enumerate(pieces) if p["kind"] == "staged")
        for piece, offset, size in ((staged, pieces[staged]["size"] - 1, 2), (99, 0, 1), (1 - staged, 0, 1)):
            assert owner.call(lambda: owner.read(piece, offset, size)) is None
        for numbers in ([staged], [99]):
            assert owner.call(lambda: owner.export(numbers)) is None
        assert registration.verify_now() == "verified"
    del view


def test_release_and_update(model, agent):
    with register(model, agent) as registration:
        assert registration.verify_now() == "verified"
        registration.release()
        assert registration.state == "released" and registration._link._plan is None
        assert agent.connections[0].registration is None
        with pytest.raises(assay.NotRegistered):
            registration.verify_now()
        registration.release()  # twice is once
        with torch.no_grad():
            model.first.weight.mul_(2)
        agent.manifest = manifest_of(model.state_dict())
        registration.update(OTHER)
        assert registration.verify_now() == "verified" and registration.artifact == OTHER
        # Without a release before: update() releases.
        registration.update(ARTIFACT)
        assert registration.verify_now() == "verified"
        assert [f["artifact"] for f in agent.of("register")] == [ARTIFACT, OTHER, ARTIFACT]
        assert len(agent.of("release")) == 2 and len(agent.connections) == 1


def test_update_to_another_model(model, agent):
    with register(model, agent) as registration:
        other = torch.nn.Linear(3, 3)
        agent.manifest = manifest_of(other.state_dict())
        registration.update(OTHER, model=other)
        assert registration.verify_now() == "verified"


def test_module_level_functions(model, agent):
    with pytest.raises(assay.NotRegistered):
        assay.verify_now()
    register(model, agent, instance="a")
    register(net(), agent, instance="b")
    assert assay.verify_now() == "verified"
    with torch.no_grad():
        model.last.weight[0, 0] += 1
    assert assay.verify_now() == "violated"
    assert assay.verify_now("b") == "verified"
    with pytest.raises(assay.ModelError, match="instance="):
        assay.update(OTHER)
    agent.manifest = manifest_of(model.state_dict())
    assay.update(OTHER, "a")
    assert assay.verify_now("a") == "verified"
    assay.release()
    assert {r.state for r in assay.registrations()} == {"released"}


def test_guard(model, agent):
    with assay.guard(model, artifact=ARTIFACT, socket=agent.path) as registration:
        assert registration.state == "verified"
    assert registration.state == "closed"
    ran = []
    with pytest.raises(assay.NotVerified) as error:
        with assay.guard(model, artifact=ARTIFACT, socket=agent.path):
            ran.append(1)
            with torch.no_grad():
                model.first.bias[0] += 1
    assert ran and error.value.state == "violated" and "first.bias" in str(error.value)
    with pytest.raises(assay.NotVerified):  # wrong from the beginning: the body never runs
        with assay.guard(model, artifact=ARTIFACT, socket=agent.path):
            ran.append(2)
    assert ran == [1]


def test_guard_waits_for_the_job(model, agent):
    agent.checks_at_once = False

    def job():
        with agent.changed:
            assert agent.changed.wait_for(lambda: any(f["type"] == "register" for f in agent.frames), 20)
        owner = agent.connections[0]
        owner.call(lambda: owner.check(0))
    thread = threading.Thread(target=job)
    thread.start()
    with assay.guard(model, artifact=ARTIFACT, socket=agent.path) as registration:
        assert registration.state == "verified"
    thread.join()
    with pytest.raises(assay.AgentTimeout, match="no job was ordered"):
        with assay.guard(model, artifact=ARTIFACT, socket=agent.path, timeout=0.1):
            raise AssertionError("not reached")


def test_guard_names_unknown_tensors(model, agent):
    del agent.manifest["first.bias"]
    with pytest.raises(assay.UnknownTensor, match="'first.bias' is not in the manifest"):
        with assay.guard(model, artifact=ARTIFACT, socket=agent.path):
            raise AssertionError("not reached")


def test_guard_is_not_satisfied_by_what_was_released(model, agent):
    with pytest.raises(assay.NotRegistered):
        with assay.guard(model, artifact=ARTIFACT, socket=agent.path) as registration:
            registration.release()


def test_guard_sees_what_was_violated_in_between(model, agent):
    with pytest.raises(assay.NotVerified, match="violated"):
        with assay.guard(model, artifact=ARTIFACT, socket=agent.path) as registration:
            for _ in range(2):
                with torch.no_grad():
                    model.first.bias.view(torch.uint8)[0] ^= 1
                registration.verify_now()
            assert registration.state == "verified"


def test_guard_passes_errors_of_its_body(model, agent):
    with pytest.raises(KeyError):
        with assay.guard(model, artifact=ARTIFACT, socket=agent.path):
            raise KeyError("x")
    assert assay.registrations() == []


def test_agent_restarts(model, agent, monkeypatch):
    monkeypatch.setattr("assay._link._RETRY", (0.02, 0.1))
    with register(model, agent, period=3600) as registration:
        assert registration.verify_now() == "verified"
        agent.close()
        wait_state(registration, "unknown")
        assert "the node agent ended the connection" in registration.findings[0].detail
        with pytest.raises(assay.NoWorker):
            registration.verify_now()
        agent.open()
        wait_state(registration, "verified")
        # What changes while no agent is there is told to the next one.
        agent.close()
        wait_state(registration, "unknown")
        model.first.weight.data = model.first.weight.data.clone()
        agent.frames.clear()
        agent.open()
        agent.wait(lambda: agent.of("changed"))
        wait_state(registration, "violated")


def test_changed_before_the_agent_knew(model, agent, monkeypatch):
    """What is replaced while a registration is made is told at once, not after a period."""
    real = assay._layout.build

    def build(*arguments):
        plan = real(*arguments)
        model.first.weight.data = model.first.weight.data.clone()
        return plan
    monkeypatch.setattr("assay._layout.build", build)
    with assay.register(model, artifact=ARTIFACT, socket=agent.path, period=3600):
        agent.wait(lambda: agent.of("changed"))


def test_nothing_is_told_after_release(model, agent):
    """The agent takes only a registration then; anything else would end the connection."""
    with register(model, agent) as registration:
        assert registration.verify_now() == "verified"
        agent.holds_release.clear()
        releasing = threading.Thread(target=registration.release)
        releasing.start()
        agent.wait(lambda: agent.of("release"))
        assert not registration._link._watches()
        model.first.weight.data = model.first.weight.data.clone()
        with pytest.raises(assay.NotRegistered):
            registration.verify_now()
        agent.holds_release.set()
        releasing.join(PATIENCE)
        assert not agent.of("changed") and registration.state == "released"


def test_an_export_that_crosses_release(model, agent):
    with register(model, agent) as registration:
        assert registration.verify_now() == "verified"
        owner = agent.connections[0]
        agent.holds_release.clear()
        releasing = threading.Thread(target=registration.release)
        releasing.start()
        agent.wait(lambda: agent.of("release"))
        agent.crossing = owner.requests + 1
        owner.send(type="export", request=agent.crossing, pieces=[0])
        agent.holds_release.set()
        releasing.join(PATIENCE)
        agent.wait(lambda: agent.of("failed"))
        assert registration.state == "released" and len(agent.of("failed")) == 1


def test_an_agent_that_dies_has_released(model, agent):
    with register(model, agent) as registration:
        assert registration.verify_now() == "verified"
        agent.holds_release.clear()
        releasing = threading.Thread(target=registration.release)
        releasing.start()
        agent.wait(lambda: agent.of("release"))
        agent.dies = True
        agent.holds_release.set()
        releasing.join(PATIENCE)
        assert not releasing.is_alive() and registration.state == "released"


def test_released_while_no_agent_is_there(model, agent):
    with register(model, agent) as registration:
        agent.close()
        wait_state(registration, "unknown")
        registration.release()
        assert registration.state == "released"
        agent.open()
        registration.update(ARTIFACT)
        assert registration.verify_now() == "verified"


def test_verify_from_several_threads(model, agent):
    with register(model, agent) as registration:
        results = []
        threads = [threading.Thread(target=lambda: results.append(registration.verify_now())) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == ["verified"] * 8


def test_a_child_process_does_not_hold_the_registration(model, agent):
    with register(model, agent) as registration:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                assert registration.state == "closed"
                try:
                    registration.verify_now()
                except assay.NotRegistered:
                    os.write(write, b"refused")
            finally:
                signal.alarm(30)
                signal.pause()
                os._exit(0)
        try:
            assert os.read(read, 100) == b"refused"
            assert registration.verify_now() == "verified"
            registration.close()
            agent.wait(lambda: not agent.live)  # although the child still runs
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(read)
            os.close(write)


def test_the_end_of_the_process_ends_the_registration(model, agent):
    script = ("import sys; sys.path[:0] = sys.argv[2:]; import torch, assay; m = torch.nn.Linear(2, 2)\n"
              "r = assay.register(m, artifact=" + repr(ARTIFACT) + ", socket=sys.argv[1])\n"
              "print(r.verify_now())")
    agent.manifest = {}
    out = subprocess.run([sys.executable, "-c", script, agent.path, *sys.path], capture_output=True, text=True,
                         timeout=120)
    assert (out.stdout, out.returncode) == ("violated\n", 0), out.stderr
    agent.wait(lambda: not agent.live)
