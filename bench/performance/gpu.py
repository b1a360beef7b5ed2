# SPDX-License-Identifier: MIT
"""The GPU's name, driver, clock and power, from the driver's NVML library. Without it all of them are None."""

import ctypes
import threading

SM_CLOCK = 1
INTERVAL = 0.02  # Seconds.


class Nvml:
    def __init__(self, index=0):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self.device = ctypes.c_void_p()
        if self.library.nvmlInit_v2() or self.library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(self.device)):
            raise OSError("NVML does not know the GPU")

    def number(self, function, *arguments):
        value = ctypes.c_uint()
        return None if getattr(self.library, function)(self.device, *arguments, ctypes.byref(value)) else value.value

    def watts(self, function):
        milliwatts = self.number(function)
        return None if milliwatts is None else milliwatts / 1000

    def text(self, function, *arguments):
        buffer = ctypes.create_string_buffer(96)
        return None if getattr(self.library, function)(*arguments, buffer, len(buffer)) else buffer.value.decode()

    def reading(self):
        return {"nvml_clock_mhz": self.number("nvmlDeviceGetClockInfo", SM_CLOCK),
                "power_w": self.watts("nvmlDeviceGetPowerUsage")}

    def arch(self):
        """Returns the architecture that kernels are compiled for, such as sm_90a."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        if self.library.nvmlDeviceGetCudaComputeCapability(self.device, ctypes.byref(major), ctypes.byref(minor)):
            return None
        return f"sm_{major.value}{minor.value}" + ("a" if (major.value, minor.value) == (9, 0) else "")

    def machine(self):
        return {"gpu": self.text("nvmlDeviceGetName", self.device), "driver": self.text("nvmlSystemGetDriverVersion"),
                "max_sm_clock_mhz": self.number("nvmlDeviceGetMaxClockInfo", SM_CLOCK),
                "power_limit_w": self.watts("nvmlDeviceGetEnforcedPowerLimit")}


class NoNvml:
    def arch(self):
        return None

    def reading(self):
        return {"nvml_clock_mhz": None, "power_w": None}

    def machine(self):
        return {"gpu": None, "driver": None, "max_sm_clock_mhz": None, "power_limit_w": None}


def open_nvml(index=0):
    try:
        return Nvml(index)
    except (OSError, AttributeError):
        return NoNvml()


class Monitor:
    """Reads clock and power on a thread of its own between start() and stop(), which returns the averages."""

    def __init__(self, nvml, average):
        self.nvml, self.average, self.thread = nvml, average, None

    def start(self):
        self.readings, self.stopped = [], threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.stopped.wait(INTERVAL):
            self.readings.append(self.nvml.reading())

    def stop(self):
        self.stopped.set()
        self.thread.join()
        return self.average(self.readings or [self.nvml.reading()])
