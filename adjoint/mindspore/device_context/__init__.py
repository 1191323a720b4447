"""mindspore.device_context: settings of devices that are not here, and of the CPU, where they change no result."""
