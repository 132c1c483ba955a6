# SPDX-License-Identifier: BSD-3-Clause
import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Rollcall(CMakePackage):
    """Rollcall is a communication runtime for parallel programs that do not use MPI. Its
    collective operations do not make processes wait for late ones that they do not need.

    By default, ucx is built without InfiniBand, and libfabric without the networks of clusters.
    With InfiniBand: ^ucx+verbs+rc+ud+dc+mlx5_dv+rdmacm+cma. For a network that only libfabric
    supports, name it beside those that are always built: ^libfabric fabrics=shm,tcp,rxm,cxi."""

    # This recipe builds the checkout that it is in.
    git = pathlib.Path(__file__).resolve().parents[6].as_uri()

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("shared", default=True, description="Build a shared library")
    variant("command", default=True, description="Build the launcher, benchmark and simulator")
    variant("ofi", default=True, description="Build the transport over libfabric")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")

    # A job uses UCX from two threads, though never from both at once.
    depends_on("ucx@1.13: +thread_multiple")
    # The ranks of a host use shm, and older versions use tcp through rxm.
    depends_on("libfabric@1.17: fabrics=shm,tcp,rxm", when="+ofi")
    depends_on("hwloc@2.9:")
    depends_on("libsodium@1.0.18:")
    depends_on("highway@1.0:", type="build")
    depends_on("spdlog@1.10:")
    depends_on("fmt@9.1:")
    depends_on("boost", type="build")

    with when("+command"):
        depends_on("cli11@2.1:", type="build")
        depends_on("nlohmann-json@3.11:", type="build")
        depends_on("help2man", type="build")
        depends_on("googletest", type="test")

    requires("platform=linux", msg="Rollcall needs Linux")
    conflicts("%gcc@:11", msg="Rollcall needs C++20: GCC 12 or later")
    conflicts("%clang@:15", msg="Rollcall needs C++20: Clang 16 or later")

    def cmake_args(self):
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("ROLLCALL_BUILD_COMMAND", "command"),
            self.define_from_variant("ROLLCALL_OFI", "ofi"),
            self.define("ROLLCALL_BUILD_EXAMPLES", False),
            # The tests start their ranks by the command.
            self.define("ROLLCALL_BUILD_TESTS", self.run_tests and self.spec.satisfies("+command")),
        ]
