# SPDX-License-Identifier: MIT
"""install_test.py BUILD: what `cmake --install BUILD` installs is enough to build and run the examples for hosts, and a
Debian package holds the same."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = sys.argv.pop()
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(host LANGUAGES C CXX)
find_package(tegula 0.1 REQUIRED)
find_package(Threads REQUIRED)
add_executable(embed_c embed_c.c)
target_link_libraries(embed_c PRIVATE tegula::tegula m)
add_executable(embed_cpp embed_cpp.cpp)
target_compile_features(embed_cpp PRIVATE cxx_std_17)
target_link_libraries(embed_cpp PRIVATE tegula::tegula Threads::Threads)
"""


class InstallTest(unittest.TestCase):
    def run_command(self, *command, **options):
        result = subprocess.run(command, capture_output=True, text=True, **options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def test_a_project_finds_the_package(self):
        with tempfile.TemporaryDirectory() as folder:
            prefix, source, build = (os.path.join(folder, name) for name in ("prefix", "source", "build"))
            self.run_command("cmake", "--install", BUILD, "--prefix", prefix)
            os.mkdir(source)
            pathlib.Path(source, "CMakeLists.txt").write_text(PROJECT)
            for example in "embed_c/embed_c.c", "embed_cpp/embed_cpp.cpp":
                pathlib.Path(source, pathlib.Path(example).name).write_text((EXAMPLES / example).read_text())
            self.run_command("cmake", "-G", "Ninja", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
            self.run_command("cmake", "--build", build)
            for program in "embed_c", "embed_cpp":
                self.run_command(os.path.join(build, program), env=os.environ | {"TEGULA_CACHE_DIR": folder + "/cache"})

    def test_a_package_for_debian(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_command("cpack", "-G", "DEB", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B", folder)
            (package,) = pathlib.Path(folder).glob("*.deb")
            files = self.run_command("dpkg-deb", "--contents", package)
            for name in "/libtegula.so.1", "/tegula/tegula-cc", "/include/tegula/tegula.h", "/tegulaConfig.cmake":
                self.assertIn(name, files)
            self.assertIn("libstdc++6", self.run_command("dpkg-deb", "--field", package, "Depends"))


if __name__ == "__main__":
    unittest.main()
