#include "foundation/cpu_quota.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

using rollcall::cpu_quota;

/// A tree with the files of the kernel that tell of control groups.
class CpuQuota : public testing::Test {
  protected:
    void SetUp() override { std::filesystem::create_directories(root_); }
    void TearDown() override { std::filesystem::remove_all(root_); }

    void write(const std::string& path, const std::string& text) const {
        const std::filesystem::path file = root_ + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    void groups(const std::string& text) const { write("/proc/self/cgroup", text); }
    void mounts(const std::string& text) const { write("/proc/self/mountinfo", text); }
    void first_version(const std::string& directory, int quota) const {
        write(directory + "/cpu.cfs_quota_us", std::to_string(quota) + "\n");
        write(directory + "/cpu.cfs_period_us", "100000\n");
    }
    std::optional<double> found() const { return cpu_quota(root_); }

  private:
    const std::string root_ = testing::TempDir() + "/rollcall-quota-" + std::to_string(::getpid());
};

constexpr const char* kFirstVersion =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 master:2 - cgroup cgroup rw,cpu,cpuacct\n";

TEST_F(CpuQuota, IsNotThereWithoutControlGroups) {
    EXPECT_EQ(found(), std::nullopt);
    groups("0::/\n");
    mounts("22 1 8:1 / / rw - ext4 /dev/root rw\n");
    EXPECT_EQ(found(), std::nullopt);
}

/// As a batch system makes them.
TEST_F(CpuQuota, OfTheFirstVersionIsTheLowestOnTheWayToTheRoot) {
    groups("4:cpuset:/other\n3:cpu,cpuacct:/batch/job_1/step_0\n0::/\n");
    mounts(kFirstVersion);
    const std::string point = "/sys/fs/cgroup/cpu,cpuacct";
    first_version(point, -1);
    first_version(point + "/batch", 800000);
    first_version(point + "/batch/job_1/step_0", -1);
    EXPECT_EQ(found(), 8.0);
    first_version(point + "/batch/job_1", 250000);
    first_version(point + "/batch/job_2", 100000);
    EXPECT_EQ(found(), 2.5);
    first_version(point + "/batch/job_1/step_0", 150000);
    EXPECT_EQ(found(), 1.5);
}

/// A container that sees its own group at the mount point, and the whole path in /proc.
TEST_F(CpuQuota, OfAContainerIsAtTheMountPoint) {
    groups("3:cpu,cpuacct:/docker/abc/inner\n");
    mounts("33 31 0:30 /docker/abc /sys/fs/cgroup/my\\040cpu ro - cgroup cgroup rw,cpuacct,cpu\n");
    first_version("/sys/fs/cgroup/my cpu", 400000);
    EXPECT_EQ(found(), 4.0);
    first_version("/sys/fs/cgroup/my cpu/inner", 300000);
    EXPECT_EQ(found(), 3.0);
}

/// The mount was made in another namespace, and what /proc says does not lead to the group.
TEST_F(CpuQuota, OfAGroupThatIsNotBelowTheMountIsThatOfTheMountPoint) {
    mounts("33 31 0:30 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n");
    first_version("/sys/fs/cgroup/cpu", 400000);
    first_version("/sys/fs/cgroup/other", 100000);
    for (const char* const group : {"/", "/docker/abcd", "/../other", "/docker/abc/../other"}) {
        groups(std::string("3:cpu:") + group + "\n");
        EXPECT_EQ(found(), 4.0) << group;
    }
}

TEST_F(CpuQuota, OfTheSecondVersionIsTheLowestOnTheWayToTheRoot) {
    groups("0::/user.slice/session\n");
    mounts("35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
    write("/sys/fs/cgroup/user.slice/session/cpu.max", "max 100000\n");
    EXPECT_EQ(found(), std::nullopt);
    write("/sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n");
    EXPECT_EQ(found(), 0.5);
    // In a container, the group at the mount point has the file, too.
    groups("0::/\n");
    write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    EXPECT_EQ(found(), 2.0);
}

}  // namespace
