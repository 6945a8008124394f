#include "kernel/cgroup_path.h"

#include <gtest/gtest.h>

#include <string>

namespace stackray {
namespace {

const std::string kId(64, 'a');
const std::string kOther = std::string(63, '0') + "f";
const std::string kUid = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";
const std::string kUidUnderscores = "0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9";
const std::string kStaticUid(32, '9');

struct PathCase {
  std::string path;
  std::string container_id = {}, container_name = {}, pod_uid = {}, service = {};
};

TEST(ReadCgroupPath, AsRuntimesWriteIt) {
  const PathCase kCases[] = {
      // Docker: cgroupfs and systemd drivers; in Docker; rootless below the user's manager.
      {"/docker/" + kId, kId},
      {"/system.slice/docker-" + kId + ".scope", kId},
      {"/docker/" + kOther + "/docker/" + kId, kId},
      {"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + kId + ".scope", kId},
      // A systemd inside of the container has units of its own.
      {"/docker/" + kId + "/system.slice/nginx.service", kId, "", "", "nginx"},
      {"/system.slice/docker.service/docker/" + kId, kId},
      {"/system.slice/docker-" + kId + ".scope/init.scope", kId},
      // Kubernetes: containerd and CRI-O, both drivers; every class of service; a static pod.
      {"/kubepods/burstable/pod" + kUid + "/" + kId, kId, "", kUid},
      {"/kubepods/pod" + kUid + "/" + kId, kId, "", kUid},
      {"/kubepods/besteffort/pod" + kStaticUid + "/" + kId, kId, "", kStaticUid},
      {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + kUidUnderscores +
           ".slice/cri-containerd-" + kId + ".scope",
       kId, "", kUid},
      {"/kubepods.slice/kubepods-pod" + kUidUnderscores + ".slice/crio-" + kId + ".scope", kId, "",
       kUid},
      {"/kubepods.slice/kubepods-pod" + kUidUnderscores + ".slice/crio-" + kId + ".scope/container",
       kId, "", kUid},
      // Kubernetes in Docker (kind), and k3s's containerd under its service.
      {"/docker/" + kOther + "/kubelet/kubepods/burstable/pod" + kUid + "/" + kId, kId, "", kUid},
      {"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
       "kubelet-kubepods-besteffort-pod" +
           kUidUnderscores + ".slice/cri-containerd-" + kId + ".scope",
       kId, "", kUid},
      // podman, alone and with --cgroups=split; nerdctl; ECS.
      {"/machine.slice/libpod-" + kId + ".scope/container", kId},
      {"/libpod_parent/libpod-" + kId, kId},
      {"/system.slice/web.service/libpod-payload-" + kId, kId},
      {"/system.slice/nerdctl-" + kId + ".scope", kId},
      {"/ecs/task/" + kId, kId},
      // The monitor beside the container is not in it.
      {"/machine.slice/libpod-conmon-" + kId + ".scope"},
      {"/kubepods.slice/crio-conmon-" + kId + ".scope"},
      // systemd-nspawn and LXC have names.
      {"/machine.slice/systemd-nspawn@build.service/payload/system.slice/ssh.service", "", "build",
       "", "ssh"},
      {"/machine.slice/machine-my\\x2dbox.scope/payload", "", "my-box"},
      {"/lxc.payload.web1/system.slice/cron.service", "", "web1", "", "cron"},
      {"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/emulator"},
  };
  for (const PathCase& c : kCases) {
    const CgroupFacts facts = ReadCgroupPath(c.path);
    EXPECT_EQ(facts.path, c.path);
    EXPECT_EQ(facts.container_id, c.container_id) << c.path;
    EXPECT_EQ(facts.container_name, c.container_name) << c.path;
    EXPECT_EQ(facts.pod_uid, c.pod_uid) << c.path;
    EXPECT_EQ(facts.service, c.service) << c.path;
  }
}

// Root names the cgroups of the host; below a user's manager and in a container somebody else does.
TEST(ReadCgroupPath, SaysWhoHasChosenTheNames) {
  struct ClaimCase {
    std::string path;
    bool container = false, pod = false, service = false;
  };
  const std::string manager = "/user.slice/user-1000.slice/user@1000.service";
  const ClaimCase kCases[] = {
      {"/system.slice/nginx.service"},
      {"/system.slice/docker-" + kId + ".scope"},
      {manager},
      {manager + "/app.slice/nginx.service", false, false, true},
      {manager + "/user.slice/libpod-" + kId + ".scope", true},
      {manager + "/kubepods/pod" + kUid + "/" + kId, true, true},
      {manager + "/machine-db.scope", true},
      {"/docker/" + kId + "/system.slice/nginx.service", false, false, true},
      {"/docker/" + kOther + "/docker/" + kId, true},
      {"/docker/" + kOther + "/kubelet/kubepods/burstable/pod" + kUid + "/" + kId, true, true},
      {"/kubepods/burstable/pod" + kUid + "/" + kId},
      {"/kubepods/burstable/pod" + kUid + "/" + kId + "/docker/" + kOther, true},
      {"/lxc.payload.web1/system.slice/cron.service", false, false, true},
  };
  for (const ClaimCase& c : kCases) {
    const CgroupFacts facts = ReadCgroupPath(c.path);
    EXPECT_EQ(facts.is_container_claimed, c.container) << c.path;
    EXPECT_EQ(facts.is_pod_claimed, c.pod) << c.path;
    EXPECT_EQ(facts.is_service_claimed, c.service) << c.path;
  }
}

TEST(ReadCgroupPath, UnitsOfTheHost) {
  const std::pair<std::string, std::string> kCases[] = {
      {"/system.slice/redis-server.service", "redis-server"},
      {"/system.slice/system-postgresql.slice/postgresql@15-main.service", "postgresql@15-main"},
      {"/system.slice/delegating.service/worker/1", "delegating"},
      {"/user.slice/user-1000.slice/user@1000.service/app.slice/app-editor.service", "app-editor"},
      {"/user.slice/user-1000.slice/user@1000.service/init.scope", ""},
      {"/user.slice/user-1000.slice/session-3.scope", ""},
      {"/init.scope", ""},
      {"/system.slice/.service", ""},
      {"/", ""},
      {"", ""},
  };
  for (const auto& [path, service] : kCases)
    EXPECT_EQ(ReadCgroupPath(path).service, service) << path;
}

TEST(ReadCgroupPath, WhatIsNone) {
  for (const std::string& path :
       {"/docker/" + kId.substr(1), "/docker/" + kId + "a", "/docker/" + kId.substr(1) + "g",
        "/kubepods/pod" + kUid.substr(1), "/pod" + kUid, "/kubepods/pod" + std::string(36, 'x'),
        std::string("/kubepods/pod"), std::string("/lxc.payload."), std::string("/machine-.scope"),
        std::string("\xff\xfe//\\x"), std::string("/machine-a\\x2.scope").substr(0, 12)}) {
    const CgroupFacts facts = ReadCgroupPath(path);
    EXPECT_EQ(facts.container_id + facts.container_name + facts.pod_uid, "") << path;
  }
}

TEST(ChooseCgroup, TheOneWithTheContainer) {
  const std::string container = "/docker/" + kId;
  EXPECT_EQ(ChooseCgroup("/system.slice/a.service", "").service, "a");
  EXPECT_EQ(ChooseCgroup("/", container).container_id, kId);
  EXPECT_EQ(ChooseCgroup("/system.slice/docker.service", container).container_id, kId);
  EXPECT_EQ(ChooseCgroup(container, "/other").container_id, kId);
  EXPECT_EQ(ChooseCgroup("/a", "/b/c").path, "/a");
  EXPECT_EQ(ChooseCgroup("/", "/b").path, "/b");
  EXPECT_EQ(ChooseCgroup("/", "").path, "/");
}

TEST(ReadProcCgroup, TheUnifiedHierarchyOrTheDeepestOfV1) {
  EXPECT_EQ(ReadProcCgroup("0::/system.slice/a.service\n").path, "/system.slice/a.service");
  EXPECT_EQ(
      ReadProcCgroup("12:cpu,cpuacct:/x\n1:name=systemd:/user.slice/long\n0::/init.scope\n").path,
      "/init.scope");
  EXPECT_EQ(ReadProcCgroup("12:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n0::/\n").path,
            "/docker/abc");
  EXPECT_EQ(ReadProcCgroup("9:pids:/docker/" + kId + "\n0::/system.slice\n").container_id, kId);
  EXPECT_EQ(ReadProcCgroup("0::/with:colon:s\n").path, "/with:colon:s");
  EXPECT_EQ(ReadProcCgroup("3:cpu:/\n0::/\n").path, "/");
  EXPECT_EQ(ReadProcCgroup("3:cpu:/\n").path, "/");
  EXPECT_EQ(ReadProcCgroup("").path, "");
  EXPECT_EQ(ReadProcCgroup("nonsense\n::\n").path, "");
}

}  // namespace
}  // namespace stackray
