# SPDX-License-Identifier: MIT
"""install_test.py BUILD: tools/quickstart builds everything that `cmake --install BUILD` installs. The installed package
works without the build tree, and a Debian package holds the same files. CMakeLists.txt builds the examples from the
installed package."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(__file__).parents[2]
PROGRAMS = "tegula", "tegula-opt", "tegula-cc", "tegula-measure"
SMALL = "--heads 1 --seqlen-q 64 --head-dim 16".split()


class InstallTest(unittest.TestCase):
    def run_command(self, *command, **options):
        result = subprocess.run(command, capture_output=True, text=True, **options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout


class QuickstartTest(InstallTest):
    def ninja(self, *arguments):
        return self.run_command("ninja", "-C", BUILD, "-t", *arguments).splitlines()

    def installed_files(self):
        """Yields the files of the build tree that the install scripts copy and that ninja builds."""
        built = {line.split(": ")[0] for line in self.ninja("targets", "all")}
        for script in BUILD.rglob("cmake_install.cmake"):
            for name in re.findall(rf'"{re.escape(str(BUILD))}/(.*?)"', script.read_text()):
                if name in built:
                    yield name

    def test_it_builds_all_that_is_installed(self):
        (targets,) = re.findall(r"^tools/build (.*)$", (ROOT / "tools" / "quickstart").read_text(), re.MULTILINE)
        installed = set(self.installed_files())
        self.assertTrue({"lib/libtegula.so", *(f"bin/{program}" for program in PROGRAMS)} <= installed, installed)
        commands = "\n".join(self.ninja("commands", *targets.split()))
        self.assertEqual(installed - set(commands.split()), set())

    def test_an_installation_of_what_is_not_built_says_what_to_build(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "install.cmake")
            script.write_text((BUILD / "cmake_install.cmake").read_text().replace(f"{BUILD}/lib/", f"{folder}/lib/"))
            result = subprocess.run(["cmake", f"-DCMAKE_INSTALL_PREFIX={folder}/prefix", "-P", script], capture_output=True,
                                    text=True)
            self.assertNotEqual(result.returncode, 0)
            self.assertRegex(" ".join(result.stderr.split()),
                             r"libtegula\.so\S* is not built\. .*: cmake --build \S+ --target installed")
            self.assertFalse(pathlib.Path(folder, "prefix").exists())


class PrefixTest(InstallTest):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.prefix = pathlib.Path(cls.temporary.name, "prefix")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True, capture_output=True)
        cls.environment = {"PATH": os.environ["PATH"], "TEGULA_CACHE_DIR": cls.temporary.name + "/cache"}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def tegula(self, *arguments):
        return self.run_command(self.prefix / "bin" / "tegula", *arguments, env=self.environment)

    def test_the_command_line_works(self):
        self.assertIn("ok", self.tegula("attention", *SMALL, "--backward", "--check"))
        self.assertIn("<- chosen", self.tegula("tune", *SMALL, "--candidates", "2"))
        self.assertIn("tegula", self.run_command(self.prefix / "bin" / "tegula-opt", "--help", env=self.environment))

    def test_the_library_finds_the_compiler_from_a_folder_of_the_architecture(self):
        library = self.prefix / "lib" / "x86_64-linux-gnu" / "libtegula.so.2"
        library.parent.mkdir(exist_ok=True)
        shutil.copy(next(self.prefix.rglob("libtegula.so.2")), library)
        self.run_command(sys.executable, "-B", pathlib.Path(__file__).parent / "libtegula_test.py",
                         env=self.environment | {"LIBTEGULA": str(library),
                                                 "PYTHONPATH": str(self.prefix / "share" / "tegula" / "python")})

    def test_nothing_refers_to_the_build_tree(self):
        library = next(self.prefix.rglob("libtegula.so"))
        for path in library, *(self.prefix / "bin" / program for program in PROGRAMS):
            self.assertNotIn(str(BUILD), self.run_command("readelf", "--dynamic", path))
        for path in self.prefix.rglob("*.cmake"):
            self.assertNotIn(str(ROOT), path.read_text())

    def test_headers_need_no_others(self):
        include = self.prefix / "include"
        headers = sorted(str(path.relative_to(include)) for path in include.rglob("*.h"))
        for header in "dsl plan plan_tools attention attention_variant kernel_cache worker_compiler tegula".split():
            self.assertIn(f"tegula/{header}.h", headers)
        self.assertEqual([header for header in headers if "internal" in header], [])
        for language, names in (("c++20", headers), ("c++17", ["tegula/tegula.hpp"]), ("c11", ["tegula/tegula.h"])):
            source = "".join(f'#include "{name}"\n' for name in names)
            compiler, kind = ("gcc", "c") if language == "c11" else ("g++", "c++")
            self.run_command(compiler, f"-std={language}", "-fsyntax-only", "-I", include, "-x", kind, "-", input=source)


class PackageTest(InstallTest):
    def test_a_package_for_debian(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_command("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", folder)
            (package,) = pathlib.Path(folder).glob("*.deb")
            self.assertIn("libstdc++6", self.run_command("dpkg-deb", "--field", package, "Depends"))
            self.run_command("dpkg-deb", "--extract", package, f"{folder}/root")
            usr = pathlib.Path(folder, "root", "usr")
            for pattern in "libtegula.so.2", "tegula.h", "dsl.h", "tegulaConfig.cmake", "libtegula.py", "libtegula_torch.py":
                self.assertEqual(len(list(usr.rglob(pattern))), 1, pattern)
            self.assertEqual({path.name for path in (usr / "bin").iterdir()}, set(PROGRAMS))
            self.run_command(usr / "bin" / "tegula", "attention", *SMALL, "--check")


if __name__ == "__main__":
    unittest.main()
